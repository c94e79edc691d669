//! What can only be seen with all judgements at hand: duplicates, what is missing, what graphs depend on, the ledger,
//! the latest version.

use std::collections::{BTreeMap, BTreeSet};

use super::RunError;
use super::judge::{Judged, Outcome, Stage, Stale};
use super::publishers::{Known, refuse_strangers};
use crate::check::Place;
use crate::document::{self, DependencyStatus, Pin};
use crate::finding::Finding;
use crate::model::{ArtifactType, Coordinate, Digest, RegistryPath, Timestamp, Version};
use crate::policy::{LedgerRef, Lifecycle, StatusLedger};
use crate::project::{
    Artifact, DocumentEntry, Entries, Head, IndexEntry, RegistryStatus, TemplateEntry,
};
use crate::publish::{Content, GENERATED_NEVER, Published};
use crate::registry::LEDGER_FILE;
use crate::report::{Accepted, BuildReport, Rejected, Unverifiable, has_error};

/// The whole registry, judged.
pub(super) struct Joined {
    pub content: Content,
    /// What was published once and is not in `content`, sorted by path.
    pub retired: Vec<Published>,
    /// The cartridges' paths whose dataset on the disk is missing or another, in the order of the index.
    pub stale: BTreeMap<String, Stale>,
}

