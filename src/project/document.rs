//! An accepted workflow or Agent Graph → its entry in the index. Pure.

use std::collections::BTreeSet;

use serde_json::{Map, json};

use super::RegistryStatus;
use crate::document::{Accepted, Kind, list, text, texts};
use crate::model::Json;

/// The pinned workflow of a loop, as the registry has it.
#[derive(Debug, Clone)]
pub struct Dependency {
    /// The workflow's path.
    pub path: String,
    /// The workflow's status word in the ledger: active, deprecated, withdrawn or superseded.
    pub registry_status: String,
}

/// The entry of one accepted document, in the order of its members. `resolved` gives the workflow that a loop pins, by
/// publisher, id, version and digest; where one of them is not there, there is no entry.
pub fn document_entry(
    path: &str,
    document: &Accepted,
    status: &RegistryStatus,
    latest: bool,
    resolved: impl Fn([&str; 4]) -> Option<Dependency>,
) -> Option<Json> {
    let value = document.value();
    let signed = document.signed();
    let same = |name: &str| value.get(name).cloned().unwrap_or_default();
    let mut entry = Map::new();
    let mut put = |name: &str, member: Json| {
        entry.insert(name.to_owned(), member);
    };
    put("path", path.into());
    for name in ["id", "version", "name", "description", "license", "tags"] {
        put(name, same(name));
    }
    put("publisher", signed.publisher.as_str().into());
    put("trust", document.trust().as_str().into());
    put("trustStatus", document.trust().status().into());
    put("digest", document.digest().to_string().into());
    match document.kind() {
        Kind::Workflow => workflow(value, &mut put),
        Kind::AgentGraph => graph(value, &mut put),
    }
    put("lineage", lineage(value));
    put("publishable", true.into());
    put("signed", true.into());
    put("registryStatus", json!(status));
    put("latest", latest.into());
    if document.kind() == Kind::AgentGraph {
        put("dependencies", dependencies(value, resolved)?);
        put("dependenciesResolved", true.into());
    }
    put("keyid", signed.keyid.as_str().into());
    put("signedAt", signed.signed_at.as_str().into());
    put("sha256", document.sha256().to_string().into());
    Some(Json::Object(entry))
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

fn dependencies(value: &Json, resolved: impl Fn([&str; 4]) -> Option<Dependency>) -> Option<Json> {
    let loops = list(value, "loops").iter();
    loops
        .filter(|item| text(item, "kind") == "acx-workflow")
        .map(|item| {
            let pinned = item.get("workflowRef").unwrap_or(&Json::Null);
            let found =
                resolved(["publisherId", "id", "version", "digest"].map(|n| text(pinned, n)))?;
            Some(json!({
                "loopId": item.get("id"),
                "artifactType": "workflow",
                "publisherId": pinned.get("publisherId"),
                "id": pinned.get("id"),
                "version": pinned.get("version"),
                "digest": pinned.get("digest"),
                "status": "resolved",
                "path": found.path,
                "registryStatus": found.registry_status,
            }))
        })
        .collect()
}
