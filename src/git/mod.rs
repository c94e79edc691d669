//! The git repository that a registry lies in: its objects, its history, its branches, and commits of our own.
//!
//! Everything is read through gix, which executes nothing that the repository's configuration names. Only [`program`]
//! runs git itself, to move a work tree and to push.

mod history;
pub mod hooks;
mod objects;
pub mod program;
mod tree;
mod write;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use gix::bstr::ByteSlice as _;
use gix::config::source::Kind;
use gix::hash::{Kind as HashKind, ObjectId};
use gix::sec::Trust;

pub use history::{NewCommit, between, is_ancestor, merge_base};
pub use objects::{BlobError, CommitParts, Objects, Reader};
pub use tree::{
    Bounds, Change, Leaf, MOST_ENTRIES, Mode, TreeEntry, diff, entries, lookup, unbounded, walk,
};
pub use write::{Edit, Identity, commit, edit_tree, move_branch, recommit, write_blob};

/// Git could not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitError {
    /// What went wrong.
    pub message: String,
    /// The time was up before it was done.
    pub expired: bool,
}

impl GitError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            expired: false,
        }
    }

    pub(crate) fn expired() -> Self {
        Self {
            message: "the time was up".to_owned(),
            expired: true,
        }
    }
}

impl std::fmt::Display for GitError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for GitError {}

impl From<gix::Error> for GitError {
    fn from(error: gix::Error) -> Self {
        Self::new(error.to_string())
    }
}

/// What git's environment says of where objects are; see `git help git`.
#[derive(Debug, Clone, Default)]
pub struct ObjectFolders {
    /// `GIT_OBJECT_DIRECTORY`: during a push, the quarantine.
    pub first: Option<PathBuf>,
    /// `GIT_ALTERNATE_OBJECT_DIRECTORIES`, split.
    pub others: Vec<PathBuf>,
}

/// A repository.
#[derive(Debug)]
pub struct Repo {
    inner: gix::ThreadSafeRepository,
    /// Its objects.
    pub objects: Arc<Objects>,
}

impl Repo {
    /// Opens the repository whose work tree or git folder this is.
    ///
    /// # Errors
    /// When it is none, or cannot be read.
    pub fn open(at: &Path, folders: &ObjectFolders) -> Result<Self, GitError> {
        // Ownership decides what git would run for its configuration; nothing is run here.
        // And what a reference leads to is what is there: a push may bring `refs/replace`.
        let options = gix::open::Options::default()
            .with(Trust::Full)
            .config_overrides(["core.useReplaceRefs=false"]);
        // Git runs hooks in the git folder and calls it `.`, and only its whole name tells what it is.
        let whole =
            std::path::absolute(at).map_err(|e| GitError::new(format!("{}: {e}", at.display())))?;
        let inner = gix::ThreadSafeRepository::open_opts(whole, options)
            .map_err(|e| GitError::new(format!("{}: {e}", at.display())))?;
        let local = inner.to_thread_local();
        let own = local.common_dir().join("objects");
        let mut stores: Vec<PathBuf> = Vec::new();
        for folder in folders.first.iter().chain([&own]).chain(&folders.others) {
            // A folder that is named and not there holds nothing: git passes over it as well.
            if folder.is_dir() && !stores.contains(folder) {
                stores.push(folder.clone());
            }
        }
        let objects = Arc::new(Objects::open(&stores, local.object_hash())?);
        Ok(Self { inner, objects })
    }

    /// The repository that a folder lies in, if it lies in one.
    ///
    /// # Errors
    /// When there is one and it cannot be read.
    pub fn discover(folder: &Path) -> Result<Option<Self>, GitError> {
        let absolute = std::path::absolute(folder)
            .map_err(|e| GitError::new(format!("{}: {e}", folder.display())))?;
        for place in absolute.ancestors() {
            if place.join(".git").symlink_metadata().is_ok() || is_git_folder(place) {
                return Self::open(place, &ObjectFolders::default()).map(Some);
            }
        }
        Ok(None)
    }

    fn local(&self) -> gix::Repository {
        self.inner.to_thread_local()
    }

    /// The hash that names objects.
    pub fn hash_kind(&self) -> HashKind {
        self.objects.kind()
    }

    /// This work tree's own git folder.
    pub fn git_dir(&self) -> PathBuf {
        self.local().git_dir().to_path_buf()
    }

    /// The git folder that all work trees share.
    pub fn common_dir(&self) -> PathBuf {
        self.local().common_dir().to_path_buf()
    }

    /// The root of the work tree; `None` in a bare repository.
    pub fn work_dir(&self) -> Option<PathBuf> {
        self.local().workdir().map(Path::to_path_buf)
    }

    /// Where a folder of the work tree stands in the repository: `""` for its root, else `a/b`.
    ///
    /// # Errors
    /// When it is not in the work tree.
    pub fn prefix(&self, folder: &Path) -> Result<String, GitError> {
        let fails = |e: std::io::Error| GitError::new(format!("{}: {e}", folder.display()));
        let folder = folder.canonicalize().map_err(fails)?;
        let root = self
            .work_dir()
            .ok_or_else(|| GitError::new("a bare repository has no work tree"))?
            .canonicalize()
            .map_err(fails)?;
        let below = folder.strip_prefix(&root).map_err(|_| {
            GitError::new(format!(
                "{} is not in the work tree {}",
                folder.display(),
                root.display()
            ))
        })?;
        below
            .to_str()
            .map(|text| text.replace('\\', "/"))
            .ok_or_else(|| GitError::new(format!("{}: not a Unicode path", folder.display())))
    }

