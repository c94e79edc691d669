//! The counts in the package spec are the live ones.

use crate::check::documents::{PACKAGE_SPEC, json_of};
use crate::check::{Check, Context, Place, Rule, Scope, Sink};
use crate::finding::{Family, Severity};

/// Artifacts of a spec; what stands behind the eighth is for the schema to report.
const ARTIFACTS: usize = 8;

/// The rule.
pub static RULE: Rule = Rule {
    code: "spec-count",
    family: Family::PackageSpec,
    level: Severity::Warning,
    fixed: false,
    scope: Scope::Cartridge,
    summary: "A count in the package spec is not the live number",
    what: "Each `count` equals the number of memory records, SKILL.md files, capability records and level credentials that the cartridge holds.",
    why: "Learning and stripping change the numbers without a new signature, so a difference is only worth knowing.",
    example: "`\"count\": 0` for the role `level` in a cartridge that carries a credential",
    fix: "Nothing needs to be done: credentials and lessons come after the signature. Of other counts, export the cartridge again to have them right.",
    since: "0.1.0",
    check: Check::Cartridge(check),
};

fn check(context: &Context<'_>, sink: &mut Sink<'_>) {
    let Some(spec) = json_of(&context.documents.package_spec) else {
        return;
    };
    let artifacts = spec.get("artifacts").and_then(|value| value.as_array());
    let live = context.documents.live_counts(context.cartridge);
    for (at, artifact) in artifacts.into_iter().flatten().enumerate().take(ARTIFACTS) {
        let role = artifact.get("role").and_then(|role| role.as_str());
        let stated = artifact.get("count").and_then(|count| count.as_f64());
        let (Some(role), Some(stated)) = (role, stated.filter(|n| *n >= 0.0 && n.fract() == 0.0))
        else {
            continue;
        };
        if let Some(actual) = live.get(role).filter(|n| **n as f64 != stated) {
            sink.report(
                Place::pointer("sqlar", PACKAGE_SPEC, format!("/artifacts/{at}/count")),
                format!("the role `{role}`: expected the live number {actual}, found {stated}"),
            );
        }
    }
}
