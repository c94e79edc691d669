//! The file's schema against the format's: which tables, columns, indexes, and nothing that runs.

use std::collections::VecDeque;
use std::sync::Mutex;

use rusqlite::Connection;

use super::open::Stop;
use super::{Fault, FaultKind};

/// A table of the format: its name, its columns, and those of them that may be absent.
pub(super) struct Table {
    pub name: &'static str,
    pub columns: &'static [&'static str],
    pub optional: &'static [&'static str],
}

/// The format's tables, with the columns in the order in which they are read.
pub(super) const TABLES: &[Table] = &[
    Table {
        name: "cartridge",
        columns: &["key", "value"],
        optional: &[],
    },
    Table {
        name: "sqlar",
        columns: &["name", "mode", "mtime", "sz", "data"],
        optional: &[],
    },
    Table {
        name: "memory",
        columns: &[
            "id",
            "zone",
            "artifact_fingerprint",
            "codebase_fingerprint",
            "payload",
            "oid",
            "created_at",
        ],
        optional: &[],
    },
    Table {
        name: "vectors",
        columns: &["memory_id", "zone", "embedding", "artifact_fingerprint"],
        optional: &[],
    },
    Table {
        name: "objects",
        columns: &["oid", "kind", "source_ref", "canon", "zone", "sz"],
        optional: &[],
    },
    Table {
        name: "signatures",
        columns: &[
            "sig_id",
            "target",
            "manifest_hash",
            "envelope",
            "keyid",
            "public_key_pem",
            "alg",
            "created_at",
        ],
        optional: &["public_key_pem"],
    },
    Table {
        name: "attestations",
        columns: &[
            "att_id",
            "type",
            "subject_oid",
            "media_type",
            "document",
            "status_url",
            "created_at",
        ],
        optional: &[],
    },
    Table {
        name: "acx_skill",
        columns: &[
            "sqlar_path",
            "name",
            "description",
            "license",
            "compatibility",
            "skill_version",
            "body_tokens",
            "content_sha256",
            "resources",
            "ext",
            "schema_version",
        ],
        // Either sqlar_path or name is the key; see `Schema::skill_key`.
        optional: &["sqlar_path"],
    },
    Table {
        name: "capabilities",
        columns: &["id", "json", "content_hash"],
        optional: &[],
    },
];

/// The one index of the format that is no primary key's.
const INDEX: (&str, &str) = ("memory_zone_fp", "memory");
/// Objects of a schema that are looked at; the format has some twenty.
const MOST_OBJECTS: usize = 200;

/// What the file's schema holds.
#[derive(Debug, Clone, Default)]
pub(super) struct Schema {
    /// `vectors` is a `vec0` virtual table; these are its shadow tables.
    pub vec0: Option<Vec<String>>,
    /// `signatures.public_key_pem` is there.
    pub has_pem_column: bool,
    /// `acx_skill`'s key column.
    pub skill_key: &'static str,
    faults: Vec<Fault>,
}

impl Schema {
    pub fn faults(&self) -> impl Iterator<Item = Fault> + '_ {
        self.faults.iter().cloned()
    }

    fn fault(&mut self, kind: FaultKind, table: Option<&'static str>, message: String) {
        self.faults.push(Fault {
            kind,
            table,
            row: None,
            message,
        });
    }
}

/// A row of `sqlite_schema`.
#[derive(Clone, PartialEq, Eq)]
struct Object {
    kind: String,
    name: String,
    table: String,
    sql: String,
}

/// Schemas without a fault, the latest first, each with what was found. Cartridges of one tool have one schema, and
/// what SQLite says of tables and indexes follows from these rows alone, so that it is asked once.
static SEEN: Mutex<VecDeque<(Vec<Object>, Schema)>> = Mutex::new(VecDeque::new());
/// How many of them are kept.
const KEPT: usize = 8;
/// Bytes of a schema that is kept.
const KEPT_BYTES: usize = 64 << 10;

pub(super) fn read(connection: &Connection) -> Result<Schema, Stop> {
    let objects = objects(connection)?;
    if let Ok(seen) = SEEN.lock()
        && let Some((_, schema)) = seen.iter().find(|(of, _)| *of == objects)
    {
        return Ok(schema.clone());
    }
    let schema = judge(connection, &objects)?;
    let bytes = |o: &Object| o.kind.len() + o.name.len() + o.table.len() + o.sql.len();
    if schema.faults.is_empty()
        && objects.iter().map(bytes).sum::<usize>() <= KEPT_BYTES
        && let Ok(mut seen) = SEEN.lock()
    {
        seen.truncate(KEPT - 1);
        seen.push_front((objects, schema.clone()));
    }
    Ok(schema)
}

