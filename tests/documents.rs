//! Every published case of a signed document through the library: verdict, family, trust, status and digest.
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
use std::fs;
use std::path::Path;

use acx_registry::check::{Check, RULES};
use acx_registry::document::{
    DependencyStatus, Judgement, Kind, Settings, binding_findings, dependencies,
    dependency_findings, judge, pins,
};
use acx_registry::finding::Severity;
use acx_registry::model::{Digest, Timestamp};
use acx_registry::policy::{Policy, TrustRegistry};
use acx_registry::project::{self, RegistryStatus};
use acx_registry::schema::REGISTRY_INDEX;
use proptest::prelude::*;
use serde_json::{Value, json};
use support::registry::{read_json, shared};
use support::signed::workflow;

fn now() -> Timestamp {
    Timestamp::try_from("2026-12-01T00:00:00Z").unwrap()
}

fn kind(case: &Value) -> Kind {
    match case["type"].as_str().unwrap() {
        "workflow" => Kind::Workflow,
        "agent-graph" => Kind::AgentGraph,
        other => panic!("{other}"),
    }
}

fn run(kind: Kind, path: Option<&str>, bytes: &[u8], trust: &TrustRegistry) -> Judgement {
    let now = now();
    let settings = Settings {
        policy: &Policy::default(),
        trust,
        now: &now,
        publication: true,
    };
    judge(kind, "document", path, bytes, settings)
}

fn errors(judgement: &Judgement) -> Vec<(&'static str, &'static str)> {
    let all = judgement.findings.iter();
    all.filter(|f| f.severity == Severity::Error)
        .map(|f| (f.family.as_str(), f.code))
        .collect()
}

fn trust_registry(folder: &Path) -> TrustRegistry {
    let bytes = fs::read(folder.join("trust-registry.json")).unwrap();
    TrustRegistry::parse(&bytes, &now()).unwrap()
}

