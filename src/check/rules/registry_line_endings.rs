//! `registry-line-endings`: git has converted line endings in a cartridge.

use crate::check::{Check, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "registry-line-endings",
    family: Family::Registry,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Registry,
    summary: "git has converted line endings in a cartridge",
    what: "A cartridge in the work tree and the blob that git keeps of it differ by end-of-line conversion alone.",
    why: "A cartridge is a database, not a text: after a conversion one of the two is damaged, and whoever clones the registry gets the other one.",
    example: "`* text=auto eol=crlf` or `*.acx text` in .gitattributes.",
    fix: "Put `*.acx binary` into .gitattributes, then add the cartridge anew from the exporting tool (`git add --renormalize`), or check it out again.",
    since: "0.1.0",
    check: Check::Registry,
};
