//! The files that hold an index: one of everything, or a root and a shard for each publisher.
//!
//! A shard is made when it is wanted, hashed or written, and let go, so that the whole text is never in memory.

use std::collections::BTreeMap;
use std::io;

use rayon::prelude::*;
use serde::Serialize;
use serde::ser::Error as _;

use super::index::{Content, pretty, render};
use super::shard::{Further, ROOT_VERSION, SHARD_VERSION, Shard};
use super::sign::{Integrity, Signing, sign_digest};
use super::text;
use crate::attest::PrivateKey;
use crate::discover::shard_path;
use crate::model::{Digest, json};
use crate::project::{CartridgeEntry, DocumentEntry, TemplateEntry};

/// An index's content, laid out in files.
#[derive(Debug)]
pub struct Layout<'a> {
    content: &'a Content,
    /// None where one file holds all.
    sharded: Option<Sharded<'a>>,
}

#[derive(Debug)]
struct Sharded<'a> {
    root: Root<'a>,
    /// What each shard lists, in the order of the root.
    parts: Vec<Part<'a>>,
}

/// Everything of the root but its `integrity`, in the order of its members.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Root<'a> {
    schema_version: &'static str,
    generated_at: &'a str,
    artifact_count: usize,
    count: usize,
    workflow_count: usize,
    agent_graph_count: usize,
    template_count: usize,
    templates: &'a [TemplateEntry],
    shards: Vec<Shard>,
}

/// What an index lists of one publisher.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Part<'a> {
    pub cartridges: &'a [CartridgeEntry],
    pub workflows: &'a [DocumentEntry],
    pub agent_graphs: &'a [DocumentEntry],
}

/// A shard, in the order of its members.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShardText<'a> {
    schema_version: &'static str,
    publisher: &'a str,
    cartridges: &'a [CartridgeEntry],
    workflows: &'a [DocumentEntry],
    agent_graphs: &'a [DocumentEntry],
}

impl<'a> Layout<'a> {
    /// Lays a content out, whose lists are sorted by publisher.
    ///
    /// # Errors
    /// Where a list is not.
    pub fn new(content: &'a Content, shards: bool) -> Result<Self, serde_json::Error> {
        let sharded = shards.then(|| Sharded::of(content)).transpose()?;
        Ok(Self { content, sharded })
    }

    /// SHA-256 of what is signed: the canonical content, or that of the root.
    pub fn digest(&self) -> Digest {
        match &self.sharded {
            Some(sharded) => Digest::of(&json::canonical_of(&sharded.root)),
            None => self.content.digest(),
        }
    }

    /// Signs the content.
    pub fn sign(&self, signing: &Signing, key: &PrivateKey) -> Integrity {
        sign_digest(self.digest(), self.content.counts(), signing, key)
    }

    /// Gives the bytes of `index.json`, piece by piece.
    ///
    /// # Errors
    /// What `each` fails with.
    pub fn write(
        &self,
        integrity: &Integrity,
        each: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        match &self.sharded {
            Some(sharded) => each(&render(&sharded.root, integrity)?),
            None => {
                text::content(self.content, each)?;
                text::integrity(integrity, each)
            }
        }
    }

    /// Whether a file is the `index.json` of this content with this signature.
    pub fn is(&self, integrity: &Integrity, mut file: impl io::BufRead) -> bool {
        let compared = self.write(integrity, &mut |mut piece| {
            while !piece.is_empty() {
                let found = file.fill_buf()?;
                let (now, later) = piece.split_at(piece.len().min(found.len()));
                if now.is_empty() || !found.starts_with(now) {
                    return Err(io::ErrorKind::InvalidData.into());
                }
                file.consume(now.len());
                piece = later;
            }
            Ok(())
        });
        compared.is_ok() && file.fill_buf().is_ok_and(<[u8]>::is_empty)
    }

    /// What an `index.json` of one file in this form lists otherwise than this content: paths that are new here, paths of
    /// other entries, and paths that are gone. `None` where the file is of another form.
    pub fn changes(&self, file: &[u8]) -> Option<[Vec<String>; 3]> {
        match &self.sharded {
            Some(_) => None,
            None => {
                let content = self.content;
                let part = Part {
                    cartridges: &content.cartridges,
                    workflows: &content.workflows,
                    agent_graphs: &content.agent_graphs,
                };
                text::changes(part, file)
            }
        }
    }

