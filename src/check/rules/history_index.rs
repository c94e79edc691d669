//! `history-index`: a push brings an index or a dataset that the registry's signer would not write.

use crate::check::{Check, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "history-index",
    family: Family::History,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Registry,
    summary: "a push brings an index or a dataset that the registry's signer would not write",
    what: "A changed index.json is signed by a pinned key (or by the key of the index before), goes on from the index before, and lists exactly what the pushed tree gives; so do its shards and the datasets.",
    why: "Consumers trust the index: a push must not be a way around the build that signs it.",
    example: "An index.json that was edited by hand, or built from another tree.",
    fix: "Leave index.json, its shards and the datasets out of the push, or make them by `acx build-index` on the commit that is pushed.",
    since: "0.1.0",
    check: Check::Registry,
};
