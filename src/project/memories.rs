//! Memory records as rows: the `acx.lance-memory/1` schema, stated once, as the schema of an Arrow record batch.
//!
//! The record's JSON is the authority; rows are derived from it field by field. Two columns are computed: `text`, the
//! title and the summary with an empty line between, and `vector`, its embedding.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, FixedSizeListArray, Float32Array, Int32Array, ListArray, RecordBatch,
    StringBuilder,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, Schema};
use arrow::error::ArrowError;

use super::embed::{DIM, ENGINE, Embedder};
use crate::model::{Json, shorten};

/// The schema's name and version.
pub const SCHEMA: &str = "acx.lance-memory/1";

/// One memory record, with the fields that become columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryRecord {
    /// The record's id.
    pub id: String,
    /// `rom` or `save`.
    pub zone: String,
    /// Whether the record may leave the installation it was made in.
    pub portable: bool,
    /// Ten hex digits over the record's content.
    pub artifact_fingerprint: String,
    /// The code base it was learned in; none for a portable record.
    pub codebase_fingerprint: Option<String>,
    /// A line.
    pub title: String,
    /// The substance.
    pub summary: String,
    /// Where it came from.
    pub source_type: String,
    /// Tags in the record's order.
    pub tags: Vec<String>,
    /// `positive`, `neutral` or `negative`.
    pub impact: String,
    /// Experience points.
    pub xp_awarded: i32,
    /// The time as the record writes it.
    pub timestamp: String,
}

impl MemoryRecord {
    /// The record in a payload. Fields that are no column are not looked at.
    ///
    /// # Errors
    /// Names the first field that is missing or that cannot become its column.
    pub fn of_json(payload: &Json) -> Result<Self, String> {
        let text = |name| match field(payload, name)? {
            Json::String(text) => Ok(text.clone()),
            other => Err(wrong(name, "a string", other)),
        };
        let one_of = |name, values: &[&str]| {
            let value = text(name)?;
            if values.contains(&value.as_str()) {
                Ok(value)
            } else {
                Err(wrong(
                    name,
                    &format!("one of {}", values.join(", ")),
                    &value.into(),
                ))
            }
        };
        Ok(Self {
            id: text("id")?,
            zone: one_of("zone", &["rom", "save"])?,
            portable: match field(payload, "portable")? {
                Json::Bool(portable) => *portable,
                other => return Err(wrong("portable", "true or false", other)),
            },
            artifact_fingerprint: text("artifactFingerprint")?,
            codebase_fingerprint: match field(payload, "codebaseFingerprint")? {
                Json::Null => None,
                Json::String(text) => Some(text.clone()),
                other => return Err(wrong("codebaseFingerprint", "a string or null", other)),
            },
            title: text("title")?,
            summary: text("summary")?,
            source_type: text("sourceType")?,
            tags: tags(field(payload, "tags")?)?,
            impact: one_of("impact", &["positive", "neutral", "negative"])?,
            xp_awarded: int32("xpAwarded", field(payload, "xpAwarded")?)?,
            timestamp: text("timestamp")?,
        })
    }
}

fn field<'a>(payload: &'a Json, name: &str) -> Result<&'a Json, String> {
    payload
        .get(name)
        .ok_or_else(|| format!("`{name}` is missing; every memory record has it"))
}

fn wrong(name: &str, expected: &str, found: &Json) -> String {
    let found = shorten(&found.to_string());
    format!("`{name}`: expected {expected}, found {found}")
}

fn tags(value: &Json) -> Result<Vec<String>, String> {
    let Json::Array(items) = value else {
        return Err(wrong("tags", "an array of strings", value));
    };
    items
        .iter()
        .enumerate()
        .map(|(at, item)| match item {
            Json::String(tag) => Ok(tag.clone()),
            other => Err(wrong(&format!("tags/{at}"), "a string", other)),
        })
        .collect()
}

