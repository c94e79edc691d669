//! `registry-unreadable-name`: a name in the registry is not portable.

use crate::check::{Check, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "registry-unreadable-name",
    family: Family::Registry,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Registry,
    summary: "a name in the registry is not portable",
    what: "Names of the tree are Unicode, and not longer or deeper than any system of the registry's users can have.",
    why: "Such a file cannot be named in an index or a report.",
    example: "A file name of bytes that are not UTF-8.",
    fix: "Rename the file.",
    since: "0.1.0",
    check: Check::Registry,
};
