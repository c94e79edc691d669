//! Datasets on disk: written whole or not at all, compared, digested, removed.
//!
//! A folder cannot be replaced in one step everywhere, so a dataset is built as a temporary folder beside its place, the
//! old one is renamed into another, the new one into the place, and the old one deleted. A run that is killed leaves
//! the old dataset, the new one or none, and perhaps temporary folders, whose names tell the next run what they are.
//!
//! The folders lie in a tree that others push to, so no symbolic link is followed, and what is read back is bounded.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Dataset, FileEntry, digest_of};
use crate::disk::TEMPORARY;
use crate::model::{Digest, RegistryPath};

/// Bounds on a folder that is read back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FolderLimits {
    /// Files and folders in it, at any depth.
    pub entries: usize,
    /// Bytes of all files.
    pub bytes: u64,
}

impl Default for FolderLimits {
    fn default() -> Self {
        Self {
            entries: 64,
            bytes: 1 << 30,
        }
    }
}

/// Writes the dataset as the folder `at`, whose parent must exist. Whatever was there, a folder or a file, is replaced
/// whole; an identical dataset is left alone, modification times included. Whether anything was written.
///
/// # Errors
/// When `at` or its parent is a symbolic link, or the file system fails; what was at `at` is then still there, or
/// (only if renaming it back fails too) in a temporary folder beside it.
pub fn write(dataset: &Dataset, at: &Path) -> io::Result<bool> {
    match prepare(dataset, at)? {
        Some(ready) => ready.put().map(|()| true),
        None => Ok(false),
    }
}

/// A dataset that is written beside its place, whole. Dropped, it is removed again.
pub struct Ready {
    new: Temp,
    at: PathBuf,
}

/// The first half of [`write`]: writes the dataset into a temporary folder beside `at`; `None` where it is at `at`
/// already.
///
/// # Errors
/// As [`write`]; nothing at `at` is touched.
pub fn prepare(dataset: &Dataset, at: &Path) -> io::Result<Option<Ready>> {
    if guard(at)? && matches(dataset, at)? {
        return Ok(None);
    }
    let new = Temp::beside(at)?;
    let mut made: Vec<&str> = Vec::new();
    for (path, bytes) in &dataset.files {
        RegistryPath::try_from(path.as_str()).map_err(io::Error::other)?;
        if let Some((folder, _)) = path.rsplit_once('/')
            && !made.contains(&folder)
        {
            fs::create_dir_all(new.path.join(folder))?;
            made.push(folder);
        }
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(new.path.join(path))?;
        // Not flushed: a dataset is derived, every build compares it byte for byte and mends what a power cut tore.
        file.write_all(bytes)?;
    }
    Ok(Some(Ready {
        new,
        at: at.to_path_buf(),
    }))
}

impl Ready {
    /// The second half of [`write`]: puts the dataset in its place.
    ///
    /// # Errors
    /// As [`write`].
    pub fn put(self) -> io::Result<()> {
        let Self { new, at } = self;
        if !guard(&at)? {
            fs::rename(&new.path, &at)?;
            new.keep();
            return Ok(());
        }
        let old = Temp::beside(&at)?;
        fs::rename(&at, old.path.join("old"))?;
        if let Err(error) = fs::rename(&new.path, &at) {
            if fs::rename(old.path.join("old"), &at).is_err() {
                old.keep();
            }
            return Err(error);
        }
        new.keep();
        old.remove()
    }
}

/// Removes the dataset at `at`, or whatever is there under its name. Whether anything was.
///
/// # Errors
/// When `at` or its parent is a symbolic link, or the file system fails.
pub fn remove(at: &Path) -> io::Result<bool> {
    if !guard(at)? {
        return Ok(false);
    }
    // Renamed first, so that a killed run leaves all of it or nothing under the name.
    let temp = Temp::beside(at)?;
    fs::rename(at, temp.path.join("old"))?;
    temp.remove()?;
    Ok(true)
}

/// Whether the folder `at` holds nothing but what Lance writers put into a dataset, or nothing at all.
///
/// # Errors
/// When the file system fails.
pub fn is_dataset_or_empty(at: &Path) -> io::Result<bool> {
    let mut folders = vec![(String::new(), at.to_path_buf())];
    while let Some((prefix, folder)) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
            let kind = entry.file_type()?;
            let (top, rest) = path.split_once('/').unwrap_or((&path, ""));
            let fits = match top {
                "data" => rest.is_empty() || rest.ends_with(".lance"),
                "_versions" => {
                    rest.is_empty()
                        || rest.ends_with(".manifest")
                        || rest == "latest_version_hint.json"
                }
                "_transactions" => rest.is_empty() || rest.ends_with(".txn"),
                "_deletions" | "_indices" => true,
                _ => false,
            };
            if !fits || !(kind.is_file() || kind.is_dir()) || (kind.is_file() && rest.is_empty()) {
                return Ok(false);
            }
            if kind.is_dir() {
                folders.push((format!("{path}/"), entry.path()));
            }
        }
    }
    Ok(true)
}

