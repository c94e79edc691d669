//! `history-policy`: a push changes the registry's own word.

use crate::check::{Check, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "history-policy",
    family: Family::History,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Registry,
    summary: "a push changes the registry's own word",
    what: "acx-registry.toml, trust-registry.json, issuer-keys.json and every .gitattributes are as they were before the push, and status.json takes nothing back.",
    why: "They say what the gate lets in, and what a clone makes of it: who may change them lets in what they like.",
    example: "A push that adds the pusher's own key to trust-registry.json.",
    fix: "Ask a maintainer of the registry. On the server, `git config acx.allowPolicyChange true` lets such pushes in.",
    since: "0.1.0",
    check: Check::Registry,
};
