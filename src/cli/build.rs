//! `acx build-index`

use std::path::{Path, PathBuf};
use std::time::Instant;

use acx_registry::attest::PrivateKey;
use acx_registry::discover::INDEX;
use acx_registry::disk;
use acx_registry::git::{Identity, Repo};
use acx_registry::model::Timestamp;
use acx_registry::pipeline::{
    self, Base, Branch, BuildOptions, Cache, Checkout, CommitOptions, Mode, Output, Parts, Share,
    Staged,
};
use acx_registry::policy::Policy;
use acx_registry::registry::{self, Registry};
use acx_registry::report::{ACCEPTED, Report, escape};
use acx_registry::source::Source;
use gix::hash::ObjectId;

use super::place::{self, InGit, RevisionArgs};
use super::progress::Progress;
use super::report::{self, ReportArgs, publish};
use super::{Failure, Global, RegistryArg, environment, output};

/// Hold the history since a base against what is published there
#[derive(clap::Args)]
pub struct HistoryArgs {
    #[command(flatten)]
    registry: RegistryArg,
    /// What is published
    #[arg(long, value_name = "REV")]
    base: String,
    /// What came of it
    #[arg(long, value_name = "REV", default_value = "HEAD")]
    head: String,
    /// The git repository, where REGISTRY lies in none
    #[arg(long, value_name = "DIR")]
    git_dir: Option<PathBuf>,
    #[command(flatten)]
    report: ReportArgs,
}

/// `acx check-history`
pub fn check_history(args: HistoryArgs, global: Global) -> Result<u8, Failure> {
    let start = Instant::now();
    args.report.prepare()?;
    let now = environment::now()?;
    let commit = RevisionArgs {
        rev: Some(args.head),
        git_dir: args.git_dir,
    };
    let place = place::in_git(&args.registry.registry, &commit, "HEAD")?;
    let base = place
        .repo
        .resolve(&args.base)
        .map_err(|e| missing(&place.repo, &args.base, &e))?;
    let base = Base {
        repo: &place.repo,
        prefix: &place.prefix,
        base,
        head: place.commit,
    };
    let report = pipeline::check_history(&base, &now)?;
    publish(
        &Report::Build(&report),
        &args.report,
        &root_of(&place.prefix),
        start,
        global,
    )?;
    Ok(report.exit_status())
}

/// Where what was found before is kept
#[derive(clap::Args)]
pub struct CacheArgs {
    /// Keep what is found in files here; by default in the git folder, as acx/cache
    #[arg(long, value_name = "DIR", conflicts_with = "no_cache")]
    cache: Option<PathBuf>,
    /// Look at every file anew, and keep nothing
    #[arg(long)]
    no_cache: bool,
}

impl CacheArgs {
    /// The folder of a registry's cache, where there is a place for one.
    pub(super) fn folder(&self, repo: Option<&Repo>) -> Option<PathBuf> {
        if self.no_cache {
            return None;
        }
        self.cache
            .clone()
            .or_else(|| Some(repo?.common_dir().join("acx").join("cache")))
    }

    /// The cache itself.
    pub(super) fn open(
        &self,
        repo: Option<&Repo>,
        policy: &Policy,
        now: &Timestamp,
    ) -> Option<Cache> {
        Some(Cache::new(&self.folder(repo)?, policy, now))
    }
}

/// Writes a cache; what there is to say of it is no result.
pub(super) fn save(cache: Option<&Cache>, global: Global) {
    if let Some(note) = cache.and_then(Cache::save).filter(|_| !global.quiet) {
        output::error(&format!("note: {}\n", escape(&note)));
    }
}

/// How a commit of generated files is made
#[derive(clap::Args)]
pub struct CommitArgs {
    /// The commit's message; by default it names the sequence
    #[arg(long, value_name = "TEXT")]
    message: Option<String>,
    /// Who makes the commit, as "Name <mail>"; by default whom the git configuration names
    #[arg(long, value_name = "WHO")]
    author: Option<String>,
    /// A line at the end of the message, as "Key: value"
    #[arg(long, value_name = "LINE")]
    trailer: Vec<String>,
}

