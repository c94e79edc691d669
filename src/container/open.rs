//! Opening a file: the header by hand, then the schema, then the structure, then the rows — each only when all
//! before it holds, and none of it on disk.
//!
//! SQLite reads a private copy in memory, read-only, in defensive mode, with an authorizer that admits nothing but
//! reading the format's own tables and a budget of virtual-machine steps for the whole file. The schema is read
//! before any table is: it may hold no view, trigger, generated column, expression index or foreign table, so no
//! text of the file is ever run as a program. CHECK constraints are never evaluated.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::config::DbConfig;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::schema;
use super::{Cartridge, Fault, FaultKind, Limits, rows};
use crate::model::Digest;

/// `ACX1`
const APPLICATION_ID: u32 = 0x4143_5831;
/// The major format version that this reader knows.
const MAJOR: u8 = 1;
/// Virtual-machine steps of all queries of one file together: a clean file of the largest size takes a tenth.
const STEP_BUDGET: u64 = 60_000_000;
/// Steps between two looks at the budget.
const STEPS_A_LOOK: u16 = 1000;

/// What opening a file gave. `cartridge` is `None` where reading on would have been unsafe or pointless.
#[derive(Debug)]
pub struct Opened {
    /// The content.
    pub cartridge: Option<Cartridge>,
    /// What is wrong with the container.
    pub faults: Vec<Fault>,
}

/// The tool failed; nothing is known of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal(pub String);

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why reading stopped early.
pub(super) enum Stop {
    /// The file is at fault.
    Fault(Fault),
    /// The tool is.
    Refusal(Refusal),
}

impl Stop {
    pub(super) fn fault(
        kind: FaultKind,
        table: Option<&'static str>,
        message: impl Into<String>,
    ) -> Self {
        Self::Fault(Fault {
            kind,
            table,
            row: None,
            message: message.into(),
        })
    }

    /// What an SQLite error says of the file.
    pub(super) fn of_sqlite(error: &rusqlite::Error, table: Option<&'static str>) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::OutOfMemory | ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) => {
                Self::Refusal(Refusal(format!("SQLite failed: {error}")))
            }
            Some(ErrorCode::OperationInterrupted) => Self::fault(
                FaultKind::Limit,
                table,
                format!("reading it takes more than {STEP_BUDGET} steps of SQLite's machine"),
            ),
            Some(ErrorCode::TooBig) => Self::fault(
                FaultKind::Limit,
                table,
                "a value or statement is larger than any the format needs",
            ),
            _ => Self::fault(
                FaultKind::Corrupt,
                table,
                format!("SQLite cannot read it: {error}"),
            ),
        }
    }
}

/// Reads a cartridge out of the bytes of its file.
///
/// # Errors
/// [`Refusal`] where the tool failed, never for anything that the bytes say.
pub fn open(bytes: &[u8], limits: &Limits) -> Result<Opened, Refusal> {
    let mut faults = header_faults(bytes, limits);
    if !faults.is_empty() {
        return Ok(Opened {
            cartridge: None,
            faults,
        });
    }
    match read(bytes, limits, &mut faults) {
        Ok(cartridge) => {
            let readable = faults.iter().all(|f| f.kind.leaves_content_readable());
            Ok(Opened {
                cartridge: readable.then_some(cartridge),
                faults,
            })
        }
        Err(Stop::Fault(fault)) => {
            faults.push(fault);
            Ok(Opened {
                cartridge: None,
                faults,
            })
        }
        Err(Stop::Refusal(refusal)) => Err(refusal),
    }
}

fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    let four: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
    Some(u32::from_be_bytes(four))
}

