//! The metadata that every cartridge must have are there.

use crate::check::{Check, Context, Place, Rule, Scope, Sink};
use crate::finding::{Family, Severity};

/// The values that no entry can do without. Of the others an index entry states a default, or null.
const REQUIRED: [&str; 8] = [
    "acx.agent_name",
    "acx.artifact_id",
    "acx.artifact_version",
    "acx.cartridge_id",
    "acx.created_at",
    "acx.embedding_engine",
    "acx.publisher_id",
    "acx.spec_version",
];

/// The rule.
pub static RULE: Rule = Rule {
    code: "metadata-missing",
    family: Family::PackageSpec,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Cartridge,
    summary: "A metadata value that every cartridge must have is missing",
    what: "The cartridge table holds cartridge_id, spec_version, created_at, embedding_engine, publisher_id, agent_name, artifact_id and artifact_version, each with `acx.` before it.",
    why: "The index entry, the coordinate and the package spec are checked against these values; an entry without them would be a guess.",
    example: "No row `acx.artifact_version`.",
    fix: "Add the value to the cartridge table, name it in the manifest, and sign the cartridge again.",
    since: "0.1.0",
    check: Check::Cartridge(check),
};

fn check(context: &Context<'_>, sink: &mut Sink<'_>) {
    for key in REQUIRED {
        if context.cartridge.meta(key).is_none() {
            sink.report(
                Place::row("cartridge", key),
                format!("expected the metadata value `{key}`, found none"),
            );
        }
    }
}
