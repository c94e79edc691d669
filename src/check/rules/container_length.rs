//! `container-length`: the file is longer or shorter than its pages.

use crate::check::{Check, Rule, Scope};
use crate::container::FaultKind;
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "container-length",
    family: Family::Container,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Cartridge,
    summary: "the file is longer or shorter than its pages",
    what: "The file's length equals page size times page count.",
    why: "Bytes after the last page are read by no SQLite reader and covered by no signature; missing ones are lost content.",
    example: "A ZIP archive appended to a cartridge; a download that stopped half way.",
    fix: "Copy the original file again, without anything appended.",
    since: "0.1.0",
    check: Check::Fault(FaultKind::Length),
};
