//! `build-index`: judge everything, join, compare with what is there, sign, write.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use gix::hash::ObjectId;
use rayon::prelude::*;

use super::cache::{Cache, shard_of};
use super::checkout::Checkout;
use super::join::{Joined, join};
use super::judge::{Judged, KnownBlob, Stage, Stale, links, report};
use super::output::Output;
use super::part::Parts;
use super::past::{self, Range, Wrong};
use super::publishers::Known;
use super::sidecar::{self, Lacking};
use super::{INDEX_BYTES, RunError, pool};
use crate::attest::PrivateKey;
use crate::check::Place;
use crate::discover::{self, Entry, INDEX, REGISTRY_DATASET, Tree, WalkError};
use crate::disk;
use crate::finding::Finding;
use crate::git::{self, Bounds, Repo};
use crate::lance::Dataset;
use crate::level::IssuerKeys;
use crate::model::{ArtifactType, Digest, Json, KeyId, Timestamp, Trust};
use crate::policy::StatusLedger;
use crate::project::{self, TemplateEntry};
use crate::publish::{self, IndexHead, Integrity, Layout, Published, Signing};
use crate::registry::{Registry, ledger};
use crate::report::{BuildReport, Changes, Rejected, Verdict};
use crate::source::Source;

/// Bytes of a template's manifest.
const MANIFEST_BYTES: u64 = 1 << 20;
/// Differences that `--check` names.
const DIFFERENCES: usize = 20;
const NO_KEY: &str = "no signing key: give --key FILE or ACX_INDEX_KEY, or make one with `acx key generate` (only where \
                      there is neither an index nor a pinned key, and not in CI, does a build make one itself)";

/// What to do with the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Write what changed.
    Write,
    /// Write nothing; say whether the committed output is what a build would write.
    Check,
    /// Write nothing.
    DryRun,
}

/// How to build.
pub struct BuildOptions<'a> {
    /// What to do with the result.
    pub mode: Mode,
    /// Write nothing where anything is rejected.
    pub fail_on_reject: bool,
    /// Sign anew even where nothing changed.
    pub resign: bool,
    /// Go on from an index that this registry's keys did not sign.
    pub new_chain: bool,
    /// Let the index lose more than half of its entries.
    pub allow_shrink: bool,
    /// Threads; 0 = one a processor.
    pub jobs: usize,
    /// The run's one time.
    pub now: &'a Timestamp,
    /// The signing key. Only writing needs it.
    pub key: Option<&'a PrivateKey>,
    /// The commit that history is held against, and the one that is built.
    pub base: Option<Base<'a>>,
    /// What git keeps of the folder that is built.
    pub checkout: Option<&'a Checkout>,
    /// What was found before.
    pub cache: Option<&'a Cache>,
    /// What was found in parts of this build; their facts are in the cache.
    pub parts: Option<&'a Parts>,
    /// The keys that prove levels, in place of the registry's own file.
    pub issuers: Option<&'a IssuerKeys>,
    /// Says that the time is up; then no more artifacts are judged.
    pub expired: &'a (dyn Fn() -> bool + Sync),
    /// Who watches.
    pub observer: Option<&'a dyn Observer>,
}

/// Someone who watches a build, from all of its threads.
pub trait Observer: Sync {
    /// So many artifacts are going to be judged.
    fn begin(&self, files: usize);
    /// Does the work of judging one; the observer may see how long that takes.
    fn file(&self, path: &str, work: &mut dyn FnMut() -> Verdict);
}

impl<'a> BuildOptions<'a> {
    /// With nothing asked for besides.
    pub fn new(mode: Mode, now: &'a Timestamp, key: Option<&'a PrivateKey>) -> Self {
        Self {
            mode,
            fail_on_reject: false,
            resign: false,
            new_chain: false,
            allow_shrink: false,
            jobs: 0,
            now,
            key,
            base: None,
            checkout: None,
            cache: None,
            parts: None,
            issuers: None,
            expired: &git::unbounded,
            observer: None,
        }
    }
}

/// A commit that was published, and what was made of it since.
#[derive(Debug, Clone, Copy)]
pub struct Base<'a> {
    /// The repository.
    pub repo: &'a Repo,
    /// The registry's place in it.
    pub prefix: &'a str,
    /// The published commit.
    pub base: ObjectId,
    /// The commit that is built.
    pub head: ObjectId,
}

