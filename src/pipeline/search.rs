//! `search`: the memory of a registry's accepted cartridges, and its workflows and Agent Graphs by what they say of
//! themselves, nearest first.
//!
//! Rows come from the signed records of cartridges that the gate admits in this very run, not from the datasets on
//! the disk: those are derived and unsigned, and one that was tampered with cannot mislead a search.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::judge::{Stage, links};
use super::sidecar::{self, Derived};
use super::{RunError, pool};
use crate::discover;
use crate::document::{self, DependencyStatus, Pin};
use crate::model::{ArtifactType, Coordinate, Digest, Timestamp};
use crate::policy::Lifecycle;
use crate::project::embed;
use crate::registry::Registry;

/// What to look for.
#[derive(Debug, Clone)]
pub struct Query<'a> {
    /// Words.
    pub text: &'a str,
    /// Results at the most.
    pub most: usize,
    /// Only of this publisher.
    pub publisher: Option<&'a str>,
    /// Only records and documents with this tag.
    pub tag: Option<&'a str>,
}

/// One record or document that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// Cosine similarity, −1 to 1.
    pub score: f64,
    /// Of which cartridge, or which document; its kind tells.
    pub coordinate: Coordinate,
    /// The record's id; none of a document.
    pub id: Option<String>,
    /// A line.
    pub title: String,
    /// The substance.
    pub summary: String,
    /// Tags.
    pub tags: Vec<String>,
}

/// What a search found.
#[derive(Debug, Default)]
pub struct SearchReport {
    /// By score descending, then coordinate, then record id.
    pub hits: Vec<Hit>,
    /// Records and documents that were compared.
    pub compared: usize,
    /// Paths of accepted cartridges whose memory is by another engine.
    pub other_engine: Vec<String>,
    /// Paths that the gate did not accept.
    pub passed_over: usize,
}

/// Searches the accepted cartridges of a registry; withdrawn ones are passed over.
///
/// # Errors
/// [`RunError`] for a query without words, and where there is memory but none by this program's engine.
pub fn search(
    registry: &Registry,
    query: &Query<'_>,
    now: &Timestamp,
    jobs: usize,
) -> Result<SearchReport, RunError> {
    let wanted = embed::embed(query.text);
    if wanted.iter().all(|v| *v == 0.0) {
        return Err(RunError::new(format!(
            "the query {:?} has nothing to search for: the engine {} knows words of the letters a to z and digits",
            crate::model::shorten(query.text),
            embed::ENGINE
        )));
    }
    let tree = registry
        .source
        .list()
        .map_err(|e| RunError::new(format!("cannot walk the registry: {e}")))?;
    let stage = Stage {
        registry,
        now,
        today: now,
        issuers: &registry.issuers,
        published: BTreeMap::new(),
        links: links(&tree),
        wrongs: BTreeMap::new(),
        withdrawn: &registry.ledger,
        checkout: None,
        cache: None,
        carried: None,
        writes: false,
        expired: &crate::git::unbounded,
    };
    let found: Vec<Found> = pool(jobs)?.install(|| {
        tree.artifacts
            .par_iter()
            .map(|entry| one(&stage, entry, query, &wanted))
            .collect()
    });
    let workflows: BTreeMap<String, Digest> = found
        .iter()
        .filter_map(|one| match one {
            Found::Workflow(path, digest, _) => Some((path.clone(), *digest)),
            _ => None,
        })
        .collect();
    let mut report = SearchReport::default();
    for one in found {
        match one {
            Found::Graph(pins, _) if !resolved(&pins, &workflows) => report.passed_over += 1,
            Found::Workflow(_, _, hit) | Found::Graph(_, hit) => {
                report.compared += usize::from(hit.is_some());
                // What has no word is compared, and no answer.
                report.hits.extend(hit.flatten());
            }
            Found::Hits(hits, compared) => {
                report.hits.extend(hits);
                report.compared += compared;
            }
            Found::OtherEngine(path) => report.other_engine.push(path),
            Found::PassedOver => report.passed_over += 1,
            Found::OutOfScope => {}
        }
    }
    if report.compared == 0 && !report.other_engine.is_empty() {
        return Err(RunError::new(format!(
            "the memory of {} is by another embedding engine than {}, and vectors of different engines cannot be compared",
            report.other_engine.join(", "),
            embed::ENGINE
        )));
    }
    report.hits.sort_by(|a, b| {
        b.score
            .total_cmp(&a.score)
            .then_with(|| a.coordinate.cmp(&b.coordinate))
            .then_with(|| a.id.cmp(&b.id))
    });
    report.hits.truncate(query.most);
    Ok(report)
}

