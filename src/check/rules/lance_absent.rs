//! The Lance descriptor is there.

use crate::check::documents::LANCE_DESCRIPTOR;
use crate::check::{Check, Context, Place, Rule, Scope, Sink};
use crate::finding::{Family, Severity};

/// The rule.
pub static RULE: Rule = Rule {
    code: "lance-absent",
    family: Family::Lance,
    level: Severity::Error,
    fixed: false,
    scope: Scope::Cartridge,
    summary: "The Lance descriptor is missing",
    what: "The archive holds a file `rom/schema/lance-memory.json`.",
    why: "The descriptor signs the columns of the derived dataset; without it a host cannot rebuild the vectors.",
    example: "An archive without `rom/schema/lance-memory.json`.",
    fix: "Add the descriptor for the cartridge's engine, name it in the manifest, and sign the cartridge again.",
    since: "0.1.0",
    check: Check::Cartridge(check),
};

fn check(context: &Context<'_>, sink: &mut Sink<'_>) {
    if context.documents.lance_descriptor.is_none() {
        sink.report(
            Place::row("sqlar", LANCE_DESCRIPTOR),
            format!("expected the file `{LANCE_DESCRIPTOR}`, found none"),
        );
    }
}
