//! The JSON Schemas in `schemas/`, compiled once, and their defects in words.
//!
//! A schema's `description` beside a form is a noun phrase, and a defect there reads "expected `<description>`". That
//! keeps the words with the form they explain, for readers of the schema file too. The description of a schema as a
//! whole is a sentence, and no part of a message.
//!
//! Patterns run on an engine whose time is linear in the text, and `date-time` is what [`Timestamp`] reads.

use std::sync::LazyLock;

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{PatternOptions, ValidationError, Validator};

use crate::model::json::{member, shown};
use crate::model::{Json, Timestamp, Version, nearest};

/// Defects of one document that are listed.
const LISTED: usize = 20;

/// Values in a document beyond which only its first defect is looked for. The validator makes an error for every
/// defective item of an array before it gives the first one: for half a million of them that costs more memory than
/// the document.
const LARGE: usize = 20_000;

/// One compiled schema.
pub struct Schema {
    compiled: LazyLock<Compiled>,
}

struct Compiled {
    source: Json,
    validator: Validator,
}

macro_rules! schemas {
    ($($name:ident = $file:literal;)*) => {
        $(
            #[doc = concat!("`schemas/", $file, "`")]
            pub static $name: Schema = Schema {
                compiled: LazyLock::new(|| compile(include_str!(concat!("../schemas/", $file)))),
            };
        )*
        /// Every schema with its file name.
        #[cfg(test)]
        pub const ALL: &[(&str, &Schema)] = &[$(($file, &$name)),*];
    };
}

schemas! {
    AGENT_GRAPH = "agent-graph.schema.json";
    CAPABILITY = "capability.schema.json";
    HARNESS = "harness.schema.json";
    ISSUER_KEYS = "issuer-keys.schema.json";
    LANCE_MEMORY = "lance-memory.schema.json";
    LEVEL_CREDENTIAL = "level-credential.schema.json";
    LOOP_CONTEXT = "loop-context-policy.schema.json";
    MEMORY_RECORD = "memory-record.schema.json";
    PACKAGE_SPEC = "package-spec.schema.json";
    REGISTRY_INDEX = "registry-index.schema.json";
    REGISTRY_INDEX_ROOT = "registry-index-root.schema.json";
    REGISTRY_INDEX_SHARD = "registry-index-shard.schema.json";
    REGISTRY_STATUS = "registry-status.schema.json";
    TRUST_REGISTRY = "trust-registry.schema.json";
    WORKFLOW = "workflow.schema.json";
}

fn build(schema: &Json) -> Option<Validator> {
    let mut options = jsonschema::options();
    for most in [100, 120, 160, 200, 500, 1000, 2000, 4000] {
        options = options.with_format(format!("utf16-{most}"), move |text: &str| {
            text.len() <= most || text.encode_utf16().count() <= most
        });
    }
    options
        .with_draft(jsonschema::Draft::Draft202012)
        .with_pattern_options(PatternOptions::regex())
        .with_format("date-time", |text: &str| Timestamp::try_from(text).is_ok())
        .with_format("semver", |text: &str| Version::try_from(text).is_ok())
        .with_format("https-url", |text: &str| is_url(text, &["https://"]))
        .should_validate_formats(true)
        .build(schema)
        .ok()
}

/// A schema that refers to forms of the index's, with those forms in it: so their words are found where all others are.
fn with_forms_of_the_index(text: &str, source: Json) -> Json {
    const ELSEWHERE: &str = "https://acx.dev/schemas/registry-index/1#/$defs/";
    if !text.contains(ELSEWHERE) {
        return source;
    }
    let own = serde_json::from_str(&text.replace(ELSEWHERE, "#/$defs/"));
    match (own, REGISTRY_INDEX.compiled.source.get("$defs")) {
        (Ok(Json::Object(mut own)), Some(forms)) => {
            own.insert("$defs".to_owned(), forms.clone());
            Json::Object(own)
        }
        _ => Json::Bool(false),
    }
}

fn compile(text: &str) -> Compiled {
    // The schemas are part of the program and a test compiles each; one that does not compile admits nothing.
    let source = serde_json::from_str::<Json>(text).unwrap_or(Json::Bool(false));
    let source = with_forms_of_the_index(text, source);
    match build(&source).or_else(|| build(&Json::Bool(false))) {
        Some(validator) => Compiled { source, validator },
        None => unreachable!("the schema `false` compiles"),
    }
}

