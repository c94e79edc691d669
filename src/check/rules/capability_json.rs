//! A capability record is JSON with one meaning.

use crate::check::documents::refusal;
use crate::check::{CapabilityItem, Check, Context, Place, Rule, Scope, Sink};
use crate::finding::{Family, Severity};

/// The rule.
pub static RULE: Rule = Rule {
    code: "capability-json",
    family: Family::Capability,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Cartridge,
    summary: "A capability record is not JSON, or not JSON of one meaning",
    what: "Each record is JSON of at most 100 levels, and no object in it repeats a name.",
    why: "Parsers disagree on which of two equal names counts, so such a record claims different things to different hosts.",
    example: "`{\"id\": \"cap-…\", \"id\": \"cap-…\"}`",
    fix: "Write the record as JSON with each name once, and sign the cartridge again.",
    since: "0.1.0",
    check: Check::Capability(check),
};

fn check(_: &Context<'_>, item: &CapabilityItem<'_>, sink: &mut Sink<'_>) {
    if let Err(error) = item.record {
        sink.report(Place::row("capabilities", &item.row.id), refusal(error));
    }
}
