//! Real pushes to a bare repository with the hook installed: what may land lands, and nothing else does.
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

use serde_json::Value;
use support::cartridge::Builder;
use support::git::{Lab, Repository};
use support::keys;
use support::registry::{Output, TrustKey, index_keyid, ledger_entry, trust_registry};

fn cartridge(id: &str, version: &str) -> Builder {
    Builder::valid("io.github.acme", id, version)
}

/// A server that guards its registry, founded by a first push of one cartridge, a policy and an index; and the clone
/// that founded it.
fn founded<'a>(
    lab: &'a Lab,
    more: impl FnOnce(&Repository<'a>),
) -> (Repository<'a>, Repository<'a>) {
    let server = lab.bare("server.git", &[]);
    server.hook("pre-receive", "");
    let clone = lab.clone_of(&server.path, "clone", &[]);
    clone.put(
        "acx-registry.toml",
        "[registry]\nid = \"com.example.registry\"\n",
    );
    clone.cartridge(&cartridge("build-smith", "1.0.0"));
    more(&clone);
    clone.commit("Found the registry");
    assert_eq!(clone.build(&["--commit"]).status, 0);
    let out = clone.try_git(&["push", "origin", "main"]);
    assert_eq!(out.status, 0, "{out:#?}");
    let notes: Vec<&str> = out
        .stderr
        .lines()
        .filter(|l| l.contains("FOUNDS"))
        .collect();
    assert_eq!(notes.len(), 1, "{out:#?}");
    assert!(notes[0].contains(&index_keyid()), "{out:#?}");
    (server, clone)
}

/// Pushes, which must be refused with these codes (the first for certain) and no other, and leave the server as it was.
fn refused(server: &Repository<'_>, clone: &Repository<'_>, push: &[&str], codes: &str) -> Output {
    let expected: Vec<&str> = codes.split_whitespace().collect();
    let code = expected[0];
    let before = server.state();
    let out = clone.try_git(&[&["push", "origin"], push].concat());
    assert_ne!(out.status, 0, "expected {code}: {out:#?}");
    let says = format!("error[{code}]");
    assert!(out.stderr.contains(&says), "expected {code}: {out:#?}");
    assert_eq!(server.state(), before, "a refused push leaves nothing");
    let codes: Vec<&str> = out
        .stderr
        .lines()
        .filter_map(|l| l.split("error[").nth(1)?.split(']').next())
        .collect();
    assert!(
        codes.iter().all(|c| expected.contains(c)),
        "only {expected:?}: {out:#?}"
    );
    let remote = out
        .stderr
        .lines()
        .filter(|l| l.starts_with("remote: "))
        .count();
    assert!(remote <= 42, "{out:#?}");
    out
}

#[test]
fn a_clean_cartridge_lands() {
    let lab = Lab::new();
    let (server, clone) = founded(&lab, |_| {});
    clone.cartridge(&cartridge("build-smith", "1.1.0"));
    clone.commit("Publish");
    let out = clone.try_git(&["push", "origin", "main"]);
    assert_eq!(out.status, 0, "{out:#?}");
    assert!(out.stderr.contains("the push may land"), "{out:#?}");
    assert_eq!(
        server.git(&["rev-parse", "main"]),
        clone.git(&["rev-parse", "HEAD"])
    );
    // And with the index that its build makes.
    clone.cartridge(&cartridge("build-smith", "1.2.0"));
    clone.commit("Publish");
    assert_eq!(clone.build(&["--commit"]).status, 0);
    let out = clone.try_git(&["push", "origin", "main"]);
    assert_eq!(out.status, 0, "{out:#?}");
    assert!(!out.stderr.contains("FOUNDS"), "{out:#?}");
    assert_eq!(server.index("main")["count"], 3);
    // Two builds in one push.
    for version in ["1.3.0", "1.4.0"] {
        clone.cartridge(&cartridge("build-smith", version));
        clone.commit("Publish");
        assert_eq!(clone.build(&["--commit"]).status, 0);
    }
    let out = clone.try_git(&["push", "origin", "main"]);
    assert_eq!(out.status, 0, "{out:#?}");
    assert_eq!(server.index("main")["count"], 5);
}

