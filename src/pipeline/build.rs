//! `build-index`: judge everything, join, compare with what is there, sign, write.

use std::collections::BTreeSet;

use rayon::prelude::*;

use super::join::{Joined, join};
use super::judge::{Judged, Stage, report};
use super::sidecar;
use super::{INDEX_BYTES, RunError, pool};
use crate::attest::PrivateKey;
use crate::check::Place;
use crate::discover::{self, INDEX, REGISTRY_DATASET, Tree};
use crate::disk;
use crate::finding::Finding;
use crate::lance::{self, Dataset};
use crate::model::{Json, KeyId, Timestamp, Trust};
use crate::project::{self, CartridgeEntry, TemplateEntry};
use crate::publish::{self, Integrity, Published, SignedIndex, Signing};
use crate::registry::Registry;
use crate::report::BuildReport;

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
#[derive(Debug)]
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
}

/// Builds the index of a registry.
///
/// # Errors
/// [`RunError`] where the run itself fails; then nothing was written.
pub fn build(registry: &Registry, options: &BuildOptions<'_>) -> Result<BuildReport, RunError> {
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
    let mut report = BuildReport::new(registry.policy.registry_id.clone());
    let old = old_index(registry, options)?;
    // A check asks what a build would have written when the index was signed, so that it gives one answer for one tree.
    let evaluated_at = match (&old, options.mode) {
        (Some(old), Mode::Check) => old.index.signing.signed_at.clone(),
        _ => options.now.clone(),
    };
    let tree = discover::walk(&registry.root)
        .map_err(|e| RunError::new(format!("cannot walk the registry: {e}")))?;
    let trusted_old = old.as_ref().filter(|old| old.trusted).map(|old| &old.index);
    let stage = Stage {
        registry,
        now: &evaluated_at,
        published: trusted_old.into_iter().flat_map(past).collect(),
    };
    let threads = pool(options.jobs)?;
    let judged = threads.install(|| judge_all(&stage, &tree));
    let mut warnings = Vec::new();
    let templates = templates(registry, &tree, &mut warnings)?;
    not_indexed(registry, &tree, &mut warnings);
    if let (Some(old), Mode::Check) = (&old, options.mode) {
        lapsed(registry, &old.index, options.now, &mut warnings);
    }
    report.counts.cartridges = tree.cartridges.len();
    let joined = join(&stage, judged, templates, warnings, &mut report);

    let datasets = threads.install(|| Datasets::plan(&stage, &tree, &joined))?;
    match options.mode {
        Mode::Check => {
            compare(old.as_ref().map(|old| &old.index), &joined, &mut report)?;
            datasets.differences(&mut report);
            if !report.differences.is_empty() {
                report.outcome = "the committed output is not what a build would write".to_owned();
            }
        }
        Mode::DryRun => report.outcome = "dry run: nothing was written".to_owned(),
        Mode::Write => {
            threads.install(|| {
                write(
                    &stage,
                    options,
                    old.as_ref(),
                    &joined,
                    &datasets,
                    &mut report,
                )
            })?;
        }
    }
    Ok(report)
}

fn judge_all(stage: &Stage<'_>, tree: &Tree) -> Vec<Judged> {
    let mut judged: Vec<Judged> = tree
        .cartridges
        .par_iter()
        .map(|entry| stage.cartridge(entry))
        .collect();
    judged.par_extend(tree.files.par_iter().filter_map(|entry| stage.file(entry)));
    judged.extend(
        tree.oddities
            .iter()
            .filter_map(|oddity| stage.oddity(oddity)),
    );
    judged
}

/// What an index lists or once listed, by path.
pub(super) fn past(index: &SignedIndex) -> impl Iterator<Item = (&str, &Published)> {
    let published = index.published.iter().chain(&index.signing.retired);
    published.map(|p| (p.path.as_str(), p))
}

/// The committed index, if it is one that this registry's keys signed.
pub(super) fn committed_index(
    registry: &Registry,
    options: &BuildOptions<'_>,
) -> Result<Option<SignedIndex>, RunError> {
    Ok(old_index(registry, options)?.map(|old| old.index))
}

struct OldIndex {
    index: SignedIndex,
    /// Signed by a key that counts here; otherwise only its sequence is gone on from.
    trusted: bool,
}

