//! `signature-future`: the cartridge was signed in the future.

use crate::check::evidence::IssueKind;
use crate::check::{Check, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "signature-future",
    family: Family::Signature,
    level: Severity::Warning,
    fixed: false,
    scope: Scope::Cartridge,
    summary: "the cartridge was signed in the future",
    what: "signedAt of the predicate against the time of the run.",
    why: "It makes the index seem newer than it is, and outlives key windows.",
    example: "A signer whose clock is a year ahead.",
    fix: "Set the clock and sign again.",
    since: "0.1.0",
    check: Check::Evidence(IssueKind::Future),
};
