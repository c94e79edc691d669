//! The Lance datasets of a registry: one beside each cartridge with memory, and, where the policy asks for it, one of
//! all rows at the root. Derived from admitted cartridges alone, so a dataset that anyone changed is made again.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema};
use rayon::prelude::*;

use super::RunError;
use super::judge::{Stage, Stale};
use super::output::Output;
use crate::container::Cartridge;
use crate::discover::{Entry, REGISTRY_DATASET, sidecar_path};
use crate::lance::{self, Dataset};
use crate::model::{Digest, Timestamp, json};
use crate::project::{CartridgeEntry, Memories, MemoryRecord, embed, memories};
use crate::verdict::Admitted;

/// The name and version of its schema.
const REGISTRY_SCHEMA: &str = "acx.registry-memory/1";

/// What a cartridge's memory becomes.
pub(crate) enum Derived {
    /// There is none.
    NoMemory,
    /// It is by an engine that is not this program's; which.
    OtherEngine(String),
    /// Rows and their dataset.
    Dataset {
        /// The rows, by id.
        records: Vec<MemoryRecord>,
        /// The dataset's files.
        dataset: Dataset,
    },
}

/// Derives the dataset of an admitted cartridge.
///
/// # Errors
/// A sentence where the rows are more than one dataset can hold.
pub(crate) fn derive(admitted: &Admitted) -> Result<Derived, String> {
    let engine = admitted.documents().embedding_engine();
    derive_from(admitted.cartridge(), engine.map(|e| (e.id, e.dim)))
}

/// As [`derive`], from a cartridge that is on its owner's machine and never enters a registry.
///
/// # Errors
/// As [`derive`], and for a record that has no row.
pub(crate) fn derive_from(
    cartridge: &Cartridge,
    engine: Option<(String, u32)>,
) -> Result<Derived, String> {
    if cartridge.memory.is_empty() {
        return Ok(Derived::NoMemory);
    }
    match engine {
        Some((id, dim)) if id == embed::ENGINE && dim as usize == embed::DIM => {}
        Some((id, dim)) => return Ok(Derived::OtherEngine(format!("{id} with {dim} dimensions"))),
        None => return Ok(Derived::OtherEngine("none".to_owned())),
    }
    let mut records = Vec::with_capacity(cartridge.memory.len());
    for row in &cartridge.memory {
        let payload =
            json::parse(row.payload.as_bytes()).map_err(|e| format!("memory {}: {e}", row.id))?;
        records
            .push(MemoryRecord::of_json(&payload).map_err(|e| format!("memory {}: {e}", row.id))?);
    }
    let made = cartridge.meta("acx.created_at").unwrap_or_default();
    let made = Timestamp::try_from(made).map_err(|e| format!("acx.created_at: {e}"))?;
    let batch = memories::record_batch(&records).map_err(|e| e.to_string())?;
    let dataset = lance::dataset(&batch, &made).map_err(|e| e.to_string())?;
    Ok(Derived::Dataset { records, dataset })
}

/// What the index says of a dataset.
pub(super) fn memories_entry(cartridge: &str, rows: usize, dataset: &Dataset) -> Memories {
    Memories {
        path: sidecar_path(cartridge),
        rows: rows as u64,
        schema: memories::SCHEMA.to_owned(),
        engine: embed::ENGINE.to_owned(),
        digest: dataset.digest(),
    }
}

/// A cartridge whose dataset the registry lacks: its entry, its file, what there is.
pub(super) type Lacking<'a> = (&'a CartridgeEntry, &'a Entry, Stale);

/// Puts the datasets of these cartridges in their places. One that was not written yet is derived again, from a file that
/// must still be the one that was admitted. Gives the paths that were written.
pub(super) fn write_all(
    stage: &Stage<'_>,
    output: &Output<'_>,
    lacking: Vec<Lacking<'_>>,
) -> Result<Vec<String>, RunError> {
    let written: Vec<Option<String>> = lacking
        .into_par_iter()
        .map(|(entry, file, stale)| {
            let path = sidecar_path(&entry.path);
            match stale {
                Stale::Written(prepared) => output.finish(prepared)?,
                Stale::Failed(error) => return Err(error),
                Stale::Known => match derive_again(stage, entry, file)? {
                    Derived::Dataset { dataset, .. } => {
                        if !output.put(&path, &dataset)? {
                            return Ok(None);
                        }
                    }
                    _ => return Err(changed(&entry.path)),
                },
            }
            Ok(Some(path))
        })
        .collect::<Result<_, RunError>>()?;
    Ok(written.into_iter().flatten().collect())
}

