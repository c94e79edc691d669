//! `acx learn`

use std::path::{Path, PathBuf};

use acx_registry::author::codebase::Salt;
use acx_registry::author::{self, NotLearned, Outcome};
use acx_registry::disk;
use acx_registry::model::json as strict;
use acx_registry::pipeline;
use acx_registry::policy::Policy;
use acx_registry::report::{self, ACCEPTED, REJECTED, escape};
use serde_json::json;

use super::{Failure, Format, Global, environment, output};

/// Bytes of a record's file.
const RECORD_BYTES: u64 = 1 << 20;

/// Write what was learned in one codebase into a cartridge's SAVE zone
#[derive(clap::Args)]
pub struct Args {
    /// The cartridge
    file: PathBuf,
    /// The record, a JSON object: id, title, summary, sourceType, timestamp, impact, xpAwarded, tags
    #[arg(long, value_name = "R.JSON")]
    record: PathBuf,
    /// The codebase: a folder in its git repository, or the repository's URL
    #[arg(long, value_name = "PATH|URL")]
    repo: String,
    /// This installation's salt, at least 32 bytes that never leave the machine; made with mode 0600 where it is absent
    #[arg(long, value_name = "FILE")]
    salt: PathBuf,
}

pub fn run(args: Args, global: Global) -> Result<u8, Failure> {
    let now = environment::now()?;
    let shown = args.file.to_string_lossy().into_owned();
    let read = |file: &Path, most: u64| {
        disk::read(file, most).map_err(|e| Failure(format!("{}: {e}", file.display())))
    };
    let _lock = disk::lock_folder(disk::folder_of(&args.file));
    if let Some(file) = disk::unfinished(&args.file) {
        return Err(Failure(format!(
            "{shown}: another program has it open, or was stopped while it had ({}); close it first",
            file.display()
        )));
    }
    let bytes = read(&args.file, Policy::default().limits.file_bytes)?;
    let text = read(&args.record, RECORD_BYTES)?;
    let record =
        strict::parse(&text).map_err(|e| Failure(format!("{}: {e}", args.record.display())))?;
    let identity =
        author::repository_identity(&args.repo).map_err(|e| Failure(format!("--repo: {e}")))?;
    let (salt, salt_created) = salt(&args.salt)?;
    let fingerprint = salt.fingerprint(&identity);
    let mut learned = match author::learn(&bytes, &record, &fingerprint, &now) {
        Ok(learned) => learned,
        Err(NotLearned::Rejected(findings)) => {
            match global.format {
                Format::Json => output::json(
                    &json!({"version": 1, "path": shown, "verdict": "reject", "findings": findings}),
                )?,
                Format::Human => {
                    output::print(&report::human_findings(&findings, &environment::style()));
                    output::print("nothing was learned: the cartridge is as it was\n");
                }
            }
            return Ok(REJECTED);
        }
        Err(NotLearned::Record(reasons)) => {
            match global.format {
                Format::Json => output::json(
                    &json!({"version": 1, "path": shown, "verdict": "reject", "record": reasons}),
                )?,
                Format::Human => {
                    for reason in reasons {
                        output::print(&format!(
                            "record {}: REFUSED: {}\n",
                            escape(&args.record.to_string_lossy()),
                            escape(&reason)
                        ));
                    }
                }
            }
            return Ok(REJECTED);
        }
        Err(NotLearned::Reason(why)) => return Err(Failure(format!("{shown}: {why}"))),
    };
    if learned.bytes != bytes {
        refresh_dataset(&mut learned, &now)?;
        disk::replace(&args.file, &learned.bytes)
            .map_err(|e| Failure(format!("{shown}: cannot be written: {e}")))?;
    }
    let id = learned.record.get("id").and_then(|id| id.as_str());
    match global.format {
        Format::Json => output::json(&json!({
            "version": 1,
            "path": shown,
            "outcome": learned.outcome,
            "record": learned.record,
            "codebaseFingerprint": fingerprint,
            "saltCreated": salt_created,
            "romBefore": learned.rom_before,
            "romAfter": learned.rom_after,
            "keyid": learned.keyid,
        }))?,
        Format::Human => {
            let outcome = match learned.outcome {
                Outcome::Added => "added",
                Outcome::Merged => "merged",
                Outcome::Unchanged => "unchanged",
            };
            output::print(&format!(
                "learned: {} ({outcome}; SAVE zone, unsigned)\ncodebase: {fingerprint}\n\
                 rom hash before learn: {}\nrom hash after  learn: {}\n\
                 signature:             EQUAL (verified before and after, by {})\n\
                 hash-equality proof:   EQUAL (ROM intact; SAVE zone changed)\n",
                escape(id.unwrap_or_default()),
                learned.rom_before,
                learned.rom_after,
                learned.keyid
            ));
        }
    }
    Ok(ACCEPTED)
}

/// A dataset that the cartridge carries is made anew, so that it has what was learned.
fn refresh_dataset(
    learned: &mut author::Learned,
    now: &acx_registry::model::Timestamp,
) -> Result<(), Failure> {
    let limits = Policy::default().limits;
    let opened = acx_registry::container::open(&learned.bytes, &limits)
        .map_err(|refusal| Failure(refusal.0))?;
    let carried = format!("{}/", author::DATASET_PLACE);
    let has_dataset = opened
        .cartridge
        .is_some_and(|c| c.files.iter().any(|f| f.name.starts_with(&carried)));
    if !has_dataset {
        return Ok(());
    }
    let (rows, dataset) =
        pipeline::materialize(&learned.bytes, &limits, now).map_err(|e| match e {
            pipeline::NotMaterialized::Reason(why) => Failure(why),
            pipeline::NotMaterialized::Rejected(_) => {
                Failure("the embedded dataset cannot be made anew".into())
            }
        })?;
    let embedded = author::embed_dataset(&learned.bytes, &dataset, rows, now).map_err(Failure)?;
    learned.rom_after = embedded.rom_after;
    learned.bytes = embedded.bytes;
    Ok(())
}

/// The installation's salt, made where it is absent.
fn salt(file: &Path) -> Result<(Salt, bool), Failure> {
    if let Some(salt) = environment::load_salt(file)? {
        return Ok((salt, false));
    }
    disk::create_private(file, &environment::random()?)
        .map_err(|e| Failure(format!("--salt: {}: {e}", file.display())))?;
    output::error(&format!(
        "NEW SALT: {}\n  keep it: another salt gives your codebases other fingerprints, and never share it\n",
        escape(&file.to_string_lossy())
    ));
    let made = environment::load_salt(file)?;
    made.map(|salt| (salt, true))
        .ok_or_else(|| Failure(format!("--salt: {}: it is gone again", file.display())))
}
