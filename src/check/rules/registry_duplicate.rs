//! `registry-duplicate`: two versions of one artifact cannot be told apart.

use crate::check::{Check, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "registry-duplicate",
    family: Family::Registry,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Registry,
    summary: "two versions of one artifact cannot be told apart",
    what: "No two versions of one cartridge, workflow or Agent Graph are equal when build metadata and case are left out.",
    why: "SemVer gives them one precedence, so which one is the latest, or which one a tool that drops build metadata gets, would be chance.",
    example: "1.0.0+linux beside 1.0.0+mac.",
    fix: "Publish one of them under another version number.",
    since: "0.1.0",
    check: Check::Registry,
};
