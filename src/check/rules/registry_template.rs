//! `registry-template`: a template has no usable manifest.json.

use crate::check::{Check, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "registry-template",
    family: Family::Registry,
    level: Severity::Warning,
    fixed: false,
    scope: Scope::Registry,
    summary: "a template has no usable manifest.json",
    what: "Each folder below `templates/` has a `manifest.json` that is a JSON object, and a name of the form of an id.",
    why: "The index lists templates by it.",
    example: "`templates/Starter/` without manifest.json.",
    fix: "Add the manifest, or remove the folder.",
    since: "0.1.0",
    check: Check::Registry,
};
