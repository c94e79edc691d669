//! What git keeps of a work tree's cartridges. A cartridge that git converts on its way in or out is judged in one form
//! and served in another.

use std::collections::BTreeMap;
use std::path::Path;

use gix::hash::ObjectId;
use gix::index::entry::Stage;

use super::RunError;
use crate::discover::is_cartridge;
use crate::git::Repo;
use crate::model::RegistryPath;

/// The blobs that git's index has of a registry's cartridges.
#[derive(Debug)]
pub struct Checkout {
    repo: Repo,
    blobs: BTreeMap<String, ObjectId>,
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
        let mut blobs = BTreeMap::new();
        for entry in index.entries() {
            let path = std::str::from_utf8(entry.path(&index))
                .ok()
                .and_then(|path| path.strip_prefix(&prefix))
                .and_then(|path| RegistryPath::try_from(path).ok());
            if let Some(path) = path.filter(|path| entry.stage() == Stage::Unconflicted && is_cartridge(path)) {
                blobs.insert(path.as_str().to_owned(), entry.id);
            }
        }
        Ok(Some(Self { repo, blobs }))
    }

    /// The repository.
    pub fn repo(&self) -> &Repo {
        &self.repo
    }

    /// Whether git's blob of a cartridge differs from these bytes of it, and by line ends alone.
    pub(super) fn converts(&self, path: &str, bytes: &[u8], most: u64) -> bool {
        let Some(id) = self.blobs.get(path) else {
            return false;
        };
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
