//! What opening a file can find. Each kind is the subject of one rule.

/// A defect of the container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FaultKind {
    /// Larger than the limit.
    TooLarge,
    /// A pointer of git-lfs instead of the file.
    LfsPointer,
    /// Not an SQLite database.
    NotSqlite,
    /// An SQLite database of another application.
    ApplicationId,
    /// A major format version that this reader does not know.
    FormatVersion,
    /// Page size × page count is not the file's length.
    Length,
    /// The structural check fails, or a page cannot be read.
    Corrupt,
    /// A trigger, a view, a foreign table, index or virtual table.
    SchemaObject,
    /// A table or column that must be there is not.
    Missing,
    /// A column the format does not list.
    ExtraColumn,
    /// A value of the wrong storage class, NULL where none may be, or text that is not Unicode.
    ValueType,
    /// An archive entry that does not inflate to its size.
    Inflate,
    /// More rows, bytes or work than the limits allow.
    Limit,
    /// An archive name that is not text.
    NameType,
    /// An archive entry that is no ordinary file, or has more than permission bits.
    FileMode,
    /// Two rows with one key.
    DuplicateRow,
}

impl FaultKind {
    /// The rest of the file can be read and judged in spite of it.
    pub(super) fn leaves_content_readable(self) -> bool {
        matches!(
            self,
            Self::ExtraColumn | Self::NameType | Self::FileMode | Self::DuplicateRow
        )
    }
}

/// One defect with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The kind.
    pub kind: FaultKind,
    /// The table, where one is concerned.
    pub table: Option<&'static str>,
    /// The row's key, where one is concerned.
    pub row: Option<String>,
    /// What is wrong, expected and found.
    pub message: String,
}