/// Whether the folder `at` is this dataset: the same files with the same bytes, and no other file or folder. What a
/// reader that appended leaves is a difference, and so is a symbolic link. Sizes are compared before anything is read.
///
/// # Errors
/// When the file system fails.
pub fn matches(dataset: &Dataset, at: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(at) {
        Ok(found) if found.is_dir() => {}
        Ok(_) => return Ok(false),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    }
    let expected: BTreeMap<&str, &[u8]> = dataset
        .files
        .iter()
        .map(|(path, bytes)| (path.as_str(), bytes.as_slice()))
        .collect();
    let mut found = Vec::new();
    let mut folders = vec![(String::new(), at.to_path_buf())];
    while let Some((prefix, folder)) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else {
                return Ok(false);
            };
            let path = format!("{prefix}{name}");
            let metadata = fs::symlink_metadata(entry.path())?;
            if metadata.is_dir() {
                let prefix = format!("{path}/");
                if !expected.keys().any(|file| file.starts_with(&prefix)) {
                    return Ok(false);
                }
                folders.push((prefix, entry.path()));
            } else {
                match expected.get(path.as_str()) {
                    Some(bytes) if metadata.is_file() && metadata.len() == bytes.len() as u64 => {
                        found.push((entry.path(), *bytes));
                    }
                    _ => return Ok(false),
                }
            }
        }
    }
    if found.len() != expected.len() {
        return Ok(false);
    }
    for (path, bytes) in found {
        let mut read = Vec::with_capacity(bytes.len());
        // One byte more, should the file be growing.
        File::open(path)?
            .take(bytes.len() as u64 + 1)
            .read_to_end(&mut read)?;
        if read != bytes {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether the folder `at` holds these files, by their paths in it, and no other file or folder. What is in them is not
/// looked at.
pub fn has_only<'a>(at: &Path, expected: impl Iterator<Item = &'a str>) -> bool {
    let expected: std::collections::BTreeSet<&str> = expected.collect();
    let mut left = expected.len();
    let mut folders = vec![(String::new(), at.to_path_buf())];
    while let Some((prefix, folder)) = folders.pop() {
        let Ok(entries) = fs::read_dir(folder) else {
            return false;
        };
        for entry in entries {
            let Ok((entry, kind)) =
                entry.and_then(|e| Ok((e.file_type()?, e)).map(|(k, e)| (e, k)))
            else {
                return false;
            };
            let Ok(name) = entry.file_name().into_string() else {
                return false;
            };
            let path = format!("{prefix}{name}");
            if kind.is_dir() {
                let prefix = format!("{path}/");
                if !expected.iter().any(|file| file.starts_with(&prefix)) {
                    return false;
                }
                folders.push((prefix, entry.path()));
            } else if kind.is_file() && expected.contains(path.as_str()) {
                left -= 1;
            } else {
                return false;
            }
        }
    }
    left == 0
}

/// The digest of the dataset in the folder `at`, as [`Dataset::digest`] computes it from memory. Only files count;
/// a folder without files, which git cannot hold, changes nothing.
///
/// # Errors
/// [`io::ErrorKind::InvalidData`] for anything but plain files and folders, a name that is not UTF-8, or more than the
/// limits allow; otherwise what the file system fails with.
pub fn digest_of_folder(at: &Path, limits: &FolderLimits) -> io::Result<Digest> {
    require_folder(at, &fs::symlink_metadata(at)?)?;
    let mut files = Vec::new();
    let mut folders = vec![(String::new(), at.to_path_buf())];
    let (mut entries, mut bytes) = (0, 0_u64);
    while let Some((prefix, folder)) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let shown = entry.path();
            let shown = shown.display();
            entries += 1;
            if entries > limits.entries {
                return Err(invalid(format!(
                    "{}: more than {} files and folders; a dataset has a handful",
                    at.display(),
                    limits.entries
                )));
            }
            let name = entry
                .file_name()
                .into_string()
                .map_err(|_| invalid(format!("{shown}: the name is not UTF-8")))?;
            let path = format!("{prefix}{name}");
            let metadata = fs::symlink_metadata(entry.path())?;
            if metadata.is_dir() {
                folders.push((format!("{path}/"), entry.path()));
                continue;
            }
            if !metadata.is_file() {
                return Err(invalid(format!(
                    "{shown}: expected a plain file or a folder, found a symbolic link or a special file"
                )));
            }
            let room = limits.bytes.saturating_sub(bytes);
            let mut reader = File::open(entry.path())?.take(room.saturating_add(1));
            let sha256 = Digest::of_reader(&mut reader)?;
            let size = room.saturating_add(1) - reader.limit();
            if size > room {
                return Err(invalid(format!(
                    "{}: more than {} bytes",
                    at.display(),
                    limits.bytes
                )));
            }
            bytes += size;
            files.push(FileEntry { path, sha256, size });
        }
    }
    Ok(digest_of(files))
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