/// Validate every artifact of a registry and write its signed index.json
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    registry: RegistryArg,
    /// Write nothing; fail when the committed output is not what a build would write
    #[arg(long, conflicts_with = "dry_run")]
    check: bool,
    /// Write nothing; report what a build would do
    #[arg(long)]
    dry_run: bool,
    /// What a rejected artifact does to the build
    #[arg(long, value_enum, default_value_t = OnReject::Exclude)]
    on_reject: OnReject,
    /// The signing key: an Ed25519 PKCS#8 PEM file. Otherwise ACX_INDEX_KEY (the PEM itself), otherwise
    /// `<registry id>.pem` in the key folder (ACX_KEY_DIR, or acx/keys in your configuration folder)
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Sign anew even where nothing changed
    #[arg(long)]
    resign: bool,
    /// Go on from an index that is unsigned, broken, or signed by a key that is not this registry's
    #[arg(long)]
    new_chain: bool,
    /// Let the index lose more than half of its entries
    #[arg(long)]
    allow_shrink: bool,
    #[command(flatten)]
    commit: RevisionArgs,
    /// Hold the history since this revision against what is published there, and judge by its policy and its keys
    #[arg(long, value_name = "REV")]
    base: Option<String>,
    /// Write into this folder instead of the registry's
    #[arg(long, value_name = "DIR", conflicts_with_all = ["write_commit", "push"])]
    out: Option<PathBuf>,
    /// Build the branch's commit and commit the generated files onto it
    #[arg(long = "commit", id = "write_commit", conflicts_with_all = ["check", "dry_run", "base"])]
    write: bool,
    /// Commit, and push the branch to this remote; when others were faster, build anew on theirs
    #[arg(long, value_name = "REMOTE", conflicts_with_all = ["check", "dry_run", "base", "rev", "git_dir"])]
    push: Option<String>,
    /// Judge a share of the files alone, such as 2 of 4 as 2/4, and write what was found as --partial
    #[arg(
        long,
        value_name = "I/N",
        requires = "partial",
        conflicts_with_all = ["check", "dry_run", "write_commit", "push", "out", "base", "merge"]
    )]
    shard: Option<Share>,
    /// Where a share's results go
    #[arg(long, value_name = "FILE", requires = "shard")]
    partial: Option<PathBuf>,
    /// Join all parts of a build that were made by --shard, and judge nothing that they know
    #[arg(long, value_name = "FILE", num_args = 1..)]
    merge: Vec<PathBuf>,
    #[command(flatten)]
    commit_args: CommitArgs,
    #[command(flatten)]
    issuers: super::level::IssuerArgs,
    #[command(flatten)]
    cache: CacheArgs,
    #[command(flatten)]
    report: ReportArgs,
    /// Threads; 0 = one a processor
    #[arg(long, short, default_value_t = 0, value_name = "N", value_parser = super::threads())]
    jobs: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum OnReject {
    /// Index the others, and exit with 1
    Exclude,
    /// Leave every file as it is, and exit with 1
    Fail,
}

