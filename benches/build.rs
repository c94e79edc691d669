//! A cold `build-index` of a registry of a thousand cartridges of 95 KiB each: how fast, and within what memory.
//!
//! `cargo bench --bench build`. Measured of the optimized program (the bench profile is the release profile, but
//! unwinds), for one and two threads: wall time from its start to its end, cartridges a second of that, the processor
//! time of all its threads (user and system), and the most memory that it ever held at once (`VmHWM`: resident pages,
//! those of the program's own file included). Every run starts without an index and without datasets, and writes both;
//! the files are new, so they come out of the page cache and no disk is measured. `ACX_BENCH_PROGRAM` names another
//! built `acx` to be measured instead.
//!
//! The floor is a program that does what cannot be left out, and nothing else: it reads each file, opens it by the same
//! SQLite, reads every column of every row, inflates each archived file by libdeflate into a buffer of the size that the
//! row claims, hashes each by SHA-256, and verifies one Ed25519 signature strictly. `x floor` is the processor time over
//! the floor's.
//!
//! Fails where a run does not accept every cartridge, or holds 100 MiB or more. Linux only: it reads `/proc`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark fails and prints as a test does"
)]

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use ed25519_dalek::{Signer as _, SigningKey};
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use sha2::{Digest as _, Sha256};

#[path = "../tests/support/mod.rs"]
mod support;

use support::cartridge::Builder;
use support::registry::TempRegistry;

/// Names the registry to this program where it is to be the floor.
const FLOOR: &str = "ACX_BENCH_FLOOR";

const CARTRIDGES: usize = 1_000;
const BYTES: usize = 95 * 1024;
const MOST_MEMORY_KIB: u64 = 100 * 1024;

struct Run {
    wall: Duration,
    processor: Duration,
    memory_kib: u64,
    indexed: usize,
}