/// Builds the index of a registry.
///
/// # Errors
/// [`RunError`] where the run itself fails; then nothing was written.
pub fn build(
    registry: &Registry,
    output: &mut Output<'_>,
    options: &BuildOptions<'_>,
) -> Result<BuildReport, RunError> {
    let pins = &registry.policy.index_keys;
    if let Some(key) = options.key.filter(|_| options.mode == Mode::Write)
        && !pins.is_empty()
        && !pins.contains(key.public().id())
    {
        return Err(RunError::new(format!(
            "the signing key {} is not pinned: acx-registry.toml has [index] keys = [{}]",
            key.public().id(),
            pins.iter()
                .map(KeyId::as_str)
                .collect::<Vec<_>>()
                .join(", ")
        )));
    }
    let issuers = options.issuers.unwrap_or(&registry.issuers);
    issuers
        .pinned(registry.policy.issuer_keys.as_ref())
        .map_err(|e| RunError::new(e.to_string()))?;
    let mut report = BuildReport::new(registry.policy.registry_id.clone());
    let threads = pool(options.jobs)?;
    let (old, tree) =
        threads.install(|| rayon::join(|| old_index(registry, options), || list(&registry.source)));
    let (old, mut tree) = (old?, tree?);
    tree.oddities
        .extend(options.checkout.into_iter().flat_map(Checkout::submodules));
    // A check asks what a build would have written when the index was signed, so that it gives one answer for one tree.
    let evaluated_at = match (&old, options.mode) {
        (Some(old), Mode::Check) => old.head.signing.signed_at.clone(),
        _ => options.now.clone(),
    };
    // Results of a commit may go into a folder, with datasets of its own.
    let elsewhere = match (&registry.source, &*output) {
        (Source::Tree { .. }, Output::Folder(root)) => Some(list(&Source::Folder(root.clone()))?),
        _ => None,
    };
    let placed = elsewhere.as_ref().unwrap_or(&tree);
    output.look(placed);
    let output = &*output;
    let trusted_old = old.as_ref().filter(|old| old.trusted).map(|old| &old.head);
    let (wrongs, past_ledger) = match &options.base {
        Some(base) => {
            let (wrongs, ledger, _) = history(base)?;
            (wrongs, Some(ledger))
        }
        None => (BTreeMap::new(), None),
    };
    let stage = Stage {
        registry,
        now: &evaluated_at,
        today: options.now,
        issuers,
        published: trusted_old.into_iter().flat_map(listed).collect(),
        links: links(&tree),
        wrongs,
        withdrawn: past_ledger.as_ref().unwrap_or(&registry.ledger),
        checkout: options.checkout,
        cache: options.cache,
        carried: options.parts.map(|parts| &parts.carried),
        // Where one rejection undoes everything, nothing is written before all are judged.
        writes: options.mode == Mode::Write && !options.fail_on_reject,
        expired: options.expired,
    };
    if let Some(parts) = options.parts {
        threads.install(|| parts.hold_against(&tree, &stage))?;
    }
    let judged = threads.install(|| judge_all(&stage, output, &tree, options.observer));
    let root;
    let known = match &options.base {
        Some(base) => {
            root = past::root(
                &base.repo.objects,
                &base.repo.objects.tree_of(&base.base)?,
                base.prefix,
            )?;
            Known::Tree {
                objects: &base.repo.objects,
                root,
                retired: &[],
            }
        }
        None => of_index(trusted_old, &stage, &judged),
    };
    let mut warnings = Vec::new();
    let templates = templates(registry, &tree, &mut warnings)?;
    if let (Some(old), Mode::Check) = (&old, options.mode) {
        lapsed(registry, old, options.now, &mut warnings)?;
    }
    let count = |kind| {
        let all = tree.artifacts.iter();
        all.filter(|entry| entry.kind() == Some(kind)).count()
    };
    report.counts.cartridges = count(ArtifactType::Agent);
    report.counts.workflows = count(ArtifactType::Workflow);
    report.counts.agent_graphs = count(ArtifactType::AgentGraph);
    let mut joined = join(&stage, judged, &known, templates, warnings, &mut report)?;

    let stale = std::mem::take(&mut joined.stale);
    let datasets =
        threads.install(|| Datasets::plan(&stage, output, &tree, placed, &joined, stale))?;
    let shards = registry.policy.index_shards;
    let layout = threads
        .install(|| Layout::new(&joined.content, shards))
        .map_err(unwritable)?;
    let generated = Generated {
        shards: Shards::plan(&layout, placed),
        datasets,
    };
    match options.mode {
        Mode::Check => {
            compare(old.as_ref(), &joined, &layout, &mut report)?;
            generated.shards.differences(&mut report);
            generated.datasets.differences(&mut report);
            if !report.differences.is_empty() {
                report.outcome = "the committed output is not what a build would write".to_owned();
            }
        }
        Mode::DryRun => {
            report.changes = changes(old.as_ref(), &joined, &layout)?;
            report.outcome = "dry run: nothing was written".to_owned();
        }
        Mode::Write => {
            threads.install(|| {
                write(
                    &stage,
                    output,
                    options,
                    old.as_ref(),
                    &joined,
                    generated,
                    &mut report,
                )
            })?;
        }
    }
    Ok(report)
}

/// Everything that stands in a registry; a folder is walked by several threads.
pub(super) fn list(source: &Source) -> Result<Tree, RunError> {
    let fails = |e: WalkError| RunError::new(format!("cannot walk the registry: {e}"));
    match source {
        Source::Folder(root) => {
            let parts = discover::parts(root).map_err(fails)?;
            let trees: Vec<Tree> = parts
                .par_iter()
                .map(|part| discover::walk_part(root, &parts, part))
                .collect::<Result<_, _>>()
                .map_err(fails)?;
            discover::merge(root, trees).map_err(fails)
        }
        Source::Tree { .. } => source.list().map_err(fails),
    }
}

