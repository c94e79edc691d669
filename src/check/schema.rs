//! The JSON Schemas in `schemas/`, compiled once, and their errors as (pointer, message).

use std::sync::LazyLock;

use jsonschema::Validator;

use crate::model::{Json, shorten};

/// Errors of one document that are listed.
const LISTED: usize = 20;

/// One compiled schema.
pub struct Schema {
    validator: LazyLock<Validator>,
}

macro_rules! schemas {
    ($($name:ident = $file:literal;)*) => {
        $(
            #[doc = concat!("`schemas/", $file, "`")]
            pub static $name: Schema = Schema {
                validator: LazyLock::new(|| compile(include_str!(concat!("../../schemas/", $file)))),
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

fn compile(text: &str) -> Validator {
    // The schemas are part of the program and a test compiles each; one that does not compile admits nothing.
    let never = || jsonschema::validator_for(&Json::Bool(false));
    let schema = serde_json::from_str::<Json>(text).unwrap_or(Json::Bool(false));
    match jsonschema::draft202012::new(&schema).or_else(|_| never()) {
        Ok(validator) => validator,
        Err(_) => unreachable!("the schema `false` compiles"),
    }
}

impl Schema {
    /// Each defect as (JSON pointer, message), in document order, at most 20.
    pub fn defects(&self, document: &Json) -> Vec<(String, String)> {
        self.validator
            .iter_errors(document)
            .take(LISTED)
            .map(|e| (e.instance_path().to_string(), shorten(&e.to_string())))
            .collect()
    }
}
