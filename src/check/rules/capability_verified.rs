//! A verified capability names its level attestation.

use crate::check::{CapabilityItem, Check, Context, Place, Rule, Scope, Sink};
use crate::finding::{Family, Severity};

/// The rule.
pub static RULE: Rule = Rule {
    code: "capability-verified",
    family: Family::Capability,
    level: Severity::Error,
    fixed: false,
    scope: Scope::Cartridge,
    summary: "A capability claims to be verified without a level attestation",
    what: "A record with `proficiency.verified` true has an evidence reference of the kind `level-attestation`.",
    why: "Only a level credential can verify a proficiency; without one the word is the author's own.",
    example: "`\"verified\": true` with no evidence",
    fix: "Set proficiency.verified to false, or name the level attestation in evidenceRefs; then sign again.",
    since: "0.1.0",
    check: Check::Capability(check),
};

fn check(_: &Context<'_>, item: &CapabilityItem<'_>, sink: &mut Sink<'_>) {
    let Ok(record) = item.record else { return };
    let verified = record
        .pointer("/proficiency/verified")
        .and_then(|value| value.as_bool());
    // Evidence of another form is for the schema to report.
    let Some(references) = record
        .get("evidenceRefs")
        .and_then(|value| value.as_array())
    else {
        return;
    };
    let attested = references
        .iter()
        .any(|r| r.get("kind").and_then(|kind| kind.as_str()) == Some("level-attestation"));
    if verified == Some(true) && !attested {
        sink.report(
            Place::pointer("capabilities", &item.row.id, "/proficiency/verified"),
            "`verified` is true: expected an evidence reference of the kind `level-attestation`, found none",
        );
    }
}
