//! What can only be seen with all judgements at hand: duplicates, what is missing, the ledger, the latest version.

use std::collections::{BTreeMap, BTreeSet};

use super::RunError;
use super::judge::{Judged, Outcome, Stage};
use super::publishers::{Known, refuse_strangers};
use crate::check::Place;
use crate::finding::Finding;
use crate::model::{ArtifactType, Coordinate, RegistryPath, Timestamp, Version};
use crate::policy::{LedgerEntry, LedgerRef, Lifecycle, StatusLedger};
use crate::project::{CartridgeEntry, Projected, RegistryStatus, TemplateEntry};
use crate::publish::{Content, GENERATED_NEVER, Published};
use crate::registry::LEDGER_FILE;
use crate::report::{Accepted, BuildReport, Rejected, Unverifiable, has_error};

/// The whole registry, judged.
pub(super) struct Joined {
    pub content: Content,
    /// What was published once and is not in `content`, sorted by path.
    pub retired: Vec<Published>,
    /// The cartridges' paths whose dataset on the disk is missing or another, in the order of the index.
    pub stale: BTreeSet<String>,
}

/// Joins the judgements into the index's content, and reports on the way.
pub(super) fn join(
    stage: &Stage<'_>,
    judged: Vec<Judged>,
    known: &Known<'_>,
    templates: Vec<TemplateEntry>,
    mut warnings: Vec<Finding>,
    report: &mut BuildReport,
) -> Result<Joined, RunError> {
    let seen: BTreeSet<String> = judged.iter().map(|j| j.path.clone()).collect();
    let mut used_waivers = BTreeSet::new();
    let mut accepted: Vec<(Projected, Vec<Finding>)> = Vec::new();
    let mut stale = BTreeSet::new();
    let mut rejected: Vec<Rejected> = Vec::new();
    for one in judged {
        used_waivers.extend(one.waivers);
        match one.outcome {
            Outcome::Accepted(indexable) => {
                if indexable.stale {
                    stale.insert(one.path);
                }
                accepted.push((indexable.projected, one.findings));
            }
            Outcome::Unverifiable(reason) => report.unverifiable.push(Unverifiable {
                path: one.path,
                reason,
            }),
            Outcome::Rejected => rejected.push(Rejected {
                path: one.path,
                findings: one.findings,
            }),
        }
    }
    for (path, message) in missing(stage, &seen) {
        let mut findings = Vec::new();
        super::judge::report(
            &stage.registry.policy,
            "history-removed",
            &path,
            Place::file(),
            message,
            &mut findings,
        );
        if let Some(one) = stage.found(&path, findings) {
            used_waivers.extend(one.waivers);
            rejected.push(Rejected {
                path: one.path,
                findings: one.findings,
            });
        }
    }
    duplicates(stage, &[], &mut accepted, &mut rejected);
    refuse_strangers(stage, known, &mut accepted, &mut rejected)?;

    // Malware must be removable: what the ledger calls withdrawn is left out without failing the run.
    for one in rejected {
        if has_error(&one.findings) && !is_withdrawn(stage.withdrawn, &one.path) {
            let (errors, rest) = one
                .findings
                .into_iter()
                .partition(|f| has_error(std::slice::from_ref(f)));
            warnings.extend::<Vec<Finding>>(rest);
            report.rejected.push(Rejected {
                path: one.path,
                findings: errors,
            });
        } else {
            warnings.extend(one.findings.into_iter().map(|f| Finding {
                severity: crate::finding::Severity::Warning,
                ..f
            }));
        }
    }
    let mut entries = Vec::with_capacity(accepted.len());
    let mut times: Vec<Timestamp> = stage
        .registry
        .ledger
        .updated_at
        .clone()
        .into_iter()
        .collect();
    for (projected, findings) in accepted {
        warnings.extend(findings);
        times.push(projected.made_at);
        entries.push(projected.entry);
    }
    sort(&mut entries);
    lifecycle(stage, &mut entries, &mut warnings);
    latest(&mut entries);
    waivers(stage, &used_waivers, &mut warnings);

    report.rejected.sort_by(|a, b| a.path.cmp(&b.path));
    report.unverifiable.sort_by(|a, b| a.path.cmp(&b.path));
    warnings.sort_by(|a, b| a.location.cmp(&b.location).then_with(|| a.cmp(b)));
    report.warnings = warnings;
    report.accepted = entries.iter().map(accepted_line).collect();
    report.counts.accepted = report.accepted.len();
    report.counts.rejected = report.rejected.len();
    report.counts.unverifiable = report.unverifiable.len();
    report.counts.warnings = report.warnings.len();
    report.counts.templates = templates.len();

    let listed: BTreeSet<&str> = entries.iter().map(|e| e.path.as_str()).collect();
    stale.retain(|path| listed.contains(path.as_str()));
    let retired = stage
        .published
        .values()
        .filter(|p| !listed.contains(p.path.as_str()))
        .map(|p| p.retired())
        .collect();
    let generated_at = times.iter().max().map_or_else(
        || GENERATED_NEVER.to_owned(),
        |newest| newest.to_millis().as_str().to_owned(),
    );
    Ok(Joined {
        content: Content::new(generated_at, entries, templates),
        retired,
        stale,
    })
}

