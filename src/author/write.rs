//! A cartridge's rows → the bytes of its file.
//!
//! The database is made in memory, with one page size, tables and rows in one order, and nothing of the clock or the
//! machine in it, so that the same rows give the same bytes.
//!
//! Archive files are stored as they are. The format's compressed form is raw Deflate, the stock `sqlite3 -Ax` wants a
//! zlib stream, and each refuses the other's; a stored file (`sz` = length of `data`) is read by both, byte for byte.

use std::collections::BTreeMap;

use rusqlite::{Connection, params};

use super::embed_dataset::SAVE_FLAG;
use super::skills::SkillRow;
use crate::container::{CapabilityRow, MemoryRow, ObjectRow, SignatureRow};

/// `ACX1`
const APPLICATION_ID: i64 = 0x4143_5831;
/// Format 1.0, vec0 storage format 1, no flags.
const USER_VERSION: i64 = 0x0100_0100;
/// Permission bits of an archive file.
const MODE: i64 = 0o644;

const TABLES: &str = "
CREATE TABLE cartridge (key TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE sqlar (name TEXT PRIMARY KEY, mode INT, mtime INT, sz INT, data BLOB);
CREATE TABLE memory (id TEXT PRIMARY KEY NOT NULL, zone TEXT NOT NULL, artifact_fingerprint TEXT NOT NULL, \
codebase_fingerprint TEXT, payload TEXT NOT NULL, oid TEXT NOT NULL, created_at TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX memory_zone_fp ON memory(zone, artifact_fingerprint);
CREATE TABLE vectors (memory_id TEXT PRIMARY KEY, zone TEXT NOT NULL, embedding BLOB NOT NULL, \
artifact_fingerprint TEXT);
CREATE TABLE objects (oid TEXT PRIMARY KEY NOT NULL, kind TEXT NOT NULL, source_ref TEXT NOT NULL, canon TEXT NOT NULL, \
zone TEXT NOT NULL, sz INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE signatures (sig_id TEXT PRIMARY KEY NOT NULL, target TEXT NOT NULL, manifest_hash TEXT NOT NULL, \
envelope TEXT NOT NULL, keyid TEXT NOT NULL, public_key_pem TEXT, alg TEXT NOT NULL, created_at TEXT NOT NULL) \
WITHOUT ROWID;
CREATE TABLE attestations (att_id TEXT PRIMARY KEY NOT NULL, type TEXT NOT NULL, subject_oid TEXT, \
media_type TEXT NOT NULL, document TEXT NOT NULL, status_url TEXT, created_at TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE acx_skill (sqlar_path TEXT PRIMARY KEY, name TEXT NOT NULL, description TEXT NOT NULL, license TEXT, \
compatibility TEXT, skill_version TEXT, body_tokens INTEGER, content_sha256 TEXT NOT NULL, resources TEXT NOT NULL, \
ext TEXT, schema_version TEXT NOT NULL);
CREATE TABLE capabilities (id TEXT PRIMARY KEY NOT NULL, json TEXT NOT NULL, content_hash TEXT NOT NULL);
";

/// The rows of a cartridge.
pub(super) struct Rows {
    pub meta: BTreeMap<String, String>,
    pub files: BTreeMap<String, Vec<u8>>,
    /// Each with its created_at.
    pub memory: Vec<(MemoryRow, String)>,
    pub objects: Vec<ObjectRow>,
    pub skills: Vec<SkillRow>,
    pub capabilities: Vec<CapabilityRow>,
    /// There is SAVE data.
    pub has_save: bool,
}

/// Writes the file.
pub(super) fn write(rows: &Rows, signature: &SignatureRow) -> rusqlite::Result<Vec<u8>> {
    let mut connection = Connection::open_in_memory()?;
    connection.execute_batch(
        "PRAGMA page_size = 4096; PRAGMA encoding = 'UTF-8'; PRAGMA auto_vacuum = NONE;",
    )?;
    let transaction = connection.transaction()?;
    fill(&transaction, rows, signature)?;
    transaction.commit()?;
    Ok(connection.serialize(rusqlite::MAIN_DB)?.to_vec())
}

fn fill(db: &Connection, rows: &Rows, signature: &SignatureRow) -> rusqlite::Result<()> {
    db.pragma_update(None, "application_id", APPLICATION_ID)?;
    let flags = if rows.has_save { SAVE_FLAG } else { 0 };
    db.pragma_update(None, "user_version", USER_VERSION | flags)?;
    db.execute_batch(TABLES)?;
    for (key, value) in &rows.meta {
        db.execute("INSERT INTO cartridge VALUES (?1, ?2)", params![key, value])?;
    }
    let mut insert = db.prepare("INSERT INTO sqlar VALUES (?1, ?2, 0, ?3, ?4)")?;
    for (name, data) in &rows.files {
        insert.execute(params![name, MODE, data.len() as i64, data])?;
    }
    let mut insert = db.prepare("INSERT INTO memory VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?;
    for (row, created_at) in &rows.memory {
        insert.execute(params![
            row.id,
            row.zone.as_str(),
            row.artifact_fingerprint,
            row.codebase_fingerprint,
            row.payload,
            row.oid,
            created_at
        ])?;
    }
    let mut insert = db.prepare("INSERT INTO objects VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
    for object in &rows.objects {
        insert.execute(params![
            object.oid,
            object.kind,
            object.source_ref,
            object.canon,
            object.zone.as_str(),
            object.sz
        ])?;
    }
    db.execute(
        "INSERT INTO signatures VALUES (?1, 'rom-manifest', ?2, ?3, ?4, ?5, ?6, ?7)",
        params![
            signature.sig_id,
            signature.manifest_hash,
            signature.envelope,
            signature.keyid,
            signature.public_key_pem,
            signature.alg,
            signature.created_at
        ],
    )?;
    for row in &rows.skills {
        db.execute(
            "INSERT INTO acx_skill VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, NULL, ?10)",
            params![
                row.path,
                row.name,
                row.description,
                row.license,
                row.compatibility,
                row.version,
                row.tokens as i64,
                row.content_sha256,
                row.resources,
                row.schema
            ],
        )?;
    }
    for row in &rows.capabilities {
        db.execute(
            "INSERT INTO capabilities VALUES (?1, ?2, ?3)",
            params![row.id, row.json, row.content_hash],
        )?;
    }
    Ok(())
}
