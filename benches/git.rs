//! The hook and a warm build, in a registry of ten cartridges and in one of ten thousand.
//!
//! `cargo bench --bench git`. Measured of the optimized program, the median of several runs, small and large by turns:
//!
//! - `hook, a cartridge`: `acx pre-receive` on a push that adds one cartridge. Target: the large registry takes at most
//!   1.3 times as long as the small one, and less than 64 MiB.
//! - `hook, with index`: the same, and the push carries the index and the dataset that its build made.
//! - `warm build`: `acx build-index` where nothing changed, beside `git status` in the same work tree. Target: at most
//!   twice as long.
//!
//! `ACX_BENCH_CARTRIDGES` is the size of the large registry, `ACX_BENCH_PROGRAM` another built `acx` to be measured.
//! Linux only: it reads `/proc`.

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
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

#[path = "../tests/support/mod.rs"]
mod support;

use support::cartridge::Builder;
use support::git::{Lab, Repository};

const RUNS: usize = 15;
const MOST_MEMORY_KIB: u64 = 64 * 1024;

fn program() -> PathBuf {
    std::env::var_os("ACX_BENCH_PROGRAM")
        .map_or_else(|| env!("CARGO_BIN_EXE_acx").into(), PathBuf::from)
}

struct Run {
    wall: Duration,
    memory_kib: u64,
}

/// Runs a program to its end, with this input; it must succeed.
fn run(mut command: Command, input: &str) -> Run {
    let start = Instant::now();
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let status = Path::new("/proc")
        .join(child.id().to_string())
        .join("status");
    let mut memory_kib = 0;
    let ended = loop {
        let peak = fs::read_to_string(&status).ok().and_then(|text| {
            let line = text.lines().find(|l| l.starts_with("VmHWM:"))?;
            line.split_whitespace().nth(1)?.parse().ok()
        });
        memory_kib = memory_kib.max(peak.unwrap_or(0));
        if let Some(ended) = child.try_wait().unwrap() {
            break ended;
        }
        std::thread::sleep(Duration::from_micros(500));
    };
    let wall = start.elapsed();
    if !ended.success() {
        let out = child.wait_with_output().unwrap();
        panic!("{}", String::from_utf8_lossy(&out.stderr));
    }
    Run { wall, memory_kib }
}

fn median(mut runs: Vec<Run>) -> (f64, u64) {
    let memory = runs.iter().map(|r| r.memory_kib).max().unwrap_or(0);
    runs.sort_by_key(|r| r.wall);
    (runs[runs.len() / 2].wall.as_secs_f64() * 1e3, memory)
}

fn named(n: usize) -> Builder {
    // Ten cartridges of one publisher and then the next: who publishes is as large in both registries.
    Builder::valid(
        &format!("io.github.acme{:04}", n / 10),
        "agent",
        &format!("1.{}.0", n % 10),
    )
}

/// A built and committed registry, its bare clone, and commits on top of it: with one cartridge more, without and with
/// what a build makes of it.
struct Registry<'a> {
    work: Repository<'a>,
    bare: Repository<'a>,
    tip: String,
    plain: Vec<String>,
    indexed: Vec<String>,
}

fn registry<'a>(lab: &'a Lab, name: &str, cartridges: usize) -> Registry<'a> {
    let work = lab.work(name, &[]);
    let half = |first: usize| {
        for n in (first..cartridges).step_by(2) {
            work.cartridge(&named(n));
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| half(1));
        half(0);
    });
    work.put(
        "acx-registry.toml",
        "[registry]\nid = \"com.example.bench\"\n",
    );
    assert_eq!(work.build(&["--quiet"]).status, 0);
    let tip = work.commit("Everything");
    let mut plain = Vec::new();
    let mut indexed = Vec::new();
    for n in 0..RUNS {
        work.git(&["checkout", "-q", "--detach", &tip]);
        work.cartridge(&Builder::valid(
            "io.github.acme00",
            "agent-000",
            &format!("2.{n}.0"),
        ));
        plain.push(work.commit("One more"));
        assert_eq!(work.build(&["--quiet"]).status, 0);
        indexed.push(work.commit("Its index"));
    }
    work.git(&["checkout", "-q", "main"]);
    for (n, id) in plain.iter().chain(&indexed).enumerate() {
        work.git(&["branch", "-q", &format!("push-{n}"), id]);
    }
    let bare = lab.clone_of(&work.path, &format!("{name}.git"), &["--bare"]);
    bare.git(&["repack", "-q", "-a", "-d"]);
    // A server has seen its cartridges when they were pushed.
    let out = bare.build(&["--rev", "main", "--check"]);
    assert_eq!(out.status, 0, "{out:?}");
    Registry {
        work,
        bare,
        tip,
        plain,
        indexed,
    }
}

