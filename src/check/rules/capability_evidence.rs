//! A capability's evidence is there.

use crate::check::{CapabilityItem, Check, Context, Place, Rule, Scope, Sink};
use crate::finding::{Family, Severity};
use crate::model::{Digest, shorten};

/// The rule.
pub static RULE: Rule = Rule {
    code: "capability-evidence",
    family: Family::Capability,
    level: Severity::Error,
    fixed: false,
    scope: Scope::Cartridge,
    summary: "A capability's evidence is not in the cartridge",
    what: "Each evidence reference resolves: a level-attestation to an attestation (by att_id, its credential's id or status id), a memory-artifact to an artifact fingerprint in memory, a trajectory to a sha256 digest or an object's oid.",
    why: "A claim that points at nothing looks proven and is not.",
    example: "`{\"kind\": \"level-attestation\", \"ref\": \"urn:uuid:404\"}`",
    fix: "Remove the reference, or add the evidence that it names, and sign the cartridge again.",
    since: "0.1.0",
    check: Check::Capability(check),
};

fn check(context: &Context<'_>, item: &CapabilityItem<'_>, sink: &mut Sink<'_>) {
    let Ok(record) = item.record else { return };
    let references = record
        .get("evidenceRefs")
        .and_then(|value| value.as_array());
    for (at, reference) in references.into_iter().flatten().enumerate() {
        let kind = reference.get("kind").and_then(|value| value.as_str());
        let target = reference.get("ref").and_then(|value| value.as_str());
        let (Some(kind), Some(target)) = (kind, target) else {
            continue;
        };
        let (cartridge, documents) = (context.cartridge, context.documents);
        let (found, expected) = match kind {
            "level-attestation" => (
                documents.has_attestation(cartridge, target),
                "an attestation of this cartridge, by att_id, credential id or status id",
            ),
            "memory-artifact" => (
                documents.has_fingerprint(cartridge, target),
                "the artifact fingerprint of a memory record of this cartridge",
            ),
            "trajectory" => (
                Digest::try_from(target).is_ok() || documents.has_oid(cartridge, target),
                "`sha256:` and 64 lower-case hex digits, or an oid of this cartridge",
            ),
            // The schema refuses it.
            _ => continue,
        };
        if !found {
            sink.report(
                Place::pointer(
                    "capabilities",
                    &item.row.id,
                    format!("/evidenceRefs/{at}/ref"),
                ),
                format!(
                    "{kind} reference: expected {expected}, found {:?}",
                    shorten(target)
                ),
            );
        }
    }
}