#[test]
fn each_case_is_judged_as_published() {
    let Some(folder) = shared("documents") else {
        return;
    };
    let expected = read_json(&folder.join("expected.json"));
    let cases = expected.as_array().unwrap();
    assert_eq!(cases.len(), 94);
    let (known, none) = (trust_registry(&folder), TrustRegistry::default());
    let mut accepted: BTreeMap<[String; 3], Digest> = BTreeMap::new();
    let mut wrong = Vec::new();
    let mut tripped: BTreeSet<&str> = BTreeSet::new();
    for case in cases {
        let bytes = fs::read(folder.join(case["file"].as_str().unwrap())).unwrap();
        let trust = if case.get("needs").is_some() {
            &known
        } else {
            &none
        };
        let mut found = run(kind(case), case["path"].as_str(), &bytes, trust);
        if let Some(document) = &found.accepted {
            if document.kind() == Kind::Workflow {
                accepted.insert(document.coordinate().map(str::to_owned), document.digest());
            } else {
                let pins = pins(document.value());
                let resolved = dependencies(&pins, |publisher, id, version| {
                    accepted
                        .get(&[publisher, id, version].map(str::to_owned))
                        .copied()
                });
                let policy = Policy::default();
                found
                    .findings
                    .extend(dependency_findings(&policy, "document", &pins, &resolved));
                assert!(case["case"] != "graph-clean-full" || resolved.len() == 2);
                let all = resolved.iter().all(|s| *s == DependencyStatus::Resolved);
                assert!(all == (case["verdict"] == "accept"));
                // Where the workflow lacks an alias, a warning says so.
                for pin in pins.iter().filter(|pin| !pin.aliases.is_empty()) {
                    let told =
                        binding_findings(&policy, "document", pin, &BTreeSet::from(["builder"]));
                    tripped.extend(told.iter().map(|f| f.code));
                }
            }
        }
        tripped.extend(found.findings.iter().map(|f| f.code));
        let said = errors(&found);
        let right = if case["verdict"] == "accept" {
            said.is_empty()
                && found.accepted.is_some()
                && found.digest.map(|d| d.to_string()).as_deref() == case["digest"].as_str()
        } else {
            said.iter()
                .any(|(family, _)| Some(*family) == case["family"].as_str())
        };
        let state =
            |name: &str, value: Option<&str>| case.get(name).is_none_or(|v| v.as_str() == value);
        let trusted = state("trust", found.trust.map(|t| t.as_str()))
            && state("status", found.trust.map(|t| t.status()));
        if !right || !trusted {
            wrong.push(format!(
                "{}: {:?} {:#?}",
                case["case"], found.trust, found.findings
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );

    // A clock that is ahead is a warning.
    let bytes = fs::read(folder.join("workflow-clean-full.cal.json")).unwrap();
    let early = Timestamp::try_from("2020-01-01T00:00:00Z").unwrap();
    let policy = Policy::default();
    let settings = Settings {
        policy: &policy,
        trust: &none,
        now: &early,
        publication: true,
    };
    let found = judge(Kind::Workflow, "document", None, &bytes, settings);
    assert!(found.accepted.is_some(), "{:#?}", found.findings);
    let codes: Vec<&str> = found.findings.iter().map(|f| f.code).collect();
    assert_eq!(codes, ["document-signed-later"]);
    tripped.extend(codes);

    let all: BTreeSet<&str> = RULES
        .iter()
        .filter(|rule| matches!(rule.check, Check::Document(_)))
        .map(|rule| rule.code)
        .collect();
    assert_eq!(tripped, all, "each rule of documents is tripped by a case");
}

/// What `acx check` says of loose files; their place and what they depend on is for a registry to judge.
#[test]
#[cfg(unix)]
fn check_says_the_same_of_files() {
    let Some(folder) = shared("documents") else {
        return;
    };
    let expected = read_json(&folder.join("expected.json"));
    let cases: Vec<&Value> = expected
        .as_array()
        .unwrap()
        .iter()
        .filter(|case| case.get("needs").is_none() && case["family"] != "coordinate")
        .collect();
    assert!(cases.len() > 60, "{}", cases.len());
    let files: Vec<_> = cases
        .iter()
        .map(|case| folder.join(case["file"].as_str().unwrap()))
        .collect();
    let mut args = vec!["check", "--format", "json"];
    args.extend(files.iter().map(|file| file.to_str().unwrap()));
    let out = support::registry::TempRegistry::new()
        .run_with(&args, &[("SOURCE_DATE_EPOCH", "1796083200")]);
    assert_eq!(out.status, 1, "{}", out.stderr);
    let report = out.json();
    for (case, found) in cases.iter().zip(report["files"].as_array().unwrap()) {
        assert_eq!(found["verdict"], case["verdict"], "{found:#}");
        for fact in ["trust", "status"] {
            if case.get(fact).is_some() {
                assert_eq!(found[fact], case[fact], "{}: {found:#}", case["case"]);
            }
        }
    }
}

/// Whatever signed byte of a clean document is altered, it is refused.
#[test]
fn an_altered_byte_is_found() {
    let Some(folder) = shared("documents") else {
        return;
    };
    let expected = read_json(&folder.join("expected.json"));
    let clean = expected
        .as_array()
        .unwrap()
        .iter()
        .filter(|c| c["verdict"] == "accept");
    for case in clean {
        let bytes = fs::read(folder.join(case["file"].as_str().unwrap())).unwrap();
        let signed: Value = serde_json::from_slice(&bytes).unwrap();
        proptest!(ProptestConfig::with_cases(500), |(at in 0..bytes.len(), bit in 0..8_u8)| {
            let mut altered = bytes.clone();
            altered[at] ^= 1 << bit;
            // White space, and another spelling of the same value, is no other document.
            let same = serde_json::from_slice::<Value>(&altered).is_ok_and(|value| value == signed);
            let found = run(kind(case), None, &altered, &TrustRegistry::default());
            let said = errors(&found);
            prop_assert!(same || found.accepted.is_none() && !said.is_empty(), "{} byte {at}", case["case"]);
        });
    }
}

#[test]
fn bad_bytes_are_refused_before_anything_is_made_of_them() {
    let refused = |bytes: &[u8]| {
        let found = run(Kind::Workflow, None, bytes, &TrustRegistry::default());
        assert!(found.accepted.is_none() && found.digest.is_none());
        assert_eq!(errors(&found), [("schema", "document-json")]);
    };
    refused(&vec![b' '; (1 << 20) + 1]);
    refused(format!("{{\"a\":{}{}}}", "[".repeat(100), "]".repeat(100)).as_bytes());
    for text in [
        "{\"a\":1,\"a\":2}",
        "{\"a\":\"\\ud800\"}",
        "{\"a\":9007199254740992}",
        "{\"a\":-9007199254740992}",
        "{\"a\":123456789012345678901234567890}",
        "\u{feff}{}",
        "[]",
        "null",
        "",
    ] {
        refused(text.as_bytes());
    }
}

/// Both arrays of the index, in every field that is published; what this registry adds stands at the end.
#[test]
fn entries_are_as_published() {
    let Some(folder) = shared("documents") else {
        return;
    };
    let cases = read_json(&folder.join("expected.json"));
    let index = read_json(&folder.join("expected-index.json"));
    let trust = trust_registry(&folder);
    let mut compared = 0;
    for case in cases.as_array().unwrap() {
        if case["verdict"] != "accept" {
            continue;
        }
        let bytes = fs::read(folder.join(case["file"].as_str().unwrap())).unwrap();
        let path = case["path"].as_str().unwrap();
        let document = run(kind(case), Some(path), &bytes, &trust)
            .accepted
            .unwrap();
        let name = if kind(case) == Kind::Workflow {
            "workflows"
        } else {
            "agentGraphs"
        };
        let entries = index[name].as_array().unwrap();
        let expected = entries.iter().find(|e| e["path"] == path).unwrap();
        let status: RegistryStatus =
            serde_json::from_value(expected["registryStatus"].clone()).unwrap();
        let latest = expected["latest"].as_bool().unwrap();
        let mut found = project::document(path, &document);
        found.registry_status = status;
        found.latest = latest;
        if kind(case) == Kind::AgentGraph {
            let workflows = index["workflows"].as_array().unwrap();
            found.resolve(|pin| {
                let found = workflows.iter().find(|w| {
                    w["publisher"] == *pin.publisher
                        && w["id"] == *pin.id
                        && w["version"] == *pin.version
                });
                found.unwrap()["registryStatus"]["status"].as_str().unwrap()
            });
        }
        let entry = serde_json::to_value(&found).unwrap();
        let names = |value: &Value| {
            value
                .as_object()
                .unwrap()
                .keys()
                .cloned()
                .collect::<Vec<_>>()
        };
        for name in names(expected) {
            assert_eq!(entry[&name], expected[&name], "{path} {name}");
        }
        let mut order = names(expected);
        order.extend(["keyid", "signedAt", "sha256"].map(str::to_owned));
        assert_eq!(names(&entry), order, "{path}");
        // The schema of the index is closed for these entries.
        let at = format!("/{name}/0");
        let told = |entry: &Value| {
            let index = json!({name: [entry]});
            let defects = REGISTRY_INDEX.defects(&index).into_iter();
            defects
                .filter(|(pointer, _)| pointer.starts_with(&at))
                .collect::<Vec<_>>()
        };
        assert_eq!(told(&entry), [], "{path}");
        let mut more = entry.clone();
        more["more"] = 1.into();
        assert_eq!(
            told(&more).first().map(|(p, _)| p.clone()),
            Some(format!("{at}/more"))
        );
        compared += 1;
    }
    assert_eq!(compared, 10);
}

/// Long chains, listed backwards, and conditions as deep as is allowed take no time that matters.
#[test]
fn large_documents_are_judged_in_time() {
    let chain = |count: usize, last: &str| {
        let node = |n: usize| format!(r#"{{"id":"a{n}","type":"gateway","gateway":"parallel"}}"#);
        let edge = |n: usize| format!(r#"{{"from":"a{n}","to":"a{}"}}"#, n + 1);
        let nodes: Vec<String> = (0..count).rev().map(node).collect();
        let edges: Vec<String> = (0..count - 1).rev().map(edge).collect();
        format!(
            r#"{{"schemaVersion":"acx.cal/1","id":"chain","participants":[{{"alias":"b","bind":"slot","slot":{{"role":"r"}}}}],
            "start":"a0","nodes":[{{"id":"z","type":"event","event":"{last}"}},{}],"edges":[{{"from":"a{}","to":"z"}},{}]}}"#,
            nodes.join(","),
            count - 1,
            edges.join(",")
        )
    };
    let draft = |text: &str| {
        let now = now();
        let trust = TrustRegistry::default();
        let settings = Settings {
            policy: &Policy::default(),
            trust: &trust,
            now: &now,
            publication: false,
        };
        assert!(text.len() <= 1 << 20, "{}", text.len());
        let begun = std::time::Instant::now();
        let found = judge(Kind::Workflow, "chain", None, text.as_bytes(), settings);
        let taken = begun.elapsed();
        assert!(taken < std::time::Duration::from_secs(10), "{taken:?}");
        found
    };
    assert_eq!(errors(&draft(&chain(11_000, "end"))), []);
    // Without an end the workflow is refused once, and not for every node.
    let found = draft(&chain(11_000, "handoff"));
    assert_eq!(errors(&found), [("graph", "document-graph")]);
}

/// Sound but for one change; the change trips this rule, and no other rule of content. What is signed no longer holds, so
/// the signature's own rule is left aside.
#[test]
fn each_change_trips_its_rule_alone() {
    let Some(folder) = shared("documents") else {
        return;
    };
    let token = ["ghp_", &"a1B2".repeat(10)].concat();
    let cases: Vec<(&str, &str, &str, Value)> = vec![
        (
            "workflow-clean-full.cal.json",
            "document-schema",
            "/start",
            5.into(),
        ),
        (
            "workflow-clean-full.cal.json",
            "document-graph",
            "/start",
            "nowhere".into(),
        ),
        (
            "workflow-clean-full.cal.json",
            "document-profile",
            "/license",
            "see file".into(),
        ),
        (
            "workflow-clean-full.cal.json",
            "document-secret",
            "/nodes/1/action",
            token.clone().into(),
        ),
        (
            "workflow-clean-full.cal.json",
            "document-secret",
            "/nodes/1/action",
            support::keys::private_pem(&support::keys::seed(3)).into(),
        ),
        (
            "graph-clean-full.agent-graph.json",
            "document-secret",
            "/description",
            support::keys::private_pem(&support::keys::seed(3)).into(),
        ),
        (
            "workflow-clean-full.cal.json",
            "document-private-name",
            "/extensions/io.github.acme",
            json!({"a": [{"API-Key": 1}]}),
        ),
        (
            "workflow-clean-full.cal.json",
            "document-private-name",
            "/rac/1/okf",
            json!({"content": 1}),
        ),
        (
            "workflow-clean-full.cal.json",
            "document-lineage",
            "/lineage/note",
            " ".into(),
        ),
        (
            "graph-clean-full.agent-graph.json",
            "document-schema",
            "/routes/0/weight",
            1.5.into(),
        ),
        (
            "graph-clean-full.agent-graph.json",
            "document-graph",
            "/routes/0/expects/via",
            "nowhere".into(),
        ),
    ];
    for (file, code, pointer, change) in cases {
        let bytes = fs::read(folder.join(file)).unwrap();
        let mut value: Value = serde_json::from_slice(&bytes).unwrap();
        *value.pointer_mut(pointer).unwrap() = change;
        let kind = Kind::of_name(file).unwrap();
        let judged = |value: &Value| {
            let text = value.to_string();
            run(kind, None, text.as_bytes(), &TrustRegistry::default())
        };
        let codes = |found: &Judgement| -> Vec<&str> {
            let all: BTreeSet<&str> = errors(found).iter().map(|(_, code)| *code).collect();
            all.into_iter().collect()
        };
        let altered = codes(&judged(&value));
        assert!(altered.contains(&"document-integrity"), "{pointer}");
        let publisher = value["integrity"]["publisherId"].as_str().unwrap();
        let publisher = publisher.to_owned();
        support::signed::sign(&mut value, &publisher, 77, support::signed::SIGNED_AT);
        let found = judged(&value);
        assert_eq!(codes(&found), [code], "{pointer}: {:#?}", found.findings);
        let shown = format!("{:?}", found.findings);
        assert!(!shown.contains(&token), "{pointer}: {shown}");
    }
}

#[test]
fn a_statement_that_says_more_is_accepted_unless_it_says_a_private_key() {
    let private = support::keys::private_pem(&support::keys::seed(3));
    for (says, code) in [("more", None), (private.as_str(), Some("document-secret"))] {
        let mut value = workflow("io.github.acme", "flow", "1.0.0", 7).value;
        let at = support::signed::SIGNED_AT;
        support::signed::sign_saying(&mut value, "io.github.acme", 7, at, &[("note", says)]);
        let text = value.to_string();
        let found = run(
            Kind::Workflow,
            None,
            text.as_bytes(),
            &TrustRegistry::default(),
        );
        let codes: Vec<&str> = errors(&found).iter().map(|(_, code)| *code).collect();
        assert_eq!(codes, Vec::from_iter(code), "{:#?}", found.findings);
        assert_eq!(found.accepted.is_some(), code.is_none());
    }
}

#[test]
fn what_is_wrong_is_said_in_its_place() {
    let long = format!("1.0.0-{}", "a".repeat(123));
    type Change<'a> = Box<dyn Fn(&mut Value) + 'a>;
    let cases: [(Change<'_>, &str, &str); 5] = [
        (
            Box::new(|v| v["version"] = long.as_str().into()),
            "/version",
            "expected a SemVer 2.0 version of at most 128 characters, found",
        ),
        (
            Box::new(|v| v["name"] = "\u{1f600}".repeat(61).into()),
            "/name",
            "expected text of at most 120 characters (UTF-16 code units), found",
        ),
        (
            Box::new(|v| v["edges"][0]["when"] = json!({"var": "a", "op": "eqq", "value": 1})),
            "/edges/0/when/op",
            "expected one of \"eq\", \"ne\", \"lt\", \"gt\", \"le\", \"ge\", \"in\", found \"eqq\"",
        ),
        (
            Box::new(|v| v["edges"][0]["when"] = json!({"any": [{"always": true}, {"all": 1}]})),
            "/edges/0/when/any/1/all",
            "expected an array, found 1",
        ),
        (
            Box::new(|v| v["edges"][0]["when"] = json!({})),
            "/edges/0/when",
            "expected a condition of exactly one shape: always, var with op and value, all, any, not, or racAvailable",
        ),
    ];
    for (change, pointer, message) in cases {
        let document = workflow("io.github.acme", "flow", "1.0.0", 7).changed(7, change);
        let found = run(
            Kind::Workflow,
            None,
            &document.bytes(),
            &TrustRegistry::default(),
        );
        assert!(
            found.findings.iter().any(|f| f.code == "document-schema"
                && f.location.pointer.as_deref() == Some(pointer)
                && f.message.contains(message)),
            "{pointer}: {:#?}",
            found.findings
        );
    }
}

#[test]
fn blank_is_what_ecmascript_calls_blank() {
    for (name, code) in [
        ("\u{feff}\u{feff}\u{feff}", Some("document-profile")),
        ("\u{feff}ab\u{a0}", Some("document-profile")),
        ("\u{feff}abc", None),
    ] {
        let document = workflow("io.github.acme", "flow", "1.0.0", 7)
            .changed(7, |value| value["name"] = name.into());
        let found = run(
            Kind::Workflow,
            None,
            &document.bytes(),
            &TrustRegistry::default(),
        );
        let codes: BTreeSet<&str> = errors(&found).iter().map(|(_, code)| *code).collect();
        assert_eq!(codes, BTreeSet::from_iter(code), "{name:?}");
    }
}

#[test]
#[cfg(unix)]
fn what_is_too_large_printed_with_spaces_is_signed_without() {
    let registry = support::registry::TempRegistry::new();
    let key = registry.key();
    let mut value = workflow("io.github.acme", "flow", "1.0.0", 7).value;
    value.as_object_mut().unwrap().shift_remove("integrity");
    value["edges"][0]["when"] = json!({"any": vec![json!({"always": true}); 15_000]});
    registry.put("flow.cal.json", value.to_string());
    let args = [
        "workflow",
        "sign",
        "flow.cal.json",
        "--publisher",
        "io.github.acme",
        "--key",
        &key,
    ];
    let out = registry.run_with(&args, &[("SOURCE_DATE_EPOCH", "1796083200")]);
    assert_eq!(out.status, 0, "{out:#?}");
    let out = registry.run(&["check", "flow.cal.json"]);
    assert_eq!(out.status, 0, "{out:#?}");
}

/// Signing takes what the gate takes and nothing else, and gives the same bytes for the same document, key and time.
#[test]
#[cfg(unix)]
fn what_is_signed_is_accepted() {
    let Some(folder) = shared("documents") else {
        return;
    };
    let registry = support::registry::TempRegistry::new();
    let key = registry.key();
    let acx = |args: &[&str]| registry.run_with(args, &[("SOURCE_DATE_EPOCH", "1796083200")]);
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    let expected = read_json(&folder.join("expected.json"));
    let clean = expected
        .as_array()
        .unwrap()
        .iter()
        .filter(|case| case["verdict"] == "accept");
    let mut signed = 0;
    for case in clean {
        let name = case["file"].as_str().unwrap();
        let word = if name.ends_with(".cal.json") {
            "workflow"
        } else {
            "graph"
        };
        let bytes = fs::read(folder.join(name)).unwrap();
        let mut draft: Value = serde_json::from_slice(&bytes).unwrap();
        let integrity = draft
            .as_object_mut()
            .unwrap()
            .shift_remove("integrity")
            .unwrap();
        let file = at(name);
        fs::write(&file, draft.to_string()).unwrap();
        let publisher = integrity["publisherId"].as_str().unwrap();

        let out = acx(&[word, "lint", &file]);
        assert_eq!(out.status, 0, "{out:#?}");
        let out = acx(&[word, "lint", "--publish", &file, "--format", "json"]);
        assert_eq!(out.status, 1, "{out:#?}");
        assert_eq!(
            out.json()["files"][0]["findings"][0]["code"],
            "document-unsigned"
        );
        let out = acx(&[word, "digest", &file]);
        assert_eq!(out.stdout.trim_end(), integrity["digest"].as_str().unwrap());

        let (one, two) = (at("one.json"), at("two.json"));
        for to in [&one, &two] {
            let out = acx(&[
                word,
                "sign",
                &file,
                "--publisher",
                publisher,
                "--key",
                &key,
                "--out",
                to,
            ]);
            assert_eq!(out.status, 0, "{out:#?}");
        }
        assert_eq!(fs::read(&one).unwrap(), fs::read(&two).unwrap());
        let out = acx(&[word, "sign", &file, "--publisher", publisher, "--key", &key]);
        assert_eq!(out.status, 0, "{out:#?}");
        assert_eq!(fs::read(&file).unwrap(), fs::read(&one).unwrap());
        // Signed again, it is what it was.
        let out = acx(&[word, "sign", &file, "--publisher", publisher, "--key", &key]);
        assert_eq!(out.status, 0, "{out:#?}");
        assert_eq!(fs::read(&file).unwrap(), fs::read(&one).unwrap());
        let out = acx(&["check", &file, "--format", "json"]);
        assert_eq!(out.status, 0, "{out:#?}");
        assert_eq!(out.json()["files"][0]["trust"], "portable");

        // What a registry would refuse is not signed, and stays as it is.
        draft["description"] = support::keys::private_pem(&support::keys::seed(3)).into();
        fs::write(&file, draft.to_string()).unwrap();
        let out = acx(&[word, "sign", &file, "--publisher", publisher, "--key", &key]);
        assert_eq!(out.status, 1, "{out:#?}");
        assert!(out.stdout.contains("document-secret"), "{out:#?}");
        assert!(!out.stdout.contains("BEGIN PRIVATE"), "{out:#?}");
        assert_eq!(fs::read_to_string(&file).unwrap(), draft.to_string());
        signed += 1;
    }
    assert!(signed > 5, "{signed}");
}
