//! The harness requirements are JSON with one meaning.

use crate::check::documents::{HARNESS, refusal};
use crate::check::{Check, Context, Place, Rule, Scope, Sink};
use crate::finding::{Family, Severity};

/// The rule.
pub static RULE: Rule = Rule {
    code: "harness-json",
    family: Family::Harness,
    level: Severity::Error,
    fixed: false,
    scope: Scope::Cartridge,
    summary: "The harness requirements are not JSON, or not JSON of one meaning",
    what: "`rom/manifest/harness-requirements.json` is UTF-8 JSON of at most 1 MiB and 100 levels, and no object in it repeats a name.",
    why: "A host reads this document before it runs anything, and parsers disagree on which of two equal names counts.",
    example: "`{\"schemaVersion\": \"a\", \"schemaVersion\": \"b\"}`",
    fix: "Write rom/manifest/harness-requirements.json as plain JSON with each name once, and sign the cartridge again.",
    since: "0.1.0",
    check: Check::Cartridge(check),
};

fn check(context: &Context<'_>, sink: &mut Sink<'_>) {
    if let Some(Err(error)) = &context.documents.harness {
        sink.report(Place::row("sqlar", HARNESS), refusal(error));
    }
}
