//! Where a registry's files are read from: a folder of the disk, or the tree of a commit. The same bytes give the same
//! verdict from either.

use std::io::{BufRead, BufReader, Cursor, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gix::hash::ObjectId;

use crate::discover::{self, At, Entry, Tree, WalkError};
use crate::disk::{self, ReadError};
use crate::git::{self, BlobError, Bounds, GitError, Mode, Objects, unbounded};

/// A registry's files.
#[derive(Debug, Clone)]
pub enum Source {
    /// In a folder.
    Folder(PathBuf),
    /// In a tree of a git repository.
    Tree {
        /// The repository's objects.
        objects: Arc<Objects>,
        /// The registry's root.
        root: ObjectId,
    },
}

impl Source {
    /// What a commit has at `prefix`; the tree of nothing where it has no folder there.
    ///
    /// # Errors
    /// When a tree is missing or broken.
    pub fn of_commit(
        objects: &Arc<Objects>,
        commit: &gix::hash::oid,
        prefix: &str,
    ) -> Result<Self, GitError> {
        let root = objects.tree_of(commit)?;
        let found = git::lookup(objects, &root, prefix)?;
        let root = found
            .filter(|leaf| leaf.mode == Mode::Tree)
            .map_or_else(|| ObjectId::empty_tree(objects.kind()), |leaf| leaf.id);
        Ok(Self::Tree {
            objects: Arc::clone(objects),
            root,
        })
    }

    /// Everything that stands there.
    ///
    /// # Errors
    /// Where a folder cannot be listed: a part of a tree is never taken for the whole.
    pub fn list(&self) -> Result<Tree, WalkError> {
        match self {
            Self::Folder(root) => discover::walk(root),
            Self::Tree { objects, root } => {
                let mut bounds = Bounds::new(&unbounded);
                discover::list(objects, root, &mut bounds).map_err(|e| WalkError {
                    path: PathBuf::from(root.to_string()),
                    message: e.message,
                })
            }
        }
    }

    /// Reads a file of at most `most` bytes.
    ///
    /// # Errors
    /// [`ReadError`].
    pub fn read(&self, entry: &Entry, most: u64) -> Result<Vec<u8>, ReadError> {
        match (&entry.at, self) {
            (At::File(file), _) => disk::read(file, most),
            (At::Blob(id), Self::Tree { objects, .. }) => blob(objects, id, most),
            (At::Blob(id), Self::Folder(_)) => Err(failed(&format!("{id} is in no folder"))),
        }
    }

    /// As [`Source::named`], of a file at the root that is read piece by piece, as far as it lies on the disk.
    ///
    /// # Errors
    /// [`ReadError`].
    pub fn reader(&self, name: &str, most: u64) -> Result<Box<dyn BufRead>, ReadError> {
        match self {
            Self::Folder(root) => {
                let file = disk::open(&join(root, name))?.take(most);
                Ok(Box::new(BufReader::with_capacity(64 << 10, file)))
            }
            Self::Tree { .. } => Ok(Box::new(Cursor::new(self.named(name, most)?))),
        }
    }

    /// Reads the file of this path, of at most `most` bytes. No folder on the way may be a link.
    ///
    /// # Errors
    /// [`ReadError`].
    pub fn named(&self, path: &str, most: u64) -> Result<Vec<u8>, ReadError> {
        match self {
            Self::Folder(root) => {
                let mut folder = root.clone();
                let (above, _) = path.rsplit_once('/').unwrap_or_default();
                for part in above.split('/').filter(|part| !part.is_empty()) {
                    folder.push(part);
                    if !folder.symlink_metadata().map_err(ReadError::Io)?.is_dir() {
                        return Err(ReadError::NotAFile);
                    }
                }
                disk::read(&join(root, path), most)
            }
            Self::Tree { objects, root } => match git::lookup(objects, root, path) {
                Ok(Some(leaf)) if leaf.mode == Mode::Blob => blob(objects, &leaf.id, most),
                Ok(Some(_)) => Err(ReadError::NotAFile),
                Ok(None) => Err(ReadError::Io(std::io::ErrorKind::NotFound.into())),
                Err(e) => Err(failed(&e.message)),
            },
        }
    }
}

/// The place of a `/`-separated path below a folder.
pub fn join(root: &Path, path: &str) -> PathBuf {
    let mut at = root.to_path_buf();
    at.extend(path.split('/'));
    at
}

fn blob(objects: &Objects, id: &gix::hash::oid, most: u64) -> Result<Vec<u8>, ReadError> {
    objects.blob(id, most).map_err(|e| match e {
        BlobError::TooLarge(bytes) => ReadError::TooLarge(bytes),
        BlobError::Failed(e) => failed(&e.message),
    })
}

fn failed(message: &str) -> ReadError {
    ReadError::Io(std::io::Error::other(message.to_owned()))
}