#[test]
fn a_registry_is_founded_with_an_index_that_was_built_more_than_once() {
    let lab = Lab::new();
    let server = lab.bare("server.git", &[]);
    server.hook("pre-receive", "");
    let clone = lab.clone_of(&server.path, "clone", &[]);
    clone.put(
        "acx-registry.toml",
        "[registry]\nid = \"com.example.registry\"\n",
    );
    for version in ["1.0.0", "1.1.0", "1.2.0"] {
        clone.cartridge(&cartridge("build-smith", version));
        assert_eq!(clone.build(&[]).status, 0);
    }
    // One that is not what its signer would write founds nothing.
    clone.cartridge(&cartridge("build-smith", "1.3.0"));
    clone.commit("Found the registry");
    refused(&server, &clone, &["main"], "history-index");
    clone.git(&["rm", "-q", &cartridge("build-smith", "1.3.0").path()]);
    clone.git(&["commit", "-q", "--amend", "--no-edit"]);
    let out = clone.try_git(&["push", "origin", "main"]);
    assert_eq!(out.status, 0, "{out:#?}");
    assert_eq!(server.index("main")["count"], 3);
    // From here on each index goes on from the one before.
    let old = fs::read(clone.path.join("index.json")).unwrap();
    clone.cartridge(&cartridge("build-smith", "1.4.0"));
    clone.commit("Publish");
    assert_eq!(clone.build(&["--commit"]).status, 0);
    assert_eq!(clone.try_git(&["push", "origin", "main"]).status, 0);
    clone.put("index.json", old);
    clone.commit("The old index");
    refused(&server, &clone, &["main"], "history-index");
}

#[test]
fn a_ledger_that_cannot_be_read_lands_by_no_setting() {
    let lab = Lab::new();
    let (server, clone) = founded(&lab, |_| {});
    server.git(&["config", "acx.allowPolicyChange", "true"]);
    clone.put(
        "status.json",
        "{\"schemaVersion\": \"acx.registry-status/1\", \"entries\": []}",
    );
    clone.commit("No time");
    let out = refused(&server, &clone, &["main"], "history-policy");
    for says in [
        "/updatedAt: the field is missing",
        "no setting of the server lets in what cannot be read",
    ] {
        assert!(out.stderr.contains(says), "{says}: {out:#?}");
    }
}

/// What a hostile clone does on top of the founded registry, and the code that it is refused with.
type Attack = (
    &'static str,
    fn(&Repository<'_>),
    &'static [&'static str],
    &'static str,
);

const PUBLISHED: &str = "cartridges/io.github.acme/build-smith/1.0.0/cartridge.acx";

fn amended() -> Vec<u8> {
    let mut other = cartridge("build-smith", "1.0.0");
    other.file("rom/knowledge/MORE.md", "more");
    other.build()
}

