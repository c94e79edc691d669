//! One file of the registry → its outcome. Runs on many threads, so it shares nothing but what it reads.

use std::collections::{BTreeMap, BTreeSet};

use gix::hash::ObjectId;

use super::RunError;
use super::cache::{Cache, Fact, KeptDataset, KeptFile, Sound};
use super::checkout::Checkout;
use super::output::{Output, Prepared};
use super::part::Carried;
use super::past::Wrong;
use super::sidecar::{self, Derived};
use crate::check::{self, Place, Settings, Sink};
use crate::container::Refusal;
use crate::discover::{self, At, Entry, Oddity, OddityKind, Tree, sidecar_path};
use crate::disk::ReadError;
use crate::document;
use crate::finding::{Finding, Severity};
use crate::git::{self, Bounds};
use crate::lance::Dataset;
use crate::level::IssuerKeys;
use crate::model::{ArtifactType, Coordinate, KeyId, RegistryPath, Timestamp, Trust};
use crate::policy::{Policy, StatusLedger};
use crate::project::{self, Artifact, Memories, Remembered, RememberedDocument};
use crate::publish::Published;
use crate::registry::Registry;
use crate::report::Verdict;
use crate::secret;
use crate::source::Source;
use crate::verdict::{self, Admitted, Judgement, Seen};

/// What became of one path.
pub(super) enum Outcome {
    /// Indexed, unless the join of all finds something.
    Accepted(Box<Indexable>),
    /// At least one error.
    Rejected,
    /// Nothing is known of it.
    Unverifiable(String),
}

/// An artifact that may be indexed.
pub(super) struct Indexable {
    pub artifact: Artifact,
    /// Set where its dataset in the registry is missing or another.
    pub stale: Option<Stale>,
}

/// What there is of a dataset that the registry lacks.
pub(super) enum Stale {
    /// Nothing yet.
    Known,
    /// It only has to be put in its place.
    Written(Prepared),
    /// It could not be written.
    Failed(RunError),
}

/// One path, judged.
pub(super) struct Judged {
    pub path: String,
    pub outcome: Outcome,
    /// Errors and warnings.
    pub findings: Vec<Finding>,
    /// The policy's waivers that lowered a finding, by place in the policy.
    pub waivers: BTreeSet<usize>,
    /// Publisher and key, where they are known though the artifact is rejected.
    pub signer: Option<(String, KeyId)>,
}

impl Judged {
    /// As far as it is known before all are joined.
    pub fn verdict(&self) -> Verdict {
        match self.outcome {
            Outcome::Accepted(_) => Verdict::Accept,
            Outcome::Rejected => Verdict::Reject,
            Outcome::Unverifiable(_) => Verdict::Unverifiable,
        }
    }

    /// Nothing is known of a file.
    pub fn unverifiable(entry: &Entry, reason: &str) -> Self {
        Self {
            path: entry.path.as_str().to_owned(),
            outcome: Outcome::Unverifiable(reason.to_owned()),
            findings: Vec::new(),
            waivers: BTreeSet::new(),
            signer: None,
        }
    }
}

/// The blob that a file is, and the file's size in bytes where only git's index names the blob.
pub(super) type KnownBlob = (ObjectId, Option<u64>);

/// What every judgement of a run reads.
pub(super) struct Stage<'a> {
    pub registry: &'a Registry,
    /// The time that counts for keys and waivers.
    pub now: &'a Timestamp,
    /// The real time, where a check asks for that of an older index; what holds no more by then is warned of.
    pub today: &'a Timestamp,
    /// The keys that prove levels.
    pub issuers: &'a IssuerKeys,
    /// What was published before, by path.
    pub published: BTreeMap<&'a str, &'a Published>,
    /// The paths of the tree's symbolic links.
    pub links: BTreeSet<&'a str>,
    /// What the commits since the base do to published paths.
    pub wrongs: BTreeMap<String, Wrong>,
    /// The ledger that says what may be gone: that of the base where there is one.
    pub withdrawn: &'a StatusLedger,
    /// What git keeps of the folder that is judged.
    pub checkout: Option<&'a Checkout>,
    /// What was found before.
    pub cache: Option<&'a Cache>,
    /// Datasets that parts of the build carry, or are to.
    pub carried: Option<&'a Carried>,
    /// Datasets are to be written.
    pub writes: bool,
    /// What ends long work.
    pub expired: &'a (dyn Fn() -> bool + Sync),
}

