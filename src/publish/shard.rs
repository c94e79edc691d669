//! Reading an index in shards. The signed root names each publisher's shard by its hash; nothing of a shard counts that
//! is not what the root says.
//!
//! The root's own paths are never followed: a shard is looked for where its publisher and its hash put it, so a root
//! leads nowhere else. All sizes are bounded by the root before the first shard is read.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Map;

use super::INDEX_BYTES;
use super::index::{INDEX_VERSION, array, pretty};
use super::sign::IndexError;
use crate::discover::shard_path;
use crate::disk::ReadError;
use crate::model::{ArtifactType, Digest, Json, PublisherId, Version, json as strict, shorten};
use crate::schema::REGISTRY_INDEX_SHARD;

/// The `schemaVersion` of a root.
pub(super) const ROOT_VERSION: &str = "acx.registry-index-root/1";
/// The `schemaVersion` of a shard.
pub(super) const SHARD_VERSION: &str = "acx.registry-index-shard/1";

/// Gives another file of the registry that an index is of, by its path and the most bytes that are wanted of it.
pub type Further<'a> = &'a dyn Fn(&str, u64) -> Result<Vec<u8>, ReadError>;

/// What a root says of one publisher's shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Shard {
    /// Whose entries it lists.
    pub publisher: String,
    /// `index/<publisher>/<hex digits of sha256>.json`
    pub path: String,
    /// SHA-256 of the file.
    pub sha256: Digest,
    /// Length of the file in bytes.
    pub bytes: u64,
    /// Cartridges that it lists.
    pub cartridges: usize,
    /// Workflows that it lists.
    pub workflows: usize,
    /// Agent Graphs that it lists.
    pub agent_graphs: usize,
}

impl Shard {
    fn count(&self, kind: ArtifactType) -> usize {
        match kind {
            ArtifactType::Agent => self.cartridges,
            ArtifactType::Workflow => self.workflows,
            ArtifactType::AgentGraph => self.agent_graphs,
        }
    }

    fn wrong(&self, message: impl Into<String>) -> IndexError {
        IndexError::Shard {
            path: self.path.clone(),
            message: message.into(),
        }
    }

    /// Its bytes, which have the size and the hash that the root says; `None` where it is not at hand.
    pub(super) fn fetch(&self, further: Further<'_>) -> Result<Option<Vec<u8>>, IndexError> {
        let size = |found: u64| self.wrong(format!("expected {} bytes, found {found}", self.bytes));
        let bytes = match further(&self.path, self.bytes) {
            Ok(bytes) => bytes,
            Err(e) if e.is_absent() => return Ok(None),
            Err(ReadError::TooLarge(found)) => return Err(size(found)),
            Err(ReadError::NotAFile) => {
                return Err(
                    self.wrong("expected an ordinary file, found a link, a folder or a device")
                );
            }
            Err(e) => return Err(self.wrong(format!("cannot be read: {e}"))),
        };
        if bytes.len() as u64 != self.bytes {
            return Err(size(bytes.len() as u64));
        }
        let found = Digest::of(&bytes);
        if found != self.sha256 {
            return Err(self.wrong(format!("expected sha256 {}, found {found}", self.sha256)));
        }
        Ok(Some(bytes))
    }

    /// What a shard that is not at hand does to an index that is read as a whole.
    pub(super) fn missing(&self) -> IndexError {
        let publisher = &self.publisher;
        self.wrong(format!(
            "expected the shard of {publisher}, found none; restore it or fetch it"
        ))
    }
}

/// The shards of a root that its schema has nothing against.
pub(super) fn named(root: &Json) -> Result<Vec<Shard>, IndexError> {
    let list = root.get("shards").cloned().unwrap_or_default();
    let shards: Vec<Shard> = serde_json::from_value(list)
        .map_err(|e| IndexError::Malformed(format!("/shards: {}", shorten(&e.to_string()))))?;
    let malformed = |at: usize, name: &str, message: String| {
        Err(IndexError::Malformed(format!(
            "/shards/{at}/{name}: {message}"
        )))
    };
    let mut before: Option<&Shard> = None;
    let mut bytes: u64 = 0;
    for (at, shard) in shards.iter().enumerate() {
        if PublisherId::try_from(shard.publisher.as_str()).is_err() {
            let found = shorten(&shard.publisher);
            return malformed(
                at,
                "publisher",
                format!("expected a publisher id, found {found:?}"),
            );
        }
        if let Some(before) = before.filter(|before| before.publisher >= shard.publisher) {
            let message = format!(
                "expected a publisher after {}, found {}: each has one shard, and they are sorted",
                before.publisher, shard.publisher
            );
            return malformed(at, "publisher", message);
        }
        let expected = shard_path(&shard.publisher, &shard.sha256);
        if shard.path != expected {
            let found = shorten(&shard.path);
            return malformed(
                at,
                "path",
                format!("expected {expected:?}, found {found:?}"),
            );
        }
        bytes = bytes.saturating_add(shard.bytes);
        if bytes > INDEX_BYTES {
            let message = format!("expected at most {INDEX_BYTES} bytes in all shards, found more");
            return malformed(at, "bytes", message);
        }
        if ArtifactType::ALL
            .into_iter()
            .all(|kind| shard.count(kind) == 0)
        {
            return malformed(
                at,
                "cartridges",
                "expected a shard that lists something, found none".into(),
            );
        }
        before = Some(shard);
    }
    for (kind, name) in [
        (ArtifactType::Agent, "count"),
        (ArtifactType::Workflow, "workflowCount"),
        (ArtifactType::AgentGraph, "agentGraphCount"),
    ] {
        let expected = root.get(name).and_then(Json::as_u64);
        let found = shards.iter().try_fold(0_u64, |sum, shard| {
            sum.checked_add(u64::try_from(shard.count(kind)).ok()?)
        });
        if expected != found {
            let shown =
                |n: Option<u64>| n.map_or_else(|| "no number".to_owned(), |n| n.to_string());
            return Err(IndexError::Malformed(format!(
                "/{name}: expected {}, what the shards list together, found {}",
                shown(found),
                shown(expected)
            )));
        }
    }
    Ok(shards)
}

