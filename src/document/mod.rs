//! The two signed JSON documents, workflows and Agent Graphs: bytes → a judgement. Pure: no file, no clock.
//!
//! Every rule of these documents is one [`IssueKind`]; the rules' files only say what an issue of it means. What needs
//! two places of a document at once is looked at where the schema holds, since before that no place means anything.
//! Time is linear in the document; depth is bounded by the parser.

mod graph;
mod integrity;
mod profile;
mod scan;
mod workflow;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::attest::PrivateKey;
use crate::check::{Check, DocumentIssue as IssueKind, Place, RULES, Sink};
use crate::container;
use crate::finding::{Finding, Severity};
use crate::model::json::{self, member};
use crate::model::{
    ArtifactType, Coordinate, Digest, DocumentId, Json, KeyId, PublisherId, Timestamp, Version,
};
use crate::policy::{Policy, TrustRegistry};
use crate::schema::{AGENT_GRAPH, Schema, WORKFLOW};
use crate::verdict::{Seen, is_of_the_key};

pub(crate) use integrity::origin;
pub use integrity::{DocumentTrust, Signed};

/// Bytes a document may have.
pub const MAX_BYTES: usize = 1 << 20;

/// Which of the two documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// `*.cal.json`
    Workflow,
    /// `*.agent-graph.json`
    AgentGraph,
}

impl Kind {
    /// The document that an artifact of this type is; none for a cartridge.
    pub fn of_type(artifact: ArtifactType) -> Option<Self> {
        match artifact {
            ArtifactType::Agent => None,
            ArtifactType::Workflow => Some(Self::Workflow),
            ArtifactType::AgentGraph => Some(Self::AgentGraph),
        }
    }

    /// Its `artifactType`.
    pub fn artifact(self) -> ArtifactType {
        match self {
            Self::Workflow => ArtifactType::Workflow,
            Self::AgentGraph => ArtifactType::AgentGraph,
        }
    }

    /// The document that a file of this name is to be.
    pub fn of_name(name: &str) -> Option<Self> {
        if name.ends_with(".cal.json") {
            Some(Self::Workflow)
        } else if name.ends_with(".agent-graph.json") {
            Some(Self::AgentGraph)
        } else {
            None
        }
    }

    fn schema(self) -> &'static Schema {
        match self {
            Self::Workflow => &WORKFLOW,
            Self::AgentGraph => &AGENT_GRAPH,
        }
    }
}

/// One thing that was found: what, the JSON pointer, and in words.
pub(crate) type Issue = (IssueKind, String, String);

/// What a judgement depends on besides the bytes.
#[derive(Clone, Copy)]
pub struct Settings<'a> {
    /// The registry's policy: the levels of the rules.
    pub policy: &'a Policy,
    /// The registry's keys.
    pub trust: &'a TrustRegistry,
    /// The run's one time.
    pub now: &'a Timestamp,
    /// Whether the document is to be published: then it is complete and signed.
    pub publication: bool,
}

/// A document that no rule refuses. Made by [`judge`] alone.
#[derive(Debug, Clone)]
pub struct Accepted {
    kind: Kind,
    value: Json,
    digest: Digest,
    sha256: Digest,
    trust: DocumentTrust,
    signed: Signed,
    plain: bool,
}

impl Accepted {
    /// Which document it is.
    pub fn kind(&self) -> Kind {
        self.kind
    }
    /// The document, `integrity` included.
    pub fn value(&self) -> &Json {
        &self.value
    }
    /// The signed digest: of the canonical form without `integrity`.
    pub fn digest(&self) -> Digest {
        self.digest
    }
    /// SHA-256 of the file.
    pub fn sha256(&self) -> Digest {
        self.sha256
    }
    /// What the signature is worth.
    pub fn trust(&self) -> DocumentTrust {
        self.trust
    }
    /// Who signed it, and when.
    pub fn signed(&self) -> &Signed {
        &self.signed
    }
    /// Publisher, id and version, as signed.
    pub fn coordinate(&self) -> [&str; 3] {
        [
            &self.signed.publisher,
            text(&self.value, "id"),
            text(&self.value, "version"),
        ]
    }
    /// Whether no rule has a word to say of it, whatever its place.
    pub(crate) fn is_plain(&self) -> bool {
        self.plain
    }
}

/// What is known of a document that was judged.
#[derive(Debug)]
pub struct Judgement {
    /// The document, where it was accepted; only with [`Settings::publication`].
    pub accepted: Option<Box<Accepted>>,
    /// What the signature is worth, where the document could be read.
    pub trust: Option<DocumentTrust>,
    /// The recomputed digest, where the document could be read.
    pub digest: Option<Digest>,
    /// Errors and warnings, sorted.
    pub findings: Vec<Finding>,
    /// The publisher and the signer's key, where nothing stands against the document but what became of the key since.
    pub signer: Option<(String, KeyId)>,
}

