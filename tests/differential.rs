//! Random changes to sound cartridges, judged by the program and by an independent verifier in Python that shares
//! nothing with it: what the one accepts and the other refuses is explained here, or a defect.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::type_complexity
)]

#[path = "fuzz/src/mutate.rs"]
mod mutate;
mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use acx_registry::check::Settings;
use acx_registry::finding::Severity;
use acx_registry::model::Timestamp;
use acx_registry::policy::{Policy, TrustRegistry};
use acx_registry::verdict;

use mutate::{Input, change_cells, edit, with_database};
use rayon::prelude::*;
use serde_json::Value;
use support::cartridge::{Builder, Order};
use support::documents::Document;
use support::records::{Capability, Memory};

/// Changed cartridges of each kind.
const EACH: u64 = 500;

/// Rules that look at what the Python verifier does not, and why: it recomputes hashes, fingerprints, ids, counts and
/// signatures, and takes the rest on trust.
const BEYOND: &[(&str, &str)] = &[
    (
        "capability-schema",
        "members, types and ranges of a capability",
    ),
    (
        "container-value-type",
        "the storage class of cells that go into no digest",
    ),
    (
        "lance-json",
        "a byte order mark, or bytes that are not UTF-8, where Python guesses the encoding",
    ),
    (
        "lance-schema",
        "the descriptor's members other than its engine and the number of its columns",
    ),
    (
        "memory-schema",
        "members and types of a record that go into no fingerprint",
    ),
    (
        "memory-tier",
        "what portable, codebaseFingerprint and zone say together",
    ),
    (
        "signature-envelope",
        "members of a signature beyond keyid and sig, and the row's time",
    ),
    (
        "signature-key",
        "armour of the key, of which Python skips the first and the last line unread",
    ),
    ("signature-predicate", "the predicate's signedAt"),
    ("spec-json", "as lance-json"),
    (
        "spec-schema",
        "members of the package spec other than roles, counts and ids",
    ),
];

/// What the Python verifier refuses and the format only warns about: its words, and the warning that must be there.
const WARNED: &[(&str, &str)] = &[
    ("statement form", "signature-not-canonical"),
    ("fileCount", "signature-tally"),
    ("checksumHash", "signature-tally"),
    ("engine in the predicate", "signature-tally"),
    (": fingerprint", "memory-fingerprint"),
    // A projectLabel that is no text.
    ("AttributeError", "memory-fingerprint"),
    (": id", "capability-id"),
];

fn base(n: u64) -> Builder {
    let mut builder =
        Builder::valid("io.github.acme", "fine", "1.0.0").with_memories(1 + n as usize % 3);
    builder.page_size = [512, 1024, 4096][n as usize / 3 % 3];
    builder.encoding = ["UTF-8", "UTF-8", "UTF-16le", "UTF-16be"][n as usize / 9 % 4];
    builder
}

/// Random bytes for the mutator.
fn random(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..length)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8
        })
        .collect()
}

/// One cell or row changed, and nothing signed anew.
fn changed(n: u64) -> Vec<u8> {
    let bytes = base(n).build();
    let random = random(n + 1, 24);
    with_database(&bytes, |db| {
        for _ in 0..1 + n % 2 {
            change_cells(db, &mut Input(&random), 1);
        }
    })
    .unwrap()
}

/// A document of the cartridge edited as a tree, and then signed.
fn resigned(n: u64) -> Vec<u8> {
    let mut builder = base(n);
    let random = random(n + 1_000_000, 24);
    let input = &mut Input(&random);
    match n % 6 {
        0 => builder.edit_spec(|spec| edit(spec, input, 1)),
        1 => builder.edit_lance(|lance| edit(lance, input, 1)),
        2 => {
            let mut record = builder.memory[0].record.clone();
            edit(&mut record, input, 1);
            let sealed = n % 4 < 2 && record.is_object();
            let mut row = if sealed {
                Memory::sealed(record)
            } else {
                Memory::of(record)
            };
            if !["rom", "save"].contains(&&*row.zone()) {
                row.zone = Some("rom".to_owned());
            }
            builder.memory[0] = row;
        }
        3 => {
            let mut record = builder.capabilities[0].record.clone();
            edit(&mut record, input, 1);
            let sealed = n % 4 < 2 && record.is_object();
            builder.capabilities[0] = if sealed {
                Capability::sealed(record)
            } else {
                Capability::of(record)
            };
        }
        4 => {
            let random = random.clone();
            builder
                .envelope
                .statement(move |statement| edit(statement, &mut Input(&random), 1));
        }
        _ => {
            let random = random.clone();
            builder
                .envelope
                .envelope(move |envelope| edit(envelope, &mut Input(&random), 1));
        }
    }
    builder.build()
}

