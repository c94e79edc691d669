//! `build-index` as a function of the tree: the same bytes for the same tree, nothing written where nothing is to be
//! written, and a finding for every hazard that a work tree can hold.
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

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use serde_json::json;
use support::cartridge::{Builder, PUBLISHER_SEED};
use support::keys;
use support::registry::{
    FINE, INDEX_SEED, Output, SEPTEMBER, TempRegistry, TrustKey, artifact, fine, ledger_entry,
    listed, predicate, rejected_codes, warning_codes, with_fine,
};
use support::signed::workflow;

/// Twelve cartridges of three publishers and a workflow, with everything that a registry can have.
fn whole() -> TempRegistry {
    let registry = TempRegistry::new();
    for publisher in ["io.github.acme", "com.example", "io.github.beta"] {
        for id in ["zeta-smith", "alpha-smith"] {
            for version in ["1.0.0", "1.10.0"] {
                registry.cartridge(&Builder::valid(publisher, id, version));
            }
        }
    }
    let old = Builder::valid("com.example", "alpha-smith", "1.0.0");
    let new = Builder::valid("com.example", "alpha-smith", "1.10.0");
    let mut superseded = ledger_entry(&old, "superseded");
    superseded["successor"] = artifact(&new);
    let beta = Builder::valid("io.github.beta", "zeta-smith", "1.10.0");
    let nightly = workflow("io.github.acme", "nightly", "1.0.0", PUBLISHER_SEED);
    registry
        .policy("[registry]\nid = \"com.example.registry\"\n[index]\nexpires_days = 30\n")
        .trust(&[TrustKey::active(
            keys::seed(PUBLISHER_SEED),
            "io.github.acme",
        )])
        .ledger(&[superseded, ledger_entry(&beta, "deprecated")])
        .put(
            "templates/starter-agent/manifest.json",
            r#"{"name":"Starter","packageVersion":"2.0.0"}"#,
        )
        .put("templates/starter-agent/docs/README.md", "Start here.\n")
        .put(&nightly.path(), nightly.bytes())
        .put("README.md", "# A registry\n");
    registry
}

#[test]
fn the_same_tree_gives_the_same_bytes_whatever_the_threads_and_the_folder() {
    let registries = [whole(), whole()];
    let mut first: Option<Vec<u8>> = None;
    for registry in &registries {
        for jobs in ["1", "2", "8", "8", "2", "1"] {
            let out = registry.build_at(SEPTEMBER, &["--jobs", jobs]);
            assert_eq!(out.status, 0, "{out:#?}");
            let bytes = registry.index_bytes();
            let first = first.get_or_insert_with(|| bytes.clone());
            assert!(*first == bytes, "--jobs {jobs}: other bytes");
            registry.remove("index.json");
        }
    }
    let index: serde_json::Value = serde_json::from_slice(&first.unwrap()).unwrap();
    let in_order = [
        ("com.example", "alpha-smith", "1.10.0", true),
        ("com.example", "alpha-smith", "1.0.0", false),
        ("com.example", "zeta-smith", "1.10.0", true),
        ("com.example", "zeta-smith", "1.0.0", false),
        ("io.github.acme", "alpha-smith", "1.10.0", true),
        ("io.github.acme", "alpha-smith", "1.0.0", false),
        ("io.github.acme", "zeta-smith", "1.10.0", true),
        ("io.github.acme", "zeta-smith", "1.0.0", false),
        ("io.github.beta", "alpha-smith", "1.10.0", true),
        ("io.github.beta", "alpha-smith", "1.0.0", false),
        ("io.github.beta", "zeta-smith", "1.10.0", true),
        ("io.github.beta", "zeta-smith", "1.0.0", false),
    ];
    let entries = index["cartridges"].as_array().unwrap();
    let found: Vec<_> = entries
        .iter()
        .map(|e| {
            let text = |name: &str| e[name].as_str().unwrap();
            (
                text("publisher"),
                text("id"),
                text("version"),
                e["latest"] == true,
            )
        })
        .collect();
    assert_eq!(found, in_order);
    assert_eq!(index["artifactCount"], 14);
    assert_eq!(index["templateCount"], 1);
    assert_eq!(index["integrity"]["signedAt"], "2026-09-01T00:00:00.000Z");
    assert_eq!(predicate(&index)["expires"], "2026-10-01T00:00:00.000Z");
    assert_eq!(entries[1]["registryStatus"]["status"], "superseded");
    assert_eq!(entries[10]["registryStatus"]["status"], "deprecated");
    assert_eq!(entries[4]["trust"], "trusted");
    assert_eq!(entries[8]["trust"], "portable");
}

