//! `acx search`: over the signed memory of accepted cartridges, and nothing else.

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
use support::records::{self, Memory};
use support::registry::{TempRegistry, ledger_entry};

fn with(publisher: &str, id: &str, lessons: &[(&str, &str, &str)]) -> Builder {
    let mut builder = Builder::valid(publisher, id, "1.0.0");
    builder.memory = lessons
        .iter()
        .enumerate()
        .map(|(n, (title, summary, tag))| {
            let mut record = records::portable(n + 1);
            record["title"] = json!(title);
            record["summary"] = json!(summary);
            record["tags"] = json!([tag]);
            Memory::sealed(record)
        })
        .collect();
    builder
}

fn registry() -> TempRegistry {
    let registry = TempRegistry::new();
    registry.cartridge(&with(
        "io.github.acme",
        "ops",
        &[
            (
                "Retry uploads",
                "Retry a failed upload with a growing pause.",
                "network",
            ),
            (
                "Name the compiler",
                "Cache keys name the compiler.",
                "builds",
            ),
        ],
    ));
    registry.cartridge(&with(
        "io.github.zed",
        "web",
        &[(
            "Retry uploads",
            "Retry a failed upload with a growing pause.",
            "web",
        )],
    ));
    registry
}

fn results(registry: &TempRegistry, args: &[&str]) -> Vec<Value> {
    let out = registry.run(&[&["search", "--format", "json"], args].concat());
    assert_eq!(out.status, 0, "{out:#?}");
    out.json()["results"].as_array().unwrap().clone()
}

fn places(results: &[Value]) -> Vec<String> {
    results
        .iter()
        .map(|r| {
            format!(
                "{}/{} {}",
                r["publisher"].as_str().unwrap(),
                r["id"].as_str().unwrap(),
                r["title"].as_str().unwrap()
            )
        })
        .collect()
}

#[test]
fn nearest_first_and_ties_by_coordinate() {
    let registry = registry();
    let found = results(&registry, &["retry a failed upload"]);
    assert_eq!(
        places(&found),
        [
            "io.github.acme/ops Retry uploads",
            "io.github.zed/web Retry uploads",
            "io.github.acme/ops Name the compiler"
        ]
    );
    assert_eq!(found[0]["score"], found[1]["score"]);
    // Equal text: cosine 1.
    let same = results(
        &registry,
        &["Cache keys name the compiler. Name the compiler"],
    );
    assert!(
        (same[0]["score"].as_f64().unwrap() - 1.0).abs() < 1e-6,
        "{same:#?}"
    );
    assert_eq!(results(&registry, &["retry", "-k", "1"]).len(), 1);
    assert_eq!(
        places(&results(
            &registry,
            &["retry", "--publisher", "io.github.zed"]
        )),
        ["io.github.zed/web Retry uploads"]
    );
    assert_eq!(
        places(&results(&registry, &["retry", "--tag", "builds"])),
        ["io.github.acme/ops Name the compiler"]
    );
    let human = registry.run(&["search", "retry uploads", "-k", "1"]);
    assert!(
        human
            .stdout
            .contains("io.github.acme/ops@1.0.0  Retry uploads"),
        "{human:#?}"
    );
}

#[test]
fn a_tampered_dataset_or_cartridge_cannot_mislead_it() {
    let registry = registry();
    assert_eq!(registry.build_index(&[]).status, 0);
    let honest = results(&registry, &["retry a failed upload"]);
    // The dataset of one cartridge in place of another's.
    let dataset = |p: &str| registry.at(&format!("cartridges/{p}/1.0.0/cartridge.memories.lance"));
    fs::remove_dir_all(dataset("io.github.acme/ops")).unwrap();
    fs::rename(dataset("io.github.zed/web"), dataset("io.github.acme/ops")).unwrap();
    assert_eq!(results(&registry, &["retry a failed upload"]), honest);
    // A cartridge whose memory was changed after signing is passed over, aloud.
    let mut bad = with("io.github.evil", "bait", &[("Bait", "something else", "x")]);
    bad.sql(
        "UPDATE memory SET payload = replace(payload, 'something else', 'retry a failed upload')",
    );
    registry.cartridge(&bad);
    assert_eq!(results(&registry, &["retry a failed upload"]), honest);
    let out = registry.run(&["search", "retry"]);
    assert!(
        out.stderr
            .contains("1 files that the gate does not accept were not searched"),
        "{out:#?}"
    );
}

#[test]
fn withdrawn_versions_are_not_found() {
    let registry = registry();
    let withdrawn = with(
        "io.github.zed",
        "web",
        &[(
            "Retry uploads",
            "Retry a failed upload with a growing pause.",
            "web",
        )],
    );
    registry.ledger(&[ledger_entry(&withdrawn, "withdrawn")]);
    assert!(
        places(&results(&registry, &["retry"]))
            .iter()
            .all(|p| p.starts_with("io.github.acme"))
    );
}

#[test]
fn what_cannot_be_searched_for_is_an_error() {
    let registry = registry();
    for query in ["", "   ", "…", "日本語"] {
        let out = registry.run(&["search", query]);
        assert_eq!(out.status, 2, "{query:?}: {out:#?}");
        assert!(out.stderr.contains("nothing to search for"), "{out:#?}");
    }
    // The words outside the letters a to z do not count; the others do.
    assert_eq!(results(&registry, &["日本語 retry"]).len(), 3);
}

#[test]
fn another_engine_is_an_error_where_there_is_no_other_memory() {
    let Some(shared) = support::registry::shared("registries/other-engine") else {
        return;
    };
    let registry = TempRegistry::copy_of(&shared);
    let out = registry.run(&["search", "retry"]);
    assert_eq!(out.status, 2, "{out:#?}");
    assert!(out.stderr.contains("another embedding engine"), "{out:#?}");
    let built = registry.build_index(&[]);
    assert_eq!(built.status, 0, "{built:#?}");
    assert_eq!(built.json()["warnings"][0]["code"], "lance-other-engine");
    assert_eq!(
        registry.index().unwrap()["cartridges"][0]["memories"],
        Value::Null
    );
    registry.cartridge(&with(
        "io.github.zed",
        "web",
        &[("Retry uploads", "Again.", "web")],
    ));
    let out = registry.run(&["search", "retry"]);
    assert_eq!(out.status, 0, "{out:#?}");
    assert!(
        out.stderr
            .contains("is by another embedding engine and was not searched")
    );
}
