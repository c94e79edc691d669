//! The bytes of one `.acx` file → a [`Cartridge`]: owned, typed and bounded data.
//!
//! Everything that a hostile file could do to a reader is met here. No SQLite handle leaves this module, and nothing
//! past it needs to know that the data came from a database.

mod fault;
mod inflate;
mod limits;
mod open;
mod rows;
mod schema;

pub use fault::{Fault, FaultKind};
pub use limits::Limits;
pub use open::{Opened, Refusal, open};
pub(crate) use open::{is_lfs_pointer, load};

use std::collections::BTreeMap;

use crate::model::Digest;

/// Which part of a cartridge something belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Zone {
    /// Signed and immutable.
    Rom,
    /// What one installation learned.
    Save,
}

impl Zone {
    /// The zone's name in the tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rom => "rom",
            Self::Save => "save",
        }
    }

    pub(crate) fn of_text(text: &str) -> Option<Self> {
        match text {
            "rom" => Some(Self::Rom),
            "save" => Some(Self::Save),
            _ => None,
        }
    }
}

/// One file of the archive, inflated.
#[derive(Debug, Clone)]
pub struct ArchiveFile {
    /// The archive name as stored: text, but not yet of a safe form.
    pub name: String,
    /// The uncompressed bytes.
    pub data: Vec<u8>,
    /// SHA-256 of the uncompressed bytes.
    pub digest: Digest,
}

impl ArchiveFile {
    /// The zone that the name's first segment spells, if it spells one.
    pub fn zone(&self) -> Option<Zone> {
        self.name
            .split_once('/')
            .and_then(|(zone, _)| Zone::of_text(zone))
    }
}

/// One row of `memory`.
#[derive(Debug, Clone)]
pub struct MemoryRow {
    /// The row's key.
    pub id: String,
    /// The zone column.
    pub zone: Zone,
    /// The artifact_fingerprint column.
    pub artifact_fingerprint: String,
    /// The codebase_fingerprint column.
    pub codebase_fingerprint: Option<String>,
    /// The record as stored.
    pub payload: String,
    /// The oid column.
    pub oid: String,
}

/// One row of `objects`.
#[derive(Debug, Clone)]
pub struct ObjectRow {
    /// The oid as stored.
    pub oid: String,
    /// sqlar, memory, cartridge, skill or attestation.
    pub kind: String,
    /// What the object is of.
    pub source_ref: String,
    /// raw or jcs-rfc8785.
    pub canon: String,
    /// The zone column.
    pub zone: Zone,
    /// The size column.
    pub sz: i64,
}

/// One row of `signatures` with target `rom-manifest`.
#[derive(Debug, Clone)]
pub struct SignatureRow {
    /// The row's key.
    pub sig_id: String,
    /// The recorded manifest hash.
    pub manifest_hash: String,
    /// The DSSE envelope as stored.
    pub envelope: String,
    /// The recorded keyid.
    pub keyid: String,
    /// The public key, SPKI PEM.
    pub public_key_pem: Option<String>,
    /// The recorded algorithm.
    pub alg: String,
    /// When it was made.
    pub created_at: String,
}

/// One row of `attestations`.
#[derive(Debug, Clone)]
pub struct AttestationRow {
    /// The row's key.
    pub att_id: String,
    /// `vc-2.0` is a level credential.
    pub kind: String,
    /// The credential as stored.
    pub document: String,
}

/// One row of `acx_skill`, the derived index of SKILL.md files.
#[derive(Debug, Clone)]
pub struct SkillRow {
    /// The SKILL.md's archive name.
    pub path: String,
    /// Bare hex SHA-256 of that file, as stored.
    pub content_sha256: String,
    /// The skill's name, where the row has one.
    pub name: Option<String>,
    /// What the skill is for, where the row says it.
    pub description: Option<String>,
}

/// One row of `capabilities`.
#[derive(Debug, Clone)]
pub struct CapabilityRow {
    /// The row's key.
    pub id: String,
    /// The record as stored.
    pub json: String,
    /// The recorded digest of the record's canonical form.
    pub content_hash: String,
}

/// How many vector rows there are; vectors are derived and never read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VectorCounts {
    /// Rows of an ordinary table in the ROM zone.
    pub rom: u64,
    /// Rows of an ordinary table outside the ROM zone.
    pub save: u64,
    /// Rows in the shadow tables of a `vec0` virtual table, whose zone cannot be told without its module.
    pub opaque: u64,
}

/// A cartridge's content. Each list is sorted by its key, and no key is there twice.
#[derive(Debug, Clone)]
pub struct Cartridge {
    /// Length of the file in bytes.
    pub bytes: u64,
    /// SHA-256 of the file.
    pub sha256: Digest,
    /// The `cartridge` table.
    pub meta: BTreeMap<String, String>,
    /// The `sqlar` table, by name.
    pub files: Vec<ArchiveFile>,
    /// The `memory` table, by id.
    pub memory: Vec<MemoryRow>,
    /// The `objects` table, by (kind, source_ref, oid) in code point order.
    pub objects: Vec<ObjectRow>,
    /// The `signatures` rows with target `rom-manifest`, by sig_id.
    pub signatures: Vec<SignatureRow>,
    /// The `attestations` table, by att_id.
    pub attestations: Vec<AttestationRow>,
    /// The `acx_skill` table, by path.
    pub skills: Vec<SkillRow>,
    /// The `capabilities` table, by id.
    pub capabilities: Vec<CapabilityRow>,
    /// The `vectors` table, counted.
    pub vectors: VectorCounts,
}

impl Cartridge {
    /// The archive file of this name.
    pub fn file(&self, name: &str) -> Option<&ArchiveFile> {
        self.files
            .binary_search_by(|f| f.name.as_str().cmp(name))
            .ok()
            .and_then(|at| self.files.get(at))
    }

    /// The memory row of this id.
    pub fn memory_row(&self, id: &str) -> Option<&MemoryRow> {
        self.memory
            .binary_search_by(|m| m.id.as_str().cmp(id))
            .ok()
            .and_then(|at| self.memory.get(at))
    }

    /// The capability row of this id.
    pub fn capability(&self, id: &str) -> Option<&CapabilityRow> {
        self.capabilities
            .binary_search_by(|c| c.id.as_str().cmp(id))
            .ok()
            .and_then(|at| self.capabilities.get(at))
    }

    /// A metadata value; `acx.` stands before every key.
    pub fn meta(&self, key: &str) -> Option<&str> {
        self.meta.get(key).map(String::as_str)
    }
}
