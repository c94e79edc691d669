//! `integrity-shared-content`: two ROM files have the same bytes and one of them is not signed by name.

use crate::check::evidence::IssueKind;
use crate::check::{Check, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "integrity-shared-content",
    family: Family::Integrity,
    level: Severity::Warning,
    fixed: false,
    scope: Scope::Cartridge,
    summary: "two ROM files have the same bytes and one of them is not signed by name",
    what: "A ROM file that no object names, whose bytes are those of a signed file, at a path without meaning of its own.",
    why: "The objects table has room for one path per content; identical licence texts in two skills are usual.",
    example: "The same LICENSE in two skills.",
    fix: "Nothing must be done; files that differ in a byte are each signed by name.",
    since: "0.1.0",
    check: Check::Evidence(IssueKind::SharedContent),
};
