//! Workflows and Agent Graphs in a registry: found, judged, joined, indexed, pushed, published and verified as cartridges
//! are.
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
use support::cartridge::{Builder, PUBLISHER_SEED};
use support::git::{Lab, Repository};
use support::keys;
use support::registry::{
    SEPTEMBER, TempRegistry, TrustKey, copy_tree, index_keyid, predicate, read_json,
    rejected_codes, shared, warning_codes,
};
use support::signed::{Document, graph, workflow};

const ACME: &str = "io.github.acme";
/// A key that is not the publisher's.
const STRANGER: u8 = 88;

fn flow(id: &str, version: &str) -> Document {
    workflow(ACME, id, version, PUBLISHER_SEED)
}

fn team(id: &str, version: &str, pinned: &[&Document]) -> Document {
    graph(ACME, id, version, PUBLISHER_SEED, pinned)
}

fn put(registry: &TempRegistry, document: &Document) -> String {
    let path = document.path();
    registry.put(&path, document.bytes());
    path
}

/// The paths that an index lists, of all kinds, in its order.
fn listed(registry: &TempRegistry) -> Vec<String> {
    let index = registry.index().expect("an index was written");
    ["cartridges", "workflows", "agentGraphs"]
        .iter()
        .flat_map(|array| index[*array].as_array().unwrap().clone())
        .map(|entry| entry["path"].as_str().unwrap().to_owned())
        .collect()
}

/// A registry of all three kinds, not built yet; the paths in the order of the index.
fn of_all_kinds() -> (TempRegistry, Vec<String>) {
    let registry = TempRegistry::new();
    let (one, two) = (flow("deliver", "1.0.0"), flow("deliver", "1.1.0"));
    let paths = vec![
        registry.cartridge(&Builder::valid(ACME, "build-smith", "1.0.0")),
        put(&registry, &two),
        put(&registry, &one),
        put(&registry, &flow("deliver.nightly", "1.0.0")),
        put(&registry, &team("team", "1.0.0", &[&one, &two])),
    ];
    (registry, paths)
}

fn ok(registry: &TempRegistry) -> Value {
    let out = registry.build_index(&[]);
    assert_eq!(out.status, 0, "{out:#?}");
    out.json()
}

/// A build rejects these paths with these codes and nothing else.
fn refused(registry: &TempRegistry, expected: &[(&str, &[&str])]) -> Value {
    let out = registry.build_index(&[]);
    assert_eq!(out.status, 1, "{out:#?}");
    let rejected = rejected_codes(&out.json());
    let found: Vec<(&str, Vec<&str>)> = rejected
        .iter()
        .map(|(path, codes)| (path.as_str(), codes.iter().map(String::as_str).collect()))
        .collect();
    let expected: Vec<(&str, Vec<&str>)> = expected
        .iter()
        .map(|(path, codes)| (*path, codes.to_vec()))
        .collect();
    assert_eq!(found, expected, "{out:#?}");
    out.json()
}

