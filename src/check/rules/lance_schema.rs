//! The Lance descriptor has the form its schema says.

use crate::check::documents::{LANCE_DESCRIPTOR, json_of};
use crate::check::{Check, Context, Rule, Scope, Sink};
use crate::finding::{Family, Severity};
use crate::schema;

/// The rule.
pub static RULE: Rule = Rule {
    code: "lance-schema",
    family: Family::Lance,
    level: Severity::Error,
    fixed: false,
    scope: Scope::Cartridge,
    summary: "The Lance descriptor is not the normative one",
    what: "The descriptor has exactly the fields and the fourteen columns of `acx.lance-memory/1`, in their order.",
    why: "Datasets are rebuilt from it and searched together; one with other columns or another metric cannot be.",
    example: "`\"distanceMetric\": \"l2\"`, or thirteen columns",
    fix: "Make rom/schema/lance-memory.json conform to schemas/lance-memory.schema.json, and sign the cartridge again.",
    since: "0.1.0",
    check: Check::Cartridge(check),
};

fn check(context: &Context<'_>, sink: &mut Sink<'_>) {
    if let Some(descriptor) = json_of(&context.documents.lance_descriptor) {
        sink.conform(&schema::LANCE_MEMORY, descriptor, "sqlar", LANCE_DESCRIPTOR);
    }
}
