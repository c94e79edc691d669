//! `path-name`: an archive name is not portable and safe.

use crate::check::{Check, Context, Place, Rule, Scope, Sink};
use crate::finding::{Family, Severity};
use crate::model::shorten;

pub static RULE: Rule = Rule {
    code: "path-name",
    family: Family::Path,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Cartridge,
    summary: "an archive name is not portable and safe",
    what: "Every name has at least two segments split by `/`, the first exactly `rom` or `save`, each of the form `[A-Za-z0-9][A-Za-z0-9._-]{0,127}`; below `save/vectors/memories.lance/` a segment may start with `_`.",
    why: "Names become paths when a host extracts the archive: `..`, absolute paths and odd characters would write outside, or elsewhere on another system.",
    example: "`rom/../../etc/passwd`; `rom\\\\a`; `rom/.hidden`.",
    fix: "Rename the file in the agent package and export again.",
    since: "0.1.0",
    check: Check::Cartridge(run),
};

fn run(context: &Context<'_>, sink: &mut Sink<'_>) {
    for file in &context.cartridge.files {
        if let Some(defect) = defect(&file.name) {
            sink.report(Place::row("sqlar", &file.name), defect);
        }
    }
}

/// Where Lance's own folders may stand, which start with an underscore.
const LANCE_FOLDER: &str = "save/vectors/memories.lance/";

fn defect(name: &str) -> Option<String> {
    let (zone, rest) = name.split_once('/').unwrap_or((name, ""));
    if !matches!(zone, "rom" | "save") {
        return Some(format!(
            "expected a name that begins with rom/ or save/, found {:?}",
            shorten(name)
        ));
    }
    let underscore_from = if name.starts_with(LANCE_FOLDER) {
        2
    } else {
        usize::MAX
    };
    rest.split('/').enumerate().find_map(|(at, segment)| {
        let first = |b: u8| b.is_ascii_alphanumeric() || (b == b'_' && at >= underscore_from);
        let rest = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
        let fits = segment.len() <= 128 && segment.bytes().next().is_some_and(first) && segment.bytes().all(rest);
        (!fits).then(|| {
            format!("expected segments of 1 to 128 letters, digits, dots, underscores and hyphens that start with a letter or digit, found {:?}", shorten(segment))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::defect;

    #[test]
    fn names() {
        let long = format!("rom/{}", "a".repeat(128));
        for good in [
            "rom/a",
            "save/A.b_c-d/e",
            "rom/0",
            &long,
            "save/vectors/memories.lance/_versions/1.manifest",
        ] {
            assert_eq!(defect(good), None, "{good}");
        }
        let longer = format!("rom/{}", "a".repeat(129));
        for bad in [
            "",
            "rom",
            "rom/",
            "/rom/a",
            "ROM/a",
            "roms/a",
            "rom//a",
            "rom/./a",
            "rom/../a",
            "rom/a/",
            "rom/.a",
            "rom/_a",
            "rom/-a",
            "rom/a\\b",
            "rom/a b",
            "rom/a\0b",
            "rom/é",
            "rom/a:b",
            &longer,
            "rom/vectors/memories.lance/_versions",
            "save/_vectors/memories.lance/a",
            "save/vectors/memories.lance/.x",
        ] {
            assert!(defect(bad).is_some(), "{bad}");
        }
    }
}
