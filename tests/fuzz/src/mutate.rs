//! Changes to sound files, as an input tells: cells of a database, members of a JSON document.

use serde_json::{Value, json};

use crate::support::keys;

/// Numbers and texts out of an input.
pub struct Input<'a>(pub &'a [u8]);

impl<'a> Input<'a> {
    /// The next.
    pub fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    /// The next.
    pub fn short(&mut self) -> Option<usize> {
        Some(usize::from(self.byte()?) << 8 | usize::from(self.byte()?))
    }

    /// One of many; none of none.
    pub fn pick<'b, T>(&mut self, of: &'b [T]) -> Option<&'b T> {
        let at = self.short()?;
        of.get(at.checked_rem(of.len())?)
    }

    /// As many bytes as the next byte says, or what there is.
    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let wanted = usize::from(self.byte()?);
        let (taken, rest) = self.0.split_at(wanted.min(self.0.len()));
        self.0 = rest;
        Some(taken)
    }

    /// The next.
    pub fn text(&mut self) -> Option<String> {
        Some(String::from_utf8_lossy(self.bytes()?).into_owned())
    }
}

/// Tables whose cells are changed, with their columns.
pub const CELLS: &[(&str, &[&str])] = &[
    ("cartridge", &["key", "value"]),
    ("sqlar", &["name", "mode", "mtime", "sz", "data"]),
    (
        "memory",
        &[
            "id",
            "zone",
            "artifact_fingerprint",
            "codebase_fingerprint",
            "payload",
            "oid",
            "created_at",
        ],
    ),
    ("capabilities", &["id", "json", "content_hash"]),
    (
        "attestations",
        &[
            "att_id",
            "type",
            "subject_oid",
            "media_type",
            "document",
            "status_url",
            "created_at",
        ],
    ),
    (
        "objects",
        &["oid", "kind", "source_ref", "canon", "zone", "sz"],
    ),
    (
        "signatures",
        &[
            "sig_id",
            "target",
            "manifest_hash",
            "envelope",
            "keyid",
            "public_key_pem",
            "alg",
            "created_at",
        ],
    ),
    (
        "acx_skill",
        &[
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
    ),
];

/// What is made of a cell, as SQL over the old value `c` and a new one `?1`.
pub const CHANGES: &[&str] = &[
    "?1",
    "NULL",
    "CAST(c AS BLOB)",
    "CAST(c AS TEXT)",
    "CAST(c AS INTEGER)",
    "CAST(c AS REAL)",
    "c || ?1",
    "?1 || c",
    "c || char(0)",
    "c || char(0) || ?1",
    "upper(c)",
    "lower(c)",
    "substr(c, 1, length(c) - 1)",
    "substr(c, 2)",
    "replace(c, substr(?1, 1, 1), substr(?1, 2))",
    "replace(c, ':', ': ')",
    "trim(c, '{}[]\"')",
    "hex(c)",
    "c + 1",
    "-1",
    "9223372036854775807",
    "9e999",
    "zeroblob(70000)",
    "(SELECT c2 FROM other)",
];

/// The file after work on it in memory.
pub fn with_database(
    bytes: &[u8],
    work: impl FnOnce(&rusqlite::Connection),
) -> rusqlite::Result<Vec<u8>> {
    let mut db = rusqlite::Connection::open_in_memory()?;
    db.deserialize_read_exact("main", bytes, bytes.len(), false)?;
    work(&db);
    Ok(db.serialize("main")?.to_vec())
}

/// Changes cells and rows, `most` times at the most. Each change stands alone: one that SQLite refuses leaves the others.
pub fn change_cells(db: &rusqlite::Connection, input: &mut Input<'_>, most: usize) {
    for _ in 0..most {
        let Some(kind) = input.byte() else { return };
        let Some((table, columns)) = input.pick(CELLS) else {
            return;
        };
        let (Some(row), Some(column)) = (input.short(), input.pick(columns)) else {
            return;
        };
        // The first column is the key.
        let key = columns[0];
        let nth = |row: usize| {
            format!(
                "(SELECT {key} FROM {table} ORDER BY {key} LIMIT 1 OFFSET {row} % max(1, (SELECT count(*) FROM {table})))"
            )
        };
        let run = |sql: String, new: &dyn rusqlite::ToSql| {
            let Ok(mut statement) = db.prepare(&sql) else {
                return;
            };
            let _ = if statement.parameter_count() == 0 {
                statement.execute([])
            } else {
                statement.execute([new])
            };
        };
        match kind % 8 {
            6 => run(
                format!("DELETE FROM {table} WHERE {key} = {}", nth(row)),
                &0,
            ),
            7 => {
                let copied: Vec<String> = columns
                    .iter()
                    .map(|c| {
                        if c == column {
                            "?1".to_owned()
                        } else {
                            (*c).to_owned()
                        }
                    })
                    .collect();
                let Some(new) = input.text() else { return };
                run(
                    format!(
                        "INSERT INTO {table} ({}) SELECT {} FROM {table} WHERE {key} = {}",
                        columns.join(", "),
                        copied.join(", "),
                        nth(row)
                    ),
                    &new,
                );
            }
            _ => {
                let (Some(change), Some(other)) = (input.pick(CHANGES), input.short()) else {
                    return;
                };
                let change = change.replace(
                    "(SELECT c2 FROM other)",
                    &format!(
                        "(SELECT {column} FROM {table} WHERE {key} = {})",
                        nth(other)
                    ),
                );
                let sql = format!(
                    "UPDATE {table} SET {column} = (SELECT {change} FROM (SELECT {column} AS c FROM {table} WHERE {key} = {row})) WHERE {key} = {row}",
                    row = nth(row)
                );
                let Some(new) = input.bytes() else { return };
                match (kind % 3, std::str::from_utf8(new)) {
                    (0, Ok(text)) => run(sql, &text),
                    (1, Ok(text)) if text.parse::<f64>().is_ok() => {
                        run(sql, &text.parse::<f64>().unwrap_or_default());
                    }
                    _ => run(sql, &new),
                }
            }
        }
    }
}

/// Values that a JSON document is given in place of its own.
fn palette() -> Vec<Value> {
    vec![
        Value::Null,
        json!(true),
        json!(0),
        json!(-1),
        json!(1.5),
        json!(1e300),
        json!(9_007_199_254_740_993_u64),
        json!(""),
        json!("\u{0}"),
        json!("../../etc/passwd"),
        json!("<script>alert(1)</script>"),
        json!("\u{202e}\u{feff}é"),
        json!("9999-12-31T23:59:60Z"),
        json!("0000-01-01T00:00:00Z"),
        json!("99999999999999999999.0.0"),
        json!("-----BEGIN PRIVATE KEY-----"),
        json!(keys::sha256(b"x")),
        json!([]),
        json!({}),
        json!([[[[[[[[]]]]]]]]),
        json!({"__proto__": {"constructor": null}}),
    ]
}

/// Every place of a document, as a pointer.
fn pointers(value: &Value, at: &str, out: &mut Vec<String>) {
    out.push(at.to_owned());
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let name = name.replace('~', "~0").replace('/', "~1");
                pointers(member, &format!("{at}/{name}"), out);
            }
        }
        Value::Array(items) => {
            for (n, item) in items.iter().enumerate() {
                pointers(item, &format!("{at}/{n}"), out);
            }
        }
        _ => {}
    }
}

