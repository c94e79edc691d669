//! The rules, one file each, and the engine that runs them.
//!
//! A rule is declared once, with everything about it; adding one is its file, its `mod` line and its line in
//! [`RULES`].

mod documents;
mod engine;
mod evidence;
mod rule;
mod rules;

pub use documents::{Documents, Engine};
pub use engine::{Checked, Settings, check, rule};
pub(crate) use evidence::origin;
pub use evidence::{Evidence, Issue, IssueKind, Signed, gather};
pub(crate) use rule::table;
pub use rule::{CapabilityItem, Check, Context, MemoryItem, Place, Rule, Scope, Sink};
pub use rules::RULES;
