//! Writing back: the generated files of a commit become the next commit, and that reaches the others.
//!
//! A build for a commit reads the commit's tree, never the work tree, and makes its results as git objects. The branch
//! then moves in one step, from the commit that was judged and from no other; what a work tree has is left to git
//! itself, which refuses to overwrite what is not committed. When somebody else pushed first, the commits that are not
//! pushed yet are put onto theirs, path by path, and the generated files are made anew: they are never merged.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use gix::hash::ObjectId;

use super::RunError;
use super::build::{BuildOptions, build};
use super::output::{Output, Staged};
use crate::discover::{INDEX, REGISTRY_DATASET, is_shard_path, sidecar_of};
use crate::git::{self, Bounds, Edit, Identity, Mode, Repo, program};
use crate::level::ISSUER_KEYS_FILE;
use crate::model::{ArtifactType, RegistryPath, Timestamp};
use crate::registry::{LEDGER_FILE, POLICY_FILE, Registry, TRUST_FILE};
use crate::report::BuildReport;
use crate::source::Source;

/// Times that a push is tried again after somebody was faster.
const RETRIES: u32 = 5;

/// How the commit of a build is made.
#[derive(Debug, Clone)]
pub struct CommitOptions {
    /// Who makes it.
    pub author: Identity,
    /// The message; by default one that names the sequence.
    pub message: Option<String>,
    /// `Key: value` lines at the end of the message.
    pub trailers: Vec<String>,
    /// The run's one time.
    pub now: Timestamp,
}

/// A branch that a build commits to.
#[derive(Debug, Clone, Copy)]
pub struct Branch<'a> {
    /// The repository.
    pub repo: &'a Repo,
    /// The registry's place in it.
    pub prefix: &'a str,
    /// The branch's full name; none where a work tree's `HEAD` is detached.
    pub name: Option<&'a str>,
}

/// What a build that commits did.
#[derive(Debug)]
pub struct Committed {
    /// The build's report.
    pub report: BuildReport,
    /// The new commit; none where there was nothing to commit.
    pub commit: Option<ObjectId>,
}

