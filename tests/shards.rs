//! An index in shards: the same entries as in one file, each byte of them held by a signed root, through every command.
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

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use acx_registry::publish::{self, IndexError};
use acx_registry::source::Source;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use support::cartridge::{Builder, PUBLISHER_SEED};
use support::envelope::Envelope;
use support::git::{Lab, Repository};
use support::registry::{
    INDEX_SEED, Output, SEPTEMBER, TempRegistry, index_keyid, ledger_entry, predicate, read_json,
};
use support::signed::{graph, workflow};
use support::{jcs, keys};

const POLICY: &str = "[index]\nshards = true\n";
const WHOLE: &str = "[index]\nshards = false\n";
const ARRAYS: [&str; 3] = ["cartridges", "workflows", "agentGraphs"];

fn cartridge(publisher: &str, id: &str, version: &str) -> Builder {
    Builder::valid(publisher, id, version)
}

/// Three publishers with artifacts of all kinds, not built yet.
fn several(policy: &str) -> TempRegistry {
    let registry = TempRegistry::new();
    registry.policy(policy);
    for (publisher, id, version) in [
        ("io.github.zoe", "alpha", "1.0.0"),
        ("io.github.acme", "beta", "1.0.0"),
        ("io.github.acme", "beta", "1.10.0"),
        ("io.github.acme", "beta", "1.2.0"),
        ("io.github.acme", "alpha", "1.0.0"),
    ] {
        registry.cartridge(&cartridge(publisher, id, version));
    }
    let flow = workflow("io.github.acme", "deliver", "1.0.0", PUBLISHER_SEED);
    let team = graph("com.example", "team", "1.0.0", PUBLISHER_SEED, &[&flow]);
    registry.put(&flow.path(), flow.bytes());
    registry.put(&team.path(), team.bytes());
    registry.put(
        "templates/starter/manifest.json",
        json!({"name": "Starter", "description": "To start from."}).to_string(),
    );
    registry
}

fn build(registry: &TempRegistry, more: &[&str]) -> Output {
    let out = registry.build_at(SEPTEMBER, more);
    assert_eq!(out.status, 0, "{out:#?}");
    out
}

fn built(policy: &str) -> TempRegistry {
    let registry = several(policy);
    build(&registry, &[]);
    registry
}

fn verify(registry: &TempRegistry) -> Output {
    let keyid = index_keyid();
    let args = ["verify-index", "--format", "json", "--keyid", &keyid];
    registry.run_with(&args, &[("SOURCE_DATE_EPOCH", SEPTEMBER)])
}

/// `verify-index` and a build refuse the index, and each says all of these.
fn refused(registry: &TempRegistry, needles: &[&str]) {
    let out = verify(registry);
    assert_eq!(out.status, 1, "{needles:?}: {out:#?}");
    let problems = out.json()["problems"].to_string();
    let before = registry.snapshot();
    let build = registry.build_at(SEPTEMBER, &[]);
    assert_eq!(build.status, 2, "{needles:?}: {build:#?}");
    assert!(registry.snapshot() == before, "{needles:?}");
    for needle in needles {
        let spelled = Value::from(*needle).to_string();
        assert!(
            problems.contains(spelled.trim_matches('"')),
            "{needle}: {problems}"
        );
        assert!(build.stderr.contains(needle), "{needle}: {build:#?}");
    }
}

/// The shards that a root names: path by publisher.
fn named(root: &Value) -> BTreeMap<String, String> {
    let shards = root["shards"].as_array().unwrap().iter();
    shards
        .map(|s| (text(&s["publisher"]), text(&s["path"])))
        .collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// The files below `index/`, by path.
fn files(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in walkdir::WalkDir::new(root.join("index")) {
        let Ok(entry) = entry else { continue };
        if !entry.file_type().is_dir() {
            let path = entry.path().strip_prefix(root).unwrap();
            found.insert(
                path.to_str().unwrap().to_owned(),
                fs::read(entry.path()).unwrap(),
            );
        }
    }
    found
}

fn strings(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(text).collect()
}

fn pretty(value: &Value) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(value).unwrap();
    bytes.push(b'\n');
    bytes
}

fn sha256(bytes: &[u8]) -> String {
    keys::sha256(bytes).trim_start_matches("sha256:").to_owned()
}

