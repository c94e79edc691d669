//! A memory record is of one tier: portable, or learned in one codebase.

use crate::check::{Check, Context, MemoryItem, Place, Rule, Scope, Sink};
use crate::finding::{Family, Severity};
use crate::model::json::shown;
use crate::model::{Json, hex};

/// The rule.
pub static RULE: Rule = Rule {
    code: "memory-tier",
    family: Family::Memory,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Cartridge,
    summary: "A memory record mixes the portable and the field-learned tier",
    what: "A portable record has no codebaseFingerprint, no repoId and the zone `rom`. Any other has a codebaseFingerprint of `cbf1_` and 40 hex digits, and the zone `save`.",
    why: "Portable knowledge is published. A record that is tied to one codebase and still travels in the ROM zone leaks where it was learned.",
    example: "`\"portable\": true` with `\"repoId\": \"acme/payments\"`",
    fix: "Make a lesson portable by clearing codebaseFingerprint and repoId, or keep it in the SAVE zone with its fingerprint; then sign again.",
    since: "0.1.0",
    check: Check::Memory(check),
};

fn check(_: &Context<'_>, item: &MemoryItem<'_>, sink: &mut Sink<'_>) {
    let Ok(record) = item.payload else { return };
    let Some(portable) = record.get("portable").and_then(Json::as_bool) else {
        return;
    };
    let mut broken = |field: &str, expected: &str, found: &Json| {
        sink.report(
            Place::pointer("memory", &item.row.id, format!("/{field}")),
            format!(
                "a record with `portable` {portable}: expected `{field}` {expected}, found {}",
                shown(found)
            ),
        );
    };
    match record.get("codebaseFingerprint") {
        Some(found @ Json::String(_)) if portable => broken("codebaseFingerprint", "null", found),
        Some(found @ Json::String(text)) if !is_fingerprint(text) => {
            broken("codebaseFingerprint", "of `cbf1_` and 40 hex digits", found);
        }
        Some(found @ Json::Null) if !portable => {
            broken("codebaseFingerprint", "of `cbf1_` and 40 hex digits", found);
        }
        _ => {}
    }
    if let Some(found) = record
        .get("repoId")
        .filter(|repo| portable && !repo.is_null())
    {
        broken("repoId", "null", found);
    }
    let zone = if portable { "rom" } else { "save" };
    if let Some(found) = record
        .get("zone")
        .filter(|z| matches!(z.as_str(), Some("rom" | "save")) && *z != zone)
    {
        broken("zone", &format!("{zone:?}"), found);
    }
}

fn is_fingerprint(text: &str) -> bool {
    text.strip_prefix("cbf1_")
        .is_some_and(|digits| hex::is_hex(digits, 40))
}