impl Schema {
    /// The schema itself.
    #[cfg(test)]
    pub fn source(&self) -> &Json {
        &self.compiled.source
    }

    /// Whether the document conforms; much faster than [`Schema::defects`].
    pub fn is_valid(&self, document: &Json) -> bool {
        self.compiled.validator.is_valid(document)
    }

    /// The first defect as (JSON pointer, message). A missing or unknown member is pointed to itself, not its object.
    ///
    /// Stops there, so a document made of nothing but defects costs no more memory than itself.
    pub fn defect(&self, document: &Json) -> Option<(String, String)> {
        let error = self.compiled.validator.validate(document).err()?;
        let mut defects = Vec::new();
        self.compiled.explain(&error, &mut defects);
        // A refusal stays one, even if it could not be put into words.
        let unnamed = || (error.instance_path().to_string(), "refused".to_owned());
        Some(defects.into_iter().next().unwrap_or_else(unnamed))
    }

    /// As [`Schema::defect`], but at most 20, sorted by pointer; of a very large document still one only.
    pub fn defects(&self, document: &Json) -> Vec<(String, String)> {
        let mut room = LARGE;
        if self.is_valid(document) {
            return Vec::new();
        }
        if !fits(document, &mut room) {
            return self.defect(document).into_iter().collect();
        }
        let mut defects = Vec::new();
        for error in self.compiled.validator.iter_errors(document) {
            self.compiled.explain(&error, &mut defects);
        }
        defects.sort();
        defects.dedup();
        defects.truncate(LISTED);
        defects
    }
}

impl Compiled {
    /// Puts an error into words: one defect, or one for each unknown field.
    fn explain(&self, error: &ValidationError<'_>, defects: &mut Vec<(String, String)>) {
        use ValidationErrorKind as Kind;
        let at = error.instance_path().to_string();
        // The keyword's node: what the failing keyword stands in.
        let keyword = error.schema_path().to_string();
        let parent = keyword.rsplit_once('/').map_or("", |(parent, _)| parent);
        let node = self.source.pointer(parent);
        let description = node
            .filter(|_| !parent.is_empty())
            .and_then(|n| n.get("description"))
            .and_then(Json::as_str);
        let found = shown(error.instance());
        let (expected, found) = match error.kind() {
            Kind::AdditionalProperties { unexpected } => {
                let known = node
                    .and_then(|n| n.get("properties"))
                    .and_then(Json::as_object);
                defects.extend(unexpected.iter().take(LISTED).map(|name| {
                    let known = known.into_iter().flat_map(|k| k.keys());
                    let message = match nearest(name, known.map(String::as_str)) {
                        Some(near) => format!("unknown field; remove it, or is {near:?} meant?"),
                        None => "unknown field; remove it".to_owned(),
                    };
                    (member(&at, name), message)
                }));
                return;
            }
            Kind::Required { property } => {
                let name = property.as_str().unwrap_or_default();
                let why = description.map(|d| format!(": {d}")).unwrap_or_default();
                let message = format!("the field is missing{why}; add it");
                defects.push((member(&at, name), message));
                return;
            }
            Kind::Contains => (
                description.unwrap_or("a matching item").to_owned(),
                "none".to_owned(),
            ),
            Kind::UniqueItems => ("each item once".to_owned(), "one twice".to_owned()),
            kind => (
                description.map_or_else(|| expected(kind), str::to_owned),
                found,
            ),
        };
        defects.push((at, format!("expected {expected}, found {found}")));
    }
}

/// Whether a text is an absolute address of one of these schemes, with a host and without user info or white space.
pub(crate) fn is_url(text: &str, schemes: &[&str]) -> bool {
    let mut rest = schemes.iter().filter_map(|scheme| {
        let head = text.get(..scheme.len())?;
        head.eq_ignore_ascii_case(scheme)
            .then(|| text.get(scheme.len()..))?
    });
    rest.next().is_some_and(|rest| {
        let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
        let host = authority.split(':').next().unwrap_or_default();
        !host.is_empty()
            && !authority.contains('@')
            && !text.contains(|c: char| c.is_whitespace() || c.is_control())
    })
}

