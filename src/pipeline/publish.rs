//! `publish`: an artifact's way into a registry's work tree, judged as the gate will judge it, in the place where the
//! gate will look for it, and never over something that is there.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use super::build::{committed_index, listed, of_index};
use super::join::{dependencies, duplicates};
use super::judge::{Stage, report};
use super::publishers::refuse_strangers;
use super::{BuildOptions, Mode, RunError};
use crate::check::Place;
use crate::container;
use crate::disk::{self, ReadError};
use crate::document;
use crate::finding::Finding;
use crate::model::{
    ArtifactId, ArtifactType, Coordinate, Digest, PublisherId, RegistryPath, Timestamp, Version,
};
use crate::project::{self, Artifact};
use crate::registry::Registry;
use crate::report::{FileReport, Verdict};
use crate::verdict::{self, Judgement, Seen};

/// The card beside a cartridge.
const CARD: &str = "README.md";

/// An artifact that the gate would accept, and where it goes; nothing is written yet.
#[derive(Debug)]
pub struct Publication {
    /// Kind, publisher, id and version.
    pub coordinate: Coordinate,
    /// The artifact's path in the registry.
    pub path: String,
    /// The same file is there already.
    pub is_there: bool,
    /// The gate's report: accepted, perhaps with warnings.
    pub report: FileReport,
    /// What a person reads of a cartridge; a document has none.
    card: Option<String>,
}

/// Why nothing is published.
#[derive(Debug)]
pub enum NotPublished {
    /// The gate would not accept it, or its place is taken.
    Rejected(Box<FileReport>),
    /// The run failed.
    Failed(RunError),
}

impl From<RunError> for NotPublished {
    fn from(error: RunError) -> Self {
        Self::Failed(error)
    }
}

/// Judges an artifact as the gate of this registry would and finds its place. `shown` is how the report names the file,
/// and says by its ending of which kind it is.
///
/// # Errors
/// [`NotPublished`].
pub fn plan_publication(
    registry: &Registry,
    shown: &str,
    bytes: &[u8],
    now: &Timestamp,
) -> Result<Publication, NotPublished> {
    let options = BuildOptions::new(Mode::Check, now, None);
    let index = committed_index(registry, &options)?;
    let stage = Stage {
        registry,
        now,
        today: now,
        issuers: &registry.issuers,
        published: index.iter().flat_map(listed).collect(),
        links: BTreeSet::new(),
        wrongs: BTreeMap::new(),
        withdrawn: &registry.ledger,
        checkout: None,
        cache: None,
        carried: None,
        writes: false,
        expired: &crate::git::unbounded,
    };
    let kind = document::Kind::of_name(shown);
    let coordinate = match kind {
        Some(kind) => document::coordinate(kind, bytes),
        None => coordinate(registry, bytes)?,
    };
    let Some(coordinate) = coordinate else {
        // Without a place it cannot be accepted, whatever else is right; the rules on its content say why.
        return Err(rejected_anywhere(registry, kind, shown, bytes, now));
    };
    let path = coordinate.path();
    let place = RegistryPath::try_from(path.as_str()).map_err(|e| RunError::new(e.to_string()))?;
    let (artifact, card, mut report) = match kind {
        Some(kind) => document(&stage, kind, shown, &place, bytes),
        None => cartridge(&stage, shown, &place, bytes)?,
    };
    let is_there = occupied(registry, &place, bytes, &mut report.findings)?;
    crate::finding::sort(&mut report.findings);
    let rejected = |findings: Vec<Finding>, report: FileReport| {
        NotPublished::Rejected(Box::new(FileReport {
            verdict: Verdict::Reject,
            findings,
            ..report
        }))
    };
    let findings = std::mem::take(&mut report.findings);
    let Some(artifact) = artifact.filter(|_| !crate::report::has_error(&findings)) else {
        return Err(rejected(findings, report));
    };
    // Whose key it is, by the keys of the index.
    let known = of_index(index.as_ref(), &stage, &[]);
    let pinned = match &artifact {
        Artifact::AgentGraph(graph) => graph.pins.clone(),
        _ => Vec::new(),
    };
    let mut one = vec![(artifact, findings)];
    let mut refused = Vec::new();
    if !is_there {
        let siblings = siblings(registry, &coordinate)?;
        duplicates(&stage, &siblings, &mut one, &mut refused);
    }
    refuse_strangers(&stage, &known, &mut one, &mut refused)?;
    let mut beside = BTreeMap::new();
    for pin in pinned {
        let path = ArtifactType::Workflow.path(&pin.publisher, &pin.id, &pin.version);
        let workflow = stage.accept(&path).map_err(RunError::new)?;
        beside.extend(workflow.map(|workflow| (path, workflow)));
    }
    dependencies(&stage, &beside, &mut one, &mut refused);
    if let Some(refused) = refused.pop() {
        return Err(rejected(refused.findings, report));
    }
    report.findings = one.pop().map(|(_, findings)| findings).unwrap_or_default();
    report.verdict = Verdict::Accept;
    Ok(Publication {
        coordinate,
        path,
        is_there,
        report,
        card,
    })
}

