#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, FixedSizeListArray, Float32Array, Int32Array, Int64Array, ListArray,
    StringArray,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field, Schema};
use proptest::prelude::*;

use super::*;
use crate::project::memories::{MemoryRecord, record_batch};

fn time() -> Timestamp {
    Timestamp::try_from("2026-07-01T00:00:00.25Z").unwrap()
}

fn record(n: usize) -> MemoryRecord {
    MemoryRecord {
        id: format!("m-{n}"),
        zone: "rom".into(),
        portable: n.is_multiple_of(2),
        artifact_fingerprint: "0123456789".into(),
        codebase_fingerprint: (n == 1).then(|| "cbf1_0".into()),
        title: format!("Títle {n}"),
        summary: String::new(),
        source_type: "task".into(),
        tags: vec!["a".into(); n % 3],
        impact: "positive".into(),
        xp_awarded: -1,
        timestamp: "2026-07-01T00:00:00Z".into(),
    }
}

fn records(count: usize) -> RecordBatch {
    record_batch(&(0..count).map(record).collect::<Vec<_>>()).unwrap()
}

/// A change here is a change to every committed dataset: raise [`WRITER`] and say so in the change log.
#[test]
fn the_bytes_do_not_drift() {
    for (rows, digest) in [
        (
            0,
            "sha256:8fe7de671a9e85e39b79aebc84983261171f1d98b56aaf32a0e14b26d3fb33d0",
        ),
        (
            1,
            "sha256:676f3ada443ca15ce1cfd7bd2dfbcd7e30f3332e738db8d431821f4b8a889a42",
        ),
        (
            3,
            "sha256:3dd8896ee4a6e930e46c96fd34528c02719b981d183be0f064cddf3a69f2c960",
        ),
    ] {
        let found = dataset(&records(rows), &time()).unwrap().digest();
        assert_eq!(found.to_string(), digest, "{rows} rows");
    }
}

#[test]
fn two_files_named_by_content_and_none_without_rows() {
    let paths = |set: &Dataset| set.files.iter().map(|(p, _)| p.clone()).collect::<Vec<_>>();
    let manifest = "_versions/18446744073709551614.manifest";
    assert_eq!(paths(&dataset(&records(0), &time()).unwrap()), [manifest]);
    let three = dataset(&records(3), &time()).unwrap();
    let data = &three.files[1].1;
    let name = format!("data/{}.lance", &Digest::of(data).hex()[..32]);
    assert_eq!(paths(&three), [manifest.to_owned(), name]);
    assert!(three.files.is_sorted());
    assert_eq!(data[data.len() - 4..], *b"LANC");
    // The time is in the manifest only: the data file keeps its name.
    let later = dataset(&records(3), &Timestamp::from_unix(0).unwrap()).unwrap();
    assert_ne!(later.files[0], three.files[0]);
    assert_eq!(later.files[1], three.files[1]);
}

#[test]
fn a_hundred_thousand_rows() {
    let batch = records(100_000);
    let set = dataset(&batch, &time()).unwrap();
    let size: usize = set.files.iter().map(|(_, bytes)| bytes.len()).sum();
    assert!(size > 100_000 * 512, "{size}");
    // No more is allocated for the file than the rows take themselves.
    assert!(set.files[1].1.capacity() <= batch.get_array_memory_size() * 2);
}

fn batch(fields: Vec<Field>, columns: Vec<ArrayRef>) -> RecordBatch {
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
}

fn refusal(field: Field, column: ArrayRef) -> String {
    dataset(&batch(vec![field], vec![column]), &time())
        .unwrap_err()
        .to_string()
}

#[test]
fn other_columns_are_refused_by_name() {
    let types = "expected utf8, bool, int32, float32, a list of utf8 or a fixed-size list of float32, without metadata";
    let int64: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let field = Field::new("n", DataType::Int64, false);
    assert_eq!(
        refusal(field, int64),
        format!("column \"n\": {types}, found Int64")
    );
    let int32: ArrayRef = Arc::new(Int32Array::from(vec![1]));
    let field = Field::new("n", DataType::Int32, false)
        .with_metadata(HashMap::from([("k".to_owned(), "v".to_owned())]));
    assert!(refusal(field, int32.clone()).contains("without metadata"));

    let nulls: [(DataType, ArrayRef); 4] = [
        (
            DataType::Int32,
            Arc::new(Int32Array::from(vec![None, Some(1)])),
        ),
        (
            DataType::Float32,
            Arc::new(Float32Array::from(vec![None, Some(1.0)])),
        ),
        (
            DataType::Boolean,
            Arc::new(BooleanArray::from(vec![None, Some(true)])),
        ),
        {
            let item = Arc::new(Field::new("item", DataType::Utf8, true));
            let list = ListArray::new(
                item.clone(),
                OffsetBuffer::from_lengths([0, 1]),
                Arc::new(StringArray::from(vec!["a"])),
                Some(NullBuffer::from(vec![false, true])),
            );
            (DataType::List(item), Arc::new(list))
        },
    ];
    for (data_type, column) in nulls {
        assert_eq!(
            refusal(Field::new("n", data_type, true), column),
            "column \"n\": expected no null, except in text, found a null"
        );
    }

    let vector = |item: Field, dimension, values: Vec<Option<f32>>| {
        let item = Arc::new(item);
        let values = Arc::new(Float32Array::from(values));
        let list = FixedSizeListArray::new(item.clone(), dimension, values, None);
        let data_type = DataType::FixedSizeList(item, dimension);
        refusal(Field::new("v", data_type, false), Arc::new(list))
    };
    let item = Field::new("item", DataType::Float32, true);
    assert!(vector(item.clone(), 2, vec![None, Some(1.0)]).ends_with("found a null item"));
    let required = item.with_nullable(false);
    assert!(vector(required, 1, vec![Some(1.0)]).contains("named \"item\" and nullable"));
    let renamed = Field::new("element", DataType::Float32, true);
    assert!(vector(renamed, 1, vec![Some(1.0)]).contains("named \"item\" and nullable"));

    let twice = Field::new("n", DataType::Int32, false);
    let twice = batch(vec![twice.clone(), twice], vec![int32.clone(), int32]);
    let error = dataset(&twice, &time()).unwrap_err();
    assert_eq!(error, LanceError::RepeatedName("n".into()));
    let none = RecordBatch::new_empty(Arc::new(Schema::empty()));
    assert_eq!(dataset(&none, &time()), Err(LanceError::NoColumns));
}