#[test]
fn the_root_and_its_shards_are_the_whole_index_byte_by_byte() {
    let whole = built(WHOLE).index().unwrap();
    let registry = several(POLICY);
    let out = build(&registry, &[]).json();
    let root = registry.index().unwrap();
    let members: Vec<&String> = root.as_object().unwrap().keys().collect();
    assert_eq!(
        members,
        [
            "schemaVersion",
            "generatedAt",
            "artifactCount",
            "count",
            "workflowCount",
            "agentGraphCount",
            "templateCount",
            "templates",
            "shards",
            "integrity"
        ]
    );
    assert_eq!(root["schemaVersion"], "acx.registry-index-root/1");
    for same in [
        "generatedAt",
        "artifactCount",
        "count",
        "workflowCount",
        "agentGraphCount",
        "templateCount",
        "templates",
    ] {
        assert_eq!(root[same], whole[same], "{same}");
    }
    let publishers: Vec<String> = named(&root).into_keys().collect();
    assert_eq!(
        publishers,
        ["com.example", "io.github.acme", "io.github.zoe"]
    );
    assert_eq!(
        strings(&out["wrote"])
            .into_iter()
            .filter(|path| !path.ends_with(".lance"))
            .collect::<Vec<_>>(),
        named(&root)
            .into_values()
            .chain(["index.json".to_owned()])
            .collect::<Vec<_>>(),
        "the root last"
    );
    // Each shard is made here anew from the entries of the whole index.
    let mut joined: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    let mut expected = BTreeMap::new();
    for shard in root["shards"].as_array().unwrap() {
        let publisher = &shard["publisher"];
        let mut content = json!({
            "schemaVersion": "acx.registry-index-shard/1", "publisher": publisher,
        });
        for array in ARRAYS {
            let own = whole[array].as_array().unwrap().iter();
            let own: Vec<Value> = own
                .filter(|e| e["publisher"] == *publisher)
                .cloned()
                .collect();
            assert_eq!(shard[array], own.len(), "{publisher} {array}");
            content[array] = own.into();
        }
        let bytes = pretty(&content);
        let hash = sha256(&bytes);
        assert_eq!(shard["bytes"], bytes.len());
        assert_eq!(shard["sha256"], format!("sha256:{hash}"));
        assert_eq!(
            shard["path"],
            format!("index/{}/{hash}.json", text(publisher))
        );
        let read = read_json(&registry.at(&text(&shard["path"])));
        for array in ARRAYS {
            let list = joined.entry(array).or_default();
            list.extend(read[array].as_array().unwrap().iter().cloned());
        }
        expected.insert(text(&shard["path"]), bytes);
    }
    assert!(files(&registry.root()) == expected);
    for array in ARRAYS {
        assert_eq!(whole[array], json!(joined[array]), "{array}");
    }
    assert_eq!(
        whole["cartridges"].as_array().unwrap().len(),
        5,
        "of each kind something"
    );
    // The same predicate, over the root.
    let mut content = root.clone();
    content.as_object_mut().unwrap().shift_remove("integrity");
    let digest = keys::sha256(jcs::jcs(&content).as_bytes());
    let says = predicate(&root);
    assert_eq!(says["indexDigest"], digest);
    assert_eq!(root["integrity"]["digest"], digest);
    assert_eq!(
        says["counts"],
        json!({
            "artifacts": 8, "cartridges": 5, "workflows": 1, "agentGraphs": 1, "templates": 1,
        })
    );
    assert_eq!(registry.index_bytes(), pretty(&root));
    // What is read of it is what is read of one file.
    let source = Source::Folder(registry.root());
    let read = publish::read_with(&registry.index_bytes(), &|path, most| {
        source.named(path, most)
    })
    .unwrap();
    let mut content = whole.clone();
    content.as_object_mut().unwrap().shift_remove("integrity");
    assert_eq!(read.content, content);
    assert!(read.well_formed && read.absent.is_empty());
    // Another machine, another order: the same bytes.
    let twin = built(POLICY);
    assert_eq!(twin.index_bytes(), registry.index_bytes());
    assert!(files(&twin.root()) == files(&registry.root()));
    // A reader that takes one file alone refuses.
    assert_eq!(
        publish::read(&registry.index_bytes())
            .unwrap_err()
            .to_string(),
        format!(
            "{}: expected the shard of com.example, found none; restore it or fetch it",
            named(&root)["com.example"]
        )
    );
}

#[test]
fn what_did_not_change_is_not_written_again() {
    let registry = built(POLICY);
    let before = registry.snapshot();
    let out = build(&registry, &[]).json();
    assert!(strings(&out["wrote"]).is_empty(), "{out:#}");
    assert!(registry.snapshot() == before);
    build(&registry, &["--check"]);
    build(&registry, &["--dry-run"]);
    assert!(registry.snapshot() == before);

    let (old, shards) = (registry.index().unwrap(), files(&registry.root()));
    registry.cartridge(&cartridge("io.github.zoe", "alpha", "1.1.0"));
    let check = registry.build_at(SEPTEMBER, &["--check"]);
    assert_eq!(check.status, 1, "{check:#?}");
    let dry = build(&registry, &["--dry-run"]).json();
    assert_eq!(
        dry["changes"]["added"],
        json!(["cartridges/io.github.zoe/alpha/1.1.0/cartridge.acx"])
    );
    assert!(files(&registry.root()) == shards);
    let times = registry.snapshot();
    let out = build(&registry, &[]).json();
    let new = registry.index().unwrap();
    let (was, is) = (named(&old), named(&new));
    let wrote = strings(&out["wrote"]);
    assert_eq!(
        wrote[wrote.len() - 2..],
        [is["io.github.zoe"].clone(), "index.json".to_owned()]
    );
    assert_eq!(strings(&out["removed"]), [was["io.github.zoe"].clone()]);
    assert_eq!(
        files(&registry.root()).into_keys().collect::<Vec<_>>(),
        is.values().cloned().collect::<Vec<_>>()
    );
    for publisher in ["com.example", "io.github.acme"] {
        assert_eq!(was[publisher], is[publisher]);
        let path = registry.at(&is[publisher]);
        assert!(registry.snapshot()[&path] == times[&path], "{publisher}");
    }
    let says = predicate(&new);
    assert_eq!(says["sequence"], 2);
    assert_eq!(says["previousDigest"], old["integrity"]["digest"]);
    assert_eq!(verify(&registry).status, 0);
}

