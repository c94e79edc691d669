//! `registry-status-target`: a ledger entry points at nothing in the index.

use crate::check::{Check, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "registry-status-target",
    family: Family::Registry,
    level: Severity::Warning,
    fixed: false,
    scope: Scope::Registry,
    summary: "a ledger entry points at nothing in the index",
    what: "Target and successor of every entry of status.json are indexed, with the digest that the entry names.",
    why: "An entry for a version that is not there, or for other bytes, changes nothing and is probably a typing error.",
    example: "A deprecation of 1.0.1 where 1.0.0 was meant.",
    fix: "Correct the entry where it names the wrong artifact; where the artifact was rejected or is missing, mend that and leave the entry.",
    since: "0.1.0",
    check: Check::Registry,
};
