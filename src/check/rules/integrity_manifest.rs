//! `integrity-manifest`: the recomputed manifest is not the signed one.

use crate::check::evidence::IssueKind;
use crate::check::{Check, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "integrity-manifest",
    family: Family::Integrity,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Cartridge,
    summary: "the recomputed manifest is not the signed one",
    what: "The hash of the ROM manifest, recomputed from the objects, against the signed subject.",
    why: "An object that was added, removed or renamed changes no file, but it changes what is signed.",
    example: "An object row deleted after signing.",
    fix: "Publish the file as it was signed, or sign again as a new version.",
    since: "0.1.0",
    check: Check::Evidence(IssueKind::Manifest),
};
