//! `policy-waiver`: a waiver is of no use.

use crate::check::{Check, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "policy-waiver",
    family: Family::Policy,
    level: Severity::Warning,
    fixed: false,
    scope: Scope::Registry,
    summary: "a waiver is of no use",
    what: "Every waiver of the policy holds today and waives a finding.",
    why: "A waiver that matches nothing hides the next finding that does.",
    example: "A waiver that expired last month.",
    fix: "Remove the waiver, or give it a new date with a new reason.",
    since: "0.1.0",
    check: Check::Registry,
};