    /// The commit that a revision names.
    ///
    /// # Errors
    /// When there is none of that name, or it is no commit.
    pub fn resolve(&self, revision: &str) -> Result<ObjectId, GitError> {
        let local = self.local();
        let id = local
            .rev_parse_single(revision.as_bytes().as_bstr())
            .map_err(|e| {
                GitError::new(format!(
                    "the revision {:?} is not known here: {e}",
                    crate::model::shorten(revision)
                ))
            })?
            .detach();
        self.objects.peel(&id)?.ok_or_else(|| {
            GitError::new(format!(
                "the revision {:?} is no commit",
                crate::model::shorten(revision)
            ))
        })
    }

    /// The commit that a reference of this full name points at; `None` where there is no such reference.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn tip(&self, name: &str) -> Result<Option<ObjectId>, GitError> {
        let local = self.local();
        let found = local
            .try_find_reference(name)
            .map_err(|e| GitError::new(format!("{name}: {e}")))?;
        let Some(mut found) = found else {
            return Ok(None);
        };
        let id = found
            .peel_to_id()
            .map_err(|e| GitError::new(format!("{name}: {e}")))?
            .detach();
        self.objects.peel(&id)
    }

    /// The commit of `HEAD`; `None` before the first commit.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn head(&self) -> Result<Option<ObjectId>, GitError> {
        let local = self.local();
        let head = local.head()?;
        Ok(head.id().map(gix::Id::detach))
    }

    /// The full name of the branch that `HEAD` names, whether or not it has a commit; `None` where `HEAD` is detached.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn head_branch(&self) -> Result<Option<String>, GitError> {
        let local = self.local();
        Ok(local
            .head()?
            .referent_name()
            .map(|name| name.as_bstr().to_string()))
    }

    /// The full names of all branches.
    ///
    /// # Errors
    /// When they cannot be listed.
    pub fn branches(&self) -> Result<Vec<String>, GitError> {
        let local = self.local();
        let platform = local.references()?;
        let mut names = Vec::new();
        for reference in platform.local_branches()? {
            names.push(reference?.name().as_bstr().to_string());
        }
        names.sort();
        Ok(names)
    }

    /// A yes-or-no setting of the git configuration's files; `None` where it is not set. What the environment sets does
    /// not count: files belong to who keeps the server.
    ///
    /// # Errors
    /// When it is neither yes nor no.
    pub fn setting(&self, key: &str) -> Result<Option<bool>, GitError> {
        let local = self.local();
        let snapshot = local.config_snapshot();
        let in_file = |meta: &gix::config::file::Metadata| meta.source.kind() != Kind::Override;
        snapshot
            .plumbing()
            .boolean_filter(key, in_file)
            .map_err(|e| GitError::new(format!("the git configuration's {key}: {e}")))
    }

    /// A text of the git configuration; `None` where it is not set.
    pub fn text_setting(&self, key: &str) -> Option<String> {
        let value = self.local().config_snapshot().string(key)?;
        Some(value.to_str_lossy().into_owned())
    }

    /// Name and mail address that git would commit as, where the configuration says.
    pub fn identity(&self) -> Option<Identity> {
        let local = self.local();
        let signature = local.committer()?.ok()?;
        Some(Identity {
            name: signature.name.to_str_lossy().into_owned(),
            email: signature.email.to_str_lossy().into_owned(),
        })
    }

    /// Whether the repository holds only the newest part of its history.
    pub fn is_shallow(&self) -> bool {
        self.local().is_shallow().unwrap_or(true)
    }

    /// Git's index of the work tree.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn index(&self) -> Result<gix::index::File, GitError> {
        let local = self.local();
        // Not gix's shared copy, which would stay in memory beside this one.
        let path = local.index_path();
        let mut index = match path.symlink_metadata() {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                let empty = gix::index::State::new(local.object_hash());
                gix::index::File::from_state(empty, path)
            }
            _ => local.open_index()?,
        };
        index.remove_tree();
        Ok(index)
    }

    /// How git compares the times and sizes of files with those that its index knows.
    ///
    /// # Errors
    /// When the configuration cannot be read.
    pub fn stat_options(&self) -> Result<gix::index::entry::stat::Options, GitError> {
        Ok(self.local().stat_options()?)
    }

    /// The id that a blob of these bytes has.
    ///
    /// # Errors
    /// Where the hash finds the bytes to be a collision attack.
    pub fn blob_id(&self, bytes: &[u8]) -> Result<ObjectId, GitError> {
        blob_id(self.hash_kind(), bytes)
    }
}

/// The id that a blob of these bytes has.
///
/// # Errors
/// Where the hash finds the bytes to be a collision attack.
pub fn blob_id(kind: HashKind, bytes: &[u8]) -> Result<ObjectId, GitError> {
    gix::objs::compute_hash(kind, gix::objs::Kind::Blob, bytes)
        .map_err(|e| GitError::new(e.to_string()))
}

/// Reads an object id of this repository's kind; `None` for the id of nothing, which is all zeros.
///
/// # Errors
/// When the text is none.
pub fn parse_id(kind: HashKind, text: &str) -> Result<Option<ObjectId>, GitError> {
    let id = ObjectId::from_hex(text.as_bytes())
        .ok()
        .filter(|id| id.kind() == kind)
        .ok_or_else(|| {
            GitError::new(format!(
                "expected an object id of {} hexadecimal digits, found {:?}",
                kind.len_in_hex(),
                crate::model::shorten(text)
            ))
        })?;
    Ok((!id.is_null()).then_some(id))
}

/// Whether this is a git folder itself, as a bare repository is.
fn is_git_folder(place: &Path) -> bool {
    ["objects", "refs"]
        .iter()
        .all(|name| place.join(name).is_dir())
        && place.join("HEAD").symlink_metadata().is_ok()
}