    /// As [`Layout::changes`], of a root that names these shards, which `further` gives; only those that are others here
    /// are read. `None` where the content has no shards, or one is not at hand.
    pub fn changes_of_shards(
        &self,
        before: &[Shard],
        further: Further<'_>,
    ) -> Option<[Vec<String>; 3]> {
        let sharded = self.sharded.as_ref()?;
        let named = before.iter().map(|shard| (shard.publisher.as_str(), shard));
        let mut before: BTreeMap<&str, &Shard> = named.collect();
        let mut all: [Vec<String>; 3] = Default::default();
        let mut compare = |part: Part<'_>, old: Option<&Shard>| {
            let text = match old {
                Some(old) => old.fetch(further).ok()??,
                None => Part::default().text("").ok()?,
            };
            for (all, some) in all.iter_mut().zip(text::changes(part, &text)?) {
                all.extend(some);
            }
            Some(())
        };
        for (shard, part) in sharded.root.shards.iter().zip(&sharded.parts) {
            let old = before.remove(shard.publisher.as_str());
            if old.is_none_or(|old| old.sha256 != shard.sha256) {
                compare(*part, old)?;
            }
        }
        for old in before.into_values() {
            compare(Part::default(), Some(old))?;
        }
        all.iter_mut().for_each(|paths| paths.sort_unstable());
        Some(all)
    }

    /// Whether it is a root with shards.
    pub fn has_shards(&self) -> bool {
        self.sharded.is_some()
    }

    /// The shards that the root names, by publisher; none where one file holds all.
    pub fn shards(&self) -> &[Shard] {
        let root = self.sharded.as_ref().map(|sharded| &sharded.root);
        root.map_or(&[], |root| &root.shards)
    }

    /// The bytes of the shard at this place among [`Layout::shards`].
    ///
    /// # Errors
    /// Where there is none.
    pub fn shard(&self, at: usize) -> Result<Vec<u8>, serde_json::Error> {
        let sharded = self.sharded.as_ref();
        match sharded.and_then(|s| Some((s.root.shards.get(at)?, s.parts.get(at)?))) {
            Some((shard, part)) => part.text(&shard.publisher),
            None => Err(serde_json::Error::custom("there is no such shard")),
        }
    }
}

impl<'a> Sharded<'a> {
    fn of(content: &'a Content) -> Result<Self, serde_json::Error> {
        let mut parts: BTreeMap<&str, Part<'a>> = BTreeMap::new();
        for some in content
            .cartridges
            .chunk_by(|a, b| a.publisher == b.publisher)
        {
            if let Some(first) = some.first() {
                parts.entry(&first.publisher).or_default().cartridges = some;
            }
        }
        for some in content
            .workflows
            .chunk_by(|a, b| a.publisher == b.publisher)
        {
            if let Some(first) = some.first() {
                parts.entry(&first.publisher).or_default().workflows = some;
            }
        }
        for some in content
            .agent_graphs
            .chunk_by(|a, b| a.publisher == b.publisher)
        {
            if let Some(first) = some.first() {
                parts.entry(&first.publisher).or_default().agent_graphs = some;
            }
        }
        if parts.values().map(Part::len).sum::<usize>() != content.heads().count() {
            let message = "a list of the index is not sorted by publisher";
            return Err(serde_json::Error::custom(message));
        }
        let shards = parts.par_iter().map(|(publisher, part)| {
            let text = part.text(publisher)?;
            let sha256 = Digest::of(&text);
            Ok(Shard {
                publisher: (*publisher).to_owned(),
                path: shard_path(publisher, &sha256),
                sha256,
                bytes: text.len() as u64,
                cartridges: part.cartridges.len(),
                workflows: part.workflows.len(),
                agent_graphs: part.agent_graphs.len(),
            })
        });
        let shards = shards.collect::<Result<_, serde_json::Error>>()?;
        Ok(Self {
            root: Root {
                schema_version: ROOT_VERSION,
                generated_at: &content.generated_at,
                artifact_count: content.artifact_count,
                count: content.count,
                workflow_count: content.workflow_count,
                agent_graph_count: content.agent_graph_count,
                template_count: content.template_count,
                templates: &content.templates,
                shards,
            },
            parts: parts.into_values().collect(),
        })
    }
}

impl Part<'_> {
    fn len(&self) -> usize {
        self.cartridges.len() + self.workflows.len() + self.agent_graphs.len()
    }

    fn text(&self, publisher: &str) -> Result<Vec<u8>, serde_json::Error> {
        pretty(&ShardText {
            schema_version: SHARD_VERSION,
            publisher,
            cartridges: self.cartridges,
            workflows: self.workflows,
            agent_graphs: self.agent_graphs,
        })
    }
}
