//! What a card shows, whatever kind of artifact it stands for; the list's pages and the search data are made of it.

use super::{Cartridge, Document, Site, slug};
use crate::model::{ArtifactType, Trust, cut};
use crate::project::TemplateEntry;

/// Letters of a description on a card.
const DESCRIPTION: usize = 240;

/// Letters of any other text on a card.
pub const WORD: usize = 80;

/// Words of a list (tags, capabilities) on a card and in the search data.
const LISTED: usize = 24;

/// One card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Card {
    /// cartridge, workflow, agent-graph, template
    pub kind: &'static str,
    /// The artifact's page, below the site's folder.
    pub href: String,
    pub publisher: String,
    pub id: String,
    pub name: String,
    pub version: String,
    /// trusted, portable, unsigned
    pub trust: &'static str,
    /// active, deprecated, withdrawn, superseded
    pub status: String,
    pub description: String,
    /// Kinds of task that it claims.
    pub capabilities: Vec<String>,
    pub tags: Vec<String>,
    /// The signer's key; empty for what nobody signed.
    pub keyid: String,
    /// How many versions there are.
    pub versions: usize,
}

fn words<'a>(words: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut list: Vec<String> = Vec::new();
    for word in words.take(LISTED * 4) {
        let word = cut(word, WORD);
        if list.len() < LISTED && !word.is_empty() && !list.contains(&word) {
            list.push(word);
        }
    }
    list
}

/// A text on one line, for a card.
fn line(text: &str, letters: usize) -> String {
    let short = cut(text.trim(), letters);
    short.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn trust(trust: Trust) -> &'static str {
    match trust {
        Trust::Trusted | Trust::Local => "trusted",
        Trust::Portable | Trust::Legacy | Trust::Tampered => "portable",
    }
}

/// What a reader calls an artifact of this kind.
pub fn kind(kind: ArtifactType) -> &'static str {
    match kind {
        ArtifactType::Agent => "cartridge",
        ArtifactType::Workflow => "workflow",
        ArtifactType::AgentGraph => "agent-graph",
    }
}

impl Card {
    pub fn of_cartridge(cartridge: &Cartridge) -> Option<Self> {
        let entry = cartridge.latest()?;
        let name = entry.name.as_deref().map(|name| line(name, WORD));
        Some(Self {
            kind: "cartridge",
            href: format!("{}/index.html", cartridge.folder),
            publisher: entry.publisher.clone(),
            id: entry.id.clone(),
            name: name.filter(|n| !n.is_empty()).unwrap_or(entry.id.clone()),
            version: entry.version.clone(),
            trust: trust(entry.trust),
            status: entry.registry_status.status.clone(),
            description: line(&entry.description, DESCRIPTION),
            capabilities: words(entry.capabilities.iter().map(|c| &c.task_type)),
            tags: words(entry.tags.iter()),
            keyid: entry.keyid.to_string(),
            versions: cartridge.versions.len(),
        })
    }

    pub fn of_document(document: &Document) -> Option<Self> {
        let entry = document.latest()?;
        let name = line(&entry.name, WORD);
        Some(Self {
            kind: kind(document.kind),
            href: format!("{}/index.html", document.folder),
            publisher: entry.publisher.clone(),
            id: entry.id.clone(),
            name: if name.is_empty() {
                entry.id.clone()
            } else {
                name
            },
            version: entry.version.clone(),
            trust: trust(entry.trust),
            status: entry.registry_status.status.clone(),
            description: line(&entry.description, DESCRIPTION),
            capabilities: Vec::new(),
            tags: words(entry.tags.iter()),
            keyid: entry.keyid.to_string(),
            versions: document.versions.len(),
        })
    }

    pub fn of_template(template: &TemplateEntry) -> Self {
        let name = line(&template.name, WORD);
        Self {
            kind: "template",
            href: format!("templates/{}", slug::file("t", &template.id)),
            publisher: line(&template.publisher, WORD),
            id: template.id.clone(),
            name: if name.is_empty() {
                template.id.clone()
            } else {
                name
            },
            version: template
                .version
                .as_deref()
                .map(|version| line(version, 20))
                .unwrap_or_default(),
            trust: "unsigned",
            status: "active".to_owned(),
            description: line(&template.description, DESCRIPTION),
            capabilities: Vec::new(),
            tags: words(template.tags.iter()),
            keyid: String::new(),
            versions: 1,
        }
    }
}

/// The cards from `skip` on: cartridges, workflows and Agent Graphs by publisher and id, then templates.
pub fn cards(site: &Site, skip: usize, take: usize) -> impl Iterator<Item = Card> {
    let documents = site.workflows.iter().chain(&site.graphs);
    // Skipped before they are made into cards; each kind's list knows its length.
    let cartridges = site.cartridges.len();
    let before = cartridges + site.workflows.len() + site.graphs.len();
    let own = site.cartridges.iter().skip(skip).map(Card::of_cartridge);
    let documents = documents
        .skip(skip.saturating_sub(cartridges))
        .map(Card::of_document);
    let templates = site
        .templates
        .iter()
        .skip(skip.saturating_sub(before))
        .map(|template| Some(Card::of_template(template)));
    own.chain(documents).chain(templates).take(take).flatten()
}
