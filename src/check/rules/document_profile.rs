//! `document-profile`: the document is not fit to be published.

use crate::check::{Check, DocumentIssue, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "document-profile",
    family: Family::Profile,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Registry,
    summary: "the document is not fit to be published",
    what: "Version, name, description, license, authors and tags are there and not blank; the license is an SPDX expression; addresses are http or https; acx-workflow loops are pinned.",
    why: "An index repeats these members, and people choose by them.",
    example: "A license `see file`; a homepage `javascript:…`.",
    fix: "Complete or correct the named member, and sign the document again.",
    since: "0.1.0",
    check: Check::Document(DocumentIssue::Profile),
};