#[test]
fn the_policy_turns_shards_on_and_off_in_one_chain() {
    let registry = built(WHOLE);
    let first = registry.index().unwrap();
    assert_eq!(first["schemaVersion"], "acx.registry-index/1");
    assert!(!registry.at("index").exists());
    registry.policy(POLICY);
    let check = registry.build_at(SEPTEMBER, &["--check"]);
    assert_eq!(check.status, 1, "{check:#?}");
    assert_eq!(
        check.json()["differences"],
        json!([
            "index.json: expected one with shards, as [index] shards in acx-registry.toml says, found one file"
        ])
    );
    build(&registry, &[]);
    let second = registry.index().unwrap();
    assert_eq!(predicate(&second)["sequence"], 2);
    assert_eq!(
        predicate(&second)["previousDigest"],
        first["integrity"]["digest"]
    );
    assert_eq!(files(&registry.root()).len(), 3);
    assert_eq!(verify(&registry).status, 0);

    registry.policy(WHOLE);
    let check = registry.build_at(SEPTEMBER, &["--check"]);
    assert_eq!(check.status, 1, "{check:#?}");
    let differences = strings(&check.json()["differences"]);
    assert_eq!(differences.len(), 4, "{differences:?}");
    assert!(
        differences[0].ends_with("found one with shards"),
        "{differences:?}"
    );
    let out = build(&registry, &[]).json();
    assert_eq!(
        strings(&out["removed"]),
        named(&second).into_values().collect::<Vec<_>>()
    );
    let third = registry.index().unwrap();
    assert_eq!(predicate(&third)["sequence"], 3);
    assert_eq!(
        predicate(&third)["previousDigest"],
        second["integrity"]["digest"]
    );
    assert!(!registry.at("index").exists(), "no folder is left");
    let mut content = first.clone();
    content["integrity"] = third["integrity"].clone();
    assert_eq!(third, content);
    assert_eq!(verify(&registry).status, 0);
}

#[test]
fn nobody_changes_a_shard_unseen() {
    let registry = built(POLICY);
    let root = registry.index().unwrap();
    let bytes = registry.index_bytes();
    let shards = named(&root);
    let good = files(&registry.root());
    // Every byte of the smallest shard, and of the root that names it.
    let small = &shards["com.example"];
    let read = |index: &[u8], shard: &[u8]| {
        publish::read_with(index, &|path, _| {
            Ok(if path == small {
                shard.to_vec()
            } else {
                good[path].clone()
            })
        })
    };
    assert!(read(&bytes, &good[small]).unwrap().well_formed);
    for at in 0..good[small].len() {
        let mut changed = good[small].clone();
        changed[at] ^= 1 << (at % 8);
        match read(&bytes, &changed) {
            Err(IndexError::Shard { path, message }) => {
                assert_eq!(path, *small);
                assert!(message.starts_with("expected sha256 "), "{message}");
            }
            other => panic!("byte {at}: {other:?}"),
        }
    }
    let known = index_keyid();
    for at in (0..bytes.len()).step_by(3) {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 7);
        let holds = read(&changed, &good[small])
            .is_ok_and(|i| i.well_formed && i.integrity.keyid.as_str() == known);
        assert!(!holds, "byte {at} of the root");
    }
    let short = &good[small][..good[small].len() - 1];
    let refusal = read(&bytes, short).unwrap_err().to_string();
    let length = good[small].len();
    let expected = format!("{small}: expected {length} bytes, found {}", length - 1);
    assert_eq!(refusal, expected);

    let hash = &root["shards"][0]["sha256"];
    let mut flipped = good[small].clone();
    flipped[40] ^= 1;
    registry.put(small, &flipped);
    let found = format!("sha256:{}", sha256(&flipped));
    refused(
        &registry,
        &[
            small,
            &format!("expected {}", "sha256"),
            &text(hash),
            &found,
        ],
    );
    registry.put(small, [&good[small][..], b"\n"].concat());
    refused(
        &registry,
        &[
            small,
            &format!("expected {length} bytes, found {}", length + 1),
        ],
    );
    // One in another's place.
    registry.put(small, &good[&shards["io.github.zoe"]]);
    refused(&registry, &[small, "expected "]);
    registry.remove(small);
    let out = registry.build_at(SEPTEMBER, &[]);
    assert_eq!(out.status, 2, "{out:#?}");
    let needle = format!("{small}: expected the shard of com.example, found none");
    assert!(out.stderr.contains(&needle), "{out:#?}");
    // Behind a link it does not count, be it the file or its folder.
    let outside = registry.home().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("shard"), &good[small]).unwrap();
    symlink(outside.join("shard"), registry.at(small)).unwrap();
    refused(
        &registry,
        &[small, "expected an ordinary file, found a link"],
    );
    let folder = registry.at("index/com.example");
    fs::remove_dir_all(&folder).unwrap();
    let name = small.rsplit('/').next().unwrap();
    fs::rename(outside.join("shard"), outside.join(name)).unwrap();
    symlink(&outside, &folder).unwrap();
    refused(
        &registry,
        &[small, "expected an ordinary file, found a link"],
    );
    // A broken one can be left behind, and a link is never written through.
    let out = registry.build_at(SEPTEMBER, &["--new-chain"]);
    assert_eq!(out.status, 2, "{out:#?}");
    assert!(
        out.stderr
            .contains("index/com.example: expected a folder, found a link"),
        "{out:#?}"
    );
    fs::remove_file(&folder).unwrap();
    build(&registry, &["--new-chain"]);
    assert!(files(&registry.root()) == good);
    assert_eq!(verify(&registry).status, 0);
}

