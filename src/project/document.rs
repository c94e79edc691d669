//! An accepted workflow or Agent Graph → its entry in the index. Pure.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, json};

use super::RegistryStatus;
use crate::document::{Accepted, Kind, Pin, list, pins, text, texts};
use crate::model::{ArtifactType, Digest, Json, KeyId, Timestamp, Trust};

/// The pinned workflow of a loop, as the registry has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Dependency {
    /// The loop's id.
    pub loop_id: String,
    /// workflow
    pub artifact_type: ArtifactType,
    /// The workflow's publisher.
    pub publisher_id: String,
    /// The workflow's id.
    pub id: String,
    /// The workflow's version.
    pub version: String,
    /// The workflow's digest.
    pub digest: String,
    /// resolved
    pub status: String,
    /// The workflow's path in the registry.
    pub path: String,
    /// The workflow's status word in the ledger: active, deprecated, withdrawn or superseded.
    pub registry_status: String,
}

impl Dependency {
    /// A pin whose workflow is accepted, with what the ledger says of it.
    pub fn resolved(pin: &Pin, registry_status: &str) -> Self {
        Self {
            loop_id: pin.loop_id.clone(),
            artifact_type: ArtifactType::Workflow,
            publisher_id: pin.publisher.clone(),
            id: pin.id.clone(),
            version: pin.version.clone(),
            digest: pin.digest.clone(),
            status: "resolved".to_owned(),
            path: ArtifactType::Workflow.path(&pin.publisher, &pin.id, &pin.version),
            registry_status: registry_status.to_owned(),
        }
    }
}

/// One workflow or Agent Graph of the index, in the order of its members.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DocumentEntry {
    /// The path in the registry.
    pub path: String,
    /// The document's id.
    pub id: String,
    /// The version.
    pub version: String,
    /// The name.
    pub name: String,
    /// The description.
    pub description: String,
    /// An SPDX expression.
    pub license: String,
    /// Search words, in the document's order.
    pub tags: Vec<String>,
    /// The publisher.
    pub publisher: String,
    /// portable or trusted.
    pub trust: Trust,
    /// warning or verified.
    pub trust_status: String,
    /// The signed digest.
    pub digest: Digest,
    /// What its kind has besides: from the participants or the counts to the lineage.
    #[serde(flatten)]
    pub own: Map<String, Json>,
    /// true
    pub publishable: bool,
    /// true
    pub signed: bool,
    /// What the status ledger says.
    pub registry_status: RegistryStatus,
    /// The version to take unless another is asked for.
    pub latest: bool,
    /// The workflows that a graph pins, in loop order; of a workflow none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub dependencies: Option<Vec<Dependency>>,
    /// true of a graph; of a workflow none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub dependencies_resolved: Option<bool>,
    /// The signer's key.
    pub keyid: KeyId,
    /// When it was signed, by the signer's word.
    pub signed_at: Timestamp,
    /// SHA-256 of the file.
    pub sha256: Digest,
    /// What a graph pins, before it is resolved.
    #[serde(skip)]
    pub pins: Vec<Pin>,
}

impl DocumentEntry {
    /// The aliases of a workflow's participants.
    pub fn aliases(&self) -> BTreeSet<&str> {
        let participants = self.own.get("participants").and_then(Json::as_array);
        let each = participants.into_iter().flatten();
        each.filter_map(|p| p.get("alias")?.as_str()).collect()
    }

    /// Fills in the dependencies of a graph whose pins are all resolved; `status` gives the ledger's word on each.
    pub fn resolve<'a>(&mut self, status: impl Fn(&Pin) -> &'a str) {
        let pins = self.pins.iter();
        let resolved = pins.map(|pin| Dependency::resolved(pin, status(pin)));
        self.dependencies = Some(resolved.collect());
        self.dependencies_resolved = Some(true);
    }
}

