//! A build in parts gives what one run gives, and parts that do not fit are refused.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    clippy::print_stdout
)]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use base64::Engine as _;
use sha2::{Digest as _, Sha256};

use support::cartridge::Builder;
use support::git::Lab;
use support::keys::hex;
use support::registry::{Output, SEPTEMBER, TempRegistry, rejected_codes};

fn cartridge(id: &str, version: &str) -> Builder {
    Builder::valid("io.github.acme", id, version)
}

/// Sound, warned-about, bad, misplaced and strange files, and a withdrawn version.
fn fill(registry: &TempRegistry) {
    for n in 0..7 {
        registry.cartridge(&cartridge("build-smith", &format!("1.{n}.0")));
    }
    let mut counted = cartridge("counted", "1.0.0");
    counted.edit_spec(|spec| spec["artifacts"][7]["count"] = 9.into());
    registry.cartridge(&counted);
    let mut tampered = cartridge("tampered", "1.0.0");
    tampered.after_sign.push(Arc::new(|db| {
        let set = "UPDATE cartridge SET value = 'Another' WHERE key = 'acx.agent_name'";
        assert_eq!(db.execute(set, []).unwrap(), 1);
    }));
    registry.cartridge(&tampered);
    registry.put("cartridges/io.github.acme/bad/1.0.0/cartridge.acx", "bad");
    registry.put("misplaced.acx", cartridge("other", "1.0.0").build());
    registry.put("notes/README.md", "A registry\n");
    registry.put("leaked.pem", "-----BEGIN PRIVATE KEY-----\n");
}

fn files(registry: &TempRegistry) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = registry.snapshot().into_iter();
    files
        .filter_map(|(path, (bytes, _))| {
            let path = path.strip_prefix(registry.root()).unwrap();
            Some((path.to_path_buf(), bytes?))
        })
        .collect()
}

fn part(registry: &TempRegistry, share: &str, jobs: &str) -> String {
    let file = registry
        .root()
        .with_file_name(format!("{}.part", share.replace('/', "-of-")));
    let file = file.to_str().unwrap().to_owned();
    let args = [
        "build-index",
        "--shard",
        share,
        "--partial",
        &file,
        "--jobs",
        jobs,
    ];
    let out = registry.run(&args);
    assert_eq!(out.status, 0, "{out:?}");
    file
}

fn parts(registry: &TempRegistry, of: usize) -> Vec<String> {
    (1..=of)
        .map(|n| part(registry, &format!("{n}/{of}"), &n.to_string()))
        .collect()
}

fn merge(registry: &TempRegistry, parts: &[String]) -> Output {
    let mut args = vec!["--merge"];
    args.extend(parts.iter().map(String::as_str));
    registry.build_at(SEPTEMBER, &args)
}

#[test]
fn parts_joined_are_one_run() {
    let whole = TempRegistry::new();
    fill(&whole);
    let expected = whole.build_at(SEPTEMBER, &[]);
    assert_eq!(expected.status, 1, "{expected:?}");
    for of in [1, 3, 20] {
        let registry = TempRegistry::new();
        fill(&registry);
        let before = files(&registry);
        let parts = parts(&registry, of);
        assert_eq!(
            files(&registry),
            before,
            "a share writes nothing into the registry"
        );
        let joined = merge(&registry, &parts);
        assert_eq!((joined.status, joined.json()), (1, expected.json()));
        let (found, wanted) = (files(&registry), files(&whole));
        assert!(
            found.keys().eq(wanted.keys()),
            "{:#?} {:#?}",
            found.keys(),
            wanted.keys()
        );
        for (path, bytes) in &wanted {
            assert!(found[path] == *bytes, "{of} parts: {}", path.display());
        }
        let again = registry.build_at(SEPTEMBER, &["--check"]);
        assert!(
            again.json()["differences"].as_array().unwrap().is_empty(),
            "{again:?}"
        );
    }
}

#[test]
fn a_share_is_the_same_on_every_machine() {
    let registry = TempRegistry::new();
    fill(&registry);
    let read = |jobs: &str| fs::read(part(&registry, "2/3", jobs)).unwrap();
    let first = read("1");
    assert!(first == read("4"));
    let other = TempRegistry::new();
    fill(&other);
    assert!(first == fs::read(part(&other, "2/3", "2")).unwrap());
}

