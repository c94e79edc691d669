//! A build on several machines: each judges its share of a registry's files into a *part*, and one joins the parts.
//!
//! A part holds what a [`Cache`] would hold of the share: facts by blob id, which depend on the bytes, the rules and the
//! limits alone. Joining is a build for which everything was found before, so its output is that of one run, and whom a
//! key belongs to, what was published and what time it is are asked there alone. What a part has no fact of (a file that
//! an error stands against, above all) is judged by the join. A part is trusted as the program's own state: who can
//! write one can write the index.
//!
//! ```text
//! {"schemaVersion":"acx.index-part/1","rules":…,"registry":…,"hash":"sha1","part":1,"of":4,"tree":"sha256:…"}
//! {"path":…,"blob":…,"fact":…,"dataset":[{"path":…,"data":"base64"}]}      one line a file, in order
//! sha256:<of all before>
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gix::hash::ObjectId;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::build::{BuildOptions, judge_all, list};
use super::cache::{Cache, KeptFile};
use super::judge::{Stage, links};
use super::output::Output;
use super::{RunError, pool};
use crate::discover::{Entry, Tree};
use crate::disk;
use crate::git;
use crate::lance::Dataset;
use crate::model::{Digest, shorten};
use crate::registry::Registry;

const SCHEMA_VERSION: &str = "acx.index-part/1";
/// Bytes of a part.
const PART_BYTES: u64 = 1 << 30;
/// Parts of a build.
const MOST_PARTS: usize = 256;

/// Which of how many shares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// From 1.
    pub part: usize,
    /// How many there are.
    pub of: usize,
}

impl std::str::FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let share = text.split_once('/').and_then(|(part, of)| {
            let (part, of) = (part.parse().ok()?, of.parse().ok()?);
            (1 <= part && part <= of && of <= MOST_PARTS).then_some(Self { part, of })
        });
        share.ok_or_else(|| {
            format!("expected I/N with 1 <= I <= N <= {MOST_PARTS}, such as 2/4, found {text:?}")
        })
    }
}

/// What was found in a share.
#[derive(Debug)]
pub struct Part {
    /// The file.
    pub bytes: Vec<u8>,
    /// Files of the share.
    pub files: usize,
    /// Those of them that the join has to judge itself.
    pub left: usize,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Head {
    schema_version: String,
    /// The program's version, the rules and the limits, hashed.
    rules: String,
    registry: String,
    hash: String,
    part: usize,
    of: usize,
    /// SHA-256 of the paths of all files of the registry.
    tree: Digest,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    path: String,
    /// None of what is too large, or no file.
    blob: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    fact: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    dataset: Vec<DatasetFile>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DatasetFile {
    path: String,
    data: String,
}

/// Datasets that a part carries, by the blob of their cartridge.
#[derive(Default)]
pub(super) struct Carried(Mutex<BTreeMap<ObjectId, Dataset>>);

impl Carried {
    /// Keeps a dataset that the registry lacks.
    pub fn keep(&self, id: ObjectId, dataset: &Dataset) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(id, dataset.clone());
    }

    fn take(&self, id: &ObjectId) -> Option<Dataset> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(id)
    }

    /// The dataset of a cartridge, if it has these files.
    pub fn of(&self, id: &ObjectId, files: &[KeptFile], kind: gix::hash::Kind) -> Option<Dataset> {
        let dataset = self.take(id)?;
        let same = dataset.files.len() == files.len()
            && dataset
                .files
                .iter()
                .zip(files)
                .all(|((path, bytes), file)| {
                    *path == file.path && git::blob_id(kind, bytes).is_ok_and(|id| file.is(&id))
                });
        same.then_some(dataset)
    }
}

/// All files of a registry that are judged, in the order in which they are shared out.
fn all(tree: &Tree) -> impl Iterator<Item = &Entry> {
    tree.artifacts.iter().chain(&tree.files)
}

fn fingerprint(tree: &Tree) -> Digest {
    let mut paths: Vec<&str> = all(tree).map(|entry| entry.path.as_str()).collect();
    paths.sort_unstable();
    Digest::of(paths.join("\n").as_bytes())
}

