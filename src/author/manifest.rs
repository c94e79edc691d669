//! A package's `manifest.json` with every default filled in.

use std::fmt::Write as _;

use serde_json::json;

use super::fields::{Fields, parse};
use super::package::{MANIFEST, Package, Problem};
use crate::check::Engine;
use crate::model::{ArtifactId, Json, PublisherId, Timestamp, Version, shorten};
use crate::project::embed;

/// Characters of a name, a role and the like: what the gate admits.
const SHORT: usize = 256;
/// Technologies of one stack.
const STACK: usize = 64;
/// Tags of one cartridge.
const TAGS: usize = 256;
/// Authors of one cartridge.
const AUTHORS: usize = 256;
/// Characters of a description.
const DESCRIPTION: std::ops::RangeInclusive<usize> = 20..=500;

/// The manifest's fields.
const FIELDS: [&str; 18] = [
    "artifactId",
    "artifactVersion",
    "authors",
    "description",
    "exportedAt",
    "homepage",
    "level",
    "license",
    "model",
    "name",
    "originInstanceId",
    "packageVersion",
    "provider",
    "role",
    "schemaVersion",
    "tags",
    "techStack",
    "vectorEngine",
];

/// Who the agent is, as the cartridge's metadata will say it.
#[derive(Debug, Clone)]
pub struct Manifest {
    /// The agent's name.
    pub name: String,
    /// The agent's role, such as `backend_dev`.
    pub role: String,
    /// Who makes the model.
    pub provider: String,
    /// The model.
    pub model: Option<String>,
    /// The level that the author declares; proves nothing.
    pub level: u64,
    /// Technologies, as people write them.
    pub stack: Vec<String>,
    /// When the package was exported, where it says so.
    pub exported_at: Option<Timestamp>,
    /// The cartridge's id.
    pub id: ArtifactId,
    /// The cartridge's version.
    pub version: Version,
    /// One sentence or a few.
    pub description: String,
    /// An SPDX expression.
    pub license: String,
    /// `[{name, url?}]`
    pub authors: Json,
    /// Tags.
    pub tags: Vec<String>,
    /// A page about the agent.
    pub homepage: Option<String>,
    /// The embedding engine.
    pub engine: Engine,
    /// The installation that the agent comes from.
    pub origin: Option<String>,
}

/// What the caller says in place of the manifest.
#[derive(Debug, Clone, Copy)]
pub(super) struct Overrides<'a> {
    pub publisher: &'a PublisherId,
    pub id: Option<&'a ArtifactId>,
    pub version: Option<&'a Version>,
}

impl Manifest {
    /// The role as a word of file names: `devops-engineer`.
    pub fn role_slug(&self) -> String {
        slug(&self.role)
    }

    /// Reads the manifest; `notes` are about fields that the format does not know.
    pub(super) fn read(
        package: &Package,
        overrides: Overrides<'_>,
        notes: &mut Vec<String>,
    ) -> Result<Self, Vec<Problem>> {
        let Some(data) = package.file(MANIFEST) else {
            let message =
                "expected the file, found none: it names the agent, at least {\"name\": …}";
            return Err(vec![Problem::new(MANIFEST, "", message)]);
        };
        let value = parse(MANIFEST, data).map_err(|p| vec![p])?;
        let Some(object) = value.as_object() else {
            return Err(vec![Problem::new(MANIFEST, "", "expected a JSON object")]);
        };
        notes.extend(object.keys().filter_map(|field| misspelt(object, field)));
        let mut problems = Vec::new();
        let mut fields = Fields {
            file: MANIFEST,
            at: String::new(),
            object,
            problems: &mut problems,
        };
        let manifest = fill(&mut fields, overrides);
        match manifest {
            Some(manifest) if problems.is_empty() => Ok(manifest),
            _ => Err(problems),
        }
    }
}

/// Packages have many fields that a cartridge does not; one that is nearly the name of a field that is absent is meant
/// to be that one.
fn misspelt(object: &serde_json::Map<String, Json>, field: &str) -> Option<String> {
    if FIELDS.contains(&field) {
        return None;
    }
    let shown = shorten(field);
    let near = FIELDS.iter().find(|known| {
        known.len() > 4
            && !object.contains_key(**known)
            && strsim::damerau_levenshtein(&shown, known) <= 2
    })?;
    Some(format!(
        "{MANIFEST}: the field {shown:?} is left out; is {near:?} meant?"
    ))
}

