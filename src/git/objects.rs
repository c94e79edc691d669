//! Git's objects, from several stores behind one look-up.
//!
//! During a push, git keeps what arrives in a quarantine store beside the repository's own, and names both in the
//! environment. So a store here is a chain of folders: an object is looked for in each, in order. `refs/replace` is
//! not honoured: what a push names is what is judged. Content is hashed again when it is read, so that an object is
//! what its name says even where nobody ran `git fsck`.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use gix::hash::{Kind as HashKind, ObjectId, oid};
use gix::objs::{Data, Find, Kind};
use gix::odb::store::init::{Options, Slots};
use gix::odb::{HandleArc, Store};

use super::GitError;
use super::tree::TreeEntry;

/// Bytes that one object may take in memory, whatever its header claims. Trees and commits are far smaller.
const MOST_BYTES: usize = 1 << 30;
/// Bytes of a tree or a commit.
const MOST_STRUCTURE: u64 = 64 << 20;

/// The chain of stores, shared by all threads.
pub struct Objects {
    stores: Vec<Arc<Store>>,
    kind: HashKind,
    /// Readers that no thread is using.
    idle: Mutex<Vec<Reader>>,
}

impl std::fmt::Debug for Objects {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.stores.iter().map(|s| s.path()))
            .finish()
    }
}

/// A blob that was not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlobError {
    /// It has more bytes than are accepted; how many it has.
    TooLarge(u64),
    /// It is missing, of another kind, or broken.
    Failed(GitError),
}

/// One thread's view of the chain.
pub struct Reader {
    handles: Vec<HandleArc>,
    kind: HashKind,
    /// The trees that were looked into last, since the same few are on the way to everything.
    trees: RefCell<BTreeMap<ObjectId, Arc<Vec<TreeEntry>>>>,
}

/// Trees that a reader remembers.
const REMEMBERED: usize = 32;

impl Objects {
    /// Opens these object folders, the first being looked at first. What their `info/alternates` name belongs to them.
    ///
    /// # Errors
    /// A folder that is not there, or cannot be listed.
    pub fn open(folders: &[PathBuf], kind: HashKind) -> Result<Self, GitError> {
        let mut stores = Vec::with_capacity(folders.len());
        for folder in folders {
            let options = Options {
                slots: Slots::default(),
                use_multi_pack_index: true,
                alloc_limit_bytes: Some(MOST_BYTES),
                ..Options::default()
            };
            let store = Store::at_opts(folder.clone(), kind, &mut std::iter::empty(), options)
                .map_err(|e| GitError::new(format!("{}: {e}", folder.display())))?;
            stores.push(Arc::new(store));
        }
        Ok(Self {
            stores,
            kind,
            idle: Mutex::new(Vec::new()),
        })
    }

    /// The hash that names objects.
    pub fn kind(&self) -> HashKind {
        self.kind
    }

    /// Does something with a reader that no other thread has.
    pub fn with<T>(&self, work: impl FnOnce(&Reader) -> T) -> T {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let reader = idle().pop().unwrap_or_else(|| self.reader());
        let result = work(&reader);
        idle().push(reader);
        result
    }

    /// A reader of one's own.
    pub fn reader(&self) -> Reader {
        Reader {
            handles: self.stores.iter().map(|s| s.to_cache_arc()).collect(),
            kind: self.kind,
            trees: RefCell::default(),
        }
    }

    /// The bytes of a blob of at most `most` bytes.
    ///
    /// # Errors
    /// [`BlobError`].
    pub fn blob(&self, id: &oid, most: u64) -> Result<Vec<u8>, BlobError> {
        self.with(|reader| {
            let size = reader.size(id).map_err(BlobError::Failed)?;
            if size > most {
                return Err(BlobError::TooLarge(size));
            }
            reader.read(id, Kind::Blob).map_err(BlobError::Failed)
        })
    }

    /// The size of an object in bytes.
    ///
    /// # Errors
    /// When it is missing or broken.
    pub fn size(&self, id: &oid) -> Result<u64, GitError> {
        self.with(|reader| reader.size(id))
    }

    /// The tree of a commit.
    ///
    /// # Errors
    /// When the commit is missing or broken.
    pub fn tree_of(&self, commit: &oid) -> Result<ObjectId, GitError> {
        self.with(|reader| Ok(reader.commit(commit)?.tree))
    }

    /// The commit that an object leads to: itself, or what an annotated tag names. `None` where that is no commit.
    ///
    /// # Errors
    /// When an object is missing or broken.
    pub fn peel(&self, id: &oid) -> Result<Option<ObjectId>, GitError> {
        // Tags of tags are legal; nobody needs many.
        const DEEPEST: usize = 16;
        self.with(|reader| {
            let mut id = id.to_owned();
            for _ in 0..DEEPEST {
                let Some((kind, _)) = reader.header(&id)? else {
                    return Err(missing(&id));
                };
                match kind {
                    Kind::Commit => return Ok(Some(id)),
                    Kind::Tag => {
                        let bytes = reader.read(&id, Kind::Tag)?;
                        let tag = gix::objs::TagRef::from_bytes(&bytes, self.kind)
                            .map_err(|e| broken(&id, &e.to_string()))?;
                        id = tag.target();
                    }
                    _ => return Ok(None),
                }
            }
            Err(broken(&id, "tags of tags, too deep"))
        })
    }
}

