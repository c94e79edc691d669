//! A skill has the frontmatter that hosts read.

use crate::check::{Check, Context, Place, Rule, Scope, Sink};
use crate::finding::{Family, Severity};
use serde_saphyr::options::MergeKeyPolicy;

use crate::check::documents::skill_folder;
use crate::model::json::shown;
use crate::model::{Json, shorten};

/// Bytes of frontmatter that are read.
const FRONTMATTER_BYTES: usize = 16 << 10;
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
        for message in defects(folder, &file.data) {
            sink.report(Place::row("sqlar", &file.name), message);
        }
    }
}

/// A text of a SKILL.md's frontmatter, where both can be read.
pub(super) fn text_of(data: &[u8], field: &str) -> Option<String> {
    let fields = fields(data).ok()?;
    fields.get(field)?.as_str().map(str::to_owned)
}

/// The fields of a SKILL.md's frontmatter.
///
/// # Errors
/// A sentence where there is none that can be read.
pub(crate) fn fields(data: &[u8]) -> Result<Json, String> {
    frontmatter(data).and_then(parse)
}

/// What is wrong with a SKILL.md, field by field.
pub(crate) fn defects(folder: &str, data: &[u8]) -> Vec<String> {
    let fields = match fields(data) {
        Ok(Json::Object(fields)) => fields,
        Ok(other) => {
            return vec![format!(
                "frontmatter: expected names and values, found {}",
                shown(&other)
            )];
        }
        Err(message) => return vec![message],
    };
    let mut defects = Vec::new();
    for required in ["name", "description"] {
        if !fields.contains_key(required) {
            defects.push(format!("the frontmatter has no `{required}`"));
        }
    }
    for (field, value) in &fields {
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

/// The text between the first line `---` and the next.
fn frontmatter(data: &[u8]) -> Result<&str, String> {
    let head = data.get(..FRONTMATTER_BYTES).unwrap_or(data);
    // The cut may fall within a character of the body.
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(e) if e.error_len().is_none() => head
            .utf8_chunks()
            .next()
            .map(|c| c.valid())
            .unwrap_or_default(),
        Err(_) => return Err("expected UTF-8 text".to_owned()),
    };
    let mut end = 0;
    let mut start = None;
    for line in text.split_inclusive('\n') {
        let marker = line.trim_end() == "---";
        match start {
            None if marker => start = Some(line.len()),
            None => break,
            Some(start) if marker => return Ok(text.get(start..end).unwrap_or_default()),
            Some(_) => {}
        }
        end += line.len();
    }
    Err(format!(
        "expected YAML frontmatter of at most {FRONTMATTER_BYTES} bytes between two lines `---` at the start, found none"
    ))
}

fn parse(yaml: &str) -> Result<Json, String> {
    // The text is a stranger's: no aliases that multiply, no depth, no merge keys. Six fields need few nodes.
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_aliases: 0,
            max_anchors: 0,
            max_depth: 8,
            max_documents: 1,
            max_events: 2_048,
            max_nodes: 1_024,
            max_total_scalar_bytes: FRONTMATTER_BYTES,
            max_merge_keys: 0,
            max_inclusion_depth: 0,
            flow_nesting_limit: 8,
        },
        merge_keys: MergeKeyPolicy::Error,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options::<Json>(yaml, options).map_err(|e| {
        format!(
            "the frontmatter is not YAML of the form that skills use: {}",
            shorten(&e.to_string())
        )
    })
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
