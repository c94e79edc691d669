//! A push, judged before it lands: only what it adds, by the rules of what it is pushed onto.
//!
//! For each reference that is guarded, what is published there stays as it is, in every commit of the push and at its
//! end; what is new is judged as a build would judge it; and the registry's own word (its policy, its keys, its index)
//! changes only by those who may change it. The work depends on the push, not on the registry: trees that did not
//! change are never entered.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use gix::hash::ObjectId;
use rayon::prelude::*;

use super::build::{Base, BuildOptions, Mode as BuildMode, build};
use super::cache::Cache;
use super::join::{Candidate, accepted_line, dependencies, duplicates, is_withdrawn};
use super::judge::{Judged, Outcome, Stage, links, report};
use super::output::{Output, Staged};
use super::past::{self, Range, Wrong};
use super::publishers::{Known, refuse_strangers};
use super::{RunError, pool};
use crate::check::Place;
use crate::discover::{self, At, Entry, INDEX, Tree, is_shard_path, sidecar_of};
use crate::document;
use crate::finding::{Family, Finding};
use crate::git::{self, Bounds, Change, GitError, Mode, NewCommit, Repo};
use crate::level::{ISSUER_KEYS_FILE, IssuerKeys};
use crate::model::{ArtifactType, Coordinate, Digest, KeyId, RegistryPath, Timestamp};
use crate::policy::{LedgerEntry, Lifecycle, StatusLedger};
use crate::project::{Artifact, DocumentEntry};
use crate::publish::{self, IndexHead, Published};
use crate::registry::{self, LEDGER_FILE, POLICY_FILE, Registry, TRUST_FILE, ledger};
use crate::report::{BuildReport, Rejected, Unverifiable, has_error};
use crate::source::Source;

/// One line of the hook's input: a reference and where it is to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Update {
    /// Where it was; none for a new reference.
    pub old: Option<ObjectId>,
    /// Where it goes; none where it is deleted.
    pub new: Option<ObjectId>,
    /// Its full name.
    pub name: String,
}

/// How to judge a push.
pub struct PushOptions<'a> {
    /// The run's one time.
    pub now: &'a Timestamp,
    /// Threads; 0 = one a processor.
    pub jobs: usize,
    /// Says that the time is up.
    pub expired: &'a (dyn Fn() -> bool + Sync),
    /// Where what was found before is kept.
    pub cache: Option<&'a Path>,
    /// The keys that prove levels, in place of the registry's own file.
    pub issuers: Option<&'a IssuerKeys>,
    /// The server lets a push change the policy, the trust registry and the issuers' keys.
    pub allow_policy_change: bool,
}

/// What the hook says of a push.
#[derive(Debug)]
pub struct PushReport {
    /// As a build reports.
    pub report: BuildReport,
    /// What a maintainer should see, whatever the verdict: a registry that is founded, and by whose key.
    pub notes: Vec<String>,
}

/// Bytes of one line of the hook's input.
const LINE_BYTES: usize = 4096;
/// References of one push.
const MOST_UPDATES: usize = 10_000;

/// Reads the hook's input.
///
/// # Errors
/// [`RunError`] with the line that is not `<old> <new> <ref>`.
pub fn parse_updates(repo: &Repo, input: &[u8]) -> Result<Vec<Update>, RunError> {
    let mut updates = Vec::new();
    for (at, line) in input.split(|b| *b == b'\n').enumerate() {
        if line.is_empty() {
            continue;
        }
        let refuse = |why: &str| RunError::new(format!("standard input, line {}: {why}", at + 1));
        if line.len() > LINE_BYTES {
            return Err(refuse("longer than any that git writes"));
        }
        if updates.len() == MOST_UPDATES {
            return Err(refuse("too many references in one push"));
        }
        let text = std::str::from_utf8(line).map_err(|_| refuse("expected UTF-8 text"))?;
        let mut parts = text.splitn(3, ' ');
        let (Some(old), Some(new), Some(name)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(refuse("expected `<old> <new> <ref>`"));
        };
        let id = |text| git::parse_id(repo.hash_kind(), text).map_err(|e| refuse(&e.message));
        if !name.starts_with("refs/") || gix::validate::reference::name(name.into()).is_err() {
            return Err(refuse("expected the full name of a reference, `refs/…`"));
        }
        updates.push(Update {
            old: id(old)?,
            new: id(new)?,
            name: name.to_owned(),
        });
    }
    Ok(updates)
}

/// Judges a push. Nothing is written.
///
/// # Errors
/// [`RunError`] where something could not be judged; then the push must not land.
pub fn judge_push(
    repo: &Repo,
    updates: &[Update],
    options: &PushOptions<'_>,
) -> Result<PushReport, RunError> {
    let mut judge = Judge::new(repo, options)?;
    let threads = pool(options.jobs)?;
    for update in updates {
        match threads.install(|| judge.update(update)) {
            Ok(()) => {}
            Err(Stop::Expired) => {
                judge.refuse(
                    "history-budget",
                    &update.name,
                    "the time was up before everything in the push was judged".to_owned(),
                );
                break;
            }
            Err(Stop::Failed(e)) => return Err(e),
        }
    }
    Ok(judge.finish())
}

