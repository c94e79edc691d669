//! A level credential is JSON with one meaning.

use crate::check::documents::refusal;
use crate::check::{Check, Context, Place, Rule, Scope, Sink};
use crate::finding::{Family, Severity};

/// The rule.
pub static RULE: Rule = Rule {
    code: "attestation-json",
    family: Family::Capability,
    level: Severity::Error,
    fixed: false,
    scope: Scope::Cartridge,
    summary: "A level credential is not JSON",
    what: "The document of each attestation of the type `vc-2.0` is JSON of at most 100 levels, and no object in it repeats a name; all of them together have at most 4 MiB.",
    why: "A credential that cannot be read proves nothing, and looks as if it did.",
    example: "A truncated credential.",
    fix: "Replace the attestation by the credential as it was issued, or remove it.",
    since: "0.1.0",
    check: Check::Cartridge(check),
};

fn check(context: &Context<'_>, sink: &mut Sink<'_>) {
    for (at, parsed) in &context.documents.credentials {
        if let (Err(error), Some(row)) = (parsed, context.cartridge.attestations.get(*at)) {
            sink.report(Place::row("attestations", &row.att_id), refusal(error));
        }
    }
}
