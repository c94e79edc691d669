//! What was found before is kept, and never makes a difference but in time.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::type_complexity
)]

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use support::cartridge::Builder;
use support::git::{Lab, Repository};
use support::keys;
use support::registry::{
    Output, SEPTEMBER, TrustKey, ledger_entry, rejected_codes, run_acx, trust_registry,
    warning_codes,
};

fn cartridge(id: &str, version: &str) -> Builder {
    Builder::valid("io.github.acme", id, version)
}

/// A repository with sound, warned-about, bad and misplaced cartridges.
fn registry(lab: &Lab) -> Repository<'_> {
    let work = lab.work("work", &[]);
    for n in 0..6 {
        work.cartridge(&cartridge("build-smith", &format!("1.{n}.0")));
    }
    let mut counted = cartridge("counted", "1.0.0");
    counted.edit_spec(|spec| spec["artifacts"][7]["count"] = 9.into());
    work.cartridge(&counted);
    work.put("cartridges/io.github.acme/bad/1.0.0/cartridge.acx", "bad");
    work.put("misplaced.acx", cartridge("other", "1.0.0").build());
    work.put("README.md", "A registry\n");
    work.commit("Everything");
    work
}

fn cache(work: &Repository<'_>) -> PathBuf {
    work.path.join(".git/acx/cache")
}

fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut out: Vec<_> = walkdir::WalkDir::new(folder)
        .into_iter()
        .map(Result::unwrap)
        .filter(|e| {
            e.file_type().is_file() && !e.path().components().any(|c| c.as_os_str() == ".git")
        })
        .map(|e| (e.path().to_path_buf(), fs::read(e.path()).unwrap()))
        .collect();
    out.sort();
    out
}

/// Builds with and without what is kept: the same report, the same bytes. Gives the report.
fn same(work: &Repository<'_>, more: &[&str]) -> Output {
    let with = work.build(more);
    let kept = files(&work.path);
    let without = work.build(&[more, &["--no-cache"]].concat());
    assert!(files(&work.path) == kept, "the same bytes");
    let mut json = with.json();
    // The second has nothing to write any more.
    for member in ["wrote", "removed", "changes", "outcome"] {
        json[member] = without.json()[member].clone();
    }
    assert_eq!(json, without.json());
    assert_eq!(with.status, without.status);
    with
}

#[test]
fn with_and_without_it_the_output_is_the_same() {
    let lab = Lab::new();
    let work = registry(&lab);
    let first = same(&work, &[]);
    assert_eq!(first.json()["counts"]["accepted"], 7);
    assert!(fs::read_dir(cache(&work)).unwrap().count() > 0);
    work.commit("Built");
    // Warm: unchanged files are known by git's index, and then by their blobs.
    same(&work, &[]);
    same(&work, &["--check"]);
    same(&work, &["--rev", "HEAD", "--check"]);
    // A file that changes is seen, whether or not its size does.
    let path = work.path.join(cartridge("build-smith", "1.3.0").path());
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes.len() / 2;
    bytes[at] ^= 1;
    fs::write(&path, bytes).unwrap();
    assert!(
        !rejected_codes(&same(&work, &["--dry-run"]).json())
            [&cartridge("build-smith", "1.3.0").path()]
            .is_empty()
    );
    work.git(&["checkout", "-q", "--", "."]);
    // And so is a dataset.
    let dataset =
        path.with_file_name("cartridge.memories.lance/_versions/18446744073709551614.manifest");
    let good = fs::read(&dataset).unwrap();
    fs::write(&dataset, "other").unwrap();
    assert_eq!(work.build(&["--check"]).status, 1);
    work.build(&[]);
    assert_eq!(fs::read(&dataset).unwrap(), good);
    // A known cartridge in another place is misplaced there.
    let bytes = fs::read(&path).unwrap();
    work.put(
        "cartridges/io.github.acme/build-smith/9.0.0/cartridge.acx",
        bytes,
    );
    let codes = rejected_codes(&same(&work, &["--dry-run"]).json());
    assert_eq!(
        codes["cartridges/io.github.acme/build-smith/9.0.0/cartridge.acx"],
        ["registry-coordinate"]
    );
}

