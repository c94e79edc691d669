//! Writing what was learned in one codebase into a cartridge's SAVE zone.
//!
//! The signature covers the ROM zone alone, so it holds as before, and that is checked, not assumed: the cartridge is
//! judged before and after, and the manifest and the envelope must be the same.

use rusqlite::{Connection, params};
use serde_json::json;

use super::embed_dataset::SAVE_FLAG;
use super::merge::{self, Record};
use crate::check::Settings;
use crate::container::{self, Cartridge, MemoryRow, Zone};
use crate::finding::Finding;
use crate::model::{Digest, Json, KeyId, Timestamp, json as strict};
use crate::policy::{Policy, TrustRegistry};
use crate::verdict::{self, Admitted};

/// The label of what was learned in a codebase that is not named.
const LABEL: &str = "field-learned";
/// Where a cartridge says which codebase its SAVE zone is of.
const CODEBASE_KEY: &str = "acx.save_codebase_fingerprint";

/// What became of the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It is new.
    Added,
    /// It and one or more that were there are one now.
    Merged,
    /// It was there already.
    Unchanged,
}

/// A cartridge that learned.
#[derive(Debug)]
pub struct Learned {
    /// The file's bytes; those that came in where nothing changed.
    pub bytes: Vec<u8>,
    /// What became of the record.
    pub outcome: Outcome,
    /// The record as it is stored.
    pub record: Json,
    /// The signed manifest hash before, verified.
    pub rom_before: Digest,
    /// The signed manifest hash after, verified; equal, or nothing is given.
    pub rom_after: Digest,
    /// The key whose signature holds, before and after.
    pub keyid: KeyId,
}

/// Why nothing was learned.
#[derive(Debug)]
pub enum NotLearned {
    /// The cartridge is not clean, or its signature does not hold.
    Rejected(Vec<Finding>),
    /// The record is none, for these reasons.
    Record(Vec<String>),
    /// Anything else.
    Reason(String),
}

/// Writes a record that was learned in the codebase of this fingerprint.
///
/// # Errors
/// [`NotLearned`]; the bytes that came in are as they were.
pub fn learn(
    bytes: &[u8],
    record: &Json,
    fingerprint: &str,
    now: &Timestamp,
) -> Result<Learned, NotLearned> {
    let before = admit(bytes, now)?;
    let record = complete(record, fingerprint).map_err(NotLearned::Record)?;
    let change = Change::plan(before.cartridge(), record).map_err(NotLearned::Reason)?;
    let is_new = !change.is_empty() || before.cartridge().meta(CODEBASE_KEY) != Some(fingerprint);
    let bytes = if is_new {
        change
            .apply(bytes, fingerprint, now)
            .map_err(|e| NotLearned::Reason(format!("SQLite cannot store the record: {e}")))?
    } else {
        bytes.to_vec()
    };
    let after = admit(&bytes, now)?;
    let envelopes = |admitted: &Admitted| -> Vec<String> {
        let rows = admitted.cartridge().signatures.iter();
        rows.map(|row| row.envelope.clone()).collect()
    };
    if before.signed().manifest != after.signed().manifest
        || envelopes(&before) != envelopes(&after)
    {
        return Err(NotLearned::Reason(format!(
            "the ROM hash or the signature would change ({} to {}); nothing was written",
            before.signed().manifest,
            after.signed().manifest
        )));
    }
    Ok(Learned {
        bytes,
        outcome: change.outcome(),
        record: change.record.json().clone(),
        rom_before: before.signed().manifest,
        rom_after: after.signed().manifest,
        keyid: after.signed().key.id().clone(),
    })
}

fn admit(bytes: &[u8], now: &Timestamp) -> Result<Box<Admitted>, NotLearned> {
    let settings = Settings {
        policy: &Policy::default(),
        trust: &TrustRegistry::default(),
        own_keys: &[],
        now,
        public: false,
    };
    let judgement = verdict::judge("the cartridge", bytes, settings, |_, _| {})
        .map_err(|refusal| NotLearned::Reason(refusal.0))?;
    judgement
        .admitted
        .ok_or(NotLearned::Rejected(judgement.findings))
}

/// The record with everything that follows from its being learned in this codebase.
fn complete(record: &Json, fingerprint: &str) -> Result<Record, Vec<String>> {
    let mut record = record.clone();
    let Some(members) = record.as_object_mut() else {
        return Err(vec![format!(
            "expected one record, an object, found {}",
            strict::shown(&record)
        )]);
    };
    if members.get("portable") == Some(&Json::Bool(true)) {
        return Err(vec![
            "/portable: expected false, found true: what is portable belongs into the package that is exported"
                .to_owned(),
        ]);
    }
    if let Some(stated) = members
        .get("codebaseFingerprint")
        .filter(|f| !f.is_null() && f.as_str() != Some(fingerprint))
    {
        return Err(vec![format!(
            "/codebaseFingerprint: expected {fingerprint:?} or none, found {}",
            strict::shown(stated)
        )]);
    }
    let id = members.get("id").and_then(Json::as_str).unwrap_or_default();
    let markdown = format!("knowledge/{id}.md");
    for (name, value) in [
        ("markdownPath", json!(markdown)),
        ("origin", json!("native")),
    ] {
        members.entry(name).or_insert(value);
    }
    // The repository's name must not stand beside the fingerprint that hides it.
    for (name, value) in [
        ("portable", json!(false)),
        ("zone", json!(Zone::Save.as_str())),
        ("codebaseFingerprint", json!(fingerprint)),
        ("repoId", Json::Null),
        ("repoLabel", json!(LABEL)),
        ("projectLabel", json!(LABEL)),
        ("foreign", json!(false)),
    ] {
        members.insert(name.to_owned(), value);
    }
    merge::seal(&mut record);
    Record::of_json(&record)
}