/// What the commits from the base to the head do to published paths, and the base's ledger and registry.
fn history(base: &Base<'_>) -> Result<(BTreeMap<String, Wrong>, StatusLedger, Source), RunError> {
    let objects = &base.repo.objects;
    let mut bounds = Bounds::new(&git::unbounded);
    let fork = git::merge_base(objects, &base.head, &[base.base])
        .map_err(|e| shallow(base.repo, &e))?
        .ok_or_else(|| {
            if base.repo.is_shallow() {
                return shallow(base.repo, &"the two share no commit that is here");
            }
            RunError::new(format!(
                "the base {} and {} share no history",
                base.base, base.head
            ))
        })?;
    let commits = git::between(objects, &base.head, &[base.base], &mut bounds)
        .map_err(|e| shallow(base.repo, &e))?;
    let range = Range {
        objects,
        prefix: base.prefix,
        base: Some(base.base),
        from: Some(fork),
        head: base.head,
        commits: &commits,
    };
    let source = Source::of_commit(objects, &base.base, base.prefix)?;
    let ledger = ledger(&source).map_err(|e| RunError::new(format!("in the base: {e}")))?;
    let wrongs = range
        .wrongs(&ledger, &mut bounds)
        .map_err(|e| shallow(base.repo, &e))?;
    Ok((wrongs, ledger, source))
}

/// What to do where history is missing.
fn shallow(repo: &Repo, error: &dyn std::fmt::Display) -> RunError {
    if repo.is_shallow() {
        RunError::new(format!(
            "{error}: this is a shallow clone that lacks the history since the base; run `git fetch --unshallow` first"
        ))
    } else {
        RunError::new(error.to_string())
    }
}

/// Holds the history from the base to the head against what is published at the base, and nothing else.
///
/// # Errors
/// [`RunError`] where a commit is missing.
pub fn check_history(base: &Base<'_>, now: &Timestamp) -> Result<BuildReport, RunError> {
    let (wrongs, _, source) = history(base)?;
    let registry = Registry::under(&source, source.clone(), now)
        .map_err(|e| RunError::new(format!("in the base: {e}")))?;
    let mut out = BuildReport::new(registry.policy.registry_id.clone());
    for (path, wrong) in wrongs {
        let mut findings = Vec::new();
        let place = Place::file();
        report(
            &registry.policy,
            wrong.code,
            &path,
            place,
            wrong.message,
            &mut findings,
        );
        out.rejected.push(Rejected { path, findings });
    }
    out.counts.rejected = out.rejected.len();
    out.outcome = format!(
        "held {} against {}",
        base.head.to_hex_with_len(12),
        base.base.to_hex_with_len(12)
    );
    Ok(out)
}

/// The keys and paths of the index before.
pub(super) fn of_index(
    old: Option<&IndexHead>,
    stage: &Stage<'_>,
    judged: &[Judged],
) -> Known<'static> {
    let mut keys: BTreeMap<String, BTreeSet<KeyId>> = BTreeMap::new();
    let mut paths = BTreeSet::new();
    for published in old.into_iter().flat_map(|old| &old.published) {
        paths.insert(published.path.clone());
    }
    for published in old
        .into_iter()
        .flat_map(listed)
        .map(|(_, published)| published)
    {
        // `<folder of the kind>/<publisher>/…`
        if let (Some(key), Some(publisher)) = (&published.keyid, published.path.split('/').nth(1)) {
            keys.entry(publisher.to_owned())
                .or_default()
                .insert(key.clone());
        }
    }
    // A version that was listed and is no more, its key being revoked: whose it was is not forgotten.
    for one in judged {
        if let Some((publisher, key)) = &one.signer
            && stage.published.contains_key(one.path.as_str())
        {
            keys.entry(publisher.clone())
                .or_default()
                .insert(key.clone());
            paths.insert(one.path.clone());
        }
    }
    Known::Index(keys, paths)
}

/// A file to be judged.
struct Task<'a> {
    entry: &'a Entry,
    is_artifact: bool,
    known: Option<KnownBlob>,
    /// The part of the cache that it is looked up in.
    shard: Option<usize>,
}

impl<'a> Task<'a> {
    fn new(stage: &Stage<'_>, entry: &'a Entry, is_artifact: bool) -> Self {
        let known = stage.blob_without_reading(entry);
        let id = match (known, stage.cache) {
            (Some((id, _)), _) => Some(id),
            (None, Some(_)) if is_artifact => stage.id_of(entry).ok().flatten(),
            _ => None,
        };
        Self {
            entry,
            is_artifact,
            known,
            shard: id.and_then(|id| shard_of(&id)),
        }
    }
}

