//! Where a build's results go: into the registry's folder, or into new objects of a git repository, from which a
//! commit is made.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use gix::hash::ObjectId;

use super::RunError;
use super::cache::KeptFile;
use super::checkout::Checkout;
use super::publish::make_folders;
use crate::discover::{At, Entry, INDEX, Tree};
use crate::disk;
use crate::git::{self, Edit, Mode, Repo};
use crate::lance::{self, Dataset};
use crate::source::join;

/// Where results go, and what stands there already.
pub enum Output<'a> {
    /// A registry's folder.
    Folder(PathBuf),
    /// A commit to be.
    Commit(Staged<'a>),
}

/// A dataset that was written and is not in its place yet. Dropped, it is gone, or what git collects as garbage.
pub(super) enum Prepared {
    /// A folder beside its place, and that place's path.
    Folder(String, lance::Ready),
    /// Its place's path; its files and their blobs.
    Blobs(String, Vec<(String, ObjectId)>),
}

/// The edits that make the next commit of a registry's generated files.
pub struct Staged<'a> {
    repo: &'a Repo,
    /// The registry's place in the repository, with a final slash unless it is the root.
    prefix: String,
    /// The trees of the datasets that the judged commit has, by path in the registry.
    datasets: BTreeMap<String, ObjectId>,
    /// The shards that the judged commit has, by path in the registry.
    shards: BTreeMap<String, ObjectId>,
    edits: Mutex<BTreeMap<String, Edit>>,
}

impl<'a> Staged<'a> {
    /// Nothing is staged yet.
    pub fn new(repo: &'a Repo, prefix: &str) -> Self {
        Self {
            repo,
            prefix: if prefix.is_empty() {
                String::new()
            } else {
                format!("{prefix}/")
            },
            datasets: BTreeMap::new(),
            shards: BTreeMap::new(),
            edits: Mutex::new(BTreeMap::new()),
        }
    }

    /// The edits, by path in the repository.
    pub fn into_edits(self) -> BTreeMap<String, Edit> {
        self.edits
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, path: &str, bytes: &[u8]) -> Result<(), RunError> {
        let id = git::write_blob(self.repo, bytes).map_err(|e| fails(path, &e))?;
        self.edit(path, Edit::Put(id));
        Ok(())
    }

    fn edit(&self, path: &str, edit: Edit) {
        self.edits
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(format!("{}{path}", self.prefix), edit);
    }

    /// The files of a dataset in the judged commit: path relative to it, and blob.
    fn files(&self, path: &str) -> Result<Vec<(String, ObjectId)>, RunError> {
        let Some(tree) = self.datasets.get(path) else {
            return Ok(Vec::new());
        };
        let mut files = Vec::new();
        let mut bounds = git::Bounds::new(&git::unbounded);
        git::walk(&self.repo.objects, tree, &mut bounds, |path, leaf| {
            if leaf.mode != Mode::Tree {
                files.push((String::from_utf8_lossy(path).into_owned(), leaf.id));
            }
            Ok(true)
        })
        .map_err(|e| fails(path, &e))?;
        files.sort();
        Ok(files)
    }

