//! `registry-file-too-large`: a file beside the cartridges is too large to be looked through.

use crate::check::{Check, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "registry-file-too-large",
    family: Family::Registry,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Registry,
    summary: "a file beside the cartridges is too large to be looked through",
    what: "Every file of the tree has at most `limits.file_bytes` bytes.",
    why: "A file that is not looked through could hold a private key.",
    example: "A database dump in a version folder.",
    fix: "Remove the file and its history, or raise `limits.file_bytes` in acx-registry.toml.",
    since: "0.1.0",
    check: Check::Registry,
};
