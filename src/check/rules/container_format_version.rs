//! `container-format-version`: the major format version is one this tool does not know.

use crate::check::{Check, Rule, Scope};
use crate::container::FaultKind;
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "container-format-version",
    family: Family::Container,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Cartridge,
    summary: "the major format version is one this tool does not know",
    what: "The first byte of the header's user_version is 1. Newer minor versions are read.",
    why: "Another major version may give the same tables another meaning, so nothing in it could be vouched for.",
    example: "A cartridge of format 2.0.",
    fix: "Export for format version 1, or update this tool.",
    since: "0.1.0",
    check: Check::Fault(FaultKind::FormatVersion),
};