fn changed(path: &str) -> RunError {
    RunError::new(format!(
        "{path}: the file changed during the run; run the build again"
    ))
}

fn derive_again(
    stage: &Stage<'_>,
    entry: &CartridgeEntry,
    file: &Entry,
) -> Result<Derived, RunError> {
    let admitted = stage
        .admit(file)
        .map_err(RunError::new)?
        .filter(|admitted| admitted.cartridge().sha256 == entry.sha256)
        .ok_or_else(|| changed(&entry.path))?;
    derive(&admitted).map_err(|e| RunError::new(format!("{}: {e}", entry.path)))
}

/// The dataset of all rows, by coordinate as in the index, then by id; `None` where there are none.
pub(super) fn registry_dataset(
    stage: &Stage<'_>,
    entries: &[CartridgeEntry],
    files: &BTreeMap<&str, &Entry>,
    made: &Timestamp,
) -> Result<Option<Dataset>, RunError> {
    let with_rows: Vec<(&CartridgeEntry, &Entry)> = entries
        .iter()
        .filter(|e| e.memories.is_some())
        .filter_map(|e| Some((e, *files.get(e.path.as_str())?)))
        .collect();
    if with_rows.is_empty() {
        return Ok(None);
    }
    let derived: Vec<Vec<MemoryRecord>> = with_rows
        .par_iter()
        .map(|(entry, file)| match derive_again(stage, entry, file)? {
            Derived::Dataset { records, .. } => Ok(records),
            _ => Err(changed(&entry.path)),
        })
        .collect::<Result<_, RunError>>()?;
    let sources = || {
        with_rows
            .iter()
            .zip(&derived)
            .flat_map(|((entry, _), rows)| rows.iter().map(|_| *entry))
    };
    let column = |of: fn(&CartridgeEntry) -> &str| {
        memories::utf8(sources().map(move |entry| Some(of(entry))))
    };
    let digests: Vec<String> = sources().map(|entry| entry.digest.to_string()).collect();
    let build = || -> Result<RecordBatch, arrow::error::ArrowError> {
        let mut columns: Vec<ArrayRef> = vec![
            column(|e| &e.publisher)?,
            column(|e| &e.id)?,
            column(|e| &e.version)?,
            memories::utf8(digests.iter().map(|d| Some(d.as_str())))?,
        ];
        let records: Vec<MemoryRecord> = derived.iter().flatten().cloned().collect();
        columns.extend(memories::columns(&records)?);
        let mut fields: Vec<Field> = ["publisher", "artifact", "version", "digest"]
            .map(|name| Field::new(name, DataType::Utf8, false))
            .to_vec();
        fields.extend(memories::fields());
        let schema = Schema::new_with_metadata(fields, memories::metadata(REGISTRY_SCHEMA));
        RecordBatch::try_new(Arc::new(schema), columns)
    };
    let fails = |e: String| RunError::new(format!("{REGISTRY_DATASET}: {e}"));
    let batch = build().map_err(|e| fails(e.to_string()))?;
    lance::dataset(&batch, made)
        .map(Some)
        .map_err(|e| fails(e.to_string()))
}

/// A dataset folder that a verifier finds beside a cartridge: its digest, or why it has none.
pub(super) fn digest_at(at: &Path) -> Result<Option<Digest>, String> {
    match at.symlink_metadata() {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e.to_string()),
        Ok(_) => lance::digest_of_folder(at, &lance::FolderLimits::default())
            .map(Some)
            .map_err(|e| e.to_string()),
    }
}

/// The digest of the dataset that a cartridge's bytes give, whoever signed them; `None` where they give none.
pub(super) fn digest_from_bytes(bytes: &[u8]) -> Option<Digest> {
    let opened = crate::container::open(bytes, &crate::container::Limits::default()).ok()?;
    let cartridge = opened.cartridge?;
    let engine = crate::check::Documents::of(&cartridge).embedding_engine();
    match derive_from(&cartridge, engine.map(|e| (e.id, e.dim))).ok()? {
        Derived::Dataset { dataset, .. } => Some(dataset.digest()),
        _ => None,
    }
}
