//! Stripping a cartridge to its ROM: everything that one installation learned goes, and what was signed is shown to be
//! what it was.
//!
//! The proof is an equality: the hash that the publisher signed, and the hash of the manifest as the stripped file's
//! content gives it anew. Only where they are equal, and the signature verifies in the stripped file, is there one.

use rusqlite::{Connection, params};

use super::embed_dataset::{PLACE, SAVE_FLAG};
use crate::check::{self, Evidence};
use crate::container::{self, Cartridge, Limits};
use crate::model::{Digest, Timestamp, Trust};
use crate::policy::TrustRegistry;

/// What stripping gave.
#[derive(Debug)]
pub struct Stripped {
    /// The hash that was signed; where nothing could be read out of a signature, the recorded one or the recomputed.
    pub before: Digest,
    /// The hash of the manifest, recomputed from the stripped content.
    pub after: Digest,
    /// The stripped file, or why there is none.
    pub bytes: Result<Vec<u8>, String>,
    /// What went.
    pub removed: Removed,
}

/// How many rows of each table went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Removed {
    /// Memory records.
    pub memory: usize,
    /// Archive files.
    pub files: usize,
    /// Vectors; all of them where their zone cannot be told.
    pub vectors: usize,
    /// Objects.
    pub objects: usize,
}

/// Strips the bytes of a cartridge.
///
/// # Errors
/// A sentence where the file cannot be read as a cartridge, or SQLite fails.
pub fn strip(bytes: &[u8], now: &Timestamp) -> Result<Stripped, String> {
    // The schema is the format's own from here on: no trigger or view that a DELETE would run.
    let (cartridge, evidence) = read(bytes, now)?;
    let before = signed_hash(&cartridge, &evidence);
    let (stripped, removed) =
        without_save(bytes).map_err(|e| format!("SQLite cannot strip the cartridge: {e}"))?;
    let (cartridge, evidence) = read(&stripped, now)?;
    let (after, equal) = check::live_manifest(&cartridge, Some(&before));
    let verified = evidence
        .signed
        .as_ref()
        .is_some_and(|signed| signed.manifest == before);
    let bytes = if evidence.trust == Trust::Tampered || !verified {
        Err(evidence.summary)
    } else if !equal {
        Err("ROM content diverges from signed manifest".to_owned())
    } else {
        Ok(stripped)
    };
    Ok(Stripped {
        before,
        after,
        bytes,
        removed,
    })
}

fn read(bytes: &[u8], now: &Timestamp) -> Result<(Cartridge, Evidence), String> {
    let opened = container::open(bytes, &Limits::default()).map_err(|refusal| refusal.0)?;
    let cartridge = opened.cartridge.ok_or_else(|| {
        let why = opened
            .faults
            .first()
            .map_or_else(String::new, |fault| format!(": {}", fault.message));
        format!("the file cannot be read as a cartridge{why}")
    })?;
    let evidence = check::gather(&cartridge, &TrustRegistry::default(), &[], now);
    Ok((cartridge, evidence))
}

fn signed_hash(cartridge: &Cartridge, evidence: &Evidence) -> Digest {
    let recorded = || {
        let row = cartridge
            .signatures
            .last()
            .map(|row| row.manifest_hash.as_str());
        Digest::try_from(row.or_else(|| cartridge.meta("acx.rom_manifest_hash"))?).ok()
    };
    evidence
        .signed
        .as_ref()
        .map(|signed| signed.manifest)
        .or_else(recorded)
        .unwrap_or(evidence.manifest)
}

fn without_save(bytes: &[u8]) -> rusqlite::Result<(Vec<u8>, Removed)> {
    let mut connection = Connection::open_in_memory()?;
    container::load(&mut connection, bytes, false)?;
    // VACUUM copies everything once: nothing of it may reach the disk.
    connection.execute_batch("PRAGMA temp_store = MEMORY;")?;
    let flags: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let db = connection.transaction()?;
    let mut removed = Removed {
        memory: db.execute("DELETE FROM memory WHERE zone = 'save'", [])?,
        files: db.execute("DELETE FROM sqlar WHERE name GLOB 'save/*'", [])?,
        vectors: 0,
        objects: db.execute("DELETE FROM objects WHERE zone = 'save'", [])?,
    };
    removed.vectors = remove_vectors(&db)?;
    // A row about a skill that is gone would point at nothing, which no reader accepts.
    let by_path: i64 = db.query_row(
        "SELECT count(*) FROM pragma_table_info('acx_skill') WHERE name = 'sqlar_path'",
        [],
        |row| row.get(0),
    )?;
    let key = if by_path == 1 { "sqlar_path" } else { "name" };
    db.execute(
        &format!("DELETE FROM acx_skill WHERE {key} GLOB 'save/*'"),
        [],
    )?;
    // ANALYZE keeps samples of what was in the tables.
    for name in names(&db, "sqlite_stat[1-4]")? {
        db.execute(&format!("DELETE FROM {name}"), [])?;
    }
    db.execute(
        "DELETE FROM cartridge WHERE key = 'acx.save_codebase_fingerprint'",
        [],
    )?;
    // The dataset that these were about is gone.
    db.execute(
        "DELETE FROM cartridge WHERE key IN ('acx.lance_path', 'acx.lance_rows', 'acx.lance_present') \
         AND EXISTS (SELECT 1 FROM cartridge WHERE key = 'acx.lance_path' AND value = ?1)",
        params![PLACE],
    )?;
    db.pragma_update(None, "user_version", flags & !SAVE_FLAG)?;
    db.commit()?;
    connection.execute_batch("VACUUM")?;
    Ok((connection.serialize(rusqlite::MAIN_DB)?.to_vec(), removed))
}

/// Removes the vectors of the SAVE zone. Those of a virtual table lie in its shadow tables, without their zone; they
/// are derived, and a host makes them anew, so all of them go.
fn remove_vectors(db: &Connection) -> rusqlite::Result<usize> {
    let shadows = names(db, "vectors_*")?;
    if shadows.is_empty() {
        return db.execute("DELETE FROM vectors WHERE zone = 'save'", []);
    }
    let mut rows = 0;
    // `vectors_info` describes the others.
    for name in shadows.iter().filter(|name| *name != "vectors_info") {
        let removed = db.execute(&format!("DELETE FROM {name}"), [])?;
        if name == "vectors_rowids" {
            rows = removed;
        }
    }
    Ok(rows)
}

/// The tables whose names are like this. Which there may be was checked when the file was read; all of them are plain
/// words.
fn names(db: &Connection, like: &str) -> rusqlite::Result<Vec<String>> {
    let mut names: Vec<String> = db
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB ?1")?
        .query_map([like], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
    names.retain(|name| name.bytes().all(plain));
    Ok(names)
}