/// Judges the bytes of one document. `shown` is how findings name the file; `path` is its place in a registry, where it
/// has one and is to be compared with the signed coordinate.
pub fn judge(
    kind: Kind,
    shown: &str,
    path: Option<&str>,
    bytes: &[u8],
    settings: Settings<'_>,
) -> Judgement {
    judge_placed(kind, shown, path, bytes, settings, |_, _| {})
}

/// As [`judge`]; `place` adds what the caller knows of the file's place (its findings count as the rules' own) and may
/// lower findings by the registry's waivers.
pub fn judge_placed(
    kind: Kind,
    shown: &str,
    path: Option<&str>,
    bytes: &[u8],
    settings: Settings<'_>,
    place: impl FnOnce(Option<Seen<'_>>, &mut Vec<Finding>),
) -> Judgement {
    let mut issues = Vec::new();
    let value = match parse(bytes) {
        Ok(value) => value,
        Err(message) => {
            let mut judgement = unreadable(settings.policy, shown, message);
            place(None, &mut judgement.findings);
            crate::finding::sort(&mut judgement.findings);
            return judgement;
        }
    };
    let before = issues.len();
    for (pointer, message) in kind.schema().defects(&value) {
        let of = if pointer == "/lineage" || pointer.starts_with("/lineage/") {
            IssueKind::Lineage
        } else {
            IssueKind::Schema
        };
        issues.push((of, pointer, message));
    }
    let conforms = issues.len() == before;
    let digest = content_digest(&value);
    let (trust, signed) = integrity::check(kind, &value, digest, settings, &mut issues);
    let publisher = value
        .pointer("/integrity/publisherId")
        .and_then(Json::as_str);
    if conforms {
        match kind {
            Kind::Workflow => workflow::check(&value, &mut issues),
            Kind::AgentGraph => graph::check(&value, &mut issues),
        }
    }
    profile::lineage(kind, &value, publisher, &mut issues);
    if settings.publication {
        profile::check(kind, &value, &mut issues);
        scan::check(kind, &value, &mut issues);
    }
    if let (Some(path), Some(publisher)) = (path, publisher) {
        let (id, version) = (text(&value, "id"), text(&value, "version"));
        let expected = kind.artifact().path(publisher, id, version);
        if path != expected {
            let message = format!(
                "expected the path {:?}, found {:?}",
                crate::model::shorten(&expected),
                crate::model::shorten(path)
            );
            issues.push((IssueKind::Coordinate, String::new(), message));
        }
    }
    let mut findings = findings(settings.policy, shown, &issues);
    let plain = findings.is_empty();
    let sha256 = Digest::of(bytes);
    let seen = Seen {
        sha256,
        claims: [
            signed.as_ref().map(|signed| signed.publisher.as_str()),
            value.get("id").and_then(Json::as_str),
            value.get("version").and_then(Json::as_str),
        ],
        manifest: Some(digest),
        trust: trust.of_cartridges(),
    };
    place(Some(seen), &mut findings);
    crate::finding::sort(&mut findings);
    let sound = findings.iter().all(|f| f.severity != Severity::Error);
    let signer = signed
        .as_ref()
        .filter(|_| is_of_the_key(&findings))
        .map(|signed| (signed.publisher.clone(), signed.keyid.clone()));
    let accepted = match signed {
        Some(signed)
            if sound && settings.publication && trust >= DocumentTrust::PortableWarning =>
        {
            Some(Box::new(Accepted {
                kind,
                value,
                digest,
                sha256,
                trust,
                signed,
                plain,
            }))
        }
        _ => None,
    };
    Judgement {
        accepted,
        trust: Some(trust),
        digest: Some(digest),
        findings,
        signer,
    }
}

/// A document as it stands, whatever is right or wrong with it; `None` where it cannot be read.
pub fn content(bytes: &[u8]) -> Option<Json> {
    parse(bytes).ok()
}

/// The coordinate that a document spells, signed or not; `None` where it cannot be read or a part is not of its form.
pub fn coordinate(kind: Kind, bytes: &[u8]) -> Option<Coordinate> {
    let value = parse(bytes).ok()?;
    let publisher = value.pointer("/integrity/publisherId")?.as_str()?;
    Some(Coordinate {
        kind: kind.artifact(),
        publisher: PublisherId::try_from(publisher).ok()?,
        id: DocumentId::try_from(text(&value, "id")).ok()?,
        version: Version::try_from(text(&value, "version")).ok()?,
    })
}

/// The digest that a signature of a document covers: of its canonical form without `integrity`.
///
/// # Errors
/// A sentence where the bytes are no document.
pub fn digest(bytes: &[u8]) -> Result<Digest, String> {
    parse(bytes).map(|value| content_digest(&value))
}

/// Signs a document in the name of a publisher; a signature that it has is replaced. Gives the file: the document
/// as it was, pretty-printed where that is not too large for one, `integrity` at its end; the same for the same document,
/// key and time.
///
/// # Errors
/// The judgement on what would have been signed, where a registry would refuse it.
pub fn sign(
    kind: Kind,
    shown: &str,
    bytes: &[u8],
    publisher: &PublisherId,
    key: &PrivateKey,
    now: &Timestamp,
) -> Result<Vec<u8>, Judgement> {
    let policy = Policy::default();
    let mut value = parse(bytes).map_err(|message| unreadable(&policy, shown, message))?;
    if let Some(members) = value.as_object_mut() {
        members.shift_remove("integrity");
    }
    let integrity = integrity::sign(kind, &value, publisher, key, now);
    if let Some(members) = value.as_object_mut() {
        members.insert("integrity".to_owned(), integrity);
    }
    let failed = |e| unreadable(&policy, shown, format!("cannot be written: {e}"));
    let mut file = serde_json::to_vec_pretty(&value).map_err(failed)?;
    file.push(b'\n');
    if file.len() > MAX_BYTES {
        file = serde_json::to_vec(&value).map_err(failed)?;
    }
    let settings = Settings {
        policy: &policy,
        trust: &TrustRegistry::default(),
        now,
        publication: true,
    };
    let judgement = judge(kind, shown, None, &file, settings);
    if judgement.accepted.is_some() {
        Ok(file)
    } else {
        Err(judgement)
    }
}

/// A document that is too large to be read at all.
pub fn too_large(shown: &str, bytes: u64, most: u64) -> Judgement {
    let message = format!("expected at most {most} bytes, found {bytes}");
    unreadable(&Policy::default(), shown, message)
}

fn unreadable(policy: &Policy, shown: &str, message: String) -> Judgement {
    let issue = (IssueKind::Json, String::new(), message);
    Judgement {
        accepted: None,
        trust: None,
        digest: None,
        findings: findings(policy, shown, &[issue]),
        signer: None,
    }
}

/// The bounds hold before anything is parsed.
fn parse(bytes: &[u8]) -> Result<Json, String> {
    if bytes.len() > MAX_BYTES {
        return Err(format!(
            "expected at most {MAX_BYTES} bytes, found {}",
            bytes.len()
        ));
    }
    if container::is_lfs_pointer(bytes) {
        return Err("expected the document, found git-lfs's pointer to it: take the documents out of git-lfs and add them anew".to_owned());
    }
    let value = json::parse_interoperable(bytes).map_err(|e| e.to_string())?;
    if value.is_object() {
        Ok(value)
    } else {
        Err(format!("expected an object, found {}", json::shown(&value)))
    }
}

/// SHA-256 of the canonical form without the top-level `integrity`.
fn content_digest(value: &Json) -> Digest {
    let mut content = value.clone();
    if let Some(members) = content.as_object_mut() {
        members.shift_remove("integrity");
    }
    Digest::of(&json::canonical(&content))
}

fn findings(policy: &Policy, path: &str, issues: &[Issue]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for rule in RULES {
        let Check::Document(kind) = rule.check else {
            continue;
        };
        let mut sink = Sink::new(rule, path, policy.level(rule.info()), &mut findings);
        for (_, pointer, message) in issues.iter().filter(|(of, ..)| *of == kind) {
            let place = Place {
                table: None,
                row: None,
                pointer: Some(pointer.clone()),
            };
            sink.report(place, message.as_str());
        }
    }
    crate::finding::sort(&mut findings);
    findings
}

/// A text member, or the empty text.
pub(crate) fn text<'a>(value: &'a Json, name: &str) -> &'a str {
    value.get(name).and_then(Json::as_str).unwrap_or_default()
}

