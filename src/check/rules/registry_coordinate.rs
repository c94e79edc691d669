//! `registry-coordinate`: the path is not the cartridge's own coordinate.

use crate::check::{Check, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "registry-coordinate",
    family: Family::Registry,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Registry,
    summary: "the path is not the cartridge's own coordinate",
    what: "Publisher, id and version of the path equal the signed acx.publisher_id, acx.artifact_id and acx.artifact_version.",
    why: "Otherwise one publisher's cartridge would be served under another's name.",
    example: "A cartridge of io.github.acme below cartridges/io.github.mallory/.",
    fix: "Move the file below its own publisher, id and version.",
    since: "0.1.0",
    check: Check::Registry,
};
