//! A public cartridge holds no file of one installation.

use crate::check::{Check, Context, Place, Rule, Scope, Sink};
use crate::container::Zone;
use crate::finding::{Family, Severity};
use crate::model::shorten;

/// The rule.
pub static RULE: Rule = Rule {
    code: "save-file",
    family: Family::SaveZone,
    level: Severity::Error,
    fixed: false,
    scope: Scope::Public,
    summary: "A public cartridge holds a file of the SAVE zone",
    what: "No archive name begins with `save/`.",
    why: "What one installation learned is its owner's: it is not signed, and it may tell of private code.",
    example: "An archive file `save/notes.md`.",
    fix: "Strip the cartridge to its ROM zone before publishing it; the signature stays valid.",
    since: "0.1.0",
    check: Check::Cartridge(check),
};

fn check(context: &Context<'_>, sink: &mut Sink<'_>) {
    for file in context
        .cartridge
        .files
        .iter()
        .filter(|file| file.zone() == Some(Zone::Save))
    {
        sink.report(
            Place::row("sqlar", &file.name),
            format!(
                "expected only files under `rom/` in a public cartridge, found {:?}",
                shorten(&file.name)
            ),
        );
    }
}
