//! `signature-predicate`: the predicate disagrees with its own subject.

use crate::check::evidence::IssueKind;
use crate::check::{Check, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "signature-predicate",
    family: Family::Signature,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Cartridge,
    summary: "the predicate disagrees with its own subject",
    what: "romDigest and manifestHash, where present, are the subject's digest; signedAt is an RFC 3339 time.",
    why: "A statement that contradicts itself can be read either way.",
    example: "A romDigest of an earlier build.",
    fix: "Sign again with a tool that fills the predicate from the manifest.",
    since: "0.1.0",
    check: Check::Evidence(IssueKind::Predicate),
};