/// The folder that `at` lies in.
fn parent(at: &Path) -> &Path {
    match at.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// Refuses symbolic links at `at` and at its parent. Whether there is anything at `at`.
fn guard(at: &Path) -> io::Result<bool> {
    let parent = parent(at);
    require_folder(parent, &fs::symlink_metadata(parent)?)?;
    match fs::symlink_metadata(at) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
        Ok(found) if found.is_symlink() => Err(invalid(format!(
            "{}: is a symbolic link; a dataset is not written through one: remove it",
            at.display()
        ))),
        Ok(_) => Ok(true),
    }
}

fn require_folder(at: &Path, found: &fs::Metadata) -> io::Result<()> {
    if found.is_dir() {
        return Ok(());
    }
    let found = if found.is_symlink() {
        "a symbolic link"
    } else {
        "a file"
    };
    Err(invalid(format!(
        "{}: expected a folder, found {found}",
        at.display()
    )))
}

/// A temporary folder beside a dataset's place, removed when dropped.
struct Temp {
    path: PathBuf,
    keep: bool,
}

impl Temp {
    fn beside(at: &Path) -> io::Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        loop {
            // The process and a number in it: no name is used twice among runs that are alive.
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let name = format!("{TEMPORARY}{}-{number}", std::process::id());
            let path = parent(at).join(name);
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Self { path, keep: false }),
                // Left by a killed run that had this process id.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn remove(mut self) -> io::Result<()> {
        self.keep = true;
        fs::remove_dir_all(&self.path)
    }

    /// Leaves the folder where it is.
    fn keep(mut self) {
        self.keep = true;
    }
}

