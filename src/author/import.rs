//! Taking a cartridge in: its portable memory, its skills, and, apart from everything else, what others learned in
//! their own codebases.
//!
//! A cartridge is judged first, by the gate's own rules and one that is stricter here. Then everything is planned
//! before anything is written, so that a dry run and a run say the same. Where things go in the package folder:
//!
//! ```text
//! memory-records.json            portable records, merged with those that are there
//! quarantine/cbf1_<40 hex>.json  field-learned records, one file for each codebase they are of; no export reads it
//! skills/<name>/…                each skill whole, or not at all where another of its name is there
//! ```
//!
//! Nothing is written through a link or outside the folder, and whatever is there already and is not understood stays
//! as it is.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::merge::{self, MERGED_FROM, Record, Tier};
use crate::check::Settings;
use crate::container::{Cartridge, MemoryRow, Refusal, Zone};
use crate::disk::{self, ReadError};
use crate::model::{Digest, Json, Timestamp, json};
use crate::policy::{Level, Policy, TrustRegistry};
use crate::verdict::{self, Admitted, Judgement};

/// The package's records.
const RECORDS: &str = "memory-records.json";
/// The folder of other codebases' records.
const QUARANTINE: &str = "quarantine";
/// The folder of skills.
const SKILLS: &str = "skills";
/// Bytes of a file of records.
const RECORDS_BYTES: u64 = 48 << 20;
/// Codebases whose records one cartridge may bring: each becomes a file, and the SAVE zone is not signed.
const CODEBASES: usize = 64;
/// Characters of a skill's name.
const SKILL_NAME: usize = 64;

/// What an import did, or would do, to one file of records.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordsReport {
    /// The file in the folder.
    pub path: String,
    /// Ids of records that are new.
    pub added: Vec<String>,
    /// Ids of records that two or more became.
    pub merged: Vec<String>,
    /// How many records were there and stay as they are.
    pub unchanged: usize,
}

/// What becomes of one skill.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase", tag = "state")]
pub enum SkillState {
    /// It is new.
    Installed,
    /// The same files are there.
    Unchanged,
    /// It is not installed, for this reason.
    Refused {
        /// Why, and what to do.
        reason: String,
    },
}

/// One skill of a cartridge.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct SkillReport {
    /// The skill's name.
    pub name: String,
    /// What becomes of it.
    #[serde(flatten)]
    pub state: SkillState,
}

/// One record that was not taken.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct RefusedRecord {
    /// Where it stands: `memory` in the cartridge, or a file of the folder.
    pub source: String,
    /// Its id, or its place in the file.
    pub record: String,
    /// Why; each with the field.
    pub reasons: Vec<String>,
}

/// Everything that an import does, or would do.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct ImportReport {
    /// `memory-records.json`; none where the cartridge has no portable record.
    pub memory: Option<RecordsReport>,
    /// The quarantine's files.
    pub quarantine: Vec<RecordsReport>,
    /// The skills.
    pub skills: Vec<SkillReport>,
    /// Records that were not taken, or are not understood where they are.
    pub refused: Vec<RefusedRecord>,
}

impl ImportReport {
    /// Whether something was left out.
    pub fn is_partial(&self) -> bool {
        !self.refused.is_empty()
            || self
                .skills
                .iter()
                .any(|s| matches!(s.state, SkillState::Refused { .. }))
    }
}

/// An import, planned; nothing is written yet.
#[derive(Debug)]
pub struct ImportPlan {
    folder: PathBuf,
    /// What it will do.
    pub report: ImportReport,
    /// Paths in the folder and their new bytes.
    files: Vec<(String, Vec<u8>)>,
    /// Skills to install: name, and files relative to the skill's folder.
    skills: Vec<(String, SkillFiles)>,
}

type SkillFiles = BTreeMap<String, Vec<u8>>;

/// Judges a cartridge that is to be taken in: by every rule for cartridges, its owner's SAVE data allowed, and with
/// task types outside the vocabulary as errors.
///
/// # Errors
/// [`Refusal`] where the tool failed.
pub fn judge_for_import(
    path: &str,
    bytes: &[u8],
    trust: &TrustRegistry,
    now: &Timestamp,
) -> Result<Judgement, Refusal> {
    let policy = Policy {
        levels: [("capability-task-type", Level::Error)].into(),
        ..Policy::default()
    };
    let settings = Settings {
        policy: &policy,
        trust,
        own_keys: &[],
        now,
        public: false,
    };
    verdict::judge(path, bytes, settings, |_, _| {})
}