impl Branch<'_> {
    fn is_generated(&self, path: &str) -> bool {
        let Some(path) = self.below(path) else {
            return false;
        };
        path == INDEX
            || is_shard_path(path)
            || sidecar_of(path).is_some()
            || path
                .strip_prefix(REGISTRY_DATASET)
                .is_some_and(|rest| rest.starts_with('/'))
    }

    /// The path in the registry of a path in the repository.
    fn below<'p>(&self, path: &'p str) -> Option<&'p str> {
        if self.prefix.is_empty() {
            return Some(path);
        }
        path.strip_prefix(self.prefix)?.strip_prefix('/')
    }

    /// Refuses a work tree in which something that counts is not what `HEAD` has.
    ///
    /// # Errors
    /// [`RunError`] names the path and what to do.
    pub fn require_clean(&self, work_dir: &Path) -> Result<(), RunError> {
        let status = program::must(
            work_dir,
            [
                "status",
                "--porcelain=v1",
                "-z",
                "--no-renames",
                "--untracked-files=all",
            ],
        )?;
        for line in status.split(|b| *b == 0).filter(|line| line.len() > 3) {
            let (Some([staged, changed]), Some(path)) = (line.get(..2), line.get(3..)) else {
                continue;
            };
            let path = String::from_utf8_lossy(path);
            if !matches!(staged, b' ' | b'?' | b'!') {
                return Err(RunError::new(format!(
                    "{path} is staged and not committed; commit it or unstage it first"
                )));
            }
            if self.is_generated(&path) {
                return Err(RunError::new(format!(
                    "{path} is generated and differs from HEAD; restore it first, with `git checkout -- {path}` or by \
                     removing it"
                )));
            }
            let counts = self.below(&path).is_some_and(|path| {
                [POLICY_FILE, TRUST_FILE, ISSUER_KEYS_FILE, LEDGER_FILE].contains(&path)
                    || path.starts_with("templates/")
                    || RegistryPath::try_from(path)
                        .is_ok_and(|path| ArtifactType::of_path(&path).is_some())
            });
            if counts && *changed != b' ' {
                return Err(RunError::new(format!(
                    "{path} is not what HEAD has, and HEAD is what is built; commit it first, or remove it"
                )));
            }
        }
        Ok(())
    }

    /// Builds a commit of the branch and commits the generated files onto it. The branch does not move yet.
    ///
    /// # Errors
    /// [`RunError`], and then nothing changed but objects that nothing names.
    pub fn build(
        &self,
        head: ObjectId,
        options: &BuildOptions<'_>,
        commit: &CommitOptions,
    ) -> Result<Committed, RunError> {
        let source = Source::of_commit(&self.repo.objects, &head, self.prefix)?;
        let registry = Registry::under(&source, source.clone(), options.now)
            .map_err(|e| RunError::new(e.to_string()))?;
        let mut output = Output::Commit(Staged::new(self.repo, self.prefix));
        let report = build(&registry, &mut output, options)?;
        let edits = match output {
            Output::Commit(staged) => staged.into_edits(),
            Output::Folder(_) => BTreeMap::new(),
        };
        if edits.is_empty() {
            return Ok(Committed {
                report,
                commit: None,
            });
        }
        let tree = git::edit_tree(self.repo, &self.repo.objects.tree_of(&head)?, &edits)?;
        let message = message(commit, &report);
        let id = git::commit(
            self.repo,
            tree,
            &[head],
            &commit.author,
            &message,
            &commit.now,
        )?;
        Ok(Committed {
            report,
            commit: Some(id),
        })
    }

    /// Builds the branch's commit and moves the branch. In a work tree, `HEAD` is the branch.
    ///
    /// # Errors
    /// [`RunError`], and then the branch is where it was.
    pub fn build_and_move(
        &self,
        options: &BuildOptions<'_>,
        commit: &CommitOptions,
    ) -> Result<Committed, RunError> {
        if let Some(work_dir) = self.repo.work_dir() {
            let head = self.repo.head()?.ok_or_else(|| {
                RunError::new("there is no commit yet: commit the cartridges first")
            })?;
            self.require_clean(&work_dir)?;
            let built = self.build(head, options, commit)?;
            if let Some(id) = built.commit {
                // Refused where HEAD has moved, or where something that is not committed would be overwritten.
                program::must(&work_dir, ["merge", "-q", "--ff-only", &id.to_string()])?;
            }
            return Ok(built);
        }
        let name = self
            .name
            .ok_or_else(|| RunError::new("a bare repository is committed to by a branch"))?;
        for _ in 0..=RETRIES {
            let head = self.repo.tip(name)?.ok_or_else(|| {
                RunError::new(format!(
                    "{name} has no commit yet: push the cartridges first"
                ))
            })?;
            let built = self.build(head, options, commit)?;
            let Some(id) = built.commit else {
                return Ok(built);
            };
            let log = "acx: generated files";
            let (who, now) = (&commit.author, &commit.now);
            if git::move_branch(self.repo, name, head, id, who, now, log)? {
                return Ok(built);
            }
        }
        Err(RunError::new(format!(
            "{name} moved {RETRIES} times while its index was built; run the build again"
        )))
    }

    /// Pushes the work tree's branch. When somebody was faster, puts what is not pushed onto theirs, builds anew and
    /// tries again. `reopen` gives the repository as it is by then, with the objects that were fetched.
    ///
    /// # Errors
    /// [`RunError`] where git cannot push for another reason, where two changed the same path, or where others are
    /// faster every time.
    pub fn push(
        &self,
        remote: &str,
        options: &BuildOptions<'_>,
        commit: &CommitOptions,
    ) -> Result<Committed, RunError> {
        let work_dir = self.repo.work_dir().ok_or_else(|| {
            RunError::new("--push needs a work tree: a bare repository has --commit alone")
        })?;
        let name = self.name.ok_or_else(|| {
            RunError::new("HEAD is detached: check out the branch that is to be pushed")
        })?;
        let mut built = self.build_and_move(options, commit)?;
        let refspec = format!("HEAD:{name}");
        let mut pause = Duration::from_millis(100);
        let mut stalled = false;
        for attempt in 0..=RETRIES {
            let pushed = program::run(&work_dir, ["push", "--quiet", remote, &refspec])?;
            if pushed.ok {
                return Ok(built);
            }
            if attempt == RETRIES {
                break;
            }
            program::must(&work_dir, ["fetch", "--quiet", remote, name])?;
            // What was fetched is in packs that this view of the repository does not know.
            let fresh = Repo::open(&work_dir, &git::ObjectFolders::default())?;
            let here = Branch {
                repo: &fresh,
                ..*self
            };
            let theirs = fresh.resolve("FETCH_HEAD")?;
            let ours = fresh
                .head()?
                .ok_or_else(|| RunError::new("HEAD has no commit"))?;
            std::thread::sleep(pause);
            pause *= 2;
            if git::is_ancestor(&fresh.objects, &theirs, &ours)? {
                // Nobody was faster, unless somebody is just about to be: seen twice, the other side does not want it.
                if stalled {
                    return Err(RunError::new(format!(
                        "git push {remote}: {}",
                        pushed.message
                    )));
                }
                stalled = true;
                continue;
            }
            stalled = false;
            let onto = here.replay(ours, theirs, commit)?;
            program::must(&work_dir, ["reset", "-q", "--keep", &onto.to_string()])?;
            let fresh = Repo::open(&work_dir, &git::ObjectFolders::default())?;
            let here = Branch {
                repo: &fresh,
                ..*self
            };
            // Parts are of the tree that lost; what they know of its files is in the cache and stays known.
            let options = BuildOptions {
                parts: None,
                ..*options
            };
            built = here.build_and_move(&options, commit)?;
        }
        Err(RunError::new(format!(
            "others pushed to {name} first, {} times in a row; run the build again",
            RETRIES + 1
        )))
    }

    /// Puts the commits that `ours` has and `theirs` has not onto `theirs`, without their generated files.
    fn replay(
        &self,
        ours: ObjectId,
        theirs: ObjectId,
        commit: &CommitOptions,
    ) -> Result<ObjectId, RunError> {
        let objects = &self.repo.objects;
        let mut bounds = Bounds::new(&git::unbounded);
        let mut commits = git::between(objects, &ours, &[theirs], &mut bounds)?;
        commits.reverse();
        let mut onto = theirs;
        for one in commits {
            let [parent] = one.parents.as_slice() else {
                return Err(RunError::new(format!(
                    "the commit {} is a merge, and cannot be put onto what others pushed; rebase it yourself",
                    one.id.to_hex_with_len(12)
                )));
            };
            let base = objects.tree_of(&onto)?;
            let before = objects.tree_of(parent)?;
            let mut edits = BTreeMap::new();
            for change in git::diff(objects, Some(&before), Some(&one.tree), &mut bounds)? {
                let path = String::from_utf8(change.path)
                    .map_err(|_| RunError::new("a path is not Unicode; rebase it yourself"))?;
                if self.is_generated(&path) {
                    continue;
                }
                let there = git::lookup(objects, &base, &path)?;
                if there == change.new {
                    continue;
                }
                if there != change.old {
                    return Err(RunError::new(format!(
                        "{path} was changed here and by somebody who pushed first; rebase it yourself"
                    )));
                }
                let edit = match change.new {
                    None => Edit::Remove,
                    Some(leaf) if leaf.mode == Mode::Blob => Edit::Put(leaf.id),
                    Some(_) => {
                        return Err(RunError::new(format!(
                            "{path} is no ordinary file; rebase it yourself"
                        )));
                    }
                };
                edits.insert(path, edit);
            }
            if edits.is_empty() {
                continue;
            }
            let tree = git::edit_tree(self.repo, &base, &edits)?;
            onto = git::recommit(self.repo, one.id, tree, onto, &commit.author, &commit.now)?;
        }
        Ok(onto)
    }
}

fn message(commit: &CommitOptions, report: &BuildReport) -> String {
    let mut text = match &commit.message {
        Some(message) => message.trim_end().to_owned(),
        None => format!(
            "Update the index of {}\n\n{} accepted, {} rejected.\n{}.",
            report.registry, report.counts.accepted, report.counts.rejected, report.outcome
        ),
    };
    if !commit.trailers.is_empty() {
        text.push_str("\n\n");
        text.push_str(&commit.trailers.join("\n"));
    }
    text.push('\n');
    text
}
