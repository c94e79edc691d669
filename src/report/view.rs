//! A report by file, which is how people look at it. JSON alone shows the report as it is.

use std::collections::BTreeMap;

use super::{Report, Verdict};
use crate::finding::{Finding, Severity};
use crate::project::Proofs;

/// One report, by file.
pub(super) struct View<'a> {
    /// The registry's id; nothing for single files.
    pub title: &'a str,
    /// Whatever there is to say something of: single files in the order of the arguments, a registry's by path, with
    /// what was not accepted first.
    pub files: Vec<Seen<'a>>,
    /// What `--check` found different, as sentences.
    pub differences: &'a [String],
    /// What happened to the index, in one sentence.
    pub outcome: &'a str,
    /// The exit status.
    pub status: u8,
}

/// One path.
pub(super) struct Seen<'a> {
    /// As the user or the registry names it.
    pub path: &'a str,
    /// None for what is no cartridge and was not rejected.
    pub verdict: Option<Verdict>,
    /// The trust value, where the content could be read.
    pub trust: Option<&'static str>,
    /// What explains the trust, or why the file is unverifiable.
    pub note: &'a str,
    /// What its credentials come to.
    pub levels: Option<&'a Proofs>,
    /// Errors, then warnings.
    pub findings: Vec<&'a Finding>,
}

impl<'a> View<'a> {
    /// A report by file.
    pub fn of(report: &Report<'a>) -> Self {
        match report {
            Report::Files(report) => Self {
                title: "",
                files: report
                    .files
                    .iter()
                    .map(|file| Seen {
                        path: &file.path,
                        verdict: Some(file.verdict),
                        trust: file.trust,
                        note: &file.summary,
                        levels: file.levels.as_ref(),
                        findings: file.findings.iter().collect(),
                    })
                    .collect(),
                differences: &[],
                outcome: "",
                status: report.exit_status(),
            },
            Report::Build(report) => {
                let mut files: BTreeMap<&str, Seen<'a>> = BTreeMap::new();
                // What is said of a path first counts: the worst.
                let mut seen = |path: &'a str, verdict, trust, note| {
                    files.entry(path).or_insert(Seen {
                        path,
                        verdict,
                        trust,
                        note,
                        levels: None,
                        findings: Vec::new(),
                    });
                };
                for one in &report.unverifiable {
                    seen(&one.path, Some(Verdict::Unverifiable), None, &one.reason);
                }
                for one in &report.rejected {
                    seen(&one.path, Some(Verdict::Reject), None, "");
                }
                for one in &report.accepted {
                    seen(
                        &one.path,
                        Some(Verdict::Accept),
                        Some(one.trust.as_str()),
                        "",
                    );
                }
                for one in &report.warnings {
                    seen(&one.location.path, None, None, "");
                }
                let errors = report
                    .rejected
                    .iter()
                    .flat_map(|one| one.findings.iter().map(|f| (one.path.as_str(), f)));
                let warnings = report
                    .warnings
                    .iter()
                    .map(|f| (f.location.path.as_str(), f));
                for (path, finding) in errors.chain(warnings) {
                    if let Some(one) = files.get_mut(path) {
                        one.findings.push(finding);
                    }
                }
                let mut files: Vec<Seen<'a>> = files.into_values().collect();
                files.sort_by_key(|one| match one.verdict {
                    Some(Verdict::Unverifiable) => 0,
                    Some(Verdict::Reject) => 1,
                    Some(Verdict::Accept) | None => 2,
                });
                Self {
                    title: &report.registry,
                    files,
                    differences: &report.differences,
                    outcome: &report.outcome,
                    status: report.exit_status(),
                }
            }
        }
    }

    /// Every finding, in the order of the files.
    pub fn findings(&self) -> impl Iterator<Item = &'a Finding> {
        self.files
            .iter()
            .flat_map(|file| file.findings.iter().copied())
    }
}

/// `error` or `warning`.
pub(super) fn severity(finding: &Finding) -> &'static str {
    match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

/// The parts of a place within a file, outermost first.
pub(super) fn within(finding: &Finding) -> impl Iterator<Item = &str> {
    let location = &finding.location;
    [
        location.table,
        location.row.as_deref(),
        location.pointer.as_deref(),
    ]
    .into_iter()
    .flatten()
    .filter(|part| !part.is_empty())
}
