//! The harness requirements have the form their schema says.

use crate::check::documents::{HARNESS, json_of};
use crate::check::{Check, Context, Rule, Scope, Sink};
use crate::finding::{Family, Severity};
use crate::schema;

/// The rule.
pub static RULE: Rule = Rule {
    code: "harness-schema",
    family: Family::Harness,
    level: Severity::Error,
    fixed: false,
    scope: Scope::Cartridge,
    summary: "The harness requirements are not of their schema",
    what: "The document has a known schemaVersion, a minimum protocol revision, the model's needs and the required tools, among them the roles `acx:execute`, `acx:dispatch`, `acx:memory.write` and `acx:search`. Other fields may stand beside these.",
    why: "A host refuses a cartridge without a known version or one of the four roles, so that a registry should not offer it.",
    example: "No tool with the role `acx:search`.",
    fix: "Make rom/manifest/harness-requirements.json conform to schemas/harness.schema.json, and sign the cartridge again.",
    since: "0.1.0",
    check: Check::Cartridge(check),
};

fn check(context: &Context<'_>, sink: &mut Sink<'_>) {
    if let Some(document) = json_of(&context.documents.harness) {
        sink.conform(&schema::HARNESS, document, "sqlar", HARNESS);
    }
}
