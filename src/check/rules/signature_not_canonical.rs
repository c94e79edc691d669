//! `signature-not-canonical`: the signed statement is not canonical JSON.

use crate::check::evidence::IssueKind;
use crate::check::{Check, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "signature-not-canonical",
    family: Family::Signature,
    level: Severity::Warning,
    fixed: false,
    scope: Scope::Cartridge,
    summary: "the signed statement is not canonical JSON",
    what: "The payload is its own RFC 8785 form.",
    why: "The format asks for it, so that two signers of one statement sign the same bytes.",
    example: "A pretty-printed statement.",
    fix: "Sign with a tool that writes canonical JSON.",
    since: "0.1.0",
    check: Check::Evidence(IssueKind::NotCanonical),
};
