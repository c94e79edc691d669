//! Storing a Lance dataset in a cartridge's SAVE zone, where a host finds it without making it first.

use rusqlite::{Connection, params};

use crate::check::{self, Evidence};
use crate::container::{self, Limits};
use crate::lance::Dataset;
use crate::model::{Digest, Timestamp};
use crate::policy::TrustRegistry;

/// Where the dataset stands in the archive.
pub const PLACE: &str = "save/vectors/memories.lance";
/// Bit 0 of the last byte of user_version: a SAVE zone is present.
pub(super) const SAVE_FLAG: i64 = 1;

/// A cartridge with its dataset inside.
#[derive(Debug)]
pub struct Embedded {
    /// The file's bytes.
    pub bytes: Vec<u8>,
    /// The ROM manifest's hash before.
    pub rom_before: Digest,
    /// The ROM manifest's hash after; equal, or nothing is given.
    pub rom_after: Digest,
}

/// Stores the dataset in the SAVE zone of a cartridge, in place of one that is there.
///
/// # Errors
/// A sentence where the file is no cartridge, SQLite fails, or the signed content would not be what it was.
pub fn embed_dataset(
    bytes: &[u8],
    dataset: &Dataset,
    rows: usize,
    now: &Timestamp,
) -> Result<Embedded, String> {
    let rom_before = manifest(bytes, now)?;
    let bytes =
        store(bytes, dataset, rows).map_err(|e| format!("SQLite cannot store the dataset: {e}"))?;
    let rom_after = manifest(&bytes, now)?;
    if rom_before != rom_after {
        return Err(format!(
            "the ROM hash would change from {rom_before} to {rom_after}; nothing was written"
        ));
    }
    Ok(Embedded {
        bytes,
        rom_before,
        rom_after,
    })
}

/// The hash of the ROM manifest, recomputed from the content.
fn manifest(bytes: &[u8], now: &Timestamp) -> Result<Digest, String> {
    let opened = container::open(bytes, &Limits::default()).map_err(|refusal| refusal.0)?;
    let cartridge = opened.cartridge.ok_or_else(|| {
        let why = opened
            .faults
            .first()
            .map_or_else(String::new, |fault| format!(": {}", fault.message));
        format!("the file cannot be read as a cartridge{why}")
    })?;
    let evidence: Evidence = check::gather(&cartridge, &TrustRegistry::default(), &[], now);
    Ok(evidence.manifest)
}

fn store(bytes: &[u8], dataset: &Dataset, rows: usize) -> rusqlite::Result<Vec<u8>> {
    let mut connection = Connection::open_in_memory()?;
    container::load(&mut connection, bytes, false)?;
    let flags: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let transaction = connection.transaction()?;
    transaction.execute(
        "DELETE FROM sqlar WHERE name GLOB ?1",
        params![format!("{PLACE}/*")],
    )?;
    for (path, data) in &dataset.files {
        // Equal size and length mean "stored" in an archive: Lance's own files gain nothing by another compression.
        transaction.execute(
            "INSERT INTO sqlar (name, mode, mtime, sz, data) VALUES (?1, ?2, 0, ?3, ?4)",
            params![
                format!("{PLACE}/{path}"),
                0o644,
                i64::try_from(data.len()).unwrap_or(i64::MAX),
                data
            ],
        )?;
    }
    for (key, value) in [
        ("acx.lance_present", "true".to_owned()),
        ("acx.lance_path", PLACE.to_owned()),
        ("acx.lance_rows", rows.to_string()),
    ] {
        transaction.execute("DELETE FROM cartridge WHERE key = ?1", params![key])?;
        transaction.execute(
            "INSERT INTO cartridge (key, value) VALUES (?1, ?2)",
            params![key, value],
        )?;
    }
    transaction.pragma_update(None, "user_version", flags | SAVE_FLAG)?;
    transaction.commit()?;
    Ok(connection.serialize(rusqlite::MAIN_DB)?.to_vec())
}
