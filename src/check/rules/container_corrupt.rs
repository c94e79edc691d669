//! `container-corrupt`: the database is damaged.

use crate::check::{Check, Rule, Scope};
use crate::container::FaultKind;
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "container-corrupt",
    family: Family::Container,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Cartridge,
    summary: "the database is damaged",
    what: "SQLite's structural check over pages, b-trees and indexes, and every read after it.",
    why: "Readers disagree on what a damaged database holds.",
    example: "One page overwritten with noise.",
    fix: "Copy the original file again; if it is damaged too, export the agent again.",
    since: "0.1.0",
    check: Check::Fault(FaultKind::Corrupt),
};
