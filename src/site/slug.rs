//! Names of files and folders made of the index's words: safe on every system, and never the same for two, also where
//! upper and lower case are one.
//!
//! Ids and publishers have no upper case and no underscore, versions no underscore, so an underscore is free to mark
//! what is spelled otherwise. The first letters are never the name of a device, since a dot ends such a name.

use crate::model::Digest;

/// Bytes of a name that is used as it is; folders nest, and some systems end a whole path at 260.
const LONGEST: usize = 80;

/// The folder of a cartridge.
pub fn cartridge(publisher: &str, id: &str) -> String {
    bounded(format!("{}__{}", spelled(id), spelled(publisher)))
}

/// The file of a version or a template, with its ending.
pub fn file(kind: &str, name: &str) -> String {
    let mut name = bounded(format!("{kind}-{}", spelled(name)));
    name.push_str(".html");
    name
}

/// Lower-case letters, digits, hyphens and inner dots as they are, `_` and two hex digits for any other byte.
fn spelled(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut bytes = text.bytes().peekable();
    while let Some(byte) = bytes.next() {
        let inner = |next: Option<&u8>| next.is_some_and(u8::is_ascii_alphanumeric);
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' => out.push(char::from(byte)),
            b'.' if !out.is_empty() && inner(bytes.peek()) => out.push('.'),
            byte => out.push_str(&format!("_{byte:02x}")),
        }
    }
    out
}

/// A long name's beginning and its hash, which a short name never looks like: it has two hyphens after an underscore.
fn bounded(name: String) -> String {
    if name.len() <= LONGEST {
        return name;
    }
    let hash = Digest::of(name.as_bytes()).to_string();
    let hash: String = hash
        .trim_start_matches("sha256:")
        .chars()
        .take(32)
        .collect();
    let start: String = name.chars().take(LONGEST - 36).collect();
    format!("{start}_--{hash}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_safe_and_never_collide() {
        let mut folders = BTreeSet::new();
        let long = format!("{}a", "a.".repeat(127));
        let longer = format!("{}b", "a.".repeat(127));
        for publisher in ["io.github.a", "con.a", "a.b-", &long, &longer] {
            for id in ["a", "con", "nul", "aux", "com1", "a-b", "z--"] {
                let name = cartridge(publisher, id);
                assert!(name.len() <= LONGEST, "{name}");
                assert!(!name.ends_with('.') && !name.starts_with('.'), "{name}");
                let device = name.split('.').next().unwrap_or_default();
                // No device has an underscore in its name.
                assert!(device.contains("__"), "{name}");
                assert!(folders.insert(name.to_lowercase()), "{name}");
            }
        }
        let mut files = BTreeSet::new();
        let long = format!("1.0.0-{}", "A".repeat(100));
        let longer = format!("1.0.0-{}", "a".repeat(100));
        for version in [
            "1.0.0",
            "1.0.0-RC",
            "1.0.0-rc",
            "1.0.0-Rc",
            "1.0.0+rc",
            "1.0.0+a.b",
            "1.0.0-a.b",
            &long,
            &longer,
        ] {
            assert!(files.insert(file("v", version).to_lowercase()), "{version}");
        }
        assert_eq!(file("v", "1.0.0-RC+x"), "v-1.0.0-_52_43_2bx.html");
        assert_eq!(cartridge("com.example", "ada"), "ada__com.example");
    }

    #[test]
    fn no_name_leads_elsewhere() {
        for name in [
            "..", "../x", "/x", "a\\b", "a/../b", ".", "c:x", "a\0b", "…",
        ] {
            let slug = file("t", name);
            assert!(
                slug.bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b)),
                "{slug}"
            );
            assert!(!slug.contains(".."), "{slug}");
        }
    }
}
