//! What a run has to say, as data. The renderers turn it into text; the exit status comes from here, so that no
//! format can change it.

mod escape;
mod github;
mod human;
mod json;
mod junit;
mod levels;
mod sarif;
mod shell;
mod summary;
mod view;

use std::time::Duration;

use serde::Serialize;

use crate::document::{self, DocumentTrust};
use crate::finding::{Finding, Severity};
use crate::model::{Digest, Trust};
use crate::project::Proofs;
use crate::verdict::Judgement;

pub use escape::{escape, markdown};
pub use github::github_failure;
pub use human::{human_file, human_findings, human_push};
pub use json::text as json_text;
pub use levels::{human_level, human_proofs};
pub use shell::shell_word;

/// Everything was accepted.
pub const ACCEPTED: u8 = 0;
/// Something was rejected, or the committed output differs.
pub const REJECTED: u8 = 1;
/// The run itself failed, or something could not be judged.
pub const FAILED: u8 = 2;

/// The version of the JSON that is printed.
const VERSION: u32 = 1;

/// accept, reject or unverifiable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Every rule let it pass.
    Accept,
    /// A rule did not.
    Reject,
    /// Nothing is known of it.
    Unverifiable,
}

/// What `check` and `verify` say of one file.
#[derive(Debug, Clone, Serialize)]
pub struct FileReport {
    /// As the user named it.
    pub path: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The trust value's name; null where the content could not be read.
    pub trust: Option<&'static str>,
    /// invalid, warning or verified.
    pub status: &'static str,
    /// Conforms to the format, whoever signed it.
    pub clean: bool,
    /// Errors, then warnings.
    pub findings: Vec<Finding>,
    /// What the credentials of a cartridge come to; none where it has none, or is not taken for what it says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub levels: Option<Proofs>,
    /// One sentence that explains the trust, or why the file is unverifiable.
    #[serde(skip)]
    pub summary: String,
}

impl FileReport {
    /// What was found out about a file.
    pub fn judged(path: String, judgement: Judgement) -> Self {
        let verdict = if judgement.is_rejected() {
            Verdict::Reject
        } else {
            Verdict::Accept
        };
        Self {
            path,
            verdict,
            trust: judgement.trust.map(Trust::as_str),
            status: judgement.status(),
            clean: judgement.clean,
            findings: judgement.findings,
            levels: None,
            summary: judgement.summary,
        }
    }

    /// What was found out about a workflow or an Agent Graph; a draft may be unsigned.
    pub fn document(path: String, judgement: document::Judgement, draft: bool) -> Self {
        let trust = judgement.trust;
        let sound = judgement.accepted.is_some()
            || (draft && trust.is_some() && !has_error(&judgement.findings));
        let verdict = if sound {
            Verdict::Accept
        } else {
            Verdict::Reject
        };
        let summary = trust.map_or("the file cannot be read as a document", |t| t.sentence());
        Self {
            path,
            verdict,
            trust: trust.map(DocumentTrust::as_str),
            status: trust.map_or("invalid", DocumentTrust::status),
            clean: verdict == Verdict::Accept,
            findings: judgement.findings,
            levels: None,
            summary: summary.to_owned(),
        }
    }

    /// Nothing was found out about a file, for this reason.
    pub fn unverifiable(path: String, reason: String) -> Self {
        Self {
            path,
            verdict: Verdict::Unverifiable,
            trust: None,
            status: "invalid",
            clean: false,
            findings: Vec::new(),
            levels: None,
            summary: reason,
        }
    }
}

/// What `check` and `verify` print as JSON.
#[derive(Debug, Clone, Serialize)]
pub struct FilesReport {
    version: u32,
    /// In the order of the arguments.
    pub files: Vec<FileReport>,
}

impl FilesReport {
    /// A report on these files.
    pub fn new(files: Vec<FileReport>) -> Self {
        Self {
            version: VERSION,
            files,
        }
    }

    /// 0, 1 or 2.
    pub fn exit_status(&self) -> u8 {
        let has = |verdict| self.files.iter().any(|f| f.verdict == verdict);
        if has(Verdict::Unverifiable) {
            FAILED
        } else if has(Verdict::Reject) {
            REJECTED
        } else {
            ACCEPTED
        }
    }
}

/// One indexed artifact; its path says of which kind.
#[derive(Debug, Clone, Serialize)]
pub struct Accepted {
    /// Its path in the registry.
    pub path: String,
    /// Its publisher.
    pub publisher: String,
    /// Its id.
    pub id: String,
    /// Its version.
    pub version: String,
    /// Its trust value.
    pub trust: Trust,
    /// The signed digest.
    pub digest: Digest,
}

/// One path that is not indexed, and why.
#[derive(Debug, Clone, Serialize)]
pub struct Rejected {
    /// The path in the registry.
    pub path: String,
    /// At least one error.
    pub findings: Vec<Finding>,
}

