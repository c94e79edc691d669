//! Merging memory records by two keys, the same whatever the order in which they come.
//!
//! Two records of one tier and one codebase are the same lesson when they share an id or a fingerprint, and so are two
//! that are each the same as a third. Such a group becomes one record: every field that can differ is folded by a rule
//! that does not care about order, and the rest is that of the smallest id, ties broken by content.
//!
//! A merged record would forget the keys of the others, and a later copy of one of them would count as new, so that
//! the result depended on which records were merged first. Therefore it remembers them, in the field `mergedFrom`.
//!
//! The fingerprint that counts is the content's, not the one that a record states: otherwise one record could claim to
//! be another.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, json};

use super::codebase;
use crate::check::memory_fingerprint;
use crate::model::json::shown;
use crate::model::{Digest, Json, Timestamp, hex, json as strict};
use crate::schema::MEMORY_RECORD;

/// Characters of a record's id.
const ID: usize = 256;
/// The field in which a merged record remembers the keys of those that it was made from.
pub const MERGED_FROM: &str = "mergedFrom";
/// The label of what is no longer tied to a repository.
const PORTABLE_LABEL: &str = "portable-core";

/// Which records may become one: those of one tier and one codebase.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// General knowledge.
    Portable,
    /// Learned in the codebase of this fingerprint.
    Codebase(String),
}

/// A whole memory record that keeps the format's rules, advice included.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    tier: Tier,
    json: Json,
    /// By which it is known: its own, and those of the records that it was made from.
    ids: BTreeSet<String>,
    fingerprints: BTreeSet<String>,
    /// The record as an export would complete it, where it is written in another way.
    complete: Option<Json>,
}

/// What a record says, taken apart for the fold.
#[derive(Debug)]
struct Parts {
    title: String,
    summary: String,
    impact: String,
    xp: i64,
    tags: BTreeSet<String>,
    timestamp: Timestamp,
    /// The other fields, the id among them.
    rest: Map<String, Json>,
}

impl Record {
    /// The record that a value is.
    ///
    /// # Errors
    /// Every reason why it is none, each with the field's JSON pointer.
    pub fn of_json(value: &Json) -> Result<Self, Vec<String>> {
        let mut defects: Vec<String> = MEMORY_RECORD
            .defects(value)
            .into_iter()
            .map(|(at, message)| located(&at, &message))
            .collect();
        if !defects.is_empty() {
            return Err(defects);
        }
        advice(value, &mut defects);
        tier_rules(value, &mut defects);
        if !defects.is_empty() {
            return Err(defects);
        }
        // One form for one content: names in order, numbers as RFC 8785 writes them.
        strict::parse(&strict::canonical(value))
            .ok()
            .and_then(Self::take_apart)
            .ok_or_else(|| vec!["a field has another type than every record's".to_owned()])
    }

    /// The record that an author's entry in `memory-records.json` stands for: one that leaves out what an export fills
    /// in. The record is given as written; it is compared as an export would complete it.
    ///
    /// # Errors
    /// As [`Record::of_json`].
    pub fn of_entry(value: &Json) -> Result<Self, Vec<String>> {
        let stated = value.get("portable");
        if !value.is_object() || stated.is_some_and(|portable| *portable != Json::Bool(true)) {
            return Self::of_json(value);
        }
        if let Some(found) = value.get("repoId").filter(|repo| {
            !repo.is_null() && repo.as_str().is_none_or(|name| !name.trim().is_empty())
        }) {
            let found = shown(found);
            return Err(vec![format!(
                "/repoId: expected null or an empty text in a record that is to be portable, found {found}"
            )]);
        }
        let mut complete = value.clone();
        if stated.is_none() {
            for label in ["repoLabel", "projectLabel"] {
                set(&mut complete, label, json!(PORTABLE_LABEL));
            }
        }
        set(&mut complete, "repoId", Json::Null);
        for (name, filled) in [
            ("portable", json!(true)),
            ("zone", json!("rom")),
            ("codebaseFingerprint", Json::Null),
        ] {
            if value.get(name).is_none() {
                set(&mut complete, name, filled);
            }
        }
        if value.get("artifactFingerprint").is_none() {
            seal(&mut complete);
        }
        if complete == *value {
            return Self::of_json(value);
        }
        let mut record = Self::of_json(&complete)?;
        if let Ok(written) = strict::parse(&strict::canonical(value)) {
            record.complete = Some(std::mem::replace(&mut record.json, written));
        }
        Ok(record)
    }