#[test]
fn the_published_documents_make_the_published_index() {
    let Some(folder) = shared("documents") else {
        return;
    };
    let cases = read_json(&folder.join("expected.json"));
    let expected = read_json(&folder.join("expected-index.json"));
    let registry = TempRegistry::new();
    for name in ["trust-registry.json", "status.json"] {
        registry.put(name, fs::read(folder.join(name)).unwrap());
    }
    for case in cases.as_array().unwrap() {
        let bytes = fs::read(folder.join(case["file"].as_str().unwrap())).unwrap();
        registry.put(case["path"].as_str().unwrap(), bytes);
    }
    // One more kind of bad document: a private key, in the text that a PEM file has.
    let mut value = flow("keyed", "1.0.0").value;
    value["description"] = keys::private_pem(&keys::seed(3)).into();
    let keyed = Document::signed(value, ACME, PUBLISHER_SEED);
    put(&registry, &keyed);

    let out = registry.build_index(&[]);
    assert_eq!(out.status, 1, "{out:#?}");
    let report = out.json();
    let rejected = report["rejected"].as_array().unwrap();
    let mut wrong = Vec::new();
    for case in cases.as_array().unwrap() {
        let found = rejected.iter().find(|one| one["path"] == case["path"]);
        let right = match found {
            None => case["verdict"] == "accept",
            Some(one) => one["findings"]
                .as_array()
                .unwrap()
                .iter()
                .any(|f| f["family"] == case["family"]),
        };
        if !right {
            wrong.push(format!("{}: {found:#?}", case["case"]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(
        rejected_codes(&report)[&keyed.path()],
        ["document-secret"],
        "{rejected:#?}"
    );

    let index = registry.index().unwrap();
    for (name, value) in expected.as_object().unwrap() {
        if name == "generatedAt" {
            // The same time, spelled with its milliseconds as in every index.
            assert_eq!(index[name], "2026-07-20T00:00:00.000Z");
            continue;
        }
        if !value.is_array() {
            assert_eq!(index[name], *value, "{name}");
            continue;
        }
        let found = index[name].as_array().unwrap();
        assert_eq!(found.len(), value.as_array().unwrap().len(), "{name}");
        for (entry, expected) in found.iter().zip(value.as_array().unwrap()) {
            let mut entry = entry.clone();
            for own in ["keyid", "signedAt", "sha256"] {
                assert!(entry.as_object_mut().unwrap().shift_remove(own).is_some());
            }
            // Member for member, in the same order.
            assert_eq!(entry.to_string(), expected.to_string(), "{name}");
        }
    }
}

#[test]
fn three_kinds_make_one_index_however_it_is_built() {
    let (registry, paths) = of_all_kinds();
    let report = ok(&registry);
    assert_eq!(listed(&registry), paths);
    assert_eq!(report["warnings"], json!([]));
    for (count, expected) in [
        ("cartridges", 1),
        ("workflows", 3),
        ("agentGraphs", 1),
        ("accepted", 5),
    ] {
        assert_eq!(report["counts"][count], expected, "{count}");
    }
    let added: Vec<&str> = report["changes"]["added"]
        .as_array()
        .unwrap()
        .iter()
        .map(|path| path.as_str().unwrap())
        .collect();
    let mut sorted: Vec<&str> = paths.iter().map(String::as_str).collect();
    sorted.sort_unstable();
    assert_eq!(added, sorted);
    let index = registry.index().unwrap();
    assert_eq!(
        predicate(&index)["counts"],
        json!({"artifacts": 5, "cartridges": 1, "workflows": 3, "agentGraphs": 1, "templates": 0})
    );
    let latest: Vec<&Value> = index["workflows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| &entry["latest"])
        .collect();
    assert_eq!(latest, [true, false, true]);
    let pinned = &index["agentGraphs"][0]["dependencies"];
    assert_eq!(pinned[0]["path"], paths[2].as_str());
    assert_eq!(pinned[1]["path"], paths[1].as_str());
    for entry in index["workflows"].as_array().unwrap() {
        let bytes = fs::read(registry.at(entry["path"].as_str().unwrap())).unwrap();
        assert_eq!(entry["sha256"], keys::sha256(&bytes));
        assert_eq!(
            entry["keyid"],
            keys::keyid(&keys::public(&keys::seed(PUBLISHER_SEED)))
        );
    }

    let bytes = registry.index_bytes();
    ok(&registry);
    assert_eq!(registry.index_bytes(), bytes, "nothing changed");
    assert_eq!(registry.run(&["build-index", "--check"]).status, 0);
    for jobs in ["1", "2", "8"] {
        let other = TempRegistry::copy_of(&registry.root());
        fs::remove_file(other.at("index.json")).unwrap();
        let at = |registry: &TempRegistry| {
            let _ = fs::remove_file(registry.at("index.json"));
            let out = registry.build_at(SEPTEMBER, &["--jobs", jobs]);
            assert_eq!(out.status, 0, "{out:#?}");
            registry.index_bytes()
        };
        assert_eq!(at(&other), at(&registry), "{jobs} threads");
    }
}

#[test]
fn a_check_says_what_differs() {
    let (registry, paths) = of_all_kinds();
    ok(&registry);
    registry.ledger(&[flow("deliver", "1.0.0").ledger_entry("deprecated")]);
    let more = put(&registry, &flow("more", "1.0.0"));
    let out = registry.run(&["build-index", "--check", "--format", "json"]);
    assert_eq!(out.status, 1, "{out:#?}");
    let differences = out.json()["differences"].clone();
    assert_eq!(
        differences,
        json!([
            format!("{more} is not in the committed index"),
            format!("{}: registryStatus", paths[2]),
            format!("{}: dependencies", paths[4]),
            "the index's agentGraphs, artifactCount, generatedAt, workflowCount, workflows",
        ]),
    );
}

#[test]
fn the_ledger_speaks_of_documents() {
    let (registry, paths) = of_all_kinds();
    let mut superseded = flow("deliver", "1.0.0").ledger_entry("superseded");
    superseded["successor"] = flow("deliver", "1.1.0").artifact();
    let absent = team("team", "9.0.0", &[]).ledger_entry("deprecated");
    // Two kinds may share a coordinate; the entry is of one of them.
    let mut foreign = flow("team", "1.0.0").ledger_entry("withdrawn");
    foreign["artifact"]["artifactType"] = "workflow".into();
    registry.ledger(&[superseded, absent, foreign]);
    let report = ok(&registry);
    assert_eq!(
        warning_codes(&report),
        [(
            "registry-status-target".to_owned(),
            "status.json".to_owned()
        )]
    );
    let index = registry.index().unwrap();
    let old = &index["workflows"][1];
    assert_eq!(old["path"], paths[2].as_str());
    assert_eq!(old["registryStatus"]["status"], "superseded");
    assert_eq!(
        old["registryStatus"]["successor"],
        flow("deliver", "1.1.0").artifact()
    );
    let graph = &index["agentGraphs"][0];
    assert_eq!(graph["registryStatus"]["status"], "active");
    assert_eq!(graph["dependencies"][0]["registryStatus"], "superseded");

    // Withdrawn ones are the latest only where all are.
    registry.ledger(&[flow("deliver", "1.1.0").ledger_entry("withdrawn")]);
    ok(&registry);
    let index = registry.index().unwrap();
    assert_eq!(index["workflows"][0]["latest"], false);
    assert_eq!(index["workflows"][1]["latest"], true);
}

#[test]
fn what_does_not_belong_is_refused_and_the_rest_stays() {
    let (registry, paths) = of_all_kinds();
    let document = flow("more", "1.0.0");
    for (path, bytes, code) in [
        (
            "cals/more.cal.json",
            document.bytes(),
            "document-coordinate",
        ),
        (
            "cals/io.github.acme/more/1.0.1.cal.json",
            document.bytes(),
            "document-coordinate",
        ),
        (
            "cals/io.github.other/more/1.0.0.cal.json",
            document.bytes(),
            "document-coordinate",
        ),
        (
            "CALS/io.github.acme/more/1.0.0.cal.json",
            document.bytes(),
            "document-coordinate",
        ),
        (
            "cals/io.github.acme/more/1.0.0.CAL.JSON",
            document.bytes(),
            "document-coordinate",
        ),
        (
            "graphs/io.github.acme/more/1.0.0.agent-graph.json",
            document.bytes(),
            "document-schema",
        ),
        (
            "cals/io.github.acme/more/1.0.0/cartridge.acx",
            document.bytes(),
            "registry-path",
        ),
        (
            "cals/io.github.acme/more/1.0.0.cal.json",
            b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n".to_vec(),
            "document-json",
        ),
        (
            "cals/io.github.acme/more/1.0.0.cal.json",
            vec![b' '; (1 << 20) + 1],
            "document-json",
        ),
        (
            "cals/io.github.acme/more/1.0.0.cal.json",
            b"null".to_vec(),
            "document-json",
        ),
    ] {
        registry.put(path, &bytes);
        let out = registry.build_index(&[]);
        assert_eq!(out.status, 1, "{path}: {out:#?}");
        let rejected = rejected_codes(&out.json());
        assert_eq!(rejected.keys().collect::<Vec<_>>(), [path]);
        assert!(rejected[path].iter().any(|c| c == code), "{rejected:?}");
        assert_eq!(listed(&registry), paths, "{path}");
        registry.remove(path);
        let top = path.split('/').next().unwrap();
        if top == "CALS" {
            fs::remove_dir_all(registry.at(top)).unwrap();
        }
    }
    let out = registry.build_index(&[]);
    assert_eq!(out.status, 0, "{out:#?}");

    // Others that stand there are not looked at.
    for path in [
        "cals/README.md",
        "cals/io.github.acme/deliver/notes.json",
        "docs/example.cal.json",
        "graphs/io.github.acme/team/1.0.0.cal.json",
    ] {
        registry.put(path, "{}");
    }
    ok(&registry);
    assert_eq!(listed(&registry), paths);

    fs::create_dir_all(registry.at("cals/io.github.acme/deliver/2.0.0.cal.json")).unwrap();
    refused(
        &registry,
        &[(
            "cals/io.github.acme/deliver/2.0.0.cal.json",
            &["registry-path"],
        )],
    );
    fs::remove_dir(registry.at("cals/io.github.acme/deliver/2.0.0.cal.json")).unwrap();
    #[cfg(unix)]
    {
        let link = "cals/io.github.acme/deliver/2.0.0.cal.json";
        std::os::unix::fs::symlink("1.0.0.cal.json", registry.at(link)).unwrap();
        refused(&registry, &[(link, &["registry-symlink"])]);
        registry.remove(link);
    }
    // Versions that build metadata alone tells apart.
    let more = put(&registry, &flow("deliver", "1.0.0+more"));
    refused(&registry, &[(&more, &["registry-duplicate"])]);
    assert_eq!(listed(&registry), paths);
}

#[test]
fn a_graph_stands_on_accepted_workflows_alone() {
    let registry = TempRegistry::new();
    let flows = ["good", "absent", "bad", "changed", "withdrawn"].map(|id| flow(id, "1.0.0"));
    let [good, absent, bad, changed, withdrawn] = &flows;
    put(&registry, good);
    put(&registry, withdrawn);
    registry.ledger(&[withdrawn.ledger_entry("withdrawn")]);
    registry.put(&bad.path(), "{}");
    let other = changed.changed(PUBLISHER_SEED, |value| value["name"] = "Another".into());
    put(&registry, &other);
    // The version that is there is never taken for the one that is pinned.
    put(&registry, &flow("absent", "1.0.1"));
    let fine = put(&registry, &team("fine", "1.0.0", &[good, withdrawn]));
    let teams = [("absent", absent), ("bad", bad), ("changed", changed)];
    let paths = teams.map(|(id, pinned)| put(&registry, &team(id, "1.0.0", &[good, pinned])));
    let out = registry.build_index(&[]);
    assert_eq!(out.status, 1, "{out:#?}");
    let report = out.json();
    let rejected = rejected_codes(&report);
    assert_eq!(rejected.len(), 4, "{rejected:?}");
    for path in &paths {
        assert_eq!(rejected[path], ["document-dependency"], "{path}");
    }
    let graphs: Vec<String> = listed(&registry)
        .into_iter()
        .filter(|path| path.starts_with("graphs/"))
        .collect();
    assert_eq!(graphs, [fine]);
    let index = registry.index().unwrap();
    let states = &index["agentGraphs"][0]["dependencies"];
    assert_eq!(states[1]["registryStatus"], "withdrawn");
    let finding = &report["rejected"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["path"] == paths[2].as_str())
        .unwrap()["findings"][0];
    assert_eq!(finding["family"], "coordinate");
    assert_eq!(finding["location"]["pointer"], "/loops/1/workflowRef");
    let message = finding["message"].as_str().unwrap();
    assert!(message.contains("another digest"), "{message}");

    // Gone, as the ledger permits: the graph stands on nothing.
    registry.remove(&withdrawn.path());
    let out = registry.build_index(&[]);
    let rejected = rejected_codes(&out.json());
    assert_eq!(
        rejected["graphs/io.github.acme/fine/1.0.0.agent-graph.json"],
        ["document-dependency"]
    );
    assert_eq!(rejected.get(&withdrawn.path()), None);
}

/// A bound alias that the workflow lacks is a warning, which a policy may raise and waive.
#[test]
fn an_alias_that_the_workflow_lacks_is_told() {
    let registry = TempRegistry::new();
    let one = flow("deliver", "1.0.0");
    put(&registry, &one);
    let team = team("team", "1.0.0", &[&one]).changed(PUBLISHER_SEED, |value| {
        value["loops"][0]["actorBindings"][0]["participants"] = json!(["builder", "bilder"]);
    });
    let path = put(&registry, &team);
    let told = ("document-binding".to_owned(), path.clone());
    let report = ok(&registry);
    assert_eq!(warning_codes(&report), std::slice::from_ref(&told));
    assert_eq!(
        report["warnings"][0]["location"]["pointer"],
        "/loops/0/actorBindings/0/participants/1"
    );
    let rules = "[rules]\n\"document-binding\" = \"error\"\n";
    registry.policy(rules);
    let out = registry.build_index(&["--allow-shrink"]);
    assert_eq!(rejected_codes(&out.json())[&path], ["document-binding"]);
    registry.policy(&format!(
        "{rules}\n[[waivers]]\ncode = \"document-binding\"\npath = \"graphs/**\"\n\
         reason = \"Known, and mended in the next version.\"\nexpires = \"2099-01-01\"\n"
    ));
    assert_eq!(warning_codes(&ok(&registry)), [told]);
}

#[test]
fn policies_speak_of_documents() {
    let (registry, paths) = of_all_kinds();
    registry.policy("[rules]\n\"document-signed-later\" = \"error\"\n");
    let june = "1780272000";
    let out = registry.build_at(june, &[]);
    let rejected = rejected_codes(&out.json());
    assert_eq!(rejected[&paths[1]], ["document-signed-later"]);
    let out = registry.build_at(SEPTEMBER, &[]);
    assert_eq!(out.status, 0, "{out:#?}");

    // What concerns signatures cannot be lowered.
    registry.policy("[rules]\n\"document-integrity\" = \"warning\"\n");
    assert_eq!(registry.build_index(&[]).status, 2);

    registry.policy("[trust]\nminimum = \"trusted\"\n");
    let out = registry.build_index(&["--allow-shrink"]);
    let rejected = rejected_codes(&out.json());
    assert_eq!(rejected.len(), 5, "{rejected:?}");
    assert_eq!(rejected[&paths[1]], ["policy-minimum-trust"]);
    registry.trust(&[TrustKey::active(keys::seed(PUBLISHER_SEED), ACME)]);
    ok(&registry);
    let index = registry.index().unwrap();
    for array in ["cartridges", "workflows", "agentGraphs"] {
        assert_eq!(index[array][0]["trust"], "trusted", "{array}");
        assert_eq!(index[array][0]["trustStatus"], "verified", "{array}");
    }
    // A check that looks later says what has lapsed since.
    let out = registry.run_with(
        &["build-index", "--check", "--format", "json"],
        &[("SOURCE_DATE_EPOCH", "1893542400")],
    );
    let lapsed = warning_codes(&out.json());
    assert_eq!(lapsed.len(), 5, "{lapsed:?}");
}

#[test]
fn a_publisher_has_one_set_of_keys_over_all_kinds() {
    // The cartridge came first; its key is the publisher's.
    let registry = TempRegistry::new();
    registry.cartridge(&Builder::valid(ACME, "build-smith", "1.0.0"));
    ok(&registry);
    let strange = put(&registry, &workflow(ACME, "deliver", "1.0.0", STRANGER));
    let report = refused(&registry, &[(&strange, &["history-publisher-key"])]);
    let finding = &report["rejected"][0]["findings"][0];
    assert_eq!(finding["location"]["pointer"], "/integrity/keyid");
    registry.remove(&strange);
    let own = put(&registry, &flow("deliver", "1.0.0"));
    ok(&registry);
    assert!(listed(&registry).contains(&own));

    // A workflow came first; the cartridge is by a stranger, and a graph too.
    let registry = TempRegistry::new();
    put(&registry, &workflow(ACME, "deliver", "1.0.0", STRANGER));
    ok(&registry);
    let cartridge = registry.cartridge(&Builder::valid(ACME, "build-smith", "1.0.0"));
    let graph = put(&registry, &team("team", "1.0.0", &[]));
    refused(
        &registry,
        &[
            (&cartridge, &["history-publisher-key"]),
            (&graph, &["history-publisher-key"]),
        ],
    );

    // All at once, with keys that nothing links: none is taken, and what stands on them falls.
    let registry = TempRegistry::new();
    let strange = workflow(ACME, "deliver", "1.0.0", STRANGER);
    let strange_path = put(&registry, &strange);
    let own = put(&registry, &flow("other", "1.0.0"));
    let others = graph_of("io.github.other", &[&strange]);
    let graph = put(&registry, &others);
    refused(
        &registry,
        &[
            (&strange_path, &["history-publisher-key"]),
            (&own, &["history-publisher-key"]),
            (&graph, &["document-dependency"]),
        ],
    );
}

fn graph_of(publisher: &str, pinned: &[&Document]) -> Document {
    graph(publisher, "team", "1.0.0", 99, pinned)
}

#[test]
fn a_compromised_key_takes_its_documents_along_and_its_owner_stays() {
    let (registry, paths) = of_all_kinds();
    ok(&registry);
    registry.trust(&[TrustKey::active(keys::seed(PUBLISHER_SEED), ACME).revoked("key-compromise")]);
    let out = registry.build_index(&["--allow-shrink"]);
    assert_eq!(out.status, 1, "{out:#?}");
    let rejected = rejected_codes(&out.json());
    assert_eq!(rejected.len(), 5, "{rejected:?}");
    assert_eq!(rejected[&paths[1]], ["document-key"]);
    // Whoever comes next does not get the name.
    let strange = put(&registry, &workflow(ACME, "deliver", "2.0.0", STRANGER));
    let out = registry.build_index(&[]);
    assert_eq!(
        rejected_codes(&out.json())[&strange],
        ["history-publisher-key"]
    );
}

#[test]
fn what_was_published_stays_as_it_is() {
    let (registry, paths) = of_all_kinds();
    ok(&registry);
    let one = flow("deliver.nightly", "1.0.0");
    let path = one.path();
    let rest: Vec<String> = paths.iter().filter(|p| **p != path).cloned().collect();
    // Another content under the same coordinate, and the same content as another file.
    let other = one.changed(PUBLISHER_SEED, |value| value["name"] = "Another".into());
    for bytes in [other.bytes(), one.value.to_string().into_bytes()] {
        registry.put(&path, bytes);
        refused(&registry, &[(&path, &["history-changed"])]);
        assert_eq!(listed(&registry), rest);
    }
    let retired = predicate(&registry.index().unwrap())["retired"].clone();
    assert_eq!(retired[0]["path"], path.as_str());
    registry.put(&path, "{}");
    let out = registry.build_index(&[]);
    assert!(rejected_codes(&out.json())[&path].contains(&"history-changed".to_owned()));
    registry.remove(&path);
    refused(&registry, &[(&path, &["history-removed"])]);
    let out = registry.run(&["build-index", "--check", "--format", "json"]);
    assert_eq!(rejected_codes(&out.json())[&path], ["history-removed"]);
    // The ledger permits it, and the coordinate is taken for good.
    registry.ledger(&[one.ledger_entry("withdrawn")]);
    ok(&registry);
    assert_eq!(listed(&registry), rest);
    registry.ledger(&[]);
    registry.put(&path, other.bytes());
    refused(&registry, &[(&path, &["history-changed"])]);
    registry.put(&path, one.bytes());
    ok(&registry);
    assert_eq!(listed(&registry), paths);
}

#[test]
fn a_shrink_is_refused_whatever_is_lost() {
    let (registry, paths) = of_all_kinds();
    ok(&registry);
    let bytes = registry.index_bytes();
    registry
        .remove(&paths[1])
        .remove(&paths[2])
        .remove(&paths[3]);
    let out = registry.build_index(&[]);
    assert_eq!(out.status, 2, "{out:#?}");
    assert!(
        out.stderr.contains("lose 4 of its 5 entries"),
        "{}",
        out.stderr
    );
    assert_eq!(registry.index_bytes(), bytes);
}

#[test]
fn an_index_of_documents_is_verified() {
    let (registry, paths) = of_all_kinds();
    ok(&registry);
    let verify = || {
        registry.run(&[
            "verify-index",
            "--keyid",
            &index_keyid(),
            "--format",
            "json",
        ])
    };
    let out = verify();
    assert_eq!(out.status, 0, "{out:#?}");
    let state = |value: &Value, array: &str, at: usize| value[array][at]["state"].clone();
    assert_eq!(state(&out.json(), "workflows", 2), "verified");
    assert_eq!(state(&out.json(), "agentGraphs", 0), "verified");
    assert_eq!(out.json()["cartridges"].as_array().map(Vec::len), Some(1));
    registry.remove(&paths[1]);
    assert_eq!(state(&verify().json(), "workflows", 0), "absent");
    registry.put(&paths[1], "{}");
    let out = verify();
    assert_eq!(out.status, 1, "{out:#?}");
    assert_eq!(state(&out.json(), "workflows", 0), "wrong");
    let human = registry.run(&["verify-index", "--keyid", &index_keyid()]);
    for line in [
        "workflows:  3 listed, 2 verified, 0 absent, 1 wrong",
        "graphs:     1 listed, 1 verified, 0 absent, 0 wrong",
    ] {
        assert!(human.stdout.contains(line), "{}", human.stdout);
    }
}

#[test]
fn documents_are_found_by_what_they_say() {
    let (registry, _) = of_all_kinds();
    let lost = team("lost", "1.0.0", &[&flow("nowhere", "1.0.0")]);
    put(&registry, &lost);
    let search = |args: &[&str]| {
        let out = registry.run(&[&["search", "--format", "json"], args].concat());
        assert_eq!(out.status, 0, "{out:#?}");
        out.json()["results"].as_array().unwrap().clone()
    };
    let all = search(&["team of stewards"]);
    assert_eq!(all[0]["artifactType"], "agent-graph");
    assert_eq!(all[0]["id"], "team");
    assert_eq!(all[0]["memory"], Value::Null);
    assert!(all.iter().all(|hit| hit["id"] != "lost"));
    let kinds: Vec<&str> = all
        .iter()
        .map(|hit| hit["artifactType"].as_str().unwrap())
        .collect();
    assert!(
        kinds.contains(&"agent") && kinds.contains(&"workflow"),
        "{kinds:?}"
    );
    assert_eq!(search(&["team", "--publisher", "io.github.other"]).len(), 0);
    assert_eq!(search(&["team", "--tag", "conformance"]).len(), 4);
    let out = registry.run(&["search", "delivery pipeline"]);
    assert!(
        out.stdout.contains("workflow: Delivery pipeline"),
        "{}",
        out.stdout
    );
}

#[test]
fn a_document_is_published_to_its_place() {
    let registry = TempRegistry::new();
    registry.cartridge(&Builder::valid(ACME, "build-smith", "1.0.0"));
    ok(&registry);
    let place = tempfile::tempdir().unwrap();
    let publish = |name: &str, bytes: &[u8]| {
        let file = place.path().join(name);
        fs::write(&file, bytes).unwrap();
        let file = file.to_str().unwrap();
        let out = registry.run(&["publish", file, ".", "--format", "json"]);
        (out.status, out.json())
    };
    let codes = |report: &Value| -> Vec<String> {
        let findings = report["files"][0]["findings"].as_array().unwrap().iter();
        findings
            .map(|f| f["code"].as_str().unwrap().to_owned())
            .collect()
    };
    let (one, gone) = (flow("deliver", "1.0.0"), flow("gone", "1.0.0"));
    // The workflow first.
    let (status, report) = publish(
        "t.agent-graph.json",
        &team("team", "1.0.0", &[&one]).bytes(),
    );
    assert_eq!(
        (status, codes(&report)),
        (1, vec!["document-dependency".to_owned()])
    );
    let (status, report) = publish("d.cal.json", &one.bytes());
    assert_eq!(status, 0, "{report:#}");
    assert_eq!(report["files"], json!([one.path()]));
    assert_eq!(fs::read(registry.at(&one.path())).unwrap(), one.bytes());
    let team_one = team("team", "1.0.0", &[&one]);
    let (status, report) = publish("t.agent-graph.json", &team_one.bytes());
    assert_eq!(status, 0, "{report:#}");
    assert_eq!(report["path"], team_one.path().as_str());
    let (status, report) = publish("t.agent-graph.json", &team_one.bytes());
    assert_eq!((status, &report["alreadyThere"]), (0, &json!(true)));

    let other = one.changed(PUBLISHER_SEED, |value| value["name"] = "Another".into());
    let mut unsigned = gone.value.clone();
    unsigned.as_object_mut().unwrap().shift_remove("integrity");
    for (bytes, code) in [
        (other.bytes(), "history-changed"),
        (unsigned.to_string().into_bytes(), "document-coordinate"),
        (
            workflow(ACME, "x", "1.0.0", STRANGER).bytes(),
            "history-publisher-key",
        ),
        (flow("deliver", "1.0.0+b").bytes(), "registry-duplicate"),
        (b"{}".to_vec(), "document-coordinate"),
    ] {
        let before = registry.snapshot();
        let (status, report) = publish("d.cal.json", &bytes);
        assert_eq!(status, 1, "{report:#}");
        assert!(codes(&report).iter().any(|c| c == code), "{report:#}");
        assert!(registry.snapshot() == before, "{code}");
    }
    ok(&registry);
    assert_eq!(listed(&registry).len(), 3);
}

#[test]
fn single_documents_are_shown() {
    let registry = TempRegistry::new();
    let (one, team) = (flow("deliver", "1.0.0"), team("team", "1.0.0", &[]));
    put(&registry, &one);
    put(&registry, &team);
    let altered = one
        .bytes()
        .iter()
        .map(|b| if *b == b'D' { b'E' } else { *b })
        .collect::<Vec<u8>>();
    registry.put("altered.cal.json", altered);
    let at = |document: &Document| registry.at(&document.path()).to_str().unwrap().to_owned();
    let (flow_file, team_file) = (at(&one), at(&team));
    let out = registry.run(&[
        "verify",
        &flow_file,
        &team_file,
        "altered.cal.json",
        "--format",
        "json",
    ]);
    assert_eq!(out.status, 1, "{out:#?}");
    let files = out.json()["files"].clone();
    let of = |at: usize, name: &str| files[at][name].clone();
    assert_eq!(
        (of(0, "trust"), of(0, "status")),
        (json!("portable"), json!("verified"))
    );
    assert_eq!(of(1, "verdict"), "accept");
    assert_eq!(
        (of(2, "trust"), of(2, "status")),
        (json!("tampered"), json!("invalid"))
    );
    assert_eq!(of(2, "findings")[0]["code"], "document-integrity");
    let out = registry.run(&["verify", &flow_file]);
    assert!(
        out.stdout.starts_with("status: verified / portable"),
        "{out:#?}"
    );

    for command in [
        vec!["inspect", &team_file],
        vec!["graph", "inspect", &team_file],
    ] {
        let out = registry.run(&[&command[..], &["--format", "json"]].concat());
        assert_eq!(out.status, 0, "{out:#?}");
        let shown = &out.json()["files"][0];
        assert_eq!(shown["artifactType"], "agent-graph");
        assert_eq!(shown["digest"], team.value["integrity"]["digest"]);
        assert_eq!(shown["entry"]["actorCount"], 2);
        assert_eq!(shown["trust"], "portable");
    }
    let out = registry.run(&["workflow", "inspect", &flow_file]);
    assert_eq!(out.status, 0, "{out:#?}");
    for line in ["publisher  io.github.acme", "nodes (2)", "task  build"] {
        assert!(out.stdout.contains(line), "{}", out.stdout);
    }
    registry.put("broken.cal.json", "{");
    let out = registry.run(&["inspect", "broken.cal.json", "--format", "json"]);
    assert_eq!(out.status, 1, "{out:#?}");
    assert_eq!(out.json()["files"][0]["verdict"], "reject");
}

/// A repository with a registry of all three kinds, built and committed.
fn committed<'a>(lab: &'a Lab, name: &str) -> Repository<'a> {
    let repository = lab.work(name, &[]);
    let (registry, _) = of_all_kinds();
    copy_tree(&registry.root(), &repository.path);
    repository.put(
        "acx-registry.toml",
        "[registry]\nid = \"com.example.registry\"\n",
    );
    repository.commit("Found");
    assert_eq!(repository.build(&["--commit"]).status, 0);
    repository
}

#[test]
fn a_warm_cache_finds_what_a_cold_one_finds() {
    let lab = Lab::new();
    let repository = committed(&lab, "registry");
    let all = repository.build(&["--no-cache", "--dry-run"]);
    let warm = repository.build(&["--dry-run"]);
    assert_eq!(warm.stdout, all.stdout);
    assert_eq!(
        all.json()["changes"],
        json!({"added": [], "changed": [], "removed": []})
    );
    // The commit, without a checkout.
    for more in [&["--no-cache"][..], &[]] {
        let out = repository.build(&[&["--rev", "HEAD", "--check"], more].concat());
        assert_eq!(out.status, 0, "{out:#?}");
        assert_eq!(out.json()["accepted"], all.json()["accepted"]);
    }
    // What is not in the bytes is asked anew: place, key, policy, dependencies.
    let path = flow("deliver", "1.0.0").path();
    repository.git(&["mv", &path, "cals/io.github.acme/deliver/1.0.2.cal.json"]);
    repository.put(
        "trust-registry.json",
        support::registry::trust_registry(&[TrustKey::active(keys::seed(PUBLISHER_SEED), ACME)])
            .to_string(),
    );
    let cold = repository.build(&["--no-cache", "--dry-run"]);
    let warm = repository.build(&["--dry-run"]);
    assert_eq!(warm.stdout, cold.stdout);
    let rejected = rejected_codes(&warm.json());
    assert_eq!(rejected.len(), 3, "{rejected:?}");
    assert_eq!(warm.json()["accepted"][0]["trust"], "trusted");
    assert_eq!(warm.json()["accepted"][1]["trust"], "trusted");
}

#[test]
fn history_is_held_for_documents() {
    let lab = Lab::new();
    let one = flow("deliver.nightly", "1.0.0");
    let path = one.path();
    let moved = "cals/io.github.acme/deliver.nightly/1.0.1.cal.json";
    let other = one.changed(PUBLISHER_SEED, |value| value["name"] = "Another".into());
    for (name, code) in [
        ("changed", "history-changed"),
        ("removed", "history-removed"),
        ("moved", "history-removed"),
        ("undone", "history-changed"),
    ] {
        let repository = committed(&lab, name);
        let base = repository.git(&["rev-parse", "HEAD"]);
        match name {
            "changed" | "undone" => {
                repository.put(&path, other.bytes());
            }
            "removed" => {
                repository.git(&["rm", "-q", &path]);
            }
            _ => {
                repository.git(&["mv", &path, moved]);
            }
        }
        repository.commit(name);
        if name == "undone" {
            repository.put(&path, one.bytes());
            repository.commit("as before");
        }
        let out = repository.acx(&["check-history", "--base", &base, "--format", "json"]);
        assert_eq!(out.status, 1, "{name}: {out:#?}");
        let expected = std::collections::BTreeMap::from([(path.clone(), vec![code.to_owned()])]);
        assert_eq!(rejected_codes(&out.json()), expected, "{name}");
        let out = repository.build(&["--base", &base, "--dry-run"]);
        assert_eq!(rejected_codes(&out.json())[&path], [code], "{name}");
    }
    let repository = committed(&lab, "more");
    let base = repository.git(&["rev-parse", "HEAD"]);
    let more = flow("deliver", "2.0.0");
    repository.put(&more.path(), more.bytes());
    repository.commit("more");
    let out = repository.acx(&["check-history", "--base", &base]);
    assert_eq!(out.status, 0, "{out:#?}");
}

#[test]
fn line_ends_of_documents_are_not_converted() {
    let lab = Lab::new();
    let repository = committed(&lab, "registry");
    let path = flow("deliver.nightly", "1.0.0").path();
    repository.put(".gitattributes", "*.cal.json text eol=crlf\n");
    repository.commit("convert");
    fs::remove_file(repository.path.join(&path)).unwrap();
    repository.git(&["checkout", "--", &path]);
    // Git then knows the file by its times, as the blob that the cache knows.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    repository.git(&["status"]);
    let out = repository.build(&["--dry-run"]);
    assert_eq!(out.status, 1, "{out:#?}");
    assert_eq!(
        rejected_codes(&out.json())[&path],
        ["registry-line-endings"]
    );
}

#[test]
fn pushes_of_documents_are_judged() {
    let lab = Lab::new();
    let server = lab.bare("server.git", &[]);
    server.hook("pre-receive", "");
    let clone = committed(&lab, "clone");
    clone.git(&["remote", "add", "origin", server.path.to_str().unwrap()]);
    let out = clone.try_git(&["push", "origin", "main"]);
    assert_eq!(out.status, 0, "{out:#?}");
    let put = |document: &Document| {
        clone.put(&document.path(), document.bytes());
    };
    let refused = |what: &str, expected: &[&str]| {
        clone.commit(what);
        let before = server.state();
        let out = clone.try_git(&["push", "origin", "main"]);
        assert_ne!(out.status, 0, "{what}: {out:#?}");
        let codes: Vec<&str> = out
            .stderr
            .lines()
            .filter_map(|l| l.split("error[").nth(1)?.split(']').next())
            .collect();
        assert_eq!(codes, expected, "{what}: {out:#?}");
        assert_eq!(server.state(), before, "{what}");
        clone.git(&["reset", "-q", "--hard", "origin/main"]);
    };
    let lands = |what: &str| {
        clone.commit(what);
        let out = clone.try_git(&["push", "origin", "main"]);
        assert_eq!(out.status, 0, "{what}: {out:#?}");
    };
    clone.git(&["fetch", "-q", "origin"]);
    let one = flow("deliver", "1.0.0");
    let altered = one.changed(PUBLISHER_SEED, |value| value["name"] = "Another".into());

    put(&altered);
    refused("a published one is changed", &["history-changed"]);
    clone.git(&["rm", "-q", &flow("deliver.nightly", "1.0.0").path()]);
    refused("a published one is removed", &["history-removed"]);
    put(&workflow(ACME, "new", "1.0.0", STRANGER));
    refused("another key", &["history-publisher-key"]);
    let mut bad = flow("new", "1.0.0");
    bad.value["name"] = "Edited".into();
    put(&bad);
    refused("edited after signing", &["document-integrity"]);
    put(&team("lost", "1.0.0", &[&flow("nowhere", "1.0.0")]));
    refused("a workflow that is nowhere", &["document-dependency"]);
    put(&team("lost", "1.0.0", &[&altered]));
    refused("a workflow of another digest", &["document-dependency"]);
    put(&flow("deliver", "1.1.0+more"));
    refused("build metadata alone", &["registry-duplicate"]);
    clone.put("cals/new.cal.json", flow("new", "1.0.0").bytes());
    refused("at no place", &["document-coordinate"]);
    // The workflow is bad, so the graph that pins it falls with it.
    let mut token = flow("new", "1.0.0").value;
    token["nodes"][0]["action"] = ["ghp_", &"a1B2".repeat(10)].concat().into();
    let token = Document::signed(token, ACME, PUBLISHER_SEED);
    put(&token);
    put(&team("new", "1.0.0", &[&token]));
    refused("a token", &["document-secret", "document-dependency"]);
    // A key that is in no commit's end is out all the same.
    clone.put("cals/x.cal.json", keys::private_pem(&keys::seed(3)));
    clone.commit("a key");
    clone.git(&["rm", "-q", "cals/x.cal.json"]);
    refused("the key is gone", &["registry-secret"]);
    put(&token);
    clone.commit("a token");
    clone.git(&["rm", "-q", &token.path()]);
    refused("the token is gone", &["document-secret"]);
    put(&token);
    clone.commit("a token");
    put(&flow("new", "1.0.0"));
    refused("the token is written over", &["document-secret"]);
    let private = flow("new", "1.0.0").changed(PUBLISHER_SEED, |value| {
        value["extensions"] = json!({"io.github.acme": {"password": 1}});
    });
    put(&private);
    clone.commit("a private name");
    clone.git(&["rm", "-q", &private.path()]);
    refused("the name is gone", &["document-private-name"]);
    let mut builder = Builder::valid(ACME, "keeper", "1.0.0");
    let private = keys::private_pem(&keys::seed(3));
    builder.file("rom/knowledge/KEY.md", private.repeat(9));
    clone.cartridge(&builder);
    clone.commit("a key, deflated");
    clone.git(&["rm", "-q", &builder.path()]);
    refused("the cartridge is gone", &["cartridge-secret"]);
    // What is bad and no secret harms nobody once it is gone.
    put(&bad);
    clone.commit("bad");
    clone.git(&["rm", "-q", &bad.path()]);
    lands("never mind");

    // What stands there already is what new graphs may pin, and what comes with them.
    let new = flow("new", "1.0.0");
    put(&new);
    put(&team("both", "1.0.0", &[&one, &new]));
    lands("a graph on an old workflow and a new one");
    let strange = workflow("io.github.other", "theirs", "1.0.0", STRANGER);
    put(&strange);
    put(&graph(
        "io.github.other",
        "theirs",
        "1.0.0",
        STRANGER,
        &[&new],
    ));
    lands("another publisher's graph on our workflow");
    clone.cartridge(&Builder::valid("io.github.other", "theirs", "1.0.0"));
    refused("their cartridge by our key", &["history-publisher-key"]);

    // An index that leaves a document out is not what a build would write.
    assert_eq!(clone.build(&["--commit"]).status, 0);
    let good = clone.git(&["rev-parse", "HEAD"]);
    lands_as(&clone, &good);
    assert_eq!(server.index("main")["workflowCount"], 5);
    assert_eq!(server.index("main")["agentGraphCount"], 3);

    // Withdrawn first, gone after.
    let nightly = flow("deliver.nightly", "1.0.0");
    clone.put(
        "status.json",
        json!({
            "schemaVersion": "acx.registry-status/1",
            "updatedAt": "2026-08-01T00:00:00Z",
            "entries": [nightly.ledger_entry("withdrawn")],
        })
        .to_string(),
    );
    lands("withdrawn");
    clone.git(&["rm", "-q", &nightly.path()]);
    lands("gone");
    put(&nightly.changed(PUBLISHER_SEED, |value| value["name"] = "Another".into()));
    refused("never anew", &["history-changed"]);

    // As long as an accepted graph stands on it, it stays.
    clone.put(
        "status.json",
        json!({
            "schemaVersion": "acx.registry-status/1",
            "updatedAt": "2026-08-01T00:00:00Z",
            "entries": [nightly.ledger_entry("withdrawn"), new.ledger_entry("withdrawn")],
        })
        .to_string(),
    );
    lands("another is withdrawn");
    clone.git(&["rm", "-q", &new.path()]);
    refused(
        "two graphs would fall",
        &["document-dependency", "document-dependency"],
    );
}

fn lands_as(clone: &Repository<'_>, commit: &str) {
    let out = clone.try_git(&["push", "origin", &format!("{commit}:main")]);
    assert_eq!(out.status, 0, "{out:#?}");
}
