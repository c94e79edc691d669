//! `integrity-duplicate-row`: two rows of a table have one key.

use crate::check::{Check, Rule, Scope};
use crate::container::FaultKind;
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "integrity-duplicate-row",
    family: Family::Integrity,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Cartridge,
    summary: "two rows of a table have one key",
    what: "The keys of every table, whatever its declared primary key.",
    why: "Readers disagree on which of the two counts, so one could be signed and the other used.",
    example: "Two archive rows named `rom/skills/a/SKILL.md`.",
    fix: "Delete the row that should not be there, and sign again.",
    since: "0.1.0",
    check: Check::Fault(FaultKind::DuplicateRow),
};