prop_compose! {
    fn row()(
        id in ".{0,12}",
        note in prop::option::of(".{0,6}"),
        flag: bool,
        tags in prop::collection::vec(prop::option::of(".{0,4}"), 0..5),
        number: i32,
        vector: [f32; 3],
    ) -> Row {
        Row { id, note, flag, tags, number, vector }
    }
}

#[derive(Debug, Clone)]
struct Row {
    id: String,
    note: Option<String>,
    flag: bool,
    tags: Vec<Option<String>>,
    number: i32,
    vector: [f32; 3],
}

fn batch_of(rows: &[Row]) -> RecordBatch {
    let text = Arc::new(Field::new("item", DataType::Utf8, true));
    let float = Arc::new(Field::new("item", DataType::Float32, true));
    let tags = ListArray::new(
        text.clone(),
        OffsetBuffer::from_lengths(rows.iter().map(|r| r.tags.len())),
        Arc::new(
            rows.iter()
                .flat_map(|r| r.tags.clone())
                .collect::<StringArray>(),
        ),
        None,
    );
    let floats: Vec<f32> = rows.iter().flat_map(|r| r.vector).collect();
    let vector =
        FixedSizeListArray::new(float.clone(), 3, Arc::new(Float32Array::from(floats)), None);
    let first: Float32Array = rows.iter().map(|r| Some(r.vector[0])).collect();
    batch(
        vec![
            Field::new("id", DataType::Utf8, false),
            Field::new("note", DataType::Utf8, true),
            Field::new("flag", DataType::Boolean, false),
            Field::new("tags", DataType::List(text), false),
            Field::new("number", DataType::Int32, false),
            Field::new("first", DataType::Float32, false),
            Field::new("vector", DataType::FixedSizeList(float, 3), false),
        ],
        vec![
            Arc::new(rows.iter().map(|r| Some(&r.id)).collect::<StringArray>()),
            Arc::new(
                rows.iter()
                    .map(|r| r.note.as_ref())
                    .collect::<StringArray>(),
            ),
            Arc::new(rows.iter().map(|r| Some(r.flag)).collect::<BooleanArray>()),
            Arc::new(tags),
            Arc::new(rows.iter().map(|r| r.number).collect::<Int32Array>()),
            Arc::new(first),
            Arc::new(vector),
        ],
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The rows alone decide the bytes: not how often they are written, nor whether they come as a batch of their own
    /// or as a slice of a larger one, whose arrays begin in the middle of their buffers.
    #[test]
    fn same_rows_same_bytes(
        before in prop::collection::vec(row(), 0..20),
        rows in prop::collection::vec(row(), 0..40),
        after in prop::collection::vec(row(), 0..20),
    ) {
        let alone = dataset(&batch_of(&rows), &time()).unwrap();
        prop_assert_eq!(&dataset(&batch_of(&rows), &time()).unwrap(), &alone);
        let whole = batch_of(&[before.clone(), rows.clone(), after].concat());
        let slice = whole.slice(before.len(), rows.len());
        prop_assert_eq!(&dataset(&slice, &time()).unwrap(), &alone);
        // And other rows give other bytes.
        if !rows.is_empty() {
            let mut changed = rows.clone();
            changed[0].number = changed[0].number.wrapping_add(1);
            prop_assert_ne!(dataset(&batch_of(&changed), &time()).unwrap().digest(), alone.digest());
        }
    }
}

#[test]
fn metadata_is_written_in_the_order_of_its_keys() {
    let keys: Vec<String> = (0..50).map(|n| format!("key-{n:02}")).collect();
    let metadata = keys.iter().map(|k| (k.clone(), "v".to_owned()));
    let schema = Schema::new_with_metadata(
        vec![Field::new("n", DataType::Int32, false)],
        metadata.collect::<HashMap<_, _>>(),
    );
    let column: ArrayRef = Arc::new(Int32Array::from(vec![1]));
    let batch = RecordBatch::try_new(Arc::new(schema), vec![column]).unwrap();
    let set = dataset(&batch, &time()).unwrap();
    let manifest = String::from_utf8_lossy(&set.files[0].1).into_owned();
    let places: Vec<_> = keys.iter().map(|k| manifest.find(k.as_str())).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted());
}