impl ImportPlan {
    /// Plans to take a cartridge into a package folder, which need not exist yet.
    ///
    /// # Errors
    /// A sentence where the folder's own files cannot be read or are not of their form, or a link is in the way.
    pub fn new(admitted: &Admitted, folder: &Path) -> Result<Self, String> {
        let cartridge = admitted.cartridge();
        let mut plan = Self {
            folder: folder.to_path_buf(),
            report: ImportReport::default(),
            files: Vec::new(),
            skills: Vec::new(),
        };
        real_folder_or_none(folder, true)?;
        for name in [QUARANTINE, SKILLS] {
            real_folder_or_none(&folder.join(name), false)?;
        }
        plan.memory(cartridge)?;
        plan.skills(cartridge)?;
        Ok(plan)
    }

    /// Writes what is planned; each file and each skill whole or not at all. A run that was stopped half way is
    /// completed by the next.
    ///
    /// # Errors
    /// Names the file and says what the system says.
    pub fn apply(&self) -> Result<(), String> {
        let named = |path: &Path, e: io::Error| format!("{}: {e}", path.display());
        fs::create_dir_all(&self.folder).map_err(|e| named(&self.folder, e))?;
        for (name, files) in &self.skills {
            let parent = self.folder.join(SKILLS);
            make_folder(&parent)?;
            install(&self.folder, &parent, name, files)
                .map_err(|e| named(&parent.join(name), e))?;
        }
        for (path, bytes) in &self.files {
            let file = self.folder.join(path);
            if path.contains('/') {
                make_folder(&self.folder.join(QUARANTINE))?;
            }
            disk::replace(&file, bytes).map_err(|e| named(&file, e))?;
        }
        Ok(())
    }

    fn memory(&mut self, cartridge: &Cartridge) -> Result<(), String> {
        let mut portable = Vec::new();
        let mut foreign: BTreeMap<String, Vec<Record>> = BTreeMap::new();
        for row in &cartridge.memory {
            match taken(row) {
                Ok(record) => match record.tier() {
                    Tier::Portable => portable.push(record),
                    Tier::Codebase(fingerprint) => {
                        foreign.entry(fingerprint.clone()).or_default().push(record);
                    }
                },
                Err(reasons) => self.report.refused.push(RefusedRecord {
                    source: "memory".to_owned(),
                    record: row.id.clone(),
                    reasons,
                }),
            }
        }
        if foreign.len() > CODEBASES {
            return Err(format!(
                "the cartridge brings records of {} codebases, at most {CODEBASES} are accepted; strip it first",
                foreign.len()
            ));
        }
        if !portable.is_empty() {
            self.report.memory =
                Some(self.records(RECORDS.to_owned(), &Tier::Portable, portable)?);
        }
        for (fingerprint, records) in foreign {
            let path = format!("{QUARANTINE}/{fingerprint}.json");
            let report = self.records(path, &Tier::Codebase(fingerprint), records)?;
            self.report.quarantine.push(report);
        }
        Ok(())
    }

