//! `registry-line-endings`: git has converted line endings in an artifact.

use crate::check::{Check, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "registry-line-endings",
    family: Family::Registry,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Registry,
    summary: "git has converted line endings in an artifact",
    what: "A cartridge, workflow or Agent Graph in the work tree and the blob that git keeps of it differ by end-of-line conversion alone.",
    why: "The index lists the hash of a file's bytes: after a conversion one of the two is another file, a cartridge even a damaged one, and whoever clones the registry gets the other one.",
    example: "`* text=auto eol=crlf` or `*.acx text` in .gitattributes.",
    fix: "Put `*.acx binary`, `*.cal.json -text` and `*.agent-graph.json -text` into .gitattributes, then add the file anew from the tool that made it (`git add --renormalize`), or check it out again.",
    since: "0.1.0",
    check: Check::Registry,
};
