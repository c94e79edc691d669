//! `policy-lapsed`: something held when the index was signed and holds no more.

use crate::check::{Check, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "policy-lapsed",
    family: Family::Policy,
    level: Severity::Warning,
    fixed: false,
    scope: Scope::Registry,
    summary: "something held when the index was signed and holds no more",
    what: "In a check of a committed index: its expiry, the waivers, the keys of trusted cartridges, and proven levels, at the time of the check.",
    why: "A check judges by the time of signing, so that one tree has one answer; what has lapsed since would go unseen.",
    example: "A publisher's key whose window ended last week.",
    fix: "Build the index again; renew the key, the waiver or the index's expiry where it is still wanted.",
    since: "0.1.0",
    check: Check::Registry,
};
