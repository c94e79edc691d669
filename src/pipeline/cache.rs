//! What was found in files before. Kept by the blob id of their bytes, and only what depends on the bytes, the rules and
//! the limits alone: whom a key belongs to, what time it is, what the ledger and the policy say is asked anew each time.
//!
//! A cache lies outside the registry's tree and is trusted as the program's own state: whoever can write it can write
//! the index. It is never needed: one that is damaged, or of another version, is passed over, and what it lacks is
//! found anew. It is 256 files, each with the ids of one first byte, and one that names the last verified index:
//!
//! ```text
//! acx-cache/2 <version and rules, hashed>
//! <blob id> <day it was last of use> <JSON>     by id
//! sha256:<of all before>
//! ```

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gix::hash::ObjectId;
use serde::{Deserialize, Serialize};

use crate::check::RULES;
use crate::disk;
use crate::model::{Digest, Timestamp};
use crate::policy::Policy;
use crate::project::{Memories, Remembered, RememberedDocument};

/// To be raised when what is kept, or what the rules find, changes without a change of the rules' texts.
const FORMAT: &str = "acx-cache/2";
/// The file that names the last index that was verified.
const INDEX: &str = "index";
/// Files of a cache, but for that one.
const SHARDS: usize = 256;
/// Bytes of one of them.
const SHARD_BYTES: u64 = 64 << 20;
/// Entries of one of them.
const SHARD_ENTRIES: usize = 8_192;
/// Days after which an entry that was of no use goes.
const DAYS: i64 = 90;
/// Days after which the day of an entry is written anew.
const FRESH_DAYS: i64 = 30;

/// What is kept of one blob.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Fact {
    /// A sound cartridge.
    Cartridge(Box<Sound>),
    /// A sound workflow or Agent Graph.
    Document(Box<RememberedDocument>),
    /// Another file, without a private key in it.
    Plain,
}

/// A cartridge that no rule has an error for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Sound {
    pub remembered: Remembered,
    pub dataset: KeptDataset,
}

/// What a cartridge's memory becomes.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum KeptDataset {
    /// There is none.
    NoMemory,
    /// It is by an engine that is not this program's.
    OtherEngine(String),
    /// A dataset: the index's word on it but for the path, and its files.
    Dataset {
        memories: Memories,
        files: Vec<KeptFile>,
    },
}

/// One file of a dataset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeptFile {
    pub path: String,
    /// Its blob id.
    pub id: String,
    pub size: u64,
}

impl KeptFile {
    /// Whether this is its blob.
    pub(super) fn is(&self, id: &ObjectId) -> bool {
        ObjectId::from_hex(self.id.as_bytes()).is_ok_and(|own| own == *id)
    }
}

/// A cache on the disk.
pub struct Cache {
    /// `None`: it lives as long as the run.
    folder: Option<PathBuf>,
    header: String,
    today: i64,
    /// What was read of each file, where it is in memory.
    shards: Vec<Mutex<Option<Arc<Shard>>>>,
    new: Vec<Mutex<BTreeMap<ObjectId, Box<str>>>>,
    /// Facts came in that were found elsewhere.
    adopted: AtomicBool,
    /// Files that were damaged or of another version.
    dropped: Mutex<BTreeSet<usize>>,
    index: Mutex<Option<Digest>>,
}

type Shard = HashMap<ObjectId, Kept>;

struct Kept {
    day: i64,
    json: Box<str>,
    used: AtomicBool,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl std::fmt::Debug for Cache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cache")
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

impl Cache {
    /// The cache in a folder, for results under this policy's limits and levels. Nothing is read yet.
    pub fn new(folder: &Path, policy: &Policy, now: &Timestamp) -> Self {
        Self {
            folder: Some(folder.to_path_buf()),
            ..Self::detached(policy, now)
        }
    }

