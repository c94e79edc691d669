//! How much of a file is read at the most.

use serde::{Deserialize, Serialize};

/// Bounds on what one cartridge may hold. A file beyond one is rejected, never read in part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Rows of the archive table.
    pub archive_rows: u64,
    /// Bytes of one archive file, inflated.
    pub inflated_file_bytes: u64,
    /// Bytes of all archive files, inflated.
    pub inflated_total_bytes: u64,
    /// Rows of the memory table.
    pub memory_records: u64,
    /// Bytes of one text value.
    pub text_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            file_bytes: 64 << 20,
            archive_rows: 20_000,
            inflated_file_bytes: 16 << 20,
            inflated_total_bytes: 128 << 20,
            memory_records: 100_000,
            text_bytes: 1 << 20,
        }
    }
}