/// Signs a root that was changed, as a registry's own key would.
fn forge(registry: &TempRegistry, edit: impl FnOnce(&mut Value)) {
    let mut root = registry.index().unwrap();
    let mut integrity = root
        .as_object_mut()
        .unwrap()
        .shift_remove("integrity")
        .unwrap();
    edit(&mut root);
    let payload = STANDARD
        .decode(text(&integrity["envelope"]["payload"]))
        .unwrap();
    let mut statement: Value = serde_json::from_slice(&payload).unwrap();
    let digest = keys::sha256(jcs::jcs(&root).as_bytes());
    statement["subject"][0]["digest"]["sha256"] = digest.trim_start_matches("sha256:").into();
    statement["predicate"]["indexDigest"] = digest.as_str().into();
    statement["predicate"]["counts"] = json!({
        "artifacts": root["artifactCount"], "cartridges": root["count"], "workflows": root["workflowCount"],
        "agentGraphs": root["agentGraphCount"], "templates": root["templateCount"],
    });
    let payload = jcs::jcs(&statement);
    let seed = keys::seed(INDEX_SEED);
    let sig = keys::sign(&seed, &Envelope::new(seed).pae(payload.as_bytes()));
    integrity["envelope"]["payload"] = STANDARD.encode(payload).into();
    integrity["envelope"]["signatures"][0]["sig"] = STANDARD.encode(sig).into();
    integrity["digest"] = digest.into();
    root["integrity"] = integrity;
    registry.put("index.json", pretty(&root));
}

#[test]
fn a_signed_index_leads_nowhere_outside_its_registry() {
    // In one file.
    let good = built("");
    let edits: [(&str, &str); 5] = [
        ("path", "../outside.acx"),
        ("path", "/etc/passwd"),
        ("path", "cartridges/../../outside.acx"),
        ("memories", "../outside.lance"),
        (
            "memories",
            "cartridges/com.example/../../../outside.memories.lance",
        ),
    ];
    for (member, path) in edits {
        let registry = TempRegistry::copy_of(&good.root());
        forge(&registry, |index| {
            let entry = &mut index["cartridges"][0];
            if member == "memories" {
                entry["memories"]["path"] = path.into();
            } else {
                entry["path"] = path.into();
            }
        });
        refused(&registry, &[path]);
        let before = registry.snapshot();
        let site = ["site", ".", "--out", "public", "--keyid", &index_keyid()];
        let out = registry.run_with(&site, &[("SOURCE_DATE_EPOCH", SEPTEMBER)]);
        assert_eq!(out.status, 1, "{path}: {out:#?}");
        assert!(out.stdout.contains(path), "{path}: {out:#?}");
        assert!(registry.snapshot() == before, "{path}");
    }
}

/// Puts a changed shard where a root that is signed anew names it.
fn forge_shard(registry: &TempRegistry, at: usize, edit: impl FnOnce(&mut Value)) -> String {
    let root = registry.index().unwrap();
    let mut shard = read_json(&registry.at(&text(&root["shards"][at]["path"])));
    edit(&mut shard);
    let bytes = pretty(&shard);
    let hash = sha256(&bytes);
    let publisher = text(&root["shards"][at]["publisher"]);
    let path = format!("index/{publisher}/{hash}.json");
    registry.put(&path, &bytes);
    forge(registry, |root| {
        root["shards"][at]["path"] = path.as_str().into();
        root["shards"][at]["sha256"] = format!("sha256:{hash}").into();
        root["shards"][at]["bytes"] = bytes.len().into();
    });
    path
}

#[test]
fn a_signed_root_that_no_build_writes_is_refused() {
    let good = built(POLICY);
    let again = || TempRegistry::copy_of(&good.root());
    let registry = again();
    forge(&registry, |_| {});
    assert_eq!(
        verify(&registry).status,
        0,
        "what is forged well is only a signature"
    );

    let acme = named(&good.index().unwrap())["io.github.acme"].clone();
    type Edit = fn(&mut Value);
    let roots: [(Edit, &str); 9] = [
        (
            |r| r["shards"].as_array_mut().unwrap().swap(0, 1),
            "/shards/1/publisher: expected a publisher after io.github.acme, found com.example",
        ),
        (
            |r| {
                let twice = r["shards"][1].clone();
                r["shards"].as_array_mut().unwrap().insert(1, twice);
            },
            "/shards/2/publisher: expected a publisher after io.github.acme, found io.github.acme",
        ),
        (
            |r| drop(r["shards"].as_array_mut().unwrap().remove(2)),
            "/count: expected 4, what the shards list together, found 5",
        ),
        (
            |r| r["shards"][1]["path"] = r["shards"][2]["path"].clone(),
            "/shards/1/path: expected ",
        ),
        (
            |r| r["shards"][1]["path"] = "index/../acx-registry.toml".into(),
            "/shards/1/path: expected `index/<publisher>/<hex digits of sha256>.json`",
        ),
        (
            |r| r["shards"][1]["publisher"] = "../..".into(),
            "/shards/1/publisher: expected a publisher id",
        ),
        (
            |r| r["shards"][1]["bytes"] = (1_u64 << 40).into(),
            "/shards/1/bytes: expected at most 536870912 bytes in all shards, found more",
        ),
        (
            |r| r["shards"][1]["size"] = 1.into(),
            "/shards/1/size: unknown field",
        ),
        (
            |r| r["shards"][1]["workflows"] = 0.into(),
            "/workflowCount: expected 0, what the shards list together, found 1",
        ),
    ];
    for (edit, message) in roots {
        let registry = again();
        forge(&registry, edit);
        refused(&registry, &[message]);
    }

    let shards: [(Edit, &str); 8] = [
        (
            |s| s["publisher"] = "io.github.zoe".into(),
            "/publisher: expected \"io.github.acme\", found \"io.github.zoe\"",
        ),
        (
            |s| s["schemaVersion"] = "acx.registry-index/1".into(),
            "/schemaVersion: expected \"acx.registry-index-shard/1\"",
        ),
        (
            |s| s["cartridges"][0]["publisher"] = "io.github.zoe".into(),
            "/cartridges/0: expected an entry of io.github.acme",
        ),
        (
            |s| {
                s["cartridges"][0]["path"] =
                    "cartridges/io.github.zoe/alpha/1.0.0/cartridge.acx".into()
            },
            "/cartridges/0: expected an entry of io.github.acme, found \"cartridges/io.github.zoe/alpha/1.0.0/cartridge.acx\"",
        ),
        (
            |s| s["cartridges"].as_array_mut().unwrap().swap(0, 1),
            "/cartridges/1: expected the entries by id and then version",
        ),
        (
            |s| s["cartridges"].as_array_mut().unwrap().swap(1, 2),
            "/cartridges/2: expected the entries by id and then version",
        ),
        (
            |s| drop(s["cartridges"].as_array_mut().unwrap().pop()),
            "/cartridges: expected 4 entries, found 3",
        ),
        (|s| s["news"] = 1.into(), "/news: unknown field"),
    ];
    for (edit, message) in shards {
        let registry = again();
        let path = forge_shard(&registry, 1, edit);
        refused(&registry, &[&format!("{path}: {message}")]);
    }
    // One entry twice.
    let registry = again();
    let path = forge_shard(&registry, 1, |s| {
        s["cartridges"][2] = s["cartridges"][1].clone()
    });
    refused(&registry, &[&format!("{path}: /cartridges/2: expected")]);
    // Not in the form in which it is written: signed, and a build puts it right under a new signature.
    let registry = again();
    let spaced = [&fs::read(registry.at(&acme)).unwrap()[..], b"\n"].concat();
    let path = format!("index/io.github.acme/{}.json", sha256(&spaced));
    registry.put(&path, &spaced);
    forge(&registry, |root| {
        root["shards"][1]["path"] = path.as_str().into();
        root["shards"][1]["sha256"] = format!("sha256:{}", sha256(&spaced)).into();
        root["shards"][1]["bytes"] = spaced.len().into();
    });
    let out = verify(&registry);
    assert_eq!(out.status, 1, "{out:#?}");
    assert!(
        out.stdout
            .contains("not in the form in which it was written"),
        "{out:#?}"
    );
    build(&registry, &[]);
    assert!(!registry.at(&path).exists());
    assert_eq!(verify(&registry).status, 0);
    assert_eq!(predicate(&registry.index().unwrap())["sequence"], 2);
}

