//! `signature-no-key`: there is no key to check the signature with.

use crate::check::evidence::IssueKind;
use crate::check::{Check, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "signature-no-key",
    family: Family::Signature,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Cartridge,
    summary: "there is no key to check the signature with",
    what: "The public key stands in `signatures.public_key_pem`, or the trust registry has one of that key id.",
    why: "A signature that nobody can check proves nothing.",
    example: "public_key_pem NULL, and a key id that the trust registry does not list.",
    fix: "Ship the public key with the signature, or have the maintainers add it to trust-registry.json.",
    since: "0.1.0",
    check: Check::Evidence(IssueKind::NoKey),
};
