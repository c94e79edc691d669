//! `document-key`: the trust registry speaks against the signer's key.

use crate::check::{Check, DocumentIssue, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "document-key",
    family: Family::Signature,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Registry,
    summary: "the trust registry speaks against the signer's key",
    what: "The key is the publisher's own in the trust registry, and not revoked because it was compromised.",
    why: "With a stolen or a foreign key anybody signs in the publisher's name.",
    example: "A key that the trust registry gives to another publisher.",
    fix: "Sign with an active key of the publisher.",
    since: "0.1.0",
    check: Check::Document(DocumentIssue::Key),
};
