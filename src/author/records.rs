//! A package's `memory-records.json` → rows of `memory`.
//!
//! A record that names a repository was learned there. It stays out, unless it is asked for; then it goes to the SAVE
//! zone under its codebase's fingerprint, and its repository's name goes nowhere. Every other record is portable. Only
//! the fields that the format knows are carried over, so that nothing private travels in one that it does not.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::codebase::{self, Salt};
use super::fields::{Fields, parse};
use super::manifest::slug;
use super::package::{Package, Problem, RECORDS};
use super::skills::is_portable;
use crate::check::memory_fingerprint;
use crate::container::{Limits, MemoryRow, Zone};
use crate::model::{Digest, Json, Timestamp, json as strict, shorten};

/// Characters of an id, a source type and a tag.
const SHORT: usize = 256;
/// Characters of a title.
const TITLE: usize = 4_096;
/// Characters of a summary.
const SUMMARY: usize = 200_000;
/// Tags of one record.
const TAGS: usize = 256;
/// The labels of every portable record.
const PORTABLE: &str = "portable-core";
/// The labels of every field-learned record.
const FIELD_LEARNED: &str = "field-learned";
/// Labels that tell nothing.
const SENTINELS: [&str; 2] = [PORTABLE, FIELD_LEARNED];
/// Problems that are listed; a broken file has as many as records.
const LISTED: usize = 50;

/// The fields that an input record may have.
const FIELDS: [&str; 23] = [
    "artifactFingerprint",
    "codebaseFingerprint",
    "embeddingEngine",
    "foreign",
    "id",
    "impact",
    "importedFrom",
    "markdownPath",
    "mergedFrom",
    "origin",
    "packageSlug",
    "portable",
    "projectLabel",
    "repoId",
    "repoLabel",
    "similarity",
    "sourceType",
    "summary",
    "tags",
    "timestamp",
    "title",
    "xpAwarded",
    "zone",
];

/// The memory of a package.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// Rows in the order of their ids, each with its timestamp.
    pub rows: Vec<(MemoryRow, String)>,
    /// Field-learned records that were left out.
    pub left_out: usize,
    /// Raw names of repositories and projects: no text of the cartridge may have them.
    pub repositories: BTreeSet<String>,
}

