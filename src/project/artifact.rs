//! What the entries of all three kinds have in common, so that whatever is true of all is said once.

use super::{CartridgeEntry, DocumentEntry, Projected, RegistryStatus};
use crate::document;
use crate::model::{ArtifactType, Digest, KeyId, Timestamp, Trust};

/// What every entry has.
#[derive(Debug, Clone, Copy)]
pub struct Head<'a> {
    /// The path in the registry.
    pub path: &'a str,
    /// The publisher.
    pub publisher: &'a str,
    /// The id.
    pub id: &'a str,
    /// The version.
    pub version: &'a str,
    /// portable or trusted.
    pub trust: Trust,
    /// The signed digest.
    pub digest: Digest,
    /// The signer's key.
    pub keyid: &'a KeyId,
    /// What the status ledger says.
    pub registry_status: &'a RegistryStatus,
}

/// An entry of the index, of whatever kind.
pub trait IndexEntry {
    /// What every entry has.
    fn head(&self) -> Head<'_>;
    /// Puts the ledger's word in.
    fn set_status(&mut self, status: RegistryStatus);
    /// Makes it the version to take unless another is asked for.
    fn set_latest(&mut self);
}

macro_rules! index_entry {
    ($type:ty) => {
        impl IndexEntry for $type {
            fn head(&self) -> Head<'_> {
                Head {
                    path: &self.path,
                    publisher: &self.publisher,
                    id: &self.id,
                    version: &self.version,
                    trust: self.trust,
                    digest: self.digest,
                    keyid: &self.keyid,
                    registry_status: &self.registry_status,
                }
            }
            fn set_status(&mut self, status: RegistryStatus) {
                self.registry_status = status;
            }
            fn set_latest(&mut self) {
                self.latest = true;
            }
        }
    };
}

index_entry!(CartridgeEntry);
index_entry!(DocumentEntry);

/// An artifact that was admitted, as the index will show it.
#[derive(Debug, Clone)]
pub enum Artifact {
    /// A cartridge.
    Cartridge(Box<Projected>),
    /// A workflow.
    Workflow(Box<DocumentEntry>),
    /// An Agent Graph, whose dependencies are not resolved yet.
    AgentGraph(Box<DocumentEntry>),
}

impl Artifact {
    /// The artifact that a document is.
    pub fn of_document(kind: document::Kind, entry: DocumentEntry) -> Self {
        match kind {
            document::Kind::Workflow => Self::Workflow(Box::new(entry)),
            document::Kind::AgentGraph => Self::AgentGraph(Box::new(entry)),
        }
    }

    /// Its kind.
    pub fn kind(&self) -> ArtifactType {
        match self {
            Self::Cartridge(_) => ArtifactType::Agent,
            Self::Workflow(_) => ArtifactType::Workflow,
            Self::AgentGraph(_) => ArtifactType::AgentGraph,
        }
    }

    /// What every entry has.
    pub fn head(&self) -> Head<'_> {
        match self {
            Self::Cartridge(projected) => projected.entry.head(),
            Self::Workflow(entry) | Self::AgentGraph(entry) => entry.head(),
        }
    }

    /// When it was made, as far as its publisher says.
    pub fn made_at(&self) -> &Timestamp {
        match self {
            Self::Cartridge(projected) => &projected.made_at,
            Self::Workflow(entry) | Self::AgentGraph(entry) => &entry.signed_at,
        }
    }
}

/// The entries of an index by kind, each list by publisher, id, then version descending.
#[derive(Debug, Clone, Default)]
pub struct Entries {
    /// Cartridges.
    pub cartridges: Vec<CartridgeEntry>,
    /// Workflows.
    pub workflows: Vec<DocumentEntry>,
    /// Agent Graphs.
    pub agent_graphs: Vec<DocumentEntry>,
}

impl Entries {
    /// Makes room for so many cartridges.
    pub fn reserve(&mut self, cartridges: usize) {
        self.cartridges.reserve_exact(cartridges);
    }

    /// Puts an artifact at the end of its kind's list.
    pub fn push(&mut self, artifact: Artifact) {
        match artifact {
            Artifact::Cartridge(projected) => self.cartridges.push(projected.entry),
            Artifact::Workflow(entry) => self.workflows.push(*entry),
            Artifact::AgentGraph(entry) => self.agent_graphs.push(*entry),
        }
    }

    /// What all entries have, by kind.
    pub fn heads(&self) -> impl Iterator<Item = (ArtifactType, Head<'_>)> {
        heads(&self.cartridges, &self.workflows, &self.agent_graphs)
    }
}

/// What the entries of three lists have, with their kinds.
pub(crate) fn heads<'a>(
    cartridges: &'a [CartridgeEntry],
    workflows: &'a [DocumentEntry],
    agent_graphs: &'a [DocumentEntry],
) -> impl Iterator<Item = (ArtifactType, Head<'a>)> {
    let documents = |kind, list: &'a [DocumentEntry]| list.iter().map(move |e| (kind, e.head()));
    cartridges
        .iter()
        .map(|entry| (ArtifactType::Agent, entry.head()))
        .chain(documents(ArtifactType::Workflow, workflows))
        .chain(documents(ArtifactType::AgentGraph, agent_graphs))
}
