//! `container-extra-column`: a table has a column that the format does not list.

use crate::check::{Check, Rule, Scope};
use crate::container::FaultKind;
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "container-extra-column",
    family: Family::Container,
    level: Severity::Warning,
    fixed: false,
    scope: Scope::Cartridge,
    summary: "a table has a column that the format does not list",
    what: "The columns of the format's tables against the format's list.",
    why: "No rule looks at such a column and no signature covers it.",
    example: "A column `notes` in `memory`.",
    fix: "Drop the column before publishing.",
    since: "0.1.0",
    check: Check::Fault(FaultKind::ExtraColumn),
};