/// Reads the records. `salt` is there when field-learned records are wanted.
pub(super) fn read(
    package: &Package,
    include_field_learned: bool,
    salt: Option<&Salt>,
    limits: &Limits,
    notes: &mut Vec<String>,
) -> Result<Memory, Vec<Problem>> {
    let mut memory = Memory::default();
    let Some(data) = package.file(RECORDS) else {
        return Ok(memory);
    };
    let whole = |message: String| vec![Problem::new(RECORDS, "", message)];
    let value = parse(RECORDS, data).map_err(|p| vec![p])?;
    let list = value
        .as_array()
        .ok_or_else(|| whole("expected a JSON array of records".to_owned()))?;
    if list.len() as u64 > limits.memory_records {
        let message = format!(
            "expected at most {} records, found {}",
            limits.memory_records,
            list.len()
        );
        return Err(whole(message));
    }
    let mut problems = Vec::new();
    let mut ids = BTreeSet::new();
    let mut unknown = BTreeSet::new();
    for (at, record) in list.iter().enumerate() {
        let at = format!("/{at}");
        let Some(object) = record.as_object() else {
            problems.push(Problem::new(RECORDS, at, "expected an object"));
            continue;
        };
        unknown.extend(
            object
                .keys()
                .filter(|name| !FIELDS.contains(&name.as_str()))
                .take(8)
                .map(|name| shorten(name)),
        );
        let mut fields = Fields {
            file: RECORDS,
            at,
            object,
            problems: &mut problems,
        };
        repositories(&mut fields, &mut memory.repositories);
        let learned_in = fields.get("repoId").and_then(Json::as_str).map(str::trim);
        let learned_in = learned_in
            .filter(|repo| !repo.is_empty())
            .map(str::to_owned);
        let field_learned =
            learned_in.is_some() || fields.get("portable") == Some(&Json::Bool(false));
        if field_learned && !include_field_learned {
            memory.left_out += 1;
            continue;
        }
        let codebase = if field_learned {
            codebase_of(&mut fields, learned_in.as_deref(), salt)
        } else {
            None
        };
        let before = fields.problems.len();
        let content = content(&mut fields);
        let id = content
            .get("id")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if !ids.insert(id.to_owned()) {
            fields.problem(
                "id",
                format!("the id {:?} is another record's too", shorten(id)),
            );
        }
        if fields.problems.len() == before {
            memory.rows.push(sealed(content, codebase));
        }
        if problems.len() >= LISTED {
            problems.push(Problem::new(RECORDS, "", "… and the records after these"));
            break;
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    if !unknown.is_empty() {
        let names: Vec<&str> = unknown.iter().take(8).map(String::as_str).collect();
        notes.push(format!(
            "{RECORDS}: fields that are none of the format's are left out: {}",
            names.join(", ")
        ));
    }
    memory.rows.sort_by(|(a, _), (b, _)| a.id.cmp(&b.id));
    Ok(memory)
}

/// The names that would tell where a record was learned: its repository, and labels that look like one. Of a record
/// that names its repository, a label of one word with a hyphen and the like is a name as well.
fn repositories(fields: &mut Fields<'_>, names: &mut BTreeSet<String>) {
    if fields.get("repoId").is_some_and(|v| !v.is_string()) {
        fields.wrong("repoId", "a text or null");
    }
    let text = |name: &str| fields.get(name).and_then(Json::as_str).map(str::trim);
    let repo = text("repoId").filter(|t| !t.is_empty());
    let one_word = |label: &str| {
        repo.is_some()
            && label.contains(['-', '_', '.'])
            && !label.contains(char::is_whitespace)
            && !SENTINELS.contains(&label)
    };
    let labels = ["repoLabel", "projectLabel"].into_iter().filter_map(text);
    names.extend(
        repo.into_iter()
            .chain(labels.filter(|label| is_slug(label) || one_word(label)))
            .map(str::to_owned),
    );
}

/// `owner/name`, as code hosts name repositories.
fn is_slug(label: &str) -> bool {
    let part = |p: &str| {
        !p.is_empty()
            && p.bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
    };
    label
        .split_once('/')
        .is_some_and(|(owner, name)| part(owner) && part(name))
}

fn codebase_of(
    fields: &mut Fields<'_>,
    repository: Option<&str>,
    salt: Option<&Salt>,
) -> Option<String> {
    let stated = fields.get("codebaseFingerprint").and_then(Json::as_str);
    if let Some(stated) = stated.filter(|text| codebase::is_fingerprint(text)) {
        return Some(stated.to_owned());
    }
    match (repository, salt) {
        (Some(repository), Some(salt)) => {
            Some(salt.fingerprint(&codebase::canonical_identity(repository)))
        }
        (Some(_), None) => {
            fields.problem("repoId", "a field-learned record needs the installation's salt for its codebase's fingerprint; give --salt FILE");
            None
        }
        (None, _) => {
            fields.wrong("codebaseFingerprint", "`cbf1_` and 40 hex digits for a record that is not portable and names no repository");
            None
        }
    }
}

/// The fields that are the record's own.
fn content(fields: &mut Fields<'_>) -> Map<String, Value> {
    let id = fields.required("id", SHORT);
    let title = fields.required("title", TITLE);
    let summary = fields.required("summary", SUMMARY);
    let source_type = fields.required("sourceType", SHORT);
    if fields.get("timestamp").is_none() {
        fields.wrong(
            "timestamp",
            "an RFC 3339 time such as `2026-07-01T00:00:00Z`",
        );
    }
    let timestamp = fields.checked::<Timestamp>("timestamp");
    let impact = fields
        .get("impact")
        .and_then(Json::as_str)
        .unwrap_or_default();
    if !["positive", "neutral", "negative"].contains(&impact) {
        fields.wrong("impact", "positive, neutral or negative");
    }
    let xp = fields.get("xpAwarded").and_then(Json::as_f64);
    let xp = xp.filter(|xp| xp.fract() == 0.0 && (0.0..=f64::from(i32::MAX)).contains(xp));
    if xp.is_none() {
        fields.wrong("xpAwarded", "a whole number from 0 to 2147483647");
    }
    if fields.get("tags").is_none() {
        fields.wrong("tags", "a list of texts");
    }
    let tags = fields.texts("tags", TAGS, SHORT).unwrap_or_default();
    let origin = match fields.get("origin").and_then(Json::as_str) {
        Some("imported") => "imported",
        _ => "native",
    };
    // Hosts make a file of this name: an id that is no safe name gives one that is.
    let page = if is_portable(&id) {
        id.clone()
    } else {
        slug(&id)
    };
    let value = json!({
        "id": id,
        "title": title,
        "summary": summary,
        "sourceType": source_type,
        "timestamp": timestamp,
        "impact": impact,
        "xpAwarded": xp.unwrap_or_default() as i64,
        "tags": tags,
        "origin": origin,
        "markdownPath": format!("knowledge/{page}.md"),
    });
    match value {
        Value::Object(content) => content,
        _ => Map::new(),
    }
}

/// The row of a record, portable unless it has a codebase.
fn sealed(mut record: Map<String, Value>, codebase: Option<String>) -> (MemoryRow, String) {
    let text = |record: &Map<String, Value>, name: &str| {
        record
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let (zone, label) = match codebase {
        Some(_) => (Zone::Save, FIELD_LEARNED),
        None => (Zone::Rom, PORTABLE),
    };
    if codebase.is_some() {
        record.insert("foreign".to_owned(), true.into());
    }
    record.insert("portable".to_owned(), codebase.is_none().into());
    record.insert("codebaseFingerprint".to_owned(), codebase.clone().into());
    record.insert("repoId".to_owned(), Value::Null);
    record.insert("repoLabel".to_owned(), label.into());
    record.insert("projectLabel".to_owned(), label.into());
    record.insert("zone".to_owned(), zone.as_str().into());
    let mut record = Value::Object(record);
    // Every field that it is made of was checked.
    let fingerprint = memory_fingerprint::fingerprint(&record).unwrap_or_default();
    if let Some(object) = record.as_object_mut() {
        object.insert("artifactFingerprint".to_owned(), fingerprint.clone().into());
    }
    let payload = String::from_utf8(strict::canonical(&record)).unwrap_or_default();
    let created_at = record
        .as_object()
        .map(|r| text(r, "timestamp"))
        .unwrap_or_default();
    let row = MemoryRow {
        id: record
            .as_object()
            .map(|r| text(r, "id"))
            .unwrap_or_default(),
        zone,
        artifact_fingerprint: fingerprint,
        codebase_fingerprint: codebase,
        oid: Digest::of(payload.as_bytes()).to_string(),
        payload,
    };
    (row, created_at)
}
