//! Each metadata value has its form.

use crate::check::documents::{
    Documents, Engine, LANCE_DESCRIPTOR, MAX_DIM, PACKAGE_SPEC, Parsed, refusal,
};
use crate::check::{Check, Context, Place, Rule, Scope, Sink};
use crate::container::Cartridge;
use crate::finding::{Family, Severity};
use crate::model::json::shown;
use crate::model::{ArtifactId, Json, PublisherId, Timestamp, Version, json, shorten};

/// Characters of a name, a role, a licence and the like.
const SHORT: usize = 256;
/// Characters of a description.
const LONG: usize = 4_096;
/// Characters of a URL.
const URL: usize = 2_048;
/// Authors or tags of one cartridge.
const ITEMS: usize = 256;

/// The rule.
pub static RULE: Rule = Rule {
    code: "metadata-invalid",
    family: Family::PackageSpec,
    level: Severity::Error,
    fixed: true,
    scope: Scope::Cartridge,
    summary: "A metadata value is not of its form",
    what: "Each metadata value that is there has its form: identifiers, version and time; `acx.cartridge_id` is `<publisher>/<id>@<uuid>` of the signed publisher and id; the embedding engine is exactly `{id, dim}` with dim 1 to 65,536; authors and tags are JSON arrays; URLs are http or https; the two fixed paths are the fixed paths; texts are of bounded length.",
    why: "These values become the index entry and the coordinate; one of another form would break readers, or show a link that is none.",
    example: "`acx.artifact_version` = `1.0`",
    fix: "Correct the value in the cartridge table, and sign the cartridge again.",
    since: "0.1.0",
    check: Check::Cartridge(check),
};

fn check(context: &Context<'_>, sink: &mut Sink<'_>) {
    let cartridge = context.cartridge;
    for (key, value) in &cartridge.meta {
        if let Err(message) = check_value(key, value, cartridge, context.documents) {
            sink.report(
                Place::row("cartridge", key),
                format!("`{}`: {message}", shorten(key)),
            );
        }
    }
}

fn check_value(
    key: &str,
    value: &str,
    cartridge: &Cartridge,
    documents: &Documents,
) -> Result<(), String> {
    match key {
        "acx.cartridge_id" => cartridge_id(value, cartridge),
        "acx.spec_version" => spec_version(value),
        "acx.created_at" => form::<Timestamp>(value),
        "acx.embedding_engine" => engine(&documents.engine),
        "acx.publisher_id" => form::<PublisherId>(value),
        "acx.artifact_id" => form::<ArtifactId>(value),
        "acx.artifact_version" => form::<Version>(value),
        "acx.agent_name" if value.is_empty() => {
            Err("expected a name, found an empty text".to_owned())
        }
        "acx.agent_name" | "acx.provider" | "acx.model" | "acx.role" | "acx.declared_level"
        | "acx.license" => at_most(value, SHORT),
        "acx.description" => at_most(value, LONG),
        "acx.authors" => items(value, author),
        "acx.tags" => items(value, tag),
        "acx.homepage" => url(value),
        "acx.package_spec" => exactly(value, PACKAGE_SPEC),
        "acx.lance_schema" => exactly(value, LANCE_DESCRIPTOR),
        _ => Ok(()),
    }
}

