//! `signature-subject`: the statement is about another cartridge.

use crate::check::evidence::IssueKind;
use crate::check::{Check, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "signature-subject",
    family: Family::Signature,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Cartridge,
    summary: "the statement is about another cartridge",
    what: "The subject's name is acx.cartridge_id; its digest is the content's, where all recorded hashes are the content's too.",
    why: "A true statement about one cartridge must not vouch for another.",
    example: "The envelope of version 1.0.0 inside version 1.1.0.",
    fix: "Sign this cartridge.",
    since: "0.1.0",
    check: Check::Evidence(IssueKind::Subject),
};
