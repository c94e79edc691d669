//! `document-private-name`: an open object has a member named for private content.

use crate::check::{Check, DocumentIssue, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "document-private-name",
    family: Family::Profile,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Registry,
    summary: "an open object has a member named for private content",
    what: "Member names inside `extensions` and `rac[].okf`, at any depth, against the names of credentials and content.",
    why: "These documents say who knows what; what they know does not belong in them.",
    example: "`extensions` with a member `apiKey`.",
    fix: "Remove the member, and sign the document again.",
    since: "0.1.0",
    check: Check::Document(DocumentIssue::PrivateName),
};
