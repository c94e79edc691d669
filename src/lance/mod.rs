//! A record batch → the bytes of a Lance dataset, the same bytes for the same rows, on every machine.
//!
//! The official writer names its files at random and writes the wall clock into them, so a rebuilt dataset differs
//! each time, which a git repository of derived data cannot have. What is needed here is small: one version, one
//! fragment, one data file, no index. This module writes just that, and any Lance reader opens it.
//!
//! # The layout
//! Two files. The data file holds the rows, the manifest says that they are version 1 of a dataset:
//!
//! ```text
//! data/<32 hex digits>.lance                  named by its own SHA-256, so that a manifest
//!                                             beside another build's data fails loudly
//! _versions/18446744073709551614.manifest     2^64 − 1 − version: the newest sorts first
//! ```
//!
//! A data file of format 2.0 (which its footer calls 0.3) is read from its end:
//!
//! ```text
//! page buffers           one page a column, each buffer padded to 64 bytes with `H`
//! global buffer 0        FileDescriptor: the schema and the number of rows
//! column metadata        one message a column: where the page's buffers lie, how they are encoded
//! column offset table    (u64 position, u64 size) of each column metadata
//! global offset table    (u64 position, u64 size) of global buffer 0
//! footer, 40 bytes       u64 first column metadata, u64 column offset table, u64 global offset table,
//!                        u32 global buffers, u32 columns, u16 major, u16 minor, `LANC`
//! ```
//!
//! Columns stand in the schema's order, a list followed by its items, which are a field and a column of their own.
//! Encodings are the plainest that format 2.0 has:
//!
//! - int32, float32: little-endian. bool: one bit each, from the lowest. A fixed-size list: its items, in a row.
//! - text: a u64 end offset for each row, and the bytes. A null's end offset has `bytes + 1` added.
//! - list: a u64 end offset for each row, counted in items of the next column.
//!
//! The manifest file is a u32 length, the `Manifest` message, then 16 bytes: the u64 position of that length (0), u16
//! major 0, u16 minor 2, `LANC`. Its time is an argument, never the clock. Without rows there is no data file.
//!
//! Public sources: the format specification at <https://lance.org/format/> and the protobuf files of the Lance project.
//! Newer formats (2.1 on) are not read by older readers, and compress text with tables that are drawn at random.

mod data;
mod proto;
mod write;

use std::collections::BTreeMap;

use arrow::array::RecordBatch;
use prost::Message as _;
use serde::Serialize;

use crate::model::{Digest, Timestamp, json};

pub use write::{
    FolderLimits, Ready, digest_of_folder, has_only, is_dataset_or_empty, matches, prepare, remove,
    write,
};

/// The library and version that the manifest names: this layout's, so that a new release of the program does not
/// change a byte. To be raised when the layout changes. Readers want valid SemVer.
const WRITER: (&str, &str) = ("acx-registry", "1.0.0");

/// Why a record batch cannot become a dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LanceError {
    /// A column is of a type, or holds nulls, that this writer does not write.
    Column {
        /// The column's name.
        name: String,
        /// What it would have to be.
        expected: &'static str,
        /// What it is.
        found: String,
    },
    /// Two columns of this name; Lance tells columns apart by name.
    RepeatedName(String),
    /// No column at all.
    NoColumns,
    /// More rows than a page can count, which is 2^32 − 1.
    TooManyRows(usize),
}

impl std::fmt::Display for LanceError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Column {
                name,
                expected,
                found,
            } => write!(f, "column {name:?}: expected {expected}, found {found}"),
            Self::RepeatedName(name) => write!(f, "two columns are named {name:?}; rename one"),
            Self::NoColumns => f.write_str("the record batch has no column; a dataset needs one"),
            Self::TooManyRows(rows) => write!(
                f,
                "{rows} rows; one dataset holds at most {}: split them",
                u32::MAX
            ),
        }
    }
}

impl std::error::Error for LanceError {}

/// A dataset in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dataset {
    /// Path relative to the dataset's folder, `/`-separated, and content; sorted by path.
    pub files: Vec<(String, Vec<u8>)>,
}