/// The checks of the 100-byte header (<https://www.sqlite.org/fileformat.html>, section 1.3).
fn header_faults(bytes: &[u8], limits: &Limits) -> Vec<Fault> {
    let one = |kind, message: String| {
        vec![Fault {
            kind,
            table: None,
            row: None,
            message,
        }]
    };
    let length = bytes.len() as u64;
    if length > limits.file_bytes {
        return one(
            FaultKind::TooLarge,
            format!(
                "the file has {length} bytes, at most {} are accepted",
                limits.file_bytes
            ),
        );
    }
    let header = bytes
        .get(..100)
        .filter(|h| h.starts_with(b"SQLite format 3\0"));
    let fields = header.and_then(|h| {
        let page_size = u16::from_be_bytes(h.get(16..18)?.try_into().ok()?);
        Some((
            page_size,
            be32(h, 24)?,
            be32(h, 28)?,
            *h.get(60)?,
            be32(h, 68)?,
            be32(h, 92)?,
        ))
    });
    let Some((page_size, changes, pages, major, application, valid_for)) = fields else {
        if is_lfs_pointer(bytes) {
            return one(
                FaultKind::LfsPointer,
                "expected the cartridge, found git-lfs's pointer to it".to_owned(),
            );
        }
        let found = if bytes.is_empty() {
            "an empty file"
        } else if bytes.trim_ascii_start().starts_with(b"{") {
            "JSON text (the name of a workflow ends in .cal.json, that of an Agent Graph in .agent-graph.json)"
        } else {
            "other bytes"
        };
        return one(
            FaultKind::NotSqlite,
            format!("expected the header of an SQLite 3 database, found {found}"),
        );
    };
    if application != APPLICATION_ID {
        return one(
            FaultKind::ApplicationId,
            format!(
                "expected application_id {APPLICATION_ID:#010x} (ACX1), found {application:#010x}"
            ),
        );
    }
    if major != MAJOR {
        return one(
            FaultKind::FormatVersion,
            format!("expected format major version {MAJOR}, found {major}"),
        );
    }
    // 1 = rollback journal, 2 = WAL; SQLite itself refuses to read a higher one.
    if !header.is_some_and(|h| {
        h.get(18..20)
            .is_some_and(|v| v.iter().all(|b| matches!(b, 1 | 2)))
    }) {
        return one(
            FaultKind::NotSqlite,
            "expected the file format versions 1 or 2 in bytes 18 and 19, found others".to_owned(),
        );
    }
    let (format, encoding) = (be32(bytes, 44), be32(bytes, 56));
    if !matches!((format, encoding), (Some(1..=4), Some(1..=3))) {
        return one(
            FaultKind::NotSqlite,
            "expected a schema format of 1 to 4 and a text encoding of 1 to 3, found others"
                .to_owned(),
        );
    }
    let page_size = match page_size {
        1 => 65536,
        512..=32768 if page_size.is_power_of_two() => u64::from(page_size),
        other => {
            return one(
                FaultKind::NotSqlite,
                format!("expected a page size of 512 to 65536, found {other}"),
            );
        }
    };
    // SQLite takes the page count from the header only where the counters agree, and from the length otherwise.
    let counted = changes == valid_for && pages != 0;
    let expected = if counted {
        page_size * u64::from(pages)
    } else {
        length - length % page_size
    };
    if length != expected || length == 0 {
        return one(
            FaultKind::Length,
            format!("expected {expected} bytes (whole pages of {page_size}), found {length}"),
        );
    }
    Vec::new()
}