const ATTACKS: &[Attack] = &[
    (
        "tampered",
        |clone| {
            let mut bad = cartridge("build-smith", "1.1.0");
            bad.after_sign(|db| {
                db.execute_batch(
                    "UPDATE cartridge SET value = 'Other' WHERE key = 'acx.agent_name'",
                )
                .unwrap();
            });
            clone.cartridge(&bad);
            clone.commit("Tampered");
        },
        &["main"],
        "integrity-object",
    ),
    (
        "unsigned",
        |clone| {
            let mut bad = cartridge("build-smith", "1.1.0");
            bad.after_sign(|db| db.execute_batch("DELETE FROM signatures").unwrap());
            clone.cartridge(&bad);
            clone.commit("Unsigned");
        },
        &["main"],
        "signature-absent",
    ),
    (
        "a modified version",
        |clone| {
            clone.put(PUBLISHED, amended());
            clone.commit("Amend");
        },
        &["main"],
        "history-changed",
    ),
    (
        "a deleted version",
        |clone| {
            clone.git(&["rm", "-q", PUBLISHED]);
            clone.commit("Delete");
        },
        &["main"],
        "history-removed",
    ),
    (
        "a renamed version",
        |clone| {
            let to = PUBLISHED.replace("1.0.0", "1.0.1");
            fs::create_dir_all(clone.path.join(&to).parent().unwrap()).unwrap();
            clone.git(&["mv", PUBLISHED, &to]);
            // The new place is another version than the signed one; only the old path's loss is looked at here.
            clone.put(&to, cartridge("build-smith", "1.0.1").build());
            clone.commit("Rename");
        },
        &["main"],
        "history-removed",
    ),
    (
        "a version that a folder takes the place of",
        |clone| {
            clone.git(&["rm", "-q", PUBLISHED]);
            clone.put(&format!("{PUBLISHED}/README.md"), "gone");
            clone.commit("Replace by a folder");
        },
        &["main"],
        "history-removed",
    ),
    (
        "modified, then restored within the push",
        |clone| {
            let good = fs::read(clone.path.join(PUBLISHED)).unwrap();
            clone.put(PUBLISHED, amended());
            clone.commit("Amend");
            clone.put(PUBLISHED, good);
            clone.commit("Restore");
        },
        &["main"],
        "history-changed",
    ),
    (
        "a forced update that drops a version",
        |clone| {
            clone.git(&["checkout", "-q", "--orphan", "other"]);
            clone.git(&["rm", "-q", "-r", "--cached", "."]);
            fs::remove_dir_all(clone.path.join("cartridges")).unwrap();
            fs::remove_file(clone.path.join("index.json")).unwrap();
            clone.cartridge(&cartridge("newcomer", "1.0.0"));
            clone.git(&["add", "acx-registry.toml", "cartridges"]);
            clone.git(&["commit", "-q", "-m", "Start over"]);
        },
        &["--force", "other:main"],
        "history-removed history-index",
    ),
    (
        "another publisher's namespace",
        |clone| {
            let theirs = Builder::valid("io.github.other", "tool", "1.0.0").build();
            clone.put("cartridges/io.github.acme/tool/1.0.0/cartridge.acx", theirs);
            clone.commit("Squat");
        },
        &["main"],
        "registry-coordinate",
    ),
    (
        "another key",
        |clone| {
            let mut theirs = cartridge("build-smith", "1.1.0");
            theirs.envelope.seed = keys::seed(33);
            clone.cartridge(&theirs);
            clone.commit("Impersonate");
        },
        &["main"],
        "history-publisher-key",
    ),
    (
        "SAVE data",
        |clone| {
            let mut bad = cartridge("build-smith", "1.1.0");
            bad.after_sign(|db| {
                db.execute_batch(
                    "INSERT INTO sqlar VALUES ('save/notes.md', 420, 0, 5, x'68656c6c6f')",
                )
                .unwrap();
            });
            clone.cartridge(&bad);
            clone.commit("Leak");
        },
        &["main"],
        "save-file",
    ),
    (
        "an edited index",
        |clone| {
            let text = fs::read_to_string(clone.path.join("index.json")).unwrap();
            clone.put("index.json", text.replace("Build Smith", "Evil Smith"));
            clone.commit("Edit the index");
        },
        &["main"],
        "history-index",
    ),
    (
        "an edited policy that would let itself in",
        |clone| {
            clone.put(
                "acx-registry.toml",
                "[registry]\nid = \"com.example.registry\"\n[rules]\nhistory-publisher-key = \"off\"\n",
            );
            clone.commit("Open the gate");
        },
        &["main"],
        "history-policy",
    ),
];

#[test]
fn hostile_pushes_are_refused() {
    for (what, attack, push, code) in ATTACKS {
        let lab = Lab::new();
        let (server, clone) = founded(&lab, |_| {});
        attack(&clone);
        println!("{what}");
        refused(&server, &clone, push, code);
    }
}

