//! A capability row is named as its record is.

use crate::check::{CapabilityItem, Check, Context, Place, Rule, Scope, Sink};
use crate::finding::{Family, Severity};
use crate::model::shorten;

/// The rule.
pub static RULE: Rule = Rule {
    code: "capability-row",
    family: Family::Capability,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Cartridge,
    summary: "A capability row has another id than its record",
    what: "The column id equals the record's `id`.",
    why: "The manifest names the row, the record names itself; where they differ, one of them is a copy of another claim.",
    example: "Row `cap-0000000000000001` with another id in its record",
    fix: "Write the column from the record, and sign the cartridge again.",
    since: "0.1.0",
    check: Check::Capability(check),
};

fn check(_: &Context<'_>, item: &CapabilityItem<'_>, sink: &mut Sink<'_>) {
    let Ok(record) = item.record else { return };
    let Some(id) = record.get("id").and_then(|value| value.as_str()) else {
        return;
    };
    if id != item.row.id {
        sink.report(
            Place::pointer("capabilities", &item.row.id, "/id"),
            format!(
                "`id` is not the row's: expected {:?}, found {:?}",
                shorten(&item.row.id),
                shorten(id)
            ),
        );
    }
}