#[test]
fn a_consumer_may_have_some_of_the_shards() {
    let registry = built(POLICY);
    let shards = named(&registry.index().unwrap());
    registry.remove(&shards["io.github.acme"]);
    let out = verify(&registry);
    assert_eq!(out.status, 0, "{out:#?}");
    let report = out.json();
    assert_eq!(report["verified"], true);
    let states: Vec<(String, String)> = report["shards"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| (text(&s["path"]), text(&s["state"])))
        .collect();
    let expected: Vec<(String, String)> = [
        ("com.example", "verified"),
        ("io.github.acme", "absent"),
        ("io.github.zoe", "verified"),
    ]
    .map(|(publisher, state)| (shards[publisher].clone(), state.to_owned()))
    .into();
    assert_eq!(states, expected);
    let states = |kind: &str| {
        let listed = report[kind].as_array().unwrap().iter();
        listed
            .map(|e| (text(&e["path"]), text(&e["state"])))
            .collect::<Vec<_>>()
    };
    let zoe = "cartridges/io.github.zoe/alpha/1.0.0/cartridge.acx";
    assert_eq!(
        states("cartridges"),
        [(zoe.to_owned(), "verified".to_owned())]
    );
    assert_eq!(states("workflows"), []);
    assert_eq!(states("agentGraphs").len(), 1);
    let keyid = index_keyid();
    let human = registry.run(&["verify-index", "--keyid", &keyid]);
    assert_eq!(human.status, 0);
    for line in [
        "shards:     3 listed, 2 verified, 1 absent, 0 wrong".to_owned(),
        "cartridges: 1 listed, 1 verified, 0 absent, 0 wrong".to_owned(),
    ] {
        assert!(
            human.stdout.lines().any(|l| l == line),
            "{line}: {human:#?}"
        );
    }
    let absent = format!(" {}", shards["io.github.acme"]);
    assert!(
        human
            .stdout
            .lines()
            .any(|l| l.starts_with("absent:     sha256:") && l.ends_with(&absent)),
        "{human:#?}"
    );
    // What is at hand is still looked at.
    let bytes = fs::read(registry.at(zoe)).unwrap();
    registry.put(zoe, "other");
    assert_eq!(verify(&registry).status, 1);
    registry.put(zoe, bytes);
    // A site shows everything or nothing.
    let site = registry.home().join("site");
    let args = ["site", "--keyid", &keyid, "--out", site.to_str().unwrap()];
    let out = registry.run(&args);
    assert_eq!(out.status, 2, "{out:#?}");
    assert!(
        out.stderr.contains("found none of io.github.acme"),
        "{out:#?}"
    );
    assert!(!site.exists());
    // The root alone.
    fs::remove_dir_all(registry.at("index")).unwrap();
    let out = verify(&registry);
    assert_eq!(out.status, 0, "{out:#?}");
    assert_eq!(out.json()["cartridges"], json!([]));
    // An index in one file says nothing of shards.
    assert_eq!(verify(&built(WHOLE)).json()["shards"], Value::Null);
}

