//! The registry that the format's authors publish: all five of its artifacts are accepted, and described as they describe
//! them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod support;

use support::registry::{TempRegistry, read_json, rejected_codes, shared};

#[test]
fn all_five_artifacts_are_indexed_as_published() {
    let Some(folder) = shared("real-registry") else {
        return;
    };
    let published = read_json(&folder.join("index.json"));
    let registry = TempRegistry::copy_of(&folder);
    // Their index is not signed; to build over it is another test's matter.
    std::fs::remove_file(registry.at("index.json")).unwrap();
    // One of its publishers comes with two keys that nothing links: its maintainers have to say that both are the
    // publisher's.
    let out = registry.build_index(&["--dry-run"]);
    let codes = rejected_codes(&out.json());
    assert_eq!(codes.len(), 3, "{codes:?}");
    for (path, codes) in codes {
        assert!(path.contains("/io.github.lboel/"), "{path}");
        assert_eq!(codes, ["history-publisher-key"]);
    }
    let document = |path: &str| read_json(&folder.join(path))["integrity"]["keyid"].clone();
    let keys = [
        document("cals/io.github.lboel/ship-a-feature/1.0.0.cal.json"),
        document("graphs/io.github.lboel/product-delivery/1.0.0.agent-graph.json"),
    ];
    registry.policy(&format!(
        "[publishers.pins]\n\"io.github.lboel\" = [{}, {}]\n",
        keys[0], keys[1]
    ));
    let out = registry.build_index(&[]);
    assert_eq!(out.status, 0, "{out:#?}");
    let ours = registry.index().expect("an index was written");

    for field in [
        "generatedAt",
        "artifactCount",
        "count",
        "workflowCount",
        "agentGraphCount",
        "templateCount",
    ] {
        assert_eq!(ours[field], published[field], "{field}");
    }
    let mut wrong = Vec::new();
    for (array, count) in [("cartridges", 2), ("workflows", 2), ("agentGraphs", 1)] {
        let theirs = published[array].as_array().unwrap();
        assert_eq!(theirs.len(), count);
        let entries = ours[array].as_array().unwrap();
        assert_eq!(entries.len(), count);
        for entry in theirs {
            let path = &entry["path"];
            let found = entries.iter().find(|e| e["path"] == *path);
            let Some(found) = found else {
                wrong.push(format!("{path} is not indexed"));
                continue;
            };
            for (field, value) in entry.as_object().unwrap() {
                if found.get(field) != Some(value) {
                    wrong.push(format!(
                        "{path}: {field} is {:?}, published as {value}",
                        found.get(field)
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// An index that somebody else made is no base to build on without being told so.
#[test]
fn an_unsigned_index_is_not_built_upon() {
    let Some(folder) = shared("real-registry") else {
        return;
    };
    let registry = TempRegistry::copy_of(&folder);
    let before = std::fs::read(registry.at("index.json")).unwrap();
    let out = registry.build_index(&[]);
    assert_eq!(out.status, 2, "{out:#?}");
    assert!(out.stderr.contains("--new-chain"), "{}", out.stderr);
    assert_eq!(std::fs::read(registry.at("index.json")).unwrap(), before);
    // What its policy does not say of its publishers' keys is another test's matter.
    registry.policy("[publishers]\ncontinuity = \"warn\"\n");
    let out = registry.build_index(&["--new-chain"]);
    assert_eq!(out.status, 0, "{out:#?}");
    assert_eq!(
        registry.index().unwrap()["cartridges"]
            .as_array()
            .map(Vec::len),
        Some(2)
    );
}
