//! New objects, a commit of them, and a branch that moves only from where it was expected to be.

use std::collections::BTreeMap;

use gix::actor::Signature;
use gix::bstr::BStr;
use gix::hash::{ObjectId, oid};
use gix::objs::tree::EntryKind;
use gix::objs::{Commit, Tree};
use gix::refs::Target;
use gix::refs::transaction::{PreviousValue, RefEdit};

use super::{GitError, Repo};
use crate::model::Timestamp;

/// Who makes a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The name.
    pub name: String,
    /// The mail address.
    pub email: String,
}

/// What to do at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edit {
    /// A file of these bytes stands there.
    Put(ObjectId),
    /// Nothing does.
    Remove,
}

/// Stores a blob.
///
/// # Errors
/// When the file system fails.
pub fn write_blob(repo: &Repo, bytes: &[u8]) -> Result<ObjectId, GitError> {
    Ok(repo.local().write_blob(bytes)?.detach())
}

/// Stores the tree that comes of another by these edits, path by path.
///
/// # Errors
/// When a tree is missing or broken, or the file system fails.
pub fn edit_tree(
    repo: &Repo,
    base: &oid,
    edits: &BTreeMap<String, Edit>,
) -> Result<ObjectId, GitError> {
    let local = repo.local();
    let reader = repo.objects.reader();
    let bytes = reader.tree(base)?;
    let root: Tree = gix::objs::TreeRef::from_bytes(&bytes, base.kind())?.into();
    let mut editor = gix::objs::tree::Editor::new(root, &reader, base.kind());
    for (path, edit) in edits {
        let parts = path.split('/').map(<&BStr>::from);
        match edit {
            Edit::Put(id) => editor.upsert(parts, EntryKind::Blob, *id)?,
            Edit::Remove => editor.remove(parts)?,
        };
    }
    editor
        .write(|tree| local.write_object(tree).map(gix::Id::detach))
        .map_err(GitError::from)
}

/// Stores a commit; no reference is moved.
///
/// # Errors
/// When the file system fails.
pub fn commit(
    repo: &Repo,
    tree: ObjectId,
    parents: &[ObjectId],
    author: &Identity,
    message: &str,
    now: &Timestamp,
) -> Result<ObjectId, GitError> {
    let signature = signature(author, now);
    let commit = Commit {
        tree,
        parents: parents.iter().copied().collect(),
        author: signature.clone(),
        committer: signature,
        encoding: None,
        message: message.into(),
        extra_headers: Vec::new(),
    };
    Ok(repo.local().write_object(&commit)?.detach())
}

/// Stores a commit like another, with the same author and message, of another tree and onto another parent.
///
/// # Errors
/// When the other is missing or broken, or the file system fails.
pub fn recommit(
    repo: &Repo,
    like: ObjectId,
    tree: ObjectId,
    parent: ObjectId,
    committer: &Identity,
    now: &Timestamp,
) -> Result<ObjectId, GitError> {
    let bytes = repo.objects.with(|reader| reader.commit_bytes(&like))?;
    let other = gix::objs::CommitRef::from_bytes(&bytes, like.kind())?;
    let mut commit = Commit::try_from(other)?;
    commit.tree = tree;
    commit.parents = [parent].into_iter().collect();
    commit.committer = signature(committer, now);
    // A signature over the old commit does not hold for the new one.
    commit
        .extra_headers
        .retain(|(name, _)| name != "gpgsig" && name != "gpgsig-sha256");
    Ok(repo.local().write_object(&commit)?.detach())
}

fn signature(identity: &Identity, now: &Timestamp) -> Signature {
    Signature {
        name: identity.name.as_str().into(),
        email: identity.email.as_str().into(),
        time: gix::date::Time {
            seconds: now.unix().0,
            offset: 0,
        },
    }
}

/// Moves a branch (full name) from one commit to another. Where it is elsewhere by now, nothing happens: `false`.
///
/// # Errors
/// When the file system fails.
pub fn move_branch(
    repo: &Repo,
    name: &str,
    from: ObjectId,
    to: ObjectId,
    who: &Identity,
    now: &Timestamp,
    log: &str,
) -> Result<bool, GitError> {
    let local = repo.local();
    let full: gix::refs::FullName = name
        .try_into()
        .map_err(|e| GitError::new(format!("{name}: {e}")))?;
    let edit = RefEdit::update(
        full,
        to,
        PreviousValue::MustExistAndMatch(Target::Object(from)),
        log,
    );
    let signature = signature(who, now);
    let mut buffer = gix::date::parse::TimeBuf::default();
    match local.edit_references_as(Some(edit), Some(signature.to_ref(&mut buffer))) {
        Ok(_) => Ok(true),
        // Somebody was faster, or is moving it now; the caller looks again.
        Err(_) if repo.tip(name)? != Some(from) => Ok(false),
        Err(e) => Err(GitError::new(format!("{name}: {e}"))),
    }
}
