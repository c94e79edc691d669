//! `publish`: a cartridge's way into a registry's work tree, judged as the gate will judge it, in the place where the
//! gate will look for it, and never over something that is there.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use super::build::{committed_index, listed, of_index};
use super::join::duplicates;
use super::judge::{Stage, report};
use super::publishers::refuse_strangers;
use super::{BuildOptions, Mode, RunError};
use crate::check::Place;
use crate::container;
use crate::disk::{self, ReadError};
use crate::finding::Finding;
use crate::model::{ArtifactId, Coordinate, Digest, PublisherId, RegistryPath, Timestamp, Version};
use crate::project;
use crate::registry::Registry;
use crate::report::FileReport;
use crate::verdict::{self, Judgement};

/// The card beside a cartridge.
const CARD: &str = "README.md";

/// A cartridge that the gate would accept, and where it goes; nothing is written yet.
#[derive(Debug)]
pub struct Publication {
    /// Publisher, id and version.
    pub coordinate: Coordinate,
    /// The cartridge's path in the registry.
    pub path: String,
    /// The same file is there already.
    pub is_there: bool,
    /// The gate's report: accepted, perhaps with warnings.
    pub report: FileReport,
    card: String,
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

/// Judges a cartridge as the gate of this registry would and finds its place. `shown` is how the report names the file.
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
        expired: &crate::git::unbounded,
    };
    let Some(coordinate) = coordinate(registry, bytes)? else {
        // Without a place it cannot be accepted, whatever else is right; the rules on its metadata say why.
        return Err(rejected_anywhere(registry, shown, bytes, now));
    };
    let path = coordinate.path();
    let place = RegistryPath::try_from(path.as_str()).map_err(|e| RunError::new(e.to_string()))?;
    let mut judgement = stage
        .judge(&place, bytes)
        .0
        .map_err(|refusal| RunError::new(refusal.0))?;
    let is_there = occupied(registry, &place, bytes, &mut judgement.findings)?;
    crate::finding::sort(&mut judgement.findings);
    let admitted = judgement.admitted.take();
    let refused = crate::report::has_error(&judgement.findings);
    let Some(admitted) = admitted.filter(|_| !refused) else {
        let report = FileReport::judged(shown.to_owned(), judgement);
        return Err(NotPublished::Rejected(Box::new(report)));
    };
    let levels = project::levels(&admitted, stage.issuers, now);
    let projected = project::entry(&path, &admitted, &levels);
    // Whose key it is, by the keys of the index.
    let known = of_index(index.as_ref(), &stage, &[]);
    let mut one = vec![(projected.clone(), std::mem::take(&mut judgement.findings))];
    let mut refused = Vec::new();
    if !is_there {
        duplicates(
            &stage,
            &siblings(registry, &coordinate)?,
            &mut one,
            &mut refused,
        );
    }
    refuse_strangers(&stage, &known, &mut one, &mut refused)?;
    if let Some(refused) = refused.pop() {
        judgement.findings = refused.findings;
        let report = FileReport::judged(shown.to_owned(), judgement);
        return Err(NotPublished::Rejected(Box::new(report)));
    }
    judgement.findings = one.pop().map(|(_, findings)| findings).unwrap_or_default();
    let entry = projected.entry;
    let card = project::card(&entry, &admitted);
    let report = FileReport {
        verdict: crate::report::Verdict::Accept,
        ..FileReport::judged(shown.to_owned(), judgement)
    };
    Ok(Publication {
        coordinate,
        path,
        is_there,
        report,
        card,
    })
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

    /// Writes the card, then the cartridge. Gives the paths that were written.
    ///
    /// # Errors
    /// [`RunError`] names the file; a cartridge is never written over.
    pub fn write(&self, registry: &Registry, bytes: &[u8]) -> Result<Vec<String>, RunError> {
        let files = self.new_files(registry)?;
        let failed = |path: &str, e: io::Error| RunError::new(format!("{path}: {e}"));
        if !files.is_empty() {
            make_folders(root(registry)?, &self.path)?;
        }
        for path in &files {
            let data = if *path == self.path {
                bytes
            } else {
                self.card.as_bytes()
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
            publisher,
            id,
            version,
        }),
        _ => None,
    })
}

/// What the rules have against a cartridge that has no place.
fn rejected_anywhere(
    registry: &Registry,
    shown: &str,
    bytes: &[u8],
    now: &Timestamp,
) -> NotPublished {
    let settings = crate::check::Settings {
        policy: &registry.policy,
        trust: &registry.trust,
        own_keys: &[],
        now,
        public: true,
    };
    let judged = verdict::judge(shown, bytes, settings, |_, findings| {
        let message = "expected a publisher, an id and a version that make a path, found none";
        report(
            &registry.policy,
            "registry-path",
            shown,
            Place::file(),
            message,
            findings,
        );
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

/// The paths of the cartridges that stand beside this version.
fn siblings(registry: &Registry, coordinate: &Coordinate) -> Result<Vec<String>, RunError> {
    let folder = format!("cartridges/{}/{}", coordinate.publisher, coordinate.id);
    let fails = |e: io::Error| RunError::new(format!("{folder}: {e}"));
    let entries = match std::fs::read_dir(root(registry)?.join(&folder)) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(fails(e)),
    };
    let mut paths = Vec::new();
    for entry in entries {
        let entry = entry.map_err(fails)?;
        let file = entry.path().join("cartridge.acx");
        if let (Some(version), Ok(_)) = (entry.file_name().to_str(), file.symlink_metadata()) {
            paths.push(format!("{folder}/{version}/cartridge.acx"));
        }
    }
    Ok(paths)
}

/// Every folder above a path, from the top.
fn folders(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/')
        .map(|(at, _)| path.get(..at).unwrap_or_default())
}

fn make_folders(root: &Path, path: &str) -> Result<(), RunError> {
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
