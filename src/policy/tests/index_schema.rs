use serde_json::json;

use super::*;
use crate::schema::REGISTRY_INDEX;

const KEYID: &str = "ed25519:bb97facd81dade000c1d790e0ad1addc47733a120c93cfc4af1734262452a57f";

fn digest(c: &str) -> String {
    format!("sha256:{}", c.repeat(64))
}

fn integrity() -> Json {
    json!({
        "schemaVersion": "acx.registry-index-signature/1", "digest": digest("c"), "registryId": "local.registry",
        "keyid": KEYID, "publicKeyPem": "-----BEGIN PUBLIC KEY-----\n", "signedAt": "2026-10-01T00:00:00.000Z",
        "envelope": {
            "payloadType": "application/vnd.in-toto+json", "payload": "e30=",
            "signatures": [{"keyid": KEYID, "sig": "AA=="}],
        },
    })
}

fn additions(entry: &mut Json) {
    entry["keyid"] = json!(KEYID);
    entry["signedAt"] = json!("2026-07-19T08:54:36.000Z");
    entry["sha256"] = json!(digest("d"));
    entry["memories"] = json!({
        "path": "cartridges/io.github.acme/a/1.0.0/cartridge.memories.lance", "rows": 8,
        "schema": "acx.lance-memory/1", "engine": "local-hash-128", "digest": digest("e"),
    });
}

fn index() -> Json {
    let mut cartridge = json!({
        "id": "a", "slug": "io.github.acme__a", "path": "cartridges/io.github.acme/a/1.0.0/cartridge.acx",
        "name": "A", "publisher": "io.github.acme", "role": "qa_engineer", "provider": "custom", "model": null,
        "version": "1.0.0", "description": "d", "license": "Apache-2.0", "authors": [{"name": "x"}], "tags": [],
        "homepage": null, "trust": "trusted", "trustStatus": "verified", "specClean": true,
        "romHash": digest("a"), "digest": digest("a"), "bytes": 90_112,
        "capabilities": [{
            "taskType": "debug", "stack": [], "domain": "backend", "claimedVerified": false, "verified": false,
            "verificationState": "unresolved",
        }],
        "level": null, "levelClaim": {"acxLevel": null, "careerTier": null, "verificationState": "unresolved"},
        "registryStatus": {
            "status": "active", "reason": null, "recordedAt": null, "successor": null, "advisory": null,
        },
        "latest": true,
    });
    additions(&mut cartridge);
    json!({
        "schemaVersion": "acx.registry-index/1", "generatedAt": "2026-10-01T00:00:00.000Z", "artifactCount": 1,
        "count": 1, "cartridges": [cartridge], "workflowCount": 0, "workflows": [], "agentGraphCount": 0,
        "agentGraphs": [], "templateCount": 0, "templates": [], "integrity": integrity(),
    })
}

#[test]
fn our_index_is_described() {
    assert_eq!(REGISTRY_INDEX.defects(&index()), []);
    let mut document = index();
    set(&mut document, "/cartridges/0/memories", Some(Json::Null));
    let level = json!({
        "acxLevel": 26, "careerTier": "principal", "boundToRom": true, "proven": true, "verificationState": "verified",
    });
    set(&mut document, "/cartridges/0/level", Some(level));
    assert_eq!(REGISTRY_INDEX.defects(&document), []);
}

#[test]
fn defects_point_to_the_field() {
    for (pointer, value) in [
        ("/integrity", None),
        ("/integrity/keyid", Some(json!("x"))),
        ("/integrity/extra", Some(json!(1))),
        ("/integrity/envelope/signatures", Some(json!([]))),
        ("/generatedAt", Some(json!("today"))),
        ("/count", Some(json!(-1))),
        ("/extra", Some(json!(1))),
        ("/cartridges/0/keyid", None),
        ("/cartridges/0/signedAt", None),
        ("/cartridges/0/sha256", None),
        ("/cartridges/0/memories", None),
        ("/cartridges/0/memories/rows", Some(json!(0))),
        ("/cartridges/0/memories/digest", None),
        ("/cartridges/0/trust", Some(json!("local"))),
        ("/cartridges/0/trust", Some(json!("tampered"))),
        (
            "/cartridges/0/path",
            Some(json!("cartridges/a/cartridge.acx")),
        ),
        ("/cartridges/0/romHash", Some(json!("sha256:A"))),
        ("/cartridges/0/unknown", Some(json!(1))),
        ("/cartridges/0/registryStatus/status", Some(json!("gone"))),
        ("/cartridges/0/levelClaim/verificationState", None),
        ("/cartridges/0/capabilities/0/verified", Some(json!("no"))),
        ("/workflows", Some(json!({}))),
    ] {
        let mut document = index();
        set(&mut document, pointer, value);
        let defects = REGISTRY_INDEX.defects(&document);
        let pointers: Vec<&str> = defects.iter().map(|(p, _)| p.as_str()).collect();
        assert_eq!(pointers, [pointer], "{defects:?}");
    }
    let mut document = index();
    set(
        &mut document,
        "/workflows",
        Some(json!([{"path": "p", "version": "1.0.0"}])),
    );
    let missed = REGISTRY_INDEX.defects(&document);
    assert!(
        missed.iter().any(|(p, _)| p == "/workflows/0/id"),
        "{missed:?}"
    );
}

#[test]
fn the_published_index_is_described_once_it_has_our_additions() {
    for (folder, file) in [
        ("real-registry", "index.json"),
        ("documents", "expected-index.json"),
    ] {
        let Some(root) = reference(folder) else {
            return;
        };
        let mut document: Json =
            serde_json::from_slice(&std::fs::read(root.join(file)).unwrap()).unwrap();
        // Without them, each is missed and nothing else is.
        let missed = REGISTRY_INDEX.defects(&document);
        let cartridges = document["cartridges"].as_array().unwrap().len();
        let documents = ["workflows", "agentGraphs"];
        let signed: usize = documents
            .iter()
            .map(|name| document[name].as_array().unwrap().len())
            .sum();
        // No more than 20 are listed.
        assert_eq!(
            missed.len(),
            (1 + 4 * cartridges + 3 * signed).min(20),
            "{missed:?}"
        );
        assert!(
            missed.iter().all(|(_, m)| m.contains("missing")),
            "{missed:?}"
        );
        for entry in document["cartridges"].as_array_mut().unwrap() {
            additions(entry);
        }
        for name in documents {
            for entry in document[name].as_array_mut().unwrap() {
                additions(entry);
                entry.as_object_mut().unwrap().remove("memories");
            }
        }
        document["integrity"] = integrity();
        assert_eq!(REGISTRY_INDEX.defects(&document), []);
    }
}
