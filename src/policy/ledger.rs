//! `status.json`, the lifecycle ledger: what the registry says of versions that it can no longer change.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::{
    ArtifactId, ArtifactType, Digest, DocumentId, PublisherScope, Timestamp, Version,
};
use crate::schema::REGISTRY_STATUS;

use super::{ConfigError, Members, bounded, conforms, parsed};

const FILE: &str = "status.json";

/// What the registry says of an artifact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Lifecycle {
    /// Nothing: the ledger has no entry.
    Active,
    /// Still there, discouraged.
    Deprecated,
    /// Advised against; its file may be deleted.
    Withdrawn,
    /// Another artifact takes its place.
    Superseded,
}

impl Lifecycle {
    /// The status as the ledger and the index write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Deprecated => "deprecated",
            Self::Withdrawn => "withdrawn",
            Self::Superseded => "superseded",
        }
    }
}

/// An artifact as the ledger names it. Serializes under the ledger's own names.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct LedgerRef {
    /// The kind of artifact.
    #[serde(rename = "artifactType")]
    pub artifact_type: ArtifactType,
    /// Who publishes it.
    #[serde(rename = "publisherId")]
    pub publisher: PublisherScope,
    /// Its id; of a cartridge an [`ArtifactId`] too.
    pub id: DocumentId,
    /// Its version.
    pub version: Version,
    /// The digest of its content.
    pub digest: Digest,
}

impl LedgerRef {
    /// What tells two artifacts apart; the digest follows from it.
    fn identity(&self) -> (ArtifactType, &str, &str, &str) {
        (
            self.artifact_type,
            self.publisher.as_str(),
            self.id.as_str(),
            self.version.as_str(),
        )
    }
}

/// The registry's word on one artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerEntry {
    /// The artifact.
    pub artifact: LedgerRef,
    /// Its status, never [`Lifecycle::Active`].
    pub status: Lifecycle,
    /// Why, 10 to 1000 characters.
    pub reason: String,
    /// When it was recorded.
    pub recorded_at: Timestamp,
    /// What takes its place: of the same type, at another coordinate. Always there where superseded.
    pub successor: Option<LedgerRef>,
    /// An https URL with more.
    pub advisory: Option<String>,
}

/// The ledger, valid. The default has no entries.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatusLedger {
    /// When the ledger last changed; `None` where there is no ledger.
    pub updated_at: Option<Timestamp>,
    /// The entries, sorted by type, publisher, id and version as text; [`StatusLedger::entry`] relies on it.
    pub entries: Vec<LedgerEntry>,
}

impl StatusLedger {
    /// Bytes a ledger may have.
    pub const MAX_BYTES: usize = 8 << 20;

    /// Reads a ledger.
    ///
    /// # Errors
    /// [`ConfigError`] with the first field that is not as it must be.
    pub fn parse(bytes: &[u8]) -> Result<Self, ConfigError> {
        bounded(FILE, bytes.len(), Self::MAX_BYTES)?;
        let document = parsed(FILE, bytes)?;
        conforms(FILE, &REGISTRY_STATUS, &document)?;
        let top = Members {
            file: FILE,
            at: String::new(),
            object: &document,
        };
        let mut entries = Vec::new();
        for members in top.objects("entries") {
            entries.push((members.at.clone(), entry(&members)?));
        }
        let mut places = BTreeMap::new();
        for (at, entry) in &entries {
            if let Some(first) = places.insert(entry.artifact.identity(), at) {
                let message = format!(
                    "expected one entry for an artifact, found another for {}/{}@{} at {first}; keep one of the two",
                    entry.artifact.publisher, entry.artifact.id, entry.artifact.version
                );
                return Err(ConfigError::new(FILE, format!("{at}/artifact"), message));
            }
        }
        let mut entries: Vec<LedgerEntry> = entries.into_iter().map(|(_, entry)| entry).collect();
        entries.sort_by(|a, b| a.artifact.identity().cmp(&b.artifact.identity()));
        Ok(Self {
            updated_at: Some(top.required("updatedAt")?),
            entries,
        })
    }

    /// The entry for an artifact, found by its identity alone: whether its digest is the artifact's is for the caller
    /// to compare.
    pub fn entry(
        &self,
        artifact_type: ArtifactType,
        publisher: &str,
        id: &str,
        version: &str,
    ) -> Option<&LedgerEntry> {
        let wanted = (artifact_type, publisher, id, version);
        let found = self
            .entries
            .binary_search_by(|e| e.artifact.identity().cmp(&wanted));
        found.ok().and_then(|place| self.entries.get(place))
    }
}

fn entry(members: &Members<'_>) -> Result<LedgerEntry, ConfigError> {
    let missing = |name| members.refuse(name, "the field is missing; add it");
    let artifact = members
        .object("artifact")
        .ok_or_else(|| missing("artifact"))?;
    let artifact = reference(&artifact)?;
    let status: Lifecycle = members.named("status")?.ok_or_else(|| missing("status"))?;
    let reason = members.text("reason").ok_or_else(|| missing("reason"))?;
    if reason.trim().chars().count() < 10 {
        return Err(members.refuse(
            "reason",
            format!("expected 10 to 1000 characters beside white space, found {reason:?}; say why"),
        ));
    }
    let recorded_at = members.required("recordedAt")?;
    let successor = match members.object("successor") {
        Some(fields) => {
            let successor = reference(&fields)?;
            if successor.artifact_type != artifact.artifact_type {
                return Err(fields.refuse(
                    "artifactType",
                    "expected a successor of the artifact's own type, found another; name one of the same type",
                ));
            }
            if successor.identity() == artifact.identity() {
                return Err(members.refuse(
                    "successor",
                    "expected another coordinate, found the artifact itself; name the version that takes its place",
                ));
            }
            Some(successor)
        }
        None => None,
    };
    Ok(LedgerEntry {
        artifact,
        status,
        reason: reason.to_owned(),
        recorded_at,
        successor,
        advisory: members.text("advisory").map(str::to_owned),
    })
}

fn reference(members: &Members<'_>) -> Result<LedgerRef, ConfigError> {
    let artifact_type = members
        .named("artifactType")?
        .ok_or_else(|| members.refuse("artifactType", "the field is missing; add it"))?;
    if artifact_type == ArtifactType::Agent {
        members.required::<ArtifactId>("id")?;
    }
    Ok(LedgerRef {
        artifact_type,
        publisher: members.required("publisherId")?,
        id: members.required("id")?,
        version: members.required("version")?,
        digest: members.required("digest")?,
    })
}
