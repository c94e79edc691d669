//! The four signed documents that a clean cartridge carries, made from its parts.

use serde_json::{Value, json};

/// Where a document comes from.
#[derive(Clone, Default)]
pub enum Document {
    /// Made from the rest of the builder when it builds.
    #[default]
    Derived,
    /// This value, pretty-printed.
    Json(Value),
    /// These bytes.
    Text(Vec<u8>),
    /// The archive has no such file.
    Absent,
}

impl Document {
    pub fn text(text: &str) -> Self {
        Self::Text(text.as_bytes().to_vec())
    }

    /// The file's bytes, if there is a file.
    pub fn bytes(&self, derive: impl FnOnce() -> Value) -> Option<Vec<u8>> {
        let pretty = |v: &Value| serde_json::to_vec_pretty(v).expect("a JSON value prints");
        match self {
            Self::Derived => Some(pretty(&derive())),
            Self::Json(value) => Some(pretty(value)),
            Self::Text(bytes) => Some(bytes.clone()),
            Self::Absent => None,
        }
    }
}

pub const SPEC: &str = "rom/package-spec.json";
pub const LANCE: &str = "rom/schema/lance-memory.json";
pub const HARNESS: &str = "rom/manifest/harness-requirements.json";
pub const LOOP: &str = "rom/policy/loop-context-policy.json";

/// How many of each counted thing a package spec declares.
#[derive(Clone, Copy)]
pub struct Counts {
    pub memory: usize,
    pub skills: usize,
    pub capabilities: usize,
    pub levels: usize,
}

/// The package spec; each argument but the counts is the metadata it must repeat.
pub fn package_spec(
    cartridge_id: &str,
    spec_version: &str,
    engine: &Value,
    counts: Counts,
) -> Value {
    json!({
        "schemaVersion": "acx.package-spec/1",
        "cartridgeId": cartridge_id,
        "specVersion": spec_version,
        "embeddingEngine": engine,
        "artifacts": [
            {"role": "identity", "kind": "meta", "schema": "acx.cartridge-meta/1", "required": true},
            {"role": "memory-baseline", "kind": "table", "table": "memory", "mediaType": "application/json",
             "schema": "acx.memory-record.v1", "required": true, "count": counts.memory},
            {"role": "memory-vectors", "kind": "lance", "path": "vectors/memories.lance",
             "schema": "acx.lance-memory/1", "required": false, "signed": false, "reindexOnImport": true,
             "descriptor": LANCE},
            {"role": "skills", "kind": "sqlar", "path": "rom/skills/", "schema": "acx.skill/1", "required": false,
             "count": counts.skills},
            {"role": "capabilities", "kind": "table", "table": "capabilities", "schema": "acx.capability/1",
             "required": false, "count": counts.capabilities},
            {"role": "harness", "kind": "sqlar", "path": HARNESS, "schema": "acx.harness.v1", "required": true},
            {"role": "loop-context", "kind": "sqlar", "path": LOOP, "schema": "acx.loop-context-policy/1.1",
             "required": true},
            {"role": "level", "kind": "attestation", "schema": "acx.level-credential.v1", "required": false,
             "count": counts.levels},
        ],
    })
}

/// The Lance descriptor for an engine `{id, dim}`.
pub fn lance_descriptor(engine: &Value) -> Value {
    let mut columns: Vec<Value> = [
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
        ("vector", "", false),
    ]
    .into_iter()
    .map(|(name, kind, nullable)| json!({"name": name, "type": kind, "nullable": nullable}))
    .collect();
    columns[1]["enum"] = json!(["rom", "save"]);
    columns[9]["enum"] = json!(["positive", "neutral", "negative"]);
    columns[13]["type"] = format!("fixed_size_list<float32, {}>", engine["dim"]).into();
    columns[13]["sizeFromEngine"] = true.into();
    json!({
        "schemaVersion": "acx.lance-memory/1",
        "format": "lancedb",
        "table": "memories",
        "partitionBy": "zone",
        "distanceMetric": "cosine",
        "embeddingEngine": engine,
        "textTemplate": "title + \"\\n\\n\" + summary",
        "columns": columns,
    })
}

/// Harness requirements with the four roles that every host knows.
pub fn harness() -> Value {
    let tool = |role: &str, scopes: &[&str]| {
        json!({
            "role": role, "tier": "required", "capabilityScopes": scopes,
            "name": role.trim_start_matches("acx:"), "description": format!("The {role} role."),
            "inputSchema": {"type": "object", "properties": {}},
        })
    };
    json!({
        "schemaVersion": "acx.harness.v1",
        "mcp": {"minProtocolRevision": "2024-11-05", "preferredProtocolRevision": "2025-11-25"},
        "model": {"toolUse": true, "minContextWindowTokens": 100_000, "structuredOutput": false},
        "requiredTools": [
            tool("acx:execute", &["exec"]),
            tool("acx:dispatch", &["dispatch"]),
            tool("acx:memory.write", &["memory.write"]),
            tool("acx:search", &["search", "memory.read"]),
        ],
        "optionalTools": [],
        "filesystem": ["fs.read"],
        "network": [],
    })
}

/// A loop and context policy.
pub fn loop_policy(engine: &Value) -> Value {
    json!({
        "schemaVersion": "acx.loop-context-policy/1.1",
        "loop": {
            "maxTurns": 40,
            "cycle": ["plan", "gather_context", "act", "verify", "reflect"],
            "stopConditions": [{"when": "completed", "action": "stop"}],
        },
        "context": {"retrieval": "just_in_time", "embeddingEngineId": engine["id"]},
        "rules": [],
        "hints": {},
    })
}