fn hook(registry: &Registry<'_>, new: &str) -> Run {
    let mut command = Command::new(program());
    command
        .args(["pre-receive", "--budget", "600", "--git-dir"])
        .arg(&registry.bare.path)
        .env_clear()
        .env("HOME", registry.bare.lab.home());
    run(
        command,
        &format!("{} {new} refs/heads/main\n", registry.tip),
    )
}

fn main() -> ExitCode {
    let large_size: usize = std::env::var("ACX_BENCH_CARTRIDGES")
        .map_or(10_000, |text| text.parse().expect("a number"));
    let start = Instant::now();
    let lab = Lab::new();
    let small = registry(&lab, "small", 10);
    let large = registry(&lab, "large", large_size);
    println!(
        "10 and {large_size} cartridges, made and built in {:.0} s",
        start.elapsed().as_secs_f64()
    );
    println!(
        "{:<18} {:>9} {:>9} {:>7} {:>7} {:>9}",
        "",
        "10: ms",
        format!("{large_size}: ms"),
        "ratio",
        "target",
        "peak MiB"
    );
    let mut good = true;
    for (name, target) in [("hook, a cartridge", Some(1.3)), ("hook, with index", None)] {
        let (mut at_small, mut at_large) = (Vec::new(), Vec::new());
        for n in 0..RUNS {
            let of = |r: &Registry<'_>| match target {
                Some(_) => r.plain[n].clone(),
                None => r.indexed[n].clone(),
            };
            at_small.push(hook(&small, &of(&small)));
            at_large.push(hook(&large, &of(&large)));
        }
        let ((small_ms, _), (large_ms, memory)) = (median(at_small), median(at_large));
        let ratio = large_ms / small_ms;
        println!(
            "{name:<18} {small_ms:>9.1} {large_ms:>9.1} {ratio:>7.2} {:>7} {:>9.1}",
            target.map_or_else(String::new, |t| t.to_string()),
            memory as f64 / 1024.0
        );
        good &= target.is_none_or(|target| ratio <= target && memory < MOST_MEMORY_KIB);
    }
    // Git's index has to be younger than what it knows.
    std::thread::sleep(Duration::from_millis(1_100));
    large
        .work
        .git(&["update-index", "-q", "--refresh", "--force-write-index"]);
    let (mut builds, mut statuses) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let mut git = Command::new("git");
        git.arg("-C")
            .arg(&large.work.path)
            .args(["status", "--porcelain"]);
        git.env("HOME", lab.home());
        statuses.push(run(git, ""));
        let mut build = Command::new(program());
        build
            .args(["build-index", "--quiet", "--key", &lab.key()])
            .current_dir(&large.work.path)
            .env_clear()
            .env("HOME", lab.home());
        builds.push(run(build, ""));
    }
    let ((build_ms, memory), (status_ms, _)) = (median(builds), median(statuses));
    let ratio = build_ms / status_ms;
    println!(
        "warm build: {build_ms:.1} ms, git status: {status_ms:.1} ms, ratio {ratio:.2}, target 2, peak {:.1} MiB",
        memory as f64 / 1024.0
    );
    good &= ratio <= 2.0;
    if good {
        ExitCode::SUCCESS
    } else {
        println!("FAILED: a target was missed");
        ExitCode::FAILURE
    }
}
