//! Our datasets as their real readers see them: pylance and lancedb judge schema, values, filters and searches.
//!
//! Without Python, or where pip cannot install the readers, this is reported as skipped. With `CI` or
//! `ACX_REQUIRE_INTEROP` set that is a failure. `ACX_INTEROP_VENV` names the virtual environment to use or make.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::indexing_slicing,
    missing_docs
)]

// Of the fuzzers' code, the rows alone.
#[allow(dead_code)]
#[path = "fuzz/src/mutate.rs"]
mod mutate;
mod support;
#[allow(dead_code, missing_docs)]
#[path = "fuzz/src/targets.rs"]
mod targets;

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use acx_registry::lance;
use acx_registry::model::Timestamp;
use acx_registry::project::embed::embed;
use acx_registry::project::memories::{MemoryRecord, record_batch};
use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, FixedSizeListArray, Float32Array, Int32Array,
    ListArray, RecordBatch, StringArray,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, Float32Type, Int32Type, Schema};
use serde_json::{Value, json};
use support::python;

/// Numbers that are the same on every run (xorshift64*).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() >> 11) as usize % end
    }

    fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    fn float(&mut self) -> f32 {
        self.below(2_000_001) as f32 / 1_000_000.0 - 1.0
    }

    fn text(&mut self, longest: usize) -> String {
        const LETTERS: [char; 24] = [
            'a',
            'b',
            'z',
            'A',
            'Q',
            '0',
            '9',
            ' ',
            '-',
            '_',
            '\'',
            '"',
            '\n',
            '\u{0}',
            'é',
            'ß',
            'Σ',
            'ς',
            '\u{212a}',
            '\u{130}',
            '漢',
            '\u{301}',
            '🦀',
            '\u{10ffff}',
        ];
        let length = self.below(longest + 1);
        (0..length)
            .map(|_| LETTERS[self.below(LETTERS.len())])
            .collect()
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Text { nulls: bool },
    Bool,
    Int,
    Float,
    Tags { item_nulls: bool },
    Vector(i32),
}

fn field(name: &str, kind: Kind, nullable: bool) -> Field {
    let data_type = match kind {
        Kind::Text { .. } => DataType::Utf8,
        Kind::Bool => DataType::Boolean,
        Kind::Int => DataType::Int32,
        Kind::Float => DataType::Float32,
        Kind::Tags { item_nulls } => {
            DataType::List(Arc::new(Field::new("item", DataType::Utf8, item_nulls)))
        }
        Kind::Vector(dim) => {
            DataType::FixedSizeList(Arc::new(Field::new("item", DataType::Float32, true)), dim)
        }
    };
    Field::new(name, data_type, nullable)
}

fn column(random: &mut Random, kind: Kind, rows: usize) -> ArrayRef {
    match kind {
        Kind::Text { nulls } => {
            let value = |r: &mut Random| (!nulls || !r.chance(3)).then(|| r.text(20));
            Arc::new((0..rows).map(|_| value(random)).collect::<StringArray>())
        }
        Kind::Bool => Arc::new(
            (0..rows)
                .map(|_| Some(random.chance(2)))
                .collect::<BooleanArray>(),
        ),
        Kind::Int => {
            let value = |r: &mut Random| match r.below(4) {
                0 => i32::MIN,
                1 => i32::MAX,
                _ => r.below(100) as i32 - 50,
            };
            Arc::new((0..rows).map(|_| value(random)).collect::<Int32Array>())
        }
        Kind::Float => Arc::new(
            (0..rows)
                .map(|_| Some(random.float()))
                .collect::<Float32Array>(),
        ),
        Kind::Tags { item_nulls } => {
            let lengths: Vec<usize> = (0..rows)
                .map(|row| match random.below(8) {
                    0..4 => 0,
                    // A long list now and then, and always where there are rows enough to look around it.
                    4 if row < 50 => 300,
                    n => n - 3,
                })
                .collect();
            let value = |r: &mut Random| (!item_nulls || !r.chance(4)).then(|| r.text(5));
            let items: StringArray = (0..lengths.iter().sum()).map(|_| value(random)).collect();
            let item = Arc::new(Field::new("item", DataType::Utf8, item_nulls));
            let offsets = OffsetBuffer::from_lengths(lengths);
            Arc::new(ListArray::new(item, offsets, Arc::new(items), None))
        }
        Kind::Vector(dim) => {
            let mut values = Vec::new();
            for _ in 0..rows {
                let zero = random.chance(10);
                values.extend((0..dim).map(|_| if zero { 0.0 } else { random.float() }));
            }
            let item = Arc::new(Field::new("item", DataType::Float32, true));
            let values = Arc::new(Float32Array::from(values));
            Arc::new(FixedSizeListArray::new(item, dim, values, None))
        }
    }
}

