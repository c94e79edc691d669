//! `document-dependency`: a pinned workflow is not in the registry.

use crate::check::{Check, DocumentIssue, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "document-dependency",
    family: Family::Coordinate,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Registry,
    summary: "a pinned workflow is not in the registry",
    what: "Each acx-workflow loop names an accepted workflow with exactly that publisher, id, version and digest.",
    why: "A graph whose workflows are missing or others cannot be run as it was signed.",
    example: "A loop that pins a version nobody published.",
    fix: "Publish the workflow first, or pin one that is there.",
    since: "0.1.0",
    check: Check::Document(DocumentIssue::Dependency),
};
