//! A static web site of a registry's signed index: what is on each page, and the pages' bytes.
//!
//! The same index gives the same bytes, and so does what lies beside it: only a file whose SHA-256 the index states is
//! read, for a graph's routes and for the credentials of a level. Every text of the index is a stranger's, and is only ever written by
//! [`html::Html`], which escapes it, or into a file of data whose script shows it as text. Names of files come from
//! [`slug`]. A page is rendered when it is asked for, so that a hundred thousand of them need not fit into memory.

mod card;
mod data;
mod document;
mod html;
mod page;
mod picture;
mod slug;
mod write;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize as _;

use crate::check::{self, Settings};
use crate::disk;
use crate::level::IssuerKeys;
use crate::model::{ArtifactType, Digest, Json, KeyId, RegistryPath, Timestamp, Version};
use crate::policy::{Policy, TrustRegistry};
use crate::project::{self, CartridgeEntry, DocumentEntry, IndexEntry, Proofs, TemplateEntry};
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
    /// By publisher and id.
    workflows: Vec<Document>,
    /// By publisher and id.
    graphs: Vec<Document>,
    /// By id.
    templates: Vec<TemplateEntry>,
    /// The places of the graphs that pin a workflow, by its publisher, id, version and digest.
    dependents: BTreeMap<[String; 4], Vec<(usize, usize)>>,
    beside: Option<Beside>,
}

/// The registry that the index lies in.
#[derive(Debug)]
struct Beside {
    root: PathBuf,
    policy: Policy,
    issuers: IssuerKeys,
}

/// What is known of the index itself.
#[derive(Debug)]
struct Head {
    registry_id: String,
    keyid: KeyId,
    signed_at: Timestamp,
    expires: Option<String>,
    sequence: u64,
    previous: Option<Digest>,
    digest: Digest,
    counts: Counts,
    /// Where the key comes from that the signer was held against.
    source: KeySource,
}

/// All versions of one artifact.
#[derive(Debug)]
struct Versions<E> {
    kind: ArtifactType,
    /// Below the site's folder.
    folder: String,
    /// The newest first.
    versions: Vec<E>,
    /// Which of them to take unless another is asked for.
    latest: usize,
}

type Cartridge = Versions<CartridgeEntry>;
type Document = Versions<DocumentEntry>;

impl<E> Versions<E> {
    /// The version to take unless another is asked for.
    fn latest(&self) -> Option<&E> {
        self.versions.get(self.latest)
    }

    /// Pages of the history.
    fn pages(&self) -> usize {
        self.versions.len().div_ceil(HISTORY)
    }
}

/// What the pages show of every entry, besides its head.
trait Shown: IndexEntry {
    fn name(&self) -> &str;
    fn description(&self) -> &str;
    fn signed_at(&self) -> &Timestamp;
    fn sha256(&self) -> Digest;
    fn is_latest(&self) -> bool;
}

macro_rules! shown {
    ($type:ty, $name:expr) => {
        impl Shown for $type {
            fn name(&self) -> &str {
                let name: fn(&Self) -> &str = $name;
                name(self)
            }
            fn description(&self) -> &str {
                &self.description
            }
            fn signed_at(&self) -> &Timestamp {
                &self.signed_at
            }
            fn sha256(&self) -> Digest {
                self.sha256
            }
            fn is_latest(&self) -> bool {
                self.latest
            }
        }
    };
}

shown!(CartridgeEntry, |entry| entry
    .name
    .as_deref()
    .unwrap_or_default());
shown!(DocumentEntry, |entry| &entry.name);

/// The folder of a kind's pages.
fn shelf(kind: ArtifactType) -> &'static str {
    match kind {
        ArtifactType::Agent => "cartridges",
        ArtifactType::Workflow => "workflows",
        ArtifactType::AgentGraph => "graphs",
    }
}