#[test]
fn trust_time_status_and_policy_are_asked_anew() {
    let lab = Lab::new();
    let work = registry(&lab);
    work.build(&[]);
    let trusts = |out: &Output| {
        out.json()["accepted"][0]["trust"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(trusts(&same(&work, &["--dry-run"])), "portable");
    let key = TrustKey::active(keys::seed(7), "io.github.acme");
    let put = |key: TrustKey| {
        work.put("trust-registry.json", trust_registry(&[key]).to_string());
    };
    put(key.clone());
    assert_eq!(trusts(&same(&work, &["--dry-run"])), "trusted");
    put(key.clone().revoked("key-compromise"));
    let codes = rejected_codes(&same(&work, &["--dry-run"]).json());
    assert_eq!(
        codes[&cartridge("build-smith", "1.0.0").path()],
        ["signature-compromised-key"]
    );
    put(key.revoked("retired"));
    assert_eq!(trusts(&same(&work, &["--dry-run"])), "portable");
    work.put("acx-registry.toml", "[trust]\nminimum = \"trusted\"\n");
    let codes = rejected_codes(&same(&work, &["--dry-run"]).json());
    assert_eq!(
        codes[&cartridge("build-smith", "1.0.0").path()],
        ["policy-minimum-trust"]
    );
    work.put("acx-registry.toml", "[rules]\nspec-count = \"error\"\n");
    let codes = rejected_codes(&same(&work, &["--dry-run"]).json());
    assert_eq!(codes[&cartridge("counted", "1.0.0").path()], ["spec-count"]);
    work.put("acx-registry.toml", "[limits]\nfile_bytes = 4096\n");
    let codes = rejected_codes(&same(&work, &["--dry-run"]).json());
    assert_eq!(
        codes[&cartridge("build-smith", "1.0.0").path()],
        ["container-too-large"]
    );
    work.put("acx-registry.toml", "");
    let ledger = serde_json::json!({
        "schemaVersion": "acx.registry-status/1",
        "updatedAt": "2026-08-01T00:00:00Z",
        "entries": [ledger_entry(&cartridge("build-smith", "1.5.0"), "deprecated")],
    });
    work.put("status.json", ledger.to_string());
    same(&work, &[]);
    assert!(
        fs::read_to_string(work.path.join("index.json"))
            .unwrap()
            .contains("deprecated")
    );
    // Before it was signed, a cartridge is from the future.
    fs::remove_file(work.path.join("trust-registry.json")).unwrap();
    let key = lab.key();
    for more in [&[][..], &["--no-cache"]] {
        let args = [
            &[
                "build-index",
                "--key",
                &key,
                "--format",
                "json",
                "--dry-run",
            ],
            more,
        ]
        .concat();
        let out = run_acx(
            &args,
            &work.path,
            &lab.home(),
            &[("SOURCE_DATE_EPOCH", "1600000000")],
        );
        let path = cartridge("build-smith", "1.0.0").path();
        let warned = warning_codes(&out.json());
        assert!(
            warned.contains(&("signature-future".to_owned(), path)),
            "{more:?}: {warned:?}"
        );
    }
}

#[test]
fn a_damaged_foreign_or_older_one_is_dropped_with_a_note() {
    let lab = Lab::new();
    let work = registry(&lab);
    let key = lab.key();
    let build = |more: &[&str]| {
        let args = [
            &[
                "build-index",
                "--key",
                &key,
                "--format",
                "json",
                "--dry-run",
            ],
            more,
        ]
        .concat();
        run_acx(
            &args,
            &work.path,
            &lab.home(),
            &[("SOURCE_DATE_EPOCH", SEPTEMBER)],
        )
    };
    let expected = build(&[]).stdout;
    assert_eq!(
        build(&[]).stderr,
        build(&["--no-cache"]).stderr,
        "a sound one is not worth a word"
    );
    let shards = || -> Vec<PathBuf> {
        fs::read_dir(cache(&work))
            .unwrap()
            .map(|e| e.unwrap().path())
            .collect()
    };
    let damages: [fn(&[u8]) -> Vec<u8>; 6] = [
        |_| Vec::new(),
        |_| b"something else entirely\n".to_vec(),
        |bytes| bytes[..bytes.len() / 2].to_vec(),
        |bytes| {
            let mut bytes = bytes.to_vec();
            let at = bytes.len() / 2;
            bytes[at] ^= 1;
            bytes
        },
        |bytes| [b"acx-cache/0", &bytes[11..]].concat(),
        |_| vec![0xff; 1000],
    ];
    for damage in damages {
        for shard in shards() {
            let bytes = fs::read(&shard).unwrap();
            fs::write(&shard, damage(&bytes)).unwrap();
        }
        let out = build(&[]);
        assert_eq!(out.stdout, expected);
        assert!(
            out.stderr.contains("of another version or damaged"),
            "{out:#?}"
        );
        assert!(!build(&[]).stderr.contains("damaged"), "it was made anew");
    }
    // Links in its files' places: not read, not written through.
    #[cfg(unix)]
    {
        let victim = lab.at("victim");
        fs::write(&victim, "precious").unwrap();
        for shard in shards() {
            fs::remove_file(&shard).unwrap();
            std::os::unix::fs::symlink(&victim, &shard).unwrap();
        }
        for _ in 0..2 {
            assert_eq!(build(&[]).stdout, expected);
            assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        }
    }
    // In the way of a cache: a build does without.
    fs::remove_dir_all(cache(&work)).unwrap();
    fs::write(cache(&work), "a file").unwrap();
    let out = build(&[]);
    assert_eq!(out.stdout, expected);
    assert!(out.stderr.contains("cannot be written"), "{out:#?}");
    // Elsewhere, by choice.
    let elsewhere = lab.at("kept");
    for _ in 0..2 {
        assert_eq!(
            build(&["--cache", elsewhere.to_str().unwrap()]).stdout,
            expected
        );
    }
    assert!(fs::read_dir(elsewhere).unwrap().count() > 0);
}

#[test]
fn a_build_that_is_warm_reads_no_cartridge() {
    let lab = Lab::new();
    let work = registry(&lab);
    work.build(&[]);
    work.commit("Built");
    // The index's own time has to be later than the files'.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    work.git(&["update-index", "-q", "--refresh", "--force-write-index"]);
    let expected = work.build(&["--check"]).stdout;
    // Blobs that are gone: a commit is judged all the same, by what is known of them.
    let ids = work.git(&[
        "ls-tree",
        "-r",
        "HEAD",
        "cartridges/io.github.acme/build-smith",
    ]);
    for line in ids.lines().filter(|l| l.ends_with("cartridge.acx")) {
        let id = line.split_whitespace().nth(2).unwrap();
        fs::remove_file(work.path.join(".git/objects").join(&id[..2]).join(&id[2..])).unwrap();
    }
    let out = work.build(&["--rev", "HEAD", "--check"]);
    assert_eq!(out.stdout, expected, "{out:#?}");
    assert_eq!(
        work.build(&["--rev", "HEAD", "--check", "--no-cache"])
            .status,
        2
    );
}