/// Judges a share of a registry's files.
///
/// # Errors
/// [`RunError`] where the registry cannot be walked or a file cannot be read.
pub fn judge_share(
    registry: &Registry,
    output: &mut Output<'_>,
    options: &BuildOptions<'_>,
    share: Share,
) -> Result<Part, RunError> {
    let threads = pool(options.jobs)?;
    let mut tree = threads.install(|| list(&registry.source))?;
    output.look(&tree);
    let (links, whole) = (
        links(&tree)
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>(),
        fingerprint(&tree),
    );
    let mut at = 0;
    let mut mine = |_: &Entry| {
        at += 1;
        at % share.of == share.part % share.of
    };
    tree.artifacts.retain(&mut mine);
    tree.files.retain(&mut mine);
    tree.oddities.clear();
    let made;
    let cache = match options.cache {
        Some(cache) => cache,
        None => {
            made = Cache::detached(&registry.policy, options.now);
            &made
        }
    };
    let carried = Carried::default();
    let stage = Stage {
        registry,
        now: options.now,
        today: options.now,
        issuers: options.issuers.unwrap_or(&registry.issuers),
        published: BTreeMap::new(),
        links: links.iter().map(String::as_str).collect(),
        wrongs: BTreeMap::new(),
        withdrawn: &registry.ledger,
        checkout: options.checkout,
        cache: Some(cache),
        carried: Some(&carried),
        writes: false,
        expired: options.expired,
    };
    threads.install(|| judge_all(&stage, output, &tree, options.observer));
    let lines: Vec<(String, bool)> = threads.install(|| {
        let entries: Vec<&Entry> = all(&tree).collect();
        let line = |entry: &&Entry| {
            let id = stage.id_of(entry)?;
            let fact = id.and_then(|id| cache.json(&id));
            let dataset = id.and_then(|id| carried.take(&id));
            let left = fact.is_none();
            let file = |(path, bytes)| DatasetFile {
                path,
                data: STANDARD.encode::<Vec<u8>>(bytes),
            };
            let line = Line {
                path: entry.path.as_str().to_owned(),
                blob: id.map(|id| id.to_string()),
                fact: fact.and_then(|json| RawValue::from_string(json).ok()),
                dataset: dataset
                    .into_iter()
                    .flat_map(|d| d.files)
                    .map(file)
                    .collect(),
            };
            let text = serde_json::to_string(&line)
                .map_err(|e| RunError::new(format!("{}: {e}", line.path)))?;
            Ok((text, left))
        };
        entries
            .par_iter()
            .map(line)
            .collect::<Result<_, RunError>>()
    })?;
    let head = Head {
        schema_version: SCHEMA_VERSION.to_owned(),
        rules: cache.rules().to_owned(),
        registry: registry.policy.registry_id.clone(),
        hash: stage.hash_kind().to_string(),
        part: share.part,
        of: share.of,
        tree: whole,
    };
    let mut bytes = serde_json::to_vec(&head).map_err(|e| RunError::new(e.to_string()))?;
    bytes.push(b'\n');
    for (line, _) in &lines {
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
    }
    let end = Digest::of(&bytes);
    bytes.extend_from_slice(format!("{end}\n").as_bytes());
    Ok(Part {
        bytes,
        files: lines.len(),
        left: lines.iter().filter(|(_, left)| *left).count(),
    })
}

/// The parts of a build, read and held against each other.
pub struct Parts {
    tree: Digest,
    hash: String,
    blobs: BTreeMap<String, Option<ObjectId>>,
    pub(super) carried: Carried,
}

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = f.debug_struct("Parts");
        out.field("tree", &self.tree).finish_non_exhaustive()
    }
}

