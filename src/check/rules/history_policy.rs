//! `history-policy`: a push changes the policy or the trust registry.

use crate::check::{Check, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "history-policy",
    family: Family::History,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Registry,
    summary: "a push changes the policy or the trust registry",
    what: "acx-registry.toml and trust-registry.json are as they were before the push.",
    why: "They say what the gate lets in: who may change them lets in what they like.",
    example: "A push that adds the pusher's own key to trust-registry.json.",
    fix: "Ask a maintainer of the registry. On the server, `git config acx.allowPolicyChange true` lets such pushes in.",
    since: "0.1.0",
    check: Check::Registry,
};
