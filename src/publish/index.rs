//! The content of `index.json`, and its text.

use serde::{Deserialize, Serialize};

use rayon::prelude::*;

use super::sign::Integrity;
use super::text::BATCH;
use crate::model::{ArtifactType, Digest, Json, json};
use crate::project::{CartridgeEntry, DocumentEntry, Entries, Head, TemplateEntry, heads};

/// The `schemaVersion` of an index.
pub const INDEX_VERSION: &str = "acx.registry-index/1";

/// `generatedAt` of an index of nothing.
pub const GENERATED_NEVER: &str = "1970-01-01T00:00:00.000Z";

/// Everything of the index but its `integrity`, in the order of its members.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Content {
    /// `acx.registry-index/1`
    pub schema_version: String,
    /// The newest of the artifacts' and the ledger's times.
    pub generated_at: String,
    /// Artifacts of all kinds.
    pub artifact_count: usize,
    /// Cartridges.
    pub count: usize,
    /// By publisher, id, then version descending.
    pub cartridges: Vec<CartridgeEntry>,
    /// Workflows.
    pub workflow_count: usize,
    /// By publisher, id, then version descending.
    pub workflows: Vec<DocumentEntry>,
    /// Agent Graphs.
    pub agent_graph_count: usize,
    /// By publisher, id, then version descending.
    pub agent_graphs: Vec<DocumentEntry>,
    /// Templates.
    pub template_count: usize,
    /// By id.
    pub templates: Vec<TemplateEntry>,
}

/// How many artifacts of each kind an index lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Counts {
    /// All kinds together.
    pub artifacts: usize,
    /// Cartridges.
    pub cartridges: usize,
    /// Workflows.
    pub workflows: usize,
    /// Agent Graphs.
    pub agent_graphs: usize,
    /// Templates.
    pub templates: usize,
}

impl Content {
    /// An index of these entries and templates, which are sorted already.
    pub fn new(generated_at: String, entries: Entries, templates: Vec<TemplateEntry>) -> Self {
        let Entries {
            cartridges,
            workflows,
            agent_graphs,
        } = entries;
        Self {
            schema_version: INDEX_VERSION.to_owned(),
            generated_at,
            artifact_count: cartridges.len()
                + workflows.len()
                + agent_graphs.len()
                + templates.len(),
            count: cartridges.len(),
            cartridges,
            workflow_count: workflows.len(),
            workflows,
            agent_graph_count: agent_graphs.len(),
            agent_graphs,
            template_count: templates.len(),
            templates,
        }
    }

    /// What its entries have in common, by kind.
    pub fn heads(&self) -> impl Iterator<Item = (ArtifactType, Head<'_>)> {
        heads(&self.cartridges, &self.workflows, &self.agent_graphs)
    }

    /// SHA-256 of the canonical content, made entry by entry.
    pub fn digest(&self) -> Digest {
        let count = |number: usize| json::canonical_of(&number);
        json::object_digest(|o| {
            o.member("agentGraphCount", &count(self.agent_graph_count));
            o.list("agentGraphs", canonical_items(&self.agent_graphs));
            o.member("artifactCount", &count(self.artifact_count));
            o.list("cartridges", canonical_items(&self.cartridges));
            o.member("count", &count(self.count));
            o.member("generatedAt", &json::canonical_of(&self.generated_at));
            o.member("schemaVersion", &json::canonical_of(&self.schema_version));
            o.member("templateCount", &count(self.template_count));
            o.list("templates", canonical_items(&self.templates));
            o.member("workflowCount", &count(self.workflow_count));
            o.list("workflows", canonical_items(&self.workflows));
        })
    }

    /// How many artifacts it lists.
    pub fn counts(&self) -> Counts {
        Counts {
            artifacts: self.artifact_count,
            cartridges: self.count,
            workflows: self.workflow_count,
            agent_graphs: self.agent_graph_count,
            templates: self.template_count,
        }
    }
}

/// The canonical forms of entries, in their order; a batch at a time, on all threads at hand.
fn canonical_items<T: Serialize + Sync>(items: &[T]) -> impl Iterator<Item = Vec<u8>> {
    items.chunks(BATCH).flat_map(|batch| {
        let texts: Vec<Vec<u8>> = batch.par_iter().map(canonical_item).collect();
        texts
    })
}