fn accepted_line(entry: &CartridgeEntry) -> Accepted {
    Accepted {
        path: entry.path.clone(),
        publisher: entry.publisher.clone(),
        id: entry.id.clone(),
        version: entry.version.clone(),
        trust: entry.trust,
        digest: entry.digest,
    }
}

/// The published paths that the tree lacks and the ledger does not call withdrawn, and what there is to say.
fn missing(stage: &Stage<'_>, seen: &BTreeSet<String>) -> Vec<(String, String)> {
    let by_commits = stage
        .wrongs
        .iter()
        .map(|(path, wrong)| (path.clone(), wrong.message.clone()));
    let by_index = stage.published.iter().map(|(path, published)| {
        let message = format!(
            "expected the published file ({}), found none",
            published.sha256
        );
        ((*path).to_owned(), message)
    });
    let mut all: BTreeMap<String, String> = by_index
        .filter(|(path, _)| !is_withdrawn(stage.withdrawn, path))
        .collect();
    // These were weighed by the ledger of before.
    all.extend(by_commits);
    all.retain(|path, _| !seen.contains(path));
    all.into_iter().collect()
}

/// Whether a ledger calls the cartridge of this path withdrawn.
pub(super) fn is_withdrawn(ledger: &StatusLedger, path: &str) -> bool {
    let coordinate = RegistryPath::try_from(path)
        .ok()
        .and_then(|p| Coordinate::of_path(&p).ok());
    coordinate
        .and_then(|c| {
            let (publisher, id) = (c.publisher.as_str(), c.id.as_str());
            ledger.entry(ArtifactType::Agent, publisher, id, c.version.as_str())
        })
        .is_some_and(|entry| entry.status == Lifecycle::Withdrawn)
}

fn ledger_entry<'a>(
    stage: &'a Stage<'_>,
    publisher: &str,
    id: &str,
    version: &str,
) -> Option<&'a LedgerEntry> {
    stage
        .registry
        .ledger
        .entry(ArtifactType::Agent, publisher, id, version)
}

/// What is equal for versions that differ in build metadata or case alone.
fn same_version_key(version: &str) -> String {
    version.split('+').next().unwrap_or_default().to_lowercase()
}

/// Versions that differ in build metadata or case alone. The one that was published first stays; where none was, none
/// is taken, since any choice would be chance.
/// `siblings` are the paths of others that stand there and are not judged now; they were first.
pub(super) fn duplicates(
    stage: &Stage<'_>,
    siblings: &[String],
    accepted: &mut Vec<(Projected, Vec<Finding>)>,
    rejected: &mut Vec<Rejected>,
) {
    let key = |entry: &CartridgeEntry| {
        let version = same_version_key(&entry.version);
        (entry.publisher.clone(), entry.id.clone(), version)
    };
    let mut groups: BTreeMap<_, BTreeSet<String>> = BTreeMap::new();
    for (projected, _) in accepted.iter() {
        groups
            .entry(key(&projected.entry))
            .or_default()
            .insert(projected.entry.path.clone());
    }
    for path in siblings {
        let coordinate = RegistryPath::try_from(path.as_str())
            .ok()
            .and_then(|p| Coordinate::of_path(&p).ok());
        if let Some(c) = coordinate {
            let (publisher, id) = (c.publisher.as_str().to_owned(), c.id.as_str().to_owned());
            groups
                .entry((publisher, id, same_version_key(c.version.as_str())))
                .or_default()
                .insert(path.clone());
        }
    }
    let crowded: BTreeMap<_, _> = groups
        .into_iter()
        .filter(|(_, paths)| paths.len() > 1)
        .collect();
    if crowded.is_empty() {
        return;
    }
    accepted.retain_mut(|(projected, findings)| {
        let path = &projected.entry.path;
        let Some(paths) = crowded.get(&key(&projected.entry)) else {
            return true;
        };
        if stage.published.contains_key(path.as_str()) {
            return true;
        }
        let others: Vec<&str> = paths
            .iter()
            .filter(|p| *p != path)
            .map(String::as_str)
            .collect();
        let message = format!(
            "it differs from {} in build metadata or case alone",
            others.join(", ")
        );
        let mut findings = std::mem::take(findings);
        super::judge::report(
            &stage.registry.policy,
            "registry-duplicate",
            path,
            Place::file(),
            message,
            &mut findings,
        );
        rejected.push(Rejected {
            path: path.clone(),
            findings,
        });
        false
    });
}