/// The entries of a kind by publisher and id.
fn grouped<E: Shown>(kind: ArtifactType, entries: Vec<E>) -> Result<Vec<Versions<E>>, SiteError> {
    let mut grouped: BTreeMap<(String, String), Vec<(Version, E)>> = BTreeMap::new();
    for entry in entries {
        let head = entry.head();
        let path = kind.path(head.publisher, head.id, head.version);
        if head.path != path {
            return Err(SiteError(format!(
                "expected the path {path:?}, found {:?}",
                crate::model::shorten(head.path)
            )));
        }
        let version =
            Version::try_from(head.version).map_err(|e| SiteError(format!("{path}: {e}")))?;
        let key = (head.publisher.to_owned(), head.id.to_owned());
        grouped.entry(key).or_default().push((version, entry));
    }
    let mut groups = Vec::with_capacity(grouped.len());
    for ((publisher, id), mut versions) in grouped {
        versions.sort_by(|a, b| {
            let text = b.1.head().version.cmp(a.1.head().version);
            b.0.cmp(&a.0).then(text)
        });
        let versions: Vec<E> = versions.into_iter().map(|(_, e)| e).collect();
        if let Some([twice, _]) = versions
            .array_windows()
            .find(|[a, b]| a.head().version == b.head().version)
        {
            return Err(SiteError(format!("{} is listed twice", twice.head().path)));
        }
        groups.push(Versions {
            kind,
            folder: format!("{}/{}", shelf(kind), slug::cartridge(&publisher, &id)),
            latest: versions
                .iter()
                .position(Shown::is_latest)
                .unwrap_or_default(),
            versions,
        });
    }
    Ok(groups)
}

/// The page of a version that is listed.
fn page_in<E: Shown>(
    groups: &[Versions<E>],
    [publisher, id, version]: [&str; 3],
) -> Option<String> {
    let at = groups
        .binary_search_by(|group| {
            let named = group.versions.first().map(|entry| {
                let head = entry.head();
                (head.publisher, head.id)
            });
            named.cmp(&Some((publisher, id)))
        })
        .ok()?;
    let group = groups.get(at)?;
    let mut versions = group.versions.iter();
    let listed = versions.any(|v| v.head().version == version);
    listed.then(|| format!("{}/{}", group.folder, slug::file("v", version)))
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
    /// The same of a workflow or an Agent Graph.
    Document(&'a Document, usize),
    DocumentVersion(&'a Document, &'a DocumentEntry),
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
        let cartridges = grouped(ArtifactType::Agent, content.cartridges)?;
        let workflows = grouped(ArtifactType::Workflow, content.workflows)?;
        let graphs = grouped(ArtifactType::AgentGraph, content.agent_graphs)?;
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
                signed_at: head.signing.signed_at.clone(),
                expires: head.signing.expires.as_ref().map(ToString::to_string),
                sequence: head.signing.sequence,
                previous: head.signing.previous_digest,
                digest: head.integrity.digest,
                counts,
                source,
            },
            dependents: dependents(&graphs),
            cartridges,
            workflows,
            graphs,
            templates,
            beside: None,
        })
    }

    /// The same site with what lies beside the index: the documents and cartridges that it names by their SHA-256, and
    /// the keys by which credentials count.
    #[must_use]
    pub fn beside(mut self, root: &Path, policy: Policy, issuers: IssuerKeys) -> Self {
        let root = root.to_path_buf();
        self.beside = Some(Beside {
            root,
            policy,
            issuers,
        });
        self
    }

    /// The content of a listed document, where it is at hand and what the index lists.
    fn content(&self, entry: &DocumentEntry) -> Option<Json> {
        let most = crate::document::MAX_BYTES as u64;
        let bytes = self.beside.as_ref()?.read(entry, most)?;
        crate::document::content(&bytes)
    }

    /// What the credentials of a listed cartridge come to, where it is at hand, and by these keys and at the index's time
    /// they give what the index says.
    fn proofs(&self, entry: &CartridgeEntry) -> Option<Proofs> {
        entry.level_claim.verification_state?;
        let beside = self.beside.as_ref()?;
        let bytes = beside.read(entry, beside.policy.limits.file_bytes)?;
        let now = &self.head.signed_at;
        let settings = Settings {
            policy: &beside.policy,
            trust: &TrustRegistry::default(),
            own_keys: &[],
            now,
            public: false,
        };
        let checked = check::check(&entry.path, &bytes, settings).ok()?;
        let levels = project::levels_of_checked(&checked, &beside.issuers, now)?;
        let proofs = project::proofs(checked.cartridge.as_ref()?, levels)?;
        let agrees = proofs.level == entry.level && proofs.level_claim == entry.level_claim;
        agrees.then_some(proofs)
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
        for group in &self.cartridges {
            let (history, version) = (What::Cartridge, What::Version);
            files.extend(pages_of(group, history, version).map(|(path, what)| file(path, what)));
        }
        for group in self.workflows.iter().chain(&self.graphs) {
            let (history, version) = (What::Document, What::DocumentVersion);
            files.extend(pages_of(group, history, version).map(|(path, what)| file(path, what)));
        }
        for template in &self.templates {
            let path = format!("templates/{}", slug::file("t", &template.id));
            files.push(file(path, What::Template(template)));
        }
        files
    }

    /// The page of a version that is listed.
    fn page_of(&self, kind: ArtifactType, coordinate: [&str; 3]) -> Option<String> {
        match kind {
            ArtifactType::Agent => page_in(&self.cartridges, coordinate),
            ArtifactType::Workflow => page_in(&self.workflows, coordinate),
            ArtifactType::AgentGraph => page_in(&self.graphs, coordinate),
        }
    }

    /// Cards of all kinds.
    fn cards(&self) -> usize {
        self.cartridges.len() + self.workflows.len() + self.graphs.len() + self.templates.len()
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
            What::Document(group, n) => document::document(site, group, n).into_bytes(),
            What::DocumentVersion(group, entry) => {
                document::version(site, group, entry).into_bytes()
            }
            What::Template(template) => page::template(site, template).into_bytes(),
        }
    }
}

