//! The Lance datasets that a build writes: always what the cartridges give, whatever happened to them, and nothing else
//! is touched. That pylance and LanceDB read them is for `lance_interop` to show.

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
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};
use support::cartridge::Builder;
use support::records::{self, Memory};
use support::registry::{Output, TempRegistry, index_keyid, run_acx};

const FOLDER: &str = "cartridges/io.github.acme/build-smith/1.0.0";
const DATASET: &str = "cartridges/io.github.acme/build-smith/1.0.0/cartridge.memories.lance";

type Edit = fn(&mut Value);

fn one() -> TempRegistry {
    let registry = TempRegistry::new();
    registry.cartridge(&Builder::valid("io.github.acme", "build-smith", "1.0.0"));
    registry
}

fn built() -> TempRegistry {
    let registry = one();
    let out = registry.build_index(&[]);
    assert_eq!(out.status, 0, "{out:#?}");
    registry
}

/// Every file below a folder with its bytes and its time, sorted.
fn files(root: &Path) -> Vec<(PathBuf, Vec<u8>, SystemTime)> {
    walkdir::WalkDir::new(root)
        .sort_by_file_name()
        .into_iter()
        .map(Result::unwrap)
        .filter(|e| e.file_type().is_file())
        .map(|e| {
            let modified = e.metadata().unwrap().modified().unwrap();
            (
                e.path().to_path_buf(),
                fs::read(e.path()).unwrap(),
                modified,
            )
        })
        .collect()
}

fn verify(registry: &TempRegistry) -> Output {
    registry.run(&[
        "verify-index",
        "--format",
        "json",
        "--keyid",
        &index_keyid(),
    ])
}

#[test]
fn the_index_names_the_dataset_and_a_second_build_leaves_it() {
    let registry = built();
    let entry = registry.index().unwrap()["cartridges"][0]["memories"].clone();
    assert_eq!(entry["path"], DATASET);
    assert_eq!(entry["rows"], 3);
    assert_eq!(entry["schema"], "acx.lance-memory/1");
    assert_eq!(entry["engine"], "local-hash-128");
    let before = files(&registry.root());
    assert_eq!(
        before
            .iter()
            .filter(|(p, ..)| p.starts_with(registry.at(DATASET)))
            .count(),
        2
    );
    let again = registry.build_index(&[]);
    assert_eq!(again.json()["wrote"], json!([]));
    assert!(files(&registry.root()) == before, "bytes and times stay");
    let report = verify(&registry).json();
    assert_eq!(
        report["datasets"],
        json!([{"path": DATASET, "state": "verified"}])
    );
}

#[test]
fn the_digest_is_that_of_the_listing_of_its_files() {
    use sha2::Digest as _;
    let hex = |bytes: &[u8]| -> String {
        sha2::Sha256::digest(bytes)
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect()
    };
    let registry = built();
    let root = registry.at(DATASET);
    let listing: Vec<Value> = files(&root)
        .iter()
        .map(|(path, bytes, _)| {
            let path = path.strip_prefix(&root).unwrap().to_str().unwrap();
            json!({"path": path, "sha256": format!("sha256:{}", hex(bytes)), "size": bytes.len()})
        })
        .collect();
    let expected = format!(
        "sha256:{}",
        hex(support::jcs::jcs(&json!(listing)).as_bytes())
    );
    assert_eq!(
        registry.index().unwrap()["cartridges"][0]["memories"]["digest"],
        json!(expected)
    );
}

