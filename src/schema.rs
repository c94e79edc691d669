//! The JSON Schemas of the registry's own files, compiled once, and their defects in words.
//!
//! A schema's `description` beside a form is a noun phrase, and a defect there reads "expected <description>". That
//! keeps the words with the form they explain, for readers of the schema file too.

use std::sync::LazyLock;

use jsonschema::Validator;
use jsonschema::error::{TypeKind, ValidationError, ValidationErrorKind};

use crate::model::{Json, shorten};

/// Defects of one document that are listed.
const LISTED: usize = 20;

/// One compiled schema.
pub struct Schema {
    compiled: LazyLock<(Json, Validator)>,
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
    TRUST_REGISTRY = "trust-registry.schema.json";
    REGISTRY_STATUS = "registry-status.schema.json";
    REGISTRY_INDEX = "registry-index.schema.json";
}

fn compile(text: &str) -> (Json, Validator) {
    // The schemas are part of the program and a test compiles each; one that does not compile admits nothing.
    let never = || jsonschema::validator_for(&Json::Bool(false));
    let schema = serde_json::from_str::<Json>(text).unwrap_or(Json::Bool(false));
    match jsonschema::draft202012::new(&schema).or_else(|_| never()) {
        Ok(validator) => (schema, validator),
        Err(_) => unreachable!("the schema `false` compiles"),
    }
}

impl Schema {
    /// The first defect as (JSON pointer, message). A missing or unknown member is pointed to itself, not its object.
    ///
    /// Stops there, so a document made of nothing but defects costs no more memory than itself.
    pub fn defect(&self, document: &Json) -> Option<(String, String)> {
        let (schema, validator) = &*self.compiled;
        let error = validator.validate(document).err()?;
        let mut defects = Vec::new();
        describe(schema, &error, &mut defects);
        // A refusal stays one, even if it could not be put into words.
        let unnamed = || (error.instance_path().to_string(), "refused".to_owned());
        Some(defects.into_iter().next().unwrap_or_else(unnamed))
    }

    /// As [`Schema::defect`], but at most 20, in an order that depends on the document alone.
    ///
    /// The validator makes an error for every defective item of an array before it gives the first one, some 200
    /// bytes each: for documents of a few MiB at the most.
    pub fn defects(&self, document: &Json) -> Vec<(String, String)> {
        let (schema, validator) = &*self.compiled;
        let mut defects = Vec::new();
        for error in validator.iter_errors(document) {
            describe(schema, &error, &mut defects);
            if defects.len() >= LISTED {
                defects.truncate(LISTED);
                break;
            }
        }
        defects
    }
}

fn describe(schema: &Json, error: &ValidationError<'_>, defects: &mut Vec<(String, String)>) {
    let at = error.instance_path().to_string();
    // The keyword's node: what the failing keyword stands in.
    let keyword = error.schema_path().to_string();
    let node = keyword
        .rsplit_once('/')
        .and_then(|(parent, _)| schema.pointer(parent));
    let description = node
        .and_then(|n| n.get("description"))
        .and_then(Json::as_str);
    let expected = match error.kind() {
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            let known = node
                .and_then(|n| n.get("properties"))
                .and_then(Json::as_object);
            let known: Vec<&str> = known
                .into_iter()
                .flat_map(|k| k.keys().map(String::as_str))
                .collect();
            defects.extend(unexpected.iter().take(LISTED).map(|name| {
                let message = match nearest(name, known.iter().copied()) {
                    Some(near) => format!("unknown field; remove it, or is {near:?} meant?"),
                    None => "unknown field; remove it".to_owned(),
                };
                (member(&at, name), message)
            }));
            return;
        }
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            let why = description.map(|d| format!(": {d}")).unwrap_or_default();
            defects.push((
                member(&at, name),
                format!("the field is missing{why}; add it"),
            ));
            return;
        }
        _ if description.is_some() => description.unwrap_or_default().to_owned(),
        ValidationErrorKind::Constant { expected_value } => expected_value.to_string(),
        ValidationErrorKind::Enum { options } => one_of(options),
        ValidationErrorKind::Type {
            kind: TypeKind::Single(kind),
        } => format!("a value of type {kind}"),
        ValidationErrorKind::Type {
            kind: TypeKind::Multiple(kinds),
        } => {
            let kinds: Vec<String> = kinds.into_iter().map(|k| k.to_string()).collect();
            format!("a value of type {}", kinds.join(" or "))
        }
        ValidationErrorKind::Pattern { pattern } => format!("a text of the form {pattern}"),
        other => format!("a value that meets {:?}", other.keyword()),
    };
    defects.push((
        at,
        format!("expected {expected}, found {}", found(error.instance())),
    ));
}

/// The pointer to a member of the object at `at`.
pub fn member(at: &str, name: &str) -> String {
    format!(
        "{at}/{}",
        shorten(&name.replace('~', "~0").replace('/', "~1"))
    )
}

/// The candidate that is most like the text, where one is alike at all.
pub fn nearest<'a>(text: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let text = shorten(text);
    candidates
        .map(|c| (strsim::jaro_winkler(&text, c), c))
        .filter(|(score, _)| *score > 0.6)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, c)| c)
}

/// A value as a message shows it: texts shortened, containers by their size.
pub fn found(value: &Json) -> String {
    match value {
        Json::String(text) => format!("{:?}", shorten(text)),
        Json::Array(items) => format!("an array of {}", items.len()),
        Json::Object(members) => format!("an object of {} fields", members.len()),
        scalar => scalar.to_string(),
    }
}

fn one_of(options: &Json) -> String {
    let options: Vec<String> = options
        .as_array()
        .into_iter()
        .flatten()
        .map(Json::to_string)
        .collect();
    format!("one of {}", options.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_compile_and_have_distinct_ids() {
        let mut ids = Vec::new();
        for (file, schema) in ALL {
            let (text, validator) = &*schema.compiled;
            assert!(text.is_object(), "{file}");
            assert!(!validator.is_valid(&Json::Bool(true)), "{file}");
            assert!(jsonschema::draft202012::new(text).is_ok(), "{file}");
            assert!(jsonschema::meta::is_valid(text), "{file}");
            ids.push(text.get("$id").and_then(Json::as_str));
        }
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), ALL.len());
        assert!(ids.iter().all(Option::is_some));
    }
}