    /// The record.
    pub fn json(&self) -> &Json {
        &self.json
    }

    /// The record, given away.
    pub fn into_json(self) -> Json {
        self.json
    }

    /// Its id.
    pub fn id(&self) -> &str {
        self.json
            .get("id")
            .and_then(Json::as_str)
            .unwrap_or_default()
    }

    /// Its tier.
    pub fn tier(&self) -> &Tier {
        &self.tier
    }

    /// What makes it the same lesson as another: its tier, and an id (true) or a fingerprint (false).
    fn keys(&self) -> impl Iterator<Item = (&Tier, bool, &str)> {
        let ids = self.ids.iter().map(|id| (true, id));
        let fingerprints = self.fingerprints.iter().map(|f| (false, f));
        ids.chain(fingerprints)
            .map(|(is_id, key)| (&self.tier, is_id, key.as_str()))
    }

    fn take_apart(json: Json) -> Option<Self> {
        let text = |name: &str| json.get(name)?.as_str().map(str::to_owned);
        let tier = match json.get("portable")? {
            Json::Bool(true) => Tier::Portable,
            _ => Tier::Codebase(text("codebaseFingerprint")?),
        };
        let remembered = json.get(MERGED_FROM);
        let mut ids = texts(remembered.and_then(|m| m.get("ids")));
        ids.insert(text("id")?);
        let mut fingerprints = texts(remembered.and_then(|m| m.get("artifactFingerprints")));
        let own = memory_fingerprint::fingerprint(&json)?;
        if fingerprints.is_empty() {
            fingerprints.insert(own.clone());
        }
        let mut record = Self {
            tier,
            json,
            ids,
            fingerprints,
            complete: None,
        };
        // A stated fingerprint is replaced by the content's.
        set(&mut record.json, "artifactFingerprint", json!(own));
        Some(record)
    }
}

impl Parts {
    fn of(record: Record) -> Option<Self> {
        let Json::Object(mut rest) = record.complete.unwrap_or(record.json) else {
            return None;
        };
        rest.shift_remove("artifactFingerprint");
        rest.shift_remove(MERGED_FROM);
        let mut take = |name: &str| rest.shift_remove(name);
        let text = |value: Option<Json>| match value? {
            Json::String(text) => Some(text),
            _ => None,
        };
        Some(Self {
            title: text(take("title"))?,
            summary: text(take("summary"))?,
            impact: text(take("impact"))?,
            xp: whole(&take("xpAwarded")?)?,
            tags: texts(take("tags").as_ref()),
            timestamp: Timestamp::try_from(text(take("timestamp"))?.as_str()).ok()?,
            rest,
        })
    }

    /// All as one. Each line is a maximum, a minimum or a union, so order and repetition do not matter; each looks at a
    /// part once, so that a group of many costs no more than its text.
    fn join(all: &[Self]) -> Option<Json> {
        let badness = |part: &&Self| match part.impact.as_str() {
            "negative" => 2,
            "neutral" => 1,
            _ => 0,
        };
        let id = |part: &Self| {
            part.rest
                .get("id")
                .and_then(Json::as_str)
                .map(str::to_owned)
        };
        let smallest = all.iter().map(id).min()?;
        let rest = all.iter().filter(|p| id(p) == smallest);
        let rest = rest
            .min_by_key(|p| strict::canonical_of(&p.rest))?
            .rest
            .clone();
        let tags: BTreeSet<&String> = all.iter().flat_map(|p| &p.tags).collect();
        let mut json = Json::Object(rest);
        for (name, value) in [
            (
                "title",
                json!(longest(all.iter().map(|p| p.title.as_str()))?),
            ),
            (
                "summary",
                json!(longest(all.iter().map(|p| p.summary.as_str()))?),
            ),
            ("impact", json!(all.iter().max_by_key(badness)?.impact)),
            ("xpAwarded", json!(all.iter().map(|p| p.xp).max()?)),
            ("tags", json!(tags)),
            ("timestamp", json!(all.iter().map(|p| &p.timestamp).max()?)),
        ] {
            set(&mut json, name, value);
        }
        seal(&mut json);
        Some(json)
    }
}

