//! A memory record's points are not negative.

use crate::check::{Check, Context, MemoryItem, Place, Rule, Scope, Sink};
use crate::finding::{Family, Severity};
use crate::model::json::shown;

/// The rule.
pub static RULE: Rule = Rule {
    code: "memory-xp-negative",
    family: Family::Memory,
    level: Severity::Warning,
    fixed: false,
    scope: Scope::Cartridge,
    summary: "A memory record has a negative xpAwarded",
    what: "`xpAwarded` is at least 0.",
    why: "Points are awarded, not taken; a negative number is most likely a mistake of the writer.",
    example: "`\"xpAwarded\": -5`",
    fix: "Set xpAwarded to 0 or more.",
    since: "0.1.0",
    check: Check::Memory(check),
};

fn check(_: &Context<'_>, item: &MemoryItem<'_>, sink: &mut Sink<'_>) {
    let Ok(record) = item.payload else { return };
    let Some(value) = record.get("xpAwarded") else {
        return;
    };
    // A number outside int32 is for `memory-xp`.
    if value
        .as_f64()
        .is_some_and(|n| n < 0.0 && n >= f64::from(i32::MIN) && n.fract() == 0.0)
    {
        sink.report(
            Place::pointer("memory", &item.row.id, "/xpAwarded"),
            format!("`xpAwarded`: expected 0 or more, found {}", shown(value)),
        );
    }
}