/// What the gate says of an artifact: how the index would show it where it is admitted, its card, and the report.
type Judged = (Option<Artifact>, Option<String>, FileReport);

fn cartridge(
    stage: &Stage<'_>,
    shown: &str,
    place: &RegistryPath,
    bytes: &[u8],
) -> Result<Judged, RunError> {
    let judged = stage.judge(place, bytes).0;
    let judgement = judged.map_err(|refusal| RunError::new(refusal.0))?;
    let (artifact, card) = match &judgement.admitted {
        Some(admitted) => {
            let levels = project::levels(admitted, stage.issuers, stage.now);
            let projected = project::entry(place.as_str(), admitted, &levels);
            let card = project::card(&projected.entry, admitted);
            (Some(Artifact::Cartridge(Box::new(projected))), Some(card))
        }
        None => (None, None),
    };
    let report = FileReport::judged(shown.to_owned(), judgement);
    Ok((artifact, card, report))
}

fn document(
    stage: &Stage<'_>,
    kind: document::Kind,
    shown: &str,
    place: &RegistryPath,
    bytes: &[u8],
) -> Judged {
    let path = place.as_str();
    let judgement = stage.judge_document(kind, path, place, bytes).0;
    let accepted = judgement.accepted.as_deref();
    let artifact =
        accepted.map(|accepted| Artifact::of_document(kind, project::document(path, accepted)));
    let report = FileReport::document(shown.to_owned(), judgement, false);
    (artifact, None, report)
}

impl Publication {
    /// The paths of the registry that [`Publication::write`] will write.
    ///
    /// # Errors
    /// [`RunError`] where the place cannot be looked at.
    pub fn new_files(&self, registry: &Registry) -> Result<Vec<String>, RunError> {
        if self.is_there {
            return Ok(Vec::new());
        }
        if self.card.is_none() {
            return Ok(vec![self.path.clone()]);
        }
        let card = self.card_path();
        let has_card = match root(registry)?.join(&card).symlink_metadata() {
            Ok(_) => true,
            Err(e) if e.kind() == io::ErrorKind::NotFound => false,
            Err(e) => return Err(RunError::new(format!("{card}: {e}"))),
        };
        // A card that its publisher wrote stays.
        let card = (!has_card).then_some(card);
        Ok(card.into_iter().chain([self.path.clone()]).collect())
    }

    /// Writes the card, then the artifact. Gives the paths that were written.
    ///
    /// # Errors
    /// [`RunError`] names the file; an artifact is never written over.
    pub fn write(&self, registry: &Registry, bytes: &[u8]) -> Result<Vec<String>, RunError> {
        let files = self.new_files(registry)?;
        let failed = |path: &str, e: io::Error| RunError::new(format!("{path}: {e}"));
        if !files.is_empty() {
            make_folders(root(registry)?, &self.path)?;
        }
        for path in &files {
            let data = match &self.card {
                Some(card) if *path != self.path => card.as_bytes(),
                _ => bytes,
            };
            disk::create(&root(registry)?.join(path), data).map_err(|e| failed(path, e))?;
        }
        Ok(files)
    }

    fn card_path(&self) -> String {
        let folder = self.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        format!("{folder}/{CARD}")
    }
}

fn root(registry: &Registry) -> Result<&Path, RunError> {
    registry.folder().map_err(|e| RunError::new(e.to_string()))
}

/// The coordinate that a cartridge's metadata spells, where it can be read and is of its form.
fn coordinate(registry: &Registry, bytes: &[u8]) -> Result<Option<Coordinate>, RunError> {
    let opened = container::open(bytes, &registry.policy.limits)
        .map_err(|refusal| RunError::new(refusal.0))?;
    let Some(cartridge) = opened.cartridge else {
        return Ok(None);
    };
    let text = |key: &str| cartridge.meta(key).unwrap_or_default();
    let parts = (
        PublisherId::try_from(text("acx.publisher_id")),
        ArtifactId::try_from(text("acx.artifact_id")),
        Version::try_from(text("acx.artifact_version")),
    );
    Ok(match parts {
        (Ok(publisher), Ok(id), Ok(version)) => Some(Coordinate {
            kind: ArtifactType::Agent,
            publisher,
            id: id.into(),
            version,
        }),
        _ => None,
    })
}

