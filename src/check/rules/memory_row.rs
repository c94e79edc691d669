//! A memory row's columns are what its payload says.

use crate::check::{Check, Context, MemoryItem, Place, Rule, Scope, Sink};
use crate::finding::{Family, Severity};
use crate::model::{Json, shorten};

/// The rule.
pub static RULE: Rule = Rule {
    code: "memory-row",
    family: Family::Memory,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Cartridge,
    summary: "A memory row is not what its payload says",
    what: "The columns id, zone, artifact_fingerprint and codebase_fingerprint equal the payload's id, zone, artifactFingerprint and codebaseFingerprint.",
    why: "Hosts filter and merge by the columns while the signature is over the payload; where they differ, the columns lie.",
    example: "Row `m1` with `\"id\": \"m2\"` in its payload",
    fix: "Write the columns from the payload, and sign the cartridge again.",
    since: "0.1.0",
    check: Check::Memory(check),
};

fn check(_: &Context<'_>, item: &MemoryItem<'_>, sink: &mut Sink<'_>) {
    let Ok(record) = item.payload else { return };
    let row = item.row;
    let columns = [
        ("id", "id", Some(row.id.as_str())),
        ("zone", "zone", Some(row.zone.as_str())),
        (
            "artifact_fingerprint",
            "artifactFingerprint",
            Some(row.artifact_fingerprint.as_str()),
        ),
        (
            "codebase_fingerprint",
            "codebaseFingerprint",
            row.codebase_fingerprint.as_deref(),
        ),
    ];
    for (column, field, stored) in columns {
        let stated = match record.get(field) {
            Some(Json::String(text)) => Some(text.as_str()),
            Some(Json::Null) if column == "codebase_fingerprint" => None,
            // Absent, or of a type that the schema refuses.
            _ => continue,
        };
        if column == "zone" && !matches!(stated, Some("rom" | "save")) {
            continue;
        }
        if stated != stored {
            sink.report(
                Place::pointer("memory", &row.id, format!("/{field}")),
                format!(
                    "`{field}` is not the column `{column}`: expected {}, found {}",
                    value(stored),
                    value(stated)
                ),
            );
        }
    }
}

fn value(text: Option<&str>) -> String {
    text.map_or_else(|| "null".to_owned(), |text| format!("{:?}", shorten(text)))
}