/// By publisher, id, then version descending.
fn sort(entries: &mut [CartridgeEntry]) {
    let version = |entry: &CartridgeEntry| Version::try_from(entry.version.as_str()).ok();
    entries.sort_by_cached_key(|e| {
        (
            e.publisher.clone(),
            e.id.clone(),
            std::cmp::Reverse(version(e)),
        )
    });
}

/// What the ledger says of each entry, and which of its entries say it of nothing.
fn lifecycle(stage: &Stage<'_>, entries: &mut [CartridgeEntry], warnings: &mut Vec<Finding>) {
    let coordinate = |e: &CartridgeEntry| (e.publisher.clone(), e.id.clone(), e.version.clone());
    let digests: BTreeMap<_, _> = entries.iter().map(|e| (coordinate(e), e.digest)).collect();
    let indexed = |r: &LedgerRef| {
        let key = (
            r.publisher.as_str().to_owned(),
            r.id.as_str().to_owned(),
            r.version.as_str().to_owned(),
        );
        match (r.artifact_type, digests.get(&key)) {
            (ArtifactType::Agent, Some(digest)) if *digest == r.digest => Ok(()),
            (ArtifactType::Agent, Some(digest)) => {
                Err(format!("expected the digest {digest}, found {}", r.digest))
            }
            _ => Err("it is not in the index".to_owned()),
        }
    };
    for (at, entry) in stage.registry.ledger.entries.iter().enumerate() {
        let mut warn = |pointer: &str, what: &str, r: &LedgerRef| {
            if let Err(why) = indexed(r) {
                let message = format!("the {what} {}/{}@{}: {why}", r.publisher, r.id, r.version);
                let place = Place {
                    pointer: Some(format!("/entries/{at}/{pointer}")),
                    ..Place::file()
                };
                super::judge::report(
                    &stage.registry.policy,
                    "registry-status-target",
                    LEDGER_FILE,
                    place,
                    message,
                    warnings,
                );
            }
        };
        // A withdrawn version is meant to be gone.
        if entry.status != Lifecycle::Withdrawn {
            warn("artifact", "artifact", &entry.artifact);
        }
        if let Some(successor) = &entry.successor {
            warn("successor", "successor", successor);
        }
    }
    for entry in entries {
        if let Some(found) = ledger_entry(stage, &entry.publisher, &entry.id, &entry.version) {
            entry.registry_status = RegistryStatus {
                status: found.status.as_str().to_owned(),
                reason: Some(found.reason.clone()),
                recorded_at: Some(found.recorded_at.as_str().to_owned()),
                successor: found.successor.as_ref().map(|s| serde_json::json!(s)),
                advisory: found.advisory.clone(),
            };
        }
    }
}

/// The highest version of each cartridge; a withdrawn one only where all are.
fn latest(entries: &mut [CartridgeEntry]) {
    let same = |a: &CartridgeEntry, b: &CartridgeEntry| a.publisher == b.publisher && a.id == b.id;
    for group in entries.chunk_by_mut(same) {
        let at = group
            .iter()
            .position(|e| e.registry_status.status != "withdrawn")
            .unwrap_or(0);
        if let Some(entry) = group.get_mut(at) {
            entry.latest = true;
        }
    }
}

/// Waivers that hold no more, or waive nothing.
fn waivers(stage: &Stage<'_>, used: &BTreeSet<usize>, warnings: &mut Vec<Finding>) {
    for (at, waiver) in stage.registry.policy.waivers.iter().enumerate() {
        let message = if !waiver.holds(stage.now) {
            format!(
                "the waiver of {} for {:?} expired on {}",
                waiver.code, waiver.path, waiver.expires
            )
        } else if !used.contains(&at) {
            format!(
                "the waiver of {} for {:?} waives nothing",
                waiver.code, waiver.path
            )
        } else {
            continue;
        };
        let place = Place {
            pointer: Some(format!("/waivers/{at}")),
            ..Place::file()
        };
        let file = crate::registry::POLICY_FILE;
        super::judge::report(
            &stage.registry.policy,
            "policy-waiver",
            file,
            place,
            message,
            warnings,
        );
    }
}