/// The canonical form of one entry.
fn canonical_item(entry: &impl Serialize) -> Vec<u8> {
    match serde_json::to_value(entry) {
        Ok(value) => json::canonical(&value),
        Err(_) => json::canonical_of(entry),
    }
}

/// The entries of an index that was read, whatever their kind.
pub fn entries(content: &Json) -> impl Iterator<Item = (ArtifactType, &Json)> {
    ArtifactType::ALL.into_iter().flat_map(|kind| {
        let list = content.get(array(kind)).and_then(Json::as_array);
        list.into_iter().flatten().map(move |entry| (kind, entry))
    })
}

/// The member of an index that lists the artifacts of a kind.
pub fn array(kind: ArtifactType) -> &'static str {
    match kind {
        ArtifactType::Agent => "cartridges",
        ArtifactType::Workflow => "workflows",
        ArtifactType::AgentGraph => "agentGraphs",
    }
}

#[derive(Serialize)]
struct Whole<'a, C> {
    #[serde(flatten)]
    content: &'a C,
    integrity: &'a Integrity,
}

/// The file's bytes: two spaces, final newline.
///
/// # Errors
/// None in practice: every member has a JSON form.
pub fn render(
    content: &impl Serialize,
    integrity: &Integrity,
) -> Result<Vec<u8>, serde_json::Error> {
    pretty(&Whole { content, integrity })
}

/// A file's bytes: two spaces, final newline.
pub(super) fn pretty(value: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let mut bytes = serde_json::to_vec_pretty(value)?;
    bytes.push(b'\n');
    Ok(bytes)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::super::text;
    use super::*;

    /// Values of every kind, with names that sort otherwise in UTF-16 than in UTF-8, and all sorts of numbers.
    fn json() -> impl Strategy<Value = Json> {
        let leaf = prop_oneof![
            Just(Json::Null),
            any::<bool>().prop_map(Json::from),
            any::<i64>().prop_map(Json::from),
            any::<u64>().prop_map(Json::from),
            any::<f64>().prop_map(Json::from),
            ".*".prop_map(Json::from),
        ];
        leaf.prop_recursive(3, 24, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Json::from),
                prop::collection::btree_map("[a-c\u{e000}\u{10000}\"\\\\]{0,3}", inner, 0..6)
                    .prop_map(|members| Json::Object(members.into_iter().collect())),
            ]
        })
    }

    fn document(text: &str, own: &Json, kind: &str) -> DocumentEntry {
        let digest = format!("sha256:{}", "a".repeat(64));
        serde_json::from_value(serde_json::json!({
            "path": format!("{kind}/a.b/c/1.0.0"), "id": "c", "version": "1.0.0", "name": text, "description": text,
            "license": "MIT", "tags": [text], "publisher": "a.b", "trust": "portable", "trustStatus": "warning",
            "digest": digest, "own": own, "publishable": true, "signed": true,
            "registryStatus": {
                "status": "active", "reason": text, "recordedAt": null, "successor": own, "advisory": null,
            },
            "latest": true, "keyid": format!("ed25519:{}", "b".repeat(64)),
            "signedAt": "2026-07-19T08:54:36.000Z", "sha256": digest,
        }))
        .unwrap()
    }

    proptest! {
        #[test]
        fn the_digest_is_that_of_the_whole_text(
            texts in prop::collection::vec((".*", json()), 0..4),
            time in ".*",
        ) {
            let all = |kind: &str| texts.iter().map(|(t, own)| document(t, own, kind)).collect();
            let entries = Entries {
                workflows: all("cals"),
                agent_graphs: all("graphs"),
                ..Entries::default()
            };
            let content = Content::new(time, entries, Vec::new());
            let whole = Digest::of(&json::canonical_of(&content));
            prop_assert_eq!(content.digest(), whole);
            let mut pieces = Vec::new();
            let each = &mut |piece: &[u8]| {
                pieces.extend_from_slice(piece);
                Ok(())
            };
            text::content(&content, each).unwrap();
            pieces.extend_from_slice(b"\n}");
            prop_assert_eq!(pieces, serde_json::to_vec_pretty(&content).unwrap());
            let value = serde_json::to_value(&content).unwrap();
            prop_assert_eq!(json::canonical_digest(&value), whole);
        }

        #[test]
        fn the_digest_of_any_value_is_that_of_its_canonical_form(value in json()) {
            prop_assert_eq!(json::canonical_digest(&value), Digest::of(&json::canonical(&value)));
        }
    }
}
