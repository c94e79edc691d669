//! A memory payload is stored in its canonical form.

use crate::check::{Check, Context, MemoryItem, Place, Rule, Scope, Sink};
use crate::finding::{Family, Severity};
use crate::model::json;

/// Bytes of each text that the message shows.
const CONTEXT: usize = 24;

/// The rule.
pub static RULE: Rule = Rule {
    code: "memory-canonical",
    family: Family::Memory,
    level: Severity::Error,
    fixed: false,
    scope: Scope::Cartridge,
    summary: "A memory payload is not canonical JSON",
    what: "Each payload is, byte for byte, the RFC 8785 (JCS) form of the value that it spells.",
    why: "The digest is over the stored text. Two texts of one record would have two digests, and merging could not be idempotent.",
    example: "`{\"id\": \"m1\"}` with a space, or names out of order",
    fix: "Store the payload as RFC 8785 canonical JSON, and sign the cartridge again.",
    since: "0.1.0",
    check: Check::Memory(check),
};

fn check(_: &Context<'_>, item: &MemoryItem<'_>, sink: &mut Sink<'_>) {
    let Ok(record) = item.payload else { return };
    let canonical = json::canonical(record);
    let stored = item.row.payload.as_bytes();
    if canonical == stored {
        return;
    }
    let at = canonical
        .iter()
        .zip(stored)
        .take_while(|(a, b)| a == b)
        .count();
    let from = |text: &[u8]| {
        let rest = text.get(at..).unwrap_or_default();
        String::from_utf8_lossy(rest.get(..CONTEXT).unwrap_or(rest)).into_owned()
    };
    sink.report(
        Place::row("memory", &item.row.id),
        format!(
            "the payload is not canonical JSON (RFC 8785): at byte {at} expected {:?}, found {:?}",
            from(&canonical),
            from(stored)
        ),
    );
}
