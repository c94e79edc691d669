//! The four documents that every cartridge carries: the package spec and the Lance descriptor, which follow from its
//! content, and the harness requirements and the loop policy, which are the package's own or sound defaults.

use serde_json::{Value, json};

use super::fields::parse;
use super::package::{HARNESS, LOOP_POLICY, Package, Problem};
use crate::check::Engine;
use crate::check::documents as names;
use crate::project::memories;
use crate::schema::{self, Schema};

/// How many of each counted thing the cartridge has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counts {
    pub memory: usize,
    pub skills: usize,
    pub capabilities: usize,
}

/// A document as the archive has it: indented by two spaces, with a line end.
pub(super) fn pretty(value: &Value) -> Vec<u8> {
    // A JSON value always prints.
    let mut bytes = serde_json::to_vec_pretty(value).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

/// The engine as the metadata write it; its members' order is that of signers in the wild.
pub(super) fn engine(engine: &Engine) -> Value {
    json!({"id": engine.id, "dim": engine.dim})
}

/// `rom/package-spec.json`
pub(super) fn package_spec(
    cartridge_id: &str,
    spec_version: &str,
    of: &Engine,
    counts: Counts,
) -> Value {
    json!({
        "schemaVersion": "acx.package-spec/1",
        "cartridgeId": cartridge_id,
        "specVersion": spec_version,
        "embeddingEngine": engine(of),
        "artifacts": [
            {"role": "identity", "kind": "meta", "schema": "acx.cartridge-meta/1", "required": true},
            {
                "role": "memory-baseline", "kind": "table", "table": "memory", "mediaType": "application/json",
                "schema": "acx.memory-record.v1", "required": true, "count": counts.memory,
            },
            {
                "role": "memory-vectors", "kind": "lance", "path": "vectors/memories.lance",
                "schema": memories::SCHEMA, "required": false, "signed": false, "reindexOnImport": true,
                "descriptor": names::LANCE_DESCRIPTOR,
            },
            {
                "role": "skills", "kind": "sqlar", "path": "rom/skills/", "schema": "acx.skill/1",
                "required": false, "count": counts.skills,
            },
            {
                "role": "capabilities", "kind": "table", "table": "capabilities", "schema": "acx.capability/1",
                "required": false, "count": counts.capabilities,
            },
            {"role": "harness", "kind": "sqlar", "path": names::HARNESS, "schema": "acx.harness.v1", "required": true},
            {
                "role": "loop-context", "kind": "sqlar", "path": names::LOOP_POLICY,
                "schema": "acx.loop-context-policy/1.1", "required": true,
            },
            {
                "role": "level", "kind": "attestation", "schema": "acx.level-credential.v1", "required": false,
                "count": 0,
            },
        ],
    })
}

/// `rom/schema/lance-memory.json`
pub(super) fn lance_descriptor(of: &Engine) -> Value {
    let column = |name: &str, kind: &str, nullable: bool| json!({"name": name, "type": kind, "nullable": nullable});
    let text = |name: &str| column(name, "utf8", false);
    let one_of = |name: &str, values: &[&str]| json!({"name": name, "type": "utf8", "nullable": false, "enum": values});
    json!({
        "schemaVersion": memories::SCHEMA,
        "format": "lancedb",
        "table": "memories",
        "partitionBy": "zone",
        "distanceMetric": "cosine",
        "embeddingEngine": engine(of),
        "textTemplate": "title + \"\\n\\n\" + summary",
        "columns": [
            text("id"),
            one_of("zone", &["rom", "save"]),
            column("portable", "bool", false),
            text("artifact_fingerprint"),
            column("codebase_fingerprint", "utf8", true),
            text("title"),
            text("summary"),
            text("source_type"),
            column("tags", "list<utf8>", false),
            one_of("impact", &["positive", "neutral", "negative"]),
            column("xp_awarded", "int32", false),
            text("timestamp"),
            text("text"),
            {
                "name": "vector", "type": format!("fixed_size_list<float32, {}>", of.dim), "nullable": false,
                "sizeFromEngine": true,
            },
        ],
    })
}

/// `rom/manifest/harness-requirements.json`: the package's, or what every agent needs.
pub(super) fn harness(package: &Package) -> Result<Vec<u8>, Vec<Problem>> {
    own(package, HARNESS, &schema::HARNESS, || {
        let tool = |role: &str, scopes: &[&str], name: &str, description: &str, argument: &str| {
            json!({
                "role": role, "tier": "required", "capabilityScopes": scopes, "name": name,
                "description": description,
                "inputSchema": {
                    "type": "object", "required": [argument], "properties": {argument: {"type": "string"}},
                },
            })
        };
        json!({
            "schemaVersion": "acx.harness.v1",
            "mcp": {"minProtocolRevision": "2024-11-05"},
            "model": {"toolUse": true, "minContextWindowTokens": 100_000},
            "requiredTools": [
                tool("acx:execute", &["exec", "fs.read"], "execute", "Runs a command in a sandbox.", "command"),
                tool("acx:dispatch", &["dispatch"], "dispatch", "Hands a piece of work to another agent.", "task"),
                tool(
                    "acx:memory.write", &["memory.write"], "add_memory",
                    "Appends a lasting record to the SAVE zone.", "summary",
                ),
                tool(
                    "acx:search", &["search", "memory.read"], "search_memory",
                    "Searches memory and knowledge.", "query",
                ),
            ],
            "optionalTools": [],
            "filesystem": ["fs.read"],
            "network": [],
        })
    })
}

/// `rom/policy/loop-context-policy.json`: the package's, or one that always stops and asks before it goes on.
pub(super) fn loop_policy(package: &Package, of: Option<&Engine>) -> Result<Vec<u8>, Vec<Problem>> {
    own(package, LOOP_POLICY, &schema::LOOP_CONTEXT, || {
        json!({
            "schemaVersion": "acx.loop-context-policy/1.1",
            "loop": {
                "maxTurns": 40,
                "cycle": ["plan", "gather_context", "act", "verify", "reflect"],
                "stopConditions": [
                    {"when": "completed", "action": "stop"},
                    {"when": "pr_ready", "action": "handoff"},
                    {"when": "blocked", "action": "await_human"},
                    {"when": "needs_input", "action": "await_human"},
                    {"when": "guardrail_stop", "action": "await_human"},
                    {"when": "max_turns", "action": "report_continue"},
                ],
            },
            "context": {"retrieval": "just_in_time", "embeddingEngineId": of.map(|engine| &engine.id)},
        })
    })
}

fn own(
    package: &Package,
    file: &str,
    schema: &Schema,
    default: impl FnOnce() -> Value,
) -> Result<Vec<u8>, Vec<Problem>> {
    let Some(data) = package.file(file) else {
        return Ok(pretty(&default()));
    };
    if data.len() > names::DOCUMENT_BYTES {
        let message = format!(
            "expected at most {} bytes, found {}",
            names::DOCUMENT_BYTES,
            data.len()
        );
        return Err(vec![Problem::new(file, "", message)]);
    }
    let value = parse(file, data).map_err(|p| vec![p])?;
    let defects = schema.defects(&value);
    if defects.is_empty() {
        return Ok(data.to_vec());
    }
    Err(defects
        .into_iter()
        .map(|(at, message)| Problem::new(file, at, message))
        .collect())
}