enum Stop {
    Expired,
    Failed(RunError),
}

impl From<GitError> for Stop {
    fn from(error: GitError) -> Self {
        if error.expired {
            Self::Expired
        } else {
            Self::Failed(error.into())
        }
    }
}

impl From<RunError> for Stop {
    fn from(error: RunError) -> Self {
        Self::Failed(error)
    }
}

struct Judge<'a> {
    repo: &'a Repo,
    options: &'a PushOptions<'a>,
    /// The full name of the default branch, where it has one, and its commit of before.
    default: Option<(String, Option<ObjectId>)>,
    /// `[branches] guarded` of the default branch; empty = the default branch alone.
    guarded: Vec<String>,
    report: BuildReport,
    notes: Vec<String>,
}

impl<'a> Judge<'a> {
    fn new(repo: &'a Repo, options: &'a PushOptions<'a>) -> Result<Self, RunError> {
        let default = match repo.head_branch()? {
            Some(name) => {
                let tip = repo.tip(&name)?;
                Some((name, tip))
            }
            None => None,
        };
        let tip = default.as_ref().and_then(|(_, tip)| *tip);
        let (guarded, id) = match tip {
            Some(tip) => {
                let registry = registry_at(repo, tip, options.now)?.1;
                (registry.policy.guarded, registry.policy.registry_id)
            }
            None => (Vec::new(), String::new()),
        };
        Ok(Self {
            repo,
            options,
            default,
            guarded,
            report: BuildReport::new(id),
            notes: Vec::new(),
        })
    }

    /// Whether a reference is guarded. Where the default branch has no commit yet, nothing says which branch matters,
    /// so all branches do.
    fn is_guarded(&self, name: &str) -> bool {
        if self.guarded.iter().any(|pattern| pattern == "*") {
            return true;
        }
        let Some(branch) = name.strip_prefix("refs/heads/") else {
            return false;
        };
        match &self.default {
            Some((_, None)) | None => true,
            Some((default, Some(_))) if self.guarded.is_empty() => name == default,
            Some(_) => self.guarded.iter().any(|pattern| fits(pattern, branch)),
        }
    }

    fn refuse(&mut self, code: &str, path: &str, message: String) {
        let mut findings = Vec::new();
        let policy = crate::policy::Policy::default();
        report(&policy, code, path, Place::file(), message, &mut findings);
        self.report.rejected.push(Rejected {
            path: path.to_owned(),
            findings,
        });
    }

    fn update(&mut self, update: &Update) -> Result<(), Stop> {
        if !self.is_guarded(&update.name) {
            return Ok(());
        }
        let objects = &self.repo.objects;
        let Some(new) = update.new else {
            return self.deletion(update);
        };
        let Some(head) = objects.peel(&new)? else {
            self.refuse(
                "registry-path",
                &update.name,
                "a guarded reference is to name a commit".to_owned(),
            );
            return Ok(());
        };
        let old = match update.old {
            Some(old) => objects.peel(&old)?,
            None => None,
        };
        // What the push is judged by and held against, and what its end is compared with.
        let tip = self.default.as_ref().and_then(|(_, tip)| *tip);
        let (base, from) = match (old, tip) {
            (Some(old), _) => (Some(old), Some(old)),
            (None, Some(tip)) => (Some(tip), git::merge_base(objects, &head, &[tip])?),
            (None, None) => (None, None),
        };
        // The founding push of a repository whose other branches hold something already is judged like a new branch.
        let mut hidden: Vec<ObjectId> = base.into_iter().collect();
        if hidden.is_empty() {
            for name in self.repo.branches()? {
                hidden.extend(self.repo.tip(&name)?);
            }
        }
        let mut bounds = self.bounds();
        let commits = git::between(objects, &head, &hidden, &mut bounds)?;
        Pushed {
            judge: self,
            name: &update.name,
            base,
            from,
            head,
            commits,
        }
        .judge(&mut bounds)
    }