pub fn run(args: Args, global: Global) -> Result<u8, Failure> {
    let begun = Instant::now();
    args.report.prepare()?;
    let now = environment::now()?;
    let mode = match (args.check, args.dry_run) {
        (true, _) => Mode::Check,
        (_, true) => Mode::DryRun,
        _ => Mode::Write,
    };
    if args.write || args.push.is_some() {
        return run_commit(args, global, &now, begun);
    }
    let start = &args.registry.registry;
    let of_commit = args.commit.rev.is_some() || args.commit.git_dir.is_some() || is_bare(start);
    let place = if of_commit || args.base.is_some() {
        Some(place::in_git(start, &args.commit, "HEAD")?)
    } else {
        None
    };
    let source = match &place {
        Some(place) if of_commit => place.source()?,
        _ => Source::Folder(registry::find_root(start).map_err(Failure)?),
    };
    let base = match (&args.base, &place) {
        (Some(base), Some(place)) => Some(Base {
            repo: &place.repo,
            prefix: &place.prefix,
            base: place
                .repo
                .resolve(base)
                .map_err(|e| missing(&place.repo, base, &e))?,
            head: place.commit,
        }),
        _ => None,
    };
    let rules = match &base {
        Some(base) => Source::of_commit(&base.repo.objects, &base.base, base.prefix)?,
        None => source.clone(),
    };
    let registry = Registry::under(&rules, source, &now)?;
    let mut output = output_of(&args, mode, &registry, place.as_ref())?;
    let checkout = match &registry.source {
        Source::Folder(root) => checkout(root),
        Source::Tree { .. } => None,
    };
    if let (Some(share), Some(file)) = (args.shard, &args.partial) {
        let repo = checkout.as_ref().map(Checkout::repo);
        let repo = repo.or(place.as_ref().map(|place| &place.repo));
        let cache = args.cache.open(repo, &registry.policy, &now);
        let progress = Progress::new(global);
        let options = BuildOptions {
            checkout: checkout.as_ref(),
            cache: cache.as_ref(),
            observer: Some(&progress),
            ..options(&now, None, args.jobs)
        };
        let part = pipeline::judge_share(&registry, &mut output, &options, share);
        progress.finish();
        let part = part?;
        save(cache.as_ref(), global);
        disk::replace_unsynced(file, &part.bytes)
            .map_err(|e| Failure(format!("{}: {e}", file.display())))?;
        if !global.quiet {
            output::error(&format!(
                "part {} of {}: {} files, {} of them left to the join\n",
                share.part, share.of, part.files, part.left
            ));
        }
        return Ok(ACCEPTED);
    }
    let _lock = match (&output, mode) {
        (Output::Folder(root), Mode::Write) => {
            let repo = checkout.as_ref().map(Checkout::repo);
            Some(pipeline::lock(
                repo.or(place.as_ref().map(|p| &p.repo)),
                root,
            )?)
        }
        _ => None,
    };
    let key = signing_key(args.key, &registry, mode)?;
    if mode != Mode::Write
        && key.is_none()
        && registry.policy.index_keys.is_empty()
        && !global.quiet
    {
        output::error(
            "note: the committed index is held against its own key: no key is pinned in acx-registry.toml and none is \
             at hand\n",
        );
    }
    let repo = checkout
        .as_ref()
        .map(Checkout::repo)
        .or(place.as_ref().map(|place| &place.repo));
    let cache = args.cache.open(repo, &registry.policy, &now);
    let (cache, parts) = joined(&args.merge, cache, &registry, &now)?;
    let issuers = args.issuers.load()?;
    let progress = Progress::new(global);
    let options = BuildOptions {
        mode,
        parts: parts.as_ref(),
        fail_on_reject: args.on_reject == OnReject::Fail,
        resign: args.resign,
        new_chain: args.new_chain,
        allow_shrink: args.allow_shrink,
        base,
        checkout: checkout.as_ref(),
        cache: cache.as_ref(),
        issuers: issuers.as_ref(),
        observer: Some(&progress),
        ..options(&now, key.as_ref(), args.jobs)
    };
    let built = pipeline::build(&registry, &mut output, &options);
    progress.finish();
    let built = built?;
    save(cache.as_ref(), global);
    let root = match (&registry.source, repo, &place) {
        (Source::Folder(root), Some(repo), _) => repo.prefix(root).unwrap_or_default(),
        (_, _, Some(place)) => place.prefix.clone(),
        _ => String::new(),
    };
    publish(
        &Report::Build(&built),
        &args.report,
        &root_of(&root),
        begun,
        global,
    )?;
    report::outputs(&built, None)?;
    Ok(built.exit_status())
}

/// The parts of `--merge`, and a cache for what they know.
fn joined(
    files: &[PathBuf],
    cache: Option<Cache>,
    registry: &Registry,
    now: &Timestamp,
) -> Result<(Option<Cache>, Option<Parts>), Failure> {
    if files.is_empty() {
        return Ok((cache, None));
    }
    let cache = cache.unwrap_or_else(|| Cache::detached(&registry.policy, now));
    let parts = Parts::read(files, registry, &cache)?;
    Ok((Some(cache), Some(parts)))
}

/// Whether a folder is no registry but a bare repository, which may hold one.
fn is_bare(folder: &Path) -> bool {
    registry::find_root(folder).is_err()
        && matches!(Repo::discover(folder), Ok(Some(repo)) if repo.work_dir().is_none())
}

