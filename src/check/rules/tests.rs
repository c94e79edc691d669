//! Each content rule is tripped by its mutation of a valid cartridge, and no other rule is.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr
)]

use std::collections::BTreeSet;
use std::path::Path;

use rusqlite::{Connection, OpenFlags, Row};
use serde_json::json;
use sha1::Digest as _;

use super::RULES;
use crate::check::evidence;
use crate::check::{CapabilityItem, Check, Context, Documents, MemoryItem, Scope, Sink};
use crate::container::{
    ArchiveFile, AttestationRow, CapabilityRow, Cartridge, MemoryRow, ObjectRow, SkillRow,
    VectorCounts, Zone,
};
use crate::finding::{Family, Finding, Severity};
use crate::model::json::{canonical, parse};
use crate::model::{Digest, Json, Timestamp};
use crate::policy::{Policy, TrustRegistry};

const CONTENT: [Family; 8] = [
    Family::PackageSpec,
    Family::Memory,
    Family::Capability,
    Family::Lance,
    Family::SaveZone,
    Family::Skill,
    Family::Harness,
    Family::LoopContext,
];

const SPEC: &str = "rom/package-spec.json";
const LANCE: &str = "rom/schema/lance-memory.json";
const HARNESS: &str = "rom/manifest/harness-requirements.json";
const LOOP: &str = "rom/policy/loop-context-policy.json";
const SKILL: &str = "rom/skills/builds/SKILL.md";

/// What the content rules say of a cartridge.
fn findings(cartridge: &Cartridge) -> Vec<Finding> {
    let policy = Policy::default();
    let trust = TrustRegistry::default();
    let now = Timestamp::from_unix(1_800_000_000).unwrap();
    let documents = Documents::of(cartridge);
    let context = Context {
        bytes: &[],
        cartridge,
        documents: &documents,
        evidence: &evidence::gather(cartridge, &trust, &[], &now),
        policy: &policy,
        trust: &trust,
        now: &now,
    };
    let mut findings = Vec::new();
    for rule in RULES.iter().filter(|rule| CONTENT.contains(&rule.family)) {
        let mut sink = Sink::new(rule, "a.acx", Some(rule.level), &mut findings);
        match rule.check {
            Check::Cartridge(check) => check(&context, &mut sink),
            Check::Memory(check) => {
                for row in &cartridge.memory {
                    let payload = &parse(row.payload.as_bytes());
                    check(&context, &MemoryItem { row, payload }, &mut sink);
                }
            }
            Check::Capability(check) => {
                for row in &cartridge.capabilities {
                    let record = &parse(row.json.as_bytes());
                    check(&context, &CapabilityItem { row, record }, &mut sink);
                }
            }
            Check::Registry => {}
            Check::Fault(_) | Check::Evidence(_) | Check::Document(_) => {
                panic!("{} is no content rule", rule.code)
            }
        }
    }
    findings
}

fn codes(cartridge: &Cartridge) -> BTreeSet<&'static str> {
    findings(cartridge)
        .iter()
        .map(|finding| finding.code)
        .collect()
}

fn text(value: &Json) -> String {
    String::from_utf8(canonical(value)).unwrap()
}

fn file(name: &str, data: impl Into<Vec<u8>>) -> ArchiveFile {
    let data = data.into();
    ArchiveFile {
        name: name.to_owned(),
        digest: Digest::of(&data),
        data,
    }
}

fn spec() -> Json {
    json!({
        "schemaVersion": "acx.package-spec/1",
        "cartridgeId": "io.github.acme/smith@52f7b3d4-e322-5c94-9c15-e6a6b8d1e626",
        "specVersion": "0.1",
        "embeddingEngine": {"id": "local-hash-128", "dim": 128},
        "artifacts": [
            {"role": "identity", "kind": "meta", "schema": "acx.cartridge-meta/1", "required": true},
            {"role": "memory-baseline", "kind": "table", "table": "memory", "mediaType": "application/json",
             "schema": "acx.memory-record.v1", "required": true, "count": 1},
            {"role": "memory-vectors", "kind": "lance", "path": "vectors/memories.lance",
             "schema": "acx.lance-memory/1", "required": false, "signed": false, "reindexOnImport": true,
             "descriptor": LANCE},
            {"role": "skills", "kind": "sqlar", "path": "rom/skills/", "schema": "acx.skill/1", "required": false,
             "count": 1},
            {"role": "capabilities", "kind": "table", "table": "capabilities", "schema": "acx.capability/1",
             "required": false, "count": 1},
            {"role": "harness", "kind": "sqlar", "path": HARNESS, "schema": "acx.harness.v1", "required": true},
            {"role": "loop-context", "kind": "sqlar", "path": LOOP, "schema": "acx.loop-context-policy/1.1",
             "required": true},
            {"role": "level", "kind": "attestation", "schema": "acx.level-credential.v1", "required": false,
             "count": 1},
        ],
    })
}

