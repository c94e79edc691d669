//! `integrity-utf16-order`: the manifest was sorted by UTF-16 code units.

use crate::check::evidence::IssueKind;
use crate::check::{Check, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "integrity-utf16-order",
    family: Family::Integrity,
    level: Severity::Warning,
    fixed: false,
    scope: Scope::Cartridge,
    summary: "the manifest was sorted by UTF-16 code units",
    what: "Whether the signed manifest matches only when the objects are sorted by UTF-16 code units.",
    why: "The format asks for code point order; the two differ beyond the Basic Multilingual Plane.",
    example: "A memory id with an emoji beside one with a private-use character.",
    fix: "Sign with a tool that sorts by code points.",
    since: "0.1.0",
    check: Check::Evidence(IssueKind::Utf16Order),
};
