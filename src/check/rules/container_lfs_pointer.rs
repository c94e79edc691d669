//! `container-lfs-pointer`: the file is a pointer of git-lfs, not the cartridge.

use crate::check::{Check, Rule, Scope};
use crate::container::FaultKind;
use crate::finding::{Family, Severity};

pub static RULE: Rule = Rule {
    code: "container-lfs-pointer",
    family: Family::Container,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Cartridge,
    summary: "the file is a pointer of git-lfs, not the cartridge",
    what: "The first line of the file is not that of a git-lfs pointer.",
    why: "The pointer names a file that is somewhere else: nothing of the cartridge was judged, and nobody who clones the registry without git-lfs has it.",
    example: "`git lfs track \"*.acx\"` in the registry, then a cartridge added.",
    fix: "Take `*.acx` out of git-lfs: `git lfs untrack \"*.acx\"`, then `git add --renormalize` the cartridge and commit it. In a clone with git-lfs, `git lfs pull` first.",
    since: "0.1.0",
    check: Check::Fault(FaultKind::LfsPointer),
};
