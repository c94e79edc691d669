//! `history-removed`: a published version is gone.

use crate::check::{Check, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "history-removed",
    family: Family::History,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Registry,
    summary: "a published version is gone",
    what: "Every coordinate that the signed index lists is in the tree, unless the ledger calls it withdrawn.",
    why: "A registry is append-only: builds that depend on the version break.",
    example: "`git rm` of an old version.",
    fix: "Restore the file, or have the version entered as withdrawn in status.json first: a push or a pull request of its own, before the one that deletes it.",
    since: "0.1.0",
    check: Check::Registry,
};