/// The keys of records, to ask whether others are the same lessons.
pub(super) struct Keys(BTreeSet<(Tier, bool, String)>);

impl Keys {
    pub(super) fn of(records: &[Record]) -> Self {
        let keys = records.iter().flat_map(Record::keys);
        Self(
            keys.map(|(tier, is_id, key)| (tier.clone(), is_id, key.to_owned()))
                .collect(),
        )
    }

    pub(super) fn meets(&self, record: &Record) -> bool {
        record
            .keys()
            .any(|(tier, is_id, key)| self.0.contains(&(tier.clone(), is_id, key.to_owned())))
    }
}

/// Merges a set of records: the result is sorted by tier and id, and depends on nothing but the set. Merging it again,
/// alone or with records that went into it, changes nothing.
pub fn merge(records: impl IntoIterator<Item = Record>) -> Vec<Record> {
    let set: BTreeMap<Digest, Record> = records
        .into_iter()
        .map(|record| (Digest::of(&strict::canonical(&record.json)), record))
        .collect();
    let records: Vec<Record> = set.into_values().collect();

    let mut groups = Groups::new(records.len());
    let mut seen: BTreeMap<(&Tier, bool, &str), usize> = BTreeMap::new();
    for (at, record) in records.iter().enumerate() {
        for key in record.keys() {
            let first = *seen.entry(key).or_insert(at);
            groups.join(first, at);
        }
    }
    drop(seen);
    let roots: Vec<usize> = (0..records.len()).map(|at| groups.root(at)).collect();
    let mut members: BTreeMap<usize, Vec<Record>> = BTreeMap::new();
    for (root, record) in roots.into_iter().zip(records) {
        members.entry(root).or_default().push(record);
    }

    let mut merged: Vec<Record> = members.into_values().filter_map(fold).collect();
    // No two of one tier share an id.
    merged.sort_by(|a, b| (&a.tier, a.id()).cmp(&(&b.tier, b.id())));
    merged
}

/// One group as one record. A record that stands alone stays as it is written.
fn fold(mut group: Vec<Record>) -> Option<Record> {
    if group.len() < 2 {
        return group.pop();
    }
    let tier = group.first()?.tier.clone();
    let ids: BTreeSet<String> = group.iter().flat_map(|r| r.ids.iter().cloned()).collect();
    let fingerprints = group.iter().flat_map(|r| r.fingerprints.iter().cloned());
    let fingerprints: BTreeSet<String> = fingerprints.collect();
    let parts: Vec<Parts> = group.into_iter().map(Parts::of).collect::<Option<_>>()?;
    let mut json = Parts::join(&parts)?;
    let own = |name: &str, keys: &BTreeSet<String>| {
        let value = json.get(name).and_then(Json::as_str).unwrap_or_default();
        keys.len() == 1 && keys.contains(value)
    };
    if !own("id", &ids) || !own("artifactFingerprint", &fingerprints) {
        let keys = json!({"ids": ids, "artifactFingerprints": fingerprints});
        set(&mut json, MERGED_FROM, keys);
    }
    Some(Record {
        tier,
        json: strict::parse(&strict::canonical(&json)).ok()?,
        ids,
        fingerprints,
        complete: None,
    })
}

/// Disjoint groups of indexes.
struct Groups(Vec<usize>);

impl Groups {
    fn new(count: usize) -> Self {
        Self((0..count).collect())
    }

    fn root(&mut self, mut at: usize) -> usize {
        while let Some(&up) = self.0.get(at).filter(|up| **up != at) {
            // Halving the path keeps every later look-up short.
            let above = self.0.get(up).copied().unwrap_or(up);
            if let Some(slot) = self.0.get_mut(at) {
                *slot = above;
            }
            at = above;
        }
        at
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        // The smaller index is the root, so that the result does not depend on the order of joining.
        if let Some(slot) = self.0.get_mut(a.max(b)) {
            *slot = a.min(b);
        }
    }
}

/// The longest text as JavaScript counts, of equally long ones the smallest.
fn longest<'a>(texts: impl Iterator<Item = &'a str>) -> Option<String> {
    texts
        .map(|text| (text.encode_utf16().count(), std::cmp::Reverse(text)))
        .max()
        .map(|(_, text)| text.0.to_owned())
}

fn set(object: &mut Json, name: &str, value: Json) {
    if let Some(members) = object.as_object_mut() {
        members.insert(name.to_owned(), value);
    }
}

