//! `search`: the memory of a registry's accepted cartridges, nearest first.
//!
//! Rows come from the signed records of cartridges that the gate admits in this very run, not from the datasets on
//! the disk: those are derived and unsigned, and one that was tampered with cannot mislead a search.

use rayon::prelude::*;

use super::judge::{Stage, links};
use super::sidecar::{self, Derived};
use super::{RunError, pool};
use crate::discover;
use crate::model::{ArtifactType, Coordinate, Timestamp};
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
    /// Only records with this tag.
    pub tag: Option<&'a str>,
}

/// One record that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// Cosine similarity, −1 to 1.
    pub score: f64,
    /// Of which cartridge.
    pub coordinate: Coordinate,
    /// The record's id.
    pub id: String,
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
    /// Records that were compared.
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
        published: std::collections::BTreeMap::new(),
        links: links(&tree),
        wrongs: std::collections::BTreeMap::new(),
        withdrawn: &registry.ledger,
        checkout: None,
        cache: None,
        expired: &crate::git::unbounded,
    };
    let found: Vec<Found> = pool(jobs)?.install(|| {
        tree.cartridges
            .par_iter()
            .map(|entry| one(&stage, entry, query, &wanted))
            .collect()
    });
    let mut report = SearchReport::default();
    for one in found {
        match one {
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
    OtherEngine(String),
    PassedOver,
    OutOfScope,
}

fn one(stage: &Stage<'_>, entry: &discover::Entry, query: &Query<'_>, wanted: &[f32]) -> Found {
    let Ok(coordinate) = Coordinate::of_path(&entry.path) else {
        return Found::PassedOver;
    };
    let (publisher, id) = (coordinate.publisher.as_str(), coordinate.id.as_str());
    let listed = stage.registry.ledger.entry(
        ArtifactType::Agent,
        publisher,
        id,
        coordinate.version.as_str(),
    );
    if query.publisher.is_some_and(|p| p != publisher)
        || listed.is_some_and(|e| e.status == Lifecycle::Withdrawn)
    {
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
        let vector = embed::embed(&format!("{}\n\n{}", record.title, record.summary));
        let score: f64 = wanted
            .iter()
            .zip(&vector)
            .map(|(a, b)| f64::from(*a) * f64::from(*b))
            .sum();
        // A record without a word has no direction, hence no similarity.
        if vector.iter().any(|v| *v != 0.0) {
            hits.push(Hit {
                score,
                coordinate: coordinate.clone(),
                id: record.id,
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