#[test]
fn what_is_wrong_is_judged_by_the_join() {
    let registry = TempRegistry::new();
    fill(&registry);
    let parts = parts(&registry, 2);
    let text: String = parts
        .iter()
        .map(|p| fs::read_to_string(p).unwrap())
        .collect();
    for path in ["bad/1.0.0", "tampered/1.0.0", "leaked.pem"] {
        let line = text.lines().find(|l| l.contains(path)).unwrap();
        assert!(!line.contains("\"fact\""), "{line}");
    }
    // A policy that is stricter by the time of the join counts, as it does with a cache.
    let out = merge(&registry, &parts);
    let codes = rejected_codes(&out.json());
    assert_eq!(codes["leaked.pem"], ["registry-secret"]);
    assert!(codes.contains_key("cartridges/io.github.acme/bad/1.0.0/cartridge.acx"));
}

/// Changes the text of a part and makes its last line fit again.
fn forge(file: &str, change: impl Fn(&str) -> String) {
    let text = fs::read_to_string(file).unwrap();
    let end = text.trim_end().rfind('\n').unwrap() + 1;
    let mut body = change(&text[..end]);
    body += &format!("sha256:{}\n", hex(&Sha256::digest(body.as_bytes())));
    fs::write(file, body).unwrap();
}

#[test]
fn parts_that_do_not_fit_are_refused() {
    let registry = TempRegistry::new();
    fill(&registry);
    let good = parts(&registry, 3);
    let refused = |parts: &[String], why: &str| {
        let before = files(&registry);
        let out = merge(&registry, parts);
        assert_eq!(out.status, 2, "{out:?}");
        assert!(
            out.stderr.contains(why),
            "expected {why:?} in {}",
            out.stderr
        );
        assert!(files(&registry) == before, "nothing was written");
    };
    refused(
        &[good[0].clone(), good[2].clone()],
        "of 3 parts, these are missing: 2",
    );
    let copy = format!("{}.copy", good[1]);
    fs::copy(&good[1], &copy).unwrap();
    let doubled = [&good[..], std::slice::from_ref(&copy)].concat();
    refused(&doubled, "it is part 2 of 3, and so is");
    let with = |forged: &str| vec![good[0].clone(), forged.to_owned(), good[2].clone()];

    let bytes = fs::read(&good[1]).unwrap();
    for at in (0..bytes.len()).step_by(bytes.len() / 40) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1;
        fs::write(&copy, flipped).unwrap();
        refused(&with(&copy), "it is no whole part of a build");
    }
    for cut in [0, 1, bytes.len() / 2, bytes.len() - 1] {
        fs::write(&copy, &bytes[..cut]).unwrap();
        refused(&with(&copy), "it is no whole part of a build");
    }
    let forged = |change: &dyn Fn(&str) -> String| {
        fs::write(&copy, &bytes).unwrap();
        forge(&copy, change);
        with(&copy)
    };
    let head = |from: &'static str, to: &'static str| move |text: &str| text.replacen(from, to, 1);
    refused(
        &forged(&head(
            "\"registry\":\"local.registry\"",
            "\"registry\":\"com.example.other\"",
        )),
        "expected a part of the registry \"local.registry\", found one of \"com.example.other\"",
    );
    refused(
        &forged(&head("\"part\":2", "\"part\":4")),
        "expected a part of the form",
    );
    refused(
        &forged(&head("\"of\":3", "\"of\":4")),
        "of another build than",
    );
    refused(
        &forged(&head("acx-cache/", "acx-cache/9")),
        "another version of this program",
    );
    let first_line = |text: &str| text.lines().nth(1).unwrap().to_owned();
    let stolen = first_line(&fs::read_to_string(&good[0]).unwrap());
    refused(
        &forged(&|text| format!("{text}{stolen}\n")),
        "it is in two parts",
    );
    refused(
        &forged(&|text| text.replacen(&format!("{}\n", first_line(text)), "", 1)),
        "is the file is another than the one of the parts".trim_start_matches("is "),
    );

    // Another policy: what was found under other limits says nothing.
    registry.policy("[registry]\nid = \"local.registry\"\n[limits]\nmemory_records = 7\n");
    refused(&good, "under other rules or limits");
    fs::remove_file(registry.at("acx-registry.toml")).unwrap();
    // Another tree.
    registry.cartridge(&cartridge("late", "1.0.0"));
    refused(
        &good,
        "cartridges/io.github.acme/late/1.0.0/cartridge.acx is in none of them",
    );
    fs::remove_dir_all(registry.at("cartridges/io.github.acme/late")).unwrap();
    let gone = fs::read(registry.at("notes/README.md")).unwrap();
    fs::remove_file(registry.at("notes/README.md")).unwrap();
    refused(&good, "notes/README.md is not in the registry");
    registry.put("notes/README.md", "Another\n");
    refused(
        &good,
        "notes/README.md: the file is another than the one of the parts",
    );
    registry.put("notes/README.md", gone);
    assert_eq!(merge(&registry, &good).status, 1, "and now they fit");
}