/// The symbolic links of a tree.
pub(super) fn links(tree: &Tree) -> BTreeSet<&str> {
    tree.oddities
        .iter()
        .filter(|odd| odd.kind == OddityKind::Symlink)
        .map(|odd| odd.path.as_str())
        .collect()
}

/// Reports for a rule that no single artifact can trip.
pub(super) fn report(
    policy: &Policy,
    code: &str,
    path: &str,
    place: Place,
    message: impl Into<String>,
    to: &mut Vec<Finding>,
) {
    if let Some(rule) = check::rule(code) {
        Sink::new(rule, path, policy.level(rule.info()), to).report(place, message);
    }
}

/// A file that is too large to be read at all.
pub(super) fn too_large(policy: &Policy, path: &str, bytes: u64, to: &mut Vec<Finding>) {
    let most = policy.limits.file_bytes;
    let message = format!("the file has {bytes} bytes, at most {most} are accepted");
    report(
        policy,
        "container-too-large",
        path,
        Place::file(),
        message,
        to,
    );
}

/// The policy's minimum; what is not even portable is rejected for that.
pub(super) fn minimum_trust(policy: &Policy, path: &str, found: Trust, to: &mut Vec<Finding>) {
    let minimum = policy.minimum_trust;
    if (Trust::Portable..minimum).contains(&found) {
        let message = format!(
            "expected at least {}, found {}",
            minimum.as_str(),
            found.as_str()
        );
        report(
            policy,
            "policy-minimum-trust",
            path,
            Place::file(),
            message,
            to,
        );
    }
}

/// The document that a file is to be; `None` for a cartridge, and for any other file.
fn document_kind(entry: &Entry) -> Option<document::Kind> {
    entry.kind().and_then(document::Kind::of_type)
}