    fn bounds(&self) -> Bounds<'a> {
        Bounds::new(self.options.expired)
    }

    /// A guarded branch with something published stays.
    fn deletion(&mut self, update: &Update) -> Result<(), Stop> {
        let old = match update.old {
            Some(old) => self.repo.objects.peel(&old)?,
            None => None,
        };
        let Some(old) = old else { return Ok(()) };
        let tree = self.repo.objects.tree_of(&old)?;
        let prefix = registry::prefix_in(&self.repo.objects, &tree)?;
        let root = past::root(&self.repo.objects, &tree, prefix)?;
        let mut bounds = self.bounds();
        let published = git::diff(&self.repo.objects, root.as_deref(), None, &mut bounds)?
            .iter()
            .filter(|change| past::artifact_path(&change.path).is_some())
            .count();
        if published > 0 {
            let message = format!("{published} published versions would be gone");
            self.refuse("history-branch", &update.name, message);
        }
        Ok(())
    }

    fn finish(mut self) -> PushReport {
        // Two branches may bring the same artifact.
        self.report.accepted.sort_by(|a, b| a.path.cmp(&b.path));
        self.report.accepted.dedup_by(|a, b| a.path == b.path);
        self.report.rejected.sort_by(|a, b| a.path.cmp(&b.path));
        self.report.unverifiable.sort_by(|a, b| a.path.cmp(&b.path));
        let counts = &mut self.report.counts;
        counts.accepted = self.report.accepted.len();
        counts.rejected = self.report.rejected.len();
        counts.unverifiable = self.report.unverifiable.len();
        counts.warnings = self.report.warnings.len();
        self.report.outcome = if !self.report.unverifiable.is_empty() {
            "the push is refused: not everything in it could be judged".to_owned()
        } else if self.report.rejected.is_empty() {
            "the push may land".to_owned()
        } else {
            "the push is refused; nothing was changed".to_owned()
        };
        PushReport {
            report: self.report,
            notes: self.notes,
        }
    }
}

