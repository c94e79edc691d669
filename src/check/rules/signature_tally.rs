//! `signature-tally`: the statement describes other content.

use crate::check::evidence::IssueKind;
use crate::check::{Check, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "signature-tally",
    family: Family::Signature,
    level: Severity::Warning,
    fixed: false,
    scope: Scope::Cartridge,
    summary: "the statement describes other content",
    what: "checksumHash, fileCount and embeddingEngine of the predicate, where present.",
    why: "They only inform, but a wrong one points to a faulty signer.",
    example: "A fileCount of 0.",
    fix: "Sign again with a tool that fills them from the cartridge.",
    since: "0.1.0",
    check: Check::Evidence(IssueKind::Tally),
};
