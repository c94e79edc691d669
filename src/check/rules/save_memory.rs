//! A public cartridge holds no memory of one installation.

use crate::check::{Check, Context, Place, Rule, Scope, Sink};
use crate::container::Zone;
use crate::finding::{Family, Severity};

/// The rule.
pub static RULE: Rule = Rule {
    code: "save-memory",
    family: Family::SaveZone,
    level: Severity::Error,
    fixed: false,
    scope: Scope::Public,
    summary: "A public cartridge holds a field-learned memory record",
    what: "No row of `memory` has the zone `save`.",
    why: "What one installation learned is its owner's: it is not signed, and it may tell of private code.",
    example: "A memory row with the zone `save`.",
    fix: "Strip the cartridge to its ROM zone before publishing it; the signature stays valid.",
    since: "0.1.0",
    check: Check::Cartridge(check),
};

fn check(context: &Context<'_>, sink: &mut Sink<'_>) {
    for row in context
        .cartridge
        .memory
        .iter()
        .filter(|row| row.zone == Zone::Save)
    {
        sink.report(
            Place::row("memory", &row.id),
            "expected only the zone `rom` in a public cartridge, found a record in the zone `save`",
        );
    }
}