#[test]
fn more_ways_around_the_index_and_the_policy_are_refused() {
    let lab = Lab::new();
    let (server, clone) = founded(&lab, |clone| {
        let keys = trust_registry(&[TrustKey::active(keys::seed(7), "io.github.acme")]);
        clone.put(
            "trust-registry.json",
            serde_json::to_vec_pretty(&keys).unwrap(),
        );
    });
    let reset = || {
        clone.git(&["fetch", "-q"]);
        clone.git(&["reset", "-q", "--hard", "origin/main"]);
        clone.git(&["clean", "-qfdx"]);
    };

    // Changed and changed back within the push, so that a cartridge between would be judged by it.
    let policy = fs::read(clone.path.join("acx-registry.toml")).unwrap();
    clone.put(
        "acx-registry.toml",
        "[registry]\nid = \"com.example.other\"\n",
    );
    clone.commit("Change");
    clone.put("acx-registry.toml", policy);
    clone.commit("Change back");
    refused(&server, &clone, &["main"], "history-policy");
    reset();

    clone.git(&["rm", "-q", "trust-registry.json"]);
    clone.commit("Trust nobody");
    refused(&server, &clone, &["main"], "history-policy");
    reset();

    // Signed by a key that is not the one of the index before.
    clone.cartridge(&cartridge("build-smith", "1.1.0"));
    clone.commit("Publish");
    fs::remove_file(clone.path.join("index.json")).unwrap();
    let other = lab.at("other.key");
    keys::write_private(&other, &keys::seed(44));
    let out = clone.acx(&["build-index", "--key", other.to_str().unwrap()]);
    assert_eq!(out.status, 0, "{out:#?}");
    clone.commit("Another signer");
    refused(&server, &clone, &["main"], "history-index");
    reset();

    // The right key, and not the next index: a new chain.
    fs::remove_file(clone.path.join("index.json")).unwrap();
    clone.cartridge(&cartridge("build-smith", "1.1.0"));
    assert_eq!(clone.build(&[]).status, 0);
    clone.commit("A new chain");
    refused(&server, &clone, &["main"], "history-index");
    reset();

    // The right key, the next index, of another tree: the cartridge it lists is not in the push.
    clone.cartridge(&cartridge("build-smith", "1.1.0"));
    assert_eq!(clone.build(&[]).status, 0);
    clone.git(&["add", "index.json"]);
    clone.git(&["commit", "-q", "-m", "An index of more"]);
    refused(&server, &clone, &["main"], "history-index");
    reset();

    // A dataset that was edited.
    let dataset = clone
        .files("HEAD")
        .into_iter()
        .find(|f| f.ends_with(".manifest"))
        .unwrap();
    clone.put(&dataset, "other");
    clone.commit("Edit a dataset");
    refused(&server, &clone, &["main"], "history-index");
    reset();

    // A dataset of a cartridge that has none, and the index gone.
    clone.put(
        "cartridges/io.github.acme/tool/1.0.0/cartridge.memories.lance/x",
        "x",
    );
    clone.commit("A stray dataset");
    refused(&server, &clone, &["main"], "history-index");
    reset();
    clone.git(&["rm", "-q", "index.json"]);
    clone.commit("No index");
    refused(&server, &clone, &["main"], "history-index");
    reset();

    // A secret that only a commit on the way has.
    clone.put("notes.txt", format!("-----BEGIN {}-----\n", "PRIVATE KEY"));
    clone.commit("Oops");
    clone.git(&["rm", "-q", "notes.txt"]);
    clone.commit("Never mind");
    refused(&server, &clone, &["main"], "registry-secret");
    reset();

    // With the server's leave a policy may change, and it must still be one.
    server.git(&["config", "acx.allowPolicyChange", "true"]);
    clone.put("acx-registry.toml", "[registry]\nid = 7\n");
    clone.commit("Break the policy");
    refused(&server, &clone, &["main"], "history-policy");
    reset();
    clone.put(
        "acx-registry.toml",
        "[registry]\nid = \"com.example.registry\"\n[index]\nexpires_days = 30\n",
    );
    clone.commit("Indexes expire");
    assert_eq!(clone.try_git(&["push", "origin", "main"]).status, 0);
}

