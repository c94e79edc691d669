//! `registry-path`: a cartridge is not at the place of a cartridge.

use crate::check::{Check, Rule, Scope};
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "registry-path",
    family: Family::Registry,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Registry,
    summary: "a cartridge is not at the place of a cartridge",
    what: "Every `.acx` file of the tree is `cartridges/<publisher>/<id>/<version>/cartridge.acx`, with a publisher id, an artifact id and a SemVer version; no folder has the name of an artifact's file, and no file stands where the folders of an index in shards go.",
    why: "The path is how people and tools address a version; anything beside it is served by the same host without being judged.",
    example: "`cartridges/io.github.acme/build-smith/cartridge.acx`; a second `.acx` in a version folder.",
    fix: "Move the file to the path of its coordinate, or remove it.",
    since: "0.1.0",
    check: Check::Registry,
};