fn form<'a, T: TryFrom<&'a str>>(value: &'a str) -> Result<(), String>
where
    T::Error: ToString,
{
    T::try_from(value).map(drop).map_err(|e| e.to_string())
}

/// `<publisher>/<id>@<uuid>`, of the publisher and the id that the cartridge states.
fn cartridge_id(value: &str, cartridge: &Cartridge) -> Result<(), String> {
    let malformed = || {
        format!(
            "expected `<publisher>/<id>@<uuid>`, found {:?}",
            shorten(value)
        )
    };
    let (coordinate, uuid) = value.rsplit_once('@').ok_or_else(malformed)?;
    let (publisher, id) = coordinate.split_once('/').ok_or_else(malformed)?;
    if !is_uuid(uuid)
        || PublisherId::try_from(publisher).is_err()
        || ArtifactId::try_from(id).is_err()
    {
        return Err(malformed());
    }
    for (key, stated) in [("acx.publisher_id", publisher), ("acx.artifact_id", id)] {
        if let Some(signed) = cartridge.meta(key).filter(|signed| *signed != stated) {
            return Err(format!(
                "expected the id of this publisher and artifact: `{key}` is {:?}, found {:?}",
                shorten(signed),
                shorten(value)
            ));
        }
    }
    Ok(())
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, b)| match at {
            8 | 13 | 18 | 23 => b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

fn spec_version(value: &str) -> Result<(), String> {
    let number =
        |part: &str| matches!(part.len(), 1..=9) && part.bytes().all(|b| b.is_ascii_digit());
    match value.split_once('.') {
        Some((major, minor)) if number(major) && number(minor) => Ok(()),
        _ => Err(format!(
            "expected a format version such as `0.1`, found {:?}",
            shorten(value)
        )),
    }
}

fn engine(parsed: &Option<Parsed>) -> Result<(), String> {
    match parsed {
        None => Ok(()),
        Some(Err(error)) => Err(refusal(error)),
        Some(Ok(value)) => match Engine::of(value) {
            Some(engine) => at_most(&engine.id, SHORT),
            None => Err(format!(
                "expected exactly `{{\"id\": text, \"dim\": 1 to {MAX_DIM}}}`, found {:?}",
                shorten(&value.to_string())
            )),
        },
    }
}

fn at_most(value: &str, longest: usize) -> Result<(), String> {
    if value.chars().nth(longest).is_some() {
        return Err(format!(
            "expected at most {longest} characters, found {:?}",
            shorten(value)
        ));
    }
    Ok(())
}

fn exactly(value: &str, path: &str) -> Result<(), String> {
    if value == path {
        return Ok(());
    }
    Err(format!(
        "expected the fixed path `{path}`, found {:?}",
        shorten(value)
    ))
}

/// An http or https URL with a host. Nothing follows it, but people click on it, so that `javascript:` and the like
/// must not get into an index.
fn url(value: &str) -> Result<(), String> {
    let rest = value
        .strip_prefix("https://")
        .or_else(|| value.strip_prefix("http://"));
    let host = rest
        .unwrap_or_default()
        .split(['/', '?', '#'])
        .next()
        .unwrap_or_default();
    let clean = value
        .chars()
        .all(|c| !c.is_control() && !c.is_whitespace() && !matches!(c, '"' | '<' | '>' | '\\'));
    if host.is_empty() || host.contains('@') || !clean || value.len() > URL {
        return Err(format!(
            "expected an http or https URL, found {:?}",
            shorten(value)
        ));
    }
    Ok(())
}

/// A JSON array of at most [`ITEMS`] values of one form.
fn items(value: &str, item: fn(&Json) -> Result<(), String>) -> Result<(), String> {
    let parsed = json::parse(value.as_bytes()).map_err(|e| refusal(&e))?;
    let list = parsed
        .as_array()
        .ok_or_else(|| format!("expected a JSON array, found {}", shown(&parsed)))?;
    if list.len() > ITEMS {
        return Err(format!(
            "expected at most {ITEMS} items, found {}",
            list.len()
        ));
    }
    for (at, value) in list.iter().enumerate() {
        item(value).map_err(|message| format!("item {at}: {message}"))?;
    }
    Ok(())
}

fn tag(value: &Json) -> Result<(), String> {
    match value.as_str() {
        Some(text) => at_most(text, SHORT),
        None => Err(format!("expected a string, found {}", shown(value))),
    }
}

/// `{name, url?}`
fn author(value: &Json) -> Result<(), String> {
    let malformed = || {
        format!(
            "expected exactly `{{name, url?}}`, found {:?}",
            shorten(&value.to_string())
        )
    };
    let fields = value.as_object().ok_or_else(malformed)?;
    let name = fields
        .get("name")
        .and_then(Json::as_str)
        .ok_or_else(malformed)?;
    at_most(name, SHORT)?;
    match (fields.len(), fields.get("url")) {
        (1, None) => Ok(()),
        (2, Some(Json::String(link))) => url(link),
        _ => Err(malformed()),
    }
}
