//! `signature-invalid`: the signature does not verify.

use crate::check::evidence::IssueKind;
use crate::check::{Check, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "signature-invalid",
    family: Family::Signature,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Cartridge,
    summary: "the signature does not verify",
    what: "Strict Ed25519 verification over the envelope's payload and type.",
    why: "The statement was changed after signing, or someone else's key is shipped with it.",
    example: "A signed statement with one byte edited.",
    fix: "Publish the file as it was signed, or sign again.",
    since: "0.1.0",
    check: Check::Evidence(IssueKind::Invalid),
};