/// The rows of `sqlite_schema`, which SQLite has parsed when it gives them.
fn objects(connection: &Connection) -> Result<Vec<Object>, Stop> {
    let stop = |e: rusqlite::Error| Stop::of_sqlite(&e, None);
    let objects: Vec<Object> = connection
        .prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema LIMIT 201")
        .map_err(stop)?
        .query_map([], |row| {
            Ok(Object {
                kind: row.get(0)?,
                name: row.get(1)?,
                table: row.get(2)?,
                sql: row.get::<_, Option<String>>(3)?.unwrap_or_default(),
            })
        })
        .map_err(stop)?
        .collect::<Result<_, _>>()
        .map_err(stop)?;
    if objects.len() > MOST_OBJECTS {
        return Err(Stop::fault(
            FaultKind::SchemaObject,
            None,
            "the schema has more than 200 objects",
        ));
    }
    Ok(objects)
}

fn judge(connection: &Connection, objects: &[Object]) -> Result<Schema, Stop> {
    let mut schema = Schema::default();
    if objects
        .iter()
        .any(|o| o.kind == "table" && o.name == "vectors" && is_vec0(&o.sql))
    {
        schema.vec0 = Some(Vec::new());
    }
    for object in objects {
        foreign_object(&mut schema, object);
    }
    if !schema.faults.is_empty() {
        return Ok(schema);
    }
    for table in TABLES {
        if !objects
            .iter()
            .any(|o| o.kind == "table" && o.name == table.name)
        {
            schema.fault(
                FaultKind::Missing,
                Some(table.name),
                format!("the table `{}` is missing", table.name),
            );
        }
    }
    for object in objects
        .iter()
        .filter(|o| o.kind == "table" && !is_virtual(&o.sql))
    {
        let known = TABLES.iter().find(|t| t.name == object.name);
        columns(connection, &mut schema, &object.name, known)?;
        indexes(connection, &mut schema, &object.name, known)?;
    }
    Ok(schema)
}

/// Reports an object that the format does not have, or has in another form.
fn foreign_object(schema: &mut Schema, object: &Object) {
    let shown = crate::model::shorten(&object.name);
    let known = TABLES
        .iter()
        .find(|t| t.name == object.name)
        .map(|t| t.name);
    let message = match object.kind.as_str() {
        "table" if is_virtual(&object.sql) => {
            if known == Some("vectors") && schema.vec0.is_some() {
                return;
            }
            format!(
                "`{shown}` is a virtual table; the only one the format knows is `vectors USING vec0`"
            )
        }
        "table" if known.is_some() || is_internal(&object.name) => return,
        "table" if is_shadow(&object.name) => match &mut schema.vec0 {
            Some(shadows) => return shadows.push(object.name.clone()),
            None => format!(
                "the table `{shown}` is a shadow table of `vectors`, which is no vec0 table"
            ),
        },
        "table" => format!("the format has no table `{shown}`"),
        // An index without SQL belongs to a constraint of its table, which is judged with the table.
        "index" if object.name.starts_with("sqlite_autoindex_") && object.sql.is_empty() => return,
        "index" if (object.name.as_str(), object.table.as_str()) == INDEX => return,
        "index" => format!("the format has no index `{shown}`"),
        kind => format!(
            "the format has no {}: `{shown}`",
            crate::model::shorten(kind)
        ),
    };
    schema.fault(FaultKind::SchemaObject, known, message);
}

/// The tables that SQLite itself keeps, for AUTOINCREMENT and ANALYZE.
fn is_internal(name: &str) -> bool {
    matches!(
        name,
        "sqlite_sequence" | "sqlite_stat1" | "sqlite_stat2" | "sqlite_stat3" | "sqlite_stat4"
    )
}

/// The table's SQL begins with CREATE VIRTUAL TABLE, which SQLite stores in this normal form.
fn is_virtual(sql: &str) -> bool {
    let mut words = sql.split_whitespace();
    let second = words.nth(1).unwrap_or_default();
    second.eq_ignore_ascii_case("virtual")
}