#[test]
fn damage_to_any_file_is_found_and_mended() {
    let registry = built();
    let clean = files(&registry.at(DATASET));
    for (path, bytes, _) in &clean {
        let mut edited = bytes.clone();
        edited[bytes.len() / 2] ^= 1;
        let damages: [(&str, Option<Vec<u8>>); 4] = [
            ("deleted", None),
            ("truncated", Some(bytes[..bytes.len() - 1].to_vec())),
            ("emptied", Some(Vec::new())),
            ("edited", Some(edited)),
        ];
        for (what, damage) in damages {
            match damage {
                None => fs::remove_file(path).unwrap(),
                Some(bytes) => fs::write(path, bytes).unwrap(),
            }
            let found = verify(&registry);
            assert_eq!(found.status, 1, "{what} {path:?}: {found:#?}");
            assert_eq!(
                found.json()["datasets"][0]["state"],
                "wrong",
                "{what} {path:?}"
            );
            let check = registry.build_index(&["--check"]);
            assert_eq!(check.status, 1, "{what} {path:?}");
            assert!(check.stdout.contains(DATASET), "{check:#?}");
            let mended = registry.build_index(&[]);
            assert_eq!(mended.status, 0, "{mended:#?}");
            assert_eq!(
                mended.json()["wrote"],
                json!([DATASET]),
                "{what} {path:?}: the index stays"
            );
            let now: Vec<_> = files(&registry.at(DATASET))
                .into_iter()
                .map(|(p, b, _)| (p, b))
                .collect();
            let before: Vec<_> = clean
                .iter()
                .map(|(p, b, _)| (p.clone(), b.clone()))
                .collect();
            assert!(now == before, "{what} {path:?}");
        }
    }
    // What a reader that appended leaves is a difference too, and so is a link.
    fs::create_dir(registry.at(DATASET).join("_transactions")).unwrap();
    fs::write(registry.at(DATASET).join("_transactions/0.txn"), "x").unwrap();
    assert_eq!(verify(&registry).status, 1);
    assert_eq!(registry.build_index(&[]).status, 0);
    assert!(!registry.at(DATASET).join("_transactions").exists());
    assert_eq!(verify(&registry).status, 0);
}

#[test]
fn a_dataset_without_its_cartridge_goes_and_its_neighbours_stay() {
    let registry = built();
    registry.cartridge(&Builder::valid("io.github.acme", "other", "1.0.0"));
    registry.put(&format!("{FOLDER}/README.md"), "# A card\n");
    registry.put(&format!("{FOLDER}/notes.lance/data"), "not ours");
    assert_eq!(registry.build_index(&[]).status, 0);
    fs::write(
        registry.at(&format!("{FOLDER}/cartridge.acx")),
        "no cartridge",
    )
    .unwrap();
    let out = registry.build_index(&[]);
    assert_eq!(out.status, 1);
    assert_eq!(out.json()["wrote"], json!(["index.json"]), "{out:#?}");
    assert!(!registry.at(DATASET).exists());
    assert!(registry.at(&format!("{FOLDER}/README.md")).exists());
    assert!(registry.at(&format!("{FOLDER}/notes.lance/data")).exists());
    assert!(
        registry
            .at("cartridges/io.github.acme/other/1.0.0/cartridge.memories.lance")
            .exists()
    );
}

#[test]
fn a_link_in_its_place_is_not_followed() {
    let registry = one();
    let elsewhere = registry.home().join("elsewhere");
    fs::create_dir_all(&elsewhere).unwrap();
    fs::write(elsewhere.join("keep"), "mine").unwrap();
    std::os::unix::fs::symlink(&elsewhere, registry.at(DATASET)).unwrap();
    registry.cartridge(&Builder::valid("io.github.zed", "scribe", "0.2.0"));
    let out = registry.build_index(&[]);
    assert_ne!(out.status, 0, "{out:#?}");
    assert_eq!(
        files(&elsewhere).len(),
        1,
        "nothing was written through the link"
    );
}

