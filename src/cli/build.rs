//! `acx build-index`

use std::path::PathBuf;

use acx_registry::attest::PrivateKey;
use acx_registry::discover::INDEX;
use acx_registry::pipeline::{self, BuildOptions, Mode};
use acx_registry::registry::{self, Registry};
use acx_registry::report;

use super::{Failure, Format, Global, RegistryArg, environment, output};

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
    let root = registry::find_root(&args.registry.registry).map_err(Failure)?;
    let registry = Registry::load(&root, &now)?;
    let mode = match (args.check, args.dry_run) {
        (true, _) => Mode::Check,
        (_, true) => Mode::DryRun,
        _ => Mode::Write,
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
    let options = BuildOptions {
        mode,
        fail_on_reject: args.on_reject == OnReject::Fail,
        resign: args.resign,
        new_chain: args.new_chain,
        allow_shrink: args.allow_shrink,
        jobs: args.jobs,
        now: &now,
        key: key.as_ref(),
    };
    let built = pipeline::build(&registry, &options)?;
    match global.format {
        Format::Human => output::print(&report::human_build(&built)),
        Format::Json => {
            output::json(&built)?;
            for difference in &built.differences {
                output::error(&format!("differs: {}\n", report::escape(difference)));
            }
        }
    }
    Ok(built.exit_status())
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
    let founding = registry.root.join(INDEX).symlink_metadata().is_err()
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
