//! The rules, one file each, and the engine that runs them.
//!
//! A rule is declared once, with everything about it; adding one is its file, its `mod` line and its line in [`RULES`].

mod engine;
mod evidence;
mod rule;
mod schema;

pub use rule::{CapabilityItem, Check, Context, Documents, MemoryItem, Place, Rule, Scope, Sink};

mod rules {
    //! One file a rule.
}

/// Every rule, by family.
pub const RULES: &[&Rule] = &[];
