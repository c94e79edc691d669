//! What the registry's own files say, as valid types: `acx-registry.toml`, `trust-registry.json`, `status.json`.
//!
//! Each file is optional. One that is there and not valid stops the run: it is never taken for an empty one.

mod ledger;
mod settings;
#[cfg(test)]
mod tests;
mod trust;

pub use ledger::{LedgerEntry, LedgerRef, Lifecycle, StatusLedger};
pub use settings::{Level, Policy, RuleInfo, Waiver};
pub(crate) use trust::refuse_private;
pub use trust::{
    Ineligible, KeyStatus, NamespaceProof, RevocationReason, TrustRegistry, TrustedKey,
};

use crate::model::json::{self, member};
use crate::model::{Json, Malformed};
use crate::schema::Schema;

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

impl ConfigError {
    pub(crate) fn new(file: &str, field: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            field: field.into(),
            message: message.into(),
        }
    }
}

/// The error for a file of more than `most` bytes.
pub(crate) fn bounded(file: &str, bytes: usize, most: usize) -> Result<(), ConfigError> {
    if bytes <= most {
        return Ok(());
    }
    let message = format!("expected at most {most} bytes, found {bytes}; shorten the file");
    Err(ConfigError::new(file, "", message))
}

/// The first thing that the schema has against the document.
pub(crate) fn conforms(file: &str, schema: &Schema, document: &Json) -> Result<(), ConfigError> {
    match schema.defect(document) {
        Some((field, message)) => Err(ConfigError::new(file, field, message)),
        None => Ok(()),
    }
}

/// The document as strict JSON.
pub(crate) fn parsed(file: &str, bytes: &[u8]) -> Result<Json, ConfigError> {
    json::parse(bytes)
        .map_err(|e| ConfigError::new(file, "", format!("not valid JSON: {e}; correct the file")))
}

/// Reads the members of one object of a document that already conforms to its schema.
struct Members<'a> {
    file: &'static str,
    at: String,
    object: &'a Json,
}

impl<'a> Members<'a> {
    fn refuse(&self, name: &str, message: impl Into<String>) -> ConfigError {
        ConfigError::new(self.file, member(&self.at, name), message)
    }

    /// A text member; `None` where it is absent or null.
    fn text(&self, name: &str) -> Option<&'a str> {
        self.object.get(name).and_then(Json::as_str)
    }

    /// A member of a checked type; `None` where it is absent or null.
    fn optional<T: for<'t> TryFrom<&'t str, Error = Malformed>>(
        &self,
        name: &str,
    ) -> Result<Option<T>, ConfigError> {
        let checked = self.text(name).map(T::try_from).transpose();
        checked.map_err(|e| self.refuse(name, format!("{e}; correct it")))
    }

    /// A member of a checked type that must be there.
    fn required<T: for<'t> TryFrom<&'t str, Error = Malformed>>(
        &self,
        name: &str,
    ) -> Result<T, ConfigError> {
        self.optional(name)?
            .ok_or_else(|| self.refuse(name, "the field is missing; add it"))
    }

    /// A member that is one of a few names, by the type's serde form.
    fn named<T: serde::de::DeserializeOwned>(&self, name: &str) -> Result<Option<T>, ConfigError> {
        match self.object.get(name) {
            None | Some(Json::Null) => Ok(None),
            Some(value) => serde_json::from_value(value.clone())
                .map(Some)
                .map_err(|e| self.refuse(name, format!("{e}; correct it"))),
        }
    }

    /// The object that is this member; `None` where it is absent or null.
    fn object(&self, name: &str) -> Option<Members<'a>> {
        let object = self.object.get(name).filter(|o| o.is_object())?;
        Some(Members {
            file: self.file,
            at: member(&self.at, name),
            object,
        })
    }

    /// The objects of the array that is this member.
    fn objects(&self, name: &str) -> impl Iterator<Item = Members<'a>> {
        let file = self.file;
        let at = member(&self.at, name);
        let items = self.object.get(name).and_then(Json::as_array);
        items
            .into_iter()
            .flatten()
            .enumerate()
            .map(move |(place, object)| Members {
                file,
                at: format!("{at}/{place}"),
                object,
            })
    }
}