#[test]
fn references_come_and_go() {
    let lab = Lab::new();
    let (server, clone) = founded(&lab, |_| {});
    // Other branches and tags are not guarded: even a tampered cartridge may be discussed there.
    clone.git(&["checkout", "-q", "-b", "topic"]);
    clone.put("cartridges/io.github.acme/bad/1.0.0/cartridge.acx", "bad");
    clone.commit("Work in progress");
    clone.git(&["tag", "-a", "-m", "A tag", "v1"]);
    assert_eq!(clone.try_git(&["push", "origin", "topic", "v1"]).status, 0);
    assert_eq!(
        clone
            .try_git(&["push", "origin", "--delete", "topic", "v1"])
            .status,
        0
    );
    // Several references in one push: one that is refused takes the others with it.
    clone.git(&["checkout", "-q", "main"]);
    clone.git(&["merge", "-q", "topic"]);
    refused(
        &server,
        &clone,
        &["main", "topic", "v1"],
        "container-not-sqlite",
    );
    clone.git(&["reset", "-q", "--hard", "origin/main"]);
    // An empty push.
    assert_eq!(clone.try_git(&["push", "origin", "main"]).status, 0);
    // The guarded branch stays, whatever git itself would allow.
    server.git(&["config", "receive.denyDeleteCurrent", "ignore"]);
    refused(&server, &clone, &["--delete", "main"], "history-branch");
    // A forced update that loses nothing.
    clone.git(&["commit", "-q", "--amend", "-m", "Found it, better said"]);
    let out = clone.try_git(&["push", "--force", "origin", "main"]);
    assert_eq!(out.status, 0, "{out:#?}");
}

#[test]
fn with_a_star_every_reference_is_guarded() {
    let lab = Lab::new();
    let (server, clone) = founded(&lab, |clone| {
        clone.put(
            "acx-registry.toml",
            "[registry]\nid = \"com.example.registry\"\n[branches]\nguarded = [\"*\"]\n",
        );
    });
    clone.git(&["checkout", "-q", "-b", "topic"]);
    clone.put("cartridges/io.github.acme/bad/1.0.0/cartridge.acx", "bad");
    clone.commit("Work in progress");
    clone.git(&["tag", "-a", "-m", "A tag", "v1"]);
    refused(&server, &clone, &["topic"], "container-not-sqlite");
    refused(&server, &clone, &["v1"], "container-not-sqlite");
    // A new branch is judged against where it left the default branch.
    clone.git(&["reset", "-q", "--hard", "main"]);
    clone.git(&["rm", "-q", PUBLISHED]);
    clone.commit("Delete");
    refused(&server, &clone, &["topic"], "history-removed");
    clone.git(&["reset", "-q", "--hard", "main"]);
    clone.cartridge(&cartridge("build-smith", "1.1.0"));
    clone.commit("Publish");
    let out = clone.try_git(&["push", "origin", "topic"]);
    assert_eq!(out.status, 0, "{out:#?}");
}

#[test]
fn withdrawn_versions_may_go_and_only_by_the_ledger_of_before() {
    let lab = Lab::new();
    let (server, clone) = founded(&lab, |_| {});
    let ledger = serde_json::json!({
        "schemaVersion": "acx.registry-status/1",
        "updatedAt": "2026-08-01T00:00:00Z",
        "entries": [ledger_entry(&cartridge("build-smith", "1.0.0"), "withdrawn")],
    });
    clone.put("status.json", serde_json::to_vec_pretty(&ledger).unwrap());
    clone.git(&["rm", "-q", PUBLISHED]);
    clone.commit("Withdraw and delete at once");
    refused(&server, &clone, &["main"], "history-removed");
    clone.git(&["reset", "-q", "--hard", "origin/main"]);
    clone.put("status.json", serde_json::to_vec_pretty(&ledger).unwrap());
    clone.commit("Withdraw");
    assert_eq!(clone.try_git(&["push", "origin", "main"]).status, 0);
    clone.put(PUBLISHED, amended());
    clone.commit("Change it instead");
    refused(&server, &clone, &["main"], "history-changed");
    clone.git(&["reset", "-q", "--hard", "origin/main"]);
    clone.git(&["rm", "-q", PUBLISHED]);
    clone.commit("Delete");
    let out = clone.try_git(&["push", "origin", "main"]);
    assert_eq!(out.status, 0, "{out:#?}");
}

