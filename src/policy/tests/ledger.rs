use serde_json::json;

use super::*;
use crate::model::ArtifactType;
use crate::policy::{Lifecycle, StatusLedger};

fn artifact(kind: &str, id: &str, version: &str) -> Json {
    json!({
        "artifactType": kind, "publisherId": "io.github.acme", "id": id, "version": version,
        "digest": format!("sha256:{}", "a".repeat(64)),
    })
}

fn ledger() -> Json {
    json!({
        "schemaVersion": "acx.registry-status/1",
        "updatedAt": "2026-08-01T00:00:00Z",
        "entries": [
            {
                "artifact": artifact("workflow", "b.loop", "1.0.0"),
                "status": "withdrawn", "reason": "0123456789", "recordedAt": "2026-08-01T00:00:00Z",
                "successor": null, "advisory": null,
            },
            {
                "artifact": artifact("agent", "smith", "1.0.0"),
                "status": "superseded", "reason": "Replaced by a better build.",
                "recordedAt": "2026-08-01T00:00:00Z",
                "successor": artifact("agent", "smith", "2.0.0"),
                "advisory": "https://acme.example/advisories/1?x=ü#y",
            },
        ],
    })
}

fn parse(document: &Json) -> Result<StatusLedger, ConfigError> {
    StatusLedger::parse(&serde_json::to_vec(document).unwrap())
}

#[test]
fn a_full_ledger() {
    let ledger = parse(&ledger()).unwrap();
    assert_eq!(
        ledger.updated_at.as_ref().unwrap().as_str(),
        "2026-08-01T00:00:00Z"
    );
    assert_eq!(ledger.entries.len(), 2);
    let entry = ledger
        .entry(ArtifactType::Agent, "io.github.acme", "smith", "1.0.0")
        .unwrap();
    assert_eq!(entry.status, Lifecycle::Superseded);
    assert_eq!(
        entry.advisory.as_deref(),
        Some("https://acme.example/advisories/1?x=ü#y")
    );
    let successor = serde_json::to_value(entry.successor.as_ref().unwrap()).unwrap();
    assert_eq!(successor, artifact("agent", "smith", "2.0.0"));
    let entry = ledger
        .entry(ArtifactType::Workflow, "io.github.acme", "b.loop", "1.0.0")
        .unwrap();
    assert_eq!(
        (entry.status, &entry.successor, &entry.advisory),
        (Lifecycle::Withdrawn, &None, &None)
    );
    for (kind, publisher, id, version) in [
        (ArtifactType::Workflow, "io.github.acme", "smith", "1.0.0"),
        (ArtifactType::Agent, "io.github.acm", "smith", "1.0.0"),
        (ArtifactType::Agent, "io.github.acme", "smith", "2.0.0"),
    ] {
        assert!(ledger.entry(kind, publisher, id, version).is_none());
    }
    let none = StatusLedger::default();
    assert!(none.updated_at.is_none() && none.entries.is_empty());
    for status in [
        Lifecycle::Active,
        Lifecycle::Deprecated,
        Lifecycle::Withdrawn,
        Lifecycle::Superseded,
    ] {
        assert_eq!(
            serde_json::to_value(status).unwrap(),
            json!(status.as_str())
        );
    }
}