/// The committed index, if it is one that this registry's keys signed.
fn old_index(
    registry: &Registry,
    options: &BuildOptions<'_>,
) -> Result<Option<OldIndex>, RunError> {
    let bytes = match disk::read(&registry.root.join(INDEX), INDEX_BYTES) {
        Ok(bytes) => bytes,
        Err(e) if e.is_absent() => return Ok(None),
        Err(e) => return Err(RunError::new(format!("{INDEX}: {e}"))),
    };
    let advice = "if that is meant, go on with --new-chain; otherwise restore the last good index";
    let index = match publish::read(&bytes) {
        Ok(index) => index,
        Err(_) if options.new_chain => return Ok(None),
        Err(e) => return Err(RunError::new(format!("{INDEX}: {e}; {advice}"))),
    };
    let own = options.key.map(|key| key.public().id());
    let pins = &registry.policy.index_keys;
    let signer = &index.integrity.keyid;
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
    } else if index.signing.registry_id != registry.policy.registry_id {
        let (found, expected) = (&index.signing.registry_id, &registry.policy.registry_id);
        Some(format!(
            "it is the index of the registry {found:?}, this is {expected:?}"
        ))
    } else {
        None
    };
    match problem {
        None => Ok(Some(OldIndex {
            index,
            trusted: true,
        })),
        Some(_) if options.new_chain => Ok(Some(OldIndex {
            index,
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
        let manifest = match disk::read(
            &registry
                .root
                .join("templates")
                .join(folder)
                .join("manifest.json"),
            MANIFEST_BYTES,
        ) {
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

fn not_indexed(registry: &Registry, tree: &Tree, warnings: &mut Vec<Finding>) {
    for (folder, ending, what) in [
        ("cals", ".cal.json", "workflows"),
        ("graphs", ".agent-graph.json", "Agent Graphs"),
    ] {
        let inside = |path: &str| {
            path.split_once('/')
                .is_some_and(|(first, _)| first == folder)
        };
        let files = tree
            .files
            .iter()
            .filter(|e| inside(e.path.as_str()) && e.path.as_str().ends_with(ending))
            .count();
        if files > 0 {
            let message = format!("{files} {what} below {folder}/ are not indexed");
            report(
                &registry.policy,
                "registry-not-indexed",
                folder,
                Place::file(),
                message,
                warnings,
            );
        }
    }
}

/// What held when the index was signed and holds no more.
fn lapsed(registry: &Registry, old: &SignedIndex, now: &Timestamp, warnings: &mut Vec<Finding>) {
    let signed_at = &old.signing.signed_at;
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
    if let Some(expires) = old.signing.expires.as_ref().filter(|e| e.is_before(now)) {
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
    for entry in old
        .content
        .get("cartridges")
        .and_then(Json::as_array)
        .into_iter()
        .flatten()
    {
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
}

/// `--check`: the committed content against what a build would write, all but `integrity`.
fn compare(
    old: Option<&SignedIndex>,
    joined: &Joined,
    report: &mut BuildReport,
) -> Result<(), RunError> {
    let Some(old) = old else {
        report.differences.push(format!(
            "{INDEX} is missing; run `acx build-index` and commit it"
        ));
        return Ok(());
    };
    let new = serde_json::to_value(&joined.content)
        .map_err(|e| RunError::new(format!("cannot write the index: {e}")))?;
    if !old.well_formed {
        report.differences.push(format!(
            "{INDEX} is not in the form in which a build writes it"
        ));
    }
    if old.content != new {
        differences(&old.content, &new, &mut report.differences);
    }
    if report.differences.is_empty() {
        report.outcome = format!(
            "{INDEX} is what a build would write (sequence {}, {}, signed by {} at {})",
            old.signing.sequence, old.integrity.digest, old.integrity.keyid, old.signing.signed_at
        );
    }
    Ok(())
}

fn differences(old: &Json, new: &Json, out: &mut Vec<String>) {
    let by_path = |content: &Json| -> std::collections::BTreeMap<String, Json> {
        let entries = content
            .get("cartridges")
            .and_then(Json::as_array)
            .into_iter()
            .flatten();
        entries
            .filter_map(|e| Some((e.get("path")?.as_str()?.to_owned(), e.clone())))
            .collect()
    };
    let (olds, news) = (by_path(old), by_path(new));
    let mut all = Vec::new();
    for (path, entry) in &news {
        match olds.get(path) {
            None => all.push(format!("{path} is not in the committed index")),
            Some(committed) if committed != entry => {
                all.push(format!("{path}: {}", members(committed, entry)))
            }
            Some(_) => {}
        }
    }
    all.extend(
        olds.keys()
            .filter(|path| !news.contains_key(*path))
            .map(|path| {
                format!("{path} is in the committed index, and a build would leave it out")
            }),
    );
    let rest = members(old, new);
    if rest != "cartridges" && !rest.is_empty() {
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
    stale: Vec<&'a CartridgeEntry>,
    /// Datasets that belong to no indexed cartridge with memory.
    orphans: Vec<&'a str>,
    /// The dataset of all rows, where the one on the disk is missing or another.
    registry: Option<Dataset>,
    /// What killed builds left.
    leftovers: &'a [discover::Entry],
}

impl<'a> Datasets<'a> {
    fn plan(stage: &Stage<'_>, tree: &'a Tree, joined: &'a Joined) -> Result<Self, RunError> {
        let entries = &joined.content.cartridges;
        let mut wanted: BTreeSet<&str> = entries
            .iter()
            .filter_map(|e| Some(e.memories.as_ref()?.path.as_str()))
            .collect();
        let mut registry = None;
        if stage.registry.policy.sidecars_enabled && stage.registry.policy.sidecars_registry {
            let made = Timestamp::try_from(joined.content.generated_at.as_str())
                .map_err(|e| RunError::new(format!("generatedAt: {e}")))?;
            if let Some(dataset) = sidecar::registry_dataset(stage, entries, &made)? {
                wanted.insert(REGISTRY_DATASET);
                let at = stage.registry.root.join(REGISTRY_DATASET);
                registry =
                    Some(dataset).filter(|dataset| !lance::matches(dataset, &at).unwrap_or(false));
            }
        }
        Ok(Self {
            stale: entries
                .iter()
                .filter(|e| joined.stale.contains(&e.path))
                .collect(),
            orphans: tree
                .sidecars
                .iter()
                .map(String::as_str)
                .filter(|path| !wanted.contains(path))
                .collect(),
            registry,
            leftovers: &tree.leftovers,
        })
    }

    fn differences(&self, report: &mut BuildReport) {
        let paths = self
            .stale
            .iter()
            .filter_map(|e| e.memories.as_ref())
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
    fn write(&self, stage: &Stage<'_>, report: &mut BuildReport) -> Result<(), RunError> {
        let root = &stage.registry.root;
        for entry in self.leftovers {
            if entry.file.is_dir() {
                sidecar::remove(root, entry.path.as_str())?;
            } else {
                disk::remove_stale(&entry.file);
            }
        }
        report.wrote.extend(sidecar::write_all(stage, &self.stale)?);
        if let Some(dataset) = &self.registry {
            sidecar::put(root, REGISTRY_DATASET, dataset)?;
            report.wrote.push(REGISTRY_DATASET.to_owned());
        }
        for path in &self.orphans {
            sidecar::remove(root, path)?;
            report.removed.push((*path).to_owned());
        }
        Ok(())
    }
}

fn write(
    stage: &Stage<'_>,
    options: &BuildOptions<'_>,
    old: Option<&OldIndex>,
    joined: &Joined,
    datasets: &Datasets<'_>,
    report: &mut BuildReport,
) -> Result<(), RunError> {
    if !report.unverifiable.is_empty() {
        report.outcome = format!("{INDEX} was left as it is: not everything could be judged");
        return Ok(());
    }
    if options.fail_on_reject && !report.rejected.is_empty() {
        report.outcome =
            format!("{INDEX} was left as it is: something was rejected (--on-reject fail)");
        return Ok(());
    }
    let digest = joined.content.digest();
    let unchanged = old.filter(|old| {
        old.trusted
            && !options.resign
            && old.index.integrity.digest == digest
            && old.index.signing.retired == joined.retired
    });
    // Everything that can refuse comes before the first file is touched.
    let (integrity, sequence, is_new) = match unchanged {
        Some(old) => (
            old.index.integrity.clone(),
            old.index.signing.sequence,
            !old.index.well_formed,
        ),
        None => {
            let (integrity, sequence) = sign(stage, options, old, joined)?;
            (integrity, sequence, true)
        }
    };
    datasets.write(stage, report)?;
    if is_new {
        let bytes = publish::render(&joined.content, &integrity)
            .map_err(|e| RunError::new(format!("cannot write the index: {e}")))?;
        disk::replace(&stage.registry.root.join(INDEX), &bytes)
            .map_err(|e| RunError::new(format!("{INDEX}: cannot be written: {e}")))?;
        report.wrote.push(INDEX.to_owned());
    }
    report.outcome = if unchanged.is_some() {
        format!("{INDEX} is up to date (sequence {sequence}, {digest})")
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
) -> Result<(Integrity, u64), RunError> {
    if let Some(old) = old.filter(|old| old.trusted && !options.allow_shrink) {
        shrink(&old.index.published, joined)?;
    }
    let Some(key) = options.key else {
        return Err(RunError::new(NO_KEY));
    };
    let before = old.map(|old| &old.index);
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
    Ok((publish::sign(&joined.content, &signing, key), sequence))
}

fn shrink(old: &[Published], joined: &Joined) -> Result<(), RunError> {
    let kept: BTreeSet<&str> = joined
        .content
        .cartridges
        .iter()
        .map(|e| e.path.as_str())
        .collect();
    let lost = old
        .iter()
        .filter(|p| !kept.contains(p.path.as_str()))
        .count();
    if lost * 2 > old.len() {
        return Err(RunError::new(format!(
            "the index would lose {lost} of its {} entries; {INDEX} was left as it is. If that is meant, add --allow-shrink",
            old.len()
        )));
    }
    Ok(())
}