/// Works on files in the order of the cache's parts, so that few of these are in memory at once; what comes of it is in
/// the order of the files.
fn by_shard<T: Send>(
    cache: &Cache,
    tasks: &[Task<'_>],
    work: impl Fn(&Task<'_>) -> Option<T> + Sync,
) -> Vec<T> {
    let mut order: Vec<(usize, &Task<'_>)> = tasks.iter().enumerate().collect();
    order.sort_by_key(|(_, task)| task.shard);
    let shards: Vec<&[(usize, &Task<'_>)]> = order
        .chunk_by(|a, b| a.1.shard.is_some() && a.1.shard == b.1.shard)
        .collect();
    let mut done: Vec<(usize, T)> = shards
        .into_par_iter()
        .flat_map_iter(|group| {
            let done: Vec<(usize, T)> = group
                .iter()
                .filter_map(|(at, task)| Some((*at, work(task)?)))
                .collect();
            if let Some(shard) = group.first().and_then(|(_, task)| task.shard) {
                cache.settle(shard);
            }
            done
        })
        .collect();
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, one)| one).collect()
}

pub(super) fn judge_all(
    stage: &Stage<'_>,
    output: &Output<'_>,
    tree: &Tree,
    observer: Option<&dyn Observer>,
) -> Vec<Judged> {
    if let Some(observer) = observer {
        observer.begin(tree.artifacts.len());
    }
    let artifact = |entry: &Entry, known| {
        if (stage.expired)() {
            return Judged::unverifiable(entry, "the time was up before it was judged");
        }
        let Some(observer) = observer else {
            return stage.artifact_of(entry, known, output);
        };
        let mut judged = None;
        observer.file(entry.path.as_str(), &mut || {
            let one = stage.artifact_of(entry, known, output);
            judged.insert(one).verdict()
        });
        judged.unwrap_or_else(|| Judged::unverifiable(entry, "it was not judged"))
    };
    let work = |task: &Task<'_>| {
        if task.is_artifact {
            Some(artifact(task.entry, task.known))
        } else {
            stage.file_of(task.entry, task.known)
        }
    };
    let tasks: Vec<Task<'_>> = tree
        .artifacts
        .par_iter()
        .map(|entry| Task::new(stage, entry, true))
        .chain(
            tree.files
                .par_iter()
                .map(|entry| Task::new(stage, entry, false)),
        )
        .collect();
    let mut judged = match stage.cache {
        None => tasks.par_iter().filter_map(work).collect(),
        Some(cache) => by_shard(cache, &tasks, work),
    };
    judged.extend(
        tree.oddities
            .iter()
            .filter_map(|oddity| stage.oddity(oddity)),
    );
    judged
}

impl OldIndex {
    /// The file, read again; it is too large to be held meanwhile.
    fn bytes(&self) -> Result<Vec<u8>, RunError> {
        let bytes = self.source.named(INDEX, INDEX_BYTES);
        let bytes = bytes.map_err(|e| RunError::new(format!("{INDEX}: {e}")))?;
        if Digest::of(&bytes) != self.hash {
            return Err(RunError::new(format!(
                "{INDEX}: the file changed during the run; run the build again"
            )));
        }
        Ok(bytes)
    }

    /// Whether the file is what a build would write with the signature that it has.
    fn is(&self, layout: &Layout<'_>) -> bool {
        let file = self.source.reader(INDEX, INDEX_BYTES);
        file.is_ok_and(|file| layout.is(&self.head.integrity, file))
    }

    /// Everything but `integrity`, which was verified when the file was read. Only a check that finds a difference, or
    /// keys that may have lapsed, asks for it.
    fn content(&self) -> Result<Json, RunError> {
        if self.head.shards.is_some() {
            let source = &self.source;
            return publish::read_with(&self.bytes()?, &|path, most| source.named(path, most))
                .map(|index| index.content)
                .map_err(|e| RunError::new(format!("{INDEX}: {e}")));
        }
        let mut whole: Json = serde_json::from_slice(&self.bytes()?)
            .map_err(|e| RunError::new(format!("{INDEX}: {e}")))?;
        if let Some(members) = whole.as_object_mut() {
            members.shift_remove("integrity");
        }
        Ok(whole)
    }
}

/// What an index lists or once listed, by path.
pub(super) fn listed(index: &IndexHead) -> impl Iterator<Item = (&str, &Published)> {
    let published = index.published.iter().chain(&index.signing.retired);
    published.map(|p| (p.path.as_str(), p))
}

/// The committed index, if it is one that this registry's keys signed.
pub(super) fn committed_index(
    registry: &Registry,
    options: &BuildOptions<'_>,
) -> Result<Option<IndexHead>, RunError> {
    Ok(old_index(registry, options)?.map(|old| old.head))
}

struct OldIndex {
    head: IndexHead,
    /// SHA-256 of the file.
    hash: Digest,
    /// Where it and its shards are.
    source: Source,
    /// Signed by a key that counts here; otherwise only its sequence is gone on from.
    trusted: bool,
}

/// The committed index, if it is one that this registry's keys signed.
fn old_index(
    registry: &Registry,
    options: &BuildOptions<'_>,
) -> Result<Option<OldIndex>, RunError> {
    let bytes = match registry.source.named(INDEX, INDEX_BYTES) {
        Ok(bytes) => bytes,
        Err(e) if e.is_absent() => return Ok(None),
        Err(e) => return Err(RunError::new(format!("{INDEX}: {e}"))),
    };
    let advice = "if that is meant, go on with --new-chain; otherwise restore the last good index";
    let hash = Digest::of(&bytes);
    let known = options.cache.filter(|cache| cache.knows_index(&hash));
    let further = |path: &str, most| registry.source.named(path, most);
    let read = match known {
        Some(_) => publish::read_known(&bytes, &further),
        None => publish::read_with(&bytes, &further).map(|index| index.head),
    };
    let head = match read {
        Ok(index) => index,
        Err(_) if options.new_chain => return Ok(None),
        Err(e) => return Err(RunError::new(format!("{INDEX}: {e}; {advice}"))),
    };
    drop(bytes);
    if let Some(cache) = options.cache.filter(|_| head.well_formed) {
        cache.keep_index(hash);
    }
    let own = options.key.map(|key| key.public().id());
    let pins = &registry.policy.index_keys;
    let signer = &head.integrity.keyid;
    // With neither pin nor key there is nothing to hold the signer against; reading modes say so and go on.
    let known = own == Some(signer) || pins.contains(signer);
    let nothing_to_hold_against = own.is_none() && pins.is_empty();
    if nothing_to_hold_against && options.mode == Mode::Write {
        return Err(RunError::new(NO_KEY));
    }
    let problem = if !known && !nothing_to_hold_against {
        Some(format!(
            "it is signed by {signer}, which is neither the signing key nor pinned in acx-registry.toml"
        ))
    } else if head.signing.registry_id != registry.policy.registry_id {
        let (found, expected) = (&head.signing.registry_id, &registry.policy.registry_id);
        Some(format!(
            "it is the index of the registry {found:?}, this is {expected:?}"
        ))
    } else {
        None
    };
    match problem {
        None => Ok(Some(OldIndex {
            head,
            hash,
            source: registry.source.clone(),
            trusted: true,
        })),
        Some(_) if options.new_chain => Ok(Some(OldIndex {
            head,
            hash,
            source: registry.source.clone(),
            trusted: false,
        })),
        Some(problem) => Err(RunError::new(format!("{INDEX}: {problem}; {advice}"))),
    }
}

fn templates(
    registry: &Registry,
    tree: &Tree,
    warnings: &mut Vec<Finding>,
) -> Result<Vec<TemplateEntry>, RunError> {
    let mut out = Vec::new();
    for folder in &tree.templates {
        let prefix = format!("templates/{folder}/");
        let files: Vec<String> = tree
            .files
            .iter()
            .filter_map(|entry| entry.path.as_str().strip_prefix(&prefix))
            .map(str::to_owned)
            .collect();
        let path = format!("{prefix}manifest.json");
        let manifest = match registry.source.named(&path, MANIFEST_BYTES) {
            Ok(bytes) => project::template(folder, files, &bytes),
            Err(e) if e.is_absent() => Err("there is no manifest.json".to_owned()),
            Err(disk::ReadError::Io(e)) => return Err(RunError::new(format!("{path}: {e}"))),
            Err(e) => Err(e.to_string()),
        };
        match manifest {
            Ok(entry) => out.push(entry),
            Err(message) => report(
                &registry.policy,
                "registry-template",
                &path,
                Place::file(),
                message,
                warnings,
            ),
        }
    }
    Ok(out)
}

/// What held when the index was signed and holds no more.
fn lapsed(
    registry: &Registry,
    old: &OldIndex,
    now: &Timestamp,
    warnings: &mut Vec<Finding>,
) -> Result<(), RunError> {
    let signed_at = &old.head.signing.signed_at;
    let mut warn = |path: &str, message: String| {
        report(
            &registry.policy,
            "policy-lapsed",
            path,
            Place::file(),
            message,
            warnings,
        );
    };
    if let Some(expires) = old
        .head
        .signing
        .expires
        .as_ref()
        .filter(|e| e.is_before(now))
    {
        warn(INDEX, format!("the index expired at {expires}"));
    }
    for waiver in registry
        .policy
        .waivers
        .iter()
        .filter(|w| w.holds(signed_at) && !w.holds(now))
    {
        let message = format!(
            "the waiver of {} for {:?} expired on {}",
            waiver.code, waiver.path, waiver.expires
        );
        warn(crate::registry::POLICY_FILE, message);
    }
    if registry.trust.is_empty() {
        return Ok(());
    }
    let content = old.content()?;
    for (_, entry) in publish::entries(&content) {
        let text = |name: &str| entry.get(name).and_then(Json::as_str).unwrap_or_default();
        if text("trust") != Trust::Trusted.as_str() {
            continue;
        }
        let key = KeyId::try_from(text("keyid"))
            .ok()
            .and_then(|id| registry.trust.get(&id));
        let publisher = crate::model::PublisherId::try_from(text("publisher"));
        let made = Timestamp::try_from(text("signedAt"));
        let (Some(key), Ok(publisher), Ok(made)) = (key, publisher, made) else {
            continue;
        };
        if let Err(reason) = key.eligible(&publisher, Some(&made), now) {
            warn(
                text("path"),
                format!(
                    "it was trusted when the index was signed ({signed_at}), and is no more: {reason}"
                ),
            );
        }
    }
    Ok(())
}

/// `--check`: the committed content against what a build would write, all but `integrity`.
fn compare(
    old: Option<&OldIndex>,
    joined: &Joined,
    layout: &Layout<'_>,
    report: &mut BuildReport,
) -> Result<(), RunError> {
    let Some(old) = old else {
        report.differences.push(format!(
            "{INDEX} is missing; run `acx build-index` and commit it"
        ));
        return Ok(());
    };
    if !old.head.well_formed {
        report.differences.push(format!(
            "{INDEX} is not in the form in which a build writes it"
        ));
    }
    let same = old.head.well_formed && old.is(layout);
    if !same {
        let (was, new) = (
            old.content()?,
            serde_json::to_value(&joined.content).map_err(unwritable)?,
        );
        if was != new {
            differences(&was, &new, &mut report.differences);
        }
        let form = |shards| {
            if shards {
                "one with shards"
            } else {
                "one file"
            }
        };
        let (found, expected) = (old.head.shards.is_some(), layout.has_shards());
        if found != expected {
            report.differences.push(format!(
                "{INDEX}: expected {}, as [index] shards in acx-registry.toml says, found {}",
                form(expected),
                form(found)
            ));
        } else if report.differences.is_empty() {
            report
                .differences
                .push(format!("{INDEX} is not what a build would write"));
        }
    }
    if report.differences.is_empty() {
        report.outcome = format!(
            "{INDEX} is what a build would write (sequence {}, {}, signed by {} at {})",
            old.head.signing.sequence,
            old.head.integrity.digest,
            old.head.integrity.keyid,
            old.head.signing.signed_at
        );
    }
    Ok(())
}

/// The entries of an index's content, by path.
fn by_path(content: &Json) -> BTreeMap<&str, &Json> {
    publish::entries(content)
        .filter_map(|(_, entry)| Some((entry.get("path")?.as_str()?, entry)))
        .collect()
}

/// What the content does to the entries of the index before.
fn changes(
    old: Option<&OldIndex>,
    joined: &Joined,
    layout: &Layout<'_>,
) -> Result<Changes, RunError> {
    if let Some(old) = old.filter(|old| old.head.well_formed) {
        let found = match &old.head.shards {
            Some(shards) => {
                layout.changes_of_shards(shards, &|path, most| old.source.named(path, most))
            }
            None => layout.changes(&old.bytes()?),
        };
        if let Some([added, changed, removed]) = found {
            return Ok(Changes {
                added,
                changed,
                removed,
            });
        }
    }
    let Some(old) = old else {
        let mut added: Vec<String> = joined
            .content
            .heads()
            .map(|(_, head)| head.path.to_owned())
            .collect();
        added.sort_unstable();
        return Ok(Changes {
            added,
            ..Changes::default()
        });
    };
    let new = serde_json::to_value(&joined.content).map_err(unwritable)?;
    let old = old.content()?;
    Ok(compare_entries(&by_path(&old), &by_path(&new)))
}

fn compare_entries(olds: &BTreeMap<&str, &Json>, news: &BTreeMap<&str, &Json>) -> Changes {
    let mut changes = Changes::default();
    for (path, entry) in news {
        match olds.get(path) {
            None => changes.added.push((*path).to_owned()),
            Some(old) if old != entry => changes.changed.push((*path).to_owned()),
            Some(_) => {}
        }
    }
    let gone = olds.keys().filter(|path| !news.contains_key(*path));
    changes.removed = gone.map(|path| (*path).to_owned()).collect();
    changes
}

fn differences(old: &Json, new: &Json, out: &mut Vec<String>) {
    let (olds, news) = (by_path(old), by_path(new));
    let changes = compare_entries(&olds, &news);
    let added = changes.added.iter();
    let mut all: Vec<String> = added
        .map(|path| format!("{path} is not in the committed index"))
        .collect();
    for path in &changes.changed {
        if let (Some(old), Some(new)) = (olds.get(path.as_str()), news.get(path.as_str())) {
            all.push(format!("{path}: {}", members(old, new)));
        }
    }
    all.extend(
        changes.removed.iter().map(|path| {
            format!("{path} is in the committed index, and a build would leave it out")
        }),
    );
    let rest = members(old, new);
    if !rest
        .split(", ")
        .all(|name| ArtifactType::ALL.map(publish::array).contains(&name))
        && !rest.is_empty()
    {
        all.push(format!("the index's {rest}"));
    }
    let hidden = all.len().saturating_sub(DIFFERENCES);
    out.extend(all.into_iter().take(DIFFERENCES));
    if hidden > 0 {
        out.push(format!("and {hidden} more"));
    }
}

/// The names of the members that differ.
fn members(old: &Json, new: &Json) -> String {
    let (Some(old), Some(new)) = (old.as_object(), new.as_object()) else {
        return "form".to_owned();
    };
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let differing: Vec<&str> = names
        .into_iter()
        .filter(|name| old.get(*name) != new.get(*name))
        .map(String::as_str)
        .collect();
    differing.join(", ")
}

/// What is to be done about the datasets on the disk.
struct Datasets<'a> {
    /// The cartridges whose dataset is missing or another.
    lacking: Vec<Lacking<'a>>,
    /// Datasets that belong to no indexed cartridge with memory.
    orphans: Vec<&'a str>,
    /// The dataset of all rows, where the one on the disk is missing or another.
    registry: Option<Dataset>,
    /// What killed builds left.
    leftovers: &'a [PathBuf],
}

impl<'a> Datasets<'a> {
    fn plan(
        stage: &Stage<'_>,
        output: &Output<'_>,
        tree: &'a Tree,
        placed: &'a Tree,
        joined: &'a Joined,
        mut stale: BTreeMap<String, Stale>,
    ) -> Result<Self, RunError> {
        let entries = &joined.content.cartridges;
        let files: BTreeMap<&str, &Entry> = tree
            .artifacts
            .iter()
            .map(|e| (e.path.as_str(), e))
            .collect();
        let mut wanted: BTreeSet<&str> = entries
            .iter()
            .filter_map(|e| Some(e.memories.as_ref()?.path.as_str()))
            .collect();
        let mut registry = None;
        if stage.registry.policy.sidecars_enabled && stage.registry.policy.sidecars_registry {
            let made = Timestamp::try_from(joined.content.generated_at.as_str())
                .map_err(|e| RunError::new(format!("generatedAt: {e}")))?;
            if let Some(dataset) = sidecar::registry_dataset(stage, entries, &files, &made)? {
                wanted.insert(REGISTRY_DATASET);
                registry = Some(dataset).filter(|dataset| !output.has(REGISTRY_DATASET, dataset));
            }
        }
        Ok(Self {
            lacking: entries
                .iter()
                .filter_map(|e| Some((e, *files.get(e.path.as_str())?, stale.remove(&e.path)?)))
                .collect(),
            orphans: placed
                .sidecars
                .iter()
                .map(|(path, _)| path.as_str())
                .filter(|path| !wanted.contains(path))
                .collect(),
            registry,
            leftovers: &placed.leftovers,
        })
    }

    fn differences(&self, report: &mut BuildReport) {
        let paths = self
            .lacking
            .iter()
            .filter_map(|(e, _, _)| e.memories.as_ref())
            .map(|m| m.path.as_str());
        for path in paths.chain(self.registry.iter().map(|_| REGISTRY_DATASET)) {
            report.differences.push(format!(
                "{path} is missing, or not what a build would write"
            ));
        }
        for path in &self.orphans {
            report.differences.push(format!(
                "{path} belongs to no indexed cartridge with memory"
            ));
        }
    }

    /// Before the index, so that an index never names what is not there.
    fn write(
        self,
        stage: &Stage<'_>,
        output: &Output<'_>,
        report: &mut BuildReport,
    ) -> Result<(), RunError> {
        output.tidy(self.leftovers)?;
        report
            .wrote
            .extend(sidecar::write_all(stage, output, self.lacking)?);
        if let Some(dataset) = &self.registry {
            output.put(REGISTRY_DATASET, dataset)?;
            report.wrote.push(REGISTRY_DATASET.to_owned());
        }
        for path in &self.orphans {
            output.remove(path)?;
            report.removed.push((*path).to_owned());
        }
        Ok(())
    }
}

fn unwritable(error: serde_json::Error) -> RunError {
    RunError::new(format!("cannot write the index: {error}"))
}

/// The shards that the new index names, and what stands in their places.
struct Shards<'a> {
    layout: &'a Layout<'a>,
    /// Shards that it does not name.
    orphans: Vec<&'a str>,
}

