//! A public cartridge holds no vectors of one installation.

use crate::check::{Check, Context, Place, Rule, Scope, Sink};
use crate::finding::{Family, Severity};

/// The rule.
pub static RULE: Rule = Rule {
    code: "save-vector",
    family: Family::SaveZone,
    level: Severity::Error,
    fixed: false,
    scope: Scope::Public,
    summary: "A public cartridge holds vectors outside the ROM zone",
    what: "No row of `vectors` is outside the zone `rom`, and where `vectors` is a vec0 virtual table it is empty, since the zone of its rows cannot be told.",
    why: "A vector is made from the text of a record and gives much of it away; what one installation learned is its owner's.",
    example: "A vectors row with the zone `save`.",
    fix: "Strip the cartridge to its ROM zone before publishing it; vectors are derived and will be rebuilt.",
    since: "0.1.0",
    check: Check::Cartridge(check),
};

fn check(context: &Context<'_>, sink: &mut Sink<'_>) {
    let counts = context.cartridge.vectors;
    if counts.save > 0 {
        sink.report(
            Place {
                table: Some("vectors"),
                ..Place::default()
            },
            format!(
                "expected only vectors of the zone `rom` in a public cartridge, found {} others",
                counts.save
            ),
        );
    }
    if counts.opaque > 0 {
        sink.report(
            Place { table: Some("vectors"), ..Place::default() },
            format!("expected an empty vec0 table in a public cartridge, found {} rows whose zone cannot be told", counts.opaque),
        );
    }
}