fn batch(
    seed: u64,
    rows: usize,
    kinds: &[(&str, Kind, bool)],
    metadata: &[(&str, &str)],
) -> RecordBatch {
    let mut random = Random(seed + 1);
    let fields: Vec<Field> = kinds
        .iter()
        .map(|(n, k, null)| field(n, *k, *null))
        .collect();
    let columns = kinds
        .iter()
        .map(|(_, k, _)| column(&mut random, *k, rows))
        .collect();
    let metadata: HashMap<String, String> = metadata
        .iter()
        .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
        .collect();
    let schema = Schema::new_with_metadata(fields, metadata);
    RecordBatch::try_new(Arc::new(schema), columns).unwrap()
}

/// Writes a case: the dataset, and what its readers must find.
fn write_case(folder: &Path, batch: &RecordBatch, memory: bool) {
    fs::create_dir(folder).unwrap();
    let timestamp = Timestamp::try_from("2026-07-01T12:00:00.5Z").unwrap();
    let dataset = lance::dataset(batch, &timestamp).unwrap();
    let at = folder.join("data.lance");
    assert!(lance::write(&dataset, &at).unwrap());
    assert!(!lance::write(&dataset, &at).unwrap());

    let mut fields = Vec::new();
    let mut columns = serde_json::Map::new();
    for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
        let name = field.name().clone();
        let mut spec = json!({"name": name, "nullable": field.is_nullable()});
        let (kind, values) = match field.data_type() {
            DataType::Utf8 => (
                "utf8",
                json!(column.as_string::<i32>().iter().collect::<Vec<_>>()),
            ),
            DataType::Boolean => (
                "bool",
                json!(column.as_boolean().iter().collect::<Vec<_>>()),
            ),
            DataType::Int32 => (
                "int32",
                json!(column.as_primitive::<Int32Type>().values().to_vec()),
            ),
            // JSON has no bits; the reader compares them.
            DataType::Float32 => {
                let floats = column.as_primitive::<Float32Type>().values();
                (
                    "float32",
                    json!(floats.iter().map(|f| f.to_bits()).collect::<Vec<_>>()),
                )
            }
            DataType::List(item) => {
                spec["item"] = json!(item.name());
                spec["item_nullable"] = json!(item.is_nullable());
                let lists: Vec<Value> = column
                    .as_list::<i32>()
                    .iter()
                    .flatten()
                    .map(|list| json!(list.as_string::<i32>().iter().collect::<Vec<_>>()))
                    .collect();
                ("list", json!(lists))
            }
            DataType::FixedSizeList(_, dim) => {
                spec["dim"] = json!(dim);
                let list = column.as_fixed_size_list();
                let floats = list
                    .values()
                    .as_primitive::<Float32Type>()
                    .values()
                    .to_vec();
                fs::write(folder.join(format!("{name}.f32")), bytes(&floats)).unwrap();
                ("vector", Value::Null)
            }
            other => unreachable!("{other}"),
        };
        spec["type"] = json!(kind);
        if !values.is_null() {
            columns.insert(name, values);
        }
        fields.push(spec);
    }
    let schema = batch.schema();
    let metadata: HashMap<_, _> = schema.metadata().iter().collect();
    let expected = json!({
        "rows": batch.num_rows(), "fields": fields, "columns": columns,
        "metadata": metadata, "memory": memory,
    });
    fs::write(folder.join("expected.json"), expected.to_string()).unwrap();
}

fn bytes(floats: &[f32]) -> Vec<u8> {
    floats.iter().flat_map(|f| f.to_le_bytes()).collect()
}

fn memory(random: &mut Random, n: usize) -> MemoryRecord {
    MemoryRecord {
        id: format!("m-{n:05}"),
        zone: if n % 4 == 3 { "save" } else { "rom" }.into(),
        portable: n % 4 != 3,
        artifact_fingerprint: format!("{n:010x}"),
        codebase_fingerprint: (n % 4 == 3).then(|| format!("cbf1_{n:040x}")),
        title: random.text(12),
        summary: random.text(200),
        source_type: "task".into(),
        tags: (0..random.below(4)).map(|_| random.text(5)).collect(),
        impact: ["positive", "neutral", "negative"][n % 3].into(),
        xp_awarded: n as i32,
        timestamp: "2026-07-01T00:00:00Z".into(),
    }
}

/// Texts whose embeddings an independent implementation recomputes.
fn texts() -> Vec<String> {
    let mut texts: Vec<String> = [
        "",
        " ",
        "…",
        "a",
        "A",
        "hello Hello HELLO",
        "\u{212a}",
        "\u{212a}ELVIN",
        "\u{130}",
        "\u{130}STANBUL",
        "ΑΣ",
        "ΑΣa",
        "Straße STRASSE ẞ",
        "ﬁ ﬂ",
        "x\0y",
        "０１２ 012",
        "a1b2-c3_d4",
        "é\u{301}e",
    ]
    .map(str::to_owned)
    .into();
    // Every letter of the first planes once, beside letters that make tokens of what it becomes.
    let all: Vec<char> = ('\u{0}'..='\u{ffff}').collect();
    texts.extend(
        all.chunks(256)
            .map(|letters| letters.iter().map(|c| format!("a{c}b ")).collect()),
    );
    let mut random = Random(7);
    texts.extend((0..800).map(|n| random.text(n)));
    texts
}

