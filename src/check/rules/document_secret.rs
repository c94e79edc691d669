//! `document-secret`: the document has the look of a secret in it.

use crate::check::{Check, DocumentIssue, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "document-secret",
    family: Family::Profile,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Registry,
    summary: "the document has the look of a secret in it",
    what: "Every text but `integrity`, and every member name of open objects (private keys in the signed statement too): private keys, tokens, credentials in addresses, assignments, random tokens, home folders.",
    why: "What is published once cannot be taken back, and keys are looked for by machines.",
    example: "A GitHub token in a task's action.",
    fix: "Revoke the secret, remove it, and sign the document again.",
    since: "0.1.0",
    check: Check::Document(DocumentIssue::Secret),
};