/// The items of a list member, or none.
pub(crate) fn list<'a>(value: &'a Json, name: &str) -> &'a [Json] {
    let items = value.get(name).and_then(Json::as_array);
    items.map(Vec::as_slice).unwrap_or_default()
}

/// The texts of a list member.
pub(crate) fn texts<'a>(value: &'a Json, name: &str) -> impl Iterator<Item = &'a str> {
    list(value, name).iter().filter_map(Json::as_str)
}

/// Pointers into a list's items.
fn at(name: &str, place: usize, rest: &str) -> String {
    format!("{}/{place}{rest}", member("", name))
}

/// Reports parts of a document that do not fit each other.
fn report(issues: &mut Vec<Issue>, pointer: String, message: impl Into<String>) {
    issues.push((IssueKind::Graph, pointer, message.into()));
}

/// Reports every id that a list has twice; the ids with their places.
fn unique<'a>(
    value: &'a Json,
    name: &str,
    id: &str,
    issues: &mut Vec<Issue>,
) -> std::collections::BTreeMap<&'a str, usize> {
    let mut places = std::collections::BTreeMap::new();
    for (place, item) in list(value, name).iter().enumerate() {
        let key = text(item, id);
        if let Some(first) = places.get(key) {
            let message = format!("expected each {id} once, found {key:?} at {name}/{first} too");
            report(issues, at(name, place, &format!("/{id}")), message);
        } else {
            places.insert(key, place);
        }
    }
    places
}