#[test]
fn a_second_build_changes_nothing_and_says_so() {
    let registry = whole();
    assert_eq!(registry.build_at(SEPTEMBER, &[]).status, 0);
    let before = registry.snapshot();
    // Later, and with other threads: the content is what counts.
    let out = registry.build_at("1790000000", &["--jobs", "3"]);
    assert_eq!(out.status, 0, "{out:#?}");
    assert_eq!(out.json()["wrote"], json!([]));
    assert!(registry.snapshot() == before);
}

#[test]
fn resign_changes_the_signature_alone() {
    let registry = whole();
    registry.build_at(SEPTEMBER, &[]);
    let mut old = registry.index().unwrap();
    let out = registry.build_at("1790000000", &["--resign"]);
    assert_eq!(
        (out.status, &out.json()["wrote"]),
        (0, &json!(["index.json"]))
    );
    let mut new = registry.index().unwrap();
    let (before, after) = (predicate(&old), predicate(&new));
    assert_eq!(
        (&before["sequence"], &before["previousDigest"]),
        (&json!(1), &json!(null))
    );
    assert_eq!(after["sequence"], 2);
    assert_eq!(after["previousDigest"], old["integrity"]["digest"]);
    assert_eq!(new["integrity"]["digest"], old["integrity"]["digest"]);
    assert_ne!(new["integrity"]["signedAt"], old["integrity"]["signedAt"]);
    for index in [&mut old, &mut new] {
        index.as_object_mut().unwrap().remove("integrity");
    }
    assert_eq!(old, new);
}

#[test]
fn changed_content_is_signed_as_the_next_index() {
    let registry = with_fine();
    registry.build_at(SEPTEMBER, &[]);
    let old = registry.index().unwrap();
    registry.cartridge(&Builder::valid("io.github.acme", "fine", "1.0.1"));
    assert_eq!(registry.build_at(SEPTEMBER, &[]).status, 0);
    let new = registry.index().unwrap();
    assert_eq!(predicate(&new)["sequence"], 2);
    assert_eq!(
        predicate(&new)["previousDigest"],
        old["integrity"]["digest"]
    );
    assert_eq!(listed(&new).len(), 2);
}

#[test]
fn on_reject_fail_leaves_every_file_as_it_was() {
    let registry = with_fine();
    registry.build_index(&[]);
    registry.put(
        "cartridges/io.github.acme/bad/1.0.0/cartridge.acx",
        "no cartridge",
    );
    registry.cartridge(&Builder::valid("io.github.acme", "other", "1.0.0"));
    let before = registry.snapshot();
    let out = registry.build_index(&["--on-reject", "fail"]);
    assert_eq!(out.status, 1, "{out:#?}");
    assert_eq!(out.json()["wrote"], json!([]));
    assert!(registry.snapshot() == before);
    let out = registry.build_index(&[]);
    assert_eq!(out.status, 1);
    assert_eq!(listed(&registry.index().unwrap()).len(), 2);
}

#[test]
fn dry_run_and_check_write_nothing_and_need_no_key() {
    let registry = with_fine();
    let run = |mode: &str| registry.run(&["build-index", mode, "--format", "json"]);
    for (mode, status) in [("--dry-run", 0), ("--check", 1)] {
        let before = registry.snapshot();
        let out = run(mode);
        assert_eq!(out.status, status, "{mode}: {out:#?}");
        assert!(registry.snapshot() == before, "{mode}");
    }
    registry.build_index(&[]);
    registry.put(
        "cartridges/io.github.acme/bad/1.0.0/cartridge.acx",
        "no cartridge",
    );
    registry.cartridge(&Builder::valid("io.github.acme", "other", "1.0.0"));
    for mode in ["--dry-run", "--check"] {
        let before = registry.snapshot();
        let out = run(mode);
        assert_eq!(out.status, 1, "{mode}: {out:#?}");
        assert!(registry.snapshot() == before, "{mode}");
    }
    assert!(!registry.home().join(".config").exists(), "a key was made");
}