/// A connection to a private copy of the bytes that can read tables and nothing else.
fn connect(bytes: &[u8]) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_MEMORY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_in_memory_with_flags(flags)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    for (option, on) in [
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_ATTACH_CREATE, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_ATTACH_WRITE, false),
        (DbConfig::SQLITE_DBCONFIG_WRITABLE_SCHEMA, false),
    ] {
        connection.set_db_config(option, on)?;
    }
    let longest = i32::try_from(bytes.len()).unwrap_or(i32::MAX).max(1 << 20);
    for (limit, value) in [
        (Limit::SQLITE_LIMIT_LENGTH, longest),
        (Limit::SQLITE_LIMIT_SQL_LENGTH, 64 << 10),
        (Limit::SQLITE_LIMIT_COLUMN, 64),
        (Limit::SQLITE_LIMIT_EXPR_DEPTH, 32),
        (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 2),
        (Limit::SQLITE_LIMIT_VDBE_OP, 25_000),
        (Limit::SQLITE_LIMIT_FUNCTION_ARG, 8),
        (Limit::SQLITE_LIMIT_ATTACHED, 0),
        (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 64),
        (Limit::SQLITE_LIMIT_VARIABLE_NUMBER, 8),
        (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 1),
        (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
    ] {
        connection.set_limit(limit, value)?;
    }
    load(&mut connection, bytes, true)?;
    connection.execute_batch(
        "PRAGMA query_only=ON; PRAGMA cell_size_check=ON; PRAGMA ignore_check_constraints=ON;",
    )?;

    let spent = Arc::new(AtomicU64::new(0));
    connection.progress_handler(
        i32::from(STEPS_A_LOOK),
        Some(move || spent.fetch_add(u64::from(STEPS_A_LOOK), Ordering::Relaxed) > STEP_BUDGET),
    )?;
    connection.authorizer(Some(authorize))?;
    Ok(connection)
}

/// Loads a copy of the bytes as the connection's database.
///
/// A file last written in WAL mode is whole once checkpointed, but a database in memory has no WAL: the copy says
/// "rollback journal" in bytes 18 and 19, which change nothing else.
///
/// # Errors
/// What SQLite says, out of memory above all.
pub(crate) fn load(
    connection: &mut Connection,
    bytes: &[u8],
    read_only: bool,
) -> rusqlite::Result<()> {
    let (head, tail) = bytes.split_at(18.min(bytes.len()));
    let (_, tail) = tail.split_at(2.min(tail.len()));
    let patched = std::io::Read::chain(std::io::Read::chain(head, &[1u8, 1][..]), tail);
    connection.deserialize_read_exact(rusqlite::MAIN_DB, patched, bytes.len(), read_only)
}

/// Nothing but selecting, reading columns, and the pragmas that tell the structure.
fn authorize(context: AuthContext<'_>) -> Authorization {
    match context.action {
        AuthAction::Select | AuthAction::Read { .. } => Authorization::Allow,
        AuthAction::Pragma {
            pragma_name: "table_xinfo" | "index_list" | "index_xinfo" | "integrity_check",
            ..
        } => Authorization::Allow,
        AuthAction::Function {
            function_name: "count",
        } => Authorization::Allow,
        _ => Authorization::Deny,
    }
}

fn read(bytes: &[u8], limits: &Limits, faults: &mut Vec<Fault>) -> Result<Cartridge, Stop> {
    let connection = connect(bytes).map_err(|e| Stop::of_sqlite(&e, None))?;
    let schema = schema::read(&connection)?;
    faults.extend(schema.faults());
    if faults.iter().any(|f| !f.kind.leaves_content_readable()) {
        // Nothing of a table is read before the schema is known to be the format's own.
        return Err(match faults.pop() {
            Some(last) => Stop::Fault(last),
            None => Stop::fault(FaultKind::Corrupt, None, "the schema cannot be read"),
        });
    }
    structure(&connection)?;
    rows::read(
        &connection,
        &schema,
        limits,
        faults,
        bytes.len() as u64,
        Digest::of(bytes),
    )
}

/// SQLite's own check of pages, b-trees and indexes. It passes over a virtual table, whose module is not loaded; its
/// shadow tables are ordinary.
fn structure(connection: &Connection) -> Result<(), Stop> {
    let report: String = connection
        .query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))
        .map_err(|e| Stop::of_sqlite(&e, None))?;
    if report == "ok" {
        return Ok(());
    }
    let first = report
        .lines()
        .find(|line| !line.starts_with("***"))
        .unwrap_or("damage");
    Err(Stop::fault(
        FaultKind::Corrupt,
        None,
        format!(
            "the structural check says: {}",
            crate::model::shorten(first)
        ),
    ))
}

/// Whether a file is git-lfs's pointer to another.
pub(crate) fn is_lfs_pointer(bytes: &[u8]) -> bool {
    bytes.starts_with(b"version https://git-lfs.github.com/spec/")
}
