//! What the program takes, as one table: each figure beside a floor or a rival that was measured in the same run.
//!
//! `cargo bench --bench targets`; `cargo bench --profile dist --bench targets` measures what is released. The built
//! program is run as its users run it; `ACX_BENCH_PROGRAM` names another. `cpu` is user and system time of all threads,
//! `wall` the time from start to end, `peak` the most memory held at once (`VmHWM`: the program's own pages included).
//! Short runs are repeated and the median counts; of runs over seconds the better of two. Files come out of the page
//! cache, so that no disk is measured.
//!
//! - The **floor** does what cannot be left out, and nothing else: it reads each file, opens it by the same SQLite, reads
//!   every column of every row, inflates each archived file by libdeflate into a buffer of the size that the row claims,
//!   hashes each by SHA-256, and verifies one Ed25519 signature strictly.
//! - `git status` reads as many files' times in the same work tree.
//! - Plain files of the same names and sizes, not flushed, stand beside the datasets.
//!
//! `-- judging datasets` runs these parts alone, of start-up, judging, datasets and repositories.
//! `ACX_BENCH_CARTRIDGES` is the size of the large registry (10,000). `ACX_BENCH_HUGE` adds a cold build of so many small
//! cartridges, such as 100,000, which takes an hour and 10 GB. Linux only: it reads `/proc`.

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

use nix::sys::resource::{UsageWho, getrusage};

#[path = "common/corpus.rs"]
mod corpus;
#[path = "common/floor.rs"]
mod floor;
#[path = "../tests/support/mod.rs"]
mod support;

use support::cartridge::Builder;
use support::git::{Lab, Repository};

/// Names the registry to this program where it is to be the floor.
const FLOOR: &str = "ACX_BENCH_FLOOR";
const SMALL: usize = 1_000;
const BYTES: usize = 95 * 1024;
const RUNS: usize = 9;

#[derive(Clone, Copy)]
struct Run {
    wall: f64,
    cpu: f64,
    peak_mib: f64,
}

fn program() -> PathBuf {
    std::env::var_os("ACX_BENCH_PROGRAM")
        .map_or_else(|| env!("CARGO_BIN_EXE_acx").into(), PathBuf::from)
}

/// User and system time of all children that have ended, in seconds.
fn children() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("a process may ask for its own usage");
    [usage.user_time(), usage.system_time()]
        .iter()
        .map(|time| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6)
        .sum()
}

/// Runs a program to its end; it must succeed.
fn run(mut command: Command, input: &str) -> Run {
    let (cpu, start) = (children(), Instant::now());
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    drop(stdin);
    let status = Path::new("/proc")
        .join(child.id().to_string())
        .join("status");
    // It only grows, so the last look tells; it misses what the last half millisecond adds.
    let mut peak = 0;
    let ended = loop {
        peak = peak.max(peak_kib(&status).unwrap_or(0));
        if let Some(ended) = child.try_wait().unwrap() {
            break ended;
        }
        std::thread::sleep(Duration::from_micros(500));
    };
    let wall = start.elapsed().as_secs_f64();
    if !ended.success() {
        let out = child.wait_with_output().unwrap();
        panic!("{}", String::from_utf8_lossy(&out.stderr));
    }
    Run {
        wall,
        cpu: children() - cpu,
        peak_mib: peak as f64 / 1024.0,
    }
}

