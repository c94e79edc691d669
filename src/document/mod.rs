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

use crate::attest::PrivateKey;
use crate::check::{Check, DocumentIssue as IssueKind, Place, RULES, Sink};
use crate::finding::{Finding, Severity};
use crate::model::json::{self, member};
use crate::model::{Digest, Json, PublisherId, Timestamp};
use crate::policy::TrustRegistry;
use crate::schema::{AGENT_GRAPH, Schema, WORKFLOW};

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
    /// Its `artifactType`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Workflow => "workflow",
            Self::AgentGraph => "agent-graph",
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

    /// The path in a registry of the document with this coordinate.
    pub fn path(self, publisher: &str, id: &str, version: &str) -> String {
        match self {
            Self::Workflow => format!("cals/{publisher}/{id}/{version}.cal.json"),
            Self::AgentGraph => format!("graphs/{publisher}/{id}/{version}.agent-graph.json"),
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
    let mut issues = Vec::new();
    let value = match parse(bytes) {
        Ok(value) => value,
        Err(message) => return unreadable(shown, message),
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
        let expected = kind.path(publisher, text(&value, "id"), text(&value, "version"));
        if path != expected {
            let message = format!(
                "expected the path {:?}, found {:?}",
                crate::model::shorten(&expected),
                crate::model::shorten(path)
            );
            issues.push((IssueKind::Coordinate, String::new(), message));
        }
    }
    let findings = findings(shown, &issues);
    let sound = findings.iter().all(|f| f.severity != Severity::Error);
    let accepted = match signed {
        Some(signed)
            if sound && settings.publication && trust >= DocumentTrust::PortableWarning =>
        {
            Some(Box::new(Accepted {
                kind,
                value,
                digest,
                sha256: Digest::of(bytes),
                trust,
                signed,
            }))
        }
        _ => None,
    };
    Judgement {
        accepted,
        trust: Some(trust),
        digest: Some(digest),
        findings,
    }
}

/// The digest that a signature of a document covers: of its canonical form without `integrity`.
///
/// # Errors
/// A sentence where the bytes are no document.
pub fn digest(bytes: &[u8]) -> Result<Digest, String> {
    parse(bytes).map(|value| content_digest(&value))
}

/// Signs a document in the name of a publisher; a signature that it has is replaced. Gives the file: the document
/// as it was, pretty-printed, `integrity` at its end; the same for the same document, key and time.
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
    let mut value = parse(bytes).map_err(|message| unreadable(shown, message))?;
    if let Some(members) = value.as_object_mut() {
        members.shift_remove("integrity");
    }
    let integrity = integrity::sign(kind, &value, publisher, key, now);
    if let Some(members) = value.as_object_mut() {
        members.insert("integrity".to_owned(), integrity);
    }
    let mut file = serde_json::to_vec_pretty(&value)
        .map_err(|e| unreadable(shown, format!("cannot be written: {e}")))?;
    file.push(b'\n');
    let settings = Settings {
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
pub fn too_large(shown: &str, bytes: u64) -> Judgement {
    let message = format!("expected at most {MAX_BYTES} bytes, found {bytes}");
    unreadable(shown, message)
}

fn unreadable(shown: &str, message: String) -> Judgement {
    Judgement {
        accepted: None,
        trust: None,
        digest: None,
        findings: findings(shown, &[(IssueKind::Json, String::new(), message)]),
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

fn findings(path: &str, issues: &[Issue]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for rule in RULES {
        let Check::Document(kind) = rule.check else {
            continue;
        };
        let mut sink = Sink::new(rule, path, Some(rule.level), &mut findings);
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

/// The pinned workflows of a graph, in loop order: the loop's place and how it stands among these accepted workflows.
pub fn dependencies(
    graph: &Json,
    find: impl Fn(&str, &str, &str) -> Option<Digest>,
) -> Vec<(usize, DependencyStatus)> {
    let loops = list(graph, "loops").iter().enumerate();
    loops
        .filter(|(_, item)| text(item, "kind") == "acx-workflow")
        .map(|(place, item)| {
            let pinned = item.get("workflowRef").unwrap_or(&Json::Null);
            let found = find(
                text(pinned, "publisherId"),
                text(pinned, "id"),
                text(pinned, "version"),
            );
            let status = match found {
                None => DependencyStatus::Missing,
                Some(digest) if digest.to_string() == text(pinned, "digest") => {
                    DependencyStatus::Resolved
                }
                Some(_) => DependencyStatus::DigestMismatch,
            };
            (place, status)
        })
        .collect()
}

/// The findings on a graph's dependencies that are not resolved.
pub fn dependency_findings(shown: &str, found: &[(usize, DependencyStatus)]) -> Vec<Finding> {
    let issues: Vec<Issue> = found
        .iter()
        .filter_map(|(place, status)| {
            let message = match status {
                DependencyStatus::Resolved => return None,
                DependencyStatus::Missing => {
                    "the registry has no accepted workflow of this coordinate"
                }
                DependencyStatus::DigestMismatch => {
                    "the registry's workflow of this coordinate has another digest"
                }
            };
            let pointer = at("loops", *place, "/workflowRef");
            Some((IssueKind::Dependency, pointer, message.to_owned()))
        })
        .collect();
    findings(shown, &issues)
}
