//! What git keeps of a work tree. It tells which files are unchanged without reading them, and which cartridges git
//! converts on their way in or out, so that they are judged in one form and served in another.

use std::path::Path;

use gix::bstr::ByteSlice as _;
use gix::hash::ObjectId;
use gix::index::entry::{Mode, Stat};

use super::RunError;
use crate::discover::{Oddity, OddityKind};
use crate::git::Repo;

/// A work tree's git index, and where the registry lies in it.
pub struct Checkout {
    repo: Repo,
    /// With a final slash unless it is the root.
    prefix: String,
    index: gix::index::File,
    stat: gix::index::entry::stat::Options,
}

impl std::fmt::Debug for Checkout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Checkout")
            .field("repo", &self.repo)
            .finish_non_exhaustive()
    }
}

impl Checkout {
    /// The checkout that a registry's folder lies in; `None` where it lies in none.
    ///
    /// # Errors
    /// When there is one and it cannot be read.
    pub fn of(root: &Path) -> Result<Option<Self>, RunError> {
        let Some(repo) = Repo::discover(root)? else {
            return Ok(None);
        };
        if repo.work_dir().is_none() {
            return Ok(None);
        }
        let mut prefix = repo.prefix(root)?;
        if !prefix.is_empty() {
            prefix.push('/');
        }
        let index = repo.index()?;
        let stat = repo.stat_options()?;
        Ok(Some(Self {
            repo,
            prefix,
            index,
            stat,
        }))
    }

    /// The submodules in the registry. In a work tree they look like folders, empty ones where nobody asked for them; the
    /// commit says what they are.
    pub(super) fn submodules(&self) -> impl Iterator<Item = Oddity> + '_ {
        let entries = self.index.entries().iter();
        entries
            .filter(|entry| entry.mode == Mode::COMMIT)
            .filter_map(|entry| {
                let path = entry.path(&self.index).to_str_lossy();
                Some(Oddity {
                    path: path.strip_prefix(&self.prefix)?.to_owned(),
                    kind: OddityKind::Submodule,
                })
            })
    }

    fn entry(&self, path: &str) -> Option<&gix::index::Entry> {
        let path = format!("{}{path}", self.prefix);
        self.index.entry_by_path(path.as_str().into())
    }

    /// The blob of a file that has not changed since git looked at it, and its size in bytes. A file that changed in the
    /// same moment in which git looked counts as changed.
    pub(super) fn unchanged(&self, path: &str, file: &Path) -> Option<(ObjectId, u64)> {
        let entry = self.entry(path)?;
        if !entry.mode.contains(Mode::FILE) {
            return None;
        }
        let found = gix::index::fs::Metadata::from_path_no_follow(file).ok()?;
        if !found.is_file() {
            return None;
        }
        let stat = Stat::from_fs(&found).ok()?;
        let same = entry.stat.matches(&stat, self.stat)
            && !entry.stat.is_racy(self.index.timestamp(), self.stat);
        same.then(|| (entry.id, found.len()))
    }

    /// The repository.
    pub fn repo(&self) -> &Repo {
        &self.repo
    }

    /// Whether git's blob of a cartridge differs from these bytes of it, and by line ends alone.
    pub(super) fn converts(&self, path: &str, bytes: &[u8], most: u64) -> bool {
        let Some(entry) = self.entry(path) else {
            return false;
        };
        let id = &entry.id;
        // A conversion that changes anything changes the length. A blob that is not here was never converted here.
        let objects = &self.repo.objects;
        match objects.size(id) {
            Ok(size) if size != bytes.len() as u64 => {}
            _ => return false,
        }
        objects
            .blob(id, most)
            .is_ok_and(|blob| unix_lines(&blob).eq(unix_lines(bytes)))
    }
}

/// The bytes with each CR LF as LF.
fn unix_lines(bytes: &[u8]) -> impl Iterator<Item = u8> + '_ {
    let mut rest = bytes.iter().copied().peekable();
    std::iter::from_fn(move || {
        let byte = rest.next()?;
        if byte == b'\r' && rest.peek() == Some(&b'\n') {
            return rest.next();
        }
        Some(byte)
    })
}
