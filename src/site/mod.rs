//! A static web site of a registry's signed index: what is on each page, and the pages' bytes.
//!
//! The same index gives the same bytes. Every text of the index is a stranger's, and is only ever written by
//! [`html::Html`], which escapes it, or into a file of data whose script shows it as text. Names of files come from
//! [`slug`]. A page is rendered when it is asked for, so that a hundred thousand of them need not fit into memory.

mod card;
mod data;
mod html;
mod page;
mod slug;
mod write;

use std::collections::BTreeMap;

use serde::Deserialize as _;

use crate::model::{Digest, KeyId, Version};
use crate::project::{CartridgeEntry, TemplateEntry};
use crate::publish::{Content, Counts, IndexHead, KeySource, SignedIndex};

pub use write::{MARKER, WriteError, Written, write};

/// Cards on a page of the list.
const CARDS: usize = 60;

/// Versions on a page of a cartridge's history.
const HISTORY: usize = 400;

/// Entries in a file of search data.
const SEARCHED: usize = 2000;

/// Why an index has no site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteError(String);

impl std::fmt::Display for SiteError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the index cannot be shown: {}", self.0)
    }
}

impl std::error::Error for SiteError {}

/// A registry's site.
#[derive(Debug)]
pub struct Site {
    head: Head,
    /// By publisher and id.
    cartridges: Vec<Cartridge>,
    /// By id.
    templates: Vec<TemplateEntry>,
}

/// What is known of the index itself.
#[derive(Debug)]
struct Head {
    registry_id: String,
    keyid: KeyId,
    signed_at: String,
    expires: Option<String>,
    sequence: u64,
    previous: Option<Digest>,
    digest: Digest,
    counts: Counts,
    /// Where the key comes from that the signer was held against.
    source: KeySource,
}

/// All versions of one cartridge.
#[derive(Debug)]
struct Cartridge {
    folder: String,
    /// The newest first.
    versions: Vec<CartridgeEntry>,
    /// Which of them to take unless another is asked for.
    latest: usize,
}

impl Cartridge {
    /// The version to take unless another is asked for.
    fn latest(&self) -> Option<&CartridgeEntry> {
        self.versions.get(self.latest)
    }
}

