//! `registry-symlink`: a symbolic link or special file stands in the registry.

use crate::check::{Check, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "registry-symlink",
    family: Family::Registry,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Registry,
    summary: "a symbolic link or special file stands in the registry",
    what: "Every entry of the tree is an ordinary file or a folder.",
    why: "A link makes a checkout read or serve something else than what was judged.",
    example: "`cartridge.acx` as a link to another version.",
    fix: "Commit the file itself instead of the link.",
    since: "0.1.0",
    check: Check::Registry,
};