/// A dataset that a part carries is held against what the cartridge's fact says of it.
#[test]
fn a_forged_dataset_is_not_written() {
    let registry = TempRegistry::new();
    registry.cartridge(&cartridge("build-smith", "1.0.0"));
    let parts = parts(&registry, 1);
    forge(&parts[0], |text| {
        let data = text.split("\"data\":\"").nth(1).unwrap();
        let data = &data[..data.find('"').unwrap()];
        let engine = base64::engine::general_purpose::STANDARD;
        let mut bytes = engine.decode(data).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        text.replacen(data, &engine.encode(bytes), 1)
    });
    let out = merge(&registry, &parts);
    assert_eq!(out.status, 0, "{out:?}");
    let check = registry.build_at(SEPTEMBER, &["--check", "--no-cache"]);
    assert_eq!(check.status, 0, "derived anew instead: {check:?}");
}

#[test]
fn a_commit_is_built_in_parts() {
    let lab = Lab::new();
    let work = lab.work("work", &[]);
    for n in 0..5 {
        work.cartridge(&cartridge("build-smith", &format!("1.{n}.0")));
    }
    work.commit("Everything");
    let bare = lab.bare("bare.git", &[]);
    work.git(&["remote", "add", "origin", bare.path.to_str().unwrap()]);
    work.git(&["push", "-q", "origin", "main"]);
    let files: Vec<String> = (1..=2)
        .map(|n| {
            let file = lab.at(&format!("{n}.part"));
            let file = file.to_str().unwrap().to_owned();
            let share = format!("{n}/2");
            let out = work.acx(&[
                "build-index",
                "--rev",
                "HEAD",
                "--shard",
                &share,
                "--partial",
                &file,
            ]);
            assert_eq!(out.status, 0, "{out:?}");
            file
        })
        .collect();
    // Somebody is faster: what the parts know stays known, and the rest is judged.
    let other = lab.clone_of(&bare.path, "other", &[]);
    other.cartridge(&cartridge("build-smith", "2.0.0"));
    other.commit("Faster");
    other.git(&["push", "-q", "origin", "main"]);
    let out = work.build(&[
        "--push",
        "origin",
        "--no-cache",
        "--merge",
        &files[0],
        &files[1],
    ]);
    assert_eq!(out.status, 0, "{out:?}");
    other.git(&["pull", "-q", "origin", "main"]);
    let check = other.build(&["--check"]);
    assert_eq!(check.status, 0, "{check:?}");
    assert_eq!(check.json()["counts"]["accepted"], 6);
}

#[test]
fn shares_are_spelled_in_one_way() {
    let registry = TempRegistry::new();
    for bad in ["0/2", "3/2", "1/0", "1", "1/257", "-1/2", "1/2/3", ""] {
        let out = registry.run(&["build-index", "--shard", bad, "--partial", "x.part"]);
        assert_eq!(out.status, 2, "{bad}: {out:?}");
    }
    let out = registry.run(&["build-index", "--shard", "1/2"]);
    assert_eq!(out.status, 2);
    assert!(out.stderr.contains("--partial"), "{out:?}");
}
