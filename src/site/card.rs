//! What a card shows, whatever kind of artifact it stands for; the list's pages and the search data are made of it.

use super::{Cartridge, Site, slug};
use crate::model::{Trust, cut};
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
    /// cartridge, template
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

impl Card {
    pub fn of_cartridge(cartridge: &Cartridge) -> Option<Self> {
        let entry = cartridge.latest()?;
        let name = entry.name.as_deref().map(|name| line(name, WORD));
        Some(Self {
            kind: "cartridge",
            href: format!("cartridges/{}/index.html", cartridge.folder),
            publisher: entry.publisher.clone(),
            id: entry.id.clone(),
            name: name.filter(|n| !n.is_empty()).unwrap_or(entry.id.clone()),
            version: entry.version.clone(),
            trust: match entry.trust {
                Trust::Trusted | Trust::Local => "trusted",
                Trust::Portable | Trust::Legacy | Trust::Tampered => "portable",
            },
            status: entry.registry_status.status.clone(),
            description: line(&entry.description, DESCRIPTION),
            capabilities: words(entry.capabilities.iter().map(|c| &c.task_type)),
            tags: words(entry.tags.iter()),
            keyid: entry.keyid.to_string(),
            versions: cartridge.versions.len(),
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

/// The cards from `skip` on: cartridges by publisher and id, then templates.
pub fn cards(site: &Site, skip: usize, take: usize) -> impl Iterator<Item = Card> {
    let cartridges = site.cartridges.len();
    let own = site.cartridges.iter().skip(skip).take(take);
    let left = take.saturating_sub(cartridges.saturating_sub(skip));
    let templates = site
        .templates
        .iter()
        .skip(skip.saturating_sub(cartridges))
        .take(left);
    own.filter_map(Card::of_cartridge)
        .chain(templates.map(Card::of_template))
}
