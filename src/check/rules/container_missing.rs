//! `container-missing`: a table or column of the format is missing.

use crate::check::{Check, Rule, Scope};
use crate::container::FaultKind;
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "container-missing",
    family: Family::Container,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Cartridge,
    summary: "a table or column of the format is missing",
    what: "Every table of the format is there, with every column that is not optional.",
    why: "A reader that expects the table fails or guesses.",
    example: "A cartridge without `objects`.",
    fix: "Export the agent again with a current tool.",
    since: "0.1.0",
    check: Check::Fault(FaultKind::Missing),
};
