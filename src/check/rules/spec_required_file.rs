//! The files of the required roles are there.

use crate::check::documents::{HARNESS, LOOP_POLICY};
use crate::check::{Check, Context, Place, Rule, Scope, Sink};
use crate::finding::{Family, Severity};

/// The rule.
pub static RULE: Rule = Rule {
    code: "spec-required-file",
    family: Family::PackageSpec,
    level: Severity::Error,
    fixed: false,
    scope: Scope::Cartridge,
    summary: "A file that every cartridge must hold is missing",
    what: "The archive holds `rom/manifest/harness-requirements.json` and `rom/policy/loop-context-policy.json`, the files of the required roles `harness` and `loop-context`.",
    why: "A host refuses a cartridge that does not say which tools it needs and how it may loop.",
    example: "An archive without `rom/manifest/harness-requirements.json`.",
    fix: "Add the file, name it in the manifest, and sign the cartridge again.",
    since: "0.1.0",
    check: Check::Cartridge(check),
};

fn check(context: &Context<'_>, sink: &mut Sink<'_>) {
    for name in [HARNESS, LOOP_POLICY] {
        if context.cartridge.file(name).is_none() {
            sink.report(
                Place::row("sqlar", name),
                format!("expected the required file `{name}`, found none"),
            );
        }
    }
}
