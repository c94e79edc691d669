//! `history-branch`: a push deletes a guarded branch.

use crate::check::{Check, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "history-branch",
    family: Family::History,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Registry,
    summary: "a push deletes a guarded branch",
    what: "A guarded branch that has published artifacts is not deleted.",
    why: "What was published there would be gone.",
    example: "`git push --delete origin main`.",
    fix: "Leave the branch. A maintainer can take it off `[branches] guarded` first.",
    since: "0.1.0",
    check: Check::Registry,
};
