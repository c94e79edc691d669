//! Wires the stages together: for a build of a registry, for a check of single files, for a consumer's check of an
//! index. It makes the threads, and everything it collects is sorted before anyone sees it; `publish` spreads the text of
//! many entries over them.

mod build;
mod cache;
mod checkout;
mod commit;
mod files;
mod init;
mod join;
mod judge;
mod lock;
mod output;
mod part;
mod past;
mod publish;
mod publishers;
mod push;
mod search;
mod sidecar;
mod verify;

use crate::git::GitError;
use crate::publish::INDEX_BYTES;

pub use build::{Base, BuildOptions, Mode, Observer, build, check_history};
pub use cache::Cache;
pub use checkout::Checkout;
pub use commit::{Branch, CommitOptions, Committed};
pub use files::{NotMaterialized, check_files, materialize};
pub use init::{Founded, InitOptions, init, vacant};
pub use lock::{Lock, lock};
pub use output::{Output, Staged};
pub use part::{Part, Parts, Share, judge_share};
pub use publish::{NotPublished, Publication, plan_publication};
pub use push::{PushOptions, PushReport, Update, judge_push, parse_updates};
pub use search::{Hit, Query, SearchReport, search};
pub use verify::{IndexReport, Pins, Present, verify_index};

/// The run itself failed: exit status 2, nothing was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunError(pub String);

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RunError {}

impl From<GitError> for RunError {
    fn from(error: GitError) -> Self {
        Self(error.message)
    }
}

impl RunError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

/// A pool of this many threads; 0 = one a processor.
fn pool(jobs: usize) -> Result<rayon::ThreadPool, RunError> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(jobs)
        .build()
        .map_err(|e| RunError::new(format!("cannot start threads: {e}")))
}
