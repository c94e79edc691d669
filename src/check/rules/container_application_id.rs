//! `container-application-id`: the database belongs to another application.

use crate::check::{Check, Rule, Scope};
use crate::container::FaultKind;
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "container-application-id",
    family: Family::Container,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Cartridge,
    summary: "the database belongs to another application",
    what: "The header's application_id is 0x41435831, `ACX1`.",
    why: "The id is how tools tell a cartridge from any other database.",
    example: "A browser's history database renamed to `cartridge.acx`.",
    fix: "Export the agent again; the exporting tool sets the id.",
    since: "0.1.0",
    check: Check::Fault(FaultKind::ApplicationId),
};
