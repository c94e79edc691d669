//! Every rule is tripped by its own mutation and by nothing else, and a sound cartridge trips none.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod support;

use std::collections::BTreeSet;

use serde_json::Value;
use support::mutations::{CLEAN, MUTATIONS, Mutation, valid};
use support::registry::{TempRegistry, run_acx};

/// `acx check` of these bytes: the exit status and the one file's report.
fn check(bytes: &[u8]) -> (i32, Value) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("c.acx"), bytes).unwrap();
    let out = run_acx(
        &["check", "--format", "json", "c.acx"],
        folder.path(),
        folder.path(),
        &[],
    );
    let report = out.json();
    assert_eq!(
        report["files"].as_array().map(Vec::len),
        Some(1),
        "{out:#?}"
    );
    (out.status, report["files"][0].clone())
}

/// What a build says of the cartridge in a registry with this trust registry.
fn check_in_registry(bytes: &[u8], trust: &Value) -> (i32, Value) {
    let registry = TempRegistry::new();
    registry.put("trust-registry.json", trust.to_string());
    registry.put(&valid().path(), bytes);
    let out = registry.build_index(&[]);
    let mut report = out.json();
    let rejected = report["rejected"].as_array_mut().unwrap();
    assert_eq!(rejected.len(), 1, "{out:#?}");
    let mut file = rejected.remove(0);
    file["verdict"] = "reject".into();
    (out.status, file)
}

fn codes(report: &Value) -> BTreeSet<&str> {
    let findings = report["findings"].as_array().unwrap();
    findings
        .iter()
        .map(|f| f["code"].as_str().unwrap())
        .collect()
}

#[test]
fn sound_cartridges_are_accepted_without_a_word() {
    let mut wrong = Vec::new();
    for (name, make) in CLEAN {
        let (status, report) = check(&make());
        let clean = report["verdict"] == "accept"
            && report["clean"] == true
            && report["trust"] == "portable"
            && report["findings"].as_array().is_some_and(Vec::is_empty);
        if !clean || status != 0 {
            wrong.push(format!("{name}: exit {status}, {report:#}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_mutation_trips_its_rule_alone() {
    let mut wrong = Vec::new();
    for m in MUTATIONS {
        let bytes = (m.make)();
        let (status, report) = match m.trust {
            Some(trust) => check_in_registry(&bytes, &trust()),
            None => check(&bytes),
        };
        if let Some(why) = differs(m, status, &report) {
            wrong.push(format!("{} ({}): {why}", m.code, m.about));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} wrong:\n{}",
        wrong.len(),
        MUTATIONS.len(),
        wrong.join("\n")
    );
}

fn differs(m: &Mutation, status: i32, report: &Value) -> Option<String> {
    let found = codes(report);
    let needed: BTreeSet<&str> = std::iter::once(m.code)
        .chain(m.also.iter().copied())
        .collect();
    let allowed: BTreeSet<&str> = needed
        .iter()
        .copied()
        .chain(m.may.iter().copied())
        .collect();
    if !needed.is_subset(&found) || !found.is_subset(&allowed) {
        return Some(format!("found {found:?}: {}", report["findings"]));
    }
    let (verdict, exit, severity) = if m.warning {
        ("accept", 0, "warning")
    } else {
        ("reject", 1, "error")
    };
    let findings = report["findings"].as_array()?;
    let own = findings.iter().filter(|f| f["code"] == m.code);
    for finding in own {
        if finding["severity"] != severity {
            return Some(format!(
                "severity {}, expected {severity}",
                finding["severity"]
            ));
        }
    }
    (report["verdict"] != verdict || status != exit).then(|| {
        format!(
            "{} with exit {status}, expected {verdict} with {exit}",
            report["verdict"]
        )
    })
}

#[test]
fn each_rule_about_a_cartridge_has_a_mutation() {
    let folder = tempfile::tempdir().unwrap();
    let out = run_acx(
        &["explain", "--list", "--format", "json"],
        folder.path(),
        folder.path(),
        &[],
    );
    let rules = out.json();
    let about_cartridges: BTreeSet<&str> = rules
        .as_array()
        .unwrap()
        .iter()
        .filter(|r| matches!(r["scope"].as_str(), Some("cartridge" | "public")))
        .map(|r| r["code"].as_str().unwrap())
        .collect();
    let mutated: BTreeSet<&str> = MUTATIONS.iter().map(|m| m.code).collect();
    let bare: Vec<_> = about_cartridges.difference(&mutated).collect();
    let unknown: Vec<_> = mutated.difference(&about_cartridges).collect();
    assert!(
        bare.is_empty() && unknown.is_empty(),
        "rules without a mutation: {bare:?}; mutations of no rule: {unknown:?}"
    );
}
