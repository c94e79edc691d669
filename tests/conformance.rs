//! Every published conformance case through the built program: verdict, family and trust.
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

use serde_json::Value;
use support::registry::{read_json, run_acx, shared};

#[test]
fn each_case_is_judged_as_published() {
    let Some(folder) = shared("conformance") else {
        return;
    };
    let expected = read_json(&folder.join("expected.json"));
    let cases = expected.as_array().unwrap();
    assert_eq!(cases.len(), 116);
    let names: Vec<String> = cases
        .iter()
        .map(|c| format!("{}.acx", c["case"].as_str().unwrap()))
        .collect();
    let home = tempfile::tempdir().unwrap();
    let args: Vec<&str> = ["check", "--format", "json"]
        .into_iter()
        .chain(names.iter().map(String::as_str))
        .collect();
    let out = run_acx(&args, &folder, home.path(), &[]);
    assert_eq!(out.status, 1, "some are rejected: {}", out.stderr);
    let report = out.json();
    assert_eq!(report["version"], 1);
    let got: BTreeMap<&str, &Value> = report["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| (f["path"].as_str().unwrap().rsplit('/').next().unwrap(), f))
        .collect();
    let wrong: Vec<String> = cases
        .iter()
        .zip(&names)
        .filter_map(|(case, name)| {
            let why = match got.get(name.as_str()) {
                Some(file) => differs(case, file)?,
                None => "no answer".to_owned(),
            };
            Some(format!("{name}: {why} ({})", case["why"].as_str().unwrap()))
        })
        .collect();
    assert!(
        wrong.is_empty(),
        "{} of {} wrong:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
}

/// How the report on a file differs from what is expected.
fn differs(case: &Value, file: &Value) -> Option<String> {
    let findings = file["findings"].as_array().unwrap();
    let said: Vec<String> = findings
        .iter()
        .map(|f| {
            format!(
                "{} {}",
                f["severity"].as_str().unwrap(),
                f["code"].as_str().unwrap()
            )
        })
        .collect();
    if file["verdict"] != case["verdict"] {
        return Some(format!(
            "verdict {}, expected {}; {said:?}",
            file["verdict"], case["verdict"]
        ));
    }
    let of_family = |f: &Value| f["severity"] == "error" && f["family"] == case["family"];
    if case["verdict"] == "reject" && !findings.iter().any(of_family) {
        return Some(format!("no error of family {}; {said:?}", case["family"]));
    }
    if case["verdict"] == "accept" && findings.iter().any(|f| f["severity"] == "error") {
        return Some(format!("accepted with an error; {said:?}"));
    }
    (case.get("trust").is_some() && file["trust"] != case["trust"]).then(|| {
        format!(
            "trust {}, expected {}; {said:?}",
            file["trust"], case["trust"]
        )
    })
}

/// The file is accepted, and the user still hears that its signer sorts otherwise.
#[test]
fn order_of_utf16_is_a_warning() {
    let Some(folder) = shared("conformance") else {
        return;
    };
    let home = tempfile::tempdir().unwrap();
    let out = run_acx(
        &["check", "--format", "json", "clean-utf16-order.acx"],
        &folder,
        home.path(),
        &[],
    );
    assert_eq!(out.status, 0, "{out:#?}");
    let report = out.json();
    let findings = report["files"][0]["findings"].as_array().unwrap();
    let told = findings
        .iter()
        .any(|f| f["code"] == "integrity-utf16-order" && f["severity"] == "warning");
    assert!(told, "{findings:#?}");
}

/// What the gate accepts is published, taken in and taught; what it refuses leaves every file as it was.
#[test]
fn each_case_is_published_imported_and_taught_or_left_alone() {
    let Some(folder) = shared("conformance") else {
        return;
    };
    let home = tempfile::tempdir().unwrap();
    let at = |path: &str| home.path().join(path);
    let lesson = serde_json::json!({
        "id": "a-new-lesson", "title": "T", "summary": "S", "sourceType": "note", "impact": "neutral",
        "timestamp": "2026-08-01T10:00:00Z", "xpAwarded": 1, "tags": [],
    });
    fs::write(at("r.json"), lesson.to_string()).unwrap();
    fs::write(at("salt"), [1; 32]).unwrap();
    let mut wrong = Vec::new();
    let expected = read_json(&folder.join("expected.json"));
    for case in expected.as_array().unwrap() {
        let name = case["case"].as_str().unwrap();
        let bytes = fs::read(folder.join(format!("{name}.acx"))).unwrap();
        fs::write(at("c.acx"), &bytes).unwrap();
        fs::create_dir_all(at("registry/cartridges")).unwrap();
        let run = |line: &str| {
            let args: Vec<&str> = line.split(' ').collect();
            run_acx(&args, home.path(), home.path(), &[])
        };
        let accepted = case["verdict"] == "accept";
        // What one installation learned is for its owner to use, and for no registry.
        let is_private = case["family"] == "save-zone";
        let published = run("publish c.acx registry");
        let imported = run("import c.acx --into agent");
        let learned = run("learn c.acx --record r.json --repo https://example.com/a/b --salt salt");
        let usable = i32::from(!accepted && !is_private);
        let got = [published.status, imported.status, learned.status];
        if got != [i32::from(!accepted), usable, usable] {
            wrong.push(format!("{name}: {got:?} {imported:#?} {learned:#?}"));
        }
        let written = fs::read_dir(at("registry/cartridges")).unwrap().count();
        if (written == 1) != accepted || at("agent").exists() != (usable == 0) {
            wrong.push(format!("{name}: wrote what it should not, or did not"));
        }
        if (fs::read(at("c.acx")).unwrap() != bytes) != (usable == 0) {
            wrong.push(format!("{name}: the cartridge is not as it should be"));
        }
        fs::remove_dir_all(at("registry")).unwrap();
        let _ = fs::remove_dir_all(at("agent"));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
