//! `document-json`: the document is not interoperable JSON.

use crate::check::{Check, DocumentIssue, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "document-json",
    family: Family::Schema,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Registry,
    summary: "the document is not interoperable JSON",
    what: "At most 1 MiB (or `limits.file_bytes`, where that is less) of UTF-8 without byte order mark, no repeated name, no half surrogate pair, no integer beyond 2^53-1, at most 100 levels.",
    why: "Parsers disagree on what such a text says, so a signature over it means several things.",
    example: "Two members `start`; the integer 9007199254740993.",
    fix: "Write the document as plain JSON within these limits, and sign it again.",
    since: "0.1.0",
    check: Check::Document(DocumentIssue::Json),
};