/// How a dependency of a graph stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DependencyStatus {
    /// The pinned workflow is accepted here.
    Resolved,
    /// No accepted workflow has the coordinate.
    Missing,
    /// The workflow there has another digest.
    DigestMismatch,
}

/// A workflow that a loop of a graph pins, as signed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pin {
    /// The loop's place in `loops`.
    pub place: usize,
    /// The loop's id.
    pub loop_id: String,
    /// The workflow's publisher.
    pub publisher: String,
    /// The workflow's id.
    pub id: String,
    /// The workflow's version.
    pub version: String,
    /// The workflow's digest.
    pub digest: String,
    /// The aliases of the workflow that the loop binds to actors, each with its pointer.
    pub aliases: Vec<(String, String)>,
}

/// The pinned workflows of a graph, in loop order.
pub fn pins(graph: &Json) -> Vec<Pin> {
    let loops = list(graph, "loops").iter().enumerate();
    loops
        .filter(|(_, item)| text(item, "kind") == "acx-workflow")
        .map(|(place, item)| {
            let pinned = item.get("workflowRef").unwrap_or(&Json::Null);
            let part = |name: &str| text(pinned, name).to_owned();
            let bindings = list(item, "actorBindings").iter().enumerate();
            let aliases = bindings.flat_map(|(binding, item)| {
                let aliases = texts(item, "participants").enumerate();
                aliases.map(move |(at_alias, alias)| {
                    let rest = format!("/actorBindings/{binding}/participants/{at_alias}");
                    (at("loops", place, &rest), alias.to_owned())
                })
            });
            Pin {
                place,
                loop_id: text(item, "id").to_owned(),
                publisher: part("publisherId"),
                id: part("id"),
                version: part("version"),
                digest: part("digest"),
                aliases: aliases.collect(),
            }
        })
        .collect()
}

/// How each pinned workflow stands among accepted ones; `find` gives the digest by publisher, id and version.
pub fn dependencies(
    pins: &[Pin],
    find: impl Fn(&str, &str, &str) -> Option<Digest>,
) -> Vec<DependencyStatus> {
    pins.iter()
        .map(|pin| match find(&pin.publisher, &pin.id, &pin.version) {
            None => DependencyStatus::Missing,
            Some(digest) if digest.to_string() == pin.digest => DependencyStatus::Resolved,
            Some(_) => DependencyStatus::DigestMismatch,
        })
        .collect()
}

/// The findings on a graph's dependencies that are not resolved.
pub fn dependency_findings(
    policy: &Policy,
    shown: &str,
    pins: &[Pin],
    found: &[DependencyStatus],
) -> Vec<Finding> {
    let issues: Vec<Issue> = pins
        .iter()
        .zip(found)
        .filter_map(|(pin, status)| {
            let message = match status {
                DependencyStatus::Resolved => return None,
                DependencyStatus::Missing => "has no accepted workflow of this coordinate",
                DependencyStatus::DigestMismatch => "has another digest for this workflow",
            };
            let message = format!(
                "expected {}/{}@{} ({}), the registry {message}",
                pin.publisher, pin.id, pin.version, pin.digest
            );
            let pointer = at("loops", pin.place, "/workflowRef");
            Some((IssueKind::Dependency, pointer, message))
        })
        .collect();
    findings(policy, shown, &issues)
}

/// The findings on bound aliases that the pinned workflow, with these aliases, has no participant for.
pub fn binding_findings(
    policy: &Policy,
    shown: &str,
    pin: &Pin,
    aliases: &BTreeSet<&str>,
) -> Vec<Finding> {
    let unknown = pin.aliases.iter();
    let issues: Vec<Issue> = unknown
        .filter(|(_, alias)| !aliases.contains(alias.as_str()))
        .map(|(pointer, alias)| {
            let message = format!(
                "expected a participant of {}/{}@{}, found {alias:?}",
                pin.publisher, pin.id, pin.version
            );
            (IssueKind::Binding, pointer.clone(), message)
        })
        .collect();
    findings(policy, shown, &issues)
}
