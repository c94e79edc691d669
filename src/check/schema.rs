//! The JSON Schemas in `schemas/`, compiled once, and their errors as (pointer, message).
//!
//! Patterns run on an engine whose time is linear in the text. A schema may carry a `description` beside a `pattern`,
//! `format` or `contains`: it is then the "expected" of the message.

use std::sync::LazyLock;

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{PatternOptions, ValidationError, Validator};

use super::rule::{Place, Sink};
use crate::model::{Json, Timestamp, shorten};

/// Errors of one document that are listed.
const LISTED: usize = 20;

/// Values in a document beyond which only its first error is looked for: collecting every error of a document of
/// half a million wrong items would cost more memory than the document.
const LARGE: usize = 20_000;

/// Names that one message lists.
const NAMES: usize = 16;

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
                compiled: LazyLock::new(|| compile(include_str!(concat!("../../schemas/", $file)))),
            };
        )*
        /// Every schema with its file name.
        #[cfg(test)]
        pub const ALL: &[(&str, &Schema)] = &[$(($file, &$name)),*];
    };
}

schemas! {
    PACKAGE_SPEC = "package-spec.schema.json";
    LANCE_MEMORY = "lance-memory.schema.json";
    MEMORY_RECORD = "memory-record.schema.json";
    CAPABILITY = "capability.schema.json";
    HARNESS = "harness.schema.json";
    LOOP_CONTEXT = "loop-context-policy.schema.json";
}

fn build(schema: &Json) -> Option<Validator> {
    jsonschema::options()
        .with_draft(jsonschema::Draft::Draft202012)
        .with_pattern_options(PatternOptions::regex())
        .with_format("date-time", |text: &str| Timestamp::try_from(text).is_ok())
        .should_validate_formats(true)
        .build(schema)
        .ok()
}

fn compile(text: &str) -> Compiled {
    // The schemas are part of the program and a test compiles each; one that does not compile admits nothing.
    let source = serde_json::from_str::<Json>(text).unwrap_or(Json::Bool(false));
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

    /// Each defect as (JSON pointer, message), sorted by pointer, at most 20; of a very large document one only.
    pub fn defects(&self, document: &Json) -> Vec<(String, String)> {
        let compiled = &*self.compiled;
        let mut room = LARGE;
        let mut defects = if fits(document, &mut room) {
            compiled
                .validator
                .iter_errors(document)
                .map(|error| compiled.explain(&error))
                .collect()
        } else {
            match compiled.validator.validate(document) {
                Ok(()) => Vec::new(),
                Err(error) => vec![compiled.explain(&error)],
            }
        };
        defects.sort();
        defects.dedup();
        defects.truncate(LISTED);
        defects
    }

    /// Reports each defect of a row's document.
    pub fn report(&self, document: &Json, table: &'static str, row: &str, sink: &mut Sink<'_>) {
        if self.is_valid(document) {
            return;
        }
        for (pointer, message) in self.defects(document) {
            sink.report(Place::pointer(table, row, pointer), message);
        }
    }
}

impl Compiled {
    fn explain(&self, error: &ValidationError<'_>) -> (String, String) {
        use ValidationErrorKind as Kind;
        let found = error.instance();
        let expected = match error.kind() {
            Kind::AdditionalProperties { unexpected } => {
                let pointer = error.instance_path().to_string();
                return (pointer, format!("unknown field {}", names(unexpected)));
            }
            Kind::Required { property } => {
                let pointer = error.instance_path().to_string();
                let name = property.as_str().unwrap_or_default();
                return (pointer, format!("the field `{name}` is missing"));
            }
            Kind::Contains => {
                let wanted = self.description(error).unwrap_or("a matching item");
                let pointer = error.instance_path().to_string();
                return (pointer, format!("expected {wanted}, found none"));
            }
            Kind::UniqueItems => {
                let pointer = error.instance_path().to_string();
                return (
                    pointer,
                    "expected each item once, found one twice".to_owned(),
                );
            }
            Kind::Constant { expected_value } => shown(expected_value),
            Kind::Enum { options } => {
                let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
                let options: Vec<String> = options.iter().map(shown).collect();
                format!("one of {}", options.join(", "))
            }
            Kind::Type { kind } => match kind {
                TypeKind::Single(one) => with_article(one.as_str()).to_owned(),
                TypeKind::Multiple(set) => {
                    let types: Vec<&str> = set.iter().map(|t| with_article(t.as_str())).collect();
                    types.join(" or ")
                }
            },
            Kind::Pattern { pattern } => match self.description(error) {
                Some(text) => text.to_owned(),
                None => format!("text that matches `{pattern}`"),
            },
            Kind::Format { format } => self.description(error).unwrap_or(format).to_owned(),
            Kind::Minimum { limit } => format!("at least {limit}"),
            Kind::Maximum { limit } => format!("at most {limit}"),
            Kind::MinItems { limit } => format!("at least {limit} items"),
            Kind::MaxItems { limit } => format!("at most {limit} items"),
            Kind::MinLength { limit } => format!("text of at least {limit} characters"),
            _ => {
                let pointer = error.instance_path().to_string();
                return (pointer, shorten(&error.to_string()));
            }
        };
        (
            error.instance_path().to_string(),
            format!("expected {expected}, found {}", shown(found)),
        )
    }

    /// The `description` beside the keyword that the error is of.
    fn description(&self, error: &ValidationError<'_>) -> Option<&str> {
        let path = error.schema_path().to_string();
        let (parent, _) = path.rsplit_once('/')?;
        self.source.pointer(parent)?.get("description")?.as_str()
    }
}

fn with_article(kind: &str) -> &str {
    match kind {
        "array" => "an array",
        "boolean" => "true or false",
        "integer" => "an integer",
        "number" => "a number",
        "object" => "an object",
        "string" => "a string",
        other => other,
    }
}

fn names(names: &[String]) -> String {
    let listed: Vec<String> = names
        .iter()
        .take(NAMES)
        .map(|name| format!("{:?}", shorten(name)))
        .collect();
    let listed = listed.join(", ");
    match names.len().saturating_sub(NAMES) {
        0 => listed,
        more => format!("{listed} and {more} more"),
    }
}

/// A value as a message shows it: short, whatever its size.
pub fn shown(value: &Json) -> String {
    match value {
        Json::String(text) => format!("{:?}", shorten(text)),
        Json::Array(items) => format!("an array of {} items", items.len()),
        Json::Object(_) => "an object".to_owned(),
        Json::Null | Json::Bool(_) | Json::Number(_) => value.to_string(),
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
