//! The Lance descriptor is JSON with one meaning.

use crate::check::documents::{LANCE_DESCRIPTOR, refusal};
use crate::check::{Check, Context, Place, Rule, Scope, Sink};
use crate::finding::{Family, Severity};

/// The rule.
pub static RULE: Rule = Rule {
    code: "lance-json",
    family: Family::Lance,
    level: Severity::Error,
    fixed: false,
    scope: Scope::Cartridge,
    summary: "The Lance descriptor is not JSON, or not JSON of one meaning",
    what: "`rom/schema/lance-memory.json` is UTF-8 JSON of at most 1 MiB and 100 levels, and no object in it repeats a name.",
    why: "Parsers disagree on which of two equal names counts, so such a document describes different datasets to different hosts.",
    example: "`{\"format\": \"lancedb\", \"format\": \"x\"}`",
    fix: "Write rom/schema/lance-memory.json as plain JSON with each name once, and sign the cartridge again.",
    since: "0.1.0",
    check: Check::Cartridge(check),
};

fn check(context: &Context<'_>, sink: &mut Sink<'_>) {
    if let Some(Err(error)) = &context.documents.lance_descriptor {
        sink.report(Place::row("sqlar", LANCE_DESCRIPTOR), refusal(error));
    }
}
