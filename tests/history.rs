//! Published coordinates never change, and the index's own chain is never broken unasked.
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

use serde_json::{Value, json};
use support::cartridge::Builder;
use support::keys;
use support::registry::{
    Output, TempRegistry, index_keyid, ledger_entry, listed, predicate, rejected_codes,
    warning_codes,
};

fn cartridge(id: &str) -> Builder {
    Builder::valid("io.github.acme", id, "1.0.0")
}

/// The same coordinate with other content, signed by the same publisher.
fn changed(id: &str, how: &str) -> Builder {
    let mut builder = cartridge(id);
    builder.file("rom/knowledge/MORE.md", how);
    builder
}

/// Three cartridges, built once; the paths.
fn published() -> (TempRegistry, [String; 3]) {
    let registry = TempRegistry::new();
    let paths = ["alpha", "beta", "gamma"].map(|id| registry.cartridge(&cartridge(id)));
    assert_eq!(registry.build_index(&[]).status, 0);
    (registry, paths)
}

fn refused(registry: &TempRegistry, path: &str, code: &str, rest: &[String]) {
    let out = registry.build_index(&[]);
    assert_eq!(out.status, 1, "{out:#?}");
    let rejected = rejected_codes(&out.json());
    assert_eq!(rejected.len(), 1, "{rejected:?}");
    assert_eq!(rejected[path], [code]);
    assert_eq!(listed(&registry.index().unwrap()), rest);
}

fn sequence(registry: &TempRegistry) -> Value {
    predicate(&registry.index().unwrap())["sequence"].clone()
}

#[test]
fn a_published_file_is_never_changed_however_often_one_tries() {
    let (registry, [alpha, beta, gamma]) = published();
    let original = fs::read(registry.at(&beta)).unwrap();
    let rest = [alpha.clone(), gamma.clone()];
    registry.put(&beta, changed("beta", "second").build());
    refused(&registry, &beta, "history-changed", &rest);
    let out = registry.run(&["build-index", "--check", "--format", "json"]);
    assert_eq!(out.status, 1, "{out:#?}");
    assert_eq!(rejected_codes(&out.json())[&beta], ["history-changed"]);
    // The refusal is remembered, though the index lists the coordinate no more.
    refused(&registry, &beta, "history-changed", &rest);
    assert_eq!(sequence(&registry), 2, "the second refusal changed nothing");
    let index = registry.index_bytes();
    registry.build_index(&["--resign"]);
    assert!(registry.index_bytes() != index);
    refused(&registry, &beta, "history-changed", &rest);

    registry.remove(&beta);
    refused(&registry, &beta, "history-removed", &rest);
    registry.put(&beta, changed("beta", "third").build());
    refused(&registry, &beta, "history-changed", &rest);
    registry.put(&beta, "not even a cartridge");
    let out = registry.build_index(&[]);
    let rejected = rejected_codes(&out.json());
    assert!(
        rejected[&beta].contains(&"history-changed".to_owned()),
        "{rejected:?}"
    );
    // A file of one byte more, with the content as it was signed.
    let mut padded = cartridge("beta");
    padded.sql("PRAGMA user_version=16777473");
    registry.put(&beta, padded.build());
    refused(&registry, &beta, "history-changed", &rest);

    registry.put(&beta, original);
    assert_eq!(registry.build_index(&[]).status, 0);
    assert_eq!(listed(&registry.index().unwrap()), [alpha, beta, gamma]);
    assert_eq!(predicate(&registry.index().unwrap()).get("retired"), None);
}

#[test]
fn a_published_file_is_missed_until_it_is_restored_or_withdrawn() {
    let (registry, [alpha, beta, gamma]) = published();
    let original = fs::read(registry.at(&gamma)).unwrap();
    let rest = [alpha.clone(), beta.clone()];
    fs::remove_dir_all(registry.at("cartridges/io.github.acme/gamma")).unwrap();
    for _ in 0..3 {
        refused(&registry, &gamma, "history-removed", &rest);
    }
    // A deprecation does not permit it.
    registry.ledger(&[ledger_entry(&cartridge("gamma"), "deprecated")]);
    refused(&registry, &gamma, "history-removed", &rest);

    registry.ledger(&[ledger_entry(&cartridge("gamma"), "withdrawn")]);
    let out = registry.build_index(&[]);
    assert_eq!(out.status, 0, "{out:#?}");
    assert_eq!(listed(&registry.index().unwrap()), rest);
    assert_eq!(registry.build_index(&[]).status, 0);

    // The ledger's word gone, it is missed again: the memory outlives the withdrawal.
    registry.remove("status.json");
    refused(&registry, &gamma, "history-removed", &rest);

    registry.put(&gamma, original);
    assert_eq!(registry.build_index(&[]).status, 0);
    assert_eq!(listed(&registry.index().unwrap()), [alpha, beta, gamma]);
}

