//! The rules, one file each, and the engine that runs them.
//!
//! A rule is declared once, with everything about it; adding one is its file, its `mod` line and its line in
//! [`RULES`].

pub(crate) mod documents;
mod engine;
mod evidence;
pub(crate) mod frontmatter;
mod rule;
mod rules;

pub(crate) use documents::ids_of_credential;
pub use documents::{Documents, Engine};
pub use engine::{Checked, Settings, check, rule};
pub use evidence::{COVERED_KEYS, Evidence, Issue, IssueKind, PREDICATE_TYPE, Signed, gather};
pub(crate) use evidence::{Manifests, is_meaningful, live_manifest, metadata_digest, origin};
pub(crate) use rule::table;
pub use rule::{
    CapabilityItem, Check, Context, DocumentIssue, MemoryItem, Place, Rule, Scope, Sink,
};
pub use rules::RULES;
pub(crate) use rules::{capability_id, memory_fingerprint, skill_frontmatter};