fn check(registry: &TempRegistry, epoch: &str) -> Output {
    registry.run_with(
        &["build-index", "--check", "--format", "json"],
        &[("SOURCE_DATE_EPOCH", epoch)],
    )
}

#[test]
fn check_passes_on_what_was_just_built_and_names_what_differs() {
    let registry = with_fine();
    let out = check(&registry, SEPTEMBER);
    assert_eq!(out.status, 1, "{out:#?}");
    assert!(out.stdout.contains("index.json is missing"), "{out:#?}");

    registry.build_at(SEPTEMBER, &[]);
    assert_eq!(check(&registry, SEPTEMBER).status, 0);
    let good = registry.index_bytes();

    let other = registry.cartridge(&Builder::valid("io.github.acme", "other", "1.0.0"));
    let out = check(&registry, SEPTEMBER);
    assert_eq!(out.status, 1, "{out:#?}");
    assert!(out.stdout.contains(&other), "{out:#?}");
    registry.remove(&other);

    registry.ledger(&[ledger_entry(&fine(), "deprecated")]);
    let out = check(&registry, SEPTEMBER);
    assert_eq!(out.status, 1, "{out:#?}");
    assert!(out.stdout.contains("registryStatus"), "{out:#?}");
    registry.remove("status.json");
    assert_eq!(check(&registry, SEPTEMBER).status, 0);

    // Signed by nobody: not a difference, a broken index.
    let edited = String::from_utf8(good.clone())
        .unwrap()
        .replace("backend_dev", "frontend_dev");
    registry.put("index.json", edited);
    let out = check(&registry, SEPTEMBER);
    assert_eq!(out.status, 2, "{out:#?}");
    assert!(out.stderr.contains("signature does not hold"), "{out:#?}");

    // The same content in another form is not what a build writes.
    registry.put("index.json", [&good[..], b"\n"].concat());
    assert_eq!(check(&registry, SEPTEMBER).status, 1);
    registry.build_at(SEPTEMBER, &[]);
    assert!(
        registry.index_bytes() == good,
        "the build put the form right"
    );
}

#[test]
fn check_judges_at_the_time_of_the_signature_and_reports_what_has_lapsed() {
    let registry = with_fine();
    let mut key = TrustKey::active(keys::seed(PUBLISHER_SEED), "io.github.acme");
    key.not_after = "2026-09-15T00:00:00Z".to_owned();
    registry
        .trust(&[key])
        .policy("[index]\nexpires_days = 10\n");
    registry.build_at(SEPTEMBER, &[]);
    assert_eq!(
        registry.index().unwrap()["cartridges"][0]["trust"],
        "trusted"
    );
    let out = check(&registry, SEPTEMBER);
    assert_eq!(
        (out.status, warning_codes(&out.json()).len()),
        (0, 0),
        "{out:#?}"
    );
    let out = check(&registry, "1798761600");
    assert_eq!(out.status, 0, "{out:#?}");
    let lapsed: Vec<_> = warning_codes(&out.json())
        .into_iter()
        .filter(|(code, _)| code == "policy-lapsed")
        .map(|(_, path)| path)
        .collect();
    assert_eq!(lapsed, [FINE, "index.json"]);
    // A build at that time finds the key expired.
    assert_eq!(registry.build_at("1798761600", &[]).status, 0);
    assert_eq!(
        registry.index().unwrap()["cartridges"][0]["trust"],
        "portable"
    );
}

/// Builds, and holds the errors against (path, code); the sound cartridge must be indexed alone.
fn rejects(registry: &TempRegistry, expected: &[(&str, &str)]) -> Output {
    let out = registry.build_index(&[]);
    assert_eq!(out.status, 1, "{out:#?}");
    let rejected = rejected_codes(&out.json());
    for (path, code) in expected {
        assert_eq!(
            rejected.get(*path),
            Some(&vec![(*code).to_owned()]),
            "{path}: {rejected:?}"
        );
    }
    assert_eq!(rejected.len(), expected.len(), "{rejected:?}");
    assert_eq!(listed(&registry.index().unwrap()), [FINE]);
    out
}