#[test]
fn a_withdrawn_version_may_stay_and_may_not_be_replaced_unseen() {
    let (registry, [alpha, beta, gamma]) = published();
    registry.ledger(&[ledger_entry(&cartridge("gamma"), "withdrawn")]);
    assert_eq!(registry.build_index(&[]).status, 0);
    let index = registry.index().unwrap();
    assert_eq!(
        index["cartridges"][2]["registryStatus"]["status"],
        "withdrawn"
    );
    assert_eq!(
        index["cartridges"][2]["latest"], true,
        "all versions are withdrawn"
    );
    registry.put(&gamma, changed("gamma", "other").build());
    let out = registry.build_index(&[]);
    assert_eq!(out.status, 0, "{out:#?}");
    assert!(warning_codes(&out.json()).contains(&("history-changed".to_owned(), gamma)));
    assert_eq!(listed(&registry.index().unwrap()), [alpha, beta]);
}

#[test]
fn a_version_that_differs_in_build_metadata_alone_does_not_displace_the_published_one() {
    let registry = TempRegistry::new();
    let first = registry.cartridge(&Builder::valid("io.github.acme", "fine", "1.0.0+a"));
    assert_eq!(registry.build_index(&[]).status, 0);
    let second = registry.cartridge(&Builder::valid("io.github.acme", "fine", "1.0.0"));
    let out = registry.build_index(&[]);
    assert_eq!(out.status, 1, "{out:#?}");
    assert_eq!(rejected_codes(&out.json())[&second], ["registry-duplicate"]);
    assert_eq!(listed(&registry.index().unwrap()), [first]);
}

fn untouched(registry: &TempRegistry, more: &[&str], needles: &[&str]) -> Output {
    let before = registry.snapshot();
    let out = registry.build_index(more);
    assert_eq!(out.status, 2, "{out:#?}");
    for needle in needles {
        assert!(out.stderr.contains(needle), "{needle}: {out:#?}");
    }
    assert!(registry.snapshot() == before, "something was written");
    out
}

#[test]
fn an_index_does_not_lose_most_of_its_entries_unasked() {
    let (registry, [alpha, beta, gamma]) = published();
    registry.remove(&beta).remove(&gamma);
    untouched(&registry, &[], &["2 of its 3 entries", "--allow-shrink"]);
    let out = registry.build_index(&["--allow-shrink"]);
    assert_eq!(out.status, 1, "{out:#?}");
    assert_eq!(listed(&registry.index().unwrap()), [alpha]);
    // What was lost is remembered, not forgiven.
    let out = registry.build_index(&[]);
    assert_eq!(out.status, 1, "{out:#?}");
    let rejected = rejected_codes(&out.json());
    assert_eq!(rejected.keys().collect::<Vec<_>>(), [&beta, &gamma]);
}

#[test]
fn withdrawing_most_of_an_index_is_a_loss_too() {
    let (registry, [_, beta, gamma]) = published();
    let entries = ["beta", "gamma"].map(|id| ledger_entry(&cartridge(id), "withdrawn"));
    registry.ledger(&entries).remove(&beta).remove(&gamma);
    untouched(&registry, &[], &["--allow-shrink"]);
    assert_eq!(registry.build_index(&["--allow-shrink"]).status, 0);
}

/// Makes the index one that this registry cannot go on from, and gives the sequence of the next after `--new-chain`.
type Break = fn(&TempRegistry) -> u64;