#[test]
fn a_withdrawn_coordinate_and_its_publisher_stay_known() {
    let lab = Lab::new();
    let server = lab.bare("server.git", &[]);
    server.hook("pre-receive", "");
    server.hook("post-receive", &format!("--key '{}'", lab.key()));
    let clone = lab.clone_of(&server.path, "clone", &[]);
    let land = |clone: &Repository<'_>, message: &str| {
        clone.commit(message);
        let out = clone.try_git(&["push", "origin", "main"]);
        assert_eq!(out.status, 0, "{message}: {out:#?}");
        clone.git(&["pull", "-q", "--ff-only", "origin", "main"]);
    };
    clone.cartridge(&cartridge("build-smith", "1.0.0"));
    for n in 0..3 {
        clone.cartridge(&Builder::valid(
            "io.github.bob",
            "tool",
            &format!("1.{n}.0"),
        ));
    }
    land(&clone, "Found the registry");
    let ledger = |entries: Value| {
        let ledger = serde_json::json!({
            "schemaVersion": "acx.registry-status/1",
            "updatedAt": "2026-08-01T00:00:00Z",
            "entries": entries,
        });
        serde_json::to_vec_pretty(&ledger).unwrap()
    };
    let entry = ledger_entry(&cartridge("build-smith", "1.0.0"), "withdrawn");
    clone.put("status.json", ledger(serde_json::json!([entry])));
    land(&clone, "Withdraw");
    clone.git(&["rm", "-q", PUBLISHED]);
    land(&clone, "Delete");
    // What is gone does not come back as something else, nor its publisher as somebody else.
    clone.put(PUBLISHED, amended());
    clone.commit("Replace");
    refused(&server, &clone, &["main"], "history-changed");
    clone.git(&["reset", "-q", "--hard", "origin/main"]);
    let mut theirs = cartridge("build-smith", "1.2.0");
    theirs.envelope.seed = keys::seed(33);
    clone.cartridge(&theirs);
    clone.commit("Take over");
    refused(&server, &clone, &["main"], "history-publisher-key");
    clone.git(&["reset", "-q", "--hard", "origin/main"]);
    // And the ledger takes nothing back.
    clone.put("status.json", ledger(serde_json::json!([])));
    clone.commit("Forget");
    refused(&server, &clone, &["main"], "history-policy");
    clone.git(&["reset", "-q", "--hard", "origin/main"]);
    let mut softer = ledger_entry(&cartridge("build-smith", "1.0.0"), "deprecated");
    softer["reason"] = "It was not so bad after all.".into();
    clone.put("status.json", ledger(serde_json::json!([softer])));
    clone.commit("Soften");
    refused(&server, &clone, &["main"], "history-policy");
    clone.git(&["reset", "-q", "--hard", "origin/main"]);
    // The publisher goes on.
    clone.cartridge(&cartridge("build-smith", "1.2.0"));
    land(&clone, "Publish");
    // A build without git's history knows it too: the index remembers whose it was.
    let mut third = cartridge("third", "1.0.0");
    fs::remove_dir_all(clone.path.join("cartridges/io.github.acme")).unwrap();
    third.envelope.seed = keys::seed(33);
    let path = clone.cartridge(&third);
    let out = clone.build(&["--dry-run"]);
    assert_eq!(
        support::registry::rejected_codes(&out.json())[&path],
        ["history-publisher-key"]
    );
}

#[test]
fn attributes_that_change_every_clone_are_refused() {
    let lab = Lab::new();
    let (server, clone) = founded(&lab, |_| {});
    for path in [".gitattributes", "cartridges/.gitattributes"] {
        clone.put(path, "*.acx text eol=crlf\n");
        clone.commit("Attributes");
        refused(&server, &clone, &["main"], "history-policy");
        clone.git(&["reset", "-q", "--hard", "origin/main"]);
    }
}

#[test]
fn a_push_beyond_the_budget_is_refused() {
    let lab = Lab::new();
    let (server, clone) = founded(&lab, |_| {});
    server.hook("pre-receive", "--budget 0");
    clone.cartridge(&cartridge("build-smith", "1.1.0"));
    clone.commit("Publish");
    refused(&server, &clone, &["main"], "history-budget");
}