/// The entry of one accepted document, without status, latest and dependencies.
pub fn document(path: &str, document: &Accepted) -> DocumentEntry {
    let value = document.value();
    let signed = document.signed();
    let same = |name: &str| text(value, name).to_owned();
    let mut own = Map::new();
    let mut put = |name: &str, member: Json| {
        own.insert(name.to_owned(), member);
    };
    match document.kind() {
        Kind::Workflow => workflow(value, &mut put),
        Kind::AgentGraph => graph(value, &mut put),
    }
    put("lineage", lineage(value));
    DocumentEntry {
        path: path.to_owned(),
        id: same("id"),
        version: same("version"),
        name: same("name"),
        description: same("description"),
        license: same("license"),
        tags: texts(value, "tags").map(str::to_owned).collect(),
        publisher: signed.publisher.clone(),
        trust: document.trust().of_cartridges(),
        trust_status: document.trust().status().to_owned(),
        digest: document.digest(),
        own,
        publishable: true,
        signed: true,
        registry_status: RegistryStatus::default(),
        latest: false,
        dependencies: None,
        dependencies_resolved: None,
        keyid: signed.keyid.clone(),
        signed_at: signed.signed_at.clone(),
        sha256: document.sha256(),
        pins: pins(value),
    }
}

fn workflow(value: &Json, put: &mut impl FnMut(&str, Json)) {
    let participants = list(value, "participants");
    let nodes = list(value, "nodes");
    let listed = participants.iter().map(|p| {
        json!({
            "alias": p.get("alias"),
            "bind": p.get("bind"),
            "role": p.pointer("/slot/role"),
            "romDigest": p.get("romDigest"),
        })
    });
    put("participants", listed.collect());
    put("participantCount", participants.len().into());
    put("nodeCount", nodes.len().into());
    let required = nodes.iter().filter_map(|node| node.get("requires"));
    let set: BTreeSet<&str> = required.flat_map(|r| texts(r, "capabilities")).collect();
    let mut capabilities: Vec<&str> = set.into_iter().collect();
    capabilities.sort_by_cached_key(|text| text.encode_utf16().collect::<Vec<u16>>());
    put("capabilities", capabilities.into());
}

fn graph(value: &Json, put: &mut impl FnMut(&str, Json)) {
    for (count, of) in [
        ("actorCount", "actors"),
        ("knowledgeCount", "knowledge"),
        ("routeCount", "routes"),
        ("loopCount", "loops"),
        ("convergenceCount", "convergence"),
    ] {
        put(count, list(value, of).len().into());
    }
    let intents: BTreeSet<&str> = list(value, "routes")
        .iter()
        .map(|route| text(route, "intent"))
        .collect();
    put("intents", intents.into_iter().collect());
    let name = |item: &Json| item.get("name").or_else(|| item.get("id")).cloned();
    let actors = list(value, "actors").iter();
    put(
        "actors",
        actors
            .map(|a| json!({"id": a.get("id"), "name": name(a), "kind": a.get("kind")}))
            .collect(),
    );
    let knowledge = list(value, "knowledge").iter();
    put(
        "knowledge",
        knowledge
            .map(|k| {
                json!({
                    "id": k.get("id"),
                    "name": name(k),
                    "kind": k.get("kind"),
                    "stewards": k.get("stewards"),
                })
            })
            .collect(),
    );
    let loops = list(value, "loops").iter();
    put(
        "loops",
        loops
            .map(|item| {
                json!({
                    "id": item.get("id"),
                    "kind": item.get("kind"),
                    "workflowPublisherId": item.pointer("/workflowRef/publisherId"),
                    "workflowId": item.pointer("/workflowRef/id"),
                    "workflowVersion": item.pointer("/workflowRef/version"),
                    "digest": item.pointer("/workflowRef/digest"),
                })
            })
            .collect(),
    );
}

fn lineage(value: &Json) -> Json {
    let parents = value.get("lineage").map(|lineage| list(lineage, "parents"));
    let names = [
        "artifactType",
        "publisherId",
        "id",
        "version",
        "digest",
        "relation",
        "source",
    ];
    parents
        .unwrap_or_default()
        .iter()
        .map(|parent| {
            let member = |name: &str| {
                (
                    name.to_owned(),
                    parent.get(name).cloned().unwrap_or_default(),
                )
            };
            Json::Object(names.map(member).into_iter().collect())
        })
        .collect()
}
