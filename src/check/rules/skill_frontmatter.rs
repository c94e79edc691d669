//! A skill has the frontmatter that hosts read.

use crate::check::{Check, Context, Place, Rule, Scope, Sink};
use crate::finding::{Family, Severity};

use crate::check::documents::skill_folder;
use crate::check::frontmatter::Frontmatter;
use crate::model::json::shown;
use crate::model::{Json, shorten};

/// Characters of a skill's name.
const NAME: usize = 64;
/// Characters of a skill's description.
const DESCRIPTION: usize = 1_024;

/// The rule.
pub static RULE: Rule = Rule {
    code: "skill-frontmatter",
    family: Family::Skill,
    level: Severity::Warning,
    fixed: false,
    scope: Scope::Cartridge,
    summary: "A SKILL.md has no frontmatter that hosts accept",
    what: "Each `rom/skills/<name>/SKILL.md` starts with YAML frontmatter of only name (the folder's), description (1 to 1,024 characters), license, compatibility, metadata (texts by name) and allowed-tools.",
    why: "Hosts skip a skill whose frontmatter they cannot read, without a word to anybody.",
    example: "A SKILL.md in the folder `caching` with `name: builds`",
    fix: "Correct the frontmatter, recompute the digests, and sign the cartridge again.",
    since: "0.1.0",
    check: Check::Cartridge(check),
};

fn check(context: &Context<'_>, sink: &mut Sink<'_>) {
    for file in &context.cartridge.files {
        let Some(folder) = skill_folder(file) else {
            continue;
        };
        let frontmatter = context.documents.frontmatter.get(&file.name);
        for message in frontmatter.map_or_else(Vec::new, |f| defects(folder, f)) {
            sink.report(Place::row("sqlar", &file.name), message);
        }
    }
}

/// What is wrong with a SKILL.md, field by field.
pub(crate) fn defects(folder: &str, frontmatter: &Frontmatter) -> Vec<String> {
    let fields = match frontmatter {
        Ok(Json::Object(fields)) => fields,
        Ok(other) => {
            return vec![format!(
                "frontmatter: expected names and values, found {}",
                shown(other)
            )];
        }
        Err(message) => return vec![message.clone()],
    };
    let mut defects = Vec::new();
    for required in ["name", "description"] {
        if !fields.contains_key(required) {
            defects.push(format!("the frontmatter has no `{required}`"));
        }
    }
    for (field, value) in fields {
        let expected = match field.as_str() {
            "name" => name(folder, value),
            "description" => description(value),
            "license" | "compatibility" => (!value.is_string()).then(|| "a text".to_owned()),
            "metadata" => metadata(value),
            "allowed-tools" => allowed_tools(value),
            other => {
                defects.push(format!(
                    "unknown field {:?} in the frontmatter",
                    shorten(other)
                ));
                None
            }
        };
        if let Some(expected) = expected {
            defects.push(format!(
                "`{field}`: expected {expected}, found {}",
                shown(value)
            ));
        }
    }
    defects
}

fn name(folder: &str, value: &Json) -> Option<String> {
    let Some(text) = value.as_str() else {
        return Some("a text".to_owned());
    };
    if text != folder {
        return Some(format!("the folder's name {:?}", shorten(folder)));
    }
    let part = |p: &str| {
        !p.is_empty()
            && p.bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    };
    let good = text.len() <= NAME && text.split('-').all(part);
    (!good)
        .then(|| format!("at most {NAME} lower-case letters and digits in words joined by hyphens"))
}

fn description(value: &Json) -> Option<String> {
    let good = value
        .as_str()
        .is_some_and(|text| matches!(text.chars().count(), 1..=DESCRIPTION));
    (!good).then(|| format!("a text of 1 to {DESCRIPTION} characters"))
}

fn metadata(value: &Json) -> Option<String> {
    let good = value
        .as_object()
        .is_some_and(|map| map.values().all(Json::is_string));
    (!good).then(|| "texts by name".to_owned())
}

fn allowed_tools(value: &Json) -> Option<String> {
    let good = match value {
        Json::String(_) => true,
        Json::Array(tools) => tools.iter().all(Json::is_string),
        _ => false,
    };
    (!good).then(|| "a text or a list of texts".to_owned())
}
