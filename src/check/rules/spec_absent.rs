//! The package spec is there.

use crate::check::documents::PACKAGE_SPEC;
use crate::check::{Check, Context, Place, Rule, Scope, Sink};
use crate::finding::{Family, Severity};

/// The rule.
pub static RULE: Rule = Rule {
    code: "spec-absent",
    family: Family::PackageSpec,
    level: Severity::Error,
    fixed: false,
    scope: Scope::Cartridge,
    summary: "The package spec is missing",
    what: "The archive holds a file `rom/package-spec.json`.",
    why: "The package spec states what the cartridge holds; without it a host cannot tell a whole cartridge from a stripped one.",
    example: "An archive without `rom/package-spec.json`.",
    fix: "Export the cartridge again with a tool that writes rom/package-spec.json, and sign it.",
    since: "0.1.0",
    check: Check::Cartridge(check),
};

fn check(context: &Context<'_>, sink: &mut Sink<'_>) {
    if context.documents.package_spec.is_none() {
        sink.report(
            Place::row("sqlar", PACKAGE_SPEC),
            format!("expected the file `{PACKAGE_SPEC}`, found none"),
        );
    }
}
