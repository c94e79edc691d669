//! `signature-publisher`: the signed publisher is not the cartridge's.

use crate::check::evidence::IssueKind;
use crate::check::{Check, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "signature-publisher",
    family: Family::Signature,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Cartridge,
    summary: "the signed publisher is not the cartridge's",
    what: "The predicate's publisherId equals acx.publisher_id.",
    why: "Otherwise one publisher's signature would stand under another's name.",
    example: "publisherId io.github.mallory in a cartridge of io.github.acme.",
    fix: "Sign as the publisher that the cartridge names.",
    since: "0.1.0",
    check: Check::Evidence(IssueKind::Publisher),
};
