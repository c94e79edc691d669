//! What a range of commits does to what was published before it. A published artifact stays as it is, in every commit
//! and at the end; only what the ledger of before calls withdrawn may go. Renames are not looked for: a moved file is
//! one that is gone, and another.

use std::collections::BTreeMap;
use std::sync::Arc;

use gix::hash::ObjectId;

use super::join::is_withdrawn;
use crate::git::{self, Bounds, Change, GitError, Mode, NewCommit, Objects};
use crate::model::{Coordinate, RegistryPath};
use crate::policy::StatusLedger;

/// What happened to a published path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wrong {
    /// The rule's code.
    pub code: &'static str,
    /// What happened, and where.
    pub message: String,
}

/// A range of commits over a registry.
pub(super) struct Range<'a> {
    /// The objects.
    pub objects: &'a Arc<Objects>,
    /// The registry's place in the repository.
    pub prefix: &'a str,
    /// The commit whose paths are published; none for a first push.
    pub base: Option<ObjectId>,
    /// The commit that the end is compared with, where it is not what it grew from.
    pub from: Option<ObjectId>,
    /// The commit at the end.
    pub head: ObjectId,
    /// The commits that are new.
    pub commits: &'a [NewCommit],
}

/// The registry's tree in a commit; `None` where it has none.
pub(super) fn root(
    objects: &Objects,
    tree: &gix::hash::oid,
    prefix: &str,
) -> Result<Option<ObjectId>, GitError> {
    Ok(git::lookup(objects, tree, prefix)?
        .filter(|leaf| leaf.mode == Mode::Tree)
        .map(|leaf| leaf.id))
}

impl Range<'_> {
    fn root_of(&self, commit: Option<ObjectId>) -> Result<Option<ObjectId>, GitError> {
        let Some(commit) = commit else {
            return Ok(None);
        };
        root(self.objects, &self.objects.tree_of(&commit)?, self.prefix)
    }

    /// The registry's tree in the base.
    pub(super) fn base_root(&self) -> Result<Option<ObjectId>, GitError> {
        self.root_of(self.base)
    }

    /// Everything that the end has and the commit it is compared with has not, and the other way round.
    pub(super) fn changes(&self, bounds: &mut Bounds<'_>) -> Result<Vec<Change>, GitError> {
        let (from, to) = (self.root_of(self.from)?, self.root_of(Some(self.head))?);
        git::diff(self.objects, from.as_deref(), to.as_deref(), bounds)
    }

    /// The changes of each new commit against each of its parents.
    pub(super) fn each_change(
        &self,
        bounds: &mut Bounds<'_>,
        mut visit: impl FnMut(&NewCommit, &Change) -> Result<(), GitError>,
    ) -> Result<(), GitError> {
        for commit in self.commits {
            let to = root(self.objects, &commit.tree, self.prefix)?;
            let parents: Vec<Option<ObjectId>> = if commit.parents.is_empty() {
                vec![None]
            } else {
                commit.parents.iter().copied().map(Some).collect()
            };
            for parent in parents {
                let from = self.root_of(parent)?;
                for change in git::diff(self.objects, from.as_deref(), to.as_deref(), bounds)? {
                    visit(commit, &change)?;
                }
            }
        }
        Ok(())
    }

    /// The published paths that the range changes or removes, with what it does to them.
    pub(super) fn wrongs(
        &self,
        ledger: &StatusLedger,
        bounds: &mut Bounds<'_>,
    ) -> Result<BTreeMap<String, Wrong>, GitError> {
        let mut wrongs = BTreeMap::new();
        let Some(published) = self.base_root()? else {
            return Ok(wrongs);
        };
        for change in self.changes(bounds)? {
            self.weigh(&published, ledger, None, &change, &mut wrongs)?;
        }
        self.each_change(bounds, |commit, change| {
            self.weigh(&published, ledger, Some(commit.id), change, &mut wrongs)
        })?;
        Ok(wrongs)
    }

    /// Enters what a change does to the published path it is of, if it is of one.
    pub(super) fn weigh(
        &self,
        published: &gix::hash::oid,
        ledger: &StatusLedger,
        commit: Option<ObjectId>,
        change: &Change,
        wrongs: &mut BTreeMap<String, Wrong>,
    ) -> Result<(), GitError> {
        let Some(path) = artifact_path(&change.path) else {
            return Ok(());
        };
        let Some(before) = git::lookup(self.objects, published, path.as_str())? else {
            return Ok(());
        };
        if change.new == Some(before)
            || (change.new.is_none() && is_withdrawn(ledger, path.as_str()))
        {
            return Ok(());
        }
        let place = commit.map_or_else(
            || "at the end of the range".to_owned(),
            |id| format!("in the commit {}", id.to_hex_with_len(12)),
        );
        let wrong = match change.new {
            None => Wrong {
                code: "history-removed",
                message: format!(
                    "expected the published file (blob {}), found none {place}",
                    before.id.to_hex_with_len(12)
                ),
            },
            Some(now) => Wrong {
                code: "history-changed",
                message: format!(
                    "expected the published file (blob {}), found blob {} {place}",
                    before.id.to_hex_with_len(12),
                    now.id.to_hex_with_len(12)
                ),
            },
        };
        wrongs.entry(path.as_str().to_owned()).or_insert(wrong);
        Ok(())
    }
}

/// The path of an artifact where one is published; `None` for everything else.
pub(super) fn artifact_path(path: &[u8]) -> Option<RegistryPath> {
    let path = RegistryPath::try_from(std::str::from_utf8(path).ok()?).ok()?;
    Coordinate::of_path(&path).ok().map(|_| path)
}
