//! `lance-other-engine`: the cartridge's memory is by another embedding engine.

use crate::check::{Check, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "lance-other-engine",
    family: Family::Lance,
    level: Severity::Warning,
    fixed: false,
    scope: Scope::Registry,
    summary: "the cartridge's memory is by another embedding engine",
    what: "In a build that writes Lance datasets: the cartridge's embedding engine is local-hash-128, the one that this program has.",
    why: "Vectors of different engines cannot be compared, so no dataset is written and search passes the cartridge over.",
    example: "A cartridge with the engine `minilm-384`.",
    fix: "Nothing must be done; to be searched, export the agent with local-hash-128.",
    since: "0.1.0",
    check: Check::Registry,
};
