//! A memory payload is JSON with one meaning.

use crate::check::documents::refusal;
use crate::check::{Check, Context, MemoryItem, Place, Rule, Scope, Sink};
use crate::finding::{Family, Severity};

/// The rule.
pub static RULE: Rule = Rule {
    code: "memory-json",
    family: Family::Memory,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Cartridge,
    summary: "A memory payload is not JSON, or not JSON of one meaning",
    what: "Each payload is JSON of at most 100 levels, and no object in it repeats a name.",
    why: "Parsers disagree on which of two equal names counts, so such a record says different things to different hosts.",
    example: "`{\"id\": \"m1\", \"id\": \"m2\"}`",
    fix: "Write the payload as canonical JSON with each name once, and sign the cartridge again.",
    since: "0.1.0",
    check: Check::Memory(check),
};

fn check(_: &Context<'_>, item: &MemoryItem<'_>, sink: &mut Sink<'_>) {
    if let Err(error) = item.payload {
        sink.report(Place::row("memory", &item.row.id), refusal(error));
    }
}
