//! What the registry's own files say, as valid types: `acx-registry.toml`, `trust-registry.json`, `status.json`.
//!
//! Each file is optional. One that is there and not valid stops the run: it is never taken for an empty one.

mod ledger;
mod settings;
mod trust;

pub use settings::{Level, Policy, RuleInfo, Waiver};
pub use trust::TrustRegistry;

/// Why a registry file was refused: which file, which field, what was expected and found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// The file's name, such as `acx-registry.toml`.
    pub file: String,
    /// The field: a dotted TOML key or a JSON pointer; empty where the file as a whole is wrong.
    pub field: String,
    /// What is wrong, expected and found, and what to do.
    pub message: String,
}

impl std::fmt::Display for ConfigError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.field.is_empty() {
            write!(f, "{}: {}", self.file, self.message)
        } else {
            write!(f, "{}: {}: {}", self.file, self.field, self.message)
        }
    }
}

impl std::error::Error for ConfigError {}
