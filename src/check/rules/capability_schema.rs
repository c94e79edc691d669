//! A capability record has the form its schema says.

use crate::check::{CapabilityItem, Check, Context, Rule, Scope, Sink};
use crate::finding::{Family, Severity};
use crate::schema;

/// The rule.
pub static RULE: Rule = Rule {
    code: "capability-schema",
    family: Family::Capability,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Cartridge,
    summary: "A capability record is not of its schema",
    what: "Each record has exactly the fields of `acx.capability/1`, each of its form and in its range.",
    why: "The index repeats task type, stack and domain; a record of another form has no place in it.",
    example: "`\"score\": 1.5`, or a stack entry that is not a package URL",
    fix: "Make the record conform to schemas/capability.schema.json, and sign the cartridge again.",
    since: "0.1.0",
    check: Check::Capability(check),
};

fn check(_: &Context<'_>, item: &CapabilityItem<'_>, sink: &mut Sink<'_>) {
    if let Ok(record) = item.record {
        sink.conform(&schema::CAPABILITY, record, "capabilities", &item.row.id);
    }
}
