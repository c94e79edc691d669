//! `document-integrity`: the signature does not hold for the document.

use crate::check::{Check, DocumentIssue, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "document-integrity",
    family: Family::Signature,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Registry,
    summary: "the signature does not hold for the document",
    what: "Closed `integrity` and envelope, the recomputed digest, the key and its id, the strict Ed25519 signature, the statement's subject and predicate.",
    why: "A document that was changed, or signed by another, is not what its publisher signed.",
    example: "A route that was edited after signing.",
    fix: "Sign the document again, and change nothing afterwards.",
    since: "0.1.0",
    check: Check::Document(DocumentIssue::Integrity),
};