impl Drop for Temp {
    fn drop(&mut self) {
        if !self.keep {
            // An error is already on its way to the caller; the next run tries again.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::type_complexity)]

    use super::*;

    fn dataset(text: &str) -> Dataset {
        Dataset {
            files: vec![
                ("_versions/1.manifest".into(), text.as_bytes().to_vec()),
                ("data/x.lance".into(), vec![7; 100]),
            ],
        }
    }

    /// Everything below a folder: path and, for files, content and modification time.
    fn tree(at: &Path) -> Vec<(String, Option<(Vec<u8>, std::time::SystemTime)>)> {
        let mut all: Vec<_> = walkdir::WalkDir::new(at)
            .into_iter()
            .map(|entry| {
                let entry = entry.unwrap();
                let path = entry.path().strip_prefix(at).unwrap();
                let content = entry.file_type().is_file().then(|| {
                    let modified = entry.metadata().unwrap().modified().unwrap();
                    (fs::read(entry.path()).unwrap(), modified)
                });
                (path.to_str().unwrap().to_owned(), content)
            })
            .collect();
        all.sort();
        all
    }

    fn names(at: &Path) -> Vec<String> {
        tree(at).into_iter().map(|(path, _)| path).collect()
    }

    #[test]
    fn written_once_and_then_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("m.lance");
        assert!(!matches(&dataset("a"), &at).unwrap());
        assert!(write(&dataset("a"), &at).unwrap());
        let first = tree(folder.path());
        assert_eq!(
            names(folder.path()),
            [
                "",
                "m.lance",
                "m.lance/_versions",
                "m.lance/_versions/1.manifest",
                "m.lance/data",
                "m.lance/data/x.lance"
            ]
        );
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert!(!write(&dataset("a"), &at).unwrap());
        assert_eq!(tree(folder.path()), first);
        assert!(write(&dataset("b"), &at).unwrap());
        assert_eq!(fs::read(at.join("_versions/1.manifest")).unwrap(), b"b");
        assert_eq!(names(folder.path()).len(), 6);
        assert!(remove(&at).unwrap());
        assert!(!remove(&at).unwrap());
        assert_eq!(names(folder.path()), [""]);
    }

    #[test]
    fn damage_is_seen_and_mended() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("m.lance");
        let data = dataset("abc");
        let damages: [(&str, fn(&Path)); 9] = [
            ("edited", |at| {
                fs::write(at.join("_versions/1.manifest"), "abd").unwrap()
            }),
            ("truncated", |at| {
                fs::write(at.join("data/x.lance"), "").unwrap()
            }),
            ("longer", |at| {
                fs::write(at.join("data/x.lance"), [7; 101]).unwrap()
            }),
            ("a file gone", |at| {
                fs::remove_file(at.join("data/x.lance")).unwrap()
            }),
            ("a folder gone", |at| {
                fs::remove_dir_all(at.join("data")).unwrap()
            }),
            ("an extra file", |at| {
                fs::write(at.join("data/y.lance"), "").unwrap()
            }),
            ("a reader's folder", |at| {
                fs::create_dir(at.join("_transactions")).unwrap()
            }),
            ("a folder for a file", |at| {
                fs::remove_file(at.join("data/x.lance")).unwrap();
                fs::create_dir(at.join("data/x.lance")).unwrap();
            }),
            ("a file for the dataset", |at| {
                fs::remove_dir_all(at).unwrap();
                fs::write(at, "x").unwrap();
            }),
        ];
        for (name, damage) in damages {
            write(&data, &at).unwrap();
            assert!(matches(&data, &at).unwrap(), "{name}");
            damage(&at);
            assert!(!matches(&data, &at).unwrap(), "{name}");
            assert!(write(&data, &at).unwrap(), "{name}");
            assert!(matches(&data, &at).unwrap(), "{name}");
            assert_eq!(names(folder.path()).len(), 6, "{name}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn no_symbolic_link_is_followed() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let outside = folder.path().join("outside");
        let data = dataset("abc");
        write(&data, &outside).unwrap();
        let before = tree(&outside);
        let tree_root = folder.path().join("tree");
        fs::create_dir(&tree_root).unwrap();

        let link = tree_root.join("m.lance");
        symlink(&outside, &link).unwrap();
        assert!(!matches(&data, &link).unwrap());
        let kind = io::ErrorKind::InvalidData;
        assert_eq!(write(&data, &link).unwrap_err().kind(), kind);
        assert_eq!(remove(&link).unwrap_err().kind(), kind);
        assert!(digest_of_folder(&link, &FolderLimits::default()).is_err());

        let parent = folder.path().join("parent");
        symlink(&outside, &parent).unwrap();
        assert_eq!(
            write(&data, &parent.join("m.lance")).unwrap_err().kind(),
            kind
        );

        // A link inside: a difference for `matches`, an error for the digest, replaced by `write`.
        let at = tree_root.join("n.lance");
        write(&data, &at).unwrap();
        fs::remove_file(at.join("data/x.lance")).unwrap();
        symlink(outside.join("data/x.lance"), at.join("data/x.lance")).unwrap();
        assert!(!matches(&data, &at).unwrap());
        let error = digest_of_folder(&at, &FolderLimits::default()).unwrap_err();
        assert!(
            error.to_string().contains("found a symbolic link"),
            "{error}"
        );
        assert!(write(&data, &at).unwrap());
        assert_eq!(tree(&outside), before);
    }

    #[test]
    fn a_path_that_leaves_the_folder_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let mut bad = dataset("a");
        bad.files.push(("../escaped".into(), b"x".to_vec()));
        assert!(write(&bad, &folder.path().join("m.lance")).is_err());
        assert_eq!(names(folder.path()), [""]);
    }

    #[test]
    fn digests_from_memory_and_from_disk_agree() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("m.lance");
        let data = dataset("abc");
        write(&data, &at).unwrap();
        // `printf '%s' '[{"path":…},…]' | sha256sum` over the two files' own digests.
        let listing = concat!(
            r#"[{"path":"_versions/1.manifest","sha256":"sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad","size":3},"#,
            r#"{"path":"data/x.lance","sha256":"sha256:"#,
        );
        let listing = format!(r#"{listing}{}","size":100}}]"#, Digest::of(&[7; 100]).hex());
        assert_eq!(data.digest(), Digest::of(listing.as_bytes()));
        let limits = FolderLimits::default();
        assert_eq!(digest_of_folder(&at, &limits).unwrap(), data.digest());

        let exact = FolderLimits {
            entries: 4,
            bytes: 103,
        };
        assert_eq!(digest_of_folder(&at, &exact).unwrap(), data.digest());
        for (limits, said) in [
            (
                FolderLimits {
                    entries: 3,
                    bytes: 103,
                },
                "more than 3 files and folders",
            ),
            (
                FolderLimits {
                    entries: 4,
                    bytes: 102,
                },
                "more than 102 bytes",
            ),
        ] {
            let error = digest_of_folder(&at, &limits).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
            assert!(error.to_string().contains(said), "{error}");
        }
        fs::write(at.join("extra"), "").unwrap();
        assert_ne!(digest_of_folder(&at, &limits).unwrap(), data.digest());
        assert!(digest_of_folder(&folder.path().join("absent"), &limits).is_err());
    }
}