/// An artifact that nothing speaks against so far, and what there is to say of it.
pub(super) type Candidate = (Artifact, Vec<Finding>);

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
    let mut accepted: Vec<Candidate> = Vec::new();
    let mut stale = BTreeMap::new();
    let mut rejected: Vec<Rejected> = Vec::new();
    for one in judged {
        used_waivers.extend(one.waivers);
        match one.outcome {
            Outcome::Accepted(indexable) => {
                stale.extend(indexable.stale.map(|stale| (one.path, stale)));
                accepted.push((indexable.artifact, one.findings));
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
    used_waivers.extend(refuse_strangers(
        stage,
        known,
        &mut accepted,
        &mut rejected,
    )?);
    let beside = BTreeMap::new();
    used_waivers.extend(dependencies(stage, &beside, &mut accepted, &mut rejected));

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
    let mut entries = Entries::default();
    let mut times: Vec<Timestamp> = stage
        .registry
        .ledger
        .updated_at
        .clone()
        .into_iter()
        .collect();
    let cartridges = accepted
        .iter()
        .filter(|(artifact, _)| artifact.kind() == ArtifactType::Agent);
    entries.reserve(cartridges.count());
    for (artifact, findings) in accepted {
        warnings.extend(findings);
        times.push(artifact.made_at().clone());
        entries.push(artifact);
    }
    sort(&mut entries.cartridges);
    sort(&mut entries.workflows);
    sort(&mut entries.agent_graphs);
    targets(stage, &entries, &mut warnings);
    lifecycle(stage, ArtifactType::Agent, &mut entries.cartridges);
    lifecycle(stage, ArtifactType::Workflow, &mut entries.workflows);
    lifecycle(stage, ArtifactType::AgentGraph, &mut entries.agent_graphs);
    latest(&mut entries.cartridges);
    latest(&mut entries.workflows);
    latest(&mut entries.agent_graphs);
    for graph in &mut entries.agent_graphs {
        graph.resolve(|pin| status_of(stage, pin));
    }
    waivers(stage, &used_waivers, &mut warnings);

    report.rejected.sort_by(|a, b| a.path.cmp(&b.path));
    report.unverifiable.sort_by(|a, b| a.path.cmp(&b.path));
    warnings.sort_by(|a, b| a.location.cmp(&b.location).then_with(|| a.cmp(b)));
    report.warnings = warnings;
    report.accepted = entries
        .heads()
        .map(|(_, head)| accepted_line(head))
        .collect();
    report.counts.accepted = report.accepted.len();
    report.counts.rejected = report.rejected.len();
    report.counts.unverifiable = report.unverifiable.len();
    report.counts.warnings = report.warnings.len();
    report.counts.templates = templates.len();

    let listed: BTreeSet<&str> = entries.heads().map(|(_, head)| head.path).collect();
    stale.retain(|path, _| listed.contains(path.as_str()));
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

/// How a report names what is accepted.
pub(super) fn accepted_line(head: Head<'_>) -> Accepted {
    Accepted {
        path: head.path.to_owned(),
        publisher: head.publisher.to_owned(),
        id: head.id.to_owned(),
        version: head.version.to_owned(),
        trust: head.trust,
        digest: head.digest,
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

/// Whether a ledger calls the artifact of this path withdrawn.
pub(super) fn is_withdrawn(ledger: &StatusLedger, path: &str) -> bool {
    let coordinate = RegistryPath::try_from(path)
        .ok()
        .and_then(|p| Coordinate::of_path(&p).ok());
    coordinate
        .and_then(|c| {
            let (publisher, id) = (c.publisher.as_str(), c.id.as_str());
            ledger.entry(c.kind, publisher, id, c.version.as_str())
        })
        .is_some_and(|entry| entry.status == Lifecycle::Withdrawn)
}

/// The ledger's word on a pinned workflow.
fn status_of<'a>(stage: &'a Stage<'_>, pin: &Pin) -> &'a str {
    let ledger = &stage.registry.ledger;
    ledger
        .entry(
            ArtifactType::Workflow,
            &pin.publisher,
            &pin.id,
            &pin.version,
        )
        .map_or(Lifecycle::Active, |entry| entry.status)
        .as_str()
}

/// Refuses the graphs that pin what is not accepted here, and warns of bindings that their workflows have no
/// participant for. `beside` are the workflows that stand in the registry and are not judged now, by path. Gives the
/// waivers that were used.
pub(super) fn dependencies(
    stage: &Stage<'_>,
    beside: &BTreeMap<String, DocumentEntry>,
    accepted: &mut Vec<Candidate>,
    rejected: &mut Vec<Rejected>,
) -> BTreeSet<usize> {
    let mut workflows: BTreeMap<String, (Digest, Vec<String>)> = BTreeMap::new();
    let known = accepted.iter().filter_map(|(artifact, _)| match artifact {
        Artifact::Workflow(entry) => Some(&**entry),
        _ => None,
    });
    for entry in known.chain(beside.values()) {
        let aliases = entry.aliases().into_iter().map(str::to_owned).collect();
        workflows.insert(entry.path.clone(), (entry.digest, aliases));
    }
    let find = |publisher: &str, id: &str, version: &str| {
        workflows.get(&ArtifactType::Workflow.path(publisher, id, version))
    };
    let policy = &stage.registry.policy;
    let mut used = BTreeSet::new();
    accepted.retain_mut(|(artifact, findings)| {
        let Artifact::AgentGraph(graph) = artifact else {
            return true;
        };
        let statuses =
            document::dependencies(&graph.pins, |p, i, v| find(p, i, v).map(|found| found.0));
        if statuses.iter().any(|s| *s != DependencyStatus::Resolved) {
            let path = &graph.path;
            findings.extend(document::dependency_findings(
                policy,
                path,
                &graph.pins,
                &statuses,
            ));
            rejected.push(Rejected {
                path: path.clone(),
                findings: std::mem::take(findings),
            });
            return false;
        }
        let mut bindings = Vec::new();
        for pin in &graph.pins {
            if let Some((_, aliases)) = find(&pin.publisher, &pin.id, &pin.version) {
                let aliases = aliases.iter().map(String::as_str).collect();
                bindings.extend(document::binding_findings(
                    policy,
                    &graph.path,
                    pin,
                    &aliases,
                ));
            }
        }
        used.extend(stage.waive(&mut bindings));
        let is_error = has_error(&bindings);
        findings.extend(bindings);
        if is_error {
            rejected.push(Rejected {
                path: graph.path.clone(),
                findings: std::mem::take(findings),
            });
        }
        !is_error
    });
    used
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
    accepted: &mut Vec<Candidate>,
    rejected: &mut Vec<Rejected>,
) {
    let key = |artifact: &Artifact| {
        let head = artifact.head();
        let (publisher, id) = (head.publisher.to_owned(), head.id.to_owned());
        (
            artifact.kind(),
            publisher,
            id,
            same_version_key(head.version),
        )
    };
    let mut all: Vec<(_, String)> = accepted
        .iter()
        .map(|(artifact, _)| (key(artifact), artifact.head().path.to_owned()))
        .collect();
    for path in siblings {
        let coordinate = RegistryPath::try_from(path.as_str())
            .ok()
            .and_then(|p| Coordinate::of_path(&p).ok());
        if let Some(c) = coordinate {
            let (publisher, id) = (c.publisher.as_str().to_owned(), c.id.as_str().to_owned());
            let key = (c.kind, publisher, id, same_version_key(c.version.as_str()));
            all.push((key, path.clone()));
        }
    }
    all.sort_unstable();
    all.dedup();
    let crowded: BTreeMap<_, Vec<String>> = all
        .chunk_by(|a, b| a.0 == b.0)
        .filter(|group| group.len() > 1)
        .filter_map(|group| {
            let (key, _) = group.first()?;
            let paths = group.iter().map(|(_, path)| path.clone());
            Some((key.clone(), paths.collect()))
        })
        .collect();
    drop(all);
    if crowded.is_empty() {
        return;
    }
    accepted.retain_mut(|(artifact, findings)| {
        let path = artifact.head().path;
        let Some(paths) = crowded.get(&key(artifact)) else {
            return true;
        };
        if stage.published.contains_key(path) {
            return true;
        }
        let others: Vec<&str> = paths
            .iter()
            .filter(|p| p.as_str() != path)
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
            path: path.to_owned(),
            findings,
        });
        false
    });
}

/// By publisher, id, then version descending.
fn sort<E: IndexEntry>(entries: &mut [E]) {
    entries.sort_by_cached_key(|entry| {
        let head = entry.head();
        (
            head.publisher.to_owned(),
            head.id.to_owned(),
            std::cmp::Reverse(Version::try_from(head.version).ok()),
        )
    });
}

/// Which of the ledger's entries say it of nothing.
fn targets(stage: &Stage<'_>, entries: &Entries, warnings: &mut Vec<Finding>) {
    let digests: BTreeMap<_, _> = entries
        .heads()
        .map(|(kind, head)| ((kind, head.publisher, head.id, head.version), head.digest))
        .collect();
    let indexed = |r: &LedgerRef| {
        let key = (
            r.artifact_type,
            r.publisher.as_str(),
            r.id.as_str(),
            r.version.as_str(),
        );
        match digests.get(&key) {
            Some(digest) if *digest == r.digest => Ok(()),
            Some(digest) => Err(format!("expected the digest {digest}, found {}", r.digest)),
            None => Err("it is not in the index".to_owned()),
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
}

/// What the ledger says of each entry of a kind.
fn lifecycle<E: IndexEntry>(stage: &Stage<'_>, kind: ArtifactType, entries: &mut [E]) {
    let ledger = &stage.registry.ledger;
    for entry in entries {
        let head = entry.head();
        if let Some(found) = ledger.entry(kind, head.publisher, head.id, head.version) {
            entry.set_status(RegistryStatus {
                status: found.status.as_str().to_owned(),
                reason: Some(found.reason.clone()),
                recorded_at: Some(found.recorded_at.as_str().to_owned()),
                successor: found.successor.as_ref().map(|s| serde_json::json!(s)),
                advisory: found.advisory.clone(),
            });
        }
    }
}

/// The highest version of each artifact of a kind; a withdrawn one only where all are.
fn latest<E: IndexEntry>(entries: &mut [E]) {
    let same = |a: &E, b: &E| {
        let (a, b) = (a.head(), b.head());
        a.publisher == b.publisher && a.id == b.id
    };
    for group in entries.chunk_by_mut(same) {
        let at = group
            .iter()
            .position(|e| e.head().registry_status.status != "withdrawn")
            .unwrap_or(0);
        if let Some(entry) = group.get_mut(at) {
            entry.set_latest();
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