/// What a keyword asks for, where the schema itself does not say it.
fn expected(kind: &ValidationErrorKind) -> String {
    use ValidationErrorKind as Kind;
    match kind {
        Kind::Constant { expected_value } => shown(expected_value),
        Kind::Enum { options } => {
            let options: Vec<String> = options
                .as_array()
                .into_iter()
                .flatten()
                .map(shown)
                .collect();
            format!("one of {}", options.join(", "))
        }
        Kind::Type { kind } => match kind {
            TypeKind::Single(one) => with_article(one.as_str()).to_owned(),
            TypeKind::Multiple(set) => {
                let types: Vec<&str> = set.iter().map(|t| with_article(t.as_str())).collect();
                types.join(" or ")
            }
        },
        Kind::Pattern { pattern } => format!("text that matches `{pattern}`"),
        Kind::Format { format } => match format.strip_prefix("utf16-") {
            Some(most) => format!("text of at most {most} characters (UTF-16 code units)"),
            None => format!("text of the format {format}"),
        },
        Kind::Minimum { limit } => format!("at least {limit}"),
        Kind::Maximum { limit } => format!("at most {limit}"),
        Kind::MinItems { limit } => format!("at least {limit} items"),
        Kind::MaxItems { limit } => format!("at most {limit} items"),
        Kind::MinLength { limit } => format!("text of at least {limit} characters"),
        Kind::MaxLength { limit } => format!("text of at most {limit} characters"),
        other => format!("a value that meets {:?}", other.keyword()),
    }
}

fn with_article(kind: &str) -> &str {
    match kind {
        "array" => "an array",
        "boolean" => "true or false",
        "integer" => "an integer",
        "number" => "a number",
        "object" => "an object",
        "string" => "a text",
        other => other,
    }
}

/// Whether the value holds at most `room` values. Its depth is bounded by the parser.
fn fits(value: &Json, room: &mut usize) -> bool {
    let Some(rest) = room.checked_sub(1) else {
        return false;
    };
    *room = rest;
    match value {
        Json::Array(items) => items.iter().all(|item| fits(item, room)),
        Json::Object(fields) => fields.values().all(|field| fits(field, room)),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn schemas_compile_and_are_named() {
        let mut ids = Vec::new();
        for (file, schema) in ALL {
            let source = schema.source();
            let text = |name| source.get(name).and_then(Json::as_str).unwrap_or_default();
            assert!(jsonschema::meta::is_valid(source), "{file}");
            assert_eq!(
                text("$schema"),
                "https://json-schema.org/draft/2020-12/schema",
                "{file}"
            );
            assert!(
                text("$id").starts_with("https://acx.dev/schemas/"),
                "{file}"
            );
            assert!(
                !text("title").is_empty() && text("description").ends_with('.'),
                "{file}"
            );
            // `false`, the stand-in for a schema that does not compile, would say another thing.
            assert_eq!(
                schema.defect(&json!(1)),
                Some((String::new(), "expected an object, found 1".to_owned())),
                "{file}"
            );
            ids.push(text("$id"));
        }
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), ALL.len());
    }

    #[test]
    fn a_large_document_has_one_defect() {
        let tools = |count| json!({"requiredTools": vec![json!(0); count]});
        assert_eq!(HARNESS.defects(&tools(100)).len(), LISTED);
        assert_eq!(HARNESS.defects(&tools(LARGE)).len(), 1);
    }

    /// The validator explains every branch of `oneOf` at once: for half a million items that takes gigabytes.
    #[test]
    fn no_schema_has_branches_that_are_all_explained() {
        fn names(value: &Json) -> Vec<&str> {
            let below: Vec<&Json> = match value {
                Json::Array(items) => items.iter().collect(),
                Json::Object(fields) => fields.values().collect(),
                _ => Vec::new(),
            };
            let own = value.as_object().into_iter().flat_map(|o| o.keys());
            let own = own.map(String::as_str);
            own.chain(below.into_iter().flat_map(names)).collect()
        }
        for (file, schema) in ALL {
            assert!(!names(schema.source()).contains(&"oneOf"), "{file}");
        }
    }

    #[test]
    fn times_are_real() {
        let record = |time| json!({"updatedAt": time});
        let at = |time| {
            let defects = CAPABILITY.defects(&record(time));
            defects.into_iter().find(|(at, _)| at == "/updatedAt")
        };
        assert_eq!(at("2026-07-01T00:00:00Z"), None);
        assert_eq!(
            at("2026-02-30T00:00:00Z")
                .map(|(_, message)| message)
                .as_deref(),
            Some("expected an RFC 3339 time with capital T and Z, found \"2026-02-30T00:00:00Z\"")
        );
    }
}