#[test]
fn a_site_and_a_publication_know_both_forms() {
    let (sharded, whole) = (built(POLICY), built(WHOLE));
    let keyid = index_keyid();
    let pages = |registry: &TempRegistry| {
        let site = registry.home().join("site");
        let out = registry.run(&["site", "--keyid", &keyid, "--out", site.to_str().unwrap()]);
        assert_eq!(out.status, 0, "{out:#?}");
        let mut pages = BTreeMap::new();
        for entry in walkdir::WalkDir::new(&site) {
            let entry = entry.unwrap();
            if entry.file_type().is_file() {
                let path = entry.path().strip_prefix(&site).unwrap().to_path_buf();
                pages.insert(path, fs::read_to_string(entry.path()).unwrap());
            }
        }
        pages
    };
    let digest = |registry: &TempRegistry| text(&registry.index().unwrap()["integrity"]["digest"]);
    let (one, other) = (digest(&sharded), digest(&whole));
    let mut expected = pages(&whole);
    for page in expected.values_mut() {
        *page = page.replace(&other, &one);
    }
    assert!(
        pages(&sharded) == expected,
        "but for the digest, the same site"
    );

    // A published version is known from its shard.
    let mut changed = cartridge("io.github.zoe", "alpha", "1.0.0");
    changed.file("rom/knowledge/MORE.md", "more");
    let file = sharded.home().join("changed.acx");
    fs::write(&file, changed.build()).unwrap();
    sharded.remove("cartridges/io.github.zoe/alpha/1.0.0/cartridge.acx");
    let root = sharded.root();
    let root = root.to_str().unwrap();
    let out = sharded.run(&["publish", file.to_str().unwrap(), root]);
    assert_eq!(out.status, 1, "{out:#?}");
    assert!(out.stdout.contains("history-changed"), "{out:#?}");
    // And a build misses it.
    let out = sharded.build_at(SEPTEMBER, &[]);
    assert_eq!(out.status, 1, "{out:#?}");
    assert!(out.stdout.contains("history-removed"), "{out:#?}");
    let retired = predicate(&sharded.index().unwrap())["retired"].clone();
    assert_eq!(retired.as_array().unwrap().len(), 1);
    assert_eq!(named(&sharded.index().unwrap()).len(), 2);
}

#[test]
fn only_shards_in_their_places_are_generated() {
    let registry = built(POLICY);
    let stray = format!("index/io.github.acme/{}.json", "0".repeat(64));
    let gone = format!("index/org.gone/{}.json", "1".repeat(64));
    registry.put(&stray, "{}").put(&gone, "{}");
    registry.put("index/io.github.acme/.acx-tmp-1", "half a sha");
    let others = [
        "index/README.md",
        "index/io.github.acme/notes.json",
        "index/io.github.acme/deeper/.acx-tmp-1",
        &format!("index/io.github.acme/{}.json", "A".repeat(64)),
        &format!("index/Not/{}.json", "0".repeat(64)),
        "index/notes",
    ];
    for other in others {
        registry.put(other, "kept");
    }
    let check = registry.build_at(SEPTEMBER, &["--check"]);
    assert_eq!(check.status, 1, "{check:#?}");
    assert_eq!(
        check.json()["differences"],
        json!([
            format!("{stray} is a shard that a build's index would not name"),
            format!("{gone} is a shard that a build's index would not name"),
        ])
    );
    let out = build(&registry, &[]).json();
    assert_eq!(out["removed"], json!([stray, gone]));
    assert_eq!(out["wrote"], json!([]));
    assert!(!registry.at("index/org.gone").exists());
    assert!(!registry.at("index/io.github.acme/.acx-tmp-1").exists());
    for other in others {
        assert_eq!(fs::read_to_string(registry.at(other)).unwrap(), "kept");
    }
    // What would keep a publisher's shards out is refused, before the publisher comes.
    let hash = format!("index/com.example/{}.json/x", "2".repeat(64));
    for path in ["index/com.victim", &hash] {
        registry.put(path, "x");
        let out = registry.build_at(SEPTEMBER, &[]);
        assert_eq!(out.status, 1, "{out:#?}");
        let rejected = &out.json()["rejected"];
        assert_eq!(rejected[0]["path"], path, "{rejected}");
        assert_eq!(
            rejected[0]["findings"][0]["code"], "registry-path",
            "{rejected}"
        );
        registry.remove(path);
    }
    fs::remove_dir(registry.at(hash.trim_end_matches("/x"))).unwrap();
    // A key among people's own files there is found as anywhere.
    registry.put(
        "index/README.md",
        format!("-----BEGIN {}-----\n", "PRIVATE KEY"),
    );
    let out = registry.build_at(SEPTEMBER, &[]);
    assert_eq!(out.status, 1, "{out:#?}");
    assert!(out.stdout.contains("registry-secret"), "{out:#?}");
    registry.remove("index/README.md");
    symlink(registry.home(), registry.at("index/link")).unwrap();
    let out = registry.build_at(SEPTEMBER, &[]);
    assert_eq!(out.status, 1, "{out:#?}");
    assert!(out.stdout.contains("registry-symlink"), "{out:#?}");
}