#[test]
fn no_memory_another_engine_or_the_policy_mean_no_dataset() {
    let registry = TempRegistry::new();
    registry.cartridge(&Builder::valid("io.github.acme", "empty", "1.0.0").with_memories(0));
    let out = registry.build_index(&[]);
    assert_eq!(out.status, 0, "{out:#?}");
    assert_eq!(
        registry.index().unwrap()["cartridges"][0]["memories"],
        Value::Null
    );
    assert!(
        !registry
            .at("cartridges/io.github.acme/empty/1.0.0/cartridge.memories.lance")
            .exists()
    );

    let registry = built();
    registry.policy("[sidecars]\nenabled = false\n");
    let out = registry.build_index(&[]);
    assert_eq!(out.status, 0, "{out:#?}");
    assert_eq!(
        registry.index().unwrap()["cartridges"][0]["memories"],
        Value::Null
    );
    assert!(!registry.at(DATASET).exists());
}

#[test]
fn one_registry_wide_dataset_where_the_policy_asks_for_it() {
    let registry = built();
    registry.cartridge(&Builder::valid("io.github.zed", "scribe", "0.2.0"));
    registry.policy("[sidecars]\nregistry = true\n");
    let out = registry.build_index(&[]);
    assert_eq!(out.status, 0, "{out:#?}");
    let before = files(&registry.at("memories.lance"));
    assert_eq!(before.len(), 2);
    assert_eq!(registry.build_index(&[]).json()["wrote"], json!([]));
    assert_eq!(registry.build_index(&["--check"]).status, 0);
    fs::write(&before[0].0, "x").unwrap();
    assert_eq!(registry.build_index(&["--check"]).status, 1);
    assert_eq!(
        registry.build_index(&[]).json()["wrote"],
        json!(["memories.lance"])
    );
    registry.policy("[sidecars]\nregistry = false\n");
    assert_eq!(registry.build_index(&[]).status, 0);
    assert!(!registry.at("memories.lance").exists());
}

#[test]
fn the_documented_columns_are_those_of_the_dataset() {
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/registry-memory.schema.json");
    let schema: Value = serde_json::from_slice(&fs::read(schema).unwrap()).unwrap();
    let documented: Vec<&str> = schema["properties"]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let fields = acx_registry::project::memories::fields();
    let written: Vec<&str> = ["publisher", "artifact", "version", "digest"]
        .into_iter()
        .chain(fields.iter().map(|f| f.name().as_str()))
        .collect();
    assert_eq!(documented, written);
    for field in &fields {
        let said = schema["properties"][field.name().as_str()]["description"]
            .as_str()
            .unwrap();
        assert_eq!(said.contains("nullable"), field.is_nullable(), "{said}");
    }
}

/// Odd numbers of rows, texts and experience points.
#[test]
fn odd_records() {
    let with = |edit: Edit| {
        let mut builder = Builder::valid("io.github.acme", "build-smith", "1.0.0");
        let mut record = records::portable(1);
        edit(&mut record);
        builder.memory = vec![Memory::sealed(record)];
        builder
    };
    let fine: [Edit; 6] = [
        |_| {},
        |r| r["title"] = json!(""),
        |r| r["tags"] = json!([]),
        |r| r["summary"] = json!("a\u{0}b"),
        |r| r["xpAwarded"] = json!(12.0),
        |r| r["xpAwarded"] = json!(i32::MAX),
    ];
    for (n, edit) in fine.into_iter().enumerate() {
        let registry = TempRegistry::new();
        registry.cartridge(&with(edit));
        let out = registry.build_index(&[]);
        assert_eq!(out.status, 0, "{n}: {out:#?}");
        assert_eq!(
            registry.index().unwrap()["cartridges"][0]["memories"]["rows"],
            1,
            "{n}"
        );
    }
    let wrong: [(Edit, &str); 2] = [
        (|r| r["xpAwarded"] = json!(12.5), "memory-xp"),
        (|r| r["xpAwarded"] = json!(2_147_483_648_i64), "memory-xp"),
    ];
    for (edit, code) in wrong {
        let registry = TempRegistry::new();
        registry.cartridge(&with(edit));
        let out = registry.build_index(&[]);
        assert_eq!(out.status, 1, "{out:#?}");
        assert_eq!(out.json()["rejected"][0]["findings"][0]["code"], code);
        assert!(!registry.at(DATASET).exists());
    }
}