fn peak_kib(status: &Path) -> Option<u64> {
    let text = fs::read_to_string(status).ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

/// The median of each figure; the most of the peaks.
fn median(times: usize, mut one: impl FnMut(usize) -> Run) -> Run {
    let runs: Vec<Run> = (0..times).map(&mut one).collect();
    let middle = |of: fn(&Run) -> f64| {
        let mut all: Vec<f64> = runs.iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    Run {
        wall: middle(|r| r.wall),
        cpu: middle(|r| r.cpu),
        peak_mib: runs.iter().map(|r| r.peak_mib).fold(0.0, f64::max),
    }
}

fn better(mut one: impl FnMut() -> Run) -> Run {
    let (a, b) = (one(), one());
    Run {
        wall: a.wall.min(b.wall),
        cpu: a.cpu.min(b.cpu),
        peak_mib: a.peak_mib.max(b.peak_mib),
    }
}

/// The lines of the table, and whether every target was met.
struct Table {
    good: bool,
}

impl Table {
    fn line(&mut self, what: &str, figures: &str, found: f64, target: Target) {
        let (met, shown) = match target {
            Target::AtMost(most) => (found <= most, format!("<= {most}")),
            Target::AtLeast(least) => (found >= least, format!(">= {least}")),
            Target::None => (true, String::new()),
        };
        self.good &= met;
        let missed = if met { "" } else { "  MISSED" };
        println!("{what:<38} {found:>9.2}  {shown:<9} {figures}{missed}");
    }
}

#[derive(Clone, Copy)]
enum Target {
    AtMost(f64),
    AtLeast(f64),
    None,
}

fn acx(folder: &Path, home: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(program());
    command
        .args(args)
        .current_dir(folder)
        .env_clear()
        .env("HOME", home);
    command
}

fn check(folder: &Path, home: &Path, cartridges: usize, jobs: &str) -> Command {
    let mut command = acx(folder, home, &["check", "--quiet", "--jobs", jobs]);
    command.args((0..cartridges).map(|n| corpus::named(n).path()));
    command
}

/// Removes what builds made of a corpus.
fn cold(folder: &Path, cartridges: usize) {
    for n in 0..cartridges {
        let dataset = folder
            .join(corpus::named(n).path())
            .with_file_name("cartridge.memories.lance");
        if dataset.exists() {
            fs::remove_dir_all(dataset).unwrap();
        }
    }
    if folder.join("index.json").exists() {
        fs::remove_file(folder.join("index.json")).unwrap();
    }
}

fn cold_build(folder: &Path, lab: &Lab, cartridges: usize, jobs: &str) -> Run {
    cold(folder, cartridges);
    let key = lab.key();
    let args = [
        "build-index",
        "--quiet",
        "--no-cache",
        "--key",
        &key,
        "--jobs",
        jobs,
    ];
    run(acx(folder, &lab.home(), &args), "")
}

fn main() -> ExitCode {
    if let Some(root) = std::env::var_os(FLOOR) {
        println!("{}", floor::run(Path::new(&root), SMALL));
        return ExitCode::SUCCESS;
    }
    let number = |name: &str| {
        std::env::var(name)
            .ok()
            .map(|text| text.parse::<usize>().expect("a number"))
    };
    let large = number("ACX_BENCH_CARTRIDGES").unwrap_or(10_000);
    let mut table = Table { good: true };
    let lab = Lab::new();
    println!("{:<38} {:>9}  {:<9} measured", "", "", "target");
    let named: Vec<String> = std::env::args().skip(1).collect();
    let wanted = |part: &str| {
        let mut named = named.iter().filter(|name| *name != "--bench").peekable();
        named.peek().is_none() || named.any(|name| name == part)
    };
    if wanted("start-up") {
        start_up(&mut table, &lab);
    }
    if wanted("judging") {
        judging(&mut table, &lab);
    }
    if wanted("datasets") {
        datasets(&mut table);
    }
    if wanted("repositories") {
        repositories(&mut table, &lab, large);
    }
    if let Some(huge) = number("ACX_BENCH_HUGE") {
        let folder = lab.at("huge");
        corpus::write(&folder, huge, 0);
        let build = cold_build(&folder, &lab, huge, "0");
        let figures = format!("{:.0} s wall, {:.0} s cpu", build.wall, build.cpu);
        let what = format!("cold build of {huge}: peak MiB");
        table.line(&what, &figures, build.peak_mib, Target::AtMost(400.0));
    }
    if table.good {
        ExitCode::SUCCESS
    } else {
        println!("FAILED: a target was missed");
        ExitCode::FAILURE
    }
}

fn start_up(table: &mut Table, lab: &Lab) {
    let folder = lab.at("one");
    corpus::write(&folder, 1, BYTES);
    let one = corpus::named(0).path();
    for (what, args, most) in [
        ("acx --version: ms of cpu", vec!["--version"], 10.0),
        (
            "acx verify of one file: ms of cpu",
            vec!["verify", &one],
            25.0,
        ),
    ] {
        let run = median(RUNS * 3, |_| run(acx(&folder, &lab.home(), &args), ""));
        let figures = format!("{:.1} MiB", run.peak_mib);
        table.line(what, &figures, run.cpu * 1e3, Target::AtMost(most));
    }
}

/// A thousand cartridges of 95 KiB, judged, beside the floor.
fn judging(table: &mut Table, lab: &Lab) {
    let folder = lab.at("judging");
    corpus::write(&folder, SMALL, BYTES);
    let mut least = Command::new(std::env::current_exe().expect("this program"));
    least.env_clear().env(FLOOR, &folder);
    let floor = better(|| {
        let mut command = Command::new(least.get_program());
        command.env_clear().env(FLOOR, &folder);
        run(command, "")
    });
    let one = better(|| run(check(&folder, &lab.home(), SMALL, "1"), ""));
    let two = better(|| run(check(&folder, &lab.home(), SMALL, "2"), ""));
    let seconds = |run: &Run| format!("{:.2} s cpu, {:.2} s wall", run.cpu, run.wall);
    table.line("floor of 1,000: s of cpu", "", floor.cpu, Target::None);
    let times = one.cpu / floor.cpu;
    table.line(
        "check of 1,000: cpu, x floor",
        &seconds(&one),
        times,
        Target::AtMost(1.6),
    );
    let times = one.wall / two.wall;
    table.line(
        "check, 2 threads: x 1 thread",
        &seconds(&two),
        times,
        Target::AtLeast(1.8),
    );
    table.line(
        "check: peak MiB",
        "",
        two.peak_mib.max(one.peak_mib),
        Target::AtMost(64.0),
    );
    let built = better(|| cold_build(&folder, lab, SMALL, "1"));
    let two = better(|| cold_build(&folder, lab, SMALL, "2"));
    let times = built.cpu / floor.cpu;
    table.line(
        "cold build of 1,000: cpu, x floor",
        &seconds(&built),
        times,
        Target::None,
    );
    let times = built.wall / two.wall;
    table.line(
        "cold build, 2 threads: x 1 thread",
        &seconds(&two),
        times,
        Target::None,
    );
    table.line(
        "cold build: peak MiB",
        "",
        two.peak_mib.max(built.peak_mib),
        Target::AtMost(64.0),
    );
    let rate = SMALL as f64 / two.wall;
    table.line(
        "cold build, 2 threads: cartridges/s",
        "",
        rate,
        Target::None,
    );
    fs::remove_dir_all(&folder).unwrap();
}

/// A thousand datasets, beside plain files.
fn datasets(table: &mut Table) {
    use acx_registry::lance;
    use acx_registry::model::Timestamp;
    use acx_registry::project::memories::{MemoryRecord, record_batch};
    const TURNS: usize = 3_000;
    let record = |n: usize| MemoryRecord {
        id: format!("memory-{n:05}"),
        zone: "rom".into(),
        portable: true,
        artifact_fingerprint: format!("{n:010x}"),
        codebase_fingerprint: None,
        title: format!("Retry a failed upload {n} times with a growing pause"),
        summary: "A pause that doubles, with some chance in it, spreads the workers out.".into(),
        source_type: "task".into(),
        tags: vec!["reliability".into(), format!("t{}", n % 7)],
        impact: "positive".into(),
        xp_awarded: 40,
        timestamp: "2026-07-01T00:00:00Z".into(),
    };
    let records: Vec<_> = (0..3).map(record).collect();
    let batch = record_batch(&records).unwrap();
    let made = Timestamp::from_unix(1_782_864_000).unwrap();
    let set = lance::dataset(&batch, &made).unwrap();
    let plain = |at: &Path| {
        for (path, bytes) in &set.files {
            let file = at.join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, bytes).unwrap();
        }
    };
    let ours = |at: &Path| {
        let set = lance::dataset(&batch, &made).unwrap();
        assert!(lance::write(&set, at).unwrap());
    };
    // By turns, so that both meet the same state of the file system; nothing is removed before the end, since a file
    // system is slow to use again what it has just let go.
    let folder = tempfile::tempdir().unwrap();
    let seconds = |work: &dyn Fn(&Path), name: String| {
        let start = Instant::now();
        work(&folder.path().join(name));
        start.elapsed().as_secs_f64()
    };
    let mut times = [Vec::new(), Vec::new()];
    for n in 0..TURNS {
        times[0].push(seconds(&ours, format!("{n}.lance")));
        times[1].push(seconds(&plain, format!("{n}.plain")));
    }
    let [best, floor] = times.map(|mut all| {
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    });
    let figures = format!("{:.3} and {:.3} ms each", best * 1e3, floor * 1e3);
    table.line(
        "datasets: wall, x plain files",
        &figures,
        best / floor,
        Target::AtMost(1.3),
    );
}

/// A registry in git and its bare clone, and commits with one cartridge more.
struct Pair<'a> {
    work: Repository<'a>,
    bare: Repository<'a>,
    tip: String,
    more: Vec<String>,
}