impl Parts {
    /// Reads all parts of a build of this registry; their facts go into the cache.
    ///
    /// # Errors
    /// [`RunError`] where one cannot be read, is damaged, or is of another registry or made under other rules; where two
    /// are the same part or have the same file; where one is missing.
    pub fn read(files: &[PathBuf], registry: &Registry, cache: &Cache) -> Result<Self, RunError> {
        let mut seen: BTreeMap<usize, &Path> = BTreeMap::new();
        let mut first: Option<Head> = None;
        let mut blobs = BTreeMap::new();
        let carried = Carried::default();
        for file in files {
            let fails = |what: String| RunError::new(format!("{}: {what}", file.display()));
            let bytes =
                disk::read(file, PART_BYTES).map_err(|e| fails(format!("cannot be read: {e}")))?;
            let (head, lines) = parse(&bytes).map_err(|what| {
                fails(format!(
                    "it is no whole part of a build: {what}; make it anew"
                ))
            })?;
            if head.registry != registry.policy.registry_id {
                return Err(fails(format!(
                    "expected a part of the registry {:?}, found one of {:?}",
                    registry.policy.registry_id,
                    shorten(&head.registry)
                )));
            }
            if head.rules != cache.rules() {
                return Err(fails(
                    "it was made by another version of this program, or under other rules or limits: make all parts and \
                     join them with one program and one policy"
                        .to_owned(),
                ));
            }
            if let Some(first) = &first
                && (head.of, head.tree, &head.hash) != (first.of, first.tree, &first.hash)
            {
                return Err(fails(format!(
                    "it is part {} of {} of another build than {}: make all parts of one commit",
                    head.part,
                    head.of,
                    files.first().unwrap_or(file).display()
                )));
            }
            if let Some(other) = seen.insert(head.part, file) {
                return Err(fails(format!(
                    "it is part {} of {}, and so is {}",
                    head.part,
                    head.of,
                    other.display()
                )));
            }
            for line in lines {
                let at = |e: &dyn std::fmt::Display| fails(format!("{}: {e}", shorten(&line.path)));
                let id = line
                    .blob
                    .as_ref()
                    .map(|id| ObjectId::from_hex(id.as_bytes()));
                let id = id.transpose().map_err(|e| at(&e))?;
                if let (Some(id), Some(fact)) = (id, &line.fact) {
                    cache.adopt(id, fact.get());
                }
                if let Some(id) = id.filter(|_| !line.dataset.is_empty()) {
                    let files = line.dataset.iter().map(|file| {
                        let data = STANDARD.decode(&file.data).map_err(|e| at(&e))?;
                        Ok((file.path.clone(), data))
                    });
                    let files = files.collect::<Result<_, RunError>>()?;
                    carried.keep(id, &Dataset { files });
                }
                if blobs.insert(line.path.clone(), id).is_some() {
                    return Err(at(&"it is in two parts: make all parts of one commit"));
                }
            }
            first = first.or(Some(head));
        }
        let first = first.ok_or_else(|| RunError::new("no parts were given"))?;
        let missing: Vec<String> = (1..=first.of)
            .filter(|part| !seen.contains_key(part))
            .map(|part| part.to_string())
            .collect();
        if !missing.is_empty() {
            return Err(RunError::new(format!(
                "of {} parts, these are missing: {}",
                first.of,
                missing.join(", ")
            )));
        }
        Ok(Self {
            tree: first.tree,
            hash: first.hash,
            blobs,
            carried,
        })
    }

    /// Holds the parts against what stands in the registry now.
    pub(super) fn hold_against(&self, tree: &Tree, stage: &Stage<'_>) -> Result<(), RunError> {
        if fingerprint(tree) != self.tree || self.hash != stage.hash_kind().to_string() {
            let paths: BTreeSet<&str> = all(tree).map(|entry| entry.path.as_str()).collect();
            let new = paths.iter().find(|path| !self.blobs.contains_key(**path));
            let gone = self
                .blobs
                .keys()
                .find(|path| !paths.contains(path.as_str()));
            let example = match (new, gone) {
                (Some(path), _) => format!(": {path} is in none of them"),
                (None, Some(path)) => format!(": {path} is not in the registry"),
                _ => String::new(),
            };
            return Err(RunError::new(format!(
                "the parts are of another state of the registry{example}; make them anew, of the commit that is joined"
            )));
        }
        let entries: Vec<&Entry> = all(tree).collect();
        let changed = entries.par_iter().find_map_first(|entry| {
            let expected = self.blobs.get(entry.path.as_str()).copied().flatten();
            match stage.id_of(entry) {
                // What is too large to be read here is judged here.
                Ok(id) if id.is_none() || expected == id => None,
                Ok(_) => Some(RunError::new(format!(
                    "{}: the file is another than the one of the parts; make them anew, of the commit that is joined",
                    entry.path
                ))),
                Err(error) => Some(error),
            }
        });
        changed.map_or(Ok(()), Err)
    }
}

fn parse(bytes: &[u8]) -> Result<(Head, Vec<Line>), String> {
    let cut = || "it is cut off".to_owned();
    let text = std::str::from_utf8(bytes).map_err(|e| e.to_string())?;
    let text = text.strip_suffix('\n').ok_or_else(cut)?;
    let (_, end) = text.rsplit_once('\n').ok_or_else(cut)?;
    let body = text.get(..text.len() - end.len()).ok_or_else(cut)?;
    if Digest::of(body.as_bytes()).to_string() != end {
        return Err("its last line is not the hash of the others".to_owned());
    }
    let mut lines = body.lines();
    let wrong = |at: usize, e: serde_json::Error| format!("line {at}: {}", shorten(&e.to_string()));
    let head: Head =
        serde_json::from_str(lines.next().ok_or_else(cut)?).map_err(|e| wrong(1, e))?;
    if head.schema_version != SCHEMA_VERSION || !(1..=head.of.min(MOST_PARTS)).contains(&head.part)
    {
        return Err(format!("expected a part of the form {SCHEMA_VERSION}"));
    }
    let lines = lines
        .enumerate()
        .map(|(at, line)| serde_json::from_str(line).map_err(|e| wrong(at + 2, e)))
        .collect::<Result<_, _>>()?;
    Ok((head, lines))
}