impl Stage<'_> {
    /// Bounds for one walk of trees.
    pub fn bounds(&self) -> Bounds<'_> {
        Bounds::new(self.expired)
    }

    fn settings(&self) -> Settings<'_> {
        Settings {
            policy: self.policy(),
            trust: &self.registry.trust,
            own_keys: &[],
            now: self.now,
            public: true,
        }
    }

    fn document_settings(&self) -> document::Settings<'_> {
        document::Settings {
            policy: self.policy(),
            trust: &self.registry.trust,
            now: self.now,
            publication: true,
        }
    }

    fn policy(&self) -> &Policy {
        &self.registry.policy
    }

    fn report(&self, code: &str, path: &str, message: impl Into<String>, to: &mut Vec<Finding>) {
        report(self.policy(), code, path, Place::file(), message, to);
    }

    /// Judges one artifact of whatever kind; whether a cartridge's dataset is up to date is asked of the output.
    pub fn artifact(&self, entry: &Entry, output: &Output<'_>) -> Judged {
        self.artifact_of(entry, self.blob_without_reading(entry), output)
    }

    /// As [`Stage::artifact`], of a file that git knows to be this blob.
    pub fn artifact_of(
        &self,
        entry: &Entry,
        known: Option<KnownBlob>,
        output: &Output<'_>,
    ) -> Judged {
        if let Some(judged) = known.and_then(|(id, size)| self.recall(entry, &id, size, output)) {
            return judged;
        }
        let path = entry.path.as_str();
        let bytes = match self.read(entry) {
            Ok(bytes) => bytes,
            Err(e) => return self.unread(entry, &e),
        };
        if self
            .checkout
            .is_some_and(|checkout| checkout.converts(path, &bytes, self.most(entry)))
        {
            let mut findings = Vec::new();
            let message = "the file and git's blob of it differ by line ends alone";
            self.report("registry-line-endings", path, message, &mut findings);
            return Judged {
                path: path.to_owned(),
                outcome: Outcome::Rejected,
                findings,
                waivers: BTreeSet::new(),
                signer: None,
            };
        }
        // Of a file, what it is and not what git's index has for it: the two differ where git converts.
        let id = match &entry.at {
            At::Blob(id) => Some(*id),
            At::File(_) => self.blob_of(&bytes),
        };
        if let Some(judged) = id
            .filter(|id| known.is_none_or(|(known, _)| known != *id))
            .and_then(|id| self.recall(entry, &id, None, output))
        {
            return judged;
        }
        match document_kind(entry) {
            Some(kind) => self.document(kind, entry, id, &bytes),
            None => self.cartridge(entry, id, &bytes, output),
        }
    }

    fn document(
        &self,
        kind: document::Kind,
        entry: &Entry,
        id: Option<ObjectId>,
        bytes: &[u8],
    ) -> Judged {
        let path = entry.path.as_str();
        let (judgement, waivers) = self.judge_document(kind, path, &entry.path, bytes);
        let outcome = match judgement.accepted {
            Some(accepted) => {
                let found = project::document(path, &accepted);
                if let (Some((id, cache)), Some(kept)) = (
                    id.zip(self.cache),
                    RememberedDocument::of(&accepted, &found, bytes.len() as u64),
                ) {
                    cache.put(id, &Fact::Document(Box::new(kept)));
                }
                Outcome::Accepted(Box::new(Indexable {
                    artifact: Artifact::of_document(kind, found),
                    stale: None,
                }))
            }
            None => Outcome::Rejected,
        };
        Judged {
            path: path.to_owned(),
            outcome,
            findings: judgement.findings,
            waivers,
            signer: judgement.signer,
        }
    }

    /// Judges the bytes of a document for a place; also the waivers that were used. `shown` is how findings name it.
    pub fn judge_document(
        &self,
        kind: document::Kind,
        shown: &str,
        path: &RegistryPath,
        bytes: &[u8],
    ) -> (document::Judgement, BTreeSet<usize>) {
        let mut waivers = BTreeSet::new();
        let place = |seen: Option<Seen<'_>>, findings: &mut Vec<Finding>| {
            self.place_document(path, seen, findings);
            waivers = self.waive(findings);
        };
        // A place that is none cannot be compared with the one that is expected.
        let compared = Coordinate::of_path(path).is_ok().then(|| path.as_str());
        let settings = self.document_settings();
        let judgement = document::judge_placed(kind, shown, compared, bytes, settings, place);
        (judgement, waivers)
    }

    fn cartridge(
        &self,
        entry: &Entry,
        id: Option<ObjectId>,
        bytes: &[u8],
        output: &Output<'_>,
    ) -> Judged {
        let path = entry.path.as_str();
        let (judged, waivers) = self.judge(&entry.path, bytes);
        let unverifiable = |reason: String, waivers| Judged {
            path: path.to_owned(),
            outcome: Outcome::Unverifiable(reason),
            findings: Vec::new(),
            waivers,
            signer: None,
        };
        let mut judgement = match judged {
            Ok(judgement) => judgement,
            Err(refusal) => return unverifiable(refusal.0, waivers),
        };
        let outcome = match judgement.admitted.take() {
            Some(admitted) => {
                match self.indexable(entry, id, output, &admitted, &mut judgement.findings) {
                    Ok(indexable) => Outcome::Accepted(Box::new(indexable)),
                    Err(reason) => return unverifiable(reason, waivers),
                }
            }
            None => Outcome::Rejected,
        };
        Judged {
            path: path.to_owned(),
            outcome,
            findings: judgement.findings,
            waivers,
            signer: judgement.signer,
        }
    }

    /// Publisher and signer of one artifact, where nothing stands against it but what became of the key since.
    ///
    /// # Errors
    /// A sentence where it cannot be read or judged at all.
    pub fn signer(&self, from: &Source, entry: &Entry) -> Result<Option<(String, KeyId)>, String> {
        let Some(bytes) = self.read_again(from, entry)? else {
            return Ok(None);
        };
        if let Some(kind) = document_kind(entry) {
            let path = entry.path.as_str();
            return Ok(self
                .judge_document(kind, path, &entry.path, &bytes)
                .0
                .signer);
        }
        let judged = self.judge(&entry.path, &bytes).0;
        let judgement = judged.map_err(|refusal| format!("{}: {}", entry.path, refusal.0))?;
        Ok(judgement.signer)
    }

    /// The bytes of an artifact; `None` where it is too large to be one.
    fn read_again(&self, from: &Source, entry: &Entry) -> Result<Option<Vec<u8>>, String> {
        match from.read(entry, self.most(entry)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(ReadError::TooLarge(_)) => Ok(None),
            Err(e) => Err(format!("{}: cannot be read: {e}", entry.path)),
        }
    }

    /// Judges one cartridge again, for its content alone; `None` where it is not admitted.
    ///
    /// # Errors
    /// A sentence where it cannot be read or judged at all.
    pub fn admit(&self, entry: &Entry) -> Result<Option<Box<Admitted>>, String> {
        let Some(bytes) = self.read_again(&self.registry.source, entry)? else {
            return Ok(None);
        };
        let judged = self.judge(&entry.path, &bytes).0;
        let judgement = judged.map_err(|refusal| format!("{}: {}", entry.path, refusal.0))?;
        Ok(judgement.admitted)
    }

    /// Judges the document at a path by itself; its entry, where there is one and it is accepted.
    ///
    /// # Errors
    /// A sentence where it cannot be read at all.
    pub fn accept(&self, path: &str) -> Result<Option<project::DocumentEntry>, String> {
        let Ok(place) = RegistryPath::try_from(path) else {
            return Ok(None);
        };
        let Some(kind) = ArtifactType::of_path(&place).and_then(document::Kind::of_type) else {
            return Ok(None);
        };
        let most = self.policy().limits.file_bytes;
        let most = most.min(document::MAX_BYTES as u64);
        let bytes = match self.registry.source.named(path, most) {
            Ok(bytes) => bytes,
            Err(ReadError::Io(e)) if e.kind() != std::io::ErrorKind::NotFound => {
                return Err(format!("{path}: cannot be read: {e}"));
            }
            Err(_) => return Ok(None),
        };
        let judgement = self.judge_document(kind, path, &place, &bytes).0;
        let accepted = judgement.accepted;
        Ok(accepted.map(|accepted| project::document(path, &accepted)))
    }

    /// Bytes that a file may have.
    fn most(&self, entry: &Entry) -> u64 {
        let most = self.policy().limits.file_bytes;
        match document_kind(entry) {
            Some(_) => most.min(document::MAX_BYTES as u64),
            None => most,
        }
    }

    fn read(&self, entry: &Entry) -> Result<Vec<u8>, ReadError> {
        self.registry.source.read(entry, self.most(entry))
    }

    /// Judges the bytes of a cartridge for a place; also the waivers that were used.
    pub fn judge(
        &self,
        path: &RegistryPath,
        bytes: &[u8],
    ) -> (Result<Judgement, Refusal>, BTreeSet<usize>) {
        let mut waivers = BTreeSet::new();
        let judged = verdict::judge(path.as_str(), bytes, self.settings(), |seen, findings| {
            self.place(path, seen, findings);
            waivers = self.waive(findings);
        });
        (judged, waivers)
    }

    /// The entry of an admitted cartridge, and whether its dataset on the disk is the one it gives.
    fn indexable(
        &self,
        entry: &Entry,
        id: Option<ObjectId>,
        output: &Output<'_>,
        admitted: &Admitted,
        findings: &mut Vec<Finding>,
    ) -> Result<Indexable, String> {
        let path = entry.path.as_str();
        let levels = project::levels(admitted, self.issuers, self.now);
        let mut projected = project::entry(path, admitted, &levels);
        if let Some(proven) = levels.proven().filter(|_| self.today != self.now) {
            let today = project::levels(admitted, self.issuers, self.today);
            let same = today.credentials.iter().find(|c| c.att_id == proven.att_id);
            if let Some(lapsed) = same.filter(|c| c.state != proven.state) {
                let message = format!(
                    "its level was proven when the index was signed ({}), and is no more: {}",
                    self.now, lapsed.reason
                );
                self.report("policy-lapsed", path, message, findings);
            }
        }
        let remembered = id
            .zip(self.cache)
            .and_then(|kept| Some((kept, Remembered::of(admitted, &projected)?)));
        let mut stale = None;
        if self.policy().sidecars_enabled {
            let kept = match sidecar::derive(admitted)? {
                Derived::NoMemory => KeptDataset::NoMemory,
                Derived::OtherEngine(engine) => {
                    self.other_engine(path, &engine, findings);
                    KeptDataset::OtherEngine(engine)
                }
                Derived::Dataset { records, dataset } => {
                    let memories = sidecar::memories_entry(path, records.len(), &dataset);
                    stale = self.stale(output, id, &memories.path, &dataset);
                    projected.entry.memories = Some(memories.clone());
                    let kind = self.hash_kind();
                    let kept = dataset.files.iter().filter(|_| remembered.is_some());
                    let files = kept.map(|(path, bytes)| {
                        let id = git::blob_id(kind, bytes).ok()?.to_string();
                        Some(KeptFile {
                            path: path.clone(),
                            id,
                            size: bytes.len() as u64,
                        })
                    });
                    KeptDataset::Dataset {
                        memories,
                        files: files.collect::<Option<_>>().unwrap_or_default(),
                    }
                }
            };
            if let Some(((id, cache), remembered)) = remembered {
                let sound = Sound {
                    remembered,
                    dataset: kept,
                };
                cache.put(id, &Fact::Cartridge(Box::new(sound)));
            }
        }
        Ok(Indexable {
            artifact: Artifact::Cartridge(Box::new(projected)),
            stale,
        })
    }

    /// Compares a dataset with what the registry has, and writes it beside where that is another and the run writes: it
    /// will not be derived again.
    fn stale(
        &self,
        output: &Output<'_>,
        id: Option<ObjectId>,
        path: &str,
        dataset: &Dataset,
    ) -> Option<Stale> {
        if !self.writes {
            if output.has(path, dataset) {
                return None;
            }
            if let (Some(carried), Some(id)) = (self.carried, id) {
                carried.keep(id, dataset);
            }
            return Some(Stale::Known);
        }
        match output.prepare(path, dataset) {
            Ok(prepared) => prepared.map(Stale::Written),
            Err(error) => Some(Stale::Failed(error)),
        }
    }

    fn other_engine(&self, path: &str, engine: &str, findings: &mut Vec<Finding>) {
        let message = format!(
            "expected the embedding engine local-hash-128, found {engine}: no dataset is written"
        );
        self.report("lance-other-engine", path, message, findings);
    }

    /// The hash of the repository, or of most.
    pub fn hash_kind(&self) -> gix::hash::Kind {
        match (&self.registry.source, self.checkout) {
            (Source::Tree { objects, .. }, _) => objects.kind(),
            (_, Some(checkout)) => checkout.repo().hash_kind(),
            _ => gix::hash::Kind::Sha1,
        }
    }

    /// The blob that a file is, and its size where that is known, where nothing needs to be read for it: in a commit, or
    /// where git's index knows the file by its times.
    pub fn blob_without_reading(&self, entry: &Entry) -> Option<KnownBlob> {
        self.cache?;
        match &entry.at {
            At::Blob(id) => Some((*id, None)),
            At::File(file) => {
                let (id, size) = self.checkout?.unchanged(entry.path.as_str(), file)?;
                Some((id, Some(size)))
            }
        }
    }

    /// The blob that a file is; `None` of what is too large, or no file.
    ///
    /// # Errors
    /// [`RunError`] where it cannot be read.
    pub fn id_of(&self, entry: &Entry) -> Result<Option<ObjectId>, RunError> {
        if let Some((id, _)) = self.blob_without_reading(entry) {
            return Ok(Some(id));
        }
        let fails = |e: &dyn std::fmt::Display| RunError::new(format!("{}: {e}", entry.path));
        match self.read(entry) {
            Ok(bytes) => git::blob_id(self.hash_kind(), &bytes)
                .map(Some)
                .map_err(|e| fails(&e)),
            Err(e @ ReadError::Io(_)) => Err(fails(&e)),
            Err(_) => Ok(None),
        }
    }

    fn blob_of(&self, bytes: &[u8]) -> Option<ObjectId> {
        self.cache?;
        git::blob_id(self.hash_kind(), bytes).ok()
    }

    /// An artifact that was judged before, judged by what may have changed since.
    fn recall(
        &self,
        entry: &Entry,
        id: &ObjectId,
        size: Option<u64>,
        output: &Output<'_>,
    ) -> Option<Judged> {
        match (self.cache?.get(id)?, document_kind(entry)) {
            (Fact::Cartridge(sound), None) => {
                self.recall_cartridge(*sound, entry, id, size, output)
            }
            (Fact::Document(kept), Some(kind)) => self.recall_document(&kept, kind, entry, size),
            _ => None,
        }
    }

    fn recall_document(
        &self,
        kept: &RememberedDocument,
        kind: document::Kind,
        entry: &Entry,
        size: Option<u64>,
    ) -> Option<Judged> {
        let mut waivers = BTreeSet::new();
        let recalled = kept.recall(
            entry.path.as_str(),
            size,
            self.settings(),
            |seen, findings| {
                self.place_document(&entry.path, Some(seen), findings);
                waivers = self.waive(findings);
            },
        )?;
        let outcome = match recalled.entry {
            None => Outcome::Rejected,
            Some(found) => Outcome::Accepted(Box::new(Indexable {
                artifact: Artifact::of_document(kind, found),
                stale: None,
            })),
        };
        Some(Judged {
            path: entry.path.as_str().to_owned(),
            outcome,
            findings: recalled.findings,
            waivers,
            signer: Some(recalled.signer),
        })
    }

    fn recall_cartridge(
        &self,
        sound: Sound,
        entry: &Entry,
        id: &ObjectId,
        size: Option<u64>,
        output: &Output<'_>,
    ) -> Option<Judged> {
        let path = entry.path.as_str();
        let mut waivers = BTreeSet::new();
        let recalled = sound
            .remembered
            .recall(path, self.settings(), |seen, findings| {
                self.place(&entry.path, Some(seen), findings);
                waivers = self.waive(findings);
            })?;
        let mut findings = recalled.findings;
        let signer = Some(recalled.signer);
        let Some(mut projected) = recalled.projected else {
            return Some(Judged {
                path: path.to_owned(),
                outcome: Outcome::Rejected,
                findings,
                waivers,
                signer,
            });
        };
        // A file that git converts has another size than its blob.
        if size.is_some_and(|size| size != projected.entry.bytes) {
            return None;
        }
        let mut stale = None;
        if self.policy().sidecars_enabled {
            match sound.dataset {
                KeptDataset::NoMemory => {}
                KeptDataset::OtherEngine(engine) => self.other_engine(path, &engine, &mut findings),
                KeptDataset::Dataset { memories, files } => {
                    let at = sidecar_path(path);
                    let has = output.has_files(&at, &files, self.checkout, self.hash_kind());
                    if !has {
                        let kind = self.hash_kind();
                        let carried = self.carried.filter(|_| self.writes);
                        stale = match carried.and_then(|c| c.of(id, &files, kind)) {
                            Some(dataset) => self.stale(output, None, &at, &dataset),
                            None => Some(Stale::Known),
                        };
                    }
                    projected.entry.memories = Some(Memories {
                        path: at,
                        ..memories
                    });
                }
            }
        }
        Some(Judged {
            path: path.to_owned(),
            outcome: Outcome::Accepted(Box::new(Indexable {
                artifact: Artifact::Cartridge(Box::new(projected)),
                stale,
            })),
            findings,
            waivers,
            signer,
        })
    }

    /// Looks for secrets in one other file.
    pub fn file(&self, entry: &Entry) -> Option<Judged> {
        self.file_of(entry, self.blob_without_reading(entry))
    }

    /// As [`Stage::file`], of a file that git knows to be this blob.
    pub fn file_of(&self, entry: &Entry, known: Option<KnownBlob>) -> Option<Judged> {
        let path = entry.path.as_str();
        let mut findings = Vec::new();
        if let Some(what) = secret::secret_name(entry.path.name()) {
            self.report(
                "registry-secret",
                path,
                format!("the name says {what}"),
                &mut findings,
            );
        }
        if self.policy().index_shards && discover::blocks_shards(path) {
            let message = "expected a folder of the index's shards or nothing here, found a file";
            self.report("registry-path", path, message, &mut findings);
        }
        if known.is_some_and(|(id, _)| self.is_plain(&id)) {
            return self.found(path, findings);
        }
        match self.read(entry) {
            Ok(bytes) => {
                if let Some(offset) = secret::private_key_head(&bytes) {
                    let message = format!("a PEM block of a private key begins at byte {offset}");
                    self.report("registry-secret", path, message, &mut findings);
                } else if let (Some(cache), Some(id)) = (self.cache, self.blob_of(&bytes)) {
                    cache.put(id, &Fact::Plain);
                }
            }
            Err(ReadError::TooLarge(bytes)) => {
                let most = self.most(entry);
                let message = format!("the file has {bytes} bytes, at most {most} are accepted");
                self.report("registry-file-too-large", path, message, &mut findings);
            }
            Err(e) => return Some(self.unread(entry, &e)),
        }
        self.found(path, findings)
    }

    fn is_plain(&self, id: &ObjectId) -> bool {
        matches!(
            self.cache.and_then(|cache| cache.get(id)),
            Some(Fact::Plain)
        )
    }

    /// Reports what is neither file nor folder.
    pub fn oddity(&self, oddity: &Oddity) -> Option<Judged> {
        let mut findings = Vec::new();
        let (code, message) = match oddity.kind {
            OddityKind::Symlink => (
                "registry-symlink",
                "expected a file or a folder, found a symbolic link",
            ),
            OddityKind::Special => (
                "registry-symlink",
                "expected a file or a folder, found a pipe, a socket or a device",
            ),
            OddityKind::Submodule => (
                "registry-symlink",
                "expected a file or a folder, found a submodule",
            ),
            OddityKind::Folder => (
                "registry-path",
                "expected an artifact's file, found a folder of such a name",
            ),
            OddityKind::Name => (
                "registry-unreadable-name",
                "expected a Unicode name at most 64 folders deep",
            ),
        };
        self.report(code, &oddity.path, message, &mut findings);
        self.found(&oddity.path, findings)
    }

    /// Findings about a path that is no artifact; with an error among them it is rejected.
    pub fn found(&self, path: &str, mut findings: Vec<Finding>) -> Option<Judged> {
        let waivers = self.waive(&mut findings);
        (!findings.is_empty()).then(|| Judged {
            path: path.to_owned(),
            outcome: Outcome::Rejected,
            findings,
            waivers,
            signer: None,
        })
    }

    fn unread(&self, entry: &Entry, error: &ReadError) -> Judged {
        let path = entry.path.as_str();
        let mut findings = Vec::new();
        match error {
            ReadError::TooLarge(bytes) if document_kind(entry).is_some() => {
                findings = document::too_large(path, *bytes, self.most(entry)).findings;
                self.place_document(&entry.path, None, &mut findings);
            }
            ReadError::TooLarge(bytes) => {
                too_large(self.policy(), path, *bytes, &mut findings);
            }
            ReadError::NotAFile => {
                self.report(
                    "registry-symlink",
                    path,
                    "expected a file, found a link or a device",
                    &mut findings,
                );
            }
            ReadError::Io(_) => {}
        }
        let outcome = if findings.is_empty() {
            Outcome::Unverifiable(format!("cannot be read: {error}"))
        } else {
            Outcome::Rejected
        };
        Judged {
            path: path.to_owned(),
            outcome,
            findings,
            waivers: BTreeSet::new(),
            signer: None,
        }
    }

    /// The rules about a cartridge's place, its past and its worth.
    fn place(&self, path: &RegistryPath, seen: Option<Seen<'_>>, findings: &mut Vec<Finding>) {
        let text = path.as_str();
        let spelled = Coordinate::of_path(path);
        if let Err(malformed) = &spelled {
            self.report("registry-path", text, malformed.to_string(), findings);
        }
        let Some(seen) = seen else {
            return self.history(text, None, findings);
        };
        if let Ok(spelled) = spelled {
            let expected = [
                ("acx.publisher_id", spelled.publisher.as_str()),
                ("acx.artifact_id", spelled.id.as_str()),
                ("acx.artifact_version", spelled.version.as_str()),
            ];
            for ((key, expected), found) in expected.into_iter().zip(seen.claims) {
                if found != Some(expected) {
                    let found = found.map_or_else(
                        || "nothing".to_owned(),
                        |f| format!("{:?}", crate::model::shorten(f)),
                    );
                    let message =
                        format!("the path says {expected:?}, the cartridge says {found} ({key})");
                    let place = Place::row("cartridge", key);
                    report(
                        self.policy(),
                        "registry-coordinate",
                        text,
                        place,
                        message,
                        findings,
                    );
                }
            }
        }
        // Nothing is written through a link, so a cartridge with one in its dataset's place cannot be indexed whole.
        if self.policy().sidecars_enabled && self.links.contains(sidecar_path(text).as_str()) {
            let message = "a symbolic link stands where the cartridge's dataset goes";
            self.report("registry-symlink", text, message, findings);
        }
        self.history(text, Some(seen), findings);
        minimum_trust(self.policy(), text, seen.trust, findings);
    }

    /// As [`Stage::place`], of a document: whether its path is its coordinate is seen with the rest of its content.
    fn place_document(
        &self,
        path: &RegistryPath,
        seen: Option<Seen<'_>>,
        findings: &mut Vec<Finding>,
    ) {
        let text = path.as_str();
        if let Err(malformed) = Coordinate::of_path(path) {
            self.report("document-coordinate", text, malformed.to_string(), findings);
        }
        self.history(text, seen, findings);
        if let Some(seen) = seen {
            minimum_trust(self.policy(), text, seen.trust, findings);
        }
    }

    /// Published once, never changed: the file's hash is the one that was signed, and so is the content's.
    fn history(&self, path: &str, seen: Option<Seen<'_>>, findings: &mut Vec<Finding>) {
        if let Some(wrong) = self.wrongs.get(path) {
            return self.report(wrong.code, path, wrong.message.as_str(), findings);
        }
        let Some(published) = self.published.get(path) else {
            return;
        };
        let Some(seen) = seen else {
            let message = format!(
                "expected the published file ({}), found one that cannot be read",
                published.sha256
            );
            return self.report("history-changed", path, message, findings);
        };
        if seen.sha256 != published.sha256 {
            let message = format!(
                "expected the published file ({}), found {}",
                published.sha256, seen.sha256
            );
            self.report("history-changed", path, message, findings);
        } else if let Some(manifest) = seen.manifest.filter(|m| *m != published.digest) {
            let message = format!(
                "expected the published digest {}, found {manifest}",
                published.digest
            );
            self.report("history-changed", path, message, findings);
        }
    }

    /// Lowers the errors that the policy waives; gives the waivers that did.
    pub(super) fn waive(&self, findings: &mut [Finding]) -> BTreeSet<usize> {
        let mut used = BTreeSet::new();
        for finding in findings
            .iter_mut()
            .filter(|f| f.severity == Severity::Error)
        {
            let waiver = self.policy().waivers.iter().enumerate().find(|(_, w)| {
                w.holds(self.now) && w.matches(finding.code, &finding.location.path)
            });
            if let Some((at, waiver)) = waiver {
                used.insert(at);
                finding.severity = Severity::Warning;
                finding.message.push_str(&format!(
                    " (waived until {}: {})",
                    waiver.expires, waiver.reason
                ));
            }
        }
        used
    }
}
