//! What a run has to say, as data. The renderers turn it into text; the exit status comes from here, so that no
//! format can change it.

mod human;
mod shell;

use serde::Serialize;

use crate::finding::{Finding, Severity};
use crate::model::{Digest, Trust};
use crate::verdict::Judgement;

pub use human::{escape, human_build, human_files, human_findings, human_push};
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
    /// The trust value; null where the content could not be read.
    pub trust: Option<Trust>,
    /// invalid, warning or verified.
    pub status: &'static str,
    /// Conforms to the format, whoever signed it.
    pub clean: bool,
    /// Errors, then warnings.
    pub findings: Vec<Finding>,
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
            trust: judgement.trust,
            status: judgement.status(),
            clean: judgement.clean,
            findings: judgement.findings,
            summary: judgement.summary,
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

/// One indexed cartridge.
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
    /// The signed manifest hash.
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

/// How many there were of each.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct BuildCounts {
    /// `.acx` files in the tree.
    pub cartridges: usize,
    /// Indexed cartridges.
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
    #[serde(skip)]
    pub removed: Vec<String>,
    /// What `--check` found different, as sentences.
    #[serde(skip)]
    pub differences: Vec<String>,
    /// What happened to the index, in one sentence.
    #[serde(skip)]
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