#[test]
fn a_killed_build_leaves_a_root_with_all_of_its_shards() {
    const KILLS: usize = 60;
    let registry = several(POLICY);
    let key = registry.key();
    let subjects = [
        cartridge("io.github.zoe", "alpha", "1.0.0"),
        cartridge("io.github.acme", "beta", "1.0.0"),
    ];
    let ledger = |round: usize| {
        let entries: Vec<Value> = subjects
            .iter()
            .map(|subject| {
                let mut entry = ledger_entry(subject, "deprecated");
                entry["reason"] = format!("Round {round} of a test of kills.").into();
                entry
            })
            .collect();
        registry.ledger(&entries);
    };
    let start = || {
        Command::new(env!("CARGO_BIN_EXE_acx"))
            .args(["build-index", "--jobs", "2", "--key", &key])
            .current_dir(registry.root())
            .env_clear()
            .env("SOURCE_DATE_EPOCH", SEPTEMBER)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    };
    let sound = |round: usize| {
        let source = Source::Folder(registry.root());
        let bytes = registry.index_bytes();
        let index = publish::read_with(&bytes, &|path, most| source.named(path, most))
            .unwrap_or_else(|e| panic!("round {round}: {e}"));
        assert!(index.well_formed, "round {round}");
        index
    };
    let mut longest = Duration::ZERO;
    for round in 1_000..1_004 {
        ledger(round);
        let begin = Instant::now();
        assert!(start().wait().unwrap().success());
        longest = longest.max(begin.elapsed());
    }
    let mut old = sound(0);
    let (mut killed, mut kept, mut written, mut extra) = (0, 0, 0, 0);
    for round in 0..KILLS {
        ledger(round);
        let mut child = start();
        let part = (round * 37 % KILLS) as f64 / KILLS as f64;
        let from = if round % 2 == 0 { 0.0 } else { 0.5 };
        std::thread::sleep(longest.mul_f64(from + (1.05 - from) * part));
        child.kill().unwrap();
        killed += usize::from(child.wait().unwrap().signal() == Some(9));
        let new = sound(round);
        if new.integrity == old.integrity {
            kept += 1;
        } else {
            written += 1;
            assert_eq!(
                new.signing.sequence,
                old.signing.sequence + 1,
                "round {round}"
            );
            assert_eq!(
                new.signing.previous_digest,
                Some(old.integrity.digest),
                "round {round}"
            );
        }
        extra = extra.max(files(&registry.root()).len());
        old = new;
    }
    println!("{killed} killed, {kept} old, {written} new, at most {extra} files");
    assert!(
        killed >= KILLS / 4 && kept > 0 && written > 0,
        "{killed} {kept} {written}"
    );
    ledger(KILLS);
    build(&registry, &[]);
    let root = registry.index().unwrap();
    assert_eq!(
        files(&registry.root()).into_keys().collect::<Vec<_>>(),
        named(&root).into_values().collect::<Vec<_>>()
    );
    assert_eq!(verify(&registry).status, 0);
}

/// A server that guards a registry with shards, and the clone that founded it.
fn founded<'a>(lab: &'a Lab) -> (Repository<'a>, Repository<'a>) {
    let server = lab.bare("server.git", &[]);
    server.hook("pre-receive", "");
    let clone = lab.clone_of(&server.path, "clone", &[]);
    clone.put("acx-registry.toml", POLICY);
    clone.cartridge(&cartridge("io.github.acme", "beta", "1.0.0"));
    clone.cartridge(&cartridge("io.github.zoe", "alpha", "1.0.0"));
    clone.commit("Found the registry");
    assert_eq!(clone.build(&["--commit"]).status, 0);
    let out = clone.try_git(&["push", "origin", "main"]);
    assert_eq!(out.status, 0, "{out:#?}");
    (server, clone)
}

fn shards_of(repository: &Repository<'_>, rev: &str) -> Vec<String> {
    let all = repository.files(rev).into_iter();
    all.filter(|path| path.starts_with("index/")).collect()
}

#[test]
fn a_push_brings_a_root_with_the_shards_that_its_signer_would_write() {
    let lab = Lab::new();
    let (server, clone) = founded(&lab);
    let head = clone.git(&["rev-parse", "HEAD"]);
    let root = server.index("main");
    assert_eq!(
        shards_of(&server, "main"),
        named(&root).into_values().collect::<Vec<_>>()
    );
    let zoe = named(&root)["io.github.zoe"].clone();
    let reset = || {
        clone.git(&["reset", "-q", "--hard", &head]);
        clone.git(&["clean", "-qfd"]);
    };
    let refused = |what: &str, needle: &str| {
        let before = server.state();
        clone.commit(what);
        let out = clone.try_git(&["push", "origin", "main"]);
        assert_ne!(out.status, 0, "{what}: {out:#?}");
        assert!(
            out.stderr.contains("error[history-index]"),
            "{what}: {out:#?}"
        );
        assert!(
            out.stderr.replace("\nremote: ", " ").contains(needle),
            "{what}: {out:#?}"
        );
        assert_eq!(server.state(), before, "{what}");
        reset();
    };
    let bytes = fs::read_to_string(clone.path.join(&zoe)).unwrap();
    clone.put(&zoe, bytes.replace("\"latest\": true", "\"latest\": null"));
    refused("A changed shard", "expected sha256");
    fs::remove_file(clone.path.join(&zoe)).unwrap();
    refused("A missing shard", "found none");
    clone.put(
        &format!("index/io.github.zoe/{}.json", "0".repeat(64)),
        "{}",
    );
    refused("One shard more", "would not name");
    // The right signer, of another tree.
    clone.cartridge(&cartridge("io.github.zoe", "alpha", "1.1.0"));
    assert_eq!(clone.build(&[]).status, 0);
    fs::remove_dir_all(clone.path.join("cartridges/io.github.zoe/alpha/1.1.0")).unwrap();
    refused("An index of more", "alpha/1.1.0");
    // The root without the shard that it names anew.
    clone.cartridge(&cartridge("io.github.zoe", "alpha", "1.1.0"));
    assert_eq!(clone.build(&[]).status, 0);
    clone.git(&["checkout", "-q", "HEAD", "--", "index"]);
    let new = read_json(&clone.path.join("index.json"));
    fs::remove_file(clone.path.join(&named(&new)["io.github.zoe"])).unwrap();
    refused("The root alone", "found none");

    // A file in the way of a publisher that has none yet.
    clone.put("index/com.victim", "x");
    clone.commit("In the way");
    let out = clone.try_git(&["push", "origin", "main"]);
    assert_ne!(out.status, 0, "{out:#?}");
    assert!(out.stderr.contains("error[registry-path]"), "{out:#?}");
    reset();

    // A sound index lands; so do two builds in one push.
    for version in ["1.1.0", "1.2.0"] {
        clone.cartridge(&cartridge("io.github.zoe", "alpha", version));
        clone.commit("Publish");
        assert_eq!(clone.build(&["--commit"]).status, 0);
    }
    let out = clone.try_git(&["push", "origin", "main"]);
    assert_eq!(out.status, 0, "{out:#?}");
    let root = server.index("main");
    assert_eq!(predicate(&root)["sequence"], 3);
    assert_eq!(
        shards_of(&server, "main"),
        named(&root).into_values().collect::<Vec<_>>()
    );
    // A cartridge alone lands too, and history is held.
    clone.cartridge(&cartridge("io.github.acme", "beta", "1.1.0"));
    clone.commit("Publish");
    let out = clone.try_git(&["push", "origin", "main"]);
    assert_eq!(out.status, 0, "{out:#?}");
    let out = clone.acx(&["check-history", ".", "--base", "HEAD~2"]);
    assert_eq!(out.status, 0, "{out:#?}");
}