impl<'a> Shards<'a> {
    fn plan(layout: &'a Layout<'a>, placed: &'a Tree) -> Self {
        let named: BTreeSet<&str> = layout.shards().iter().map(|s| s.path.as_str()).collect();
        let there = placed.shards.iter().map(|entry| entry.path.as_str());
        Self {
            layout,
            orphans: there.filter(|path| !named.contains(path)).collect(),
        }
    }

    fn differences(&self, report: &mut BuildReport) {
        for path in &self.orphans {
            report.differences.push(format!(
                "{path} is a shard that a build's index would not name"
            ));
        }
    }

    /// Before the index that names them.
    fn write(&self, output: &Output<'_>, report: &mut BuildReport) -> Result<(), RunError> {
        let named = self.layout.shards().par_iter().enumerate();
        let wrote: Vec<Option<String>> = named
            .map(|(at, shard)| {
                let bytes = self.layout.shard(at).map_err(unwritable)?;
                let is_new = output.shard(&shard.path, &bytes)?;
                Ok(is_new.then(|| shard.path.clone()))
            })
            .collect::<Result<_, RunError>>()?;
        report.wrote.extend(wrote.into_iter().flatten());
        Ok(())
    }

    /// After the index that names them no more: a build that is killed leaves the shards of the index that is there.
    fn remove(&self, output: &Output<'_>, report: &mut BuildReport) -> Result<(), RunError> {
        for path in &self.orphans {
            output.remove_shard(path)?;
            report.removed.push((*path).to_owned());
        }
        Ok(())
    }
}

