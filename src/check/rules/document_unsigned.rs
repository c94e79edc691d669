//! `document-unsigned`: the document is not signed.

use crate::check::{Check, DocumentIssue, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "document-unsigned",
    family: Family::Signature,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Registry,
    summary: "the document is not signed",
    what: "A member `integrity` is there.",
    why: "Nothing vouches for an unsigned document.",
    example: "A draft in `cals/`.",
    fix: "Sign the document.",
    since: "0.1.0",
    check: Check::Document(DocumentIssue::Unsigned),
};
