//! `integrity-recorded-hash`: a recorded manifest hash is not the recomputed one.

use crate::check::evidence::IssueKind;
use crate::check::{Check, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "integrity-recorded-hash",
    family: Family::Integrity,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Cartridge,
    summary: "a recorded manifest hash is not the recomputed one",
    what: "`acx.rom_manifest_hash` and `signatures.manifest_hash` against the signed manifest.",
    why: "Both are unsigned copies that tools read first, so a wrong one misleads.",
    example: "`acx.rom_manifest_hash` edited by hand.",
    fix: "Write the recomputed hash there; the signature stays valid.",
    since: "0.1.0",
    check: Check::Evidence(IssueKind::RecordedHash),
};
