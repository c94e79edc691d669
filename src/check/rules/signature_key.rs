//! `signature-key`: the key is not the signature's, or is no sound Ed25519 key.

use crate::check::evidence::IssueKind;
use crate::check::{Check, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "signature-key",
    family: Family::Signature,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Cartridge,
    summary: "the key is not the signature's, or is no sound Ed25519 key",
    what: "public_key_pem is an Ed25519 key that is not of small order, and its id is the one that the envelope and the row name.",
    why: "Under a weak key one signature fits every message; under another's key id someone else would seem to have signed.",
    example: "A key of small order; a keyid that names another key.",
    fix: "Sign again, and ship the public half of the key that signed.",
    since: "0.1.0",
    check: Check::Evidence(IssueKind::Key),
};
