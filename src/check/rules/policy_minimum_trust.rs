//! `policy-minimum-trust`: the artifact's trust is below the registry's minimum.

use crate::check::{Check, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "policy-minimum-trust",
    family: Family::Policy,
    level: Severity::Error,
    fixed: false,
    scope: Scope::Registry,
    summary: "the artifact's trust is below the registry's minimum",
    what: "The trust value against `[trust] minimum` of the policy.",
    why: "A registry may ask that every publisher's key is registered and proven.",
    example: "A portable cartridge in a registry with the minimum `trusted`.",
    fix: "Have the publisher's key added to trust-registry.json with its namespace proof.",
    since: "0.1.0",
    check: Check::Registry,
};
