//! `registry-not-indexed`: the registry holds artifacts that this tool does not index.

use crate::check::{Check, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "registry-not-indexed",
    family: Family::Registry,
    level: Severity::Warning,
    fixed: false,
    scope: Scope::Registry,
    summary: "the registry holds artifacts that this tool does not index",
    what: "Files below `cals/` and `graphs/`.",
    why: "They are signed documents of their own kind, and nothing here says that they are valid.",
    example: "Two workflows in `cals/`.",
    fix: "Nothing must be done; they stay in the tree as they are.",
    since: "0.1.0",
    check: Check::Registry,
};
