//! The registry that the format's authors publish: both its cartridges are accepted, and described as they describe
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

use serde_json::Value;
use support::registry::{TempRegistry, read_json, shared};

#[test]
fn both_cartridges_are_indexed_as_published() {
    let Some(folder) = shared("real-registry") else {
        return;
    };
    let published = read_json(&folder.join("index.json"));
    let registry = TempRegistry::copy_of(&folder);
    // Their index is not signed; to build over it is another test's matter.
    std::fs::remove_file(registry.at("index.json")).unwrap();
    let out = registry.build_index(&[]);
    assert_eq!(out.status, 0, "{out:#?}");
    let ours = registry.index().expect("an index was written");

    let theirs = published["cartridges"].as_array().unwrap();
    assert_eq!(theirs.len(), 2);
    assert_eq!(ours["cartridges"].as_array().map(Vec::len), Some(2));
    let mut wrong = Vec::new();
    for entry in theirs {
        let path = &entry["path"];
        let found = ours["cartridges"]
            .as_array()
            .unwrap()
            .iter()
            .find(|c| c["path"] == *path);
        let Some(found) = found else {
            wrong.push(format!("{path} is not indexed"));
            continue;
        };
        assert_eq!(found["trust"], "portable", "{path}");
        for (field, value) in entry.as_object().unwrap() {
            if found.get(field) != Some(value) {
                wrong.push(format!(
                    "{path}: {field} is {:?}, published as {value}",
                    found.get(field)
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));

    let report = out.json();
    let warnings: Vec<&Value> = report["warnings"].as_array().unwrap().iter().collect();
    for place in ["cals", "graphs"] {
        let told = warnings.iter().any(|w| w.to_string().contains(place));
        assert!(
            told,
            "no warning that {place} is not indexed: {warnings:#?}"
        );
    }
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
    let out = registry.build_index(&["--new-chain"]);
    assert_eq!(out.status, 0, "{out:#?}");
    assert_eq!(
        registry.index().unwrap()["cartridges"]
            .as_array()
            .map(Vec::len),
        Some(2)
    );
}