fn pair<'a>(lab: &'a Lab, name: &str, cartridges: usize) -> Pair<'a> {
    let work = lab.work(name, &[]);
    corpus::write(&work.path, cartridges, 0);
    work.put(
        "acx-registry.toml",
        "[registry]\nid = \"com.example.bench\"\n",
    );
    assert_eq!(work.build(&["--quiet"]).status, 0);
    let tip = work.commit("Everything");
    let mut more = Vec::new();
    for n in 0..RUNS {
        work.git(&["checkout", "-q", "--detach", &tip]);
        work.cartridge(&Builder::valid(
            "io.github.acme000",
            "agent-00",
            &format!("2.{n}.0"),
        ));
        more.push(work.commit("One more"));
    }
    work.git(&["checkout", "-q", "main"]);
    for (n, id) in more.iter().enumerate() {
        work.git(&["branch", "-q", &format!("push-{n}"), id]);
    }
    let bare = lab.clone_of(&work.path, &format!("{name}.git"), &["--bare"]);
    bare.git(&["repack", "-q", "-a", "-d"]);
    // A server has seen its cartridges when they were pushed.
    let out = bare.build(&["--rev", "main", "--check"]);
    assert_eq!(out.status, 0, "{out:?}");
    Pair {
        work,
        bare,
        tip,
        more,
    }
}

