//! `integrity-memory-oid`: a memory row's oid is not its payload's digest.

use crate::check::evidence::IssueKind;
use crate::check::{Check, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "integrity-memory-oid",
    family: Family::Integrity,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Cartridge,
    summary: "a memory row's oid is not its payload's digest",
    what: "`memory.oid` against the SHA-256 of the payload.",
    why: "It is a copy that tools compare instead of hashing.",
    example: "A payload changed and signed again with the old oid.",
    fix: "Write the digest of the payload as stored.",
    since: "0.1.0",
    check: Check::Evidence(IssueKind::MemoryOid),
};
