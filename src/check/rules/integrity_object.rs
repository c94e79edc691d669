//! `integrity-object`: signed content was changed or removed.

use crate::check::evidence::IssueKind;
use crate::check::{Check, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "integrity-object",
    family: Family::Integrity,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Cartridge,
    summary: "signed content was changed or removed",
    what: "The digest of every ROM object, recomputed from the file, record, capability or metadata value that it names.",
    why: "This is what the signature promises: the content is what the publisher signed.",
    example: "A SKILL.md edited after signing.",
    fix: "Publish the file as it was signed, or sign the changed content as a new version.",
    since: "0.1.0",
    check: Check::Evidence(IssueKind::Object),
};
