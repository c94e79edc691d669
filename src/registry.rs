//! A registry: where its files are, and its own files as valid types.

use std::path::{Path, PathBuf};

use crate::check::RULES;
use crate::disk::ReadError;
use crate::git::{self, GitError, Mode, Objects};
use crate::level::{ISSUER_KEYS_FILE, IssuerKeys};
use crate::model::Timestamp;
use crate::policy::{ConfigError, Policy, RuleInfo, StatusLedger, TrustRegistry};
use crate::source::Source;

/// The policy's file.
pub const POLICY_FILE: &str = "acx-registry.toml";
/// The publishers' keys.
pub const TRUST_FILE: &str = "trust-registry.json";
/// The lifecycle ledger.
pub const LEDGER_FILE: &str = "status.json";

/// A registry's own word on everything but its cartridges.
#[derive(Debug)]
pub struct Registry {
    /// Where its files are.
    pub source: Source,
    /// `acx-registry.toml`, or every default.
    pub policy: Policy,
    /// `trust-registry.json`, or no keys.
    pub trust: TrustRegistry,
    /// `issuer-keys.json`, or no keys.
    pub issuers: IssuerKeys,
    /// `status.json`, or no entries.
    pub ledger: StatusLedger,
}

/// The root of the registry at `start`: a folder with `cartridges/` or `acx-registry.toml`, or one whose `registry/`
/// has them.
///
/// # Errors
/// A sentence that says what was looked for.
pub fn find_root(start: &Path) -> Result<PathBuf, String> {
    let is_root = |folder: &Path| {
        let real = |name: &str, folder_wanted: bool| {
            folder.join(name).symlink_metadata().is_ok_and(|m| {
                if folder_wanted {
                    m.is_dir()
                } else {
                    m.is_file()
                }
            })
        };
        real("cartridges", true) || real(POLICY_FILE, false)
    };
    [start.to_path_buf(), start.join("registry")].into_iter().find(|folder| is_root(folder)).ok_or_else(|| {
        format!(
            "{} is no registry: expected a folder `cartridges` or a file `{POLICY_FILE}` in it or in its `registry` folder",
            start.display()
        )
    })
}

/// Where the registry lies in a commit's tree: `""`, or `registry` where only that folder has one.
///
/// # Errors
/// When a tree is missing or broken.
pub fn prefix_in(objects: &Objects, tree: &gix::hash::oid) -> Result<&'static str, GitError> {
    for prefix in ["", "registry/"] {
        let at = |name: &str| git::lookup(objects, tree, &format!("{prefix}{name}"));
        if at("cartridges")?.is_some_and(|leaf| leaf.mode == Mode::Tree)
            || at(POLICY_FILE)?.is_some_and(|leaf| leaf.mode == Mode::Blob)
        {
            return Ok(prefix.trim_end_matches('/'));
        }
    }
    Ok("")
}

impl Registry {
    /// Reads the registry in a folder. Its own file that is not there is its default; one that is there and cannot be
    /// read, or is not valid, is an error.
    ///
    /// # Errors
    /// [`ConfigError`] names the file and the field.
    pub fn load(root: &Path, now: &Timestamp) -> Result<Self, ConfigError> {
        let source = Source::Folder(root.to_path_buf());
        Self::under(&source.clone(), source, now)
    }

    /// The files of one place under the policy and the keys of another: a push is judged by what stood before it.
    ///
    /// # Errors
    /// [`ConfigError`] names the file and the field.
    pub fn under(rules: &Source, source: Source, now: &Timestamp) -> Result<Self, ConfigError> {
        let policy = match optional(rules, POLICY_FILE, Policy::MAX_BYTES)? {
            Some(bytes) => parse_policy(&bytes)?,
            None => Policy::default(),
        };
        let trust = match optional(rules, TRUST_FILE, TrustRegistry::MAX_BYTES)? {
            Some(bytes) => TrustRegistry::parse(&bytes, now)?,
            None => TrustRegistry::default(),
        };
        let issuers = match optional(rules, ISSUER_KEYS_FILE, IssuerKeys::MAX_BYTES)? {
            Some(bytes) => IssuerKeys::parse(&bytes)?,
            None => IssuerKeys::default(),
        };
        let ledger = ledger(&source)?;
        Ok(Self {
            source,
            policy,
            trust,
            issuers,
            ledger,
        })
    }
}

impl Registry {
    /// The folder that it is in.
    ///
    /// # Errors
    /// [`ConfigError`] for a registry in a commit, into which nothing is written this way.
    pub fn folder(&self) -> Result<&Path, ConfigError> {
        match &self.source {
            Source::Folder(root) => Ok(root),
            Source::Tree { .. } => Err(error(
                "",
                "expected a registry in a folder, found one in a commit",
            )),
        }
    }
}

/// The lifecycle ledger of a registry, or no entries.
///
/// # Errors
/// [`ConfigError`] names the field.
pub fn ledger(source: &Source) -> Result<StatusLedger, ConfigError> {
    match optional(source, LEDGER_FILE, StatusLedger::MAX_BYTES)? {
        Some(bytes) => StatusLedger::parse(&bytes),
        None => Ok(StatusLedger::default()),
    }
}

/// Reads the text of a policy.
///
/// # Errors
/// [`ConfigError`] names the field.
pub fn parse_policy(bytes: &[u8]) -> Result<Policy, ConfigError> {
    let text = std::str::from_utf8(bytes).map_err(|_| error(POLICY_FILE, "expected UTF-8 text"))?;
    let rules: Vec<RuleInfo> = RULES.iter().map(|rule| rule.info()).collect();
    Policy::parse(text, &rules)
}

fn error(file: &str, message: impl Into<String>) -> ConfigError {
    ConfigError {
        file: file.to_owned(),
        field: String::new(),
        message: message.into(),
    }
}

fn optional(source: &Source, name: &str, most: usize) -> Result<Option<Vec<u8>>, ConfigError> {
    match source.named(name, most as u64) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(e) if e.is_absent() => Ok(None),
        Err(ReadError::NotAFile) => Err(error(
            name,
            "expected an ordinary file, found a link, a folder or a device",
        )),
        Err(e) => Err(error(name, format!("cannot be read: {e}"))),
    }
}
