//! `signature-compromised-key`: the signer's key was compromised.

use crate::check::evidence::IssueKind;
use crate::check::{Check, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "signature-compromised-key",
    family: Family::Signature,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Cartridge,
    summary: "the signer's key was compromised",
    what: "The trust registry lists the key as revoked with the reason key-compromise.",
    why: "Whoever has the key can sign anything, at any claimed time.",
    example: "A key that was found in a public repository.",
    fix: "Sign again with a new key, and have the maintainers register it.",
    since: "0.1.0",
    check: Check::Evidence(IssueKind::Compromised),
};
