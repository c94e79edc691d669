//! A capability's task type is a known one.

use crate::check::{CapabilityItem, Check, Context, Place, Rule, Scope, Sink};
use crate::finding::{Family, Severity};
use crate::model::shorten;

const SEED: [&str; 17] = [
    "build-dag",
    "data-modeling",
    "debug",
    "dependency-upgrade",
    "deploy",
    "design-api",
    "harden-security",
    "implement-feature",
    "incident-response",
    "optimize-performance",
    "prompt-engineering",
    "refactor",
    "review",
    "schema-design",
    "test-authoring",
    "write-docs",
    "write-migration",
];

/// The rule.
pub static RULE: Rule = Rule {
    code: "capability-task-type",
    family: Family::Capability,
    level: Severity::Warning,
    fixed: false,
    scope: Scope::Cartridge,
    summary: "A capability's task type is not in the seed vocabulary",
    what: "A task type without a colon is one of the seed vocabulary's; your own stands behind a prefix and a colon.",
    why: "People search a registry by task type, and an import refuses an unknown one.",
    example: "`\"taskType\": \"build-things\"`",
    fix: "Use a task type of the seed vocabulary, or your own with a prefix such as `com.example:build-things`.",
    since: "0.1.0",
    check: Check::Capability(check),
};

fn check(_: &Context<'_>, item: &CapabilityItem<'_>, sink: &mut Sink<'_>) {
    let Ok(record) = item.record else { return };
    let Some(task) = record.get("taskType").and_then(|value| value.as_str()) else {
        return;
    };
    // Text of another form is for the schema to report.
    let plain = !task.is_empty()
        && task
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    let formed = plain && !task.starts_with('-') && !task.ends_with('-') && !task.contains("--");
    if formed && !SEED.contains(&task) {
        sink.report(
            Place::pointer("capabilities", &item.row.id, "/taskType"),
            format!(
                "expected a task type of the seed vocabulary, or one with a colon, found {:?}",
                shorten(task)
            ),
        );
    }
}
