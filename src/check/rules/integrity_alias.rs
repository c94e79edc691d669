//! `integrity-alias`: signed bytes stand again at a path that was not signed.

use crate::check::evidence::IssueKind;
use crate::check::{Check, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "integrity-alias",
    family: Family::Integrity,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Cartridge,
    summary: "signed bytes stand again at a path that was not signed",
    what: "A ROM file that no object names, whose bytes are those of a signed file, at the path of a SKILL.md or of a document of the package spec.",
    why: "Signed bytes at another path are another statement: an example becomes a skill that a host loads.",
    example: "A signed reference file copied to `rom/skills/x/SKILL.md`.",
    fix: "Remove the copy, or make the two files differ and sign again.",
    since: "0.1.0",
    check: Check::Evidence(IssueKind::Alias),
};