    /// A cache that is kept nowhere.
    pub fn detached(policy: &Policy, now: &Timestamp) -> Self {
        let rules: Vec<String> = RULES
            .iter()
            .map(|rule| format!("{} {:?} {} {}", rule.code, rule.level, rule.what, rule.fix))
            .collect();
        let levels: Vec<String> = policy
            .levels
            .iter()
            .map(|(code, level)| format!("{code}={level:?}"))
            .collect();
        let key = serde_json::json!([env!("CARGO_PKG_VERSION"), rules, policy.limits, levels]);
        let key = Digest::of(&crate::model::json::canonical(&key));
        Self {
            folder: None,
            header: format!("{FORMAT} {}", key.hex()),
            today: now.unix().0.div_euclid(86_400),
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            new: (0..SHARDS).map(|_| Mutex::new(BTreeMap::new())).collect(),
            adopted: AtomicBool::new(false),
            dropped: Mutex::default(),
            index: Mutex::new(None),
        }
    }

    /// Whether an index of these bytes was verified before, and found to be in the form in which it is written.
    pub(super) fn knows_index(&self, sha256: &Digest) -> bool {
        let now = *locked(&self.index);
        let expected = format!("{}\n{sha256}\n", self.header);
        let kept = |folder: &Path| {
            disk::read(&folder.join(INDEX), 4096).is_ok_and(|bytes| bytes == expected.as_bytes())
        };
        now == Some(*sha256) || self.folder.as_deref().is_some_and(kept)
    }

    /// Remembers that an index of these bytes was verified.
    pub(super) fn keep_index(&self, sha256: Digest) {
        *locked(&self.index) = Some(sha256);
    }

    fn save_index(&self, folder: &Path) -> std::io::Result<()> {
        let known = *locked(&self.index);
        let Some(sha256) = known else { return Ok(()) };
        let text = format!("{}\n{sha256}\n", self.header);
        let file = folder.join(INDEX);
        if disk::read(&file, 4096).is_ok_and(|bytes| bytes == text.as_bytes()) {
            return Ok(());
        }
        std::fs::create_dir_all(folder)?;
        disk::replace_unsynced(&file, text.as_bytes())
    }

    fn shard(&self, at: usize) -> Option<Arc<Shard>> {
        let mut shard = locked(self.shards.get(at)?);
        let read = || {
            let file = file(self.folder.as_deref()?, at);
            let bytes = disk::read(&file, SHARD_BYTES).ok()?;
            let parsed = parse(&bytes, &self.header);
            if parsed.is_none() {
                locked(&self.dropped).insert(at);
            }
            parsed
        };
        let shard = shard.get_or_insert_with(|| Arc::new(read().unwrap_or_default()));
        Some(Arc::clone(shard))
    }

    /// What is known of a blob.
    pub(super) fn get(&self, id: &ObjectId) -> Option<Fact> {
        let shard = self.shard(shard_of(id)?)?;
        let Some(kept) = shard.get(id) else {
            let adopted = self.adopted.load(Ordering::Relaxed);
            let json = adopted.then(|| self.json(id)).flatten()?;
            return serde_json::from_str(&json).ok();
        };
        let fact = serde_json::from_str(&kept.json).ok()?;
        kept.used.store(true, Ordering::Relaxed);
        Some(fact)
    }

    /// What is known of a blob or was found in this run, as it is kept.
    pub(super) fn json(&self, id: &ObjectId) -> Option<String> {
        let at = shard_of(id)?;
        let shard = self.shard(at)?;
        let new = locked(self.new.get(at)?);
        let json = new.get(id).or_else(|| Some(&shard.get(id)?.json))?;
        Some(json.to_string())
    }

    /// Takes over what another run found.
    pub(super) fn adopt(&self, id: ObjectId, json: &str) {
        self.adopted.store(true, Ordering::Relaxed);
        if let Some(new) = shard_of(&id).and_then(|at| self.new.get(at)) {
            locked(new).insert(id, json.into());
        }
    }

    /// What facts depend on besides the bytes: the form of what is kept, the program's version, the rules and the limits.
    pub(super) fn rules(&self) -> &str {
        &self.header
    }

    /// Keeps what was found in a blob.
    pub(super) fn put(&self, id: ObjectId, fact: &Fact) {
        let new = shard_of(&id).and_then(|at| self.new.get(at));
        if let (Ok(json), Some(new)) = (serde_json::to_string(fact), new) {
            locked(new).insert(id, json.into());
        }
    }

