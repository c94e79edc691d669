//! `acx level`: a cartridge's level credentials, explained.

use std::fmt::Write as _;
use std::path::PathBuf;

use acx_registry::disk;
use acx_registry::level::{Credential, IssuerKeys, Levels, VerificationState};
use acx_registry::model::{Json, cut};
use acx_registry::project;
use acx_registry::report::{self, ACCEPTED, REJECTED, Verdict, escape};
use serde_json::json;

use super::{Failure, Format, Global, environment, output, show};

/// Characters of a foreign text that are shown.
const SHOWN: usize = 400;

/// Whose credentials count
#[derive(clap::Args)]
pub struct IssuerArgs {
    /// The keys and status lists of those whose level credentials count, in place of a registry's issuer-keys.json
    #[arg(long, value_name = "FILE")]
    issuer_keys: Option<PathBuf>,
}

impl IssuerArgs {
    /// The keys of the file that the user named, if any.
    pub fn load(&self) -> Result<Option<IssuerKeys>, Failure> {
        let Some(file) = &self.issuer_keys else {
            return Ok(None);
        };
        let bytes = disk::read(file, IssuerKeys::MAX_BYTES as u64)
            .map_err(|e| Failure(format!("{}: {e}", file.display())))?;
        let keys = IssuerKeys::parse(&bytes)
            .map_err(|e| Failure(format!("--issuer-keys {}: {e}", file.display())))?;
        Ok(Some(keys))
    }
}

/// Explain a cartridge's level credentials: what each claims, and how far it is proven
#[derive(clap::Args)]
pub struct Args {
    /// The cartridges
    #[arg(required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    issuers: IssuerArgs,
}

/// Exit status 1 where a credential is invalid or revoked; one that nobody could check is no fault.
pub fn run(args: Args, global: Global) -> Result<u8, Failure> {
    let now = environment::now()?;
    let issuers = args.issuers.load()?.unwrap_or_default();
    let mut status = ACCEPTED;
    let mut values = Vec::new();
    for (at, file) in args.files.iter().enumerate() {
        let path = file.to_string_lossy().into_owned();
        let checked = match show::examine_any(file, &now) {
            Ok(checked) => checked,
            Err(reason) => {
                status = report::FAILED;
                if global.format == Format::Human {
                    output::error(&format!("{}: {}\n", escape(&path), escape(&reason)));
                }
                values.push(
                    json!({"path": path, "verdict": Verdict::Unverifiable, "reason": reason}),
                );
                continue;
            }
        };
        let Some(levels) = project::levels_of_checked(&checked, &issuers, &now) else {
            status = status.max(REJECTED);
            if global.format == Format::Human {
                let findings = report::human_findings(&checked.findings, &environment::style());
                output::print(&format!("{}: no cartridge\n\n{findings}\n", escape(&path)));
            }
            values.push(
                json!({"path": path, "verdict": Verdict::Reject, "findings": checked.findings}),
            );
            continue;
        };
        let refuted = |c: &Credential| {
            matches!(
                c.state,
                VerificationState::Invalid | VerificationState::Revoked
            )
        };
        if levels.credentials.iter().any(refuted) {
            status = status.max(REJECTED);
        }
        match global.format {
            Format::Json => values.push(json!({
                "path": path,
                "level": project::proven_level(&levels),
                "levelClaim": project::level_claim(&levels),
                "credentials": levels.credentials,
            })),
            Format::Human => {
                if at > 0 {
                    output::print("\n");
                }
                output::print(&human(&path, &levels));
            }
        }
    }
    if global.format == Format::Json {
        output::json(&json!({"version": 1, "files": values}))?;
    }
    Ok(status)
}

fn shown(text: &str) -> String {
    escape(&cut(text, SHOWN))
}

fn number(value: &Option<Json>) -> String {
    value
        .as_ref()
        .map_or_else(|| "-".to_owned(), Json::to_string)
}

fn words(value: &Option<String>) -> String {
    value.as_deref().map_or_else(|| "-".to_owned(), shown)
}

fn human(path: &str, levels: &Levels) -> String {
    let level = project::proven_level(levels);
    let level = report::human_level(level.as_ref(), &project::level_claim(levels));
    let mut out = format!("{}: {level}\n", shown(path));
    for credential in &levels.credentials {
        out.push('\n');
        one(&mut out, credential);
    }
    out
}

fn one(out: &mut String, credential: &Credential) {
    let (claim, benchmark) = (&credential.claim, &credential.benchmark);
    let state = credential.state.as_str();
    let reason = shown(&credential.reason);
    let _ = writeln!(out, "{}: {state}: {reason}", shown(&credential.att_id));
    let claimed = format!("{} {}", number(&claim.acx_level), words(&claim.career_tier));
    let rating = format!(
        "mu {}, sigma {}, {} games",
        number(&claim.mu),
        number(&claim.sigma),
        number(&claim.games)
    );
    let measured = format!(
        "{} {}, {}, held-out slice {}",
        words(&benchmark.id),
        words(&benchmark.version),
        words(&benchmark.digest),
        words(&benchmark.held_out_slice_digest)
    );
    for (name, value) in [
        ("claims", claimed),
        ("rating", rating),
        ("about", words(&claim.rom_digest)),
        ("benchmark", measured),
        ("id", words(&credential.id)),
        ("issuer", words(&credential.issuer)),
        ("key", words(&credential.verification_method)),
        ("subject", words(&credential.subject)),
        ("from", words(&credential.valid_from)),
        ("until", words(&credential.valid_until)),
    ] {
        let _ = writeln!(out, "  {name:<10} {value}");
    }
    for held in &credential.held {
        let _ = writeln!(out, "  holds      {held}");
    }
}
