//! Signed workflows and Agent Graphs, made and signed from the published rules alone.

use serde_json::{Value, json};

use super::{envelope, jcs, keys};

/// When the documents of these tests are signed.
pub const SIGNED_AT: &str = "2026-07-16T09:30:00.000Z";

/// A document of a registry: what it says, and where it belongs.
#[derive(Clone)]
pub struct Document {
    pub value: Value,
}

fn shared_members(value: &mut Value, id: &str, version: &str, name: &str) {
    value["id"] = id.into();
    value["version"] = version.into();
    value["name"] = name.into();
    value["description"] = format!("{name}: made for a test of the registry.").into();
    value["license"] = "Apache-2.0".into();
    value["authors"] = json!([{"name": "Acme Studio"}]);
    value["tags"] = json!(["conformance"]);
}

/// A workflow of one step by one participant, `builder`.
pub fn workflow(publisher: &str, id: &str, version: &str, seed: u8) -> Document {
    let mut value = json!({"schemaVersion": "acx.cal/1"});
    shared_members(&mut value, id, version, "Delivery pipeline");
    value["participants"] =
        json!([{"alias": "builder", "bind": "slot", "slot": {"role": "backend_dev"}}]);
    value["start"] = "build".into();
    value["nodes"] = json!([
        {"id": "build", "type": "task", "agent": "builder", "completion": {"type": "artifact", "produces": "change"}},
        {"id": "done", "type": "event", "event": "end"},
    ]);
    value["edges"] = json!([{"from": "build", "to": "done"}]);
    Document::signed(value, publisher, seed)
}

/// A graph of two actors, with a loop for each pinned workflow that binds one of them as `builder`.
pub fn graph(publisher: &str, id: &str, version: &str, seed: u8, pinned: &[&Document]) -> Document {
    let mut value = json!({"schemaVersion": "acx.agent-graph/1"});
    shared_members(&mut value, id, version, "Team of stewards");
    value["actors"] = json!([
        {"id": "lead", "kind": "human", "description": "Asks."},
        {"id": "builder", "kind": "agent", "description": "Answers."},
    ]);
    value["knowledge"] = json!([
        {"id": "brief", "kind": "intent", "description": "What is wanted.", "stewards": ["lead"]},
    ]);
    value["routes"] = json!([{
        "id": "ask", "from": "lead", "to": ["builder"], "intent": "request", "obligation": "should",
        "purpose": "Carries brief from lead.", "carries": ["brief"], "triggers": [{"type": "manual"}],
    }]);
    value["limits"] = json!({"maxPropagationHops": 1, "maxFanout": 1});
    let loops = pinned.iter().enumerate().map(|(n, workflow)| {
        json!({
            "id": format!("loop{n}"), "kind": "acx-workflow", "description": "A loop.",
            "workflowRef": {
                "publisherId": workflow.value["integrity"]["publisherId"], "id": workflow.value["id"],
                "version": workflow.value["version"], "digest": workflow.value["integrity"]["digest"],
            },
            "actorBindings": [{"actor": "builder", "participants": ["builder"]}],
            "imports": ["brief"],
        })
    });
    value["loops"] = loops.collect();
    Document::signed(value, publisher, seed)
}

impl Document {
    /// This content, signed.
    pub fn signed(mut value: Value, publisher: &str, seed: u8) -> Self {
        sign(&mut value, publisher, seed, SIGNED_AT);
        Self { value }
    }

    /// The same with a change, signed anew by this key.
    pub fn changed(&self, seed: u8, change: impl FnOnce(&mut Value)) -> Self {
        let mut value = self.value.clone();
        let publisher = text(&value["integrity"]["publisherId"]).to_owned();
        change(&mut value);
        Self::signed(value, &publisher, seed)
    }

