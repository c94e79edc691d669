//! Which commits a push or a branch brings, and where it left.

use gix::hash::{ObjectId, oid};
use gix::revision::plumbing as revision;
use gix::traverse::commit::Simple;

use super::GitError;
use super::objects::Objects;
use super::tree::Bounds;

/// A commit that is new.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCommit {
    /// Its id.
    pub id: ObjectId,
    /// Its tree.
    pub tree: ObjectId,
    /// Its parents.
    pub parents: Vec<ObjectId>,
}

/// The commits that `tip` leads to and none of `hidden` does, the newest first.
///
/// # Errors
/// When a commit is missing or broken, or the bounds are exhausted.
pub fn between(
    objects: &Objects,
    tip: &oid,
    hidden: &[ObjectId],
    bounds: &mut Bounds<'_>,
) -> Result<Vec<NewCommit>, GitError> {
    let walk = Simple::new([tip.to_owned()], objects.reader())
        .hide(hidden.iter().copied())
        .map_err(|e| GitError::new(e.to_string()))?;
    let mut found = Vec::new();
    for commit in walk {
        bounds.step()?;
        let id = commit.map_err(|e| GitError::new(e.to_string()))?.id;
        let parts = objects.with(|reader| reader.commit(&id))?;
        found.push(NewCommit {
            id,
            tree: parts.tree,
            parents: parts.parents,
        });
    }
    Ok(found)
}

/// The best common ancestor of a commit and any of the others; `None` where they share no history.
///
/// # Errors
/// When a commit is missing or broken.
pub fn merge_base(
    objects: &Objects,
    commit: &oid,
    others: &[ObjectId],
) -> Result<Option<ObjectId>, GitError> {
    if others.is_empty() {
        return Ok(None);
    }
    let mut graph = revision::Graph::new(objects.reader(), None);
    let bases = revision::merge_base(commit.to_owned(), others, &mut graph)
        .map_err(|e| GitError::new(e.to_string()))?;
    Ok(bases.map(|bases| bases.head))
}

/// Whether a commit is the other, or comes before it.
///
/// # Errors
/// As [`merge_base`].
pub fn is_ancestor(objects: &Objects, commit: &oid, of: &oid) -> Result<bool, GitError> {
    Ok(merge_base(objects, of, &[commit.to_owned()])? == Some(commit.to_owned()))
}
