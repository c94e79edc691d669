//! `path-name-type`: an archive name is not text.

use crate::check::{Check, Rule, Scope};
use crate::container::FaultKind;
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "path-name-type",
    family: Family::Path,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Cartridge,
    summary: "an archive name is not text",
    what: "Every `sqlar.name` is text: not NULL, not a BLOB, not a number, and Unicode.",
    why: "Such a row equals no name that anyone looks up, so it hides from every check by name.",
    example: "A row whose name is NULL, which a non-integer primary key admits.",
    fix: "Delete the row or give it a name, and sign again.",
    since: "0.1.0",
    check: Check::Fault(FaultKind::NameType),
};
