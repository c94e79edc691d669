//! `container-limit`: the file holds more than the registry accepts.

use crate::check::{Check, Rule, Scope};
use crate::container::FaultKind;
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "container-limit",
    family: Family::Container,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Cartridge,
    summary: "the file holds more than the registry accepts",
    what: "Rows, inflated bytes, bytes of a text, and the work of reading, against `[limits]` of the policy.",
    why: "Everything that a file controls is bounded, or one file could stop the gate.",
    example: "An archive entry that claims a terabyte; a text of 2 MiB.",
    fix: "Make the content smaller, or ask the registry's maintainers to raise the limit.",
    since: "0.1.0",
    check: Check::Fault(FaultKind::Limit),
};