/// What a file of the site is.
#[derive(Debug, Clone, Copy)]
enum What<'a> {
    Marker,
    Asset(&'static str),
    /// A page of the list, from 1.
    List(usize),
    /// A file of search data, from 1.
    Data(usize),
    Index,
    /// A page of a cartridge's history, from 1; the first also shows the version to take.
    Cartridge(&'a Cartridge, usize),
    Version(&'a Cartridge, &'a CartridgeEntry),
    Template(&'a TemplateEntry),
}

/// A file of the site.
#[derive(Debug)]
pub struct File<'a> {
    site: &'a Site,
    /// Below the site's folder, with `/`.
    pub path: String,
    what: What<'a>,
}

const STYLE: &str = include_str!("assets/site.css");
const SCRIPT: &str = include_str!("assets/site.js");
const ICON: &str = include_str!("assets/icon.svg");

impl Site {
    /// The site of an index whose signature holds, and of where the key comes from that the signer was held against.
    ///
    /// # Errors
    /// [`SiteError`] for an index with a shard that is not at hand, and one that no build writes: a coordinate listed twice, or a path that is not its
    /// coordinate's.
    pub fn new(index: &SignedIndex, source: KeySource) -> Result<Self, SiteError> {
        if let Some(publisher) = index.absent.first() {
            return Err(SiteError(format!(
                "expected all of its shards, found none of {publisher}; fetch it first"
            )));
        }
        let content = Content::deserialize(&index.content).map_err(|e| SiteError(e.to_string()))?;
        Self::of(content, &index.head, source)
    }

    fn of(content: Content, head: &IndexHead, source: KeySource) -> Result<Self, SiteError> {
        let counts = content.counts();
        let mut grouped: BTreeMap<(String, String), Vec<(Version, CartridgeEntry)>> =
            BTreeMap::new();
        for entry in content.cartridges {
            let path = format!(
                "cartridges/{}/{}/{}/cartridge.acx",
                entry.publisher, entry.id, entry.version
            );
            if entry.path != path {
                return Err(SiteError(format!(
                    "expected the path {path:?}, found {:?}",
                    crate::model::shorten(&entry.path)
                )));
            }
            let version = Version::try_from(entry.version.as_str())
                .map_err(|e| SiteError(format!("{path}: {e}")))?;
            grouped
                .entry((entry.publisher.clone(), entry.id.clone()))
                .or_default()
                .push((version, entry));
        }
        let mut cartridges = Vec::with_capacity(grouped.len());
        for ((publisher, id), mut versions) in grouped {
            versions.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| b.1.version.cmp(&a.1.version)));
            let versions: Vec<CartridgeEntry> = versions.into_iter().map(|(_, e)| e).collect();
            if let Some([twice, _]) = versions
                .array_windows()
                .find(|[a, b]| a.version == b.version)
            {
                return Err(SiteError(format!("{} is listed twice", twice.path)));
            }
            cartridges.push(Cartridge {
                folder: slug::cartridge(&publisher, &id),
                latest: versions.iter().position(|v| v.latest).unwrap_or_default(),
                versions,
            });
        }
        let mut templates = content.templates;
        templates.sort_by(|a, b| a.id.cmp(&b.id));
        if let Some([twice, _]) = templates.array_windows().find(|[a, b]| a.id == b.id) {
            return Err(SiteError(format!(
                "the template {} is listed twice",
                twice.id
            )));
        }
        Ok(Self {
            head: Head {
                registry_id: head.signing.registry_id.clone(),
                keyid: head.integrity.keyid.clone(),
                signed_at: head.signing.signed_at.to_string(),
                expires: head.signing.expires.as_ref().map(ToString::to_string),
                sequence: head.signing.sequence,
                previous: head.signing.previous_digest,
                digest: head.integrity.digest,
                counts,
                source,
            },
            cartridges,
            templates,
        })
    }

    /// Every file, in the order of their writing. No two paths differ in case alone.
    pub fn files(&self) -> Vec<File<'_>> {
        let file = |path: String, what| File {
            site: self,
            path,
            what,
        };
        let mut files = vec![
            file(MARKER.to_owned(), What::Marker),
            file("assets/site.css".to_owned(), What::Asset(STYLE)),
            file("assets/site.js".to_owned(), What::Asset(SCRIPT)),
            file("assets/icon.svg".to_owned(), What::Asset(ICON)),
            file("registry.html".to_owned(), What::Index),
        ];
        for n in 1..=self.pages() {
            files.push(file(numbered("index", "page", n), What::List(n)));
        }
        for n in 1..=self.cards().div_ceil(SEARCHED) {
            files.push(file(format!("assets/data-{n}.js"), What::Data(n)));
        }
        for cartridge in &self.cartridges {
            let folder = format!("cartridges/{}", cartridge.folder);
            for n in 1..=cartridge.versions.len().div_ceil(HISTORY) {
                let path = format!("{folder}/{}", numbered("index", "versions", n));
                files.push(file(path, What::Cartridge(cartridge, n)));
            }
            for entry in &cartridge.versions {
                let path = format!("{folder}/{}", slug::file("v", &entry.version));
                files.push(file(path, What::Version(cartridge, entry)));
            }
        }
        for template in &self.templates {
            let path = format!("templates/{}", slug::file("t", &template.id));
            files.push(file(path, What::Template(template)));
        }
        files
    }

    /// The page of a version that is listed.
    fn page_of(&self, publisher: &str, id: &str, version: &str) -> Option<String> {
        let at = self
            .cartridges
            .binary_search_by(|cartridge| {
                let named = cartridge.versions.first();
                let named = named.map(|entry| (entry.publisher.as_str(), entry.id.as_str()));
                named.cmp(&Some((publisher, id)))
            })
            .ok()?;
        let cartridge = self.cartridges.get(at)?;
        let listed = cartridge.versions.iter().any(|v| v.version == version);
        listed.then(|| {
            format!(
                "cartridges/{}/{}",
                cartridge.folder,
                slug::file("v", version)
            )
        })
    }

    /// Cards of all kinds.
    fn cards(&self) -> usize {
        self.cartridges.len() + self.templates.len()
    }

    /// Pages of the list; the first is there even where it lists nothing.
    fn pages(&self) -> usize {
        self.cards().div_ceil(CARDS).max(1)
    }
}

impl File<'_> {
    /// The file's bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let site = self.site;
        match self.what {
            What::Marker => write::MARKED.as_bytes().to_vec(),
            What::Asset(text) => text.as_bytes().to_vec(),
            What::List(n) => page::list(site, n).into_bytes(),
            What::Data(n) => data::script(site, n),
            What::Index => page::index(site).into_bytes(),
            What::Cartridge(cartridge, n) => page::cartridge(site, cartridge, n).into_bytes(),
            What::Version(cartridge, entry) => page::version(site, cartridge, entry).into_bytes(),
            What::Template(template) => page::template(site, template).into_bytes(),
        }
    }
}

/// The name of one of several pages: the first has a name of its own.
fn numbered(first: &str, more: &str, n: usize) -> String {
    match n {
        1 => format!("{first}.html"),
        n => format!("{more}-{n}.html"),
    }
}