#[test]
fn refused_fields() {
    let long = "x".repeat(1001);
    for (pointer, value, field, says) in [
        (
            "/schemaVersion",
            json!("acx.registry-status/2"),
            "",
            "expected \"acx.registry-status/1\", found",
        ),
        (
            "/updatedAt",
            json!("yesterday"),
            "",
            "an RFC 3339 time such as",
        ),
        (
            "/updatedAt",
            json!("2026-02-30T00:00:00Z"),
            "",
            "an RFC 3339 time such as",
        ),
        ("/updatedAt", Json::Null, "", "found null"),
        ("/extra", json!(1), "", "unknown field"),
        ("/entries", json!({}), "", "array"),
        ("/entries/1", json!(3), "", "expected an object, found 3"),
        ("/entries/1/Status", json!(1), "", "is \"status\" meant?"),
        (
            "/entries/1/status",
            json!("active"),
            "",
            "one of \"deprecated\", \"withdrawn\", \"superseded\", found \"active\"",
        ),
        (
            "/entries/1/reason",
            json!("too short"),
            "",
            "10 to 1000 characters",
        ),
        (
            "/entries/1/reason",
            json!("   short     "),
            "",
            "10 to 1000 characters",
        ),
        (
            "/entries/1/reason",
            json!(long),
            "",
            "10 to 1000 characters",
        ),
        (
            "/entries/1/recordedAt",
            json!("2026-08-01 00:00:00Z"),
            "",
            "an RFC 3339 time",
        ),
        (
            "/entries/1/recordedAt",
            json!("2026-13-01T00:00:00Z"),
            "",
            "an RFC 3339 time",
        ),
        (
            "/entries/1/advisory",
            json!("http://example.com/a"),
            "",
            "an absolute https URL without a user name, or null, found \"http://example.com/a\"",
        ),
        ("/entries/1/advisory", json!("https://"), "", "https URL"),
        (
            "/entries/1/advisory",
            json!("https://user@example.com/"),
            "",
            "https URL",
        ),
        (
            "/entries/1/advisory",
            json!("https://example.com/a b"),
            "",
            "https URL",
        ),
        (
            "/entries/1/advisory",
            json!("https://example.com/\u{1b}[2J"),
            "",
            "https URL",
        ),
        (
            "/entries/1/advisory",
            json!("javascript:alert(1)//https://x"),
            "",
            "https URL",
        ),
        (
            "/entries/1/successor",
            Json::Null,
            "",
            "the successor of a superseded artifact",
        ),
        (
            "/entries/1/successor",
            artifact("agent", "smith", "1.0.0"),
            "",
            "another coordinate, found the artifact itself",
        ),
        (
            "/entries/1/successor",
            artifact("workflow", "smith", "2.0.0"),
            "/entries/1/successor/artifactType",
            "of the artifact's own type",
        ),
        (
            "/entries/0/successor",
            artifact("agent", "other", "2.0.0"),
            "/entries/0/successor/artifactType",
            "of the artifact's own type",
        ),
        (
            "/entries/1/successor/digest",
            json!("sha256:AA"),
            "",
            "64 lower-case hex digits",
        ),
        (
            "/entries/1/artifact/artifactType",
            json!("skill"),
            "",
            "one of \"agent\"",
        ),
        (
            "/entries/1/artifact/publisherId",
            json!("acme"),
            "",
            "a publisher id",
        ),
        (
            "/entries/1/artifact/id",
            json!("smith.x"),
            "",
            "an artifact id",
        ),
        (
            "/entries/0/artifact/id",
            json!("B"),
            "",
            "an id: a lower-case letter",
        ),
        ("/entries/1/artifact/version", json!("1.0"), "", "SemVer"),
        (
            "/entries/1/artifact/version",
            json!("99999999999999999999.0.0"),
            "",
            "SemVer",
        ),
        (
            "/entries/1/artifact/digest",
            json!("a".repeat(64)),
            "",
            "`sha256:`",
        ),
        ("/entries/1/artifact/path", json!("x"), "", "unknown field"),
        (
            "/entries/0/artifact",
            artifact("agent", "smith", "1.0.0"),
            "/entries/1/artifact",
            "one entry for an artifact, found another for io.github.acme/smith@1.0.0 at /entries/0",
        ),
    ] {
        let mut document = ledger();
        set(&mut document, pointer, Some(value));
        let field = if field.is_empty() { pointer } else { field };
        refused(parse(&document), field, &[says]);
    }
    for pointer in [
        "/schemaVersion",
        "/updatedAt",
        "/entries",
        "/entries/1/artifact",
        "/entries/1/status",
        "/entries/1/reason",
        "/entries/1/recordedAt",
        "/entries/1/artifact/id",
        "/entries/1/artifact/digest",
        "/entries/1/artifact/artifactType",
        "/entries/1/artifact/publisherId",
        "/entries/1/artifact/version",
    ] {
        let mut document = ledger();
        set(&mut document, pointer, None);
        refused(
            parse(&document),
            pointer,
            &["the field is missing", "add it"],
        );
    }
    let mut document = ledger();
    set(&mut document, "/entries/1/successor", None);
    let error = refused(parse(&document), "/entries/1/successor", &[]);
    assert_eq!(
        error.to_string(),
        "status.json: /entries/1/successor: the field is missing: a superseded artifact names its successor; add it"
    );
}

#[test]
fn one_identity_has_one_entry_whatever_its_digest() {
    let mut document = ledger();
    let mut twin = document["entries"][1].clone();
    twin["artifact"]["digest"] = json!(format!("sha256:{}", "b".repeat(64)));
    document["entries"].as_array_mut().unwrap().push(twin);
    refused(parse(&document), "/entries/2/artifact", &["at /entries/1"]);
}

#[test]
fn refused_files() {
    let parse = |bytes: &[u8]| StatusLedger::parse(bytes);
    refused(parse(b""), "", &["not valid JSON"]);
    refused(
        parse(b"[]"),
        "",
        &["expected an object, found an array of 0 items"],
    );
    refused(parse(br#"{"entries":[],"entries":[]}"#), "", &["repeated"]);
    refused(
        parse(&vec![b' '; StatusLedger::MAX_BYTES + 1]),
        "",
        &["at most 8388608 bytes"],
    );
}

#[test]
fn other_cases_that_stand() {
    let mut document = ledger();
    set(
        &mut document,
        "/entries/1/artifact/publisherId",
        Some(json!("io.github.acme/project")),
    );
    set(
        &mut document,
        "/entries/1/status",
        Some(json!("deprecated")),
    );
    set(
        &mut document,
        "/entries/0/artifact/artifactType",
        Some(json!("agent-graph")),
    );
    let ledger = parse(&document).unwrap();
    assert!(
        ledger
            .entry(
                ArtifactType::Agent,
                "io.github.acme/project",
                "smith",
                "1.0.0"
            )
            .is_some()
    );
    assert!(
        ledger
            .entry(
                ArtifactType::AgentGraph,
                "io.github.acme",
                "b.loop",
                "1.0.0"
            )
            .is_some()
    );
}