/// Whether a branch's name fits a pattern, `*` standing for any part of one.
fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else {
        return false;
    };
    let Some(last) = pattern.rsplit('*').next().filter(|_| pattern.contains('*')) else {
        return rest.is_empty();
    };
    let middle: Vec<&str> = parts.collect();
    for part in middle.iter().take(middle.len().saturating_sub(1)) {
        match rest.find(part) {
            Some(at) => rest = rest.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    rest.len() >= last.len() && rest.ends_with(last)
}

/// The registry of a commit, and its place in the tree.
fn registry_at(
    repo: &Repo,
    commit: ObjectId,
    now: &Timestamp,
) -> Result<(&'static str, Registry), RunError> {
    let prefix = registry::prefix_in(&repo.objects, &repo.objects.tree_of(&commit)?)?;
    let source = Source::of_commit(&repo.objects, &commit, prefix)?;
    let registry = Registry::under(&source, source.clone(), now)
        .map_err(|e| RunError::new(format!("in the commit {}: {e}", commit.to_hex_with_len(12))))?;
    Ok((prefix, registry))
}

/// One guarded reference of a push.
struct Pushed<'j, 'a> {
    judge: &'j mut Judge<'a>,
    name: &'j str,
    /// The commit whose word counts; none where the push founds the registry.
    base: Option<ObjectId>,
    /// The commit that the end is compared with.
    from: Option<ObjectId>,
    head: ObjectId,
    commits: Vec<NewCommit>,
}

/// What a push changes, sorted by what it is.
#[derive(Default)]
struct Changes {
    tree: Tree,
    /// Generated files.
    generated: BTreeSet<String>,
    /// The registry's own word.
    policy: BTreeSet<String>,
    ledger: bool,
    /// Files that commits on the way bring, and the end has not.
    on_the_way: Vec<Entry>,
    /// Workflows that the end has no more.
    removed: BTreeSet<String>,
    /// What is done to published paths.
    wrongs: BTreeMap<String, Wrong>,
}

impl Pushed<'_, '_> {
    fn judge(mut self, bounds: &mut Bounds<'_>) -> Result<(), Stop> {
        let (repo, options) = (self.judge.repo, self.judge.options);
        let (prefix, registry) = registry_at(repo, self.base.unwrap_or(self.head), options.now)?;
        let cache = options
            .cache
            .map(|folder| Cache::new(folder, &registry.policy, options.now));
        let judged = self.judge_under(prefix, registry, cache.as_ref(), bounds);
        // Also where the time was up: the next try then gets further.
        if let Some(note) = cache.as_ref().and_then(Cache::save) {
            self.judge.notes.push(note);
        }
        judged
    }

    fn judge_under(
        &mut self,
        prefix: &str,
        mut registry: Registry,
        cache: Option<&Cache>,
        bounds: &mut Bounds<'_>,
    ) -> Result<(), Stop> {
        let (repo, options) = (self.judge.repo, self.judge.options);
        let objects = &repo.objects;
        let founding = self.base.is_none();
        registry.source = Source::of_commit(objects, &self.head, prefix)?;
        let past_ledger = std::mem::take(&mut registry.ledger);
        if self.judge.report.registry.is_empty() {
            self.judge.report.registry = registry.policy.registry_id.clone();
        }
        let range = Range {
            objects,
            prefix,
            base: self.base,
            from: self.from,
            head: self.head,
            commits: &self.commits,
        };
        let published = range.base_root()?;
        let mut changes = self.changes(&range, published, &past_ledger, bounds)?;
        let wrongs = std::mem::take(&mut changes.wrongs);

        let new_source = registry.source.clone();
        let more = self.graphs_without(&new_source, prefix, &changes)?;
        changes.tree.artifacts.extend(more);
        let retired = self.retired(prefix, &past_ledger, &changes, cache)?;
        let stage = Stage {
            registry: &registry,
            now: options.now,
            today: options.now,
            issuers: options.issuers.unwrap_or(&registry.issuers),
            published: retired.iter().map(|p| (p.path.as_str(), p)).collect(),
            links: links(&changes.tree),
            wrongs,
            withdrawn: &past_ledger,
            checkout: None,
            cache,
            carried: None,
            writes: false,
            expired: options.expired,
        };
        let known = Known::Tree {
            objects,
            root: published,
            retired: &retired,
        };
        let mut judged = judge_changes(&stage, repo, prefix, &changes.tree)?;
        judged.extend(secrets_on_the_way(
            &stage,
            repo,
            prefix,
            &changes.on_the_way,
        )?);
        let gone: Vec<(String, String, &'static str)> = stage
            .wrongs
            .iter()
            .filter(|(path, _)| !judged.iter().any(|j| j.path == **path))
            .map(|(path, wrong)| (path.clone(), wrong.message.clone(), wrong.code))
            .collect();
        for (path, message, code) in gone {
            let mut findings = Vec::new();
            report(
                &registry.policy,
                code,
                &path,
                Place::file(),
                message,
                &mut findings,
            );
            judged.extend(stage.found(&path, findings));
        }
        self.collect(&stage, &known, prefix, judged, &past_ledger)?;
        self.own_word(&changes, &new_source, &past_ledger, founding)?;
        if changes.generated.is_empty() {
            return Ok(());
        }
        self.index(&registry, prefix, cache, bounds)
    }

    /// Everything that the end has and the commit before has not, and what commits on the way do: to published paths,
    /// to a policy that lets the next one in, and files that the end has not, since a secret in them is out all the
    /// same.
    fn changes(
        &self,
        range: &Range<'_>,
        published: Option<ObjectId>,
        ledger: &StatusLedger,
        bounds: &mut Bounds<'_>,
    ) -> Result<Changes, Stop> {
        let mut changes = Changes::default();
        let weigh = |commit, change: &Change, wrongs: &mut BTreeMap<String, Wrong>| match &published
        {
            Some(root) => range.weigh(root, ledger, commit, change, wrongs),
            None => Ok(()),
        };
        for change in range.changes(bounds)? {
            weigh(None, &change, &mut changes.wrongs)?;
            let path = past::artifact_path(&change.path).filter(|_| change.new.is_none());
            if let Some(path) = path
                && ArtifactType::of_path(&path) == Some(ArtifactType::Workflow)
            {
                changes.removed.insert(path.as_str().to_owned());
            }
            sort_in(&change, &mut changes);
        }
        let judged = changes.tree.files.iter().chain(&changes.tree.artifacts);
        let mut seen: BTreeSet<At> = judged.map(|e| e.at.clone()).collect();
        range.each_change(bounds, |commit, change| {
            weigh(Some(commit.id), change, &mut changes.wrongs)?;
            if let Some(name) = own_word(&change.path) {
                // A commit without a parent that has the same policy changes nothing.
                let before = match &published {
                    Some(root) => git::lookup(range.objects, root, &name)?,
                    None => None,
                };
                if change.new != before {
                    changes.policy.insert(name);
                }
            }
            let path = std::str::from_utf8(&change.path)
                .ok()
                .and_then(|path| RegistryPath::try_from(path).ok())
                .filter(|path| sidecar_of(path.as_str()).is_none());
            if let (Some(path), Some(leaf)) = (path, change.new)
                && leaf.mode == Mode::Blob
                && seen.insert(At::Blob(leaf.id))
            {
                let at = At::Blob(leaf.id);
                changes.on_the_way.push(Entry { path, at });
            }
            Ok(())
        })?;
        Ok(changes)
    }

    /// What was published once and is in the tree no more, where the push adds to a publisher of whom the ledger says
    /// that something was withdrawn. Only then is the index read: its size is the registry's.
    fn retired(
        &self,
        prefix: &str,
        ledger: &StatusLedger,
        changes: &Changes,
        cache: Option<&Cache>,
    ) -> Result<Vec<Published>, Stop> {
        let withdrawn: BTreeSet<&str> = ledger
            .entries
            .iter()
            .filter(|entry| entry.status == Lifecycle::Withdrawn)
            .map(|entry| entry.artifact.publisher.as_str())
            .collect();
        let concerned = changes.tree.artifacts.iter().any(|entry| {
            let publisher = entry.path.as_str().split('/').nth(1);
            publisher.is_some_and(|publisher| withdrawn.contains(publisher))
        });
        let Some(base) = self.base.filter(|_| concerned) else {
            return Ok(Vec::new());
        };
        let source = Source::of_commit(&self.judge.repo.objects, &base, prefix)?;
        let index = read_index(&source, cache)?;
        Ok(index
            .into_iter()
            .flat_map(|index| index.signing.retired.into_iter().chain(index.published))
            .collect())
    }

    /// The graphs at the end of a push, without those that it brings, that pin a workflow which it removes: they were
    /// accepted, and are to be judged again.
    fn graphs_without(
        &self,
        end: &Source,
        prefix: &str,
        changes: &Changes,
    ) -> Result<Vec<Entry>, Stop> {
        if changes.removed.is_empty() {
            return Ok(Vec::new());
        }
        let objects = &self.judge.repo.objects;
        let Some(root) = past::root(objects, &objects.tree_of(&self.head)?, prefix)? else {
            return Ok(Vec::new());
        };
        let pins_removed = |entry: &Entry| {
            // What cannot be read was not accepted before.
            let bytes = end.read(entry, document::MAX_BYTES as u64).ok();
            let graph = bytes.and_then(|bytes| document::content(&bytes));
            graph.is_some_and(|graph| {
                document::pins(&graph).iter().any(|pin| {
                    let path = ArtifactType::Workflow.path(&pin.publisher, &pin.id, &pin.version);
                    changes.removed.contains(&path)
                })
            })
        };
        let brought = changes.tree.artifacts.iter().map(|e| &e.path);
        let brought: BTreeSet<&RegistryPath> = brought.collect();
        let mut found = Vec::new();
        for entry in discover::list(objects, &root, &mut self.judge.bounds())?.artifacts {
            if (self.judge.options.expired)() {
                return Err(Stop::Expired);
            }
            if ArtifactType::of_path(&entry.path) == Some(ArtifactType::AgentGraph)
                && !brought.contains(&entry.path)
                && pins_removed(&entry)
            {
                found.push(entry);
            }
        }
        Ok(found)
    }

    /// Joins what is new with what stands beside it, and reports.
    fn collect(
        &mut self,
        stage: &Stage<'_>,
        known: &Known<'_>,
        prefix: &str,
        judged: Vec<Judged>,
        ledger: &StatusLedger,
    ) -> Result<(), Stop> {
        let mut accepted: Vec<Candidate> = Vec::new();
        let mut rejected = Vec::new();
        for one in judged {
            match one.outcome {
                Outcome::Accepted(indexable) => accepted.push((indexable.artifact, one.findings)),
                Outcome::Rejected => rejected.push(Rejected {
                    path: one.path,
                    findings: one.findings,
                }),
                Outcome::Unverifiable(reason) if (stage.expired)() => {
                    let _ = reason;
                    return Err(Stop::Expired);
                }
                Outcome::Unverifiable(reason) => {
                    self.judge.report.unverifiable.push(Unverifiable {
                        path: one.path,
                        reason,
                    })
                }
            }
        }
        let siblings = self.siblings(stage, prefix, &accepted)?;
        duplicates(stage, &siblings, &mut accepted, &mut rejected);
        refuse_strangers(stage, known, &mut accepted, &mut rejected).map_err(|e| {
            if (stage.expired)() {
                Stop::Expired
            } else {
                Stop::Failed(e)
            }
        })?;
        let beside = self.workflows(stage, &accepted, &rejected)?;
        dependencies(stage, &beside, &mut accepted, &mut rejected);
        let out = &mut self.judge.report;
        for one in rejected {
            let withdrawn = is_withdrawn(ledger, &one.path);
            let (errors, rest): (Vec<Finding>, Vec<Finding>) =
                one.findings.into_iter().partition(|f| {
                    // What is withdrawn may go, and may be bad; it may not become something else.
                    let excused = withdrawn && f.family != Family::History;
                    has_error(std::slice::from_ref(f)) && !excused
                });
            out.warnings.extend(rest);
            if !errors.is_empty() {
                out.rejected.push(Rejected {
                    path: one.path,
                    findings: errors,
                });
            }
        }
        for (artifact, findings) in accepted {
            out.warnings.extend(findings);
            out.accepted.push(accepted_line(artifact.head()));
        }
        Ok(())
    }

    /// The workflows that new graphs pin and the push does not bring, as far as they stand at its end and are accepted.
    fn workflows(
        &self,
        stage: &Stage<'_>,
        accepted: &[Candidate],
        rejected: &[Rejected],
    ) -> Result<BTreeMap<String, DocumentEntry>, Stop> {
        let pins = accepted.iter().flat_map(|(artifact, _)| match artifact {
            Artifact::AgentGraph(graph) => graph.pins.as_slice(),
            _ => &[],
        });
        let mut wanted: BTreeSet<String> = pins
            .map(|pin| ArtifactType::Workflow.path(&pin.publisher, &pin.id, &pin.version))
            .collect();
        for (artifact, _) in accepted {
            wanted.remove(artifact.head().path);
        }
        for one in rejected {
            wanted.remove(&one.path);
        }
        let mut found = BTreeMap::new();
        for path in wanted {
            if (stage.expired)() {
                return Err(Stop::Expired);
            }
            let accepted = stage.accept(&path).map_err(RunError::new)?;
            found.extend(accepted.map(|entry| (path, entry)));
        }
        Ok(found)
    }

    /// The versions that stand beside what is new, as paths.
    fn siblings(
        &self,
        stage: &Stage<'_>,
        prefix: &str,
        accepted: &[Candidate],
    ) -> Result<Vec<String>, Stop> {
        let objects = &self.judge.repo.objects;
        let Some(root) = past::root(objects, &objects.tree_of(&self.head)?, prefix)? else {
            return Ok(Vec::new());
        };
        let coordinates: BTreeMap<String, Coordinate> = accepted
            .iter()
            .filter_map(|(artifact, _)| RegistryPath::try_from(artifact.head().path).ok())
            .filter_map(|path| Coordinate::of_path(&path).ok())
            .map(|coordinate| (coordinate.versions(), coordinate))
            .collect();
        let mut paths = Vec::new();
        let mut bounds = stage.bounds();
        for (folder, coordinate) in coordinates {
            let Some(leaf) =
                git::lookup(objects, &root, &folder)?.filter(|leaf| leaf.mode == Mode::Tree)
            else {
                continue;
            };
            for entry in objects.with(|reader| git::entries(reader, &leaf.id))? {
                bounds.step()?;
                let name = std::str::from_utf8(&entry.name).ok();
                paths.extend(name.and_then(|name| coordinate.beside(name)));
            }
        }
        Ok(paths)
    }

    /// The policy and the trust registry change only where the server says so; the ledger is valid.
    fn own_word(
        &mut self,
        changes: &Changes,
        new: &Source,
        past: &StatusLedger,
        founding: bool,
    ) -> Result<(), Stop> {
        for name in &changes.policy {
            if founding || self.judge.options.allow_policy_change {
                continue;
            }
            let message = format!("{}: the push changes {name}", self.name);
            self.judge.refuse("history-policy", name, message);
        }
        let never = |e: &dyn std::fmt::Display| {
            format!("{e}; no setting of the server lets in what cannot be read")
        };
        if !changes.policy.is_empty() {
            // What lands must be readable, or every later push and build fails.
            let options = self.judge.options;
            let readable = Registry::under(new, new.clone(), options.now).and_then(|registry| {
                let issuers = options.issuers.unwrap_or(&registry.issuers);
                issuers.pinned(registry.policy.issuer_keys.as_ref())
            });
            if let Err(e) = readable {
                self.judge.refuse("history-policy", &e.file, never(&e));
            }
        }
        if !changes.ledger {
            return Ok(());
        }
        match ledger(new) {
            Err(e) if changes.policy.is_empty() => {
                self.judge.refuse("history-policy", LEDGER_FILE, never(&e));
            }
            Ok(now) if !self.judge.options.allow_policy_change => {
                if let Some(lost) = past
                    .entries
                    .iter()
                    .find(|before| !now.entries.iter().any(|after| keeps(before, after)))
                {
                    let r = &lost.artifact;
                    let message = format!(
                        "the push takes back what {LEDGER_FILE} says of {}/{}@{}",
                        r.publisher, r.id, r.version
                    );
                    self.judge.refuse("history-policy", LEDGER_FILE, message);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// A changed index or dataset is what the registry's signer would write.
    fn index(
        &mut self,
        registry: &Registry,
        prefix: &str,
        cache: Option<&Cache>,
        bounds: &mut Bounds<'_>,
    ) -> Result<(), Stop> {
        let (repo, options) = (self.judge.repo, self.judge.options);
        let old = match self.base {
            Some(base) => {
                let source = Source::of_commit(&repo.objects, &base, prefix)?;
                read_index(&source, cache)?
            }
            None => None,
        };
        let new = match read_index(&registry.source, cache) {
            Ok(new) => new,
            Err(e) => {
                self.judge.refuse("history-index", INDEX, e.0);
                return Ok(());
            }
        };
        let Some(new) = new else {
            // Datasets without an index say nothing; an index that is gone is missed by everyone.
            let message = match old {
                Some(_) => "the push removes the index",
                None => "datasets come without an index",
            };
            self.judge
                .refuse("history-index", INDEX, message.to_owned());
            return Ok(());
        };
        let signer = &new.integrity.keyid;
        let pins = &registry.policy.index_keys;
        let founding = old.is_none();
        let allowed = |key: &KeyId| match (&old, pins.is_empty()) {
            (_, false) => pins.contains(key),
            (Some(old), true) => old.integrity.keyid == *key,
            (None, true) => true,
        };
        if !allowed(signer) {
            let expected = if pins.is_empty() {
                old.as_ref()
                    .map_or_else(String::new, |old| old.integrity.keyid.to_string())
            } else {
                pins.iter()
                    .map(KeyId::as_str)
                    .collect::<Vec<_>>()
                    .join(" or ")
            };
            let message = format!("expected a signature by {expected}, found one by {signer}");
            self.judge.refuse("history-index", INDEX, message);
            return Ok(());
        }
        if new.signing.registry_id != registry.policy.registry_id {
            let message = format!(
                "expected the index of the registry {:?}, found that of {:?}",
                registry.policy.registry_id, new.signing.registry_id
            );
            self.judge.refuse("history-index", INDEX, message);
            return Ok(());
        }
        // A push may bring several builds; each goes on from the one before it.
        let mut chain: BTreeMap<String, IndexHead> = BTreeMap::new();
        let range = Range {
            objects: &repo.objects,
            prefix,
            base: self.base,
            from: self.from,
            head: self.head,
            commits: &self.commits,
        };
        // With a commit that has it, and so its shards.
        let mut blobs = BTreeMap::new();
        if self.commits.len() > 1 {
            range.each_change(bounds, |commit, change| {
                if let Some(leaf) = change.new.filter(|_| change.path == INDEX.as_bytes()) {
                    blobs.insert(leaf.id, commit.id);
                }
                Ok(())
            })?;
        }
        for (id, commit) in blobs {
            let source = Source::of_commit(&repo.objects, &commit, prefix)?;
            if let Ok(bytes) = repo.objects.blob(&id, super::INDEX_BYTES)
                && let Ok(index) =
                    publish::read_with(&bytes, &|path, most| source.named(path, most))
                && allowed(&index.integrity.keyid)
            {
                chain.insert(index.integrity.digest.to_string(), index.head);
            }
        }
        let mut at = &new;
        // Where nothing was known before, there is nothing to go on from.
        while let Some(old) = &old {
            let expected = old.signing.sequence.checked_add(1);
            let before = Some(old.integrity.digest);
            if Some(at.signing.sequence) == expected && at.signing.previous_digest == before {
                break;
            }
            // The digest in it is that of the content.
            if old.integrity == at.integrity {
                break;
            }
            let link = at
                .signing
                .previous_digest
                .and_then(|digest| chain.get(&digest.to_string()))
                .filter(|link| Some(at.signing.sequence) == link.signing.sequence.checked_add(1));
            match link {
                Some(link) => at = link,
                None => {
                    let found = at.signing.sequence;
                    let message = format!(
                        "expected an index that goes on from sequence {} ({}), found sequence {found}",
                        old.signing.sequence, old.integrity.digest
                    );
                    self.judge.refuse("history-index", INDEX, message);
                    return Ok(());
                }
            }
        }
        // What was listed once stays remembered.
        if let Some(old) = &old {
            let listed: BTreeSet<&str> = new.published.iter().map(|p| p.path.as_str()).collect();
            let forgotten = old
                .published
                .iter()
                .chain(&old.signing.retired)
                .map(Published::retired)
                .filter(|p| !listed.contains(p.path.as_str()))
                .find(|p| !new.signing.retired.contains(p));
            if let Some(forgotten) = forgotten {
                let message = format!("the index forgets {}, which was published", forgotten.path);
                self.judge.refuse("history-index", INDEX, message);
            }
        }
        if (options.expired)() {
            return Err(Stop::Expired);
        }
        // The end must be what a build would make of it, at the time that it was signed.
        let own = Registry::under(&registry.source, registry.source.clone(), options.now)
            .map_err(|e| RunError::new(e.to_string()))?;
        // What was found under other limits or levels says nothing here.
        let cache = cache.filter(|_| {
            own.policy.limits == registry.policy.limits
                && own.policy.levels == registry.policy.levels
        });
        let base = self.base.map(|base| Base {
            repo,
            prefix,
            base,
            head: self.head,
        });
        let differences = compare_index(repo, prefix, &own, base, cache, options)?;
        if (options.expired)() {
            return Err(Stop::Expired);
        }
        for difference in differences {
            self.judge.refuse("history-index", INDEX, difference);
        }
        if founding {
            self.judge.notes.push(format!(
                "{}: this push FOUNDS the registry {:?}; its index is signed by {signer}",
                self.name, new.signing.registry_id
            ));
        }
        Ok(())
    }
}

/// Whether an entry of the ledger says what one before it said: of the same artifact, and of a withdrawn one that it is.
/// One that goes would let its coordinate be taken anew.
fn keeps(before: &LedgerEntry, after: &LedgerEntry) -> bool {
    let (a, b) = (&before.artifact, &after.artifact);
    a.artifact_type == b.artifact_type
        && a.publisher == b.publisher
        && a.id == b.id
        && a.version == b.version
        && a.digest == b.digest
        && (before.status == after.status || before.status != Lifecycle::Withdrawn)
}

/// How a commit's generated files differ from what a build would have made of it when its index was signed.
fn compare_index(
    repo: &Repo,
    prefix: &str,
    registry: &Registry,
    base: Option<Base<'_>>,
    cache: Option<&Cache>,
    push: &PushOptions<'_>,
) -> Result<Vec<String>, RunError> {
    let options = BuildOptions {
        jobs: push.jobs,
        base,
        cache,
        issuers: push.issuers,
        expired: push.expired,
        ..BuildOptions::new(BuildMode::Check, push.now, None)
    };
    let mut output = Output::Commit(Staged::new(repo, prefix));
    let report = build(registry, &mut output, &options)?;
    let unverifiable = report
        .unverifiable
        .into_iter()
        .map(|one| format!("{}: {}", one.path, one.reason));
    Ok(report.differences.into_iter().chain(unverifiable).collect())
}

/// An index, where there is one; one that was verified before is known by its hash.
fn read_index(source: &Source, cache: Option<&Cache>) -> Result<Option<IndexHead>, RunError> {
    let bytes = match source.named(INDEX, super::INDEX_BYTES) {
        Ok(bytes) => bytes,
        Err(e) if e.is_absent() => return Ok(None),
        Err(e) => return Err(RunError::new(format!("{INDEX}: {e}"))),
    };
    let hash = Digest::of(&bytes);
    let head = if cache.is_some_and(|cache| cache.knows_index(&hash)) {
        publish::read_known(&bytes, &|path, most| source.named(path, most))
    } else {
        publish::read_with(&bytes, &|path, most| source.named(path, most)).map(|index| index.head)
    };
    let head = head.map_err(|e| RunError::new(e.to_string()))?;
    if let Some(cache) = cache.filter(|_| head.well_formed) {
        cache.keep_index(hash);
    }
    Ok(Some(head))
}

/// The registry's own files that a push may not change. Attributes decide what a clone makes of every other file.
fn own_word(path: &[u8]) -> Option<String> {
    let path = std::str::from_utf8(path).ok()?;
    let name = path.rsplit('/').next().unwrap_or_default();
    ([POLICY_FILE, TRUST_FILE, ISSUER_KEYS_FILE].contains(&path)
        || name.eq_ignore_ascii_case(".gitattributes"))
    .then(|| path.to_owned())
}

fn sort_in(change: &Change, changes: &mut Changes) {
    let shown = String::from_utf8_lossy(&change.path).into_owned();
    if let Some(name) = own_word(&change.path) {
        changes.policy.insert(name);
    }
    changes.ledger |= shown == LEDGER_FILE;
    let of_dataset = sidecar_of(&shown).is_some();
    if shown == INDEX || of_dataset || is_shard_path(&shown) {
        changes.generated.insert(shown);
        if of_dataset {
            return;
        }
    }
    if let Some(leaf) = change.new {
        discover::add(&mut changes.tree, &change.path, leaf);
    }
}

/// What is out once it was pushed, and cannot be taken back by a later commit.
const SECRETS: [&str; 3] = [
    "cartridge-secret",
    "document-private-name",
    "document-secret",
];

/// The secrets in files that commits on the way bring and the end has not; whether such files are good otherwise does
/// not matter.
fn secrets_on_the_way(
    stage: &Stage<'_>,
    repo: &Repo,
    prefix: &str,
    entries: &[Entry],
) -> Result<Vec<Judged>, Stop> {
    let output = Output::Commit(Staged::new(repo, prefix));
    let look = |entry: &Entry| {
        let kind = ArtifactType::of_path(&entry.path);
        // A cartridge's own rule tells a key from a text about keys; all others are texts.
        let file = (kind != Some(ArtifactType::Agent)).then(|| stage.file(entry));
        let artifact = kind.and_then(|_| {
            let mut judged = stage.artifact(entry, &output);
            judged.findings.retain(|f| SECRETS.contains(&f.code));
            stage.found(entry.path.as_str(), judged.findings)
        });
        file.flatten().into_iter().chain(artifact).collect()
    };
    let judged: Option<Vec<Vec<Judged>>> = entries
        .par_iter()
        .map(|entry| (!(stage.expired)()).then(|| look(entry)))
        .collect();
    Ok(judged.ok_or(Stop::Expired)?.into_iter().flatten().collect())
}

/// Judges what a push adds.
fn judge_changes(
    stage: &Stage<'_>,
    repo: &Repo,
    prefix: &str,
    tree: &Tree,
) -> Result<Vec<Judged>, Stop> {
    // Nothing is written, so nothing counts as up to date.
    let output = Output::Commit(Staged::new(repo, prefix));
    let expired = || (stage.expired)();
    let judged: Option<Vec<Judged>> = tree
        .artifacts
        .par_iter()
        .map(|entry| (!expired()).then(|| stage.artifact(entry, &output)))
        .collect();
    let mut judged = judged.ok_or(Stop::Expired)?;
    let files: Option<Vec<Option<Judged>>> = tree
        .files
        .par_iter()
        .map(|entry| (!expired()).then(|| stage.file(entry)))
        .collect();
    judged.extend(files.ok_or(Stop::Expired)?.into_iter().flatten());
    judged.extend(tree.oddities.iter().filter_map(|odd| stage.oddity(odd)));
    Ok(judged)
}
