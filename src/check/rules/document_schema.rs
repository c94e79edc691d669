//! `document-schema`: the document does not conform to its schema.

use crate::check::{Check, DocumentIssue, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "document-schema",
    family: Family::Schema,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Registry,
    summary: "the document does not conform to its schema",
    what: "Members, types, forms and bounds by `workflow.schema.json` or `agent-graph.schema.json`.",
    why: "A reader that meets what it does not know guesses, and each guesses otherwise.",
    example: "An unknown member; an intent outside the enum.",
    fix: "Correct the named member, and sign the document again.",
    since: "0.1.0",
    check: Check::Document(DocumentIssue::Schema),
};