/// The parts of a commit that count here.
#[derive(Debug, Clone)]
pub struct CommitParts {
    /// Its tree.
    pub tree: ObjectId,
    /// Its parents.
    pub parents: Vec<ObjectId>,
}

impl Reader {
    fn header(&self, id: &oid) -> Result<Option<(Kind, u64)>, GitError> {
        for handle in &self.handles {
            match gix::odb::Header::try_header(handle, id) {
                Ok(Some(header)) => return Ok(Some((header.kind(), header.size()))),
                Ok(None) => {}
                Err(e) => return Err(broken(id, &e.to_string())),
            }
        }
        Ok(None)
    }

    fn size(&self, id: &oid) -> Result<u64, GitError> {
        self.header(id)?
            .map(|(_, size)| size)
            .ok_or_else(|| missing(id))
    }

    /// The bytes of an object, which hash to its name.
    fn read(&self, id: &oid, kind: Kind) -> Result<Vec<u8>, GitError> {
        let mut buffer = Vec::new();
        let data = self
            .try_find(id, &mut buffer)
            .map_err(|e| broken(id, &e.to_string()))?
            .ok_or_else(|| missing(id))?;
        if data.kind != kind {
            return Err(broken(
                id,
                &format!("expected a {kind}, found a {}", data.kind),
            ));
        }
        data.verify_checksum(id)
            .map_err(|e| broken(id, &format!("its content has another hash: {e}")))?;
        let length = data.data.len();
        buffer.truncate(length);
        Ok(buffer)
    }

    /// The bytes of a tree.
    ///
    /// # Errors
    /// When it is missing, broken or unreasonably large.
    pub fn tree(&self, id: &oid) -> Result<Vec<u8>, GitError> {
        if id == ObjectId::empty_tree(self.kind) {
            return Ok(Vec::new());
        }
        self.bounded(id)?;
        self.read(id, Kind::Tree)
    }

    /// The entries of a tree, remembered for the next look.
    pub(super) fn remembered(
        &self,
        id: &oid,
        read: impl FnOnce() -> Result<Vec<TreeEntry>, GitError>,
    ) -> Result<Arc<Vec<TreeEntry>>, GitError> {
        if let Some(found) = self.trees.borrow().get(id) {
            return Ok(Arc::clone(found));
        }
        let found = Arc::new(read()?);
        let mut trees = self.trees.borrow_mut();
        if trees.len() >= REMEMBERED {
            trees.clear();
        }
        trees.insert(id.to_owned(), Arc::clone(&found));
        Ok(found)
    }

    /// A commit.
    ///
    /// # Errors
    /// When it is missing, broken or unreasonably large.
    pub fn commit(&self, id: &oid) -> Result<CommitParts, GitError> {
        let bytes = self.commit_bytes(id)?;
        let commit = gix::objs::CommitRef::from_bytes(&bytes, self.kind)
            .map_err(|e| broken(id, &e.to_string()))?;
        Ok(CommitParts {
            tree: commit.tree(),
            parents: commit.parents().collect(),
        })
    }

    /// The bytes of a commit.
    ///
    /// # Errors
    /// When it is missing, broken or unreasonably large.
    pub fn commit_bytes(&self, id: &oid) -> Result<Vec<u8>, GitError> {
        self.bounded(id)?;
        self.read(id, Kind::Commit)
    }

    fn bounded(&self, id: &oid) -> Result<(), GitError> {
        match self.size(id)? {
            size if size <= MOST_STRUCTURE => Ok(()),
            size => Err(broken(
                id,
                &format!("{size} bytes, at most {MOST_STRUCTURE} are accepted"),
            )),
        }
    }
}

impl Find for Reader {
    fn try_find<'a>(
        &self,
        id: &oid,
        buffer: &'a mut Vec<u8>,
    ) -> gix::error::Result<Option<Data<'a>>> {
        for handle in &self.handles {
            // Looked up twice, for the borrow checker's sake: it does not see that a miss gives the buffer back.
            if gix::odb::Header::try_header(handle, id)?.is_some() {
                return Find::try_find(handle, id, buffer);
            }
        }
        Ok(None)
    }
}

fn missing(id: &oid) -> GitError {
    GitError::new(format!("the object {id} is missing"))
}

fn broken(id: &oid, why: &str) -> GitError {
    GitError::new(format!("the object {id} cannot be read: {why}"))
}