impl Dataset {
    /// The digest of the whole dataset: of the JCS of `[{path, sha256, size}, …]`, one for each file, sorted by path,
    /// `sha256` written `sha256:<hex>`. [`digest_of_folder`] computes the same from disk.
    pub fn digest(&self) -> Digest {
        let files = self.files.iter().map(|(path, bytes)| FileEntry {
            path: path.clone(),
            sha256: Digest::of(bytes),
            size: bytes.len() as u64,
        });
        digest_of(files.collect())
    }
}

/// A file as the digest of a dataset sees it. The order of the fields is the order of comparison: path first.
#[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
struct FileEntry {
    path: String,
    sha256: Digest,
    size: u64,
}

fn digest_of(mut files: Vec<FileEntry>) -> Digest {
    files.sort();
    Digest::of(&json::canonical_of(&files))
}

/// The dataset of these rows, in their order, as its version 1, made at this time.
///
/// Columns may be utf8, bool, int32, float32, list of utf8, and fixed-size list of float32 of any dimension. Any may be
/// declared nullable; nulls themselves are written in text and in the items of text lists. Schema metadata is kept.
///
/// # Errors
/// [`LanceError`] for any other column, and for metadata on a field, which would be lost.
pub fn dataset(batch: &RecordBatch, timestamp: &Timestamp) -> Result<Dataset, LanceError> {
    let rows = batch.num_rows();
    if u32::try_from(rows).is_err() {
        return Err(LanceError::TooManyRows(rows));
    }
    let schema = batch.schema_ref();
    let fields = data::fields(schema.fields())?;
    let data = data::file(batch, &fields)?;
    let (seconds, nanos) = timestamp.unix();

    let mut files = Vec::with_capacity(2);
    let mut fragments = Vec::new();
    if rows > 0 {
        let hex = Digest::of(&data).hex();
        let name = format!("{}.lance", hex.get(..32).unwrap_or(&hex));
        let ids: Vec<i32> = fields.iter().map(|field| field.id).collect();
        fragments.push(proto::DataFragment {
            id: 0,
            files: vec![proto::DataFile {
                path: name.clone(),
                column_indices: ids.clone(), // each field is the column of its id
                fields: ids,
                file_major_version: 2,
                file_minor_version: 0,
                file_size_bytes: data.len() as u64,
            }],
            physical_rows: rows as u64,
        });
        files.push((format!("data/{name}"), data));
    }
    let schema_metadata: BTreeMap<String, Vec<u8>> = schema
        .metadata()
        .iter()
        .map(|(key, value)| (key.clone(), value.clone().into_bytes()))
        .collect();
    let manifest = proto::Manifest {
        fields,
        max_fragment_id: (!fragments.is_empty()).then_some(0),
        fragments,
        version: 1,
        schema_metadata,
        timestamp: Some(proto::Timestamp {
            seconds,
            nanos: i32::try_from(nanos).unwrap_or_default(),
        }),
        writer_version: Some(proto::WriterVersion {
            library: WRITER.0.to_owned(),
            version: WRITER.1.to_owned(),
        }),
        data_format: Some(proto::DataStorageFormat {
            file_format: "lance".to_owned(),
            version: "2.0".to_owned(),
        }),
    };
    let manifest_file = manifest_file(&manifest);
    // `_` sorts before the letters.
    files.insert(
        0,
        (
            format!("_versions/{}.manifest", u64::MAX - manifest.version),
            manifest_file,
        ),
    );
    Ok(Dataset { files })
}

fn manifest_file(manifest: &proto::Manifest) -> Vec<u8> {
    let message = manifest.encode_to_vec();
    let mut file = Vec::with_capacity(message.len() + 20);
    // The schema bounds the message, at a few dozen bytes a field; it never comes near 4 GiB.
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
    file.extend(length.to_le_bytes());
    file.extend(message);
    file.extend(0_u64.to_le_bytes());
    file.extend(0_u16.to_le_bytes());
    file.extend(2_u16.to_le_bytes());
    file.extend(b"LANC");
    file
}

#[cfg(test)]
mod tests;