#[test]
fn readers_agree() {
    let python = match python::python() {
        Ok(python) => python,
        Err(why) => {
            let required = ["CI", "ACX_REQUIRE_INTEROP"]
                .iter()
                .any(|v| std::env::var_os(v).is_some());
            assert!(!required, "pylance and lancedb are required here: {why}");
            eprintln!("SKIPPED: LANCE INTEROP WAS NOT CHECKED, NO PYLANCE AND LANCEDB: {why}");
            return;
        }
    };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: String| folder.path().join(name);

    for rows in [0, 1, 3, 1_000, 20_000] {
        for dim in [1, 64, 128, 384] {
            let kinds = [
                ("id", Kind::Text { nulls: false }, false),
                ("note", Kind::Text { nulls: true }, true),
                ("flag", Kind::Bool, false),
                ("tags", Kind::Tags { item_nulls: false }, false),
                ("number", Kind::Int, false),
                ("score", Kind::Float, false),
                ("vector", Kind::Vector(dim), false),
            ];
            let metadata = [("acx.one", "1"), ("zwei", "ü"), ("empty", "")];
            let batch = batch((rows as u64) << 16 | dim as u64, rows, &kinds, &metadata);
            write_case(&at(format!("rows-{rows}-dim-{dim}")), &batch, false);
        }
        let mut random = Random(rows as u64 + 99);
        let records: Vec<_> = (0..rows).map(|n| memory(&mut random, n)).collect();
        write_case(
            &at(format!("memory-{rows}")),
            &record_batch(&records).unwrap(),
            true,
        );
    }

    // Rows that the fuzzers made.
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus/lance_rows");
    let mut fuzzed = 0;
    for entry in fs::read_dir(kept).unwrap() {
        let rows = targets::rows(&fs::read(entry.unwrap().path()).unwrap());
        if !rows.is_empty() {
            fuzzed += 1;
            let batch = record_batch(&rows).unwrap();
            write_case(&at(format!("fuzzed-{fuzzed:03}")), &batch, true);
        }
    }
    assert!(fuzzed > 0, "no rows in the corpus of lance_rows");

    // Schemas nobody chose: any columns in any order, nullable or not, with and without nulls.
    let names = ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"];
    let mut random = Random(2026);
    for case in 0..24_u64 {
        let count = 1 + random.below(names.len());
        let kinds: Vec<(&str, Kind, bool)> = names[..count]
            .iter()
            .map(|name| {
                let nullable = random.chance(2);
                let kind = match random.below(6) {
                    0 => Kind::Text {
                        nulls: nullable && random.chance(2),
                    },
                    1 => Kind::Bool,
                    2 => Kind::Int,
                    3 => Kind::Float,
                    4 => Kind::Tags {
                        item_nulls: random.chance(2),
                    },
                    _ => Kind::Vector(1 + random.below(200) as i32),
                };
                (*name, kind, nullable)
            })
            .collect();
        let rows = random.below(80);
        write_case(
            &at(format!("random-{case:02}")),
            &batch(case, rows, &kinds, &[]),
            false,
        );
    }

    // No item in any list; no byte in any text; nothing but nulls.
    let item = Arc::new(Field::new("item", DataType::Utf8, true));
    let none = ListArray::new(
        item.clone(),
        OffsetBuffer::from_lengths([0; 5]),
        Arc::new(StringArray::from(Vec::<String>::new())),
        None,
    );
    let schema = Schema::new(vec![
        Field::new("tags", DataType::List(item), false),
        Field::new("blank", DataType::Utf8, false),
        Field::new("absent", DataType::Utf8, true),
    ]);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(none),
        Arc::new(StringArray::from(vec![""; 5])),
        Arc::new(StringArray::from(vec![None::<&str>; 5])),
    ];
    let empty = RecordBatch::try_new(Arc::new(schema), columns).unwrap();
    write_case(&at("hollow".into()), &empty, false);
    assert!(empty.column(2).null_count() == 5);

    let texts = texts();
    fs::create_dir(at("embedding".into())).unwrap();
    fs::write(at("embedding/texts.json".into()), json!(texts).to_string()).unwrap();
    let vectors: Vec<f32> = texts.iter().flat_map(|t| embed(t)).collect();
    fs::write(at("embedding/vectors.f32".into()), bytes(&vectors)).unwrap();

    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop/check.py");
    let output = Command::new(python)
        .arg(script)
        .arg(folder.path())
        .output()
        .unwrap();
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{}{}",
        said(&output.stdout),
        said(&output.stderr)
    );
    let summary = said(&output.stdout);
    // The script says what it compared; nothing may have been left out.
    for what in [
        "memory schema",
        "values utf8",
        "values bool",
        "values int32",
        "values float32",
        "values list",
        "values vector",
        "filter utf8",
        "filter bool",
        "filter int32",
        "filter float32",
        "filter list",
        "filter vector",
        "take",
        "nearest",
        "lancedb search",
        "append;",
        "append to none",
        "embedding of 1",
    ] {
        assert!(summary.contains(what), "{what}: not in {summary}");
    }
    eprintln!("{summary}");
}