/// What the rules have against an artifact that has no place.
fn rejected_anywhere(
    registry: &Registry,
    kind: Option<document::Kind>,
    shown: &str,
    bytes: &[u8],
    now: &Timestamp,
) -> NotPublished {
    let policy = &registry.policy;
    let message = "expected a publisher, an id and a version that make a path, found none";
    if let Some(kind) = kind {
        let settings = document::Settings {
            policy,
            trust: &registry.trust,
            now,
            publication: true,
        };
        let place = |_: Option<Seen<'_>>, findings: &mut Vec<Finding>| {
            let code = "document-coordinate";
            report(policy, code, shown, Place::file(), message, findings);
        };
        let judgement = document::judge_placed(kind, shown, None, bytes, settings, place);
        let report = FileReport::document(shown.to_owned(), judgement, false);
        return NotPublished::Rejected(Box::new(report));
    }
    let settings = crate::check::Settings {
        policy,
        trust: &registry.trust,
        own_keys: &[],
        now,
        public: true,
    };
    let judged = verdict::judge(shown, bytes, settings, |_, findings| {
        let code = "registry-path";
        report(policy, code, shown, Place::file(), message, findings);
    });
    match judged {
        Ok(judgement @ Judgement { .. }) => {
            NotPublished::Rejected(Box::new(FileReport::judged(shown.to_owned(), judgement)))
        }
        Err(refusal) => NotPublished::Failed(RunError::new(refusal.0)),
    }
}

/// Whether the same file is in the place; another one, or a link on the way, is a finding.
fn occupied(
    registry: &Registry,
    place: &RegistryPath,
    bytes: &[u8],
    findings: &mut Vec<Finding>,
) -> Result<bool, RunError> {
    let path = place.as_str();
    // The index may have told already.
    let told = findings.iter().any(|f| f.code == "history-changed");
    let mut add = |code: &str, message: String| {
        report(
            &registry.policy,
            code,
            path,
            Place::file(),
            message,
            findings,
        );
    };
    for folder in folders(path) {
        match root(registry)?.join(folder).symlink_metadata() {
            Ok(found) if found.is_dir() => {}
            Ok(_) => {
                add(
                    "registry-symlink",
                    format!("expected a folder at {folder}, found a link or a file"),
                );
                return Ok(false);
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(e) => return Err(RunError::new(format!("{folder}: {e}"))),
        }
    }
    match disk::read(
        &place.below(root(registry)?),
        registry.policy.limits.file_bytes,
    ) {
        Ok(there) if there == bytes => Ok(true),
        Ok(_) if told => Ok(false),
        Ok(there) => {
            add(
                "history-changed",
                format!(
                    "this version is there already, as another file ({}); publish a new version",
                    Digest::of(&there)
                ),
            );
            Ok(false)
        }
        Err(e) if e.is_absent() => Ok(false),
        Err(ReadError::Io(e)) => Err(RunError::new(format!("{path}: {e}"))),
        Err(e) => {
            add("history-changed", format!("its place is taken: {e}"));
            Ok(false)
        }
    }
}

/// The paths of the versions that stand beside this one.
fn siblings(registry: &Registry, coordinate: &Coordinate) -> Result<Vec<String>, RunError> {
    let folder = coordinate.versions();
    let fails = |e: io::Error| RunError::new(format!("{folder}: {e}"));
    let entries = match std::fs::read_dir(root(registry)?.join(&folder)) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(fails(e)),
    };
    let mut paths = Vec::new();
    for entry in entries {
        let entry = entry.map_err(fails)?;
        let name = entry.file_name();
        let path = name.to_str().and_then(|name| coordinate.beside(name));
        let root = root(registry)?;
        paths.extend(path.filter(|path| root.join(path).symlink_metadata().is_ok()));
    }
    Ok(paths)
}

/// Every folder above a path, from the top.
fn folders(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/')
        .map(|(at, _)| path.get(..at).unwrap_or_default())
}

/// Makes the folders above a path, none of which may be a link.
pub(super) fn make_folders(root: &Path, path: &str) -> Result<(), RunError> {
    for folder in folders(path) {
        let at = root.join(folder);
        match std::fs::create_dir(&at) {
            Ok(()) => {}
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                if !at.symlink_metadata().is_ok_and(|m| m.is_dir()) {
                    return Err(RunError::new(format!(
                        "{folder}: expected a folder, found a link or a file"
                    )));
                }
            }
            Err(e) => return Err(RunError::new(format!("{folder}: {e}"))),
        }
    }
    Ok(())
}
