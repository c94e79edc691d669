//! `document-signed-later`: the signing time is after now.

use crate::check::{Check, DocumentIssue, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "document-signed-later",
    family: Family::Signature,
    level: Severity::Warning,
    fixed: false,
    scope: Scope::Registry,
    summary: "the signing time is after now",
    what: "`integrity.signedAt` against the run's time.",
    why: "A clock that is ahead makes the newest version look newer than it is.",
    example: "A document that was signed tomorrow.",
    fix: "Set the clock right, and sign the document again.",
    since: "0.1.0",
    check: Check::Document(DocumentIssue::Future),
};
