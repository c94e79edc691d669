//! Single files, outside any registry.

use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::sidecar::{self, Derived};
use super::{RunError, judge, pool};
use crate::check::Settings;
use crate::container::Limits;
use crate::disk::{self, ReadError};
use crate::document;
use crate::finding::Finding;
use crate::lance::Dataset;
use crate::level::IssuerKeys;
use crate::model::Timestamp;
use crate::policy::{Policy, TrustRegistry};
use crate::project;
use crate::report::{FileReport, FilesReport};
use crate::verdict;

/// Judges each file on its own, and weighs the credentials of what is accepted; the report is in the order of the arguments.
///
/// # Errors
/// [`RunError`] where no threads can be had. A file that cannot be read is reported, not an error.
pub fn check_files(
    files: &[PathBuf],
    settings: Settings<'_>,
    issuers: &IssuerKeys,
    jobs: usize,
) -> Result<FilesReport, RunError> {
    let reports = pool(jobs)?.install(|| {
        files
            .par_iter()
            .map(|file| check_file(file, settings, issuers))
            .collect()
    });
    Ok(FilesReport::new(reports))
}

/// Judges a workflow or an Agent Graph, which is not in its place yet.
fn check_document(
    file: &Path,
    path: String,
    kind: document::Kind,
    settings: Settings<'_>,
) -> FileReport {
    let bytes = match disk::read(file, document::MAX_BYTES as u64) {
        Ok(bytes) => bytes,
        Err(ReadError::TooLarge(bytes)) => {
            let judgement = document::too_large(&path, bytes, document::MAX_BYTES as u64);
            return FileReport::document(path, judgement, false);
        }
        Err(e) => return FileReport::unverifiable(path, format!("cannot be read: {e}")),
    };
    let policy = settings.policy;
    let settings = document::Settings {
        policy,
        trust: settings.trust,
        now: settings.now,
        publication: true,
    };
    let judgement =
        document::judge_placed(kind, &path, None, &bytes, settings, |seen, findings| {
            if let Some(seen) = seen {
                judge::minimum_trust(policy, &path, seen.trust, findings);
            }
        });
    FileReport::document(path, judgement, false)
}

fn check_file(file: &Path, settings: Settings<'_>, issuers: &IssuerKeys) -> FileReport {
    let path = file.to_string_lossy().into_owned();
    if let Some(kind) = document::Kind::of_name(&path) {
        return check_document(file, path, kind, settings);
    }
    let bytes = match disk::read(file, settings.policy.limits.file_bytes) {
        Ok(bytes) => bytes,
        Err(ReadError::TooLarge(bytes)) => {
            let mut findings = Vec::new();
            judge::too_large(settings.policy, &path, bytes, &mut findings);
            return FileReport {
                findings,
                verdict: crate::report::Verdict::Reject,
                ..FileReport::unverifiable(path, "too large to be read".into())
            };
        }
        Err(e) => return FileReport::unverifiable(path, format!("cannot be read: {e}")),
    };
    let judged = verdict::judge(&path, &bytes, settings, |seen, findings| {
        if let Some(seen) = seen.filter(|_| settings.public) {
            judge::minimum_trust(settings.policy, &path, seen.trust, findings);
        }
    });
    match judged {
        Ok(judgement) => {
            let levels = judgement.admitted.as_ref().and_then(|admitted| {
                let levels = project::levels(admitted, issuers, settings.now);
                project::proofs(admitted.cartridge(), levels)
            });
            FileReport {
                levels,
                ..FileReport::judged(path, judgement)
            }
        }
        Err(refusal) => FileReport::unverifiable(path, refusal.0),
    }
}

/// Why a cartridge has no dataset.
#[derive(Debug)]
pub enum NotMaterialized {
    /// The cartridge is not clean, or its signature does not hold.
    Rejected(Vec<Finding>),
    /// It has no memory, or none by this program's engine, or the tool failed.
    Reason(String),
}

/// The rows and the dataset of one cartridge, SAVE records included: it is its owner's.
///
/// # Errors
/// [`NotMaterialized`]; what fails the checks is not made into anything.
pub fn materialize(
    bytes: &[u8],
    limits: &Limits,
    now: &Timestamp,
) -> Result<(usize, Dataset), NotMaterialized> {
    let policy = Policy {
        limits: limits.clone(),
        ..Policy::default()
    };
    let trust = TrustRegistry::default();
    let settings = Settings {
        policy: &policy,
        trust: &trust,
        own_keys: &[],
        now,
        public: false,
    };
    let judgement = verdict::judge("the cartridge", bytes, settings, |_, _| {})
        .map_err(|refusal| NotMaterialized::Reason(refusal.0))?;
    let Some(admitted) = judgement.admitted else {
        return Err(NotMaterialized::Rejected(judgement.findings));
    };
    match sidecar::derive(&admitted).map_err(NotMaterialized::Reason)? {
        Derived::Dataset { records, dataset } => Ok((records.len(), dataset)),
        Derived::NoMemory => Err(NotMaterialized::Reason(
            "it has no memory, so there is no dataset to make".to_owned(),
        )),
        Derived::OtherEngine(engine) => Err(NotMaterialized::Reason(format!(
            "its embedding engine is {engine}, and this program has local-hash-128 alone: the dataset cannot be made here"
        ))),
    }
}
