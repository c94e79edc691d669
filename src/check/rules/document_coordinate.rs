//! `document-coordinate`: the path or the publisher is not the document's.

use crate::check::{Check, DocumentIssue, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "document-coordinate",
    family: Family::Coordinate,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Registry,
    summary: "the path or the publisher is not the document's",
    what: "Every `.cal.json` below `cals/` is `cals/<publisher>/<id>/<version>.cal.json`, every `.agent-graph.json` below `graphs/` is `graphs/<publisher>/<id>/<version>.agent-graph.json`, with the signed publisher, id and version; the publisher is of the plain form.",
    why: "The path is how people and tools address a version.",
    example: "`1.0.1.cal.json` with the version 1.0.0 in it.",
    fix: "Move the file to the path of its coordinate.",
    since: "0.1.0",
    check: Check::Document(DocumentIssue::Coordinate),
};
