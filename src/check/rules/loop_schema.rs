//! The loop and context policy has the form its schema says.

use crate::check::documents::{LOOP_POLICY, json_of};
use crate::check::{Check, Context, Rule, Scope, Sink};
use crate::finding::{Family, Severity};
use crate::schema;

/// The rule.
pub static RULE: Rule = Rule {
    code: "loop-schema",
    family: Family::LoopContext,
    level: Severity::Error,
    fixed: false,
    scope: Scope::Cartridge,
    summary: "The loop and context policy is not of its schema",
    what: "The document has a known schemaVersion, a loop with maxTurns, a cycle and at least one stop condition, and a context with its retrieval and embedding engine. Other fields may stand beside these.",
    why: "A host that cannot read when to stop may not stop.",
    example: "`\"maxTurns\": 0`",
    fix: "Make rom/policy/loop-context-policy.json conform to schemas/loop-context-policy.schema.json, and sign the cartridge again.",
    since: "0.1.0",
    check: Check::Cartridge(check),
};

fn check(context: &Context<'_>, sink: &mut Sink<'_>) {
    if let Some(document) = json_of(&context.documents.loop_policy) {
        sink.conform(&schema::LOOP_CONTEXT, document, "sqlar", LOOP_POLICY);
    }
}
