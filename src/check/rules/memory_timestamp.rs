//! A memory record's timestamp is a time.

use crate::check::{Check, Context, MemoryItem, Place, Rule, Scope, Sink};
use crate::finding::{Family, Severity};
use crate::model::Timestamp;

/// The rule.
pub static RULE: Rule = Rule {
    code: "memory-timestamp",
    family: Family::Memory,
    level: Severity::Warning,
    fixed: false,
    scope: Scope::Cartridge,
    summary: "A memory record's timestamp is not an RFC 3339 time",
    what: "`timestamp` is an RFC 3339 time with capital T and Z.",
    why: "Merging takes the later time of two records; one that is not a time cannot be compared.",
    example: "`\"timestamp\": \"yesterday\"`",
    fix: "Write the timestamp like 2026-07-01T00:00:00Z.",
    since: "0.1.0",
    check: Check::Memory(check),
};

fn check(_: &Context<'_>, item: &MemoryItem<'_>, sink: &mut Sink<'_>) {
    let Ok(record) = item.payload else { return };
    let Some(text) = record.get("timestamp").and_then(|value| value.as_str()) else {
        return;
    };
    if let Err(malformed) = Timestamp::try_from(text) {
        sink.report(
            Place::pointer("memory", &item.row.id, "/timestamp"),
            format!("`timestamp`: {malformed}"),
        );
    }
}
