//! A cartridge's card: a README.md that tells people what it is. Pure.
//!
//! Every word of it is a stranger's, and a code host renders it, so each is written as plain text: no link, no image,
//! no markup. The card is derived and unsigned; the cartridge is what counts.

use std::fmt::Write as _;

use super::entry::CartridgeEntry;
use crate::check::documents::skill_folder;
use crate::container::Zone;
use crate::model::shorten;
use crate::report::markdown as plain;
use crate::verdict::Admitted;

/// Capabilities and skills that are listed; the rest are counted.
const LISTED: usize = 40;

/// The card of an admitted cartridge, by its entry in an index.
pub fn card(entry: &CartridgeEntry, admitted: &Admitted) -> String {
    let cartridge = admitted.cartridge();
    let mut out = String::new();
    let name = entry.name.as_deref().unwrap_or(&entry.id);
    let _ = writeln!(out, "# {}\n\n{}\n", plain(name), plain(&entry.description));
    let authors: Vec<&str> = entry.authors.iter().map(|a| a.name.as_str()).collect();
    let memory = cartridge.memory.iter().filter(|m| m.zone == Zone::Rom);
    for (label, value) in [
        ("Publisher", Some(entry.publisher.clone())),
        ("Cartridge", Some(format!("{} {}", entry.id, entry.version))),
        ("Role", entry.role.clone()),
        ("Authors", Some(authors.join(", "))),
        ("License", entry.license.clone()),
        ("Tags", Some(entry.tags.join(", "))),
        ("Homepage", entry.homepage.clone()),
        ("Memory records", Some(memory.count().to_string())),
        ("Signed at", Some(admitted.signed().signed_at.to_string())),
        ("Signed by", Some(admitted.signed().key.id().to_string())),
        ("ROM hash", Some(admitted.signed().manifest.to_string())),
    ] {
        if let Some(value) = value.filter(|v| !v.is_empty()) {
            let _ = writeln!(out, "- {label}: {}", plain(&value));
        }
    }
    let skills: Vec<String> = cartridge
        .files
        .iter()
        .filter_map(skill_folder)
        .map(str::to_owned)
        .collect();
    let capabilities: Vec<String> = entry
        .capabilities
        .iter()
        .map(|c| format!("{} ({}): {}", c.task_type, c.domain, c.stack.join(", ")))
        .collect();
    section(&mut out, "Skills", &skills);
    section(&mut out, "Capabilities, as claimed", &capabilities);
    out.push_str("\nThis card was made from the cartridge's signed metadata and is not signed itself. `acx verify cartridge.acx` says who signed the cartridge.\n");
    out
}

fn section(out: &mut String, title: &str, items: &[String]) {
    if items.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n## {title}\n");
    for item in items.iter().take(LISTED) {
        let _ = writeln!(out, "- {}", plain(&shorten(item)));
    }
    let hidden = items.len().saturating_sub(LISTED);
    if hidden > 0 {
        let _ = writeln!(out, "- and {hidden} more");
    }
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn text_is_text() {
        for (text, markdown) in [
            ("Plain words 1", "Plain words 1"),
            ("[a](http://b)", "\\[a\\]\\(http\\:\\/\\/b\\)"),
            ("<img src=x>&amp;", "\\<img src\\=x\\>\\&amp\\;"),
            ("# a\n- b", "\\# a\\\\u\\{a\\}\\- b"),
            ("    code", "code"),
            ("a\u{202e}b", "a\\\\u\\{202e\\}b"),
            ("Größe 大", "Größe 大"),
        ] {
            assert_eq!(plain(text), markdown);
        }
    }
}