/// The same content spelled otherwise: white space, order of members, escapes, numbers; then signed.
fn respelled(n: u64) -> Vec<u8> {
    let mut builder = base(n);
    let random = random(n + 2_000_000, 16);
    let mut turn = 0;
    let mut pick = |most: usize| {
        turn += 1;
        usize::from(random[turn % random.len()]) % most
    };
    let mut spell = |value: &Value| -> Vec<u8> {
        let mut text = match pick(3) {
            0 => serde_json::to_string(value).unwrap(),
            1 => serde_json::to_string_pretty(value).unwrap(),
            _ => support::jcs::jcs(value),
        };
        match pick(8) {
            0 => text = format!(" {text}"),
            1 => text.push('\n'),
            2 => text = text.replacen(':', " : ", 1 + pick(3)),
            3 => text = text.replacen('a', "\\u0061", 1 + pick(20)),
            4 => text = text.replacen('/', "\\/", 1 + pick(3)),
            5 => text = text.replacen("0,", "0.0,", 1).replacen("25", "2.5e1", 1),
            6 => text = format!("\u{feff}{text}"),
            _ => {}
        }
        text.into_bytes()
    };
    match n % 5 {
        0 => builder.edit_spec(|_| {}),
        1 => builder.edit_lance(|_| {}),
        2 => {
            let record = builder.memory[0].record.clone();
            builder.memory[0].payload = Some(String::from_utf8(spell(&record)).unwrap());
        }
        3 => {
            let record = builder.capabilities[0].record.clone();
            builder.capabilities[0].json = Some(String::from_utf8(spell(&record)).unwrap());
        }
        _ => builder.envelope.pretty = true,
    }
    for document in [&mut builder.spec, &mut builder.lance] {
        if let Document::Json(value) = document {
            *document = Document::Text(spell(value));
        }
    }
    builder.build()
}

/// Another layout of the same rows: their order, encoding, page size, free pages, the order of the manifest.
fn laid_out(n: u64) -> Vec<u8> {
    let mut builder = base(n);
    builder.order = [Order::CodePoint, Order::Utf16][n as usize % 2];
    let random = random(n + 3_000_000, 8);
    let bytes = builder.build();
    with_database(&bytes, |db| {
        for (at, table) in ["cartridge", "sqlar", "memory", "capabilities", "objects"].iter().enumerate() {
            if random[at].is_multiple_of(3) {
                db.execute_batch(&format!(
                    "CREATE TEMP TABLE t AS SELECT * FROM {table} ORDER BY random() ; DELETE FROM {table};
                     INSERT INTO {table} SELECT * FROM t; DROP TABLE t;"
                ))
                .unwrap();
            }
        }
        if random[6].is_multiple_of(2) {
            db.execute_batch("VACUUM").unwrap();
        }
    })
    .unwrap()
}

/// Codes that the rules find in a file.
#[derive(Debug)]
struct Ours {
    /// None where it is accepted.
    errors: BTreeSet<&'static str>,
    warnings: BTreeSet<&'static str>,
}

fn ours(bytes: &[u8]) -> Ours {
    let (policy, trust) = (Policy::default(), TrustRegistry::default());
    let now = Timestamp::from_unix(1_788_220_800).unwrap();
    let settings = Settings {
        policy: &policy,
        trust: &trust,
        own_keys: &[],
        now: &now,
        public: true,
    };
    let judgement = verdict::judge("x.acx", bytes, settings, |_, _| {}).unwrap();
    let of = |severity| {
        judgement
            .findings
            .iter()
            .filter(|f| f.severity == severity)
            .map(|f| f.code)
            .collect()
    };
    Ours {
        errors: of(Severity::Error),
        warnings: of(Severity::Warning),
    }
}

