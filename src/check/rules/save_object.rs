//! A public cartridge names no object of one installation.

use crate::check::{Check, Context, Place, Rule, Scope, Sink};
use crate::container::Zone;
use crate::finding::{Family, Severity};
use crate::model::shorten;

/// The rule.
pub static RULE: Rule = Rule {
    code: "save-object",
    family: Family::SaveZone,
    level: Severity::Error,
    fixed: false,
    scope: Scope::Public,
    summary: "A public cartridge names an object of the SAVE zone",
    what: "No row of `objects` has the zone `save`.",
    why: "What one installation learned is its owner's: it is not signed, and it may tell of private code.",
    example: "An objects row with the zone `save`.",
    fix: "Strip the cartridge to its ROM zone before publishing it; the signature stays valid.",
    since: "0.1.0",
    check: Check::Cartridge(check),
};

fn check(context: &Context<'_>, sink: &mut Sink<'_>) {
    for row in context
        .cartridge
        .objects
        .iter()
        .filter(|row| row.zone == Zone::Save)
    {
        sink.report(
            Place::row("objects", &row.oid),
            format!(
                "expected only the zone `rom` in a public cartridge, found {:?} in the zone `save`",
                shorten(&row.source_ref)
            ),
        );
    }
}
