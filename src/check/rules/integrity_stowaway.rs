//! `integrity-stowaway`: the ROM zone has content that the signature does not cover.

use crate::check::evidence::IssueKind;
use crate::check::{Check, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "integrity-stowaway",
    family: Family::Integrity,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Cartridge,
    summary: "the ROM zone has content that the signature does not cover",
    what: "Every file under rom/, ROM memory record, capability and metadata key of the index has an object of its own.",
    why: "Content that was added after signing would ride on a signature that never saw it.",
    example: "A second skill added to a signed cartridge.",
    fix: "Remove the content, or export and sign again as a new version.",
    since: "0.1.0",
    check: Check::Evidence(IssueKind::Stowaway),
};
