//! `signature-statement`: the signed statement is of another kind.

use crate::check::evidence::IssueKind;
use crate::check::{Check, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "signature-statement",
    family: Family::Signature,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Cartridge,
    summary: "the signed statement is of another kind",
    what: "Payload type, statement type and predicate type of a cartridge, and exactly one subject with one SHA-256 digest.",
    why: "A valid signature over something else must not pass for one over a cartridge.",
    example: "A valid statement about a container image.",
    fix: "Sign a cartridge statement.",
    since: "0.1.0",
    check: Check::Evidence(IssueKind::Statement),
};
