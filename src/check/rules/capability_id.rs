//! A capability's id is the one its content gives.

use crate::check::{CapabilityItem, Check, Context, Place, Rule, Scope, Sink};
use crate::finding::{Family, Severity};
use crate::model::{Digest, Json, shorten};
use crate::schema;

/// The rule.
pub static RULE: Rule = Rule {
    code: "capability-id",
    family: Family::Capability,
    level: Severity::Warning,
    fixed: false,
    scope: Scope::Cartridge,
    summary: "A capability's id is not the one its content gives",
    what: "`id` is `cap-` and the first 16 hex digits of the SHA-256 over task type, sorted stack and domain.",
    why: "Merging recognises one capability of two cartridges by its id; another one makes duplicates.",
    example: "A stack entry that was added under the old id.",
    fix: "Recompute the id from taskType, stack and domain.",
    since: "0.1.0",
    check: Check::Capability(check),
};

fn check(_: &Context<'_>, item: &CapabilityItem<'_>, sink: &mut Sink<'_>) {
    let Ok(record) = item.record else { return };
    // The id of a record of another form has no meaning, and `capability-schema` reports the form.
    if !schema::CAPABILITY.is_valid(record) {
        return;
    }
    let Some((expected, stated)) = expected_id(record).zip(record.get("id").and_then(Json::as_str))
    else {
        return;
    };
    if expected != stated {
        sink.report(
            Place::pointer("capabilities", &item.row.id, "/id"),
            format!("`id`: expected {expected:?}, found {:?}", shorten(stated)),
        );
    }
}

/// The id that a record's task type, stack and domain give.
pub(crate) fn expected_id(record: &Json) -> Option<String> {
    let text = |field| record.get(field)?.as_str();
    let mut stack: Vec<&str> = record
        .get("stack")?
        .as_array()?
        .iter()
        .filter_map(Json::as_str)
        .collect();
    stack.sort_by(|a, b| a.encode_utf16().cmp(b.encode_utf16()));
    let content = format!(
        "{}|{}|{}",
        text("taskType")?,
        stack.join(","),
        text("domain")?
    );
    let mut digits = Digest::of(content.as_bytes()).hex();
    digits.truncate(16);
    Some(format!("cap-{digits}"))
}
