//! `acx build-index`

use std::path::PathBuf;

use acx_registry::attest::PrivateKey;
use acx_registry::discover::INDEX;
use acx_registry::git::Repo;
use acx_registry::pipeline::{self, Base, BuildOptions, Mode, Output, Staged};
use acx_registry::registry::{self, Registry};
use acx_registry::report::{self, BuildReport};
use acx_registry::source::Source;

use super::place::{self, CommitArgs, InGit};
use super::{Failure, Format, Global, RegistryArg, environment, output};

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
}

/// `acx check-history`
pub fn check_history(args: HistoryArgs, global: Global) -> Result<u8, Failure> {
    let now = environment::now()?;
    let commit = CommitArgs {
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
    print(&report, global)?;
    Ok(report.exit_status())
}

/// Validate every cartridge of a registry and write its signed index.json
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
    /// What a rejected cartridge does to the build
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
    commit: CommitArgs,
    /// Hold the history since this revision against what is published there, and judge by its policy and its keys
    #[arg(long, value_name = "REV")]
    base: Option<String>,
    /// Write into this folder instead of the registry's
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
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
    let now = environment::now()?;
    let mode = match (args.check, args.dry_run) {
        (true, _) => Mode::Check,
        (_, true) => Mode::DryRun,
        _ => Mode::Write,
    };
    let start = &args.registry.registry;
    let of_commit = args.commit.rev.is_some() || args.commit.git_dir.is_some();
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
            base: place.repo.resolve(base).map_err(|e| missing(&place.repo, base, &e))?,
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
    let options = BuildOptions {
        mode,
        fail_on_reject: args.on_reject == OnReject::Fail,
        resign: args.resign,
        new_chain: args.new_chain,
        allow_shrink: args.allow_shrink,
        jobs: args.jobs,
        now: &now,
        key: key.as_ref(),
        base,
    };
    let built = pipeline::build(&registry, &mut output, &options)?;
    print(&built, global)?;
    Ok(built.exit_status())
}

fn missing(repo: &Repo, base: &str, error: &dyn std::fmt::Display) -> Failure {
    let hint = if repo.is_shallow() {
        "; this is a shallow clone: run `git fetch --unshallow` first"
    } else {
        "; fetch it first, for instance with `git fetch origin`"
    };
    Failure(format!("--base {}: {error}{hint}", report::escape(base)))
}

fn print(built: &BuildReport, global: Global) -> Result<(), Failure> {
    match global.format {
        Format::Human => output::print(&report::human_build(built)),
        Format::Json => {
            output::json(built)?;
            for difference in &built.differences {
                output::error(&format!("differs: {}\n", report::escape(difference)));
            }
        }
    }
    Ok(())
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
fn signing_key(
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
        report::escape(&file.to_string_lossy()),
        key.public().id()
    ));
    Ok(Some(key))
}
