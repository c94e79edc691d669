//! `container-inflate`: an archive file does not inflate to its size.

use crate::check::{Check, Rule, Scope};
use crate::container::FaultKind;
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "container-inflate",
    family: Family::Container,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Cartridge,
    summary: "an archive file does not inflate to its size",
    what: "Each file's data is either stored, with `sz` its length, or raw Deflate of exactly `sz` bytes with nothing after it.",
    why: "A wrong size hides a bomb or leftover bytes, and readers disagree on the content.",
    example: "64 MiB of zeros behind a claimed size of 10 bytes.",
    fix: "Store the file again with its true size.",
    since: "0.1.0",
    check: Check::Fault(FaultKind::Inflate),
};
