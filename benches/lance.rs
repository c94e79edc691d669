//! How fast datasets are written, beside pylance on the same rows, in one run and in one place.
//!
//! - `ours`: everything from records to the folder on disk: columns, embeddings, the dataset's bytes, the swap.
//! - `plain`: the same, but the bytes are written as plain files in place, which is all that pylance does.
//! - `from rows`: `plain` from a ready record batch, so without embeddings: the same work as pylance's.
//! - `pylance`: `write_dataset` of a ready Arrow table.
//!
//! Each runs for a second, one after the other, several rounds; the best round of each counts, being the least
//! disturbed. MB are those of our dataset. Neither side flushes, and both write to a file system in memory where Linux
//! has one, so that writers are compared and not a disk: making two files and three folders takes longer than all the
//! rest of a small dataset. `TMPDIR`, where it is set, is another place.
//!
//! The target is for `from rows`, which is given what pylance is given.
//!
//! `cargo bench --bench lance`. `ACX_INTEROP_VENV` names the virtual environment with pylance; by default the one that
//! the interop test makes.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    missing_docs
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use acx_registry::lance::{Dataset, dataset, write};
use acx_registry::model::Timestamp;
use acx_registry::project::memories::{MemoryRecord, record_batch};

const ROUNDS: usize = 5;
const SECONDS: f64 = 1.0;

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

/// Seconds for one turn of `work`, which is given the folder to write as.
fn seconds(folder: &Path, mut work: impl FnMut(&Path)) -> f64 {
    let (mut count, start) = (0_u32, Instant::now());
    loop {
        work(&folder.join(format!("{count}.lance")));
        count += 1;
        let spent = start.elapsed().as_secs_f64();
        if spent >= SECONDS {
            return spent / f64::from(count);
        }
    }
}

/// Writes the files of a dataset as anybody would.
fn plain(set: &Dataset, at: &Path) {
    for folder in ["data", "_versions"] {
        fs::create_dir_all(at.join(folder)).unwrap();
    }
    for (path, bytes) in &set.files {
        fs::write(at.join(path), bytes).unwrap();
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
    println!("rows  writer     datasets/s        MB/s  ms/dataset  times pylance's speed  target");
    for (rows, target) in [(8, 20.0), (5_000, 1.0)] {
        let records: Vec<_> = (0..rows).map(record).collect();
        let timestamp = Timestamp::from_unix(1_782_864_000).unwrap();
        let memory = Path::new("/dev/shm");
        let folder = if std::env::var_os("TMPDIR").is_none() && memory.is_dir() {
            tempfile::tempdir_in(memory).unwrap()
        } else {
            tempfile::tempdir().unwrap()
        };
        let source = folder.path().join("source.lance");
        let batch = record_batch(&records).unwrap();
        let set = dataset(&batch, &timestamp).unwrap();
        write(&set, &source).unwrap();
        let megabytes = set.files.iter().map(|(_, b)| b.len()).sum::<usize>() as f64 / 1e6;

        let mut best = [f64::INFINITY; 4];
        for _ in 0..ROUNDS {
            let at = || tempfile::tempdir_in(folder.path()).unwrap();
            let round = [
                seconds(at().path(), |at| {
                    let set = dataset(&record_batch(&records).unwrap(), &timestamp).unwrap();
                    assert!(write(&set, at).unwrap());
                }),
                seconds(at().path(), |at| {
                    let batch = record_batch(&records).unwrap();
                    plain(&dataset(&batch, &timestamp).unwrap(), at);
                }),
                seconds(at().path(), |at| {
                    plain(&dataset(&batch, &timestamp).unwrap(), at)
                }),
                pylance(&python, &source, at().path()).unwrap_or(f64::INFINITY),
            ];
            for (best, seconds) in best.iter_mut().zip(round) {
                *best = best.min(seconds);
            }
        }
        let pylance = best[3];
        for (name, seconds) in ["ours", "plain", "from rows", "pylance"].iter().zip(best) {
            if seconds.is_infinite() {
                println!(
                    "{rows:>4}  {name:<9}  NOT MEASURED: no Python with pylance at {}",
                    python.display()
                );
                continue;
            }
            println!(
                "{rows:>4}  {name:<9}  {:>10.1}  {:>10.2}  {:>10.3}  {:>21.1}  {target:>6.0}",
                1.0 / seconds,
                megabytes / seconds,
                seconds * 1e3,
                pylance / seconds,
            );
        }
    }
}