    /// Its file.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec_pretty(&self.value).expect("a JSON value prints");
        bytes.push(b'\n');
        bytes
    }

    /// Where it belongs.
    pub fn path(&self) -> String {
        let publisher = text(&self.value["integrity"]["publisherId"]);
        let (id, version) = (text(&self.value["id"]), text(&self.value["version"]));
        if self.is_graph() {
            format!("graphs/{publisher}/{id}/{version}.agent-graph.json")
        } else {
            format!("cals/{publisher}/{id}/{version}.cal.json")
        }
    }

    /// How a ledger names it.
    pub fn artifact(&self) -> Value {
        json!({
            "artifactType": if self.is_graph() { "agent-graph" } else { "workflow" },
            "publisherId": self.value["integrity"]["publisherId"],
            "id": self.value["id"],
            "version": self.value["version"],
            "digest": self.value["integrity"]["digest"],
        })
    }

    /// What a ledger says of it.
    pub fn ledger_entry(&self, status: &str) -> Value {
        json!({
            "artifact": self.artifact(),
            "status": status,
            "reason": "Set so by a test of the registry.",
            "recordedAt": "2026-08-01T00:00:00Z",
        })
    }

    fn is_graph(&self) -> bool {
        self.value["schemaVersion"] == "acx.agent-graph/1"
    }
}

/// The text; an empty one of what is no text, which a hostile document may have.
fn word_of(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

/// Puts `integrity` at a document's end, in place of what was there.
pub fn sign(document: &mut Value, publisher: &str, seed: u8, signed_at: &str) {
    sign_saying(document, publisher, seed, signed_at, &[]);
}

/// As [`sign`], with more in the statement's predicate.
pub fn sign_saying(
    document: &mut Value,
    publisher: &str,
    seed: u8,
    signed_at: &str,
    more: &[(&str, &str)],
) {
    let seed = keys::seed(seed);
    let members = document.as_object_mut().expect("an object");
    members.shift_remove("integrity");
    let digest = keys::sha256(jcs::jcs(document).as_bytes());
    let hex = digest.trim_start_matches("sha256:");
    let is_graph = document["schemaVersion"] == "acx.agent-graph/1";
    let (urn, word) = if is_graph {
        ("agent-graph", "agentGraph")
    } else {
        ("workflow", "workflow")
    };
    let mut predicate = json!({
        "acxSchemaVersion": document["schemaVersion"],
        format!("{word}Id"): document["id"],
        format!("{word}Version"): document["version"],
        format!("{word}Digest"): digest,
        "publisherId": publisher,
        "signedAt": signed_at,
    });
    let counted: &[(&str, &str)] = if is_graph {
        &[
            ("actors", "actors"),
            ("knowledgeModules", "knowledge"),
            ("routes", "routes"),
            ("loops", "loops"),
            ("convergencePoints", "convergence"),
        ]
    } else {
        &[("participants", "participants"), ("nodes", "nodes")]
    };
    for (name, list) in counted {
        predicate[*name] = document[*list].as_array().map_or(0, Vec::len).into();
    }
    for (name, says) in more {
        predicate[*name] = (*says).into();
    }
    let statement = jcs::jcs(&json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{
            "name": format!("urn:acx:{urn}:{}@{}", word_of(&document["id"]), word_of(&document["version"])),
            "digest": {"sha256": hex},
        }],
        "predicateType": format!("https://acx.dev/attestation/{urn}/v1"),
        "predicate": predicate,
    }));
    let payload_type = "application/vnd.in-toto+json";
    let (type_length, length) = (payload_type.len(), statement.len());
    let pae = format!("DSSEv1 {type_length} {payload_type} {length} {statement}");
    let public = keys::public(&seed);
    let keyid = keys::keyid(&public);
    let encode = |bytes: &[u8]| envelope::Base64::Standard.encode(bytes);
    document["integrity"] = json!({
        "schemaVersion": format!("acx.{urn}-signature/1"),
        "digest": digest,
        "publisherId": publisher,
        "keyid": keyid,
        "publicKeyPem": keys::public_pem(&public),
        "signedAt": signed_at,
        "envelope": {
            "payloadType": payload_type,
            "payload": encode(statement.as_bytes()),
            "signatures": [{"keyid": keyid, "sig": encode(&keys::sign(&seed, pae.as_bytes()))}],
        },
    });
}