#[test]
fn many_cartridges_rebuilt_leave_git_nothing_to_say() {
    let registry = TempRegistry::new();
    let cartridges = 500;
    let mut builder = Builder::valid("io.github.acme", "many", "1.0.0");
    for n in 0..cartridges {
        let version = format!("1.0.{n}");
        builder.set("acx.artifact_version", &version);
        registry.cartridge(&builder);
    }
    let git = |args: &[&str]| {
        let out = Command::new("git")
            .args([
                "-c",
                "user.name=t",
                "-c",
                "user.email=t@example.org",
                "-c",
                "core.autocrlf=false",
            ])
            .args(args)
            .current_dir(registry.root())
            .output()
            .expect("git is there");
        assert!(
            out.status.success(),
            "{args:?}: {}",
            String::from_utf8_lossy(&out.stderr)
        );
        String::from_utf8_lossy(&out.stdout).into_owned()
    };
    let out = registry.build_index(&["--jobs", "2"]);
    assert_eq!(out.status, 0, "{out:#?}");
    git(&["init", "-q"]);
    git(&["add", "-A"]);
    git(&["commit", "-q", "-m", "built"]);
    // Every dataset is made again from nothing.
    for n in 0..cartridges {
        fs::remove_dir_all(registry.at(&format!(
            "cartridges/io.github.acme/many/1.0.{n}/cartridge.memories.lance"
        )))
        .unwrap();
    }
    assert_eq!(
        verify(&registry).json()["datasets"]
            .as_array()
            .unwrap()
            .len(),
        cartridges
    );
    let out = registry.build_index(&["--jobs", "1"]);
    assert_eq!(out.json()["wrote"].as_array().unwrap().len(), cartridges);
    assert_eq!(git(&["status", "--porcelain"]), "");
}

#[test]
fn a_killed_build_leaves_old_new_or_none_and_the_next_one_mends_it() {
    let registry = TempRegistry::new();
    for n in 0..12 {
        registry.cartridge(
            &Builder::valid("io.github.acme", "build-smith", &format!("1.0.{n}")).with_memories(40),
        );
    }
    let start = Instant::now();
    assert_eq!(registry.build_index(&[]).status, 0);
    let whole = start.elapsed();
    let clean: Vec<_> = files(&registry.root())
        .into_iter()
        .map(|(p, b, _)| (p, b))
        .collect();
    let dataset = |n: usize| {
        registry.at(&format!(
            "cartridges/io.github.acme/build-smith/1.0.{n}/cartridge.memories.lance"
        ))
    };
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    for round in 0..60 {
        for n in 0..12 {
            if n % 2 == round % 2 {
                fs::write(
                    dataset(n).join("_versions/18446744073709551614.manifest"),
                    "damaged",
                )
                .unwrap();
            } else {
                let _ = fs::remove_dir_all(dataset(n));
            }
        }
        let mut child = Command::new(env!("CARGO_BIN_EXE_acx"))
            .args(["build-index", "--key", &registry.key()])
            .current_dir(registry.root())
            .env_clear()
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let within = u64::try_from(whole.as_micros()).unwrap().max(1);
        std::thread::sleep(Duration::from_micros(random % within));
        let _ = child.kill();
        child.wait().unwrap();
        let mended = registry.build_index(&[]);
        assert_eq!(mended.status, 0, "round {round}: {mended:#?}");
        let now: Vec<_> = files(&registry.root())
            .into_iter()
            .map(|(p, b, _)| (p, b))
            .collect();
        let differing: Vec<_> = now
            .iter()
            .filter(|file| !clean.contains(file))
            .map(|(path, bytes)| (path, String::from_utf8_lossy(bytes)))
            .collect();
        assert!(
            now == clean,
            "round {round}: something is torn or left over: {differing:#?}"
        );
    }
}