/// What the shards of a root hold together.
pub(super) struct Assembled {
    /// The content of the same index in one file; it lacks what is not at hand.
    pub content: Json,
    /// The publishers whose shard is not at hand.
    pub absent: BTreeSet<String>,
    /// All shards are in the form in which they are written, byte for byte.
    pub well_formed: bool,
}

/// Reads the shards of a root, whose signature holds, and holds each against the root.
pub(super) fn assemble(
    root: &Json,
    shards: &[Shard],
    further: Further<'_>,
) -> Result<Assembled, IndexError> {
    let mut lists: [Vec<Json>; ArtifactType::ALL.len()] = Default::default();
    let mut absent = BTreeSet::new();
    let mut well_formed = true;
    for shard in shards {
        let Some(bytes) = shard.fetch(further)? else {
            absent.insert(shard.publisher.clone());
            continue;
        };
        let mut document = strict::parse(&bytes).map_err(|e| shard.wrong(e.to_string()))?;
        well_formed &= pretty(&document).is_ok_and(|text| text == bytes);
        drop(bytes);
        if let Some((at, message)) = REGISTRY_INDEX_SHARD.defect(&document) {
            return Err(shard.wrong(format!("{at}: {message}")));
        }
        let publisher = document.get("publisher").and_then(Json::as_str);
        if publisher != Some(&shard.publisher) {
            let found = shorten(publisher.unwrap_or_default());
            let expected = &shard.publisher;
            return Err(shard.wrong(format!(
                "/publisher: expected {expected:?}, found {found:?}"
            )));
        }
        for (kind, list) in ArtifactType::ALL.into_iter().zip(&mut lists) {
            let found = document.get_mut(array(kind)).map(Json::take);
            let Some(Json::Array(entries)) = found else {
                continue;
            };
            holds(shard, kind, &entries)?;
            list.extend(entries);
        }
    }
    Ok(Assembled {
        content: whole(root, lists),
        absent,
        well_formed,
    })
}

/// The entries of a kind are as many as the root says, the publisher's own, and in the order of an index.
fn holds(shard: &Shard, kind: ArtifactType, entries: &[Json]) -> Result<(), IndexError> {
    let name = array(kind);
    let (expected, found) = (shard.count(kind), entries.len());
    if expected != found {
        return Err(shard.wrong(format!(
            "/{name}: expected {expected} entries, found {found}"
        )));
    }
    let mut before = None;
    for (at, entry) in entries.iter().enumerate() {
        let text = |member: &str| entry.get(member).and_then(Json::as_str).unwrap_or_default();
        let (publisher, path) = (text("publisher"), text("path"));
        let mut parts = path.split('/');
        if publisher != shard.publisher
            || parts.next() != Some(kind.folder())
            || parts.next() != Some(publisher)
        {
            return Err(shard.wrong(format!(
                "/{name}/{at}: expected an entry of {}, found {:?} of {:?}",
                shard.publisher,
                shorten(path),
                shorten(publisher)
            )));
        }
        let version = Version::try_from(text("version")).ok();
        let key = (text("id").to_owned(), Reverse(version));
        if before.is_some_and(|(last, at_path)| last > key || at_path == path) {
            return Err(shard.wrong(format!(
                "/{name}/{at}: expected the entries by id and then version descending, each once, found {:?}",
                shorten(path)
            )));
        }
        before = Some((key, path));
    }
    Ok(())
}

/// The content of an index in one file.
fn whole(root: &Json, lists: [Vec<Json>; ArtifactType::ALL.len()]) -> Json {
    let [cartridges, workflows, agent_graphs] = lists;
    let mut content = Map::new();
    let same = |content: &mut Map<String, Json>, name: &str| {
        if let Some(member) = root.get(name) {
            content.insert(name.to_owned(), member.clone());
        }
    };
    content.insert("schemaVersion".to_owned(), INDEX_VERSION.into());
    for name in ["generatedAt", "artifactCount", "count"] {
        same(&mut content, name);
    }
    content.insert(array(ArtifactType::Agent).to_owned(), cartridges.into());
    same(&mut content, "workflowCount");
    content.insert(array(ArtifactType::Workflow).to_owned(), workflows.into());
    same(&mut content, "agentGraphCount");
    content.insert(
        array(ArtifactType::AgentGraph).to_owned(),
        agent_graphs.into(),
    );
    for name in ["templateCount", "templates"] {
        same(&mut content, name);
    }
    Json::Object(content)
}
