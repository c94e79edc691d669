//! `container-not-sqlite`: the file is not an SQLite database.

use crate::check::{Check, Rule, Scope};
use crate::container::FaultKind;
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "container-not-sqlite",
    family: Family::Container,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Cartridge,
    summary: "the file is not an SQLite database",
    what: "The first 100 bytes: the SQLite 3 header with a page size of 512 to 65536.",
    why: "A cartridge is one SQLite database; anything else under its name is a mistake or a disguise.",
    example: "A text file, or a pointer of a large-file store, named `cartridge.acx`.",
    fix: "Commit the cartridge itself, as the exporting tool wrote it, and mark `*.acx` as binary in .gitattributes.",
    since: "0.1.0",
    check: Check::Fault(FaultKind::NotSqlite),
};