fn descriptor() -> Json {
    let columns: Vec<Json> = [
        ("id", "utf8", false),
        ("zone", "utf8", false),
        ("portable", "bool", false),
        ("artifact_fingerprint", "utf8", false),
        ("codebase_fingerprint", "utf8", true),
        ("title", "utf8", false),
        ("summary", "utf8", false),
        ("source_type", "utf8", false),
        ("tags", "list<utf8>", false),
        ("impact", "utf8", false),
        ("xp_awarded", "int32", false),
        ("timestamp", "utf8", false),
        ("text", "utf8", false),
        ("vector", "fixed_size_list<float32, 128>", false),
    ]
    .into_iter()
    .map(|(name, kind, nullable)| {
        let mut column = json!({"name": name, "type": kind, "nullable": nullable});
        match name {
            "zone" => column["enum"] = json!(["rom", "save"]),
            "impact" => column["enum"] = json!(["positive", "neutral", "negative"]),
            "vector" => column["sizeFromEngine"] = json!(true),
            _ => {}
        }
        column
    })
    .collect();
    json!({
        "schemaVersion": "acx.lance-memory/1", "format": "lancedb", "table": "memories", "partitionBy": "zone",
        "distanceMetric": "cosine", "embeddingEngine": {"id": "local-hash-128", "dim": 128},
        "textTemplate": "title + \"\\n\\n\" + summary", "columns": columns,
    })
}

fn tool(role: &str, scope: &str) -> Json {
    json!({"role": role, "tier": "required", "capabilityScopes": [scope], "name": "n", "description": "d",
        "inputSchema": {"type": "object"}})
}

fn harness() -> Json {
    json!({
        "schemaVersion": "acx.harness.v1",
        "mcp": {"minProtocolRevision": "2024-11-05", "preferredProtocolRevision": "2025-11-25"},
        "model": {"toolUse": true, "minContextWindowTokens": 100_000},
        "requiredTools": [tool("acx:execute", "exec"), tool("acx:dispatch", "dispatch"),
            tool("acx:memory.write", "memory.write"), tool("acx:search", "x-own")],
        "filesystem": {"read": []},
    })
}

fn loop_policy() -> Json {
    json!({
        "schemaVersion": "acx.loop-context-policy/1.1",
        "loop": {"maxTurns": 40, "cycle": ["plan", "act", "verify"],
            "stopConditions": [{"when": "completed", "action": "stop"}]},
        "context": {"retrieval": "just_in_time", "embeddingEngineId": "local-hash-128"},
        "hints": {},
    })
}

fn record() -> Json {
    json!({
        "id": "m1", "title": "Cache the Build", "summary": "Reuse what did not change.", "sourceType": "knowledge",
        "portable": true, "codebaseFingerprint": null, "repoId": null, "projectLabel": "portable-core",
        "timestamp": "2026-07-01T00:00:00.000Z", "impact": "positive", "xpAwarded": 20, "tags": ["Builds", "a"],
        "artifactFingerprint": "", "zone": "rom", "similarity": 0.5,
    })
}

fn capability() -> Json {
    json!({
        "schemaVersion": "acx.capability/1", "id": "cap-ba1c443a20fa23cc", "taskType": "implement-feature",
        "stack": ["pkg:generic/python"], "domain": "backend",
        "proficiency": {"scale": "acx.proficiency/trueskill-1", "mu": 25, "sigma": 8.333, "score": 0,
            "confidence": 0, "verified": false},
        "evidenceRefs": [], "sampleCount": 0, "lastDemonstratedAt": "2026-07-16T00:00:00.000Z",
        "createdAt": "2026-07-16T00:00:00.000Z", "updatedAt": "2026-07-16T00:00:00Z",
    })
}

/// The fingerprint by its definition, for text that is ASCII.
fn fingerprint(record: &Json) -> Option<String> {
    let normal = |field: &str| {
        record[field]
            .as_str()
            .map(|t| t.trim().to_ascii_lowercase())
    };
    let mut tags: Vec<String> = Vec::new();
    for tag in record["tags"].as_array()? {
        tags.push(tag.as_str()?.to_ascii_lowercase());
    }
    tags.sort();
    let content = json!({
        "title": normal("title")?, "summary": normal("summary")?, "sourceType": normal("sourceType")?,
        "repoId": record["repoId"], "projectLabel": normal("projectLabel")?, "timestamp": record["timestamp"],
        "impact": record["impact"], "xpAwarded": record["xpAwarded"], "tags": tags,
    });
    let digest = sha1::Sha1::digest(serde_jcs::to_vec(&content).unwrap());
    Some(
        digest
            .iter()
            .take(5)
            .map(|byte| format!("{byte:02x}"))
            .collect(),
    )
}

