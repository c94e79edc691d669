//! `history-changed`: a published version was changed.

use crate::check::{Check, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "history-changed",
    family: Family::History,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Registry,
    summary: "a published version was changed",
    what: "Digest and file hash of every coordinate that the signed index lists, or once listed, are the ones it lists.",
    why: "Whoever pinned the version would get other bytes under the same name.",
    example: "A correction pushed over 1.0.0.",
    fix: "Restore the published file and publish the change as a new version.",
    since: "0.1.0",
    check: Check::Registry,
};