#[test]
fn one_cartridge_is_materialized_and_embedded() {
    let folder = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| run_acx(args, folder.path(), folder.path(), &[]);
    let cartridge = Builder::valid("io.github.acme", "build-smith", "1.0.0").build();
    fs::write(folder.path().join("my-agent.acx"), &cartridge).unwrap();
    let out = run(&["lance", "my-agent.acx"]);
    assert_eq!(out.status, 0, "{out:#?}");
    assert_eq!(
        out.stdout,
        "materialized a real LanceDB dataset (acx.lance-memory/1): 3 rows, fixed_size_list<item: float>[128]\n  \
         standalone dataset    → my-agent.memories.lance\n"
    );
    let registry = built();
    let strip = |root: &Path| -> Vec<_> {
        files(root)
            .into_iter()
            .map(|(p, b, _)| (p.strip_prefix(root).unwrap().to_path_buf(), b))
            .collect()
    };
    assert!(strip(&folder.path().join("my-agent.memories.lance")) == strip(&registry.at(DATASET)));
    assert!(fs::read(folder.path().join("my-agent.acx")).unwrap() == cartridge);

    // A folder of the user's own is not replaced.
    fs::create_dir(folder.path().join("mine")).unwrap();
    fs::write(folder.path().join("mine/file"), "x").unwrap();
    assert_eq!(run(&["lance", "my-agent.acx", "--out", "mine"]).status, 2);
    assert_eq!(
        fs::read_to_string(folder.path().join("mine/file")).unwrap(),
        "x"
    );

    let out = run(&["lance", "my-agent.acx", "--embed"]);
    assert_eq!(out.status, 0, "{out:#?}");
    assert!(
        out.stdout
            .contains("embedded in cartridge → save/vectors/memories.lance  (SAVE zone, unsigned)")
    );
    assert!(out.stdout.contains("EQUAL"));
    let inspected = run(&["inspect", "my-agent.acx", "--format", "json"]).json();
    let inside: Vec<&str> = inspected["files"][0]["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["name"].as_str().unwrap())
        .collect();
    assert!(
        inside.contains(&"save/vectors/memories.lance/_versions/18446744073709551614.manifest"),
        "{inside:?}"
    );
    // The signature still holds and the package is clean; a public registry refuses it.
    assert_eq!(run(&["verify", "my-agent.acx"]).status, 0);
    assert_eq!(run(&["spec", "my-agent.acx"]).status, 0);
    let checked = run(&["check", "my-agent.acx", "--format", "json"]);
    assert_eq!(checked.status, 1);
    let found = &checked.json()["files"][0]["findings"];
    assert!(
        found
            .as_array()
            .unwrap()
            .iter()
            .all(|f| f["code"] == "save-file"),
        "{found:#}"
    );
    // Again: the old one is replaced, not doubled.
    assert_eq!(run(&["lance", "my-agent.acx", "--embed"]).status, 0);
    assert_eq!(run(&["spec", "my-agent.acx"]).status, 0);
}

#[test]
fn what_has_no_dataset_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| run_acx(args, folder.path(), folder.path(), &[]);
    fs::write(
        folder.path().join("empty.acx"),
        Builder::valid("io.github.acme", "empty", "1.0.0")
            .with_memories(0)
            .build(),
    )
    .unwrap();
    let out = run(&["lance", "empty.acx"]);
    assert_eq!(
        (out.status, out.stderr.contains("no memory")),
        (1, true),
        "{out:#?}"
    );
    fs::write(folder.path().join("text.acx"), "text").unwrap();
    let out = run(&["lance", "text.acx"]);
    assert_eq!(
        (out.status, out.stdout.contains("container-not-sqlite")),
        (1, true),
        "{out:#?}"
    );
    assert_eq!(run(&["lance", "absent.acx"]).status, 2);
}