/// What the Python verifier finds wrong with each file; nothing where it holds. `None` where there is no Python.
fn theirs(folder: &Path, count: usize) -> Option<Vec<String>> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/verify.py");
    let files: Vec<PathBuf> = (0..count)
        .map(|n| folder.join(format!("{n}.acx")))
        .collect();
    let said: Vec<String> = files
        .par_chunks(count.div_ceil(8))
        .map(
            |files| match Command::new("python3").arg(&script).args(files).output() {
                Ok(out) => {
                    Some(String::from_utf8_lossy(&[out.stdout, out.stderr].concat()).into_owned())
                }
                Err(e) if std::env::var_os("CI").is_none() => {
                    println!("SKIPPED: NO PYTHON TO VERIFY WITH ({e})");
                    None
                }
                Err(e) => panic!("CI is set and python3 does not run: {e}"),
            },
        )
        .collect::<Option<_>>()?;
    let mut wrong = vec![String::new(); count];
    for text in &said {
        assert!(text.trim_end().ends_with("files"), "{text}");
    }
    for line in said.iter().flat_map(|text| text.lines()) {
        let Some((path, words)) = line.split_once(".acx: ") else {
            continue;
        };
        let Some(name) = path
            .rsplit('/')
            .next()
            .and_then(|name| name.parse::<usize>().ok())
        else {
            continue;
        };
        words.clone_into(&mut wrong[name]);
    }
    Some(wrong)
}

#[test]
fn two_thousand_changes_and_two_verifiers() {
    let kinds: [(&str, fn(u64) -> Vec<u8>); 4] = [
        ("changed", changed),
        ("resigned", resigned),
        ("respelled", respelled),
        ("laid out", laid_out),
    ];
    let folder = tempfile::tempdir().unwrap();
    let all: Vec<(&str, u64, Ours)> = kinds
        .iter()
        .flat_map(|(kind, make)| (0..EACH).map(move |n| (*kind, *make, n)))
        .enumerate()
        .collect::<Vec<_>>()
        .into_par_iter()
        .map(|(at, (kind, make, n))| {
            let bytes = make(n);
            std::fs::write(folder.path().join(format!("{at}.acx")), &bytes).unwrap();
            (kind, n, ours(&bytes))
        })
        .collect();
    let Some(theirs) = theirs(folder.path(), all.len()) else {
        return;
    };
    let mut table: BTreeMap<(&str, &str, &str), usize> = BTreeMap::new();
    let mut unexplained = Vec::new();
    for ((kind, n, we), wrong) in all.iter().zip(&theirs) {
        let verdicts = [we.errors.is_empty(), wrong.is_empty()];
        let [ours, theirs] = verdicts.map(|sound| if sound { "accept" } else { "refuse" });
        *table.entry((kind, ours, theirs)).or_default() += 1;
        let explained = match verdicts {
            [false, true] => we
                .errors
                .iter()
                .any(|code| BEYOND.iter().any(|(known, _)| known == code)),
            [true, false] => wrong.split("; ").all(|word| {
                let mut known = WARNED.iter().filter(|(part, _)| word.contains(part));
                known.any(|(_, code)| we.warnings.contains(code))
            }),
            _ => true,
        };
        if !explained {
            unexplained.push(format!("{kind} {n}: we say {we:?}, they say {wrong:?}"));
        }
    }
    println!("changes, we, they: {table:#?}");
    assert!(
        unexplained.is_empty(),
        "{} differences:\n{}",
        unexplained.len(),
        unexplained.join("\n")
    );
    // Both verdicts occur in plenty, or the comparison is of nothing.
    for same in ["accept", "refuse"] {
        let count: usize = table
            .iter()
            .filter(|((_, we, they), _)| we == they && *we == same)
            .map(|(_, n)| n)
            .sum();
        assert!(count > 300, "both {same} only {count} of {}", all.len());
    }
}
