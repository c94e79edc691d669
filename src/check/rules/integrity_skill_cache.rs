//! `integrity-skill-cache`: the skill index disagrees with a SKILL.md.

use crate::check::evidence::IssueKind;
use crate::check::{Check, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "integrity-skill-cache",
    family: Family::Integrity,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Cartridge,
    summary: "the skill index disagrees with a SKILL.md",
    what: "`acx_skill.content_sha256` against the SKILL.md that the row names.",
    why: "Hosts choose skills by this index; a stale row shows a skill that is not there.",
    example: "A SKILL.md changed and signed again without its row.",
    fix: "Rebuild the acx_skill rows from the SKILL.md files.",
    since: "0.1.0",
    check: Check::Evidence(IssueKind::SkillCache),
};
