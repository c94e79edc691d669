//! A memory record has the form its schema says.

use crate::check::{Check, Context, MemoryItem, Rule, Scope, Sink};
use crate::finding::{Family, Severity};
use crate::schema;

/// The rule.
pub static RULE: Rule = Rule {
    code: "memory-schema",
    family: Family::Memory,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Cartridge,
    summary: "A memory record is not of its schema",
    what: "Each record has the mandatory fields, each of a type that can become its Lance column, and impact and zone are of their enumerations.",
    why: "The Lance dataset is made from these fields, and a missing or mistyped one has no honest column value.",
    example: "`\"tags\": \"builds\"` instead of `[\"builds\"]`",
    fix: "Make the record conform to schemas/memory-record.schema.json, and sign the cartridge again.",
    since: "0.1.0",
    check: Check::Memory(check),
};

fn check(_: &Context<'_>, item: &MemoryItem<'_>, sink: &mut Sink<'_>) {
    if let Ok(record) = item.payload {
        sink.conform(&schema::MEMORY_RECORD, record, "memory", &item.row.id);
    }
}
