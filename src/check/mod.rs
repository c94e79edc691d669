//! The rules, one file each, and the engine that runs them.
//!
//! A rule is declared once, with everything about it; adding one is its file, its `mod` line and its line in [`RULES`].

mod engine;
mod evidence;
mod rule;
mod schema;

pub use engine::{Checked, check};
pub use rule::{Check, Context, Documents, MemoryItem, CapabilityItem, Place, Rule, Scope, Sink};