/// What there is to write besides the index.
struct Generated<'a> {
    shards: Shards<'a>,
    datasets: Datasets<'a>,
}

fn write(
    stage: &Stage<'_>,
    output: &Output<'_>,
    options: &BuildOptions<'_>,
    old: Option<&OldIndex>,
    joined: &Joined,
    generated: Generated<'_>,
    report: &mut BuildReport,
) -> Result<(), RunError> {
    let Generated { shards, datasets } = generated;
    let layout = shards.layout;
    if !report.unverifiable.is_empty() {
        report.outcome = format!("{INDEX} was left as it is: not everything could be judged");
        return Ok(());
    }
    if options.fail_on_reject && !report.rejected.is_empty() {
        report.outcome =
            format!("{INDEX} was left as it is: something was rejected (--on-reject fail)");
        return Ok(());
    }
    let unchanged = match old {
        Some(old)
            if old.trusted && !options.resign && old.head.signing.retired == joined.retired =>
        {
            // Rendering and comparing takes a fraction of the time of hashing the canonical form.
            let same = if old.head.well_formed {
                old.is(layout)
            } else {
                old.head.integrity.digest == layout.digest()
            };
            same.then_some(old)
        }
        _ => None,
    };
    // Everything that can refuse comes before the first file is touched.
    let (integrity, sequence, is_new) = match unchanged {
        Some(old) => (
            old.head.integrity.clone(),
            old.head.signing.sequence,
            !old.head.well_formed,
        ),
        None => {
            let (integrity, sequence) = sign(stage, options, old, joined, layout, report)?;
            report.changes = changes(old, joined, layout)?;
            (integrity, sequence, true)
        }
    };
    datasets.write(stage, output, report)?;
    if is_new {
        shards.write(output, report)?;
        let mut written = Ok(());
        let hash = Digest::of_parts(|feed| {
            written = output.index(&mut |file| {
                layout.write(&integrity, &mut |piece| {
                    feed(piece);
                    file.write_all(piece)
                })
            });
        });
        written?;
        if let Some(cache) = options.cache {
            cache.keep_index(hash);
        }
        report.wrote.push(INDEX.to_owned());
    }
    // An index that was left as it is in another place than the one it was read from may be another: so are its shards.
    let elsewhere = matches!(
        (&stage.registry.source, output),
        (Source::Tree { .. }, Output::Folder(_))
    );
    if is_new || !elsewhere {
        shards.remove(output, report)?;
    }
    let digest = integrity.digest;
    report.outcome = if unchanged.is_some() {
        let key = &integrity.keyid;
        format!("{INDEX} is up to date (sequence {sequence}, {digest}, key {key})")
    } else {
        let founding = if old.is_none() {
            "; a first index knows of nothing published before: if there was one, restore it instead"
        } else {
            ""
        };
        format!(
            "signed {INDEX}: sequence {sequence}, {digest}, key {}{founding}",
            integrity.keyid
        )
    };
    Ok(())
}

