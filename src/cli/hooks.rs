//! `acx pre-receive` and `acx post-receive`: what git's hooks call.

use std::io::Read as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use acx_registry::git::Repo;
use acx_registry::pipeline::{self, Branch, BuildOptions, Mode, PushOptions};
use acx_registry::registry;
use acx_registry::report::{self, Report, Style};

use super::build::{CacheArgs, CommitArgs, commit_options, options, save, signing_key};
use super::report::Rendering;
use super::{Failure, Global, environment, output};

/// Bytes of the hook's input.
const INPUT_BYTES: u64 = 16 << 20;
/// Lines that a refusal prints; git puts `remote: ` before each.
const LINES: usize = 40;

/// Judge a push before it lands
#[derive(clap::Args)]
pub struct PreArgs {
    /// The repository; otherwise GIT_DIR, otherwise the folder that the hook runs in
    #[arg(long, value_name = "DIR")]
    git_dir: Option<PathBuf>,
    /// Seconds for everything; a push that takes longer is refused
    #[arg(long, value_name = "SECONDS", default_value_t = 4.0, value_parser = seconds)]
    budget: f64,
    #[command(flatten)]
    issuers: super::level::IssuerArgs,
    #[command(flatten)]
    cache: CacheArgs,
    /// Threads; 0 = one a processor
    #[arg(long, short, default_value_t = 0, value_name = "N", value_parser = super::threads())]
    jobs: usize,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if (0.0..=86_400.0).contains(&number) => Ok(number),
        _ => Err("expected a number of seconds from 0 to 86400".to_owned()),
    }
}

/// Build and commit the index after a push
#[derive(clap::Args)]
pub struct PostArgs {
    /// The repository; otherwise GIT_DIR, otherwise the folder that the hook runs in
    #[arg(long, value_name = "DIR")]
    git_dir: Option<PathBuf>,
    /// The signing key, as for build-index
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    #[command(flatten)]
    commit: CommitArgs,
    #[command(flatten)]
    issuers: super::level::IssuerArgs,
    #[command(flatten)]
    cache: CacheArgs,
    /// Threads; 0 = one a processor
    #[arg(long, short, default_value_t = 0, value_name = "N", value_parser = super::threads())]
    jobs: usize,
}

fn input() -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .take(INPUT_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| Failure(format!("standard input: {e}")))?;
    if bytes.len() as u64 > INPUT_BYTES {
        return Err(Failure("standard input: more than any push names".into()));
    }
    Ok(bytes)
}

fn open(git_dir: Option<PathBuf>) -> Result<Repo, Failure> {
    let place = git_dir
        .or_else(|| std::env::var_os("GIT_DIR").map(PathBuf::from))
        .unwrap_or_else(|| PathBuf::from("."));
    Ok(Repo::open(&place, &environment::object_folders()?)?)
}

pub fn pre_receive(args: PreArgs, global: Global) -> Result<u8, Failure> {
    let start = Instant::now();
    let budget = Duration::from_secs_f64(args.budget);
    let now = environment::now()?;
    let repo = open(args.git_dir)?;
    let updates = pipeline::parse_updates(&repo, &input()?)?;
    let expired = || start.elapsed() >= budget;
    let cache = args.cache.folder(Some(&repo));
    let issuers = args.issuers.load()?;
    let options = PushOptions {
        now: &now,
        cache: cache.as_deref(),
        issuers: issuers.as_ref(),
        jobs: args.jobs,
        expired: &expired,
        allow_policy_change: repo.setting("acx.allowPolicyChange")?.unwrap_or(false),
    };
    let judged = pipeline::judge_push(&repo, &updates, &options)?;
    match global.report {
        Rendering::Human => {
            let mut text = String::new();
            for note in &judged.notes {
                text.push_str(&report::escape(note));
                text.push('\n');
            }
            text.push_str(&report::human_push(&judged.report, LINES));
            // Git sends what the hook prints to whoever pushes.
            output::error(&text);
        }
        format => output::print(&report::render(
            &Report::Build(&judged.report),
            format,
            &Style::default(),
        )?),
    }
    Ok(judged.report.exit_status())
}

pub fn post_receive(args: PostArgs, global: Global) -> Result<u8, Failure> {
    let now = environment::now()?;
    let repo = open(args.git_dir)?;
    let updates = pipeline::parse_updates(&repo, &input()?)?;
    let Some(default) = repo.head_branch()? else {
        return Ok(report::ACCEPTED);
    };
    // The branch that the repository shows is the one whose index is served.
    if !updates
        .iter()
        .any(|update| update.name == default && update.new.is_some())
    {
        return Ok(report::ACCEPTED);
    }
    let Some(tip) = repo.tip(&default)? else {
        return Ok(report::ACCEPTED);
    };
    if repo.work_dir().is_some() {
        return Err(Failure(
            "a repository with a work tree is built by `acx build-index --commit`, not by this hook".into(),
        ));
    }
    let prefix = registry::prefix_in(&repo.objects, &repo.objects.tree_of(&tip)?)?;
    let _lock = pipeline::lock(Some(&repo), &repo.git_dir())?;
    let registry = super::build::registry_of(&repo, tip, prefix, &now)?;
    let key = signing_key(args.key, &registry, Mode::Write)?;
    let branch = Branch {
        repo: &repo,
        prefix,
        name: Some(&default),
    };
    let commit = commit_options(&args.commit, &repo, &now)?;
    let cache = args.cache.open(Some(&repo), &registry.policy, &now);
    let issuers = args.issuers.load()?;
    let options = BuildOptions {
        cache: cache.as_ref(),
        issuers: issuers.as_ref(),
        ..options(&now, key.as_ref(), args.jobs)
    };
    let built = branch.build_and_move(&options, &commit)?;
    save(cache.as_ref(), global);
    if !built.report.rejected.is_empty() || !built.report.unverifiable.is_empty() {
        output::error(&report::human_push(&built.report, LINES));
    }
    if !global.quiet {
        output::error(&format!(
            "acx: {}{}\n",
            report::escape(&built.report.outcome),
            built.commit.map_or_else(String::new, |id| format!(
                "; committed as {}",
                id.to_hex_with_len(12)
            ))
        ));
    }
    Ok(built.report.exit_status())
}