    /// Writes one file's share of what is new, and lets go of it in memory. What cannot be written is held until
    /// [`Cache::save`].
    pub(super) fn settle(&self, at: usize) {
        if let Some(folder) = self.folder.as_deref()
            && let Some(shard) = self.shards.get(at)
            && self.save_shard(folder, at).is_ok()
        {
            *locked(shard) = None;
        }
    }

    /// Writes what is new, lets go what was long of no use, and gives a note for people where a part was damaged or of
    /// another version. A cache that cannot be written costs nothing but time.
    pub fn save(&self) -> Option<String> {
        let folder = self.folder.as_deref()?;
        let mut failed = self.save_index(folder).err();
        for at in 0..SHARDS {
            if let Err(e) = self.save_shard(folder, at) {
                failed = Some(e);
            }
        }
        let dropped = locked(&self.dropped).len();
        match (failed, dropped) {
            (Some(e), _) => Some(format!(
                "the cache {} cannot be written: {e}",
                folder.display()
            )),
            (None, 0) => None,
            (None, parts) => Some(format!(
                "{parts} of {SHARDS} parts of the cache {} were of another version or damaged, and made anew",
                folder.display()
            )),
        }
    }

    fn save_shard(&self, folder: &Path, at: usize) -> std::io::Result<()> {
        let (Some(read), Some(new)) = (self.shards.get(at), self.new.get(at)) else {
            return Ok(());
        };
        if locked(read).is_none() && locked(new).is_empty() {
            return Ok(());
        }
        let shard = self.shard(at).unwrap_or_default();
        let mut new = locked(new);
        let stale =
            |kept: &Kept| kept.used.load(Ordering::Relaxed) && kept.day + FRESH_DAYS < self.today;
        if new.is_empty() && !shard.values().any(stale) {
            return Ok(());
        }
        let mut all: Vec<(i64, ObjectId, &str)> = shard
            .iter()
            .filter(|(id, _)| !new.contains_key(*id))
            .map(|(id, kept)| {
                let day = if kept.used.load(Ordering::Relaxed) {
                    self.today
                } else {
                    kept.day
                };
                (day, *id, &*kept.json)
            })
            .filter(|(day, ..)| day + DAYS >= self.today)
            .collect();
        all.extend(new.iter().map(|(id, json)| (self.today, *id, &**json)));
        // The longest of no use go first.
        all.sort_by(|a, b| (b.0, a.1).cmp(&(a.0, b.1)));
        all.truncate(SHARD_ENTRIES);
        all.sort_by_key(|(_, id, _)| *id);
        let mut text = format!("{}\n", self.header);
        for (day, id, json) in all {
            text.push_str(&format!("{id} {day} {json}\n"));
        }
        let digest = Digest::of(text.as_bytes());
        text.push_str(&format!("{digest}\n"));
        std::fs::create_dir_all(folder)?;
        disk::replace_unsynced(&file(folder, at), text.as_bytes())?;
        new.clear();
        Ok(())
    }
}

/// The place of the file that an id's fact is in.
pub(super) fn shard_of(id: &ObjectId) -> Option<usize> {
    id.as_slice().first().copied().map(usize::from)
}

fn file(folder: &Path, shard: usize) -> PathBuf {
    folder.join(format!("{shard:02x}"))
}

fn parse(bytes: &[u8], header: &str) -> Option<HashMap<ObjectId, Kept>> {
    let text = std::str::from_utf8(bytes).ok()?.strip_suffix('\n')?;
    let (body, digest) = text.rsplit_once('\n')?;
    let body = bytes.get(..body.len() + 1)?;
    if Digest::of(body).to_string() != digest {
        return None;
    }
    let mut lines = std::str::from_utf8(body).ok()?.lines();
    if lines.next()? != header {
        return None;
    }
    let mut shard = HashMap::new();
    for line in lines {
        let mut parts = line.splitn(3, ' ');
        let (id, day, json) = (parts.next()?, parts.next()?, parts.next()?);
        let kept = Kept {
            day: day.parse().ok()?,
            json: json.into(),
            used: AtomicBool::new(false),
        };
        shard.insert(ObjectId::from_hex(id.as_bytes()).ok()?, kept);
    }
    Some(shard)
}