fn sign(
    stage: &Stage<'_>,
    options: &BuildOptions<'_>,
    old: Option<&OldIndex>,
    joined: &Joined,
    layout: &Layout<'_>,
    report: &BuildReport,
) -> Result<(Integrity, u64), RunError> {
    if let Some(old) = old.filter(|old| old.trusted && !options.allow_shrink) {
        shrink(&old.head.published, joined, report)?;
    }
    let Some(key) = options.key else {
        return Err(RunError::new(NO_KEY));
    };
    let before = old.map(|old| &old.head);
    let sequence = match before {
        Some(old) => old
            .signing
            .sequence
            .checked_add(1)
            .ok_or_else(|| RunError::new("the sequence number is at its end"))?,
        None => 1,
    };
    let policy = &stage.registry.policy;
    let expires = match policy.index_expires_days {
        Some(days) => {
            let (seconds, _) = options.now.unix();
            let later = seconds.saturating_add(i64::from(days) * 86_400);
            Some(
                Timestamp::from_unix(later)
                    .map_err(|e| RunError::new(format!("[index] expires_days: {e}")))?,
            )
        }
        None => None,
    };
    let signing = Signing {
        registry_id: policy.registry_id.clone(),
        sequence,
        previous_digest: before.map(|old| old.integrity.digest),
        signed_at: options.now.clone(),
        expires,
        retired: joined.retired.clone(),
    };
    Ok((layout.sign(&signing, key), sequence))
}

fn shrink(old: &[Published], joined: &Joined, report: &BuildReport) -> Result<(), RunError> {
    let kept: BTreeSet<&str> = joined.content.heads().map(|(_, head)| head.path).collect();
    let lost = old
        .iter()
        .filter(|p| !kept.contains(p.path.as_str()))
        .count();
    if lost * 2 > old.len() {
        let cause = report
            .rejected
            .first()
            .and_then(|one| Some((one, one.findings.first()?)))
            .map_or_else(String::new, |(one, finding)| {
                format!(
                    "; the first of {} rejected: {}: {}: {}",
                    report.rejected.len(),
                    one.path,
                    finding.code,
                    finding.message
                )
            });
        return Err(RunError::new(format!(
            "the index would lose {lost} of its {} entries; {INDEX} was left as it is{cause}. --dry-run shows everything; \
             if the loss is meant, add --allow-shrink",
            old.len()
        )));
    }
    Ok(())
}
