//! `document-lineage`: the lineage is malformed, repeats a parent or names the document itself.

use crate::check::{Check, DocumentIssue, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "document-lineage",
    family: Family::Lineage,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Registry,
    summary: "the lineage is malformed, repeats a parent or names the document itself",
    what: "Closed parents, 1 to 8, each once, none of them the document, sources by https.",
    why: "Lineage is what credit and recalls follow.",
    example: "A parent that is the document's own coordinate.",
    fix: "Correct the named parent, and sign the document again.",
    since: "0.1.0",
    check: Check::Document(DocumentIssue::Lineage),
};
