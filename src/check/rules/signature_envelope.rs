//! `signature-envelope`: the envelope is not DSSE.

use crate::check::evidence::IssueKind;
use crate::check::{Check, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "signature-envelope",
    family: Family::Signature,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Cartridge,
    summary: "the envelope is not DSSE",
    what: "Exactly payloadType, payload and signatures with keyid and sig, in JSON and base64, in a row whose time can be read.",
    why: "Anything else has no defined meaning, and what could not be read could not be checked.",
    example: "An envelope that is JSON null.",
    fix: "Sign again with a tool that writes DSSE envelopes.",
    since: "0.1.0",
    check: Check::Evidence(IssueKind::Envelope),
};
