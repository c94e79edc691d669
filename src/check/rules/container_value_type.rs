//! `container-value-type`: a value is of the wrong storage class.

use crate::check::{Check, Rule, Scope};
use crate::container::FaultKind;
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "container-value-type",
    family: Family::Container,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Cartridge,
    summary: "a value is of the wrong storage class",
    what: "The storage class of every value that is used, NULL where none may be, and that text is Unicode.",
    why: "SQLite enforces no declared type, and a value of another class compares and hashes in surprising ways.",
    example: "`sz` as text; a payload as BLOB.",
    fix: "Write the value with the type the format gives it, and sign again.",
    since: "0.1.0",
    check: Check::Fault(FaultKind::ValueType),
};