fn main() -> ExitCode {
    if let Some(root) = std::env::var_os(FLOOR) {
        println!("{}", floor(Path::new(&root)));
        return ExitCode::SUCCESS;
    }
    let start = Instant::now();
    let registry = TempRegistry::new();
    let bytes = generate(&registry);
    println!(
        "{CARTRIDGES} cartridges, {:.1} MiB, generated in {:.1} s",
        bytes as f64 / f64::from(1 << 20),
        start.elapsed().as_secs_f64()
    );
    let key = registry.key();
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.env_clear().env(FLOOR, registry.root());
    let floor = watched(command);
    println!("jobs   cartridges/s  wall s  processor s  x floor  peak MiB");
    let row = |name: &str, run: &Run| {
        println!(
            "{name:<5}  {:>12.0}  {:>6.2}  {:>11.2}  {:>7.2}  {:>8.1}",
            CARTRIDGES as f64 / run.wall.as_secs_f64(),
            run.wall.as_secs_f64(),
            run.processor.as_secs_f64(),
            run.processor.as_secs_f64() / floor.processor.as_secs_f64(),
            run.memory_kib as f64 / 1024.0
        );
    };
    row("floor", &floor);
    let mut good = true;
    for jobs in [1, 2] {
        let run = build_index(&registry, &key, jobs);
        row(&jobs.to_string(), &run);
        if run.indexed != CARTRIDGES {
            println!(
                "FAILED: expected {CARTRIDGES} cartridges in the index, found {}",
                run.indexed
            );
            good = false;
        }
        if run.memory_kib >= MOST_MEMORY_KIB {
            println!(
                "FAILED: expected less than {} MiB at the peak",
                MOST_MEMORY_KIB / 1024
            );
            good = false;
        }
    }
    if good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Ten versions of each of a hundred agents; gives the bytes of all files.
fn generate(registry: &TempRegistry) -> u64 {
    // Padding is found by building again and again, so it is found once; ids differ in nothing that changes a size.
    let padding: Vec<_> = named(0).padded_to(BYTES).files;
    let padding: Vec<_> = padding
        .into_iter()
        .filter(|file| file.name.starts_with("rom/padding/"))
        .collect();
    let make = |n: usize| {
        let mut builder = named(n);
        builder.files.extend(padding.iter().cloned());
        let bytes = builder.build();
        registry.put(&builder.path(), &bytes);
        bytes.len() as u64
    };
    let half = |first: usize| (first..CARTRIDGES).step_by(2).map(make).sum::<u64>();
    std::thread::scope(|scope| {
        let odd = scope.spawn(|| half(1));
        half(0) + odd.join().expect("the builder holds")
    })
}

fn named(n: usize) -> Builder {
    let (agent, version) = (n / 10, n % 10);
    Builder::valid(
        "io.github.acme",
        &format!("agent-{agent:02}"),
        &format!("1.{version}.0"),
    )
}

fn build_index(registry: &TempRegistry, key: &str, jobs: usize) -> Run {
    let index = registry.at("index.json");
    if index.exists() {
        fs::remove_file(&index).expect("the index of the run before");
    }
    for n in 0..CARTRIDGES {
        let dataset = registry
            .at(&named(n).path())
            .with_file_name("cartridge.memories.lance");
        if dataset.exists() {
            fs::remove_dir_all(&dataset).expect("the dataset of the run before");
        }
    }
    let program = std::env::var_os("ACX_BENCH_PROGRAM").unwrap_or(env!("CARGO_BIN_EXE_acx").into());
    let mut command = Command::new(program);
    command
        .args([
            "build-index",
            "--quiet",
            "--key",
            key,
            "--jobs",
            &jobs.to_string(),
        ])
        .current_dir(registry.root())
        .env_clear()
        .env("HOME", registry.home());
    let mut run = watched(command);
    run.indexed = registry
        .index()
        .and_then(|index| index["cartridges"].as_array().map(Vec::len))
        .unwrap_or_default();
    run
}

/// Runs a program to its end.
fn watched(mut command: Command) -> Run {
    let start = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .expect("the program starts");
    let proc = Path::new("/proc").join(child.id().to_string());
    let mut run = Run {
        wall: Duration::ZERO,
        processor: Duration::ZERO,
        memory_kib: 0,
        indexed: 0,
    };
    // Both only grow, so the last look tells; it misses what the last 2 ms add.
    while child
        .try_wait()
        .expect("the program can be waited for")
        .is_none()
    {
        run.memory_kib = run.memory_kib.max(peak_kib(&proc).unwrap_or_default());
        run.processor = run.processor.max(processor(&proc).unwrap_or_default());
        std::thread::sleep(Duration::from_millis(2));
    }
    run.wall = start.elapsed();
    run
}

/// The least work that tells anything of a registry's cartridges; gives a number that depends on all of it.
fn floor(root: &Path) -> u64 {
    let key = SigningKey::from_bytes(&[7; 32]);
    let signature = key.sign(b"floor");
    let verifying = key.verifying_key();
    let mut inflater = libdeflater::Decompressor::new();
    let mut sum = 0;
    for n in 0..CARTRIDGES {
        let bytes = fs::read(root.join(named(n).path())).expect("a cartridge");
        let mut connection = Connection::open_in_memory().expect("SQLite");
        connection
            .deserialize_read_exact("main", bytes.as_slice(), bytes.len(), true)
            .expect("a database");
        let tables: Vec<String> = connection
            .prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")
            .and_then(|mut all| all.query_map([], |row| row.get(0))?.collect())
            .expect("the tables");
        for table in tables {
            let mut statement = connection
                .prepare(&format!("SELECT * FROM \"{table}\""))
                .expect("a statement");
            let columns = statement.column_count();
            let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
            let at = |name: &str| names.iter().position(|column| column == name);
            let archive = (table == "sqlar").then(|| (at("sz"), at("data")));
            let mut rows = statement.query([]).expect("rows");
            while let Some(row) = rows.next().expect("a row") {
                for column in 0..columns {
                    sum += match row.get_ref(column).expect("a value") {
                        ValueRef::Text(value) | ValueRef::Blob(value) => value.len() as u64,
                        _ => 1,
                    };
                }
                if let Some((Some(size), Some(data))) = archive {
                    let size = row.get::<_, i64>(size).expect("a size") as usize;
                    let data = row.get_ref(data).expect("data").as_blob().expect("a blob");
                    let mut buffer = vec![0; size];
                    let content = if data.len() == size {
                        data
                    } else {
                        inflater
                            .deflate_decompress(data, &mut buffer)
                            .expect("deflated data");
                        &buffer
                    };
                    sum += u64::from(Sha256::digest(content)[0]);
                }
            }
        }
        verifying
            .verify_strict(b"floor", &signature)
            .expect("a signature");
    }
    sum
}

fn peak_kib(proc: &Path) -> Option<u64> {
    let status = fs::read_to_string(proc.join("status")).ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

/// User and system time, from `/proc/<pid>/stat`: fields 14 and 15, in hundredths of a second (`USER_HZ`, which is 100
/// on every architecture that Rust's standard library runs on under Linux).
fn processor(proc: &Path) -> Option<Duration> {
    let stat = fs::read_to_string(proc.join("stat")).ok()?;
    // The program's name may hold anything; what follows its closing parenthesis starts with field 3.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(11);
    let ticks: u64 = fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?;
    Some(Duration::from_millis(ticks * 10))
}
