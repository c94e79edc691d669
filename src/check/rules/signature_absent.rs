//! `signature-absent`: the cartridge is not signed.

use crate::check::evidence::IssueKind;
use crate::check::{Check, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "signature-absent",
    family: Family::Signature,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Cartridge,
    summary: "the cartridge is not signed",
    what: "There is a `signatures` row with the target rom-manifest.",
    why: "Nothing says who made an unsigned cartridge, so no index lists one.",
    example: "A cartridge straight from an old exporter.",
    fix: "Sign it: export the agent with your publisher key.",
    since: "0.1.0",
    check: Check::Evidence(IssueKind::Absent),
};