fn fill(fields: &mut Fields<'_>, overrides: Overrides<'_>) -> Option<Manifest> {
    let name = fields.required("name", SHORT);
    let role = fields
        .text("role", 64)
        .unwrap_or_else(|| "fullstack_dev".to_owned());
    if slug(&role).is_empty() {
        fields.wrong(
            "role",
            "a role with letters or digits, such as `backend_dev`",
        );
    }
    let stack = fields.texts("techStack", STACK, 64).unwrap_or_default();
    let level = match fields.get("level") {
        None => 0,
        Some(value) => value.as_u64().filter(|n| *n <= 1_000).unwrap_or_else(|| {
            fields.wrong("level", "a whole number from 0 to 1000");
            0
        }),
    };
    let id = match overrides.id {
        Some(id) => Some(id.clone()),
        None if fields.get("artifactId").is_some() => fields.checked("artifactId"),
        None => {
            let id = ArtifactId::try_from(slug(&name).as_str());
            if id.is_err() && !name.is_empty() {
                fields.problem(
                    "name",
                    format!(
                        "{:?} gives no id (a lower-case letter, then letters, digits and hyphens); add artifactId",
                        shorten(&name)
                    ),
                );
            }
            id.ok()
        }
    };
    let version = match overrides.version {
        Some(version) => Some(version.clone()),
        None if fields.get("artifactVersion").is_some() => fields.checked("artifactVersion"),
        None => Version::try_from("1.0.0").ok(),
    };
    let description = match fields.get("description").map(|d| (d, d.as_str())) {
        None => default_description(&role, &stack),
        Some((_, Some(text))) if DESCRIPTION.contains(&text.trim().chars().count()) => {
            text.trim().to_owned()
        }
        Some((_, text)) => {
            let length = text.map_or(0, |t| t.trim().chars().count());
            fields.problem(
                "description",
                format!("expected a text of 20 to 500 characters, found {length}"),
            );
            String::new()
        }
    };
    let license = fields
        .text("license", SHORT)
        .unwrap_or_else(|| "Apache-2.0".to_owned());
    let spdx = |b: u8| {
        b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'+' | b'(' | b')' | b' ' | b':')
    };
    if !license.bytes().all(spdx) {
        fields.wrong("license", "an SPDX expression such as `Apache-2.0`");
    }
    let authors = authors(fields, overrides.publisher);
    let tags = fields.texts("tags", TAGS, SHORT).unwrap_or_else(|| {
        let mut tags = vec![slug(&role)];
        for tag in &stack {
            if !tags.contains(tag) {
                tags.push(tag.clone());
            }
        }
        tags
    });
    let engine = engine(fields);
    Some(Manifest {
        provider: fields
            .text("provider", SHORT)
            .unwrap_or_else(|| "custom".to_owned()),
        model: fields.text("model", SHORT),
        exported_at: fields.checked("exportedAt"),
        homepage: fields.text("homepage", 2_048),
        origin: fields.text("originInstanceId", SHORT),
        engine,
        id: id?,
        version: version?,
        name,
        role,
        level,
        stack,
        description,
        license,
        authors,
        tags,
    })
}

/// The embedding engine: by its name where it is the one that this program knows, else as `{id, dim}`.
fn engine(fields: &mut Fields<'_>) -> Engine {
    let known = Engine {
        id: embed::ENGINE.to_owned(),
        dim: embed::DIM as u32,
    };
    match fields.get("vectorEngine") {
        None => known,
        Some(Json::String(id)) if *id == known.id => known,
        Some(value) => Engine::of(value).unwrap_or_else(|| {
            let expected = format!(
                "{:?}, or exactly {{\"id\": text, \"dim\": number}}",
                known.id
            );
            fields.wrong("vectorEngine", &expected);
            known
        }),
    }
}

fn authors(fields: &mut Fields<'_>, publisher: &PublisherId) -> Json {
    let Some(value) = fields.get("authors") else {
        return json!([{"name": publisher}]);
    };
    let author = |value: &Json| {
        let object = value.as_object()?;
        object.get("name")?.as_str().filter(|n| !n.is_empty())?;
        let known = object
            .iter()
            .all(|(name, value)| matches!(name.as_str(), "name" | "url") && value.is_string());
        known.then_some(())
    };
    let good = value.as_array().is_some_and(|list| {
        (1..=AUTHORS).contains(&list.len()) && list.iter().all(|a| author(a).is_some())
    });
    if !good {
        fields.wrong("authors", "a list of {\"name\": text, \"url\"?: text}");
    }
    value.clone()
}

/// `A portable <role> agent specializing in <stack>.`, with as much of the stack as a description holds.
fn default_description(role: &str, stack: &[String]) -> String {
    let mut text = format!("A portable {} agent", role.replace('_', " "));
    let mut separator = " specializing in ";
    for item in stack {
        if text.chars().count() + item.chars().count() + separator.len() + 1 > *DESCRIPTION.end() {
            break;
        }
        let _ = write!(text, "{separator}{item}");
        separator = ", ";
    }
    text.push('.');
    text
}

/// Lower-case words joined by hyphens, at most 64 characters.
pub(super) fn slug(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars().flat_map(char::to_lowercase) {
        if c.is_ascii_alphanumeric() {
            out.push(c);
        } else if !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
        if out.len() >= 64 {
            break;
        }
    }
    out.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs() {
        for (text, expected) in [
            ("Ada Ridge", "ada-ridge"),
            ("  --Ünï_x ", "n-x"),
            ("!!", ""),
            ("a__b", "a-b"),
        ] {
            assert_eq!(slug(text), expected, "{text}");
        }
        assert!(slug(&"ab ".repeat(60)).len() <= 64);
    }

    #[test]
    fn descriptions_keep_their_bounds() {
        let long = vec!["t".repeat(64); 64];
        for (role, stack) in [("cto", &[][..]), ("backend_dev", &long[..])] {
            let text = default_description(role, stack);
            assert!(DESCRIPTION.contains(&text.chars().count()), "{text}");
        }
        assert_eq!(
            default_description("security_expert", &["oauth".into(), "node".into()]),
            "A portable security expert agent specializing in oauth, node."
        );
    }
}
