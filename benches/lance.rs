//! How fast datasets are written, beside pylance on the same rows, in one run and on one disk.
//!
//! Ours is everything from records to the folder on disk: columns, embeddings, the dataset's bytes, digests, files
//! flushed to the disk, the swap. Pylance's is `write_dataset` of a ready Arrow table, which it does not flush. Each runs
//! for a few seconds, one after the other, several rounds; the best round of each counts, being the least disturbed.
//!
//! `cargo bench --bench lance`. `ACX_INTEROP_VENV` names the virtual environment with pylance; by default the one that
//! the interop test makes.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use acx_registry::lance::{dataset, write};
use acx_registry::model::Timestamp;
use acx_registry::project::memories::{MemoryRecord, record_batch};

const ROUNDS: usize = 3;
const SECONDS: f64 = 2.0;

fn record(n: usize) -> MemoryRecord {
    MemoryRecord {
        id: format!("memory-{n:05}"),
        zone: "rom".into(),
        portable: true,
        artifact_fingerprint: format!("{n:010x}"),
        codebase_fingerprint: None,
        title: format!("Retry a failed upload {n} times with a growing pause"),
        summary: "The storage service answers 503 while it moves a bucket. A fixed pause made all workers return at once; \
                  a pause that doubles, with some chance in it, spreads them out and the queue drains within a minute."
            .into(),
        source_type: "task".into(),
        tags: vec!["reliability".into(), "storage".into(), format!("t{}", n % 7)],
        impact: "positive".into(),
        xp_awarded: 40,
        timestamp: "2026-07-01T00:00:00Z".into(),
    }
}

/// Seconds for one dataset of ours, written again and again below this folder.
fn ours(records: &[MemoryRecord], folder: &Path) -> f64 {
    let timestamp = Timestamp::from_unix(1_782_864_000).unwrap();
    let (mut count, start) = (0_u32, Instant::now());
    loop {
        let set = dataset(&record_batch(records).unwrap(), &timestamp).unwrap();
        assert!(write(&set, &folder.join(format!("{count}.lance"))).unwrap());
        count += 1;
        let spent = start.elapsed().as_secs_f64();
        if spent >= SECONDS {
            return spent / f64::from(count);
        }
    }
}

/// Seconds for one dataset of pylance, of the rows of this dataset.
fn pylance(python: &Path, source: &Path, folder: &Path) -> Option<f64> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/pylance_write.py");
    let output = Command::new(python)
        .arg(script)
        .args([source, folder])
        .arg(SECONDS.to_string())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let mut numbers = text.split_whitespace().map(str::parse::<f64>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(count)), Some(Ok(spent))) => Some(spent / count),
        _ => {
            println!("pylance: {}", String::from_utf8_lossy(&output.stderr));
            None
        }
    }
}

fn main() {
    let python = std::env::var_os("ACX_INTEROP_VENV")
        .map_or_else(
            || Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("interop-venv"),
            PathBuf::from,
        )
        .join("bin/python");
    println!("rows    writer   datasets/s        MB/s   ms/dataset   ours is faster by   target");
    for (rows, target) in [(8, 20.0), (5_000, 1.0)] {
        let records: Vec<_> = (0..rows).map(record).collect();
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("source.lance");
        let set = dataset(
            &record_batch(&records).unwrap(),
            &Timestamp::from_unix(0).unwrap(),
        )
        .unwrap();
        write(&set, &source).unwrap();
        let megabytes = set.files.iter().map(|(_, b)| b.len()).sum::<usize>() as f64 / 1e6;

        let (mut us, mut them) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..ROUNDS {
            let at = tempfile::tempdir_in(folder.path()).unwrap();
            us = us.min(ours(&records, at.path()));
            let at = tempfile::tempdir_in(folder.path()).unwrap();
            them = them.min(pylance(&python, &source, at.path()).unwrap_or(f64::INFINITY));
        }
        for (name, seconds) in [("ours", us), ("pylance", them)] {
            if seconds.is_finite() {
                println!(
                    "{rows:>5}  {name:>8}  {:>11.1}  {:>10.2}  {:>11.3}{}",
                    1.0 / seconds,
                    megabytes / seconds,
                    seconds * 1e3,
                    if name == "ours" && them.is_finite() {
                        format!("  {:>17.1}x  {target:>6.0}x", them / us)
                    } else {
                        String::new()
                    }
                );
            } else {
                println!(
                    "{rows:>5}  {name:>8}  not measured: no Python with pylance at {}",
                    python.display()
                );
            }
        }
    }
}
