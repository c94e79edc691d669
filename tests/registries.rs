//! Whole registries through the built program: exit status, what is indexed, what is rejected and why.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod support;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use support::cartridge::{Builder, PUBLISHER_SEED};
use support::keys;
use support::registry::{Output, TempRegistry, TrustKey, read_json, shared, trust_registry};

/// The families of the errors of each rejected path.
fn rejected(report: &Value) -> BTreeMap<&str, BTreeSet<&str>> {
    let files = report["rejected"].as_array().unwrap();
    files
        .iter()
        .map(|file| {
            let findings = file["findings"].as_array().unwrap().iter();
            let errors = findings.filter(|f| f["severity"] == "error");
            (
                file["path"].as_str().unwrap(),
                errors.map(|f| f["family"].as_str().unwrap()).collect(),
            )
        })
        .collect()
}

/// The index's cartridges by path.
fn entries(index: &Value) -> BTreeMap<&str, &Value> {
    let entries = index["cartridges"].as_array().unwrap();
    entries
        .iter()
        .map(|c| (c["path"].as_str().unwrap(), c))
        .collect()
}

fn texts(value: &Value) -> BTreeSet<&str> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .map(|v| v.as_str().unwrap())
        .collect()
}

#[test]
fn each_registry_is_built_as_published() {
    let Some(folder) = shared("registries") else {
        return;
    };
    let expected = read_json(&folder.join("expected.json"));
    let cases = expected.as_array().unwrap();
    assert_eq!(cases.len(), 20);
    let mut wrong = Vec::new();
    for case in cases {
        let name = case["case"].as_str().unwrap();
        let registry = TempRegistry::copy_of(&folder.join(name));
        let out = registry.build_index(&[]);
        wrong.extend(
            differences(case, &registry, &out)
                .into_iter()
                .map(|why| format!("{name}: {why} ({})", case["why"].as_str().unwrap())),
        );
    }
    assert!(
        wrong.is_empty(),
        "of {} registries:\n{}",
        cases.len(),
        wrong.join("\n")
    );
}

fn differences(case: &Value, registry: &TempRegistry, out: &Output) -> Vec<String> {
    if i64::from(out.status) != case["exit"].as_i64().unwrap() {
        return vec![format!(
            "exit {}, expected {}: {}",
            out.status, case["exit"], out.stderr
        )];
    }
    let mut wrong = Vec::new();
    let mut hold = |holds: bool, what: String| {
        if !holds {
            wrong.push(what);
        }
    };
    if out.status == 2 {
        hold(
            registry.index().is_none(),
            "an index was written".to_owned(),
        );
        hold(
            !out.stderr.trim().is_empty(),
            "no word on stderr".to_owned(),
        );
        return wrong;
    }
    let Some(index) = registry.index() else {
        return vec!["no index was written".to_owned()];
    };
    let (report, by_path) = (out.json(), entries(&index));
    let rejected = rejected(&report);
    let indexed: BTreeSet<&str> = by_path.keys().copied().collect();
    hold(
        indexed == texts(&case["accepted"]),
        format!("indexed {indexed:?}, expected {}", case["accepted"]),
    );
    for (path, family) in case["rejected"].as_object().into_iter().flatten() {
        let families = rejected.get(path.as_str());
        let family = family.as_str().unwrap();
        hold(
            families.is_some_and(|f| f.contains(family)),
            format!("{path}: errors of {families:?}, expected {family}"),
        );
    }
    for path in texts(&case["rejected_any"]) {
        hold(rejected.contains_key(path), format!("{path}: not rejected"));
    }
    let fixed = |field: &str, of: fn(&Value) -> &Value| -> Vec<String> {
        let expected = case[field].as_object().into_iter().flatten();
        expected
            .filter_map(|(path, value)| {
                let found = by_path.get(path.as_str()).map(|entry| of(entry));
                (found != Some(value))
                    .then(|| format!("{path}: {field} {found:?}, expected {value}"))
            })
            .collect()
    };
    let mut more = fixed("trust", |entry| &entry["trust"]);
    more.extend(fixed("status", |entry| &entry["registryStatus"]["status"]));
    if case.get("latest").is_some() {
        let latest: BTreeSet<&str> = by_path
            .iter()
            .filter(|(_, e)| e["latest"] == true)
            .map(|(p, _)| *p)
            .collect();
        if latest != texts(&case["latest"]) {
            more.push(format!("latest {latest:?}, expected {}", case["latest"]));
        }
    }
    wrong.extend(more);
    wrong
}

/// A registry with one sound cartridge, and the path of that.
fn with_one() -> (TempRegistry, String) {
    let registry = TempRegistry::new();
    let path = registry.cartridge(&Builder::valid("io.github.acme", "fine", "1.0.0"));
    (registry, path)
}

fn indexed(registry: &TempRegistry) -> Vec<String> {
    let index = registry.index().expect("an index was written");
    entries(&index)
        .keys()
        .map(|path| (*path).to_owned())
        .collect()
}

#[cfg(unix)]
#[test]
fn a_cartridge_that_is_a_symbolic_link_is_rejected_and_the_rest_indexed() {
    let (registry, fine) = with_one();
    let link = "cartridges/io.github.acme/fine/2.0.0/cartridge.acx";
    std::fs::create_dir_all(registry.at(link).parent().unwrap()).unwrap();
    std::os::unix::fs::symlink("../1.0.0/cartridge.acx", registry.at(link)).unwrap();
    let out = registry.build_index(&[]);
    assert_eq!(out.status, 1, "{out:#?}");
    let report = out.json();
    let rejected = rejected(&report);
    assert!(
        rejected.get(link).is_some_and(|f| f.contains("registry")),
        "{rejected:?}"
    );
    assert_eq!(indexed(&registry), [fine]);
}

#[test]
fn a_private_key_in_the_tree_is_rejected_and_the_rest_indexed() {
    for path in [
        "notes/deploy.txt",
        "cartridges/io.github.acme/fine/1.0.0/README.md",
    ] {
        let (registry, fine) = with_one();
        registry.put(
            path,
            format!("Keep this.\n{}", keys::private_pem(&keys::seed(42))),
        );
        let out = registry.build_index(&[]);
        assert_eq!(out.status, 1, "{path}: {out:#?}");
        let report = out.json();
        let rejected = rejected(&report);
        assert!(
            rejected.get(path).is_some_and(|f| f.contains("registry")),
            "{path}: {rejected:?}"
        );
        assert_eq!(indexed(&registry), [fine], "{path}");
    }
}

#[test]
fn a_private_key_in_the_trust_registry_stops_the_run() {
    let (registry, _) = with_one();
    let mut trust = trust_registry(&[TrustKey::active(
        keys::seed(PUBLISHER_SEED),
        "io.github.acme",
    )]);
    let pem = trust["keys"][0]["publicKeyPem"]
        .as_str()
        .unwrap()
        .to_owned();
    trust["keys"][0]["publicKeyPem"] = (pem + &keys::private_pem(&keys::seed(42))).into();
    registry.put("trust-registry.json", trust.to_string());
    let out = registry.build_index(&[]);
    assert_eq!(out.status, 2, "{out:#?}");
    assert!(out.stderr.contains("trust-registry.json"), "{out:#?}");
    assert!(registry.index().is_none());
}
