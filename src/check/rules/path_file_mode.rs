//! `path-file-mode`: an archive entry is not an ordinary file.

use crate::check::{Check, Rule, Scope};
use crate::container::FaultKind;
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "path-file-mode",
    family: Family::Path,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Cartridge,
    summary: "an archive entry is not an ordinary file",
    what: "`sqlar.mode` says an ordinary file with permission bits, or nothing.",
    why: "An extractor makes links, devices and set-user-id programs of such entries.",
    example: "An entry with mode 0120777, a symbolic link.",
    fix: "Store ordinary files only, with mode 0644 or 0755.",
    since: "0.1.0",
    check: Check::Fault(FaultKind::FileMode),
};
