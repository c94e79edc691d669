//! Single files, outside any registry.

use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::{RunError, pool};
use crate::check::{Place, Settings};
use crate::disk::{self, ReadError};
use crate::model::Trust;
use crate::report::{FileReport, FilesReport};
use crate::verdict;

/// Judges each file on its own; the report is in the order of the arguments.
///
/// # Errors
/// [`RunError`] where no threads can be had. A file that cannot be read is reported, not an error.
pub fn check_files(
    files: &[PathBuf],
    settings: Settings<'_>,
    jobs: usize,
) -> Result<FilesReport, RunError> {
    let reports = pool(jobs)?.install(|| {
        files
            .par_iter()
            .map(|file| check_file(file, settings))
            .collect()
    });
    Ok(FilesReport::new(reports))
}

fn check_file(file: &Path, settings: Settings<'_>) -> FileReport {
    let path = file.to_string_lossy().into_owned();
    let bytes = match disk::read(file, settings.policy.limits.file_bytes) {
        Ok(bytes) => bytes,
        Err(ReadError::TooLarge(bytes)) => {
            let mut findings = Vec::new();
            let most = settings.policy.limits.file_bytes;
            let message = format!("the file has {bytes} bytes, at most {most} are accepted");
            super::judge::report(
                settings.policy,
                "container-too-large",
                &path,
                Place::file(),
                message,
                &mut findings,
            );
            return FileReport {
                findings,
                verdict: crate::report::Verdict::Reject,
                ..FileReport::unverifiable(path, "too large to be read".into())
            };
        }
        Err(e) => return FileReport::unverifiable(path, format!("cannot be read: {e}")),
    };
    let minimum = settings.policy.minimum_trust;
    let judged = verdict::judge(&path, &bytes, settings, |checked, findings| {
        let trust = checked.evidence.as_ref().map(|e| e.trust);
        if let Some(found) =
            trust.filter(|t| settings.public && *t < minimum && minimum > Trust::Portable)
        {
            let message = format!(
                "expected at least {}, found {}",
                minimum.as_str(),
                found.as_str()
            );
            super::judge::report(
                settings.policy,
                "policy-minimum-trust",
                &path,
                Place::file(),
                message,
                findings,
            );
        }
    });
    match judged {
        Ok(judgement) => FileReport::judged(path, judgement),
        Err(refusal) => FileReport::unverifiable(path, refusal.0),
    }
}
