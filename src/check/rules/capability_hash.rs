//! A capability row's hash is its record's.

use crate::check::{CapabilityItem, Check, Context, Place, Rule, Scope, Sink};
use crate::finding::{Family, Severity};
use crate::model::{Digest, json, shorten};

/// The rule.
pub static RULE: Rule = Rule {
    code: "capability-hash",
    family: Family::Capability,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Cartridge,
    summary: "A capability row's content_hash is not its record's",
    what: "The column content_hash is `sha256:` and the SHA-256 of the record's canonical JSON (RFC 8785).",
    why: "The hash is a derived cache; one that is stale was made for another record.",
    example: "A record that was edited after its hash was made.",
    fix: "Recompute content_hash from the record, and sign the cartridge again.",
    since: "0.1.0",
    check: Check::Capability(check),
};

fn check(_: &Context<'_>, item: &CapabilityItem<'_>, sink: &mut Sink<'_>) {
    let Ok(record) = item.record else { return };
    let actual = Digest::of(&json::canonical(record)).to_string();
    if actual != item.row.content_hash {
        sink.report(
            Place::row("capabilities", &item.row.id),
            format!(
                "`content_hash` is not the record's: expected {actual:?}, found {:?}",
                shorten(&item.row.content_hash)
            ),
        );
    }
}
