//! `document-binding`: a loop binds a participant that its workflow does not have.

use crate::check::{Check, DocumentIssue, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "document-binding",
    family: Family::Graph,
    level: Severity::Warning,
    fixed: false,
    scope: Scope::Registry,
    summary: "a loop binds a participant that its workflow does not have",
    what: "Each alias in `actorBindings` of an acx-workflow loop is an alias of the pinned workflow's participants.",
    why: "A host that runs the loop has nobody to give the actor's tasks to.",
    example: "An actor bound to `reviwer` where the workflow has `reviewer`.",
    fix: "Correct the alias, or pin the workflow that has it, and sign the document again.",
    since: "0.1.0",
    check: Check::Document(DocumentIssue::Binding),
};