/// What is to be done to the memory table.
struct Change {
    /// The record, merged with what is there of the same lesson.
    record: Record,
    /// Its payload.
    payload: String,
    /// The rows that it replaces.
    replaced: Vec<String>,
    /// The row is there as it should be.
    is_stored: bool,
}

impl Change {
    fn plan(cartridge: &Cartridge, new: Record) -> Result<Self, String> {
        let codebase = |row: &&MemoryRow| row.zone == Zone::Save;
        let known: Vec<(&MemoryRow, Record)> = cartridge
            .memory
            .iter()
            .filter(codebase)
            .filter_map(|row| {
                let payload = strict::parse(row.payload.as_bytes()).ok()?;
                let record = Record::of_json(&payload).ok()?;
                (record.tier() == new.tier()).then_some((row, record))
            })
            .collect();
        let all = known.iter().map(|(_, record)| record.clone());
        let merged = merge::merge(all.chain([new.clone()]));
        let keys = merge::Keys::of(std::slice::from_ref(&new));
        let record = merged
            .into_iter()
            .find(|record| keys.meets(record))
            .ok_or("the record was lost in the merge")?;
        let payload = String::from_utf8(strict::canonical(record.json()))
            .map_err(|e| format!("the record has no canonical form: {e}"))?;
        let keys = merge::Keys::of(std::slice::from_ref(&record));
        let same: Vec<&MemoryRow> = known
            .iter()
            .filter(|(_, other)| keys.meets(other))
            .map(|(row, _)| *row)
            .collect();
        let replaced: Vec<String> = same.iter().map(|row| row.id.clone()).collect();
        if let Some(taken) = cartridge
            .memory_row(record.id())
            .filter(|row| !replaced.contains(&row.id))
        {
            return Err(format!(
                "the id {:?} is taken by a record in the zone {} that is of another tier or codebase; give the new one another id",
                crate::model::shorten(&taken.id),
                taken.zone.as_str()
            ));
        }
        let is_stored = matches!(same.as_slice(), [row] if row.payload == payload);
        Ok(Self {
            record,
            payload,
            replaced,
            is_stored,
        })
    }

    fn is_empty(&self) -> bool {
        self.is_stored
    }

    fn outcome(&self) -> Outcome {
        match (self.is_stored, self.replaced.is_empty()) {
            (true, _) => Outcome::Unchanged,
            (false, true) => Outcome::Added,
            (false, false) => Outcome::Merged,
        }
    }

    fn apply(&self, bytes: &[u8], fingerprint: &str, now: &Timestamp) -> rusqlite::Result<Vec<u8>> {
        let mut connection = Connection::open_in_memory()?;
        container::load(&mut connection, bytes, false)?;
        let flags: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        // A virtual table's rows need its module; a host makes its vectors anew anyway.
        let plain_vectors: bool = connection.query_row(
            "SELECT count(*) > 0 FROM sqlite_schema WHERE name = 'vectors' AND sql NOT LIKE 'CREATE VIRTUAL%'",
            [],
            |row| row.get(0),
        )?;
        let transaction = connection.transaction()?;
        if !self.is_stored {
            for id in &self.replaced {
                transaction.execute(
                    "DELETE FROM memory WHERE id = ?1 AND zone = 'save'",
                    params![id],
                )?;
                transaction.execute(
                    "DELETE FROM objects WHERE source_ref = ?1 AND zone = 'save'",
                    params![format!("memory:{id}")],
                )?;
                if plain_vectors {
                    transaction.execute(
                        "DELETE FROM vectors WHERE memory_id = ?1 AND zone = 'save'",
                        params![id],
                    )?;
                }
            }
            let oid = Digest::of(self.payload.as_bytes()).to_string();
            let field = |name: &str| self.record.json().get(name).and_then(Json::as_str);
            transaction.execute(
                "INSERT INTO memory (id, zone, artifact_fingerprint, codebase_fingerprint, payload, oid, created_at) \
                 VALUES (?1, 'save', ?2, ?3, ?4, ?5, ?6)",
                params![
                    self.record.id(),
                    field("artifactFingerprint"),
                    fingerprint,
                    self.payload,
                    oid,
                    now.to_millis().as_str()
                ],
            )?;
            transaction.execute(
                "INSERT INTO objects (oid, kind, source_ref, canon, zone, sz) \
                 VALUES (?1, 'memory', ?2, 'jcs-rfc8785', 'save', ?3)",
                params![
                    oid,
                    format!("memory:{}", self.record.id()),
                    i64::try_from(self.payload.len()).unwrap_or(i64::MAX)
                ],
            )?;
        }
        transaction.execute(
            "DELETE FROM cartridge WHERE key = ?1",
            params![CODEBASE_KEY],
        )?;
        transaction.execute(
            "INSERT INTO cartridge (key, value) VALUES (?1, ?2)",
            params![CODEBASE_KEY, fingerprint],
        )?;
        transaction.pragma_update(None, "user_version", flags | SAVE_FLAG)?;
        transaction.commit()?;
        Ok(connection.serialize(rusqlite::MAIN_DB)?.to_vec())
    }
}
