//! Memory and capability records, credentials and skills: what a clean cartridge holds, as data that a test may bend.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::jcs::jcs;
use super::keys::{hex, sha256};

/// One row of `memory`. Each column follows from the record unless it is set.
#[derive(Clone)]
pub struct Memory {
    /// The record.
    pub record: Value,
    /// The payload text in place of the record's canonical form.
    pub payload: Option<String>,
    pub id: Option<String>,
    pub zone: Option<String>,
    pub artifact_fingerprint: Option<String>,
    pub codebase_fingerprint: Option<Option<String>>,
    pub oid: Option<String>,
}

impl Memory {
    /// A row that agrees with its record, whose fingerprint is left as it is.
    pub fn of(record: Value) -> Self {
        Self {
            record,
            payload: None,
            id: None,
            zone: None,
            artifact_fingerprint: None,
            codebase_fingerprint: None,
            oid: None,
        }
    }

    /// A row that agrees with its record, whose fingerprint is computed anew.
    pub fn sealed(mut record: Value) -> Self {
        record["artifactFingerprint"] = artifact_fingerprint(&record).into();
        Self::of(record)
    }

    pub fn payload(&self) -> String {
        self.payload.clone().unwrap_or_else(|| jcs(&self.record))
    }

    pub fn id(&self) -> String {
        self.id.clone().unwrap_or_else(|| text(&self.record, "id"))
    }

    pub fn zone(&self) -> String {
        self.zone
            .clone()
            .unwrap_or_else(|| text(&self.record, "zone"))
    }

    pub fn artifact_fingerprint(&self) -> String {
        self.artifact_fingerprint
            .clone()
            .unwrap_or_else(|| text(&self.record, "artifactFingerprint"))
    }

    pub fn codebase_fingerprint(&self) -> Option<String> {
        self.codebase_fingerprint.clone().unwrap_or_else(|| {
            self.record["codebaseFingerprint"]
                .as_str()
                .map(str::to_owned)
        })
    }

    pub fn oid(&self) -> String {
        self.oid
            .clone()
            .unwrap_or_else(|| sha256(self.payload().as_bytes()))
    }
}

fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_default().to_owned()
}

/// The artifact fingerprint of a record.
pub fn artifact_fingerprint(record: &Value) -> String {
    let folded = |name: &str| text(record, name).trim().to_lowercase();
    let mut tags: Vec<String> = record["tags"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|t| t.as_str().unwrap_or_default().to_lowercase())
        .collect();
    tags.sort();
    let identity = json!({
        "title": folded("title"),
        "summary": folded("summary"),
        "sourceType": folded("sourceType"),
        "repoId": record["repoId"],
        "projectLabel": folded("projectLabel"),
        "timestamp": record["timestamp"],
        "impact": record["impact"],
        "xpAwarded": record["xpAwarded"],
        "tags": tags,
    });
    let digest = sha1::Sha1::digest(jcs(&identity));
    hex(&digest)[..10].to_owned()
}

/// The portable memory record number `n`.
pub fn portable(n: usize) -> Value {
    let impact = ["positive", "neutral", "negative"][n % 3];
    json!({
        "artifactFingerprint": "",
        "codebaseFingerprint": null,
        "id": format!("m{n}"),
        "impact": impact,
        "markdownPath": format!("knowledge/m{n}.md"),
        "origin": "native",
        "portable": true,
        "projectLabel": "portable-core",
        "repoId": null,
        "repoLabel": "portable-core",
        "sourceType": "knowledge",
        "summary": format!("What was learned in case {n}: warm the cache before the first build."),
        "tags": ["builds", "caching"],
        "timestamp": "2026-07-01T00:00:00.000Z",
        "title": format!("Lesson {n}"),
        "xpAwarded": 10 + n % 50,
        "zone": "rom",
    })
}

/// The field-learned memory record number `n`, as one installation would keep it in its SAVE zone.
pub fn field_learned(n: usize) -> Value {
    let mut record = portable(n);
    record["codebaseFingerprint"] =
        format!("cbf1_{}", &hex(&Sha256::digest("a codebase"))[..40]).into();
    record["foreign"] = true.into();
    record["portable"] = false.into();
    record["projectLabel"] = "field-learned".into();
    record["repoLabel"] = "field-learned".into();
    record["zone"] = "save".into();
    record
}

/// One row of `capabilities`. Each column follows from the record unless it is set.
#[derive(Clone)]
pub struct Capability {
    pub record: Value,
    pub json: Option<String>,
    pub id: Option<String>,
    pub content_hash: Option<String>,
}

impl Capability {
    /// A row that agrees with its record, whose id is left as it is.
    pub fn of(record: Value) -> Self {
        Self {
            record,
            json: None,
            id: None,
            content_hash: None,
        }
    }

    /// A row that agrees with its record, whose id is computed anew.
    pub fn sealed(mut record: Value) -> Self {
        record["id"] = capability_id(&record).into();
        Self::of(record)
    }

    pub fn json(&self) -> String {
        self.json.clone().unwrap_or_else(|| jcs(&self.record))
    }

    pub fn id(&self) -> String {
        self.id.clone().unwrap_or_else(|| text(&self.record, "id"))
    }

    pub fn content_hash(&self) -> String {
        self.content_hash
            .clone()
            .unwrap_or_else(|| sha256(jcs(&self.record).as_bytes()))
    }
}

/// The id that a capability record's content gives.
pub fn capability_id(record: &Value) -> String {
    let mut stack: Vec<&str> = record["stack"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    stack.sort_unstable();
    let identity = format!(
        "{}|{}|{}",
        text(record, "taskType"),
        stack.join(","),
        text(record, "domain")
    );
    format!("cap-{}", &hex(&Sha256::digest(identity))[..16])
}

/// A capability record without its id; [`Capability::sealed`] gives it.
pub fn capability(task: &str, stack: &[&str], domain: &str) -> Value {
    json!({
        "createdAt": "2026-07-16T00:00:00.000Z",
        "domain": domain,
        "evidenceRefs": [],
        "id": "",
        "lastDemonstratedAt": "2026-07-16T00:00:00.000Z",
        "license": "LicenseRef-acx-proprietary",
        "proficiency": {
            "confidence": 0, "mu": 25, "scale": "acx.proficiency/trueskill-1", "score": 0, "sigma": 8.333,
            "verified": false,
        },
        "sampleCount": 0,
        "schemaVersion": "acx.capability/1",
        "stack": stack,
        "taskType": task,
        "updatedAt": "2026-07-16T00:00:00.000Z",
    })
}

/// One row of `attestations`.
#[derive(Clone)]
pub struct Attestation {
    pub att_id: String,
    pub kind: String,
    pub document: String,
}

/// An embedded level credential, which nobody has resolved.
pub fn level_credential() -> Attestation {
    let document = json!({
        "id": "urn:uuid:1",
        "type": ["VerifiableCredential"],
        "issuer": {"id": "did:web:verifier.example"},
        "credentialSubject": {"result": [{"acx:acxLevel": 28, "acx:careerTier": "principal"}]},
    });
    Attestation {
        att_id: "level-1".to_owned(),
        kind: "vc-2.0".to_owned(),
        document: document.to_string(),
    }
}

/// A SKILL.md for the folder `name`.
pub fn skill_md(name: &str) -> String {
    format!(
        "---\nname: {name}\ndescription: What {name} knows. Use when a task calls for it.\nlicense: Apache-2.0\n\
         metadata:\n  version: 1.0.0\n---\n\n# {name}\n\nMeasure first.\n"
    )
}
