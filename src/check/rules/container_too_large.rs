//! `container-too-large`: the file is larger than the registry accepts.

use crate::check::{Check, Rule, Scope};
use crate::container::FaultKind;
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "container-too-large",
    family: Family::Container,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Cartridge,
    summary: "the file is larger than the registry accepts",
    what: "The length of the file against `limits.file_bytes` of the policy (64 MiB by default), before anything of it is read.",
    why: "A gate that reads files of any size can be stopped by one of them.",
    example: "A cartridge of 70 MiB in a registry with the default limits.",
    fix: "Publish a smaller cartridge: leave out large assets, or ask the registry's maintainers to raise `limits.file_bytes`.",
    since: "0.1.0",
    check: Check::Fault(FaultKind::TooLarge),
};
