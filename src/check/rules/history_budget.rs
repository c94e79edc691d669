//! `history-budget`: a push is too large to be judged in the time that a hook has.

use crate::check::{Check, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "history-budget",
    family: Family::History,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Registry,
    summary: "a push is too large to be judged in the time that a hook has",
    what: "Everything that a push adds is judged within the budget of `acx pre-receive --budget`.",
    why: "What could not be judged is not accepted.",
    example: "A push of a thousand cartridges at once.",
    fix: "Push fewer cartridges at a time, or ask a maintainer to raise the hook's `--budget`.",
    since: "0.1.0",
    check: Check::Registry,
};
