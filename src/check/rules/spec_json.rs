//! The package spec is JSON with one meaning.

use crate::check::documents::{PACKAGE_SPEC, refusal};
use crate::check::{Check, Context, Place, Rule, Scope, Sink};
use crate::finding::{Family, Severity};

/// The rule.
pub static RULE: Rule = Rule {
    code: "spec-json",
    family: Family::PackageSpec,
    level: Severity::Error,
    fixed: false,
    scope: Scope::Cartridge,
    summary: "The package spec is not JSON, or not JSON of one meaning",
    what: "`rom/package-spec.json` is UTF-8 JSON of at most 1 MiB and 100 levels, and no object in it repeats a name.",
    why: "Parsers disagree on which of two equal names counts, so such a document says different things to different hosts.",
    example: "`{\"schemaVersion\": \"acx.package-spec/1\", \"schemaVersion\": \"x\"}`",
    fix: "Write rom/package-spec.json as plain JSON with each name once, and sign the cartridge again.",
    since: "0.1.0",
    check: Check::Cartridge(check),
};

fn check(context: &Context<'_>, sink: &mut Sink<'_>) {
    if let Some(Err(error)) = &context.documents.package_spec {
        sink.report(Place::row("sqlar", PACKAGE_SPEC), refusal(error));
    }
}
