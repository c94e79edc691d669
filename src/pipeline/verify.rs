//! `verify-index`: a consumer's check. The signature by a key that the consumer knows, the sequence, the expiry, and
//! the hash of every listed cartridge that is at hand.

use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::{INDEX_BYTES, RunError, pool};
use crate::disk;
use crate::model::{Coordinate, Digest, KeyId, RegistryPath, Timestamp};
use crate::publish::{self, SignedIndex};
use crate::report::{ACCEPTED, REJECTED};

/// Where the keys to hold the signer against come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeySource {
    /// The consumer named them.
    Consumer,
    /// The registry's own policy names them: the registry vouches for itself.
    OwnPolicy,
    /// Nobody did.
    Nobody,
}

/// The keys that may sign.
#[derive(Debug, Clone)]
pub struct Pins {
    /// The key ids.
    pub keys: Vec<KeyId>,
    /// Where they come from.
    pub source: KeySource,
}

/// What became of one listed cartridge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Present {
    /// It is at hand, and is what the index lists.
    Verified,
    /// It is not at hand.
    Absent,
    /// It is something else.
    Wrong(String),
}

/// What a consumer learns.
#[derive(Debug)]
pub struct IndexReport {
    /// The index's file.
    pub file: PathBuf,
    /// The index, where its signature holds.
    pub index: Option<SignedIndex>,
    /// Each listed path, in the order of the index.
    pub cartridges: Vec<(String, Present)>,
    /// Why it must not be relied on; empty = verified.
    pub problems: Vec<String>,
}

impl IndexReport {
    /// 0 or 1.
    pub fn exit_status(&self) -> u8 {
        if self.problems.is_empty() {
            ACCEPTED
        } else {
            REJECTED
        }
    }
}

/// Verifies the index in `file`; cartridges are looked for beside it.
///
/// # Errors
/// [`RunError`] where the index cannot be read at all.
pub fn verify_index(
    file: &Path,
    pins: &Pins,
    registry_id: Option<&str>,
    min_sequence: Option<u64>,
    now: &Timestamp,
    jobs: usize,
) -> Result<IndexReport, RunError> {
    let bytes = disk::read(file, INDEX_BYTES)
        .map_err(|e| RunError::new(format!("{}: cannot be read: {e}", file.display())))?;
    let mut report = IndexReport {
        file: file.to_path_buf(),
        index: None,
        cartridges: Vec::new(),
        problems: Vec::new(),
    };
    let index = match publish::read(&bytes) {
        Ok(index) => index,
        Err(e) => {
            report.problems.push(e.to_string());
            return Ok(report);
        }
    };
    let signing = &index.signing;
    let problems = &mut report.problems;
    if !index.well_formed {
        problems.push("the content is signed, but the file is not in the form in which it was written: restore it".into());
    }
    if pins.source == KeySource::Nobody {
        problems.push(format!(
            "no key to hold the signer against, and anyone can sign: get the registry's key id from its maintainers and \
             give --keyid (the index names {})",
            index.integrity.keyid
        ));
    } else if !pins.keys.contains(&index.integrity.keyid) {
        let expected = pins
            .keys
            .iter()
            .map(KeyId::as_str)
            .collect::<Vec<_>>()
            .join(" or ");
        problems.push(format!(
            "expected the signer {expected}, found {}",
            index.integrity.keyid
        ));
    }
    if let Some(expected) = registry_id.filter(|id| *id != signing.registry_id) {
        problems.push(format!(
            "expected the index of the registry {expected:?}, found that of {:?}",
            signing.registry_id
        ));
    }
    if let Some(least) = min_sequence.filter(|least| signing.sequence < *least) {
        problems.push(format!(
            "expected at least sequence {least}, found {}: an old index is served again",
            signing.sequence
        ));
    }
    if let Some(expires) = signing.expires.as_ref().filter(|e| e.is_before(now)) {
        problems.push(format!("it expired at {expires}"));
    }
    let root = file.parent().unwrap_or(Path::new(""));
    let look = |p: &publish::Published| (p.path.clone(), look_at(root, &p.path, &p.sha256));
    report.cartridges = pool(jobs)?.install(|| index.published.par_iter().map(look).collect());
    for (path, present) in &report.cartridges {
        if let Present::Wrong(why) = present {
            report.problems.push(format!("{path}: {why}"));
        }
    }
    report.index = Some(index);
    Ok(report)
}

/// The path comes from a stranger's file until its key is known, so only a cartridge's own path is ever opened, and
/// no folder on the way may be a link.
fn look_at(root: &Path, path: &str, expected: &Digest) -> Present {
    let Ok(path) = RegistryPath::try_from(path).and_then(|p| Coordinate::of_path(&p).map(|_| p))
    else {
        return Present::Wrong("it is no path of a cartridge".into());
    };
    let mut folder = root.to_path_buf();
    for part in path.as_str().split('/') {
        folder.push(part);
        match folder.symlink_metadata() {
            Ok(metadata) if metadata.is_symlink() => {
                return Present::Wrong("a symbolic link stands in its path".into());
            }
            Ok(_) => {}
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Present::Absent,
            Err(e) => return Present::Wrong(format!("cannot be read: {e}")),
        }
    }
    let found =
        disk::open(&folder).and_then(|file| Digest::of_reader(file).map_err(disk::ReadError::Io));
    match found {
        Ok(found) if found == *expected => Present::Verified,
        Ok(found) => Present::Wrong(format!("expected sha256 {expected}, found {found}")),
        Err(e) => Present::Wrong(format!("cannot be read: {e}")),
    }
}