/// Replaces, adds, repeats, moves and takes out members, `most` times at the most.
pub fn edit(document: &mut Value, input: &mut Input<'_>, most: usize) {
    for _ in 0..most {
        let Some(kind) = input.byte() else { return };
        let mut places = Vec::new();
        pointers(document, "", &mut places);
        if places.len() > 4_000 {
            return;
        }
        let Some(at) = input.pick(&places) else {
            return;
        };
        let Some(place) = document.pointer_mut(at) else {
            continue;
        };
        match kind % 7 {
            0 => {
                let Some(new) = input.pick(&palette()).cloned() else {
                    return;
                };
                *place = new;
            }
            1 => {
                let Some(text) = input.text() else { return };
                *place = serde_json::from_str(&text).unwrap_or(Value::String(text));
            }
            2 => match place {
                Value::Object(members) => {
                    let Some(at) = input.short() else { return };
                    let name = members.keys().nth(at % members.len().max(1)).cloned();
                    if let Some(name) = name {
                        members.shift_remove(&name);
                    }
                }
                Value::Array(items) if !items.is_empty() => {
                    let Some(at) = input.short() else { return };
                    items.remove(at % items.len());
                }
                Value::String(text) => {
                    let Some(more) = input.text() else { return };
                    text.push_str(&more);
                }
                Value::Number(number) => {
                    let Some(by) = input.byte() else { return };
                    *place = json!(number.as_f64().unwrap_or(0.0) + f64::from(by) - 128.0);
                }
                _ => {}
            },
            3 => {
                let Some(name) = input.text() else { return };
                match place {
                    Value::Object(members) => {
                        members.insert(name, json!("new"));
                    }
                    Value::Array(items) => items.push(json!(name)),
                    Value::String(text) => *text = text.to_uppercase(),
                    _ => {}
                }
            }
            4 => {
                let mut copy = place.clone();
                let Some(times) = input.byte() else { return };
                if let (Value::Array(items), true) = (&mut copy, places.len() < 1_000) {
                    let again = items.clone();
                    for _ in 0..times % 8 {
                        items.extend(again.iter().cloned());
                    }
                    if let Some(place) = document.pointer_mut(at) {
                        *place = copy;
                    }
                }
            }
            5 => {
                let copy = place.clone();
                let Some(other) = input.pick(&places) else {
                    return;
                };
                if let (Some(other), true) = (document.pointer_mut(other), places.len() < 1_000) {
                    *other = copy;
                }
            }
            _ => {
                if let Value::Array(items) = place {
                    items.reverse();
                }
            }
        }
    }
}
