//! The tables' rows as typed values. SQLite enforces no declared type, so the storage class of every value that is
//! used is looked at, and a key that occurs twice is reported even where the table declares it unique.

use std::collections::BTreeMap;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};

use super::open::Stop;
use super::schema::Schema;
use super::{
    ArchiveFile, AttestationRow, CapabilityRow, Cartridge, Fault, FaultKind, Limits, MemoryRow,
    ObjectRow, SignatureRow, SkillRow, VectorCounts, Zone, inflate,
};
use crate::model::{Digest, shorten};

/// Rows of the small tables: metadata, signatures, attestations, capabilities.
const SMALL_TABLE_ROWS: u64 = 10_000;

/// Bytes of an attestation's time, which only puts rows in order.
const LONGEST_TIME: usize = 64;

/// One row under reading: where it is, and what went wrong in it.
struct Reader<'a> {
    table: &'static str,
    /// The statement's columns, in its order.
    columns: &'a [&'static str],
    key: Option<String>,
    limits: &'a Limits,
}

impl Reader<'_> {
    fn stop(&self, kind: FaultKind, message: String) -> Stop {
        Stop::Fault(Fault {
            kind,
            table: Some(self.table),
            row: self.key.clone(),
            message,
        })
    }

    fn value<'r>(&self, row: &'r Row<'_>, column: &'static str) -> Result<ValueRef<'r>, Stop> {
        // SQLite would look the name up anew for every row.
        let at = self.columns.iter().position(|name| *name == column);
        at.map_or_else(|| row.get_ref(column), |at| row.get_ref(at))
            .map_err(|e| Stop::of_sqlite(&e, Some(self.table)))
    }

    fn wrong_type(&self, column: &str, expected: &str, found: ValueRef<'_>) -> Stop {
        let found = match found {
            ValueRef::Null => "NULL",
            ValueRef::Integer(_) => "an integer",
            ValueRef::Real(_) => "a real number",
            ValueRef::Text(_) => "text that is not Unicode",
            ValueRef::Blob(_) => "a BLOB",
        };
        let found = if expected == "text" || !matches!(found, "text that is not Unicode") {
            found
        } else {
            "text"
        };
        self.stop(
            FaultKind::ValueType,
            format!("`{column}`: expected {expected}, found {found}"),
        )
    }

    fn optional_text(&self, row: &Row<'_>, column: &'static str) -> Result<Option<String>, Stop> {
        match self.value(row, column)? {
            ValueRef::Null => Ok(None),
            found @ ValueRef::Text(bytes) => {
                if bytes.len() as u64 > self.limits.text_bytes {
                    let message = format!(
                        "`{column}` has {} bytes, at most {} are accepted in one text",
                        bytes.len(),
                        self.limits.text_bytes
                    );
                    return Err(self.stop(FaultKind::Limit, message));
                }
                match std::str::from_utf8(bytes) {
                    Ok(text) => Ok(Some(text.to_owned())),
                    Err(_) => Err(self.wrong_type(column, "text", found)),
                }
            }
            found => Err(self.wrong_type(column, "text", found)),
        }
    }

    fn text(&self, row: &Row<'_>, column: &'static str) -> Result<String, Stop> {
        self.optional_text(row, column)?
            .ok_or_else(|| self.wrong_type(column, "text", ValueRef::Null))
    }

    /// The row's key: text, kept for the messages about the rest of the row.
    fn key(&mut self, row: &Row<'_>, column: &'static str) -> Result<String, Stop> {
        let key = self.text(row, column)?;
        self.key = Some(shorten(&key));
        Ok(key)
    }

    fn integer(&self, row: &Row<'_>, column: &'static str) -> Result<i64, Stop> {
        match self.value(row, column)? {
            ValueRef::Integer(n) => Ok(n),
            found => Err(self.wrong_type(column, "an integer", found)),
        }
    }

    fn zone(&self, row: &Row<'_>) -> Result<Zone, Stop> {
        let text = self.text(row, "zone")?;
        Zone::of_text(&text).ok_or_else(|| {
            let message = format!("`zone`: expected rom or save, found {:?}", shorten(&text));
            self.stop(FaultKind::ValueType, message)
        })
    }
}