/// What git keeps of a folder; said so where that cannot be read, since then line ends are not looked at.
fn checkout(root: &Path) -> Option<Checkout> {
    match Checkout::of(root) {
        Ok(checkout) => checkout,
        Err(e) => {
            output::error(&format!(
                "note: the git repository around the registry cannot be read, so nothing is held against its blobs: {}\n",
                escape(&e.to_string())
            ));
            None
        }
    }
}

/// A writing build of a registry, with nothing asked for besides.
pub(super) fn options<'a>(
    now: &'a Timestamp,
    key: Option<&'a PrivateKey>,
    jobs: usize,
) -> BuildOptions<'a> {
    BuildOptions {
        jobs,
        ..BuildOptions::new(Mode::Write, now, key)
    }
}

/// The registry of a commit.
pub(super) fn registry_of(
    repo: &Repo,
    commit: ObjectId,
    prefix: &str,
    now: &Timestamp,
) -> Result<Registry, Failure> {
    let source = Source::of_commit(&repo.objects, &commit, prefix)?;
    Ok(Registry::under(&source, source.clone(), now)?)
}

/// Who commits, and with what message.
pub(super) fn commit_options(
    args: &CommitArgs,
    repo: &Repo,
    now: &Timestamp,
) -> Result<CommitOptions, Failure> {
    let plain = |text: &str| !text.contains(['\0', '\n', '\r', '<', '>']);
    let author = match &args.author {
        Some(text) => text
            .strip_suffix('>')
            .and_then(|text| text.split_once(" <"))
            .map(|(name, email)| (name.trim(), email.trim()))
            .filter(|(name, email)| plain(name) && plain(email) && !name.is_empty())
            .map(|(name, email)| Identity {
                name: name.to_owned(),
                email: email.to_owned(),
            })
            .ok_or_else(|| {
                Failure(format!(
                    "--author: expected \"Name <mail>\", found {text:?}"
                ))
            })?,
        None => repo.identity().unwrap_or_else(|| Identity {
            name: "acx-registry".to_owned(),
            email: "acx-registry@localhost".to_owned(),
        }),
    };
    for line in &args.trailer {
        let is_trailer = line.split_once(": ").is_some_and(|(key, value)| {
            !key.is_empty()
                && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
                && !value.contains(['\n', '\r', '\0'])
        });
        if !is_trailer {
            return Err(Failure(format!(
                "--trailer: expected \"Key: value\", found {line:?}"
            )));
        }
    }
    Ok(CommitOptions {
        author,
        message: args.message.clone(),
        trailers: args.trailer.clone(),
        now: now.clone(),
    })
}

/// `build-index --commit` and `--push`.
fn run_commit(args: Args, global: Global, now: &Timestamp, begun: Instant) -> Result<u8, Failure> {
    let place = place::in_git(&args.registry.registry, &args.commit, "HEAD")?;
    let repo = &place.repo;
    let name = match (&args.commit.rev, repo.work_dir()) {
        (Some(_), Some(_)) => {
            return Err(Failure(
                "--commit in a work tree builds HEAD: check out the branch instead of naming it by --rev".into(),
            ));
        }
        (Some(rev), None) => Some(
            ["", "refs/heads/"]
                .iter()
                .map(|prefix| format!("{prefix}{rev}"))
                .find(|name| {
                    name.starts_with("refs/heads/") && repo.tip(name).is_ok_and(|t| t.is_some())
                })
                .ok_or_else(|| {
                    Failure(format!("--rev {rev}: --commit needs the name of a branch"))
                })?,
        ),
        (None, _) => repo.head_branch()?,
    };
    let _lock = pipeline::lock(Some(repo), &repo.git_dir())?;
    let registry = registry_of(repo, place.commit, &place.prefix, now)?;
    let key = signing_key(args.key, &registry, Mode::Write)?;
    let branch = Branch {
        repo,
        prefix: &place.prefix,
        name: name.as_deref(),
    };
    let cache = args.cache.open(Some(repo), &registry.policy, now);
    let (cache, parts) = joined(&args.merge, cache, &registry, now)?;
    let issuers = args.issuers.load()?;
    let progress = Progress::new(global);
    let options = BuildOptions {
        parts: parts.as_ref(),
        observer: Some(&progress),
        cache: cache.as_ref(),
        issuers: issuers.as_ref(),
        fail_on_reject: args.on_reject == OnReject::Fail,
        resign: args.resign,
        new_chain: args.new_chain,
        allow_shrink: args.allow_shrink,
        ..options(now, key.as_ref(), args.jobs)
    };
    let commit = commit_options(&args.commit_args, repo, now)?;
    let built = match &args.push {
        Some(remote) => branch.push(remote, &options, &commit),
        None => branch.build_and_move(&options, &commit),
    };
    progress.finish();
    let built = built?;
    save(cache.as_ref(), global);
    publish(
        &Report::Build(&built.report),
        &args.report,
        &root_of(&place.prefix),
        begun,
        global,
    )?;
    let id = built.commit.map(|id| id.to_string());
    report::outputs(&built.report, id.as_deref())?;
    if !global.quiet {
        match built.commit {
            Some(id) => output::error(&format!("committed as {}\n", id.to_hex_with_len(12))),
            None => output::error("nothing to commit\n"),
        }
    }
    Ok(built.report.exit_status())
}