fn is_vec0(sql: &str) -> bool {
    let normal: String = sql
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .to_ascii_lowercase();
    let Some(rest) = normal.strip_prefix("create virtual table ") else {
        return false;
    };
    let rest = rest.strip_prefix("if not exists ").unwrap_or(rest);
    ["vectors", "\"vectors\"", "[vectors]", "`vectors`"]
        .iter()
        .find_map(|name| rest.strip_prefix(name))
        .and_then(|rest| rest.trim_start().strip_prefix("using vec0"))
        .is_some_and(|rest| rest.trim_start().starts_with('('))
}

/// sqlite-vec's shadow tables of `vectors`.
fn is_shadow(name: &str) -> bool {
    let numbered = |stem: &str| {
        name.strip_prefix(stem)
            .is_some_and(|n| n.len() == 2 && n.bytes().all(|b| b.is_ascii_digit()))
    };
    matches!(
        name,
        "vectors_chunks" | "vectors_rowids" | "vectors_info" | "vectors_auxiliary"
    ) || numbered("vectors_vector_chunks")
        || numbered("vectors_metadatachunks")
        || numbered("vectors_metadatatext")
}

/// What a pragma says of a table or an index, row by row. `name` passed `foreign_object` or [`is_word`], so it is a
/// plain word and the statement a constant in effect.
fn pragma<T>(
    connection: &Connection,
    pragma: &str,
    name: &str,
    place: Option<&'static str>,
    row: fn(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>, Stop> {
    let rows = || {
        connection
            .prepare(&format!("PRAGMA {pragma}({name})"))?
            .query_map([], row)?
            .collect::<rusqlite::Result<Vec<T>>>()
    };
    rows().map_err(|e| Stop::of_sqlite(&e, place))
}

/// The columns of a table of ours, of SQLite's or of vec0's: none may be computed, and ours must have the format's.
fn columns(
    connection: &Connection,
    schema: &mut Schema,
    name: &str,
    known: Option<&Table>,
) -> Result<(), Stop> {
    let place = known.map(|t| t.name);
    let found: Vec<(String, i64)> = pragma(connection, "table_xinfo", name, place, |row| {
        Ok((row.get(1)?, row.get(6)?))
    })?;
    for (column, hidden) in &found {
        let shown = crate::model::shorten(column);
        if *hidden != 0 {
            let message = format!("the column `{shown}` of `{name}` is generated or hidden");
            schema.fault(FaultKind::SchemaObject, place, message);
        } else if known.is_some_and(|t| !t.columns.contains(&column.as_str())) {
            let message =
                format!("the format has no column `{shown}` in `{name}`; no rule looks at it");
            schema.fault(FaultKind::ExtraColumn, place, message);
        }
    }
    let has = |name: &str| found.iter().any(|(column, _)| column == name);
    for column in known.map_or(&[][..], |t| t.columns) {
        if !has(column) && !known.is_some_and(|t| t.optional.contains(column)) {
            schema.fault(
                FaultKind::Missing,
                place,
                format!("the column `{column}` of `{name}` is missing"),
            );
        }
    }
    match name {
        "signatures" => schema.has_pem_column = has("public_key_pem"),
        "acx_skill" => {
            schema.skill_key = if has("sqlar_path") {
                "sqlar_path"
            } else {
                "name"
            }
        }
        _ => {}
    }
    Ok(())
}

/// An index over an expression, or over some rows only, would run text of the file while its structure is checked.
fn indexes(
    connection: &Connection,
    schema: &mut Schema,
    name: &str,
    known: Option<&Table>,
) -> Result<(), Stop> {
    let place = known.map(|t| t.name);
    let indexes: Vec<(String, bool)> = pragma(connection, "index_list", name, place, |row| {
        Ok((row.get(1)?, row.get(4)?))
    })?;
    for (index, partial) in indexes {
        // Only `memory_zone_fp` and names that SQLite made itself come this far.
        let plain = !partial
            && is_word(&index)
            && pragma(connection, "index_xinfo", &index, place, |row| {
                row.get::<_, i64>(1)
            })?
            .iter()
            .all(|column| *column != -2);
        if !plain {
            let shown = crate::model::shorten(&index);
            let message =
                format!("the index `{shown}` is over an expression or over some rows only");
            schema.fault(FaultKind::SchemaObject, place, message);
        }
    }
    Ok(())
}

fn is_word(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
