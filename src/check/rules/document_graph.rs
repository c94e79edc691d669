//! `document-graph`: parts of the document do not fit each other.

use crate::check::{Check, DocumentIssue, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "document-graph",
    family: Family::Graph,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Registry,
    summary: "parts of the document do not fit each other",
    what: "Unique ids, references that resolve, a start, ends that are reachable, bounded cycles; of an Agent Graph also its invariants on direction, responses, bindings and convergence, and that nothing is idle.",
    why: "A host that runs such a document stops in the middle, or never.",
    example: "A task for an alias that no participant has; two sources direct one actor on the same knowledge.",
    fix: "Correct the named reference or edge, and sign the document again.",
    since: "0.1.0",
    check: Check::Document(DocumentIssue::Graph),
};
