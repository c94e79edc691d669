//! `registry-secret`: a secret stands in the registry.

use crate::check::{Check, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "registry-secret",
    family: Family::Registry,
    level: Severity::Error,
    fixed: false,
    scope: Scope::Registry,
    summary: "a secret stands in the registry",
    what: "Names (`.env`, `.env.*`, `*.key.pem`, `id_rsa` and kin, private- or secret-named `.pem`) and, in every file, the head of a PEM block of a private key.",
    why: "A registry is public; a key in it is compromised from the moment of the push.",
    example: "The publisher's signing key beside the cartridge.",
    fix: "Revoke the key, then remove the file and its history.",
    since: "0.1.0",
    check: Check::Registry,
};
