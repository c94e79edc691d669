//! The package spec has the form its schema says.

use crate::check::documents::{PACKAGE_SPEC, json_of};
use crate::check::{Check, Context, Rule, Scope, Sink};
use crate::finding::{Family, Severity};
use crate::schema;

/// The rule.
pub static RULE: Rule = Rule {
    code: "spec-schema",
    family: Family::PackageSpec,
    level: Severity::Error,
    fixed: false,
    scope: Scope::Cartridge,
    summary: "The package spec is not of its schema",
    what: "The package spec has exactly the five top-level fields, a closed embedding engine, and exactly the eight artifacts of the format, each once with exactly the fields and values of its role.",
    why: "Hosts rely on the eight roles; a weakened or extra one would make a cartridge promise what nobody checks.",
    example: "`\"required\": false` in the artifact of the role `identity`",
    fix: "Make rom/package-spec.json conform to schemas/package-spec.schema.json, and sign the cartridge again.",
    since: "0.1.0",
    check: Check::Cartridge(check),
};

fn check(context: &Context<'_>, sink: &mut Sink<'_>) {
    if let Some(spec) = json_of(&context.documents.package_spec) {
        sink.conform(&schema::PACKAGE_SPEC, spec, "sqlar", PACKAGE_SPEC);
    }
}
