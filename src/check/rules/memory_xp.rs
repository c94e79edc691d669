//! A memory record's points fit their column.

use crate::check::{Check, Context, MemoryItem, Place, Rule, Scope, Sink};
use crate::finding::{Family, Severity};
use crate::model::json::shown;

/// The rule.
pub static RULE: Rule = Rule {
    code: "memory-xp",
    family: Family::Memory,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Cartridge,
    summary: "A memory record's xpAwarded cannot become an int32",
    what: "`xpAwarded` is a whole number between −2147483648 and 2147483647; `12.0` is the whole number 12.",
    why: "The Lance column is an int32: anything else would be wrapped or cut without a word.",
    example: "`\"xpAwarded\": 12.5`",
    fix: "Round xpAwarded to a whole number in the range, and sign the cartridge again.",
    since: "0.1.0",
    check: Check::Memory(check),
};

fn check(_: &Context<'_>, item: &MemoryItem<'_>, sink: &mut Sink<'_>) {
    let Ok(record) = item.payload else { return };
    let Some(value) = record.get("xpAwarded") else {
        return;
    };
    let Some(number) = value.as_f64() else { return };
    let whole = number.fract() == 0.0;
    if !whole || !(f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&number) {
        sink.report(
            Place::pointer("memory", &item.row.id, "/xpAwarded"),
            format!(
                "`xpAwarded`: expected a whole number that fits an int32, found {}",
                shown(value)
            ),
        );
    }
}