enum Found {
    Hits(Vec<Hit>, usize),
    /// Path, digest, and the hit: none where it is out of scope, and one without a word is none.
    Workflow(String, Digest, Option<Option<Hit>>),
    /// What it pins, and the hit.
    Graph(Vec<Pin>, Option<Option<Hit>>),
    OtherEngine(String),
    PassedOver,
    OutOfScope,
}

/// Whether every pinned workflow is among the accepted ones.
fn resolved(pins: &[Pin], workflows: &BTreeMap<String, Digest>) -> bool {
    let find = |publisher: &str, id: &str, version: &str| {
        let path = ArtifactType::Workflow.path(publisher, id, version);
        workflows.get(&path).copied()
    };
    document::dependencies(pins, find)
        .iter()
        .all(|status| *status == DependencyStatus::Resolved)
}

fn similarity(wanted: &[f32], title: &str, summary: &str) -> Option<f64> {
    let vector = embed::embed(&format!("{title}\n\n{summary}"));
    // A text without a word has no direction, hence no similarity.
    vector.iter().any(|v| *v != 0.0).then(|| {
        wanted
            .iter()
            .zip(&vector)
            .map(|(a, b)| f64::from(*a) * f64::from(*b))
            .sum()
    })
}

fn one_document(
    stage: &Stage<'_>,
    coordinate: Coordinate,
    path: &str,
    query: &Query<'_>,
    in_scope: bool,
    wanted: &[f32],
) -> Found {
    let Ok(Some(found)) = stage.accept(path) else {
        return Found::PassedOver;
    };
    let tagged = |tag: &str| found.tags.iter().any(|t| t == tag);
    let hit = (in_scope && query.tag.is_none_or(tagged)).then(|| {
        let score = similarity(wanted, &found.name, &found.description)?;
        Some(Hit {
            score,
            coordinate: coordinate.clone(),
            id: None,
            title: found.name,
            summary: found.description,
            tags: found.tags,
        })
    });
    match coordinate.kind {
        ArtifactType::AgentGraph => Found::Graph(found.pins, hit),
        _ => Found::Workflow(found.path, found.digest, hit),
    }
}

fn one(stage: &Stage<'_>, entry: &discover::Entry, query: &Query<'_>, wanted: &[f32]) -> Found {
    let Ok(coordinate) = Coordinate::of_path(&entry.path) else {
        return Found::PassedOver;
    };
    let (publisher, id) = (coordinate.publisher.as_str(), coordinate.id.as_str());
    let version = coordinate.version.as_str();
    let listed = stage
        .registry
        .ledger
        .entry(coordinate.kind, publisher, id, version);
    let in_scope = query.publisher.is_none_or(|p| p == publisher)
        && listed.is_none_or(|e| e.status != Lifecycle::Withdrawn);
    if coordinate.kind != ArtifactType::Agent {
        // Graphs depend on workflows of all publishers.
        return one_document(
            stage,
            coordinate,
            entry.path.as_str(),
            query,
            in_scope,
            wanted,
        );
    }
    if !in_scope {
        return Found::OutOfScope;
    }
    let Ok(Some(admitted)) = stage.admit(entry) else {
        return Found::PassedOver;
    };
    let records = match sidecar::derive(&admitted) {
        Ok(Derived::Dataset { records, .. }) => records,
        Ok(Derived::NoMemory) => return Found::OutOfScope,
        Ok(Derived::OtherEngine(_)) => return Found::OtherEngine(entry.path.as_str().to_owned()),
        Err(_) => return Found::PassedOver,
    };
    let records = records
        .into_iter()
        .filter(|r| query.tag.is_none_or(|tag| r.tags.iter().any(|t| t == tag)));
    let mut compared = 0;
    let mut hits = Vec::new();
    for record in records {
        compared += 1;
        if let Some(score) = similarity(wanted, &record.title, &record.summary) {
            hits.push(Hit {
                score,
                coordinate: coordinate.clone(),
                id: Some(record.id),
                title: record.title,
                summary: record.summary,
                tags: record.tags,
            });
        }
    }
    hits.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(&b.id)));
    hits.truncate(query.most);
    Found::Hits(hits, compared)
}