/// One path that could not be judged.
#[derive(Debug, Clone, Serialize)]
pub struct Unverifiable {
    /// The path in the registry.
    pub path: String,
    /// Why.
    pub reason: String,
}

/// What a build does to the index, by path.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Changes {
    /// Entries that the index did not have.
    pub added: Vec<String>,
    /// Entries that say something else than before, such as another lifecycle status.
    pub changed: Vec<String>,
    /// Entries that it has no more.
    pub removed: Vec<String>,
}

/// How many there were of each.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct BuildCounts {
    /// `.acx` files in the tree.
    pub cartridges: usize,
    /// Workflows in the tree.
    pub workflows: usize,
    /// Agent Graphs in the tree.
    #[serde(rename = "agentGraphs")]
    pub agent_graphs: usize,
    /// Indexed artifacts of all kinds.
    pub accepted: usize,
    /// Paths that were rejected.
    pub rejected: usize,
    /// Paths that could not be judged.
    pub unverifiable: usize,
    /// Warnings.
    pub warnings: usize,
    /// Indexed templates.
    pub templates: usize,
}

/// What `build-index` prints as JSON.
#[derive(Debug, Clone, Serialize)]
pub struct BuildReport {
    version: u32,
    /// The registry's id.
    pub registry: String,
    /// By publisher, id, then version descending, as in the index.
    pub accepted: Vec<Accepted>,
    /// By path.
    pub rejected: Vec<Rejected>,
    /// By path.
    pub unverifiable: Vec<Unverifiable>,
    /// By path.
    pub warnings: Vec<Finding>,
    /// How many of each.
    pub counts: BuildCounts,
    /// The paths that were written.
    pub wrote: Vec<String>,
    /// The datasets that were removed, their cartridges being gone.
    pub removed: Vec<String>,
    /// What the run did to the index, or would do.
    pub changes: Changes,
    /// What `--check` found different, as sentences.
    pub differences: Vec<String>,
    /// What happened to the index, in one sentence.
    pub outcome: String,
}

impl BuildReport {
    /// An empty report on this registry.
    pub fn new(registry: String) -> Self {
        Self {
            version: VERSION,
            registry,
            accepted: Vec::new(),
            rejected: Vec::new(),
            unverifiable: Vec::new(),
            warnings: Vec::new(),
            counts: BuildCounts::default(),
            wrote: Vec::new(),
            removed: Vec::new(),
            changes: Changes::default(),
            differences: Vec::new(),
            outcome: String::new(),
        }
    }

    /// 0, 1 or 2.
    pub fn exit_status(&self) -> u8 {
        if !self.unverifiable.is_empty() {
            FAILED
        } else if self.rejected.is_empty() && self.differences.is_empty() {
            ACCEPTED
        } else {
            REJECTED
        }
    }
}

/// Whether any of the findings is an error.
pub fn has_error(findings: &[Finding]) -> bool {
    findings.iter().any(|f| f.severity == Severity::Error)
}

/// A report of either kind.
#[derive(Debug, Clone, Copy)]
pub enum Report<'a> {
    /// On files.
    Files(&'a FilesReport),
    /// On a registry.
    Build(&'a BuildReport),
}

/// How a report is written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Text for people.
    Human,
    /// JSON, version 1.
    Json,
    /// Workflow commands for GitHub Actions, then the text for people.
    Github,
    /// SARIF 2.1.0.
    Sarif,
    /// JUnit XML.
    Junit,
    /// Markdown, as a job's summary.
    Markdown,
}

/// What a format may make use of. Nothing in it changes what is said.
#[derive(Debug, Clone, Default)]
pub struct Style {
    /// Colours, by ANSI escape sequences.
    pub colour: bool,
    /// The terminal's width in columns, where there is one.
    pub width: Option<usize>,
    /// The registry's place in its repository, with a slash at its end; empty at the root. Annotations and SARIF name
    /// files from the repository's root.
    pub root: String,
    /// How long the run took.
    pub elapsed: Option<Duration>,
}

/// Bytes of a summary that GitHub takes for one step.
pub const SUMMARY_BYTES: usize = 1 << 20;

/// A report in a format.
///
/// # Errors
/// Where JSON cannot be written.
pub fn render(
    report: &Report<'_>,
    format: Format,
    style: &Style,
) -> Result<String, serde_json::Error> {
    Ok(match format {
        Format::Human => human::render(report, style),
        Format::Json => json::render(report)?,
        Format::Github => github::render(report, style),
        Format::Sarif => sarif::render(report, style)?,
        Format::Junit => junit::render(report, style),
        Format::Markdown => summary::render(report, style, SUMMARY_BYTES),
    })
}

/// A report as a job's summary, in at most so many bytes.
pub fn summary(report: &Report<'_>, style: &Style, most: usize) -> String {
    summary::render(report, style, most)
}

impl Report<'_> {
    /// 0, 1 or 2.
    pub fn exit_status(&self) -> u8 {
        match self {
            Self::Files(report) => report.exit_status(),
            Self::Build(report) => report.exit_status(),
        }
    }
}