#[test]
fn links_are_rejected_and_never_followed() {
    let outside = with_fine();
    let registry = with_fine();
    let file = "cartridges/io.github.acme/fine/2.0.0/cartridge.acx";
    fs::create_dir_all(registry.at(file).parent().unwrap()).unwrap();
    symlink(outside.at(FINE), registry.at(file)).unwrap();
    let folder = "cartridges/io.github.beta";
    symlink(outside.at("cartridges/io.github.acme"), registry.at(folder)).unwrap();
    let dangling = "notes";
    symlink("/nowhere/at/all", registry.at(dangling)).unwrap();
    let around = "cartridges/io.github.acme/fine/round";
    symlink("../..", registry.at(around)).unwrap();
    rejects(
        &registry,
        &[file, folder, dangling, around].map(|path| (path, "registry-symlink")),
    );
}

#[test]
fn links_and_pipes_in_the_place_of_the_registrys_own_files_stop_the_run() {
    let contents = [
        ("index.json", None),
        (
            "acx-registry.toml",
            Some("[registry]\nid = \"com.example.other\"\n"),
        ),
        ("status.json", None),
        ("trust-registry.json", None),
    ];
    for (name, content) in contents {
        for target in ["file", "nothing", "pipe", "folder"] {
            let registry = with_fine();
            let outside = registry.home().join("outside");
            match target {
                "file" => {
                    fs::write(&outside, content.unwrap_or("{}")).unwrap();
                    symlink(&outside, registry.at(name)).unwrap();
                }
                "nothing" => symlink(&outside, registry.at(name)).unwrap(),
                "folder" => fs::create_dir(registry.at(name)).unwrap(),
                _ => pipe(&registry, name),
            }
            for args in [&[][..], &["--new-chain"], &["--check"], &["--dry-run"]] {
                let out = registry.build_index(args);
                assert_eq!(out.status, 2, "{name} {target} {args:?}: {out:#?}");
                assert!(out.stderr.contains(name), "{name} {target}: {out:#?}");
            }
            if target == "file" {
                assert_eq!(
                    fs::read_to_string(&outside).unwrap(),
                    content.unwrap_or("{}")
                );
            } else {
                assert!(!outside.exists(), "{name}: a link was followed");
            }
            assert_eq!(
                name == "index.json",
                registry.at("index.json").symlink_metadata().is_ok()
            );
        }
    }
}