#[test]
fn a_commit_is_built_from_its_own_shards() {
    let lab = Lab::new();
    let (server, clone) = founded(&lab);
    // From the tree, in a bare repository, and into another folder: the same bytes.
    let out = server.build(&["--rev", "main", "--check"]);
    assert_eq!(out.status, 0, "{out:#?}");
    let base = clone.git(&["rev-parse", "HEAD"]);
    clone.cartridge(&cartridge("io.github.zoe", "alpha", "1.1.0"));
    clone.commit("Publish");
    let away = lab.at("away");
    let out = clone.build(&["--rev", "HEAD", "--out", away.to_str().unwrap()]);
    assert_eq!(out.status, 0, "{out:#?}");
    let out = clone.build(&["--base", &base, "--dry-run"]);
    assert_eq!(out.status, 0, "{out:#?}");
    assert_eq!(clone.git(&["status", "--porcelain"]), "");
    assert_eq!(clone.build(&["--commit"]).status, 0);
    assert!(files(&away) == files(&clone.path));
    assert_eq!(
        fs::read(away.join("index.json")).unwrap(),
        fs::read(clone.path.join("index.json")).unwrap()
    );
    let changed = clone.git(&["diff", "--name-only", "--no-renames", "HEAD~1", "HEAD"]);
    let changed: Vec<&str> = changed
        .lines()
        .filter(|path| !path.contains(".lance/"))
        .collect();
    assert_eq!(
        changed.len(),
        3,
        "the root, a shard that goes, one that comes: {changed:?}"
    );
    // What is generated is left to the build.
    let shard = named(&clone.index("HEAD"))["io.github.acme"].clone();
    clone.put(&shard, "{}");
    let out = clone.build(&["--commit"]);
    assert_eq!(out.status, 2, "{out:#?}");
    assert!(
        out.stderr
            .contains(&format!("{shard} is generated and differs from HEAD")),
        "{out:#?}"
    );
    clone.git(&["checkout", "-q", "--", &shard]);

    // Somebody is faster: what is generated is made anew on theirs.
    let other = lab.clone_of(&server.path, "other", &[]);
    other.cartridge(&cartridge("io.github.zoe", "beta", "1.0.0"));
    other.commit("Publish");
    let out = other.build(&["--push", "origin"]);
    assert_eq!(out.status, 0, "{out:#?}");
    let out = clone.build(&["--push", "origin"]);
    assert_eq!(out.status, 0, "{out:#?}");
    let root = server.index("main");
    assert_eq!(predicate(&root)["sequence"], 3);
    assert_eq!(root["count"], 4);
    assert_eq!(
        shards_of(&server, "main"),
        named(&root).into_values().collect::<Vec<_>>()
    );
    let probe = lab.clone_of(&server.path, "probe", &[]);
    let out = probe.acx(&["verify-index", "--keyid", &index_keyid()]);
    assert_eq!(out.status, 0, "{out:#?}");
}

#[test]
fn a_server_without_ci_builds_shards_after_a_push() {
    let lab = Lab::new();
    let server = lab.bare("server.git", &[]);
    server.hook("pre-receive", "");
    server.hook("post-receive", &format!("--key '{}'", lab.key()));
    let clone = lab.clone_of(&server.path, "clone", &[]);
    clone.put("acx-registry.toml", POLICY);
    clone.cartridge(&cartridge("io.github.acme", "beta", "1.0.0"));
    clone.commit("Found the registry");
    let out = clone.try_git(&["push", "origin", "main"]);
    assert_eq!(out.status, 0, "{out:#?}");
    let first = server.index("main");
    assert_eq!(
        shards_of(&server, "main"),
        named(&first).into_values().collect::<Vec<_>>()
    );
    clone.git(&["pull", "-q", "--ff-only", "origin", "main"]);
    clone.cartridge(&cartridge("io.github.zoe", "alpha", "1.0.0"));
    clone.commit("Publish");
    let out = clone.try_git(&["push", "origin", "main"]);
    assert_eq!(out.status, 0, "{out:#?}");
    let second = server.index("main");
    assert_eq!(predicate(&second)["sequence"], 2);
    assert_eq!(named(&second).len(), 2);
    assert_eq!(
        shards_of(&server, "main"),
        named(&second).into_values().collect::<Vec<_>>()
    );
}