/// Writes the content's fingerprint into a record.
pub(super) fn seal(record: &mut Json) {
    if let Some(fingerprint) = memory_fingerprint::fingerprint(record) {
        set(record, "artifactFingerprint", json!(fingerprint));
    }
}

fn texts(list: Option<&Json>) -> BTreeSet<String> {
    let items = list.and_then(Json::as_array).into_iter().flatten();
    items
        .filter_map(|item| item.as_str().map(str::to_owned))
        .collect()
}

fn located(at: &str, message: &str) -> String {
    if at.is_empty() {
        message.to_owned()
    } else {
        format!("{at}: {message}")
    }
}

/// A whole number of an int32, however JSON writes it.
fn whole(value: &Json) -> Option<i64> {
    let number = value.as_f64()?;
    let fits = (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&number);
    (fits && number.fract() == 0.0).then_some(number as i64)
}

/// What the format only advises in a cartridge, and a merge needs: it compares times and points, and ids become names.
fn advice(record: &Json, defects: &mut Vec<String>) {
    let mut wrong = |field: &str, expected: &str| {
        let found = record
            .get(field)
            .map_or_else(|| "nothing".to_owned(), shown);
        defects.push(format!("/{field}: expected {expected}, found {found}"));
    };
    let text = |field: &str| record.get(field).and_then(Json::as_str);
    if !text("id").is_some_and(|id| {
        !id.is_empty() && id.chars().nth(ID).is_none() && !id.chars().any(char::is_control)
    }) {
        wrong(
            "id",
            "a text of 1 to 256 characters, none a control character",
        );
    }
    if text("timestamp").is_none_or(|t| Timestamp::try_from(t).is_err()) {
        wrong("timestamp", "an RFC 3339 time such as 2026-07-01T00:00:00Z");
    }
    if record
        .get("xpAwarded")
        .and_then(whole)
        .is_none_or(|xp| xp < 0)
    {
        wrong("xpAwarded", "a whole number from 0 to 2147483647");
    }
    if !text("artifactFingerprint").is_some_and(|f| hex::is_hex(f, 10)) {
        wrong("artifactFingerprint", "10 lower-case hex digits");
    }
    if record
        .get("projectLabel")
        .is_some_and(|label| !label.is_string() && !label.is_null())
    {
        wrong("projectLabel", "a text or null");
    }
    let keys_fit = |keys: &Json| {
        let list = |name: &str, fits: fn(&str) -> bool| {
            keys.get(name).and_then(Json::as_array).is_some_and(|list| {
                !list.is_empty() && list.iter().all(|item| item.as_str().is_some_and(fits))
            })
        };
        list("ids", |id| !id.is_empty()) && list("artifactFingerprints", |f| hex::is_hex(f, 10))
    };
    if record.get(MERGED_FROM).is_some_and(|keys| !keys_fit(keys)) {
        wrong(
            MERGED_FROM,
            "lists of texts, `ids` and `artifactFingerprints`",
        );
    }
}

/// A record is portable and nobody's, or field-learned and of one codebase.
fn tier_rules(record: &Json, defects: &mut Vec<String>) {
    let portable = record.get("portable") == Some(&Json::Bool(true));
    let mut wrong = |field: &str, expected: &str| {
        let found = record
            .get(field)
            .map_or_else(|| "nothing".to_owned(), shown);
        defects.push(format!(
            "/{field}: expected {expected} in a record with `portable` {portable}, found {found}"
        ));
    };
    let fingerprint = record.get("codebaseFingerprint");
    if portable && fingerprint.is_some_and(|f| !f.is_null()) {
        wrong("codebaseFingerprint", "null");
    }
    if !portable
        && !fingerprint
            .and_then(Json::as_str)
            .is_some_and(codebase::is_fingerprint)
    {
        wrong("codebaseFingerprint", "`cbf1_` and 40 hex digits");
    }
    // A record of the wild may say which repository it is of; one that is taken in or merged must not.
    if record.get("repoId").is_some_and(|repo| !repo.is_null()) {
        wrong("repoId", "null");
    }
    let zone = if portable { "rom" } else { "save" };
    if record.get("zone").and_then(Json::as_str) != Some(zone) {
        wrong("zone", &format!("{zone:?}"));
    }
}