fn pipe(registry: &TempRegistry, path: &str) {
    let path = registry.at(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn pipes_in_the_tree_are_findings_and_nothing_waits_for_them() {
    let registry = with_fine();
    let paths = [
        "notes/pipe",
        "cartridges/io.github.acme/fine/2.0.0/cartridge.acx",
        "templates/starter/manifest.json",
    ];
    for path in paths {
        pipe(&registry, path);
    }
    rejects(&registry, &paths.map(|path| (path, "registry-symlink")));
}

#[test]
fn secrets_are_found_by_name_and_by_content() {
    let registry = with_fine();
    let names = [
        ".env",
        ".env.production",
        "deploy/.ENV",
        "deploy/id_rsa",
        "deploy/id_ed25519",
        "deploy/index.key.pem",
        "deploy/my-private.pem",
        "deploy/Secret.pem",
    ];
    for name in names {
        registry.put(name, "nothing of interest");
    }
    for harmless in [
        "env",
        "deploy/id_rsa.pub",
        "deploy/public.pem",
        ".environment",
    ] {
        registry.put(harmless, "nothing of interest");
    }
    rejects(&registry, &names.map(|path| (path, "registry-secret")));
}

#[test]
fn a_private_key_in_a_signed_statement_is_found() {
    let registry = with_fine();
    let mut builder = Builder::valid("io.github.acme", "talker", "1.0.0");
    let private = keys::private_pem(&keys::seed(3));
    builder
        .envelope
        .statement(move |statement| statement["predicate"]["note"] = private.as_str().into());
    let path = registry.cartridge(&builder);
    rejects(&registry, &[(&path, "cartridge-secret")]);
}

#[test]
fn a_private_key_is_found_wherever_it_begins() {
    const HEAD: &str = "-----BEGIN OPENSSH PRIVATE KEY-----";
    let registry = with_fine();
    let mut paths = Vec::new();
    // Files are read in pieces of 1 MiB.
    for mebibytes in [1, 2] {
        for before in [
            0,
            1,
            5,
            11,
            20,
            HEAD.len() - 1,
            HEAD.len(),
            HEAD.len() + 1,
            63,
            64,
            65,
        ] {
            let at = (mebibytes << 20) - before;
            let mut bytes = vec![b'.'; at];
            bytes.extend_from_slice(HEAD.as_bytes());
            let path = format!("big/{at}.txt");
            registry.put(&path, bytes);
            paths.push((path, at));
        }
    }
    let expected: Vec<(&str, &str)> = paths
        .iter()
        .map(|(path, _)| (path.as_str(), "registry-secret"))
        .collect();
    let out = rejects(&registry, &expected);
    for file in out.json()["rejected"].as_array().unwrap() {
        let path = file["path"].as_str().unwrap();
        let at = paths.iter().find(|(p, _)| p == path).unwrap().1;
        let message = file["findings"][0]["message"].as_str().unwrap();
        assert!(
            message.ends_with(&format!("at byte {at}")),
            "{path}: {message}"
        );
    }
}

#[test]
fn names_that_are_not_unicode_are_findings() {
    let registry = with_fine();
    let folder = registry.at("notes");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join(OsStr::from_bytes(b"a\xff.txt")), "x").unwrap();
    let dark = folder.join(OsStr::from_bytes(b"\xfe"));
    fs::create_dir(&dark).unwrap();
    fs::write(dark.join("cartridge.acx"), fine().build()).unwrap();
    rejects(
        &registry,
        &[
            ("notes/a\u{fffd}.txt", "registry-unreadable-name"),
            ("notes/\u{fffd}", "registry-unreadable-name"),
            ("notes/\u{fffd}/cartridge.acx", "registry-unreadable-name"),
        ],
    );
}

#[test]
fn a_cartridge_anywhere_else_is_rejected() {
    let registry = with_fine();
    let bytes = fine().build();
    let paths = [
        "cartridges/io.github.acme/fine/1.0.0/other.acx",
        "cartridges/io.github.acme/fine/1.0.0/cartridge.ACX",
        "cartridges/io.github.acme/fine/cartridge.acx",
        "cartridges/io.github.acme/fine/1.0.0/deep/cartridge.acx",
        "cartridges/io.github.acme/fine/1.0/cartridge.acx",
        "cartridges/io.github.acme/fine/v1.0.0/cartridge.acx",
        "cartridges/acme/fine/1.0.0/cartridge.acx",
        "Cartridges/io.github.acme/fine/1.0.0/cartridge.acx",
        "loose.acx",
        ".acx",
    ];
    for path in paths {
        registry.put(path, &bytes);
    }
    rejects(&registry, &paths.map(|path| (path, "registry-path")));
}

#[test]
fn a_cartridge_at_anothers_place_is_rejected() {
    let registry = with_fine();
    let moved = [
        "cartridges/io.github.acme/fine/1.0.1/cartridge.acx",
        "cartridges/io.github.acme/fine/1.0.0+build/cartridge.acx",
        "cartridges/io.github.acme/finer/1.0.0/cartridge.acx",
        "cartridges/io.github.beta/fine/1.0.0/cartridge.acx",
    ];
    for path in moved {
        registry.put(path, fine().build());
    }
    rejects(&registry, &moved.map(|path| (path, "registry-coordinate")));
}

#[test]
fn a_folder_with_a_cartridges_name_is_rejected() {
    let registry = with_fine();
    let path = "cartridges/io.github.acme/fine/2.0.0/cartridge.acx";
    registry.put(&format!("{path}/README.md"), "not a cartridge");
    rejects(&registry, &[(path, "registry-path")]);
}

#[test]
fn a_cartridge_beyond_the_limit_is_rejected_unread() {
    let registry = with_fine();
    let path = "cartridges/io.github.acme/fine/2.0.0/cartridge.acx";
    registry.put(path, "");
    let file = fs::File::options()
        .write(true)
        .open(registry.at(path))
        .unwrap();
    file.set_len(70 << 20).unwrap();
    rejects(&registry, &[(path, "container-too-large")]);
}

#[test]
fn an_unreadable_file_makes_the_run_fail_and_writes_nothing() {
    let registry = with_fine();
    registry.build_index(&[]);
    let other = registry.cartridge(&Builder::valid("io.github.acme", "other", "1.0.0"));
    fs::set_permissions(registry.at(&other), fs::Permissions::from_mode(0o0)).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_acx"));
    command
        .args(["build-index", "--format", "json"])
        .current_dir(registry.root())
        .env_clear()
        .env("ACX_INDEX_KEY", keys::private_pem(&keys::seed(INDEX_SEED)));
    if fs::read(registry.at(&other)).is_ok() {
        // The superuser reads every file, so let nobody try.
        let folder = registry.root().parent().unwrap().to_owned();
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
        command.uid(65_534).gid(65_534);
    }
    let before = registry.snapshot();
    let out = match command.output() {
        Ok(out) => out,
        Err(e) => {
            eprintln!(
                "SKIPPED: NO OTHER USER CAN RUN THE PROGRAM ({e}), AN UNREADABLE FILE WAS NOT TESTED"
            );
            return;
        }
    };
    assert_eq!(out.status.code(), Some(2), "{out:#?}");
    let report: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(report["unverifiable"][0]["path"], other.as_str());
    assert_eq!(report["wrote"], json!([]));
    assert!(registry.snapshot() == before);
}

#[test]
fn an_empty_registry_has_an_index_of_nothing() {
    let registry = TempRegistry::new();
    assert_eq!(registry.build_index(&[]).status, 0);
    let index = registry.index().unwrap();
    for count in [
        "artifactCount",
        "count",
        "workflowCount",
        "agentGraphCount",
        "templateCount",
    ] {
        assert_eq!(index[count], 0, "{count}");
    }
    assert_eq!(index["generatedAt"], "1970-01-01T00:00:00.000Z");
    assert_eq!(predicate(&index)["registryId"], "local.registry");
}

#[test]
fn no_registry_is_no_empty_registry() {
    let registry = TempRegistry::new();
    fs::remove_dir(registry.at("cartridges")).unwrap();
    let out = registry.build_index(&[]);
    assert_eq!(out.status, 2, "{out:#?}");
    assert!(out.stderr.contains("is no registry"), "{out:#?}");
    // A link is no folder of cartridges.
    symlink("/tmp", registry.at("cartridges")).unwrap();
    assert_eq!(registry.build_index(&[]).status, 2);
    // With a policy it is a registry, and the link a finding.
    registry.policy("");
    let out = registry.build_index(&[]);
    assert_eq!(out.status, 1, "{out:#?}");
    assert_eq!(
        rejected_codes(&out.json())["cartridges"],
        ["registry-symlink"]
    );
}

#[test]
fn templates_are_listed() {
    let registry = with_fine();
    registry
        .put("graphs/README.md", "no graph")
        .put(
            "templates/good/manifest.json",
            r#"{"name":"TODO","schemaVersion":"acx.template/1"}"#,
        )
        .put("templates/good/b.txt", "")
        .put("templates/good/a/c.txt", "")
        .put("templates/none/README.md", "no manifest")
        .put("templates/broken/manifest.json", "{\"name\":1,\"name\":2}")
        .put("templates/README.md", "no template");
    let out = registry.build_index(&[]);
    assert_eq!(out.status, 0, "{out:#?}");
    let report = out.json();
    let pair = |code: &str, path: &str| (code.to_owned(), path.to_owned());
    assert_eq!(
        warning_codes(&report),
        [
            pair("registry-template", "templates/broken/manifest.json"),
            pair("registry-template", "templates/none/manifest.json"),
        ]
    );
    let index = registry.index().unwrap();
    assert_eq!(
        (&index["templateCount"], &index["artifactCount"]),
        (&json!(1), &json!(2))
    );
    let template = &index["templates"][0];
    assert_eq!(template["id"], "good");
    assert_eq!(template["name"], "Good");
    assert_eq!(template["version"], "acx.template/1");
    assert_eq!(
        template["files"],
        json!(["a/c.txt", "b.txt", "manifest.json"])
    );
    assert_eq!(template["fileCount"], 3);
    assert_eq!(template["trust"], "unsigned");
}