    /// Merges records into one file of the folder.
    fn records(
        &mut self,
        path: String,
        tier: &Tier,
        new: Vec<Record>,
    ) -> Result<RecordsReport, String> {
        let existing = Existing::read(&self.folder, &path, tier, &mut self.report.refused)?;
        let digest = |record: &Json| Digest::of(&json::canonical(record));
        let before: BTreeSet<Digest> = existing.records.iter().map(|r| digest(r.json())).collect();
        // By the keys of what was there, so that each record is looked up and not searched for.
        let known = merge::Keys::of(&existing.records);
        let merged = merge::merge(existing.records.into_iter().chain(new));
        let mut report = RecordsReport {
            path: path.clone(),
            added: Vec::new(),
            merged: Vec::new(),
            unchanged: 0,
        };
        for record in &merged {
            if before.contains(&digest(record.json())) {
                report.unchanged += 1;
            } else if known.meets(record) || record.json().get(MERGED_FROM).is_some() {
                report.merged.push(record.id().to_owned());
            } else {
                report.added.push(record.id().to_owned());
            }
        }
        if !report.added.is_empty() || !report.merged.is_empty() {
            let mut all: Vec<Json> = existing.kept;
            all.extend(merged.into_iter().map(Record::into_json));
            all.sort_by_cached_key(|r| {
                let id = r.get("id").and_then(Json::as_str).map(str::to_owned);
                (id, digest(r))
            });
            let mut bytes = serde_json::to_vec_pretty(&all).map_err(|e| format!("{path}: {e}"))?;
            bytes.push(b'\n');
            if bytes.len() as u64 > RECORDS_BYTES {
                return Err(format!(
                    "{path}: it would have {} bytes, at most {RECORDS_BYTES} are accepted",
                    bytes.len()
                ));
            }
            self.files.push((path, bytes));
        }
        Ok(report)
    }

    fn skills(&mut self, cartridge: &Cartridge) -> Result<(), String> {
        let mut skills: BTreeMap<&str, SkillFiles> = BTreeMap::new();
        for file in cartridge
            .files
            .iter()
            .filter(|f| f.zone() == Some(Zone::Rom))
        {
            let Some(rest) = file.name.strip_prefix("rom/skills/") else {
                continue;
            };
            let (name, rest) = rest.split_once('/').unwrap_or((rest, ""));
            let files = skills.entry(name).or_default();
            files.insert(rest.to_owned(), file.data.clone());
        }
        for (name, files) in skills {
            let state = match refused_skill(name, &files) {
                Some(reason) => SkillState::Refused { reason },
                None => {
                    let at = self.folder.join(SKILLS).join(name);
                    match compare(&at, &files).map_err(|e| format!("{}: {e}", at.display()))? {
                        Some(true) => SkillState::Unchanged,
                        Some(false) => SkillState::Refused {
                            reason: format!(
                                "another skill of this name is at {SKILLS}/{name}; rename or remove it, and import again"
                            ),
                        },
                        None => {
                            self.skills.push((name.to_owned(), files));
                            SkillState::Installed
                        }
                    }
                }
            };
            self.report.skills.push(SkillReport {
                name: name.to_owned(),
                state,
            });
        }
        Ok(())
    }
}

/// The record of a cartridge's row, as it is taken in.
fn taken(row: &MemoryRow) -> Result<Record, Vec<String>> {
    let mut record = json::parse(row.payload.as_bytes()).map_err(|e| vec![e.to_string()])?;
    let portable = record.get("portable") == Some(&Json::Bool(true));
    if let Some(members) = record.as_object_mut() {
        // A stranger's word on what a record was merged from would bind records of the reader's to each other.
        members.shift_remove(MERGED_FROM);
        if !portable {
            members.insert("foreign".to_owned(), Json::Bool(true));
        }
    }
    Record::of_json(&record)
}

/// A file of records as it is.
struct Existing {
    /// The records of the tier.
    records: Vec<Record>,
    /// All others, which stay as they are.
    kept: Vec<Json>,
}

impl Existing {
    fn read(
        folder: &Path,
        path: &str,
        tier: &Tier,
        refused: &mut Vec<RefusedRecord>,
    ) -> Result<Self, String> {
        let mut existing = Self {
            records: Vec::new(),
            kept: Vec::new(),
        };
        let file = folder.join(path);
        let shown = file.display();
        let bytes = match disk::read(&file, RECORDS_BYTES) {
            Ok(bytes) => bytes,
            Err(e) if e.is_absent() => return Ok(existing),
            Err(e) => return Err(format!("{shown}: {e}")),
        };
        let Json::Array(items) = json::parse(&bytes).map_err(|e| format!("{shown}: {e}"))? else {
            return Err(format!(
                "{shown}: expected a list of memory records, found something else"
            ));
        };
        for (at, item) in items.into_iter().enumerate() {
            // What its author learned in a repository of their own is for an export or `acx learn` to deal with.
            let repository = item
                .get("repoId")
                .and_then(Json::as_str)
                .unwrap_or_default();
            let field_learned =
                !repository.trim().is_empty() || item.get("portable") == Some(&Json::Bool(false));
            if field_learned && *tier == Tier::Portable {
                existing.kept.push(item);
                continue;
            }
            match Record::of_entry(&item) {
                Ok(record) if record.tier() == tier => existing.records.push(record),
                Ok(_) => {
                    refused.push(kept(
                        path,
                        at,
                        &item,
                        vec!["it is of another tier or codebase than this file".to_owned()],
                    ));
                    existing.kept.push(item);
                }
                Err(reasons) => {
                    refused.push(kept(path, at, &item, reasons));
                    existing.kept.push(item);
                }
            }
        }
        Ok(existing)
    }
}

