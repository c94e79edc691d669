//! `path-collision`: two archive names collide on a common file system.

use std::collections::BTreeMap;

use crate::check::{Check, Context, Place, Rule, Scope, Sink};
use crate::finding::{Family, Severity};
use crate::model::shorten;

pub static RULE: Rule = Rule {
    code: "path-collision",
    family: Family::Path,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Cartridge,
    summary: "two archive names collide on a common file system",
    what: "No two names are equal when case is folded, and no name is a folder of another.",
    why: "On a file system that ignores case, or where a file would have to be a folder, extracting one destroys the other.",
    example: "`rom/skills/a/SKILL.md` and `rom/skills/A/SKILL.md`; `rom/a` and `rom/a/b`.",
    fix: "Rename one of the two and export again.",
    since: "0.1.0",
    check: Check::Cartridge(run),
};

fn run(context: &Context<'_>, sink: &mut Sink<'_>) {
    let mut folded: BTreeMap<String, &str> = BTreeMap::new();
    for file in &context.cartridge.files {
        let key = file.name.to_lowercase();
        if let Some(other) = folded.get(&key) {
            let message = format!("it differs from {:?} in case alone", shorten(other));
            sink.report(Place::row("sqlar", &file.name), message);
        } else {
            folded.insert(key, &file.name);
        }
    }
    for (key, name) in &folded {
        // Every proper prefix that ends before a `/` would be a folder of this file.
        let parent = key
            .match_indices('/')
            .find_map(|(at, _)| folded.get(key.get(..at)?));
        if let Some(parent) = parent {
            let message = format!("it needs the folder {:?}, which is a file", shorten(parent));
            sink.report(Place::row("sqlar", *name), message);
        }
    }
}