#[test]
fn a_long_refusal_is_cut_and_counted() {
    let lab = Lab::new();
    let (server, clone) = founded(&lab, |_| {});
    for n in 0..40 {
        clone.put(
            &format!("cartridges/io.github.acme/bad/1.0.{n}/cartridge.acx"),
            "bad",
        );
    }
    clone.commit("Forty bad ones");
    let out = refused(&server, &clone, &["main"], "container-not-sqlite");
    assert!(out.stderr.contains("and 28 more"), "{out:#?}");
    // A program gets all of them.
    let lines = format!(
        "{} {} refs/heads/main\n",
        clone.git(&["rev-parse", "origin/main"]),
        clone.git(&["rev-parse", "main"])
    );
    let file = lab.at("lines");
    fs::write(&file, lines).unwrap();
    let run = std::process::Command::new(env!("CARGO_BIN_EXE_acx"))
        .args(["pre-receive", "--format", "json", "--git-dir", ".git"])
        .current_dir(&clone.path)
        .stdin(fs::File::open(&file).unwrap())
        .output()
        .unwrap();
    assert_eq!(run.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&run.stdout).unwrap();
    // The clone's own branch already has them, so nothing is new to it: old and new are both given.
    assert_eq!(report["counts"]["rejected"], 40);
    assert_eq!(report["registry"], "com.example.registry");
}

#[test]
fn a_sha256_repository_is_guarded_too() {
    let lab = Lab::new();
    let server = lab.bare("server.git", &["--object-format=sha256"]);
    server.hook("pre-receive", "");
    let clone = lab.work("clone", &["--object-format=sha256"]);
    clone.git(&["remote", "add", "origin", server.path.to_str().unwrap()]);
    clone.cartridge(&cartridge("build-smith", "1.0.0"));
    clone.commit("Found the registry");
    assert_eq!(clone.build(&["--commit"]).status, 0);
    assert_eq!(clone.try_git(&["push", "origin", "main"]).status, 0);
    clone.git(&["fetch", "-q"]);
    clone.put(PUBLISHED, amended());
    clone.commit("Amend");
    refused(&server, &clone, &["main"], "history-changed");
}

#[test]
fn a_server_in_a_folder_of_an_odd_name_is_guarded() {
    // Git quotes such a name in the list of object folders that the hook gets.
    let lab = Lab::new();
    let server = lab.bare("a:b \"c\".git", &[]);
    server.hook("pre-receive", "");
    let clone = lab.work("clone", &[]);
    clone.git(&["remote", "add", "origin", server.path.to_str().unwrap()]);
    let path = clone.cartridge(&cartridge("build-smith", "1.0.0"));
    clone.commit("Publish");
    let out = clone.try_git(&["push", "origin", "main"]);
    assert_eq!(out.status, 0, "{out:#?}");
    clone.put(&path.replace("1.0.0", "1.1.0"), "bad");
    clone.commit("Bad");
    refused(&server, &clone, &["main"], "container-not-sqlite");
}

#[test]
fn input_that_no_git_writes_is_an_error() {
    let lab = Lab::new();
    let (server, _) = founded(&lab, |_| {});
    let (some, nothing) = ("1".repeat(40), "0".repeat(40));
    for input in [
        "hello\n".to_owned(),
        format!("{nothing} {some}\n"),
        format!("{nothing} {} refs/heads/main\n", "1".repeat(39)),
        format!("{nothing} {} refs/heads/main\n", "1".repeat(64)),
        format!("{nothing} {some} refs/heads/..\n"),
        format!("{nothing} {some} {}\n", "x".repeat(5000)),
        // An object that is nowhere.
        format!("{nothing} {some} refs/heads/main\n"),
    ] {
        let file = lab.at("input");
        fs::write(&file, &input).unwrap();
        let run = std::process::Command::new(env!("CARGO_BIN_EXE_acx"))
            .arg("pre-receive")
            .current_dir(&server.path)
            .stdin(fs::File::open(&file).unwrap())
            .output()
            .unwrap();
        assert_eq!(run.status.code(), Some(2), "{input}: {run:?}");
        assert!(run.stdout.is_empty() && !run.stderr.is_empty(), "{input}");
    }
}
