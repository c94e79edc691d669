//! A memory record's fingerprint is its content's.

use crate::check::{Check, Context, MemoryItem, Place, Rule, Scope, Sink};
use crate::finding::{Family, Severity};
use crate::model::{Json, hex, json, shorten};
use serde_json::{Map, Value};
use sha1::{Digest as _, Sha1};

/// The rule.
pub static RULE: Rule = Rule {
    code: "memory-fingerprint",
    family: Family::Memory,
    level: Severity::Warning,
    fixed: false,
    scope: Scope::Cartridge,
    summary: "A memory record's artifactFingerprint is not its content's",
    what: "`artifactFingerprint` is the first 10 hex digits of the SHA-1 over the canonical JSON of the record's title, summary, sourceType, repoId, projectLabel, timestamp, impact, xpAwarded and tags, with text normalized as the format says.",
    why: "Merging recognises one lesson under two ids by its fingerprint; a wrong one makes duplicates, or merges strangers.",
    example: "A title that was edited after the fingerprint was made.",
    fix: "Recompute the fingerprint from the record, in the payload and in the column.",
    since: "0.1.0",
    check: Check::Memory(check),
};

fn check(_: &Context<'_>, item: &MemoryItem<'_>, sink: &mut Sink<'_>) {
    let Ok(record) = item.payload else { return };
    let Some(stated) = record.get("artifactFingerprint").and_then(Json::as_str) else {
        return;
    };
    let label = record.get("projectLabel").unwrap_or(&Json::Null);
    if !label.is_string() && !label.is_null() {
        let place = Place::pointer("memory", &item.row.id, "/projectLabel");
        let found = json::shown(label);
        sink.report(place, format!("`projectLabel`: expected a text or null, as the fingerprint is over it, found {found}"));
        return;
    }
    // Without one of the fields there is nothing to compare with.
    let Some(expected) = fingerprints(record) else {
        return;
    };
    if let Some(first) = expected
        .first()
        .filter(|_| !expected.iter().any(|f| f == stated))
    {
        sink.report(
            Place::pointer("memory", &item.row.id, "/artifactFingerprint"),
            format!(
                "`artifactFingerprint`: expected {first:?}, found {:?}",
                shorten(stated)
            ),
        );
    }
}

/// The fingerprint that a record's content gives, where it has the fields.
pub(crate) fn fingerprint(record: &Json) -> Option<String> {
    fingerprints(record)?.into_iter().next()
}

/// The fingerprint of a record's content. The format does not say what an absent projectLabel counts as, so that then
/// each reading is right: left out, null, or empty.
fn fingerprints(record: &Json) -> Option<Vec<String>> {
    let normal = |field| {
        record
            .get(field)?
            .as_str()
            .map(|text| Value::from(lower(trim(text))))
    };
    // A value of another type makes no fingerprint, and is reported as such.
    let verbatim = |field, fits: fn(&Json) -> bool| record.get(field).filter(|v| fits(v)).cloned();
    let mut tags: Vec<String> = record
        .get("tags")?
        .as_array()?
        .iter()
        .map(|tag| tag.as_str().map(lower))
        .collect::<Option<_>>()?;
    tags.sort_by(|a, b| a.encode_utf16().cmp(b.encode_utf16()));
    let mut content = Map::new();
    for field in ["title", "summary", "sourceType"] {
        content.insert(field.to_owned(), normal(field)?);
    }
    content.insert(
        "timestamp".to_owned(),
        verbatim("timestamp", Json::is_string)?,
    );
    content.insert("impact".to_owned(), verbatim("impact", Json::is_string)?);
    content.insert(
        "xpAwarded".to_owned(),
        verbatim("xpAwarded", Json::is_number)?,
    );
    content.insert(
        "repoId".to_owned(),
        record.get("repoId").cloned().unwrap_or(Value::Null),
    );
    content.insert("tags".to_owned(), Value::from(tags));
    let labels = match record.get("projectLabel") {
        Some(Json::String(_)) => vec![normal("projectLabel")],
        None | Some(Json::Null) => vec![None, Some(Value::Null), Some(Value::from(""))],
        Some(_) => return None,
    };
    let digest = |label| {
        let mut content = content.clone();
        if let Some(label) = label {
            content.insert("projectLabel".to_owned(), label);
        }
        let mut digits = hex::encode(&Sha1::digest(json::canonical(&Value::Object(content))));
        digits.truncate(10);
        digits
    };
    Some(labels.into_iter().map(digest).collect())
}

/// Lower case by Unicode's full mapping, as signers in JavaScript do it.
fn lower(text: impl AsRef<str>) -> String {
    text.as_ref().to_lowercase()
}

/// Without white space at the ends, as JavaScript counts it: a byte order mark is white space, U+0085 is not.
fn trim(text: &str) -> &str {
    text.trim_matches(|c: char| c == '\u{feff}' || (c.is_whitespace() && c != '\u{85}'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_as_javascript_has_it() {
        assert_eq!(trim("\u{feff}\u{a0}\u{2028}\u{3000}a b\t\n"), "a b");
        assert_eq!(trim("\u{85}a\u{200b}"), "\u{85}a\u{200b}");
        assert_eq!(lower("ΑΣ İ\u{212a}"), "ας i\u{307}k");
    }

    #[test]
    fn order_is_by_utf16_units() {
        let record = |tags: &str| {
            let text = format!(
                r#"{{"title":" A ","summary":"s","sourceType":"k","timestamp":"t","impact":"i","xpAwarded":1,"tags":{tags}}}"#
            );
            fingerprints(&json::parse(text.as_bytes()).unwrap_or_default())
        };
        // U+1F600 is D83D DE00 in UTF-16, before U+FB33.
        assert_eq!(
            record("[\"\u{fb33}\",\"\u{1f600}\"]"),
            record("[\"\u{1f600}\",\"\u{fb33}\"]")
        );
        assert_ne!(record("[\"a\"]"), record("[\" a\"]"));
        assert_eq!(record("[\"A\"]"), record("[\"a\"]"));
        assert_eq!(record("[1]"), None);
    }
}