/// The pages of one artifact: its history, and each version.
fn pages_of<'a, E: Shown>(
    group: &'a Versions<E>,
    history: impl Fn(&'a Versions<E>, usize) -> What<'a> + 'a,
    version: impl Fn(&'a Versions<E>, &'a E) -> What<'a> + 'a,
) -> impl Iterator<Item = (String, What<'a>)> {
    let folder = &group.folder;
    let histories = (1..=group.pages()).map(move |n| {
        let path = format!("{folder}/{}", numbered("index", "versions", n));
        (path, history(group, n))
    });
    let versions = group.versions.iter().map(move |entry| {
        let path = format!("{folder}/{}", slug::file("v", entry.head().version));
        (path, version(group, entry))
    });
    histories.chain(versions)
}

/// Where each pinned workflow is pinned.
fn dependents(graphs: &[Document]) -> BTreeMap<[String; 4], Vec<(usize, usize)>> {
    let mut dependents: BTreeMap<[String; 4], Vec<(usize, usize)>> = BTreeMap::new();
    for (at, group) in graphs.iter().enumerate() {
        for (place, entry) in group.versions.iter().enumerate() {
            for pinned in entry.dependencies.iter().flatten() {
                let key = [
                    pinned.publisher_id.clone(),
                    pinned.id.clone(),
                    pinned.version.clone(),
                    pinned.digest.clone(),
                ];
                let graphs = dependents.entry(key).or_default();
                // Two of its loops may pin one workflow.
                if graphs.last() != Some(&(at, place)) {
                    graphs.push((at, place));
                }
            }
        }
    }
    dependents
}

impl Beside {
    /// The bytes of a listed file, where they are those that the index lists.
    fn read(&self, entry: &impl Shown, most: u64) -> Option<Vec<u8>> {
        let path = RegistryPath::try_from(entry.head().path).ok()?;
        let bytes = disk::read(&self.root.join(path.as_str()), most).ok()?;
        (Digest::of(&bytes) == entry.sha256()).then_some(bytes)
    }
}

/// The name of one of several pages: the first has a name of its own.
fn numbered(first: &str, more: &str, n: usize) -> String {
    match n {
        1 => format!("{first}.html"),
        n => format!("{more}-{n}.html"),
    }
}