fn kept(path: &str, at: usize, item: &Json, reasons: Vec<String>) -> RefusedRecord {
    let id = item.get("id").and_then(Json::as_str);
    RefusedRecord {
        source: path.to_owned(),
        record: id.map_or_else(|| format!("/{at}"), |id| format!("/{at} {id}")),
        reasons,
    }
}

/// Why a folder of the archive is no skill that can be installed.
fn refused_skill(name: &str, files: &SkillFiles) -> Option<String> {
    let word = |w: &str| {
        !w.is_empty()
            && w.bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    };
    if name.len() > SKILL_NAME || !name.split('-').all(word) {
        return Some(format!(
            "expected a name of at most {SKILL_NAME} lower-case letters and digits in words joined by hyphens"
        ));
    }
    if !files.contains_key("SKILL.md") {
        return Some("it has no SKILL.md, so no host would load it".to_owned());
    }
    None
}

/// Whether the skill that is there is this one; `None` where nothing is there.
fn compare(at: &Path, files: &SkillFiles) -> io::Result<Option<bool>> {
    match at.symlink_metadata() {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(e),
        Ok(found) if !found.is_dir() => return Ok(Some(false)),
        Ok(_) => {}
    }
    let mut found = 0;
    for entry in walkdir::WalkDir::new(at).follow_links(false).min_depth(1) {
        let entry = entry.map_err(io::Error::other)?;
        if entry.file_type().is_dir() {
            continue;
        }
        let name = entry.path().strip_prefix(at).ok();
        let name = name.and_then(|p| crate::model::RegistryPath::try_from(p).ok());
        let Some(data) = name.and_then(|n| files.get(n.as_str())) else {
            return Ok(Some(false));
        };
        match disk::read(entry.path(), data.len() as u64) {
            Ok(bytes) if bytes == *data => found += 1,
            Ok(_) | Err(ReadError::NotAFile | ReadError::TooLarge(_)) => return Ok(Some(false)),
            Err(ReadError::Io(e)) => return Err(e),
        }
    }
    Ok(Some(found == files.len()))
}

/// Writes a skill's folder in one step.
fn install(folder: &Path, parent: &Path, name: &str, files: &SkillFiles) -> io::Result<()> {
    // Beside the skills, not among them: what a killed run leaves is no skill.
    let temporary = tempfile::Builder::new()
        .prefix(disk::TEMPORARY)
        .tempdir_in(folder)?;
    let new = temporary.path().join(name);
    fs::create_dir(&new)?;
    for (path, data) in files {
        let path = crate::model::RegistryPath::try_from(path.as_str()).map_err(io::Error::other)?;
        let path = path.below(&new);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(path)?;
        file.write_all(data)?;
        file.sync_all()?;
    }
    fs::rename(&new, parent.join(name))?;
    disk::sync_folder(parent)
}

/// Refuses anything but a folder, or nothing, at this place. The folder that the user named may itself be a link.
fn real_folder_or_none(at: &Path, named: bool) -> Result<(), String> {
    let found = if named {
        at.metadata()
    } else {
        at.symlink_metadata()
    };
    match found {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(format!(
            "{}: expected a folder, found a link or a file; nothing is written there",
            at.display()
        )),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(format!("{}: {e}", at.display())),
    }
}

fn make_folder(at: &Path) -> Result<(), String> {
    match fs::create_dir(at) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => Err(format!("{}: {e}", at.display())),
        _ => real_folder_or_none(at, false),
    }
}
