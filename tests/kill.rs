//! A build that is killed at any moment leaves the old index or the new one, and nothing that stands in the way of the
//! next build.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod support;

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use acx_registry::attest::PrivateKey;
use acx_registry::model::Timestamp;
use acx_registry::pipeline::{BuildOptions, Mode, Output, build};
use acx_registry::publish;
use acx_registry::registry::Registry;
use support::cartridge::Builder;
use support::keys;
use support::registry::{INDEX_SEED, SEPTEMBER, TempRegistry, index_keyid, ledger_entry};

const KILLS: usize = 200;
const SEED: u64 = 0x5eed_0fac_ade0_0001;

/// A generator of no quality but that it gives the same numbers each time (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to 1.
    fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

fn start(registry: &TempRegistry, key: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_acx"))
        .args(["build-index", "--jobs", "2", "--key", key])
        .current_dir(registry.root())
        .env_clear()
        .env("SOURCE_DATE_EPOCH", SEPTEMBER)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// What a build that nobody kills would write over `old`, from the library in a registry of its own.
fn expected(twin: &TempRegistry, old: Option<&[u8]>, ledger: &[u8]) -> Vec<u8> {
    match old {
        Some(bytes) => twin.put("index.json", bytes),
        None => twin,
    };
    twin.put("status.json", ledger);
    let now = Timestamp::from_unix(SEPTEMBER.parse().unwrap()).unwrap();
    let key = PrivateKey::from_seed(&keys::seed(INDEX_SEED)).unwrap();
    let registry = Registry::load(&twin.root(), &now).unwrap();
    let options = BuildOptions {
        jobs: 1,
        ..BuildOptions::new(Mode::Write, &now, Some(&key))
    };
    let mut output = Output::Folder(twin.root());
    assert_eq!(
        build(&registry, &mut output, &options)
            .unwrap()
            .exit_status(),
        0
    );
    twin.index_bytes()
}

fn leftovers(registry: &TempRegistry) -> usize {
    let entries = fs::read_dir(registry.root()).unwrap();
    entries
        .filter(|e| {
            e.as_ref()
                .unwrap()
                .file_name()
                .to_string_lossy()
                .starts_with(".acx-tmp-")
        })
        .count()
}

#[test]
fn a_killed_build_leaves_the_old_index_or_the_new_one() {
    let (registry, twin) = (TempRegistry::new(), TempRegistry::new());
    let cartridges: Vec<Builder> = ["alpha", "beta", "gamma"]
        .map(|id| Builder::valid("io.github.acme", id, "1.0.0"))
        .into();
    for cartridge in &cartridges {
        registry.cartridge(cartridge);
        twin.cartridge(cartridge);
    }
    let key = registry.key();
    // Each round says something new, so that each build has something to write.
    let ledger = |round: usize| {
        let mut entry = ledger_entry(&cartridges[round % 3], "deprecated");
        entry["reason"] = format!("Round {round} of a test of kills.").into();
        registry.ledger(&[entry]);
        fs::read(registry.at("status.json")).unwrap()
    };

    // The longest of a few whole builds, the first of which also pays for the program's way into memory.
    let mut longest = Duration::ZERO;
    let mut old = None;
    for round in 1_000..1_006 {
        let new = expected(&twin, old.as_deref(), &ledger(round));
        let begin = Instant::now();
        assert!(start(&registry, &key).wait().unwrap().success());
        if round > 1_000 {
            longest = longest.max(begin.elapsed());
        }
        assert!(
            registry.index_bytes() == new,
            "the library and the program write other bytes"
        );
        old = Some(new);
    }
    let mut old = old.unwrap();

    let mut random = Random(SEED);
    let (mut killed, mut kept, mut written, mut most_left) = (0, 0, 0, 0);
    for round in 0..KILLS {
        let new = expected(&twin, Some(&old), &ledger(round));
        assert!(new != old);
        let mut child = start(&registry, &key);
        // Half of the kills in the last third, where the file is written.
        let from = if round % 2 == 0 { 0.0 } else { 0.6 };
        std::thread::sleep(longest.mul_f64(from + (1.05 - from) * random.fraction()));
        child.kill().unwrap();
        let status = child.wait().unwrap();
        killed += usize::from(status.signal() == Some(9));
        assert!(
            status.signal() == Some(9) || status.success(),
            "round {round}: {status}"
        );

        let found = registry.index_bytes();
        assert!(
            found == old || found == new,
            "round {round}: neither the old index nor the new"
        );
        let index = publish::read(&found).unwrap();
        assert!(index.well_formed, "round {round}");
        assert_eq!(
            index.integrity.keyid.as_str(),
            index_keyid(),
            "round {round}"
        );
        if found == new {
            written += 1;
        } else {
            assert!(
                !status.success(),
                "round {round}: it succeeded and wrote nothing"
            );
            kept += 1;
        }
        old = found;
        most_left = most_left.max(leftovers(&registry));
    }
    println!(
        "{KILLS} builds of at most {longest:?}: {killed} killed, {kept} old, {written} new, at most {most_left} left over"
    );
    assert!(
        killed >= KILLS / 4,
        "only {killed} of {KILLS} builds were killed"
    );
    assert!(
        kept > 0 && written > 0,
        "{kept} old, {written} new: the moments were not spread"
    );

    // The next build that nobody kills goes on as if nothing had been, and leaves nothing behind.
    let new = expected(&twin, Some(&old), &ledger(KILLS));
    assert!(start(&registry, &key).wait().unwrap().success());
    assert!(registry.index_bytes() == new);
    assert_eq!(leftovers(&registry), 0);
    let keyid = index_keyid();
    let out = registry.run(&["verify-index", "--keyid", &keyid]);
    assert_eq!(out.status, 0, "{out:#?}");
}

#[test]
fn what_killed_builds_left_is_removed_and_nothing_else() {
    let registry = TempRegistry::new();
    registry.cartridge(&Builder::valid("io.github.acme", "alpha", "1.0.0"));
    for n in 0..5 {
        registry.put(&format!(".acx-tmp-{n}"), "half an ind");
    }
    // The index is up to date and the dataset too: what was left is removed all the same.
    assert_eq!(registry.build_index(&[]).status, 0);
    assert_eq!(leftovers(&registry), 0);
    let version = "cartridges/io.github.acme/alpha/1.0.0";
    for folder in [".acx-tmp-7-1", &format!("{version}/.acx-tmp-7-2")] {
        registry.put(&format!("{folder}/old/_versions/1.manifest"), "damaged");
    }
    let others = [
        ".acx-tmp",
        "acx-tmp-1",
        "notes/.acx-tmp-1",
        "cartridges/io.github.acme/.acx-tmp-1/file",
    ];
    for other in others {
        registry.put(other, "kept");
    }
    // A build that still runs holds the lock of its file.
    let busy = ".acx-tmp-busy";
    registry.put(busy, "half an ind");
    let held = fs::File::open(registry.at(busy)).unwrap();
    held.lock().unwrap();
    assert_eq!(registry.build_index(&[]).status, 0);
    assert!(registry.at(busy).exists());
    assert_eq!(leftovers(&registry), 1, "that file");
    assert!(!registry.at(&format!("{version}/.acx-tmp-7-2")).exists());
    for other in others {
        assert_eq!(fs::read_to_string(registry.at(other)).unwrap(), "kept");
    }
}