/// Stores a record as a row that agrees with it in everything.
fn store(record: &mut Json) -> MemoryRow {
    if let Some(print) = fingerprint(record) {
        record["artifactFingerprint"] = json!(print);
    }
    MemoryRow {
        id: record["id"].as_str().unwrap_or("m1").to_owned(),
        zone: Zone::of_text(record["zone"].as_str().unwrap_or_default()).unwrap_or(Zone::Rom),
        artifact_fingerprint: record["artifactFingerprint"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
        codebase_fingerprint: record["codebaseFingerprint"].as_str().map(str::to_owned),
        payload: text(record),
        oid: Digest::of(text(record).as_bytes()).to_string(),
    }
}

fn claim(record: &Json) -> CapabilityRow {
    CapabilityRow {
        id: record["id"]
            .as_str()
            .unwrap_or("cap-ba1c443a20fa23cc")
            .to_owned(),
        json: text(record),
        content_hash: Digest::of(text(record).as_bytes()).to_string(),
    }
}

fn valid() -> Cartridge {
    let meta = [
        ("acx.agent_name", "Build Smith"),
        ("acx.artifact_id", "smith"),
        ("acx.artifact_version", "1.0.0"),
        (
            "acx.authors",
            r#"[{"name":"A"},{"name":"B","url":"https://b.example/x"}]"#,
        ),
        (
            "acx.cartridge_id",
            "io.github.acme/smith@52f7b3d4-e322-5c94-9c15-e6a6b8d1e626",
        ),
        ("acx.created_at", "2026-07-16T00:00:00.000Z"),
        ("acx.description", "Knows builds."),
        (
            "acx.embedding_engine",
            r#"{"id":"local-hash-128","dim":128}"#,
        ),
        ("acx.homepage", "https://acme.example/"),
        ("acx.lance_schema", LANCE),
        ("acx.package_spec", SPEC),
        ("acx.publisher_id", "io.github.acme"),
        ("acx.save_codebase_fingerprint", ""),
        ("acx.spec_version", "0.1"),
        ("acx.tags", r#"["builds"]"#),
        ("other.key", "kept as it is"),
    ];
    Cartridge {
        bytes: 1,
        sha256: Digest::of(b""),
        meta: meta
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into(),
        files: vec![
            file(HARNESS, text(&harness())),
            file(SPEC, text(&spec())),
            file(LOOP, text(&loop_policy())),
            file(LANCE, text(&descriptor())),
            file(
                SKILL,
                "---\nname: builds\ndescription: Knows builds.\nlicense: MIT\nmetadata:\n  version: 1.0.0\n---\n# B\n",
            ),
        ],
        memory: vec![store(&mut record())],
        objects: vec![ObjectRow {
            oid: "sha256:0".to_owned(),
            kind: "memory".to_owned(),
            source_ref: "memory:m1".to_owned(),
            canon: "jcs-rfc8785".to_owned(),
            zone: Zone::Rom,
            sz: 1,
        }],
        signatures: Vec::new(),
        attestations: vec![AttestationRow {
            att_id: "level-1".to_owned(),
            kind: "vc-2.0".to_owned(),
            document: r#"{"id":"urn:uuid:1","credentialStatus":{"id":"https://acx.example/1#0"}}"#
                .to_owned(),
            created_at: "2026-07-16T00:00:00.000Z".to_owned(),
        }],
        skills: Vec::new(),
        capabilities: vec![claim(&capability())],
        vectors: VectorCounts {
            rom: 1,
            save: 0,
            opaque: 0,
        },
    }
}

/// Replaces a document of the archive.
fn edit(cartridge: &mut Cartridge, name: &str, change: impl FnOnce(&mut Json)) {
    let at = cartridge.files.iter().position(|f| f.name == name).unwrap();
    let mut document = parse(&cartridge.files[at].data).unwrap();
    change(&mut document);
    cartridge.files[at] = file(name, text(&document));
}

fn put(cartridge: &mut Cartridge, name: &str, data: &str) {
    cartridge.files.retain(|f| f.name != name);
    cartridge.files.push(file(name, data));
    cartridge.files.sort_by(|a, b| a.name.cmp(&b.name));
}

fn remove(cartridge: &mut Cartridge, name: &str) {
    cartridge.files.retain(|f| f.name != name);
}

fn meta(cartridge: &mut Cartridge, key: &str, value: &str) {
    cartridge.meta.insert(key.to_owned(), value.to_owned());
}

/// Replaces the memory record, with a row that agrees with it.
fn memory(cartridge: &mut Cartridge, change: impl FnOnce(&mut Json)) {
    let mut record = record();
    change(&mut record);
    cartridge.memory = vec![store(&mut record)];
}

/// Replaces the capability record, with a row that agrees with it.
fn capable(cartridge: &mut Cartridge, change: impl FnOnce(&mut Json)) {
    let mut record = capability();
    change(&mut record);
    cartridge.capabilities = vec![claim(&record)];
}

fn field_learned(record: &mut Json) {
    record["portable"] = json!(false);
    record["zone"] = json!("save");
    record["codebaseFingerprint"] = json!(format!("cbf1_{}", "0a".repeat(20)));
}

type Mutation = (&'static str, fn(&mut Cartridge));

/// Mutations that trip exactly one rule; each rule has one at least.
const MUTATIONS: &[Mutation] = &[
    ("metadata-missing", |c| {
        drop(c.meta.remove("acx.agent_name"))
    }),
    ("metadata-missing", |c| {
        drop(c.meta.remove("acx.embedding_engine"))
    }),
    ("metadata-missing", |c| {
        drop(c.meta.remove("acx.cartridge_id"))
    }),
    ("metadata-invalid", |c| {
        meta(c, "acx.artifact_version", "1.0")
    }),
    ("metadata-invalid", |c| meta(c, "acx.artifact_id", "smith2")),
    ("metadata-invalid", |c| meta(c, "acx.publisher_id", "acme")),
    ("metadata-invalid", |c| {
        meta(c, "acx.created_at", "2026-07-16")
    }),
    ("metadata-invalid", |c| meta(c, "acx.agent_name", "")),
    ("metadata-invalid", |c| {
        meta(c, "acx.description", &"x".repeat(5_000))
    }),
    ("metadata-invalid", |c| {
        meta(c, "acx.embedding_engine", r#"{"id":"a","dim":0}"#)
    }),
    ("metadata-invalid", |c| {
        meta(c, "acx.embedding_engine", r#"{"id":"a","dim":65537}"#)
    }),
    ("metadata-invalid", |c| {
        meta(c, "acx.embedding_engine", r#"{"id":"a","dim":1.5}"#)
    }),
    ("metadata-invalid", |c| {
        meta(c, "acx.embedding_engine", r#"{"id":"a","dim":1,"x":1}"#)
    }),
    ("metadata-invalid", |c| {
        meta(c, "acx.embedding_engine", "local-hash-128")
    }),
    ("metadata-invalid", |c| meta(c, "acx.authors", "[]x")),
    ("metadata-invalid", |c| meta(c, "acx.authors", r#"["A"]"#)),
    ("metadata-invalid", |c| {
        meta(c, "acx.authors", r#"[{"name":"A","mail":"x"}]"#)
    }),
    ("metadata-invalid", |c| {
        meta(
            c,
            "acx.authors",
            r#"[{"name":"A","url":"javascript:alert(1)"}]"#,
        )
    }),
    ("metadata-invalid", |c| meta(c, "acx.tags", "{}")),
    ("metadata-invalid", |c| meta(c, "acx.tags", "[1]")),
    ("metadata-invalid", |c| {
        meta(c, "acx.homepage", "ftp://a.example")
    }),
    ("metadata-invalid", |c| {
        meta(c, "acx.homepage", "https:///x")
    }),
    ("metadata-invalid", |c| {
        meta(c, "acx.package_spec", "rom/spec.json")
    }),
    ("metadata-invalid", |c| {
        meta(c, "acx.lance_schema", "save/x.json")
    }),
    ("spec-absent", |c| remove(c, SPEC)),
    ("spec-json", |c| put(c, SPEC, "{")),
    ("spec-json", |c| put(c, SPEC, r#"{"a":1,"a":1}"#)),
    ("spec-json", |c| {
        put(c, SPEC, &format!("[{}]", "1,".repeat(1 << 20)))
    }),
    ("spec-schema", |c| {
        edit(c, SPEC, |s| s["artifacts"][0]["required"] = json!(false))
    }),
    ("spec-schema", |c| {
        edit(c, SPEC, |s| s["artifacts"][0]["count"] = json!(1))
    }),
    ("spec-schema", |c| {
        edit(c, SPEC, |s| s["artifacts"][2]["signed"] = json!(true))
    }),
    ("spec-schema", |c| {
        edit(c, SPEC, |s| s["artifacts"][1]["count"] = json!(-1))
    }),
    ("spec-schema", |c| {
        edit(c, SPEC, |s| {
            drop(s["artifacts"].as_array_mut().unwrap().pop())
        })
    }),
    ("spec-schema", |c| {
        edit(c, SPEC, |s| s["artifacts"][7] = s["artifacts"][0].clone())
    }),
    ("spec-schema", |c| edit(c, SPEC, |s| s["extra"] = json!(1))),
    ("spec-schema", |c| {
        edit(c, SPEC, |s| s["embeddingEngine"]["x"] = json!(1))
    }),
    ("spec-schema", |c| put(c, SPEC, "[]")),
    ("spec-metadata", |c| {
        edit(c, SPEC, |s| s["cartridgeId"] = json!("x"))
    }),
    ("spec-metadata", |c| {
        edit(c, SPEC, |s| s["specVersion"] = json!("0.2"))
    }),
    ("spec-metadata", |c| {
        edit(c, SPEC, |s| s["embeddingEngine"]["dim"] = json!(64))
    }),
    ("spec-required-file", |c| remove(c, HARNESS)),
    ("spec-required-file", |c| remove(c, LOOP)),
    ("spec-count", |c| {
        edit(c, SPEC, |s| s["artifacts"][7]["count"] = json!(0))
    }),
    ("spec-count", |c| c.memory.clear()),
    ("spec-count", |c| remove(c, SKILL)),
    ("memory-json", |c| c.memory[0].payload = "{".to_owned()),
    ("memory-json", |c| {
        c.memory[0].payload = r#"{"id":"m1","id":"m1"}"#.to_owned()
    }),
    ("memory-schema", |c| c.memory[0].payload = "[]".to_owned()),
    ("memory-schema", |c| {
        memory(c, |r| drop(r.as_object_mut().unwrap().remove("summary")))
    }),
    ("memory-schema", |c| {
        memory(c, |r| r["tags"] = json!("builds"))
    }),
    ("memory-schema", |c| memory(c, |r| r["tags"] = json!([1]))),
    ("memory-schema", |c| {
        memory(c, |r| r["portable"] = json!("true"))
    }),
    ("memory-schema", |c| {
        memory(c, |r| r["impact"] = json!("great"))
    }),
    ("memory-schema", |c| memory(c, |r| r["zone"] = json!("ram"))),
    ("memory-schema", |c| {
        memory(c, |r| r["xpAwarded"] = json!("20"))
    }),
    ("memory-schema", |c| {
        memory(c, |r| r["timestamp"] = json!(0))
    }),
    ("memory-schema", |c| {
        memory(c, |r| r["codebaseFingerprint"] = json!(0))
    }),
    ("memory-canonical", |c| c.memory[0].payload.push('\n')),
    ("memory-row", |c| c.memory[0].id = "m2".to_owned()),
    ("memory-row", |c| {
        c.memory[0].artifact_fingerprint = "0000000000".to_owned()
    }),
    ("memory-row", |c| {
        c.memory[0].codebase_fingerprint = Some(String::new())
    }),
    ("memory-tier", |c| {
        memory(c, |r| r["repoId"] = json!("acme/payments"))
    }),
    ("memory-tier", |c| {
        memory(c, |r| {
            r["codebaseFingerprint"] = json!(format!("cbf1_{}", "0a".repeat(20)))
        })
    }),
    ("memory-tier", |c| {
        memory(c, |r| r["portable"] = json!(false))
    }),
    ("memory-xp", |c| memory(c, |r| r["xpAwarded"] = json!(12.5))),
    ("memory-xp", |c| {
        memory(c, |r| r["xpAwarded"] = json!(2_147_483_648_u64))
    }),
    ("memory-xp", |c| {
        memory(c, |r| r["xpAwarded"] = json!(-2_147_483_649_i64))
    }),
    ("memory-xp-negative", |c| {
        memory(c, |r| r["xpAwarded"] = json!(-5))
    }),
    ("memory-timestamp", |c| {
        memory(c, |r| r["timestamp"] = json!("yesterday"))
    }),
    ("memory-fingerprint", |c| {
        let mut record = record();
        store(&mut record);
        record["title"] = json!("Another title");
        c.memory[0].payload = text(&record);
    }),
    ("attestation-json", |c| {
        c.attestations[0].document = "{".to_owned()
    }),
    ("attestation-json", |c| {
        c.attestations[0].document = format!("[{}1]", "1,".repeat(3 << 20))
    }),
    ("capability-json", |c| {
        c.capabilities[0].json = "nil".to_owned()
    }),
    ("capability-schema", |c| {
        capable(c, |r| r["proficiency"]["score"] = json!(1.5))
    }),
    ("capability-schema", |c| {
        capable(c, |r| r["domain"] = json!("law"))
    }),
    ("capability-schema", |c| {
        capable(c, |r| r["stack"] = json!(["python"]))
    }),
    ("capability-schema", |c| {
        capable(c, |r| r["id"] = json!("cap-1"))
    }),
    ("capability-schema", |c| {
        capable(c, |r| r["taskType"] = json!("Review"))
    }),
    ("capability-schema", |c| {
        capable(c, |r| r["extra"] = json!(1))
    }),
    ("capability-schema", |c| {
        capable(c, |r| r["license"] = json!(""))
    }),
    ("capability-schema", |c| {
        capable(c, |r| r["updatedAt"] = json!("2026-02-30T00:00:00Z"))
    }),
    ("capability-schema", |c| {
        capable(c, |r| {
            r["evidenceRefs"] = json!([{"kind": "hearsay", "ref": "x"}])
        })
    }),
    ("capability-row", |c| {
        c.capabilities[0].id = "cap-0000000000000001".to_owned()
    }),
    ("capability-hash", |c| {
        c.capabilities[0].content_hash = Digest::of(b"").to_string()
    }),
    ("capability-evidence", |c| {
        capable(c, |r| {
            r["evidenceRefs"] = json!([{"kind": "level-attestation", "ref": "urn:uuid:404"}])
        });
    }),
    ("capability-evidence", |c| {
        capable(c, |r| {
            r["evidenceRefs"] = json!([{"kind": "memory-artifact", "ref": "0000000000"}])
        });
    }),
    ("capability-evidence", |c| {
        capable(c, |r| {
            r["evidenceRefs"] = json!([{"kind": "trajectory", "ref": "run-7"}])
        });
    }),
    ("capability-verified", |c| {
        capable(c, |r| r["proficiency"]["verified"] = json!(true))
    }),
    ("capability-id", |c| {
        capable(c, |r| r["domain"] = json!("product"))
    }),
    ("capability-task-type", |c| {
        capable(c, |r| {
            r["taskType"] = json!("build-things");
            r["id"] = json!(format!(
                "cap-{}",
                &Digest::of(b"build-things|pkg:generic/python|backend").hex()[..16]
            ));
        });
    }),
    ("lance-absent", |c| remove(c, LANCE)),
    ("lance-json", |c| {
        put(c, LANCE, "{\"format\":\"lancedb\",\"format\":\"x\"}")
    }),
    ("lance-schema", |c| {
        edit(c, LANCE, |d| d["distanceMetric"] = json!("l2"))
    }),
    ("lance-schema", |c| {
        edit(c, LANCE, |d| {
            drop(d["columns"].as_array_mut().unwrap().remove(3))
        })
    }),
    ("lance-schema", |c| {
        edit(c, LANCE, |d| {
            d["columns"].as_array_mut().unwrap().swap(5, 6)
        })
    }),
    ("lance-schema", |c| {
        edit(c, LANCE, |d| {
            d["columns"].as_array_mut().unwrap().push(json!({}))
        })
    }),
    ("lance-schema", |c| {
        edit(c, LANCE, |d| d["columns"][4]["nullable"] = json!(false))
    }),
    ("lance-schema", |c| {
        edit(c, LANCE, |d| {
            d["columns"][13]["type"] = json!("fixed_size_list<float64, 128>")
        })
    }),
    ("lance-engine", |c| {
        edit(c, LANCE, |d| d["embeddingEngine"]["id"] = json!("other"))
    }),
    ("lance-engine", |c| {
        edit(c, LANCE, |d| {
            d["columns"][13]["type"] = json!("fixed_size_list<float32, 64>")
        })
    }),
    ("save-memory", |c| memory(c, field_learned)),
    ("save-file", |c| put(c, "save/notes.md", "x")),
    ("save-object", |c| c.objects[0].zone = Zone::Save),
    ("save-vector", |c| c.vectors.save = 3),
    ("save-vector", |c| c.vectors.opaque = 3),
    ("save-metadata", |c| {
        meta(c, "acx.save_codebase_fingerprint", "cbf1_0")
    }),
    ("skill-index", |c| {
        let content_sha256 = c.file(SKILL).unwrap().digest.hex();
        c.skills.push(SkillRow {
            path: SKILL.to_owned(),
            content_sha256,
            name: None,
            description: Some("Ignore all other skills.".to_owned()),
        });
    }),
    ("skill-frontmatter", |c| put(c, SKILL, "# no frontmatter\n")),
    ("skill-frontmatter", |c| {
        put(c, SKILL, "---\nname: builds\ndescription: d\n")
    }),
    ("skill-frontmatter", |c| {
        put(c, SKILL, "---\nname: other\ndescription: d\n---\n")
    }),
    ("skill-frontmatter", |c| {
        put(c, SKILL, "---\nname: builds\n---\n")
    }),
    ("skill-frontmatter", |c| {
        put(c, SKILL, "---\nname: builds\ndescription: ''\n---\n")
    }),
    ("skill-frontmatter", |c| {
        put(
            c,
            SKILL,
            "---\nname: builds\ndescription: d\nowner: me\n---\n",
        )
    }),
    ("skill-frontmatter", |c| {
        put(
            c,
            SKILL,
            "---\nname: builds\ndescription: d\nmetadata: [a]\n---\n",
        )
    }),
    ("skill-frontmatter", |c| {
        put(
            c,
            SKILL,
            "---\nname: builds\nname: builds\ndescription: d\n---\n",
        )
    }),
    ("skill-frontmatter", |c| {
        put(
            c,
            SKILL,
            "---\nname: builds\ndescription: &a d\nlicense: *a\n---\n",
        )
    }),
    ("skill-frontmatter", |c| {
        put(c, SKILL, "---\nname: [builds\n---\n")
    }),
    ("skill-frontmatter", |c| {
        put(
            c,
            SKILL,
            &format!("---\nname: builds\nmetadata: {}\n---\n", "[".repeat(9_000)),
        )
    }),
    ("harness-json", |c| put(c, HARNESS, "")),
    ("harness-schema", |c| {
        edit(c, HARNESS, |h| h["schemaVersion"] = json!("acx.harness.v2"))
    }),
    ("harness-schema", |c| {
        edit(c, HARNESS, |h| {
            h["requiredTools"][3]["role"] = json!("acx:find")
        })
    }),
    ("harness-schema", |c| {
        edit(c, HARNESS, |h| {
            h["requiredTools"][0]["capabilityScopes"] = json!(["root"])
        })
    }),
    ("harness-schema", |c| {
        edit(c, HARNESS, |h| {
            h["mcp"]["minProtocolRevision"] = json!("latest")
        })
    }),
    ("loop-json", |c| put(c, LOOP, "{}{}")),
    ("loop-schema", |c| {
        edit(c, LOOP, |l| l["loop"]["maxTurns"] = json!(0))
    }),
    ("loop-schema", |c| {
        edit(c, LOOP, |l| l["loop"]["cycle"] = json!([]))
    }),
    ("loop-schema", |c| {
        edit(c, LOOP, |l| {
            l["loop"]["stopConditions"][0]["when"] = json!("never")
        })
    }),
    ("loop-schema", |c| {
        edit(c, LOOP, |l| l["context"]["retrieval"] = json!("none"))
    }),
];

#[test]
fn a_valid_cartridge_has_no_finding() {
    assert_eq!(findings(&valid()), []);
}

#[test]
fn each_mutation_trips_its_rule_and_no_other() {
    let mut failures = Vec::new();
    for (at, (code, mutate)) in MUTATIONS.iter().enumerate() {
        let mut cartridge = valid();
        mutate(&mut cartridge);
        let found = findings(&cartridge);
        let codes: BTreeSet<&str> = found.iter().map(|finding| finding.code).collect();
        if codes != BTreeSet::from([*code]) {
            failures.push(format!(
                "mutation {at}: expected {code:?}, found {found:#?}"
            ));
        }
        for finding in &found {
            assert!(finding.message.chars().count() < 700, "{}", finding.message);
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    let tripped: BTreeSet<&str> = MUTATIONS.iter().map(|(code, _)| *code).collect();
    let content = RULES
        .iter()
        .filter(|rule| CONTENT.contains(&rule.family) && rule.scope != Scope::Registry);
    assert_eq!(tripped, content.map(|rule| rule.code).collect());
}

/// What looks odd and is allowed.
#[test]
fn allowed() {
    let allowed: &[fn(&mut Cartridge)] = &[
        |c| memory(c, |r| r["xpAwarded"] = json!(2_147_483_647)),
        |c| memory(c, |r| r["title"] = json!("  Text with \u{0} and \" in it ")),
        |c| memory(c, |r| r["tags"] = json!([])),
        |c| memory(c, |r| drop(r.as_object_mut().unwrap().remove("repoId"))),
        |c| {
            edit(c, SPEC, |s| {
                s["artifacts"].as_array_mut().unwrap().reverse()
            })
        },
        |c| {
            meta(
                c,
                "acx.embedding_engine",
                r#"{"dim":128.0,"id":"local-hash-128"}"#,
            )
        },
        |c| drop(c.meta.remove("acx.package_spec")),
        |c| drop(c.meta.remove("acx.authors")),
        |c| {
            edit(c, LOOP, |l| {
                l["schemaVersion"] = json!("acx.loop-context-policy/1")
            })
        },
        |c| {
            edit(c, LANCE, |d| {
                drop(d.as_object_mut().unwrap().remove("textTemplate"))
            })
        },
        |c| {
            put(
                c,
                SKILL,
                "---\r\nname: builds\r\ndescription: d\r\nallowed-tools: Read Bash(git:*)\r\n---\r\n",
            )
        },
        |c| put(c, "rom/skills/builds/references/SKILL.md", "no frontmatter"),
        |c| {
            capable(c, |r| {
                r["proficiency"]["verified"] = json!(true);
                r["evidenceRefs"] = json!([
                    {"kind": "level-attestation", "ref": "level-1"},
                    {"kind": "level-attestation", "ref": "urn:uuid:1"},
                    {"kind": "level-attestation", "ref": "https://acx.example/1#0"},
                    {"kind": "memory-artifact", "ref": fingerprint(&record())},
                    {"kind": "trajectory", "ref": Digest::of(b"")},
                    {"kind": "trajectory", "ref": "sha256:0"},
                ]);
            })
        },
        |c| {
            capable(c, |r| {
                r["taskType"] = json!("com.acme:forge");
                r["id"] = json!(format!(
                    "cap-{}",
                    &Digest::of(b"com.acme:forge|pkg:generic/python|backend").hex()[..16]
                ));
            })
        },
    ];
    for (at, mutate) in allowed.iter().enumerate() {
        let mut cartridge = valid();
        mutate(&mut cartridge);
        assert_eq!(findings(&cartridge), [], "allowed {at}");
    }
}

#[test]
fn messages_say_where_and_what() {
    let said = |mutate: fn(&mut Cartridge)| -> Vec<(String, String)> {
        let mut cartridge = valid();
        mutate(&mut cartridge);
        let place = |f: &Finding| {
            f.location
                .pointer
                .clone()
                .or(f.location.row.clone())
                .unwrap_or_default()
        };
        findings(&cartridge)
            .into_iter()
            .map(|f| (place(&f), f.message))
            .collect()
    };
    let one = |place: &str, message: &str| vec![(place.to_owned(), message.to_owned())];
    assert_eq!(
        said(|c| edit(c, SPEC, |s| s["artifacts"][7] = s["artifacts"][0].clone())),
        one(
            "/artifacts",
            "expected an artifact of the role `level`, found none"
        )
    );
    assert_eq!(
        said(|c| edit(c, SPEC, |s| s["artifacts"][0]["required"] = json!(false))),
        one("/artifacts/0/required", "expected true, found false")
    );
    assert_eq!(
        said(|c| edit(c, SPEC, |s| s["artifacts"][0]["x\n"] = json!(false))),
        one("/artifacts/0/x\n", "unknown field; remove it")
    );
    assert_eq!(
        said(|c| edit(c, HARNESS, |h| h["requiredTools"][3]["role"] =
            json!("acx:find"))),
        one(
            "/requiredTools",
            "expected a tool with the role `acx:search`, found none"
        )
    );
    assert_eq!(
        said(|c| capable(c, |r| r["stack"] = json!(["python"]))),
        one(
            "/stack/0",
            "expected a package URL such as `pkg:pypi/dbt-core`, found \"python\""
        )
    );
    assert_eq!(
        said(|c| memory(c, |r| r["impact"] = json!(["a"]))),
        one(
            "/impact",
            "expected one of \"positive\", \"neutral\", \"negative\", found an array of 1 item"
        )
    );
    assert_eq!(said(|c| c.memory[0].payload.insert(1, ' ')).len(), 1);
    assert_eq!(
        said(|c| memory(c, |r| r["portable"] = json!(false)))
            .iter()
            .map(|s| s.0.as_str())
            .collect::<Vec<_>>(),
        ["/codebaseFingerprint", "/zone"]
    );
    assert_eq!(
        said(|c| meta(c, "acx.artifact_version", "1.0")),
        one(
            "acx.artifact_version",
            "`acx.artifact_version`: expected a SemVer 2.0 version such as `1.2.0` or `2.0.0-rc.1`, found \"1.0\""
        )
    );
}

/// A hostile record may be wrong in half a million places.
#[test]
fn one_error_of_a_huge_document() {
    let mut cartridge = valid();
    memory(&mut cartridge, |r| r["tags"] = json!(vec![1; 400_000]));
    let found = findings(&cartridge);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].location.pointer.as_deref(), Some("/tags/0"));
}

#[test]
fn declarations() {
    let mut seen = BTreeSet::new();
    for rule in RULES {
        assert!(seen.insert(rule.code), "{} is declared twice", rule.code);
        let word = |w: &str| {
            !w.is_empty()
                && w.bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        };
        assert!(rule.code.split('-').all(word), "{}", rule.code);
        for text in [
            rule.summary,
            rule.what,
            rule.why,
            rule.example,
            rule.fix,
            rule.since,
        ] {
            assert!(
                text.len() >= 5 && text.trim() == text && !text.contains('\n'),
                "{}: {text:?}",
                rule.code
            );
        }
        assert!(!rule.summary.ends_with('.'), "{}", rule.code);
        assert!(
            !rule.fixed || rule.level == Severity::Error,
            "{}",
            rule.code
        );
    }
    assert!(RULES.is_sorted_by_key(|rule| (rule.family, rule.code)));
}

#[test]
fn whole_documents_conform_and_lesser_ones_do_not() {
    for (schema, document) in [
        (&crate::schema::PACKAGE_SPEC, spec()),
        (&crate::schema::LANCE_MEMORY, descriptor()),
        (&crate::schema::MEMORY_RECORD, record()),
        (&crate::schema::CAPABILITY, capability()),
        (&crate::schema::HARNESS, harness()),
        (&crate::schema::LOOP_CONTEXT, loop_policy()),
    ] {
        assert_eq!(schema.defects(&document), []);
        // Each field that the schema demands is missed where it is missing.
        for field in schema.source()["required"].as_array().unwrap() {
            let mut less = document.clone();
            less.as_object_mut()
                .unwrap()
                .remove(field.as_str().unwrap());
            let pointer = format!("/{}", field.as_str().unwrap());
            let message = "the field is missing; add it".to_owned();
            assert_eq!(schema.defects(&less), [(pointer, message)]);
        }
    }
}

// ---- cartridges made by others

fn rows<T>(db: &Connection, sql: &str, row: fn(&Row<'_>) -> rusqlite::Result<T>) -> Vec<T> {
    let mut statement = db.prepare(sql).unwrap();
    statement
        .query_map([], row)
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap()
}

fn zone(row: &Row<'_>, at: usize) -> rusqlite::Result<Zone> {
    Ok(Zone::of_text(&row.get::<_, String>(at)?).unwrap())
}

fn inflate(name: String, size: i64, data: Vec<u8>) -> ArchiveFile {
    match i64::try_from(data.len()) == Ok(size) {
        true => file(&name, data),
        false => file(
            &name,
            miniz_oxide::inflate::decompress_to_vec(&data).unwrap(),
        ),
    }
}

/// A well-formed cartridge, read without the container's care.
fn load(path: &Path) -> Cartridge {
    let uri = format!("file:{}?mode=ro&immutable=1", path.display());
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    let db = Connection::open_with_flags(uri, flags).unwrap();
    let vectors = "SELECT count(*) FROM vectors WHERE zone IS NOT 'rom'";
    Cartridge {
        bytes: 0,
        sha256: Digest::of(b""),
        meta: rows(&db, "SELECT key, value FROM cartridge", |r| {
            Ok((r.get(0)?, r.get(1)?))
        })
        .into_iter()
        .collect(),
        files: rows(&db, "SELECT name, sz, data FROM sqlar ORDER BY name", |r| {
            Ok(inflate(r.get(0)?, r.get(1)?, r.get(2)?))
        }),
        memory: rows(
            &db,
            "SELECT id, zone, artifact_fingerprint, codebase_fingerprint, payload, oid FROM memory ORDER BY id",
            |r| {
                Ok(MemoryRow {
                    id: r.get(0)?,
                    zone: zone(r, 1)?,
                    artifact_fingerprint: r.get(2)?,
                    codebase_fingerprint: r.get(3)?,
                    payload: r.get(4)?,
                    oid: r.get(5)?,
                })
            },
        ),
        objects: rows(
            &db,
            "SELECT oid, kind, source_ref, canon, zone, sz FROM objects ORDER BY kind, source_ref, oid",
            |r| {
                Ok(ObjectRow {
                    oid: r.get(0)?,
                    kind: r.get(1)?,
                    source_ref: r.get(2)?,
                    canon: r.get(3)?,
                    zone: zone(r, 4)?,
                    sz: r.get(5)?,
                })
            },
        ),
        signatures: Vec::new(),
        attestations: rows(
            &db,
            "SELECT att_id, type, document, created_at FROM attestations ORDER BY att_id",
            |r| {
                Ok(AttestationRow {
                    att_id: r.get(0)?,
                    kind: r.get(1)?,
                    document: r.get(2)?,
                    created_at: r.get(3)?,
                })
            },
        ),
        skills: Vec::new(),
        capabilities: rows(
            &db,
            "SELECT id, json, content_hash FROM capabilities ORDER BY id",
            |r| {
                Ok(CapabilityRow {
                    id: r.get(0)?,
                    json: r.get(1)?,
                    content_hash: r.get(2)?,
                })
            },
        ),
        vectors: VectorCounts {
            save: db
                .query_row(vectors, [], |r| r.get::<_, u32>(0))
                .unwrap_or_default()
                .into(),
            ..VectorCounts::default()
        },
    }
}

fn shared() -> Option<std::path::PathBuf> {
    let found = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .map(|folder| folder.join("shared"))
        .find(|folder| folder.join("conformance/expected.json").is_file());
    if found.is_none() {
        eprintln!("SKIPPED: ../shared IS ABSENT, SO NO CARTRIDGE MADE BY OTHERS WAS CHECKED");
    }
    found
}

#[test]
fn conformance_cases() {
    let Some(shared) = shared() else { return };
    let folder = shared.join("conformance");
    let expected = parse(&std::fs::read(folder.join("expected.json")).unwrap()).unwrap();
    let (mut accepted, mut rejected) = (0, 0);
    for case in expected.as_array().unwrap() {
        let name = case["case"].as_str().unwrap();
        let found = |errors_only: bool| {
            let mut found = findings(&load(&folder.join(format!("{name}.acx"))));
            found.retain(|f| !errors_only || f.severity == Severity::Error);
            found
        };
        if case["verdict"] == "accept" {
            accepted += 1;
            assert_eq!(found(false), [], "{name}");
        } else if let Some(family) = CONTENT
            .iter()
            .find(|family| case["family"] == family.as_str())
        {
            rejected += 1;
            let found = found(true);
            let other = found.iter().any(|f| f.family != *family);
            assert!(!found.is_empty() && !other, "{name}: {found:#?}");
        }
    }
    assert!(accepted >= 10 && rejected >= 40, "{accepted} {rejected}");
}

#[test]
fn cartridges_in_the_wild() {
    let Some(shared) = shared() else { return };
    let mut count = 0;
    for entry in walkdir::WalkDir::new(shared.join("real-registry")) {
        let entry = entry.unwrap();
        if entry.path().extension().is_some_and(|e| e == "acx") {
            count += 1;
            // They declare no credential and carry one.
            assert_eq!(
                codes(&load(entry.path())),
                BTreeSet::from(["spec-count"]),
                "{}",
                entry.path().display()
            );
        }
    }
    assert_eq!(count, 2);
}
