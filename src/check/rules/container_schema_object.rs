//! `container-schema-object`: the schema has a trigger, a view, or something else that the format does not know.

use crate::check::{Check, Rule, Scope};
use crate::container::FaultKind;
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "container-schema-object",
    family: Family::Container,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Cartridge,
    summary: "the schema has a trigger, a view, or something else that the format does not know",
    what: "Tables and indexes are those of the format; no trigger, view, generated column, or index over an expression; the only virtual table is `vectors USING vec0`.",
    why: "Such objects run, or carry data that no rule looks at and no signature covers.",
    example: "A view named `memory` that never ends; a table `payload`.",
    fix: "Remove it (`DROP TRIGGER`, `DROP VIEW`, `DROP TABLE`) or export the agent again.",
    since: "0.1.0",
    check: Check::Fault(FaultKind::SchemaObject),
};