fn missing(repo: &Repo, base: &str, error: &dyn std::fmt::Display) -> Failure {
    let hint = if repo.is_shallow() {
        "; this is a shallow clone: run `git fetch --unshallow` first"
    } else {
        "; fetch it first, for instance with `git fetch origin`"
    };
    Failure(format!("--base {}: {error}{hint}", escape(base)))
}

/// A registry's place in its repository, as a prefix of paths.
fn root_of(prefix: &str) -> String {
    match prefix.trim_end_matches('/') {
        "" => String::new(),
        prefix => format!("{prefix}/"),
    }
}

/// Where the results go.
fn output_of<'a>(
    args: &Args,
    mode: Mode,
    registry: &Registry,
    place: Option<&'a InGit>,
) -> Result<Output<'a>, Failure> {
    if let Some(out) = args.out.as_ref().filter(|_| mode == Mode::Write) {
        std::fs::create_dir_all(out).map_err(|e| Failure(format!("{}: {e}", out.display())))?;
        return Ok(Output::Folder(out.clone()));
    }
    match (&registry.source, place) {
        (Source::Folder(root), _) => Ok(Output::Folder(root.clone())),
        (Source::Tree { .. }, Some(place)) if mode != Mode::Write => {
            Ok(Output::Commit(Staged::new(&place.repo, &place.prefix)))
        }
        (Source::Tree { .. }, _) => match registry::find_root(&args.registry.registry) {
            Ok(root) => Ok(Output::Folder(root)),
            Err(_) => Err(Failure(
                "there is no work tree to write to: add --check or --dry-run to judge alone, --commit to commit to \
                 the branch, or --out DIR"
                    .to_owned(),
            )),
        },
    }
}

/// The key of `--key`, of `ACX_INDEX_KEY`, or of the key folder; made there only for a registry that has neither an
/// index nor a pin, and never in CI.
pub(super) fn signing_key(
    file: Option<PathBuf>,
    registry: &Registry,
    mode: Mode,
) -> Result<Option<PrivateKey>, Failure> {
    if let Some(file) = file {
        return environment::load_key(&file).map(Some);
    }
    if let Some(pem) = std::env::var_os("ACX_INDEX_KEY").filter(|v| !v.is_empty()) {
        let pem = pem
            .to_str()
            .ok_or_else(|| Failure("ACX_INDEX_KEY: expected PEM text".into()))?;
        return PrivateKey::from_pem(pem)
            .map(Some)
            .map_err(|e| Failure(format!("ACX_INDEX_KEY: {e}")));
    }
    let Some(file) = environment::key_file(&registry.policy.registry_id) else {
        return Ok(None);
    };
    if file.symlink_metadata().is_ok() {
        return environment::load_key(&file).map(Some);
    }
    let founding = matches!(registry.source.named(INDEX, 0), Err(e) if e.is_absent())
        && registry.policy.index_keys.is_empty();
    if mode != Mode::Write || !founding || environment::is_ci() {
        return Ok(None);
    }
    let key = environment::create_key(&file)?;
    output::error(&format!(
        "NEW SIGNING KEY for the registry {}: {}\n  written to {} — keep it safe, and pin it: [index] keys = [\"{}\"]\n",
        registry.policy.registry_id,
        key.public().id(),
        escape(&file.to_string_lossy()),
        key.public().id()
    ));
    Ok(Some(key))
}