fn repositories(table: &mut Table, lab: &Lab, size: usize) {
    let ten = pair(lab, "ten", 10);
    let small = pair(lab, "small", SMALL);
    let large = pair(lab, "large", size);
    let hook = |of: &Pair<'_>, n: usize| {
        let git_dir = of.bare.path.to_str().unwrap();
        let args = ["pre-receive", "--budget", "600", "--git-dir", git_dir];
        let line = format!("{} {} refs/heads/main\n", of.tip, of.more[n]);
        run(acx(lab.at("").as_path(), &lab.home(), &args), &line)
    };
    for (cartridges, of) in [(10, &ten), (size, &large)] {
        let run = median(RUNS, |n| hook(of, n));
        let figures = format!("{:.1} ms wall, {:.1} MiB", run.wall * 1e3, run.peak_mib);
        let what = format!("hook, one more to {cartridges}: ms of cpu");
        table.line(&what, &figures, run.cpu * 1e3, Target::AtMost(30.0));
    }
    // Git's index has to be younger than what it knows.
    std::thread::sleep(Duration::from_millis(1_100));
    for of in [&small, &large] {
        of.work
            .git(&["update-index", "-q", "--refresh", "--force-write-index"]);
    }
    let key = lab.key();
    let warm = |of: &Pair<'_>| {
        let args = ["build-index", "--quiet", "--key", &key];
        run(acx(&of.work.path, &lab.home(), &args), "")
    };
    let status = median(RUNS, |_| {
        let mut git = Command::new("git");
        git.arg("-C").arg(&large.work.path);
        git.args(["status", "--porcelain"]).env("HOME", lab.home());
        run(git, "")
    });
    let nothing = median(RUNS, |_| warm(&large));
    let times = nothing.wall / status.wall;
    let figures = format!(
        "{:.0} and {:.0} ms wall, {:.1} MiB",
        nothing.wall * 1e3,
        status.wall * 1e3,
        nothing.peak_mib
    );
    let what = format!("warm build of {size}: x git status");
    table.line(&what, &figures, times, Target::AtMost(1.5));
    let small_warm = median(RUNS, |_| warm(&small));
    let changed = median(RUNS, |n| {
        large.work.cartridge(&Builder::valid(
            "io.github.acme000",
            "agent-00",
            &format!("3.{n}.0"),
        ));
        warm(&large)
    });
    let figures = format!("{:.0} ms wall", changed.wall * 1e3);
    let times = changed.wall / nothing.wall;
    table.line(
        "one changed: x nothing changed",
        &figures,
        times,
        Target::AtMost(1.2),
    );
    let most = size as f64 / SMALL as f64 * 1.05;
    let mut grows = |what: &str, small: Run, large: Run| {
        let figures = format!("{:.2} and {:.2} s cpu", small.cpu, large.cpu);
        let what = format!("{what}: {size}, x {SMALL}");
        table.line(&what, &figures, large.cpu / small.cpu, Target::AtMost(most));
    };
    grows("warm build", small_warm, nothing);
    let checked = |of: &Pair<'_>, count| run(check(&of.work.path, &lab.home(), count, "2"), "");
    grows("check", checked(&small, SMALL), checked(&large, size));
    let built = |of: &Pair<'_>, count| cold_build(&of.work.path, lab, count, "2");
    let build = built(&large, size);
    grows("cold build", built(&small, SMALL), build);
    let what = format!("cold build of {size}: peak MiB");
    let figures = format!("{:.1} s wall", build.wall);
    table.line(&what, &figures, build.peak_mib, Target::None);
}