/// A whole number within 32 bits, however JSON writes it: `12`, `12.0` and `1.2e1` are the same number.
fn int32(name: &str, value: &Json) -> Result<i32, String> {
    let whole = match value {
        Json::Number(number) => match number.as_i64() {
            Some(whole) => i32::try_from(whole).ok(),
            None => number.as_f64().and_then(|double| {
                let whole = double as i32; // saturates, so the comparison refuses what is out of range
                (f64::from(whole) == double).then_some(whole)
            }),
        },
        _ => None,
    };
    whole.ok_or_else(|| {
        wrong(
            name,
            &format!("a whole number from {} to {}", i32::MIN, i32::MAX),
            value,
        )
    })
}

/// The columns of one memory record, in order.
pub fn fields() -> Vec<Field> {
    let text = |name| Field::new(name, DataType::Utf8, false);
    vec![
        text("id"),
        text("zone"),
        Field::new("portable", DataType::Boolean, false),
        text("artifact_fingerprint"),
        Field::new("codebase_fingerprint", DataType::Utf8, true),
        text("title"),
        text("summary"),
        text("source_type"),
        Field::new(
            "tags",
            DataType::List(Arc::new(item(DataType::Utf8))),
            false,
        ),
        text("impact"),
        Field::new("xp_awarded", DataType::Int32, false),
        text("timestamp"),
        text("text"),
        Field::new(
            "vector",
            DataType::FixedSizeList(Arc::new(item(DataType::Float32)), DIM as i32),
            false,
        ),
    ]
}

/// The item of a list, named and nullable as Arrow implementations have it unless told otherwise.
fn item(data_type: DataType) -> Field {
    Field::new("item", data_type, true)
}

/// The metadata of a dataset of the schema of this name, with vectors by [`ENGINE`].
pub fn metadata(schema: &str) -> HashMap<String, String> {
    [
        ("acx.schema_version", schema),
        ("acx.embedding_engine", ENGINE),
        ("acx.distance_metric", "cosine"),
        ("acx.partition_by", "zone"),
    ]
    .map(|(key, value)| (key.to_owned(), value.to_owned()))
    .into()
}

/// The records' values, one array for each of [`fields`], rows in the order given.
///
/// # Errors
/// [`ArrowError`] when a column would hold more than 2 GiB of text or 2^31 tags, which Arrow's offsets cannot tell.
pub fn columns(records: &[MemoryRecord]) -> Result<Vec<ArrayRef>, ArrowError> {
    let text = |of: fn(&MemoryRecord) -> &str| utf8(records.iter().map(move |r| Some(of(r))));
    let texts: Vec<String> = records
        .iter()
        .map(|r| format!("{}\n\n{}", r.title, r.summary))
        .collect();
    let mut components = Vec::with_capacity(records.len().saturating_mul(DIM));
    let mut engine = Embedder::default();
    for text in &texts {
        components.extend_from_slice(&engine.embed(text));
    }
    let portable: BooleanArray = records.iter().map(|r| Some(r.portable)).collect();
    let xp_awarded: Int32Array = records.iter().map(|r| r.xp_awarded).collect();
    let tags = utf8(
        records
            .iter()
            .flat_map(|r| &r.tags)
            .map(|t| Some(t.as_str())),
    )?;
    if i32::try_from(tags.len()).is_err() {
        return Err(too_long("tags", tags.len()));
    }
    let tags = ListArray::try_new(
        Arc::new(item(DataType::Utf8)),
        OffsetBuffer::from_lengths(records.iter().map(|r| r.tags.len())),
        tags,
        None,
    )?;
    let vector = FixedSizeListArray::try_new(
        Arc::new(item(DataType::Float32)),
        DIM as i32,
        Arc::new(Float32Array::from(components)),
        None,
    )?;
    Ok(vec![
        text(|r| &r.id)?,
        text(|r| &r.zone)?,
        Arc::new(portable),
        text(|r| &r.artifact_fingerprint)?,
        utf8(records.iter().map(|r| r.codebase_fingerprint.as_deref()))?,
        text(|r| &r.title)?,
        text(|r| &r.summary)?,
        text(|r| &r.source_type)?,
        Arc::new(tags),
        text(|r| &r.impact)?,
        Arc::new(xp_awarded),
        text(|r| &r.timestamp)?,
        utf8(texts.iter().map(|t| Some(t.as_str())))?,
        Arc::new(vector),
    ])
}