/// Runs one statement, at most `most` rows of it, and sorts what each row gives.
fn table<T>(
    connection: &Connection,
    table: &'static str,
    columns: &[&'static str],
    most: u64,
    limits: &Limits,
    mut each: impl FnMut(&mut Reader<'_>, &Row<'_>) -> Result<Option<T>, Stop>,
) -> Result<Vec<T>, Stop> {
    let stop = |e: rusqlite::Error| Stop::of_sqlite(&e, Some(table));
    let mut statement = connection
        .prepare(&format!("SELECT {} FROM {table}", columns.join(", ")))
        .map_err(stop)?;
    let mut rows = statement.query([]).map_err(stop)?;
    let mut out = Vec::new();
    let mut seen = 0_u64;
    while let Some(row) = rows.next().map_err(stop)? {
        seen += 1;
        if seen > most {
            let message = format!("`{table}` has more than {most} rows");
            return Err(Stop::fault(FaultKind::Limit, Some(table), message));
        }
        let mut reader = Reader {
            table,
            columns,
            key: None,
            limits,
        };
        out.extend(each(&mut reader, row)?);
    }
    Ok(out)
}

/// Sorts by key and reports every key that is there again; the first of the equal ones is kept.
fn unique<T>(
    table: &'static str,
    mut items: Vec<T>,
    key: impl Fn(&T) -> &str,
    faults: &mut Vec<Fault>,
) -> Vec<T> {
    items.sort_by(|a, b| key(a).cmp(key(b)));
    items.dedup_by(|next, kept| {
        let same = key(next) == key(kept);
        if same {
            faults.push(Fault {
                kind: FaultKind::DuplicateRow,
                table: Some(table),
                row: Some(shorten(key(kept))),
                message: format!(
                    "`{table}` has two rows with the key {:?}",
                    shorten(key(kept))
                ),
            });
        }
        same
    });
    items
}

pub(super) fn read(
    connection: &Connection,
    schema: &Schema,
    limits: &Limits,
    faults: &mut Vec<Fault>,
    bytes: u64,
    sha256: Digest,
) -> Result<Cartridge, Stop> {
    let most_objects = limits.archive_rows + limits.memory_records + 2 * SMALL_TABLE_ROWS;

    let meta = table(
        connection,
        "cartridge",
        &["key", "value"],
        SMALL_TABLE_ROWS,
        limits,
        |r, row| Ok(Some((r.key(row, "key")?, r.text(row, "value")?))),
    )?;
    let meta: BTreeMap<String, String> = unique("cartridge", meta, |(key, _)| key, faults)
        .into_iter()
        .collect();

    let files = unique(
        "sqlar",
        archive(connection, limits, faults)?,
        |f| &f.name,
        faults,
    );

    let columns = &[
        "id",
        "zone",
        "artifact_fingerprint",
        "codebase_fingerprint",
        "payload",
        "oid",
    ];
    let memory = table(
        connection,
        "memory",
        columns,
        limits.memory_records,
        limits,
        |r, row| {
            Ok(Some(MemoryRow {
                id: r.key(row, "id")?,
                zone: r.zone(row)?,
                artifact_fingerprint: r.text(row, "artifact_fingerprint")?,
                codebase_fingerprint: r.optional_text(row, "codebase_fingerprint")?,
                payload: r.text(row, "payload")?,
                oid: r.text(row, "oid")?,
            }))
        },
    )?;
    let memory = unique("memory", memory, |m| &m.id, faults);

    let objects = table(
        connection,
        "objects",
        &["oid", "kind", "source_ref", "canon", "zone", "sz"],
        most_objects,
        limits,
        |r, row| {
            Ok(Some(ObjectRow {
                oid: r.key(row, "oid")?,
                kind: r.text(row, "kind")?,
                source_ref: r.text(row, "source_ref")?,
                canon: r.text(row, "canon")?,
                zone: r.zone(row)?,
                sz: r.integer(row, "sz")?,
            }))
        },
    )?;
    let mut objects = unique("objects", objects, |o| &o.oid, faults);
    objects.sort_by(|a, b| (&a.kind, &a.source_ref, &a.oid).cmp(&(&b.kind, &b.source_ref, &b.oid)));

    let mut columns = vec![
        "sig_id",
        "target",
        "manifest_hash",
        "envelope",
        "keyid",
        "alg",
        "created_at",
    ];
    if schema.has_pem_column {
        columns.push("public_key_pem");
    }
    let signatures = table(
        connection,
        "signatures",
        &columns,
        SMALL_TABLE_ROWS,
        limits,
        |r, row| {
            let sig_id = r.key(row, "sig_id")?;
            if r.text(row, "target")? != "rom-manifest" {
                return Ok(None);
            }
            Ok(Some(SignatureRow {
                sig_id,
                manifest_hash: r.text(row, "manifest_hash")?,
                envelope: r.text(row, "envelope")?,
                keyid: r.text(row, "keyid")?,
                public_key_pem: match schema.has_pem_column {
                    true => r.optional_text(row, "public_key_pem")?,
                    false => None,
                },
                alg: r.text(row, "alg")?,
                created_at: r.text(row, "created_at")?,
            }))
        },
    )?;
    let signatures = unique("signatures", signatures, |s| &s.sig_id, faults);

    let attestations = table(
        connection,
        "attestations",
        &["att_id", "type", "document", "created_at"],
        SMALL_TABLE_ROWS,
        limits,
        |r, row| {
            Ok(Some(AttestationRow {
                att_id: r.key(row, "att_id")?,
                kind: r.text(row, "type")?,
                document: r.text(row, "document")?,
                // Outside the ROM: a time that is none must not cost the cartridge its place.
                created_at: match r.value(row, "created_at")? {
                    ValueRef::Text(text) if text.len() <= LONGEST_TIME => {
                        String::from_utf8_lossy(text).into_owned()
                    }
                    _ => String::new(),
                },
            }))
        },
    )?;
    let attestations = unique("attestations", attestations, |a| &a.att_id, faults);

    let columns = &[schema.skill_key, "content_sha256", "name", "description"];
    let skills = table(
        connection,
        "acx_skill",
        columns,
        limits.archive_rows,
        limits,
        |r, row| {
            Ok(Some(SkillRow {
                path: r.key(row, schema.skill_key)?,
                content_sha256: r.text(row, "content_sha256")?,
                name: r.optional_text(row, "name")?,
                description: r.optional_text(row, "description")?,
            }))
        },
    )?;
    let skills = unique("acx_skill", skills, |s| &s.path, faults);

    let capabilities = table(
        connection,
        "capabilities",
        &["id", "json", "content_hash"],
        SMALL_TABLE_ROWS,
        limits,
        |r, row| {
            Ok(Some(CapabilityRow {
                id: r.key(row, "id")?,
                json: r.text(row, "json")?,
                content_hash: r.text(row, "content_hash")?,
            }))
        },
    )?;
    let capabilities = unique("capabilities", capabilities, |c| &c.id, faults);

    let vectors = vectors(connection, schema, limits)?;
    Ok(Cartridge {
        bytes,
        sha256,
        meta,
        files,
        memory,
        objects,
        signatures,
        attestations,
        skills,
        capabilities,
        vectors,
    })
}

/// The archive: every file inflated, within the limits for one and for all.
fn archive(
    connection: &Connection,
    limits: &Limits,
    faults: &mut Vec<Fault>,
) -> Result<Vec<ArchiveFile>, Stop> {
    let mut total = 0_u64;
    let mut state = Box::<inflate::State>::default();
    table(
        connection,
        "sqlar",
        &["name", "mode", "sz", "data"],
        limits.archive_rows,
        limits,
        |r, row| {
            let name = match r.value(row, "name")? {
                ValueRef::Text(bytes) if bytes.len() <= 4096 => {
                    std::str::from_utf8(bytes).ok().map(str::to_owned)
                }
                _ => None,
            };
            let Some(name) = name else {
                let found = match r.value(row, "name")? {
                    ValueRef::Null => "NULL",
                    ValueRef::Blob(_) => "a BLOB, which never equals the text it spells",
                    ValueRef::Text(_) => "text that is not Unicode or longer than 4096 bytes",
                    _ => "a number",
                };
                faults.push(Fault {
                    kind: FaultKind::NameType,
                    table: Some("sqlar"),
                    row: None,
                    message: format!("`name`: expected text, found {found}"),
                });
                return Ok(None);
            };
            r.key = Some(shorten(&name));
            if let Some(message) = match r.value(row, "mode")? {
                ValueRef::Null => None,
                ValueRef::Integer(mode) => special_mode(mode),
                found => return Err(r.wrong_type("mode", "an integer", found)),
            } {
                faults.push(Fault {
                    kind: FaultKind::FileMode,
                    table: Some("sqlar"),
                    row: r.key.clone(),
                    message,
                });
            }
            let sz = r.integer(row, "sz")?;
            let stored = match r.value(row, "data")? {
                ValueRef::Blob(bytes) => bytes,
                found => return Err(r.wrong_type("data", "a BLOB", found)),
            };
            let Ok(size) = u64::try_from(sz) else {
                return Err(r.stop(
                    FaultKind::Inflate,
                    format!("`sz`: expected a size, found {sz}"),
                ));
            };
            if size > limits.inflated_file_bytes {
                let message = format!(
                    "it claims {size} bytes, at most {} are accepted in one file",
                    limits.inflated_file_bytes
                );
                return Err(r.stop(FaultKind::Limit, message));
            }
            total += size;
            if total > limits.inflated_total_bytes {
                let message = format!(
                    "the files have more than {} bytes together",
                    limits.inflated_total_bytes
                );
                return Err(r.stop(FaultKind::Limit, message));
            }
            let data = if size == stored.len() as u64 {
                stored.to_vec()
            } else {
                inflate::exactly(&mut state, stored, size)
                    .map_err(|message| r.stop(FaultKind::Inflate, message))?
            };
            let digest = Digest::of(&data);
            Ok(Some(ArchiveFile { name, data, digest }))
        },
    )
}

/// What is wrong with an entry that is no ordinary file.
fn special_mode(mode: i64) -> Option<String> {
    let what = match mode & 0o170_000 {
        0 | 0o100_000 => {
            return (mode & !0o100_777 != 0).then(|| {
                format!("`mode`: expected permission bits alone, found {mode:o} (octal)")
            });
        }
        0o120_000 => "a symbolic link",
        0o040_000 => "a folder",
        _ => "a device, a pipe or a socket",
    };
    Some(format!(
        "`mode`: expected an ordinary file, found {what} ({mode:o})"
    ))
}

fn vectors(
    connection: &Connection,
    schema: &Schema,
    limits: &Limits,
) -> Result<VectorCounts, Stop> {
    let mut counts = VectorCounts::default();
    let Some(shadows) = &schema.vec0 else {
        table(
            connection,
            "vectors",
            &["zone"],
            limits.memory_records,
            limits,
            |r, row| {
                match r.value(row, "zone")? {
                    ValueRef::Text(b"rom") => counts.rom += 1,
                    _ => counts.save += 1,
                }
                Ok(None::<()>)
            },
        )?;
        return Ok(counts);
    };
    // vectors_info describes the module; each of the others has rows only where vectors were stored.
    for shadow in shadows.iter().filter(|name| *name != "vectors_info") {
        let rows: i64 = connection
            .query_row(&format!("SELECT count(*) FROM {shadow}"), [], |row| {
                row.get(0)
            })
            .map_err(|e| Stop::of_sqlite(&e, Some("vectors")))?;
        counts.opaque += u64::try_from(rows).unwrap_or(u64::MAX);
    }
    Ok(counts)
}