    fn has(&self, path: &str, dataset: &Dataset) -> Result<bool, RunError> {
        let files = self.files(path)?;
        if files.len() != dataset.files.len() {
            return Ok(false);
        }
        for ((found, id), (expected, bytes)) in files.iter().zip(&dataset.files) {
            let hash = self.repo.blob_id(bytes).map_err(|e| fails(path, &e))?;
            if found != expected || *id != hash {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn fails(path: &str, error: &dyn std::fmt::Display) -> RunError {
    RunError::new(format!("{path}: cannot be written: {error}"))
}

impl Output<'_> {
    /// What a listing of the place where the results go has: datasets and shards there, and what killed builds left. The source's
    /// own listing where the results go beside the cartridges.
    pub(super) fn look(&mut self, listed: &Tree) {
        if let Self::Commit(staged) = self {
            staged.datasets = listed
                .sidecars
                .iter()
                .filter_map(|(path, tree)| Some((path.clone(), (*tree)?)))
                .collect();
            let blob = |entry: &Entry| match entry.at {
                At::Blob(id) => Some((entry.path.as_str().to_owned(), id)),
                At::File(_) => None,
            };
            staged.shards = listed.shards.iter().filter_map(blob).collect();
        }
    }

    /// Whether a dataset stands at a path already, the same to the byte.
    pub(super) fn has(&self, path: &str, dataset: &Dataset) -> bool {
        match self {
            Self::Folder(root) => lance::matches(dataset, &join(root, path)).unwrap_or(false),
            Self::Commit(staged) => staged.has(path, dataset).unwrap_or(false),
        }
    }

    /// As [`Output::has`], of a dataset whose files are known by their blobs.
    pub(super) fn has_files(
        &self,
        path: &str,
        files: &[KeptFile],
        checkout: Option<&Checkout>,
        kind: gix::hash::Kind,
    ) -> bool {
        match self {
            Self::Commit(staged) => staged.files(path).is_ok_and(|found| {
                found.len() == files.len()
                    && found
                        .iter()
                        .zip(files)
                        .all(|((path, id), file)| *path == file.path && file.is(id))
            }),
            Self::Folder(root) => {
                let is = |file: &KeptFile| {
                    let path = format!("{path}/{}", file.path);
                    let at = join(root, &path);
                    match checkout.and_then(|checkout| checkout.unchanged(&path, &at)) {
                        Some((id, size)) => size == file.size && file.is(&id),
                        None => disk::read(&at, file.size)
                            .ok()
                            .and_then(|bytes| git::blob_id(kind, &bytes).ok())
                            .is_some_and(|id| file.is(&id)),
                    }
                };
                lance::has_only(&join(root, path), files.iter().map(|f| f.path.as_str()))
                    && files.iter().all(is)
            }
        }
    }

    /// Puts a dataset at a path, whole. Whether it was another before.
    pub(super) fn put(&self, path: &str, dataset: &Dataset) -> Result<bool, RunError> {
        match self.prepare(path, dataset)? {
            Some(prepared) => self.finish(prepared).map(|()| true),
            None => Ok(false),
        }
    }

    /// Writes a dataset, and leaves what stands at its path as it is; `None` where that is the same.
    pub(super) fn prepare(
        &self,
        path: &str,
        dataset: &Dataset,
    ) -> Result<Option<Prepared>, RunError> {
        match self {
            Self::Folder(root) => {
                let at = join(root, path);
                if let Some(parent) = at.parent() {
                    std::fs::create_dir_all(parent).map_err(|e| fails(path, &e))?;
                }
                let ready = lance::prepare(dataset, &at).map_err(|e| fails(path, &e))?;
                Ok(ready.map(|ready| Prepared::Folder(path.to_owned(), ready)))
            }
            Self::Commit(staged) => {
                if staged.has(path, dataset)? {
                    return Ok(None);
                }
                let blobs = dataset.files.iter().map(|(file, bytes)| {
                    let id = git::write_blob(staged.repo, bytes).map_err(|e| fails(path, &e))?;
                    Ok((file.clone(), id))
                });
                let blobs = blobs.collect::<Result<_, RunError>>()?;
                Ok(Some(Prepared::Blobs(path.to_owned(), blobs)))
            }
        }
    }

    /// Puts a dataset in its place.
    pub(super) fn finish(&self, prepared: Prepared) -> Result<(), RunError> {
        match (self, prepared) {
            (_, Prepared::Folder(path, ready)) => ready.put().map_err(|e| fails(&path, &e)),
            (Self::Commit(staged), Prepared::Blobs(path, blobs)) => {
                for (file, _) in staged.files(&path)? {
                    staged.edit(&format!("{path}/{file}"), Edit::Remove);
                }
                for (file, id) in blobs {
                    staged.edit(&format!("{path}/{file}"), Edit::Put(id));
                }
                Ok(())
            }
            (Self::Folder(_), Prepared::Blobs(path, _)) => {
                Err(fails(&path, &"it was written for a commit"))
            }
        }
    }

    /// Removes the dataset at a path.
    pub(super) fn remove(&self, path: &str) -> Result<(), RunError> {
        match self {
            Self::Folder(root) => remove(&join(root, path)),
            Self::Commit(staged) => {
                for (file, _) in staged.files(path)? {
                    staged.edit(&format!("{path}/{file}"), Edit::Remove);
                }
                Ok(())
            }
        }
    }

    /// Clears away what killed builds left.
    pub(super) fn tidy(&self, leftovers: &[PathBuf]) -> Result<(), RunError> {
        for path in leftovers {
            if path.is_dir() {
                remove(path)?;
            } else {
                disk::remove_stale(path);
            }
        }
        Ok(())
    }

    /// Puts a shard of the index at its path. Whether it was missing or another before.
    pub(super) fn shard(&self, path: &str, bytes: &[u8]) -> Result<bool, RunError> {
        match self {
            Self::Folder(root) => {
                make_folders(root, path)?;
                let at = join(root, path);
                if disk::read(&at, bytes.len() as u64).is_ok_and(|found| found == bytes) {
                    return Ok(false);
                }
                disk::replace(&at, bytes).map_err(|e| fails(path, &e))?;
                // The folder may be new, and an index that outlives a power failure must not outlive its shards.
                let above = disk::folder_of(disk::folder_of(&at));
                disk::sync_folder(above).map_err(|e| fails(path, &e))?;
                Ok(true)
            }
            Self::Commit(staged) => {
                let id = staged.repo.blob_id(bytes).map_err(|e| fails(path, &e))?;
                if staged.shards.get(path) == Some(&id) {
                    return Ok(false);
                }
                staged.put(path, bytes).map(|()| true)
            }
        }
    }

    /// Removes a shard that no index names.
    pub(super) fn remove_shard(&self, path: &str) -> Result<(), RunError> {
        match self {
            Self::Folder(root) => {
                let at = join(root, path);
                std::fs::remove_file(&at).map_err(|e| fails(path, &e))?;
                // Git keeps no empty folders.
                let publisher = disk::folder_of(&at);
                if std::fs::remove_dir(publisher).is_ok() {
                    let _ = std::fs::remove_dir(disk::folder_of(publisher));
                }
            }
            Self::Commit(staged) => staged.edit(path, Edit::Remove),
        }
        Ok(())
    }

    /// Puts the index in its place.
    pub(super) fn index(
        &self,
        write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), RunError> {
        match self {
            Self::Folder(root) => {
                disk::replace_with(&root.join(INDEX), write).map_err(|e| fails(INDEX, &e))
            }
            Self::Commit(staged) => {
                let mut bytes = Vec::new();
                write(&mut bytes).map_err(|e| fails(INDEX, &e))?;
                staged.put(INDEX, &bytes)
            }
        }
    }
}

fn remove(at: &Path) -> Result<(), RunError> {
    lance::remove(at).map_err(|e| fails(&at.display().to_string(), &e))?;
    // A version folder that holds nothing more is nothing that git would keep.
    if let Some(parent) = at.parent() {
        let _ = std::fs::remove_dir(parent);
    }
    Ok(())
}
