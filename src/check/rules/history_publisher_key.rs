//! `history-publisher-key`: something is signed in a publisher's name by a key that is not the publisher's.

use crate::check::{Check, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "history-publisher-key",
    family: Family::History,
    level: Severity::Error,
    fixed: false,
    scope: Scope::Registry,
    summary: "something is signed in a publisher's name by a key that is not the publisher's",
    what: "A cartridge, workflow or Agent Graph is signed by a key that its publisher has signed accepted ones of whatever kind with, by one that the trust registry or the policy lists for the publisher, or by one that is linked to those by rotation.",
    why: "The namespace belongs to whom the trust registry lists for it, or else to whoever was there first: another's key under it is an impostor's, or a lost one's.",
    example: "A second person publishes `io.github.alice/tool` with a key of their own.",
    fix: "Sign with the publisher's key. To rotate it, have a maintainer list the new key in trust-registry.json for this publisher, or link the two by `rotatedFrom` and `rotatedTo`; or have the publisher's keys pinned under `[publishers.pins]` in acx-registry.toml; or have it waived there for this path.",
    since: "0.1.0",
    check: Check::Registry,
};