/// A text column of these values.
///
/// # Errors
/// [`ArrowError`] when they are more than 2 GiB together.
pub fn utf8<'a>(
    values: impl Iterator<Item = Option<&'a str>> + Clone,
) -> Result<ArrayRef, ArrowError> {
    // The builder would panic on the first value past its 32-bit offsets.
    let (mut rows, mut bytes) = (0_usize, 0_usize);
    for value in values.clone() {
        rows = rows.saturating_add(1);
        bytes = bytes.saturating_add(value.map_or(0, str::len));
    }
    if i32::try_from(bytes).is_err() {
        return Err(too_long("bytes of text", bytes));
    }
    let mut builder = StringBuilder::with_capacity(rows, bytes);
    builder.extend(values);
    Ok(Arc::new(builder.finish()))
}

fn too_long(what: &str, found: usize) -> ArrowError {
    ArrowError::InvalidArgumentError(format!(
        "one column holds {found} {what}; Arrow's 32-bit offsets end at {}: split the records",
        i32::MAX
    ))
}

/// The records as a batch of the schema [`SCHEMA`], metadata included, rows in the order given. Callers sort by id.
///
/// # Errors
/// As [`columns`].
pub fn record_batch(records: &[MemoryRecord]) -> Result<RecordBatch, ArrowError> {
    let schema = Schema::new_with_metadata(fields(), metadata(SCHEMA));
    RecordBatch::try_new(Arc::new(schema), columns(records)?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use arrow::array::{Array as _, AsArray as _};
    use arrow::datatypes::{Float32Type, Int32Type};
    use serde_json::json;

    use super::*;
    use crate::project::embed::embed;

    fn payload() -> Json {
        json!({
            "id": "m-1", "zone": "rom", "portable": true, "artifactFingerprint": "0123456789",
            "codebaseFingerprint": null, "title": "Títle", "summary": "", "sourceType": "task",
            "tags": ["b", "a"], "impact": "neutral", "xpAwarded": 12.0,
            "timestamp": "2026-07-01T00:00:00Z", "repoId": null, "foreign": 7,
        })
    }

    fn with(name: &str, value: Json) -> Result<MemoryRecord, String> {
        let mut payload = payload();
        payload.as_object_mut().unwrap().insert(name.into(), value);
        MemoryRecord::of_json(&payload)
    }

    #[test]
    fn of_json_takes_each_field() {
        let record = MemoryRecord::of_json(&payload()).unwrap();
        assert_eq!(
            record,
            MemoryRecord {
                id: "m-1".into(),
                zone: "rom".into(),
                portable: true,
                artifact_fingerprint: "0123456789".into(),
                codebase_fingerprint: None,
                title: "Títle".into(),
                summary: String::new(),
                source_type: "task".into(),
                tags: vec!["b".into(), "a".into()],
                impact: "neutral".into(),
                xp_awarded: 12,
                timestamp: "2026-07-01T00:00:00Z".into(),
            }
        );
        let saved = with("codebaseFingerprint", json!("cbf1_0")).unwrap();
        assert_eq!(saved.codebase_fingerprint.as_deref(), Some("cbf1_0"));
    }

    #[test]
    fn of_json_names_what_is_wrong() {
        for name in [
            "id",
            "zone",
            "portable",
            "artifactFingerprint",
            "codebaseFingerprint",
            "title",
            "summary",
            "sourceType",
            "tags",
            "impact",
            "xpAwarded",
            "timestamp",
        ] {
            let mut missing = payload();
            missing.as_object_mut().unwrap().remove(name);
            let message = MemoryRecord::of_json(&missing).unwrap_err();
            assert_eq!(
                message,
                format!("`{name}` is missing; every memory record has it")
            );
            let message = with(name, json!({"not": "this"})).unwrap_err();
            assert!(
                message.starts_with(&format!("`{name}`: expected ")),
                "{message}"
            );
            assert!(message.ends_with(r#"found {"not":"this"}"#), "{message}");
        }
        assert_eq!(
            with("tags", json!(["a", 1])).unwrap_err(),
            "`tags/1`: expected a string, found 1"
        );
        assert_eq!(
            with("zone", json!("ROM")).unwrap_err(),
            r#"`zone`: expected one of rom, save, found "ROM""#
        );
        assert!(with("impact", json!("great")).is_err());
        assert!(MemoryRecord::of_json(&json!([])).is_err());
    }

    #[test]
    fn experience_is_a_whole_number_of_32_bits() {
        for (written, value) in [
            ("12", 12),
            ("12.0", 12),
            ("1.2e1", 12),
            ("-0.0", 0),
            ("-3", -3),
            ("2147483647", i32::MAX),
            ("-2147483648.0", i32::MIN),
        ] {
            let number = crate::model::json::parse(written.as_bytes()).unwrap();
            assert_eq!(
                with("xpAwarded", number).unwrap().xp_awarded,
                value,
                "{written}"
            );
        }
        for written in [
            "12.5",
            "2147483648",
            "2147483648.0",
            "-2147483649",
            "1e300",
            "18446744073709551615",
        ] {
            let number = crate::model::json::parse(written.as_bytes()).unwrap();
            let message = with("xpAwarded", number).unwrap_err();
            assert!(
                message.contains("a whole number from -2147483648 to 2147483647"),
                "{message}"
            );
        }
    }

    #[test]
    fn a_batch_has_the_schema_and_the_rows() {
        let first = MemoryRecord::of_json(&payload()).unwrap();
        let mut second = first.clone();
        second.id = "m-0".into();
        second.codebase_fingerprint = Some("cbf1_1".into());
        second.tags.clear();
        let batch = record_batch(&[first, second]).unwrap();
        let found: Vec<String> = batch
            .schema()
            .fields()
            .iter()
            .map(|f| format!("{} {} {}", f.name(), f.data_type(), f.is_nullable()))
            .collect();
        assert_eq!(
            found,
            [
                "id Utf8 false",
                "zone Utf8 false",
                "portable Boolean false",
                "artifact_fingerprint Utf8 false",
                "codebase_fingerprint Utf8 true",
                "title Utf8 false",
                "summary Utf8 false",
                "source_type Utf8 false",
                "tags List(Utf8) false",
                "impact Utf8 false",
                "xp_awarded Int32 false",
                "timestamp Utf8 false",
                "text Utf8 false",
                "vector FixedSizeList(128 x Float32) false",
            ]
        );
        let mut metadata: Vec<_> = batch.schema().metadata().clone().into_iter().collect();
        metadata.sort();
        assert_eq!(
            metadata,
            [
                ("acx.distance_metric", "cosine"),
                ("acx.embedding_engine", "local-hash-128"),
                ("acx.partition_by", "zone"),
                ("acx.schema_version", "acx.lance-memory/1"),
            ]
            .map(|(k, v)| (k.to_owned(), v.to_owned()))
        );
        let text = |name: &str| {
            batch
                .column_by_name(name)
                .unwrap()
                .as_string::<i32>()
                .clone()
        };
        assert_eq!(
            text("id").iter().flatten().collect::<Vec<_>>(),
            ["m-1", "m-0"]
        );
        assert_eq!(text("text").value(0), "Títle\n\n");
        assert!(text("codebase_fingerprint").is_null(0));
        assert_eq!(text("codebase_fingerprint").value(1), "cbf1_1");
        let tags = batch
            .column_by_name("tags")
            .unwrap()
            .as_list::<i32>()
            .clone();
        assert_eq!(tags.value_offsets(), [0, 2, 2]);
        let xp = batch.column_by_name("xp_awarded").unwrap();
        assert_eq!(xp.as_primitive::<Int32Type>().values(), &[12, 12]);
        let vector = batch.column_by_name("vector").unwrap().as_fixed_size_list();
        let second = vector.value(1);
        assert_eq!(
            second.as_primitive::<Float32Type>().values().as_ref(),
            embed("Títle\n\n")
        );
    }

    #[test]
    fn no_records_no_rows() {
        let batch = record_batch(&[]).unwrap();
        assert_eq!((batch.num_rows(), batch.num_columns()), (0, 14));
    }
}
