//! The content of `index.json`, and its text.

use serde::{Deserialize, Serialize};

use super::sign::Integrity;
use crate::model::{Digest, Json, json};
use crate::project::{CartridgeEntry, TemplateEntry};

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
    /// None yet.
    pub workflows: Vec<Json>,
    /// Agent Graphs.
    pub agent_graph_count: usize,
    /// None yet.
    pub agent_graphs: Vec<Json>,
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
    /// An index of these cartridges and templates, which are sorted already.
    pub fn new(
        generated_at: String,
        cartridges: Vec<CartridgeEntry>,
        templates: Vec<TemplateEntry>,
    ) -> Self {
        Self {
            schema_version: INDEX_VERSION.to_owned(),
            generated_at,
            artifact_count: cartridges.len() + templates.len(),
            count: cartridges.len(),
            cartridges,
            workflow_count: 0,
            workflows: Vec::new(),
            agent_graph_count: 0,
            agent_graphs: Vec::new(),
            template_count: templates.len(),
            templates,
        }
    }

    /// SHA-256 of the canonical content.
    pub fn digest(&self) -> Digest {
        Digest::of(&json::canonical_of(self))
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

#[derive(Serialize)]
struct Whole<'a> {
    #[serde(flatten)]
    content: &'a Content,
    integrity: &'a Integrity,
}

/// The file's bytes: two spaces, final newline.
///
/// # Errors
/// None in practice: every member has a JSON form.
pub fn render(content: &Content, integrity: &Integrity) -> Result<Vec<u8>, serde_json::Error> {
    let mut bytes = serde_json::to_vec_pretty(&Whole { content, integrity })?;
    bytes.push(b'\n');
    Ok(bytes)
}
