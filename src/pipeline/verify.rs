//! `verify-index`: a consumer's check. The signature by a key that the consumer knows, the sequence, the expiry, and
//! the hash of every listed artifact that is at hand.

use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::{INDEX_BYTES, RunError, pool, sidecar};
use crate::discover::sidecar_path;
use crate::disk;
use crate::model::{Coordinate, Digest, KeyId, RegistryPath, Timestamp};
use crate::publish::{self, KeySource, Published, Shard, SignedIndex};
use crate::report::{ACCEPTED, REJECTED};
use crate::source::Source;

/// Bytes of an artifact that are read: more than any registry admits.
const FILE_BYTES: u64 = 1 << 30;

/// The keys that may sign.
#[derive(Debug, Clone)]
pub struct Pins {
    /// The key ids.
    pub keys: Vec<KeyId>,
    /// Where they come from.
    pub source: KeySource,
}

/// What became of one listed artifact.
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
    /// Each shard that the index names, by publisher; what is listed in an absent one is not looked at.
    pub shards: Vec<(Shard, Present)>,
    /// Each listed artifact, in the order of the index: cartridges, workflows, Agent Graphs.
    pub artifacts: Vec<(String, Present)>,
    /// Each listed Lance dataset, in the order of the index.
    pub datasets: Vec<(String, Present)>,
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

/// Verifies the index in `file`; artifacts are looked for beside it.
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
        shards: Vec::new(),
        artifacts: Vec::new(),
        datasets: Vec::new(),
        problems: Vec::new(),
    };
    let root = file.parent().unwrap_or(Path::new(""));
    let beside = Source::Folder(root.to_path_buf());
    let index = match publish::read_at_hand(&bytes, &|path, most| beside.named(path, most)) {
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
    let shards = index.shards.iter().flatten().cloned();
    report.shards = shards
        .map(|shard| match index.absent.contains(&shard.publisher) {
            true => (shard, Present::Absent),
            false => (shard, Present::Verified),
        })
        .collect();
    let looked: Vec<Looked> = pool(jobs)?.install(|| {
        index
            .published
            .par_iter()
            .map(|p| look_at(root, p))
            .collect()
    });
    for one in looked {
        for (path, present) in [Some(&one.artifact), one.dataset.as_ref()]
            .into_iter()
            .flatten()
        {
            if let Present::Wrong(why) = present {
                report.problems.push(format!("{path}: {why}"));
            }
        }
        report.artifacts.push(one.artifact);
        report.datasets.extend(one.dataset);
    }
    report.index = Some(index);
    Ok(report)
}

struct Looked {
    artifact: (String, Present),
    dataset: Option<(String, Present)>,
}

/// Looks at one listed artifact and, of a cartridge, its dataset.
fn look_at(root: &Path, published: &Published) -> Looked {
    let (artifact, bytes) = match find(root, &published.path) {
        Ok(None) => (Present::Absent, None),
        Ok(Some(file)) => match disk::read(&file, FILE_BYTES) {
            Ok(bytes) => match Digest::of(&bytes) {
                found if found == published.sha256 => (Present::Verified, Some(bytes)),
                found => (
                    Present::Wrong(format!(
                        "expected sha256 {}, found {found}",
                        published.sha256
                    )),
                    None,
                ),
            },
            Err(e) => (Present::Wrong(format!("cannot be read: {e}")), None),
        },
        Err(why) => (Present::Wrong(why), None),
    };
    let dataset = published.dataset.map(|expected| {
        let path = sidecar_path(&published.path);
        let present = look_at_dataset(root, &published.path, expected, bytes.as_deref());
        (path, present)
    });
    Looked {
        artifact: (published.path.clone(), artifact),
        dataset,
    }
}

/// The dataset that is there must be the one that the index lists; with the cartridge at hand, the one that the
/// cartridge gives must be too, so that the index is not taken at its word.
fn look_at_dataset(
    root: &Path,
    cartridge: &str,
    expected: Digest,
    bytes: Option<&[u8]>,
) -> Present {
    if let Some(found) = bytes
        .map(sidecar::digest_from_bytes)
        .filter(|found| *found != Some(expected))
    {
        let found = found.map_or_else(|| "none".to_owned(), |digest| digest.to_string());
        return Present::Wrong(format!(
            "the index lists {expected}, the cartridge gives {found}"
        ));
    }
    let at = match find(root, cartridge) {
        Err(why) => return Present::Wrong(why),
        // The folder may be there without the cartridge.
        Ok(_) => root.join(sidecar_path(cartridge)),
    };
    match sidecar::digest_at(&at) {
        Ok(None) => Present::Absent,
        Ok(Some(found)) if found == expected => Present::Verified,
        Ok(Some(found)) => Present::Wrong(format!("expected {expected}, found {found}")),
        Err(why) => Present::Wrong(why),
    }
}

/// The place of a listed artifact, if it is there. The path comes from a stranger's file until its key is known, so
/// only an artifact's own path is ever opened, and no folder on the way may be a link.
fn find(root: &Path, path: &str) -> Result<Option<PathBuf>, String> {
    let path = RegistryPath::try_from(path)
        .and_then(|p| Coordinate::of_path(&p).map(|_| p))
        .map_err(|_| "it is no path of an artifact".to_owned())?;
    let mut place = root.to_path_buf();
    for part in path.as_str().split('/') {
        place.push(part);
        match place.symlink_metadata() {
            Ok(metadata) if metadata.is_symlink() => {
                return Err("a symbolic link stands in its path".into());
            }
            Ok(_) => {}
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(format!("cannot be read: {e}")),
        }
    }
    Ok(Some(place))
}
