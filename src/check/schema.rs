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