const BREAKS: &[(&str, Break)] = &[
    ("unsigned", |registry| {
        let mut index = registry.index().unwrap();
        index.as_object_mut().unwrap().remove("integrity");
        registry.put("index.json", serde_json::to_vec_pretty(&index).unwrap());
        1
    }),
    ("garbage", |registry| {
        registry.put("index.json", b"\x00\xff no index \x1b[31m");
        1
    }),
    ("empty", |registry| {
        registry.put("index.json", "");
        1
    }),
    ("merge conflict", |registry| {
        let good = String::from_utf8(registry.index_bytes()).unwrap();
        registry.put(
            "index.json",
            format!("<<<<<<< ours\n{good}=======\n{good}>>>>>>> theirs\n"),
        );
        1
    }),
    ("hand-edited", |registry| {
        let good = String::from_utf8(registry.index_bytes()).unwrap();
        registry.put("index.json", good.replace("backend_dev", "architect"));
        1
    }),
    ("signed by another key", |registry| {
        let key = registry.home().join("other.pem");
        keys::write_private(&key, &keys::seed(77));
        let path = key.to_str().unwrap();
        registry.remove("index.json");
        for _ in 0..3 {
            let out = registry.run(&["build-index", "--resign", "--key", path]);
            assert_eq!(out.status, 0, "{out:#?}");
        }
        4
    }),
    ("of another registry", |registry| {
        let other = TempRegistry::new();
        other.policy("[registry]\nid = \"com.example.other\"\n");
        assert_eq!(other.build_index(&[]).status, 0);
        registry.put("index.json", other.index_bytes());
        2
    }),
];

#[test]
fn an_index_that_is_not_this_registrys_is_gone_on_from_only_when_asked() {
    for (what, make) in BREAKS {
        let (registry, paths) = published();
        let next = make(&registry);
        for mode in [
            &[][..],
            &["--allow-shrink"],
            &["--check"],
            &["--dry-run"],
            &["--resign"],
        ] {
            untouched(&registry, mode, &["index.json", "--new-chain"]);
        }
        let out = registry.build_index(&["--new-chain"]);
        assert_eq!(out.status, 0, "{what}: {out:#?}");
        let index = registry.index().unwrap();
        assert_eq!(listed(&index), paths, "{what}");
        assert_eq!(index["integrity"]["keyid"], json!(index_keyid()), "{what}");
        assert_eq!(predicate(&index)["sequence"], next, "{what}");
        assert_eq!(
            predicate(&index)["previousDigest"].is_null(),
            next == 1,
            "{what}"
        );
        // From here on it is an ordinary chain.
        let out = registry.build_index(&[]);
        assert_eq!(
            (out.status, out.json()["wrote"].clone()),
            (0, json!([])),
            "{what}"
        );
    }
}

#[test]
fn a_new_chain_of_a_sound_index_is_the_old_chain() {
    let (registry, [_, beta, _]) = published();
    let before = registry.snapshot();
    assert_eq!(registry.build_index(&["--new-chain"]).status, 0);
    assert!(registry.snapshot() == before);
    // So the option does not launder a changed file.
    registry.put(&beta, changed("beta", "second").build());
    let out = registry.build_index(&["--new-chain"]);
    assert_eq!(out.status, 1, "{out:#?}");
    assert_eq!(rejected_codes(&out.json())[&beta], ["history-changed"]);
}

#[test]
fn a_pinned_key_may_hand_the_chain_to_another_pinned_key() {
    let (registry, [_, beta, _]) = published();
    let other = keys::seed(77);
    let key = registry.home().join("other.pem");
    keys::write_private(&key, &other);
    let other = keys::keyid(&keys::public(&other));
    registry.policy(&format!(
        "[index]\nkeys = [\"{}\", \"{other}\"]\n",
        index_keyid()
    ));
    let build = |more: &[&str]| {
        let args = [
            "build-index",
            "--format",
            "json",
            "--key",
            key.to_str().unwrap(),
        ];
        registry.run(&[&args, more].concat())
    };
    assert_eq!(build(&["--resign"]).status, 0);
    let index = registry.index().unwrap();
    assert_eq!(index["integrity"]["keyid"], json!(other));
    assert_eq!(predicate(&index)["sequence"], 2);
    // The history came along.
    registry.put(&beta, changed("beta", "second").build());
    assert_eq!(
        rejected_codes(&build(&[]).json())[&beta],
        ["history-changed"]
    );
}
