//! Where a registry is: in a folder, in a commit of a git repository, or in both.

use std::path::{Path, PathBuf};

use acx_registry::git::{ObjectFolders, Repo};
use acx_registry::registry;
use acx_registry::source::Source;
use gix::hash::ObjectId;

use super::Failure;

/// Arguments that say which commit.
#[derive(clap::Args)]
pub struct RevisionArgs {
    /// Judge the tree of this commit, without a checkout of it
    #[arg(long, value_name = "COMMIT")]
    pub rev: Option<String>,
    /// The git repository, where REGISTRY lies in none: a bare one, say
    #[arg(long, value_name = "DIR")]
    pub git_dir: Option<PathBuf>,
}

/// A registry's place in a git repository.
pub struct InGit {
    /// The repository.
    pub repo: Repo,
    /// The commit.
    pub commit: ObjectId,
    /// Where the registry lies in its tree.
    pub prefix: String,
}

impl InGit {
    /// The registry as the commit has it.
    pub fn source(&self) -> Result<Source, Failure> {
        Ok(Source::of_commit(
            &self.repo.objects,
            &self.commit,
            &self.prefix,
        )?)
    }
}

/// The repository of a registry, at the commit of a revision.
pub fn in_git(registry: &Path, args: &RevisionArgs, default: &str) -> Result<InGit, Failure> {
    let repo = match &args.git_dir {
        Some(dir) => Repo::open(dir, &ObjectFolders::default())?,
        None => Repo::discover(registry)?.ok_or_else(|| {
            Failure(format!(
                "{} lies in no git repository; name one with --git-dir",
                registry.display()
            ))
        })?,
    };
    let commit = repo.resolve(args.rev.as_deref().unwrap_or(default))?;
    let tree = repo.objects.tree_of(&commit)?;
    // A folder of the work tree says where the registry is; otherwise the commit does.
    let folder = registry::find_root(registry).unwrap_or_else(|_| registry.to_path_buf());
    let below = match repo.work_dir() {
        Some(_) => repo.prefix(&folder).unwrap_or_default(),
        None => String::new(),
    };
    let prefix = if below.is_empty() {
        registry::prefix_in(&repo.objects, &tree)?.to_owned()
    } else {
        below
    };
    Ok(InGit {
        repo,
        commit,
        prefix,
    })
}
