//! A registry's work tree, or the tree of a commit → a sorted list of what stands in it. No file is opened here and no
//! link is followed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use gix::hash::ObjectId;

use crate::disk::TEMPORARY;
use crate::git::{self, Bounds, GitError, Leaf, Mode, Objects};
use crate::model::{ArtifactType, Coordinate, Digest, PublisherId, RegistryPath};

/// Entries of a tree that are looked at.
const MOST_ENTRIES: usize = 5_000_000;
/// Folders below each other.
const DEEPEST: usize = 64;
/// The folder in which a cartridge's Lance dataset stands, beside the cartridge.
const SIDECAR: &str = "cartridge.memories.lance";
/// The folder at the root with the rows of all cartridges, where the policy asks for it.
pub const REGISTRY_DATASET: &str = "memories.lance";
/// What this tool writes at the root.
pub const INDEX: &str = "index.json";
/// The folder at the root with the shards of an index, where the policy asks for them.
pub const SHARDS: &str = "index";

/// An ordinary file of the registry.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Its path in the registry.
    pub path: RegistryPath,
    /// Where its bytes are.
    pub at: At,
}

impl Entry {
    /// The kind of artifact that it is to be; `None` for any other file.
    pub fn kind(&self) -> Option<ArtifactType> {
        ArtifactType::of_path(&self.path)
    }
}

/// Where the bytes of a file are.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum At {
    /// In a file of the disk.
    File(PathBuf),
    /// In a blob of a git repository.
    Blob(ObjectId),
}

/// Something in the tree that is no ordinary file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Oddity {
    /// Its path, as far as it can be written.
    pub path: String,
    /// What it is.
    pub kind: OddityKind,
}

/// Why an entry is odd.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OddityKind {
    /// A symbolic link.
    Symlink,
    /// A pipe, a socket or a device.
    Special,
    /// A folder with the name of an artifact.
    Folder,
    /// Another repository's commit.
    Submodule,
    /// A name that is not Unicode, or deeper than any registry.
    Name,
}

/// What stands in a registry, each list sorted by path.
#[derive(Debug, Default)]
pub struct Tree {
    /// Files that are to be artifacts, of whatever kind, wherever they stand.
    pub artifacts: Vec<Entry>,
    /// All other files.
    pub files: Vec<Entry>,
    /// What is neither file nor folder.
    pub oddities: Vec<Oddity>,
    /// The folders below `templates/`.
    pub templates: Vec<String>,
    /// The Lance datasets in the places where a build writes them, with their trees where they stand in a commit;
    /// nothing below them is looked at, since a build makes each again or removes it.
    pub sidecars: Vec<(String, Option<ObjectId>)>,
    /// Files in the places where a build writes shards of the index; it writes each again or removes it.
    pub shards: Vec<Entry>,
    /// What a killed build left half written, in the places where a build writes.
    pub leftovers: Vec<PathBuf>,
}

/// The tree could not be walked to its end.
#[derive(Debug)]
pub struct WalkError {
    /// Where.
    pub path: PathBuf,
    /// Why.
    pub message: String,
}

impl std::fmt::Display for WalkError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.message)
    }
}

impl std::error::Error for WalkError {}

/// A part of a work tree that can be walked by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Everything but what is below the publishers' folders.
    Top,
    /// What is below one publisher's folder.
    Publisher(PathBuf),
}

/// The parts of the work tree below `root`. Together they are the whole of it, whatever happens to it meanwhile: a
/// publisher's folder that comes later is walked with the top.
///
/// # Errors
/// [`WalkError`] where a folder of publishers cannot be listed.
pub fn parts(root: &Path) -> Result<Vec<Part>, WalkError> {
    let mut parts = vec![Part::Top];
    for kind in ArtifactType::ALL {
        let folder = root.join(kind.folder());
        let fails = |e: std::io::Error| WalkError {
            path: folder.clone(),
            message: e.to_string(),
        };
        match folder.symlink_metadata() {
            Ok(found) if found.is_dir() => {}
            _ => continue,
        }
        for entry in std::fs::read_dir(&folder).map_err(fails)? {
            let entry = entry.map_err(fails)?;
            if entry.file_type().map_err(fails)?.is_dir() && entry.file_name() != ".git" {
                parts.push(Part::Publisher(entry.path()));
            }
        }
    }
    Ok(parts)
}

/// Walks the work tree below `root`. Git's own folder is passed over, and so are the sidecars that a build writes
/// again from the cartridges.
///
/// # Errors
/// [`WalkError`] where a folder cannot be listed: a part of a tree is never taken for the whole.
pub fn walk(root: &Path) -> Result<Tree, WalkError> {
    let parts = parts(root)?;
    let trees = parts.iter().map(|part| walk_part(root, &parts, part));
    merge(root, trees.collect::<Result<_, _>>()?)
}

/// Walks one of the `parts` of a work tree.
///
/// # Errors
/// As [`walk`].
pub fn walk_part(root: &Path, parts: &[Part], part: &Part) -> Result<Tree, WalkError> {
    let start = match part {
        Part::Top => root,
        Part::Publisher(folder) => folder,
    };
    let others: BTreeSet<&Path> = match part {
        Part::Top => parts
            .iter()
            .filter_map(|part| match part {
                Part::Top => None,
                Part::Publisher(folder) => Some(folder.as_path()),
            })
            .collect(),
        Part::Publisher(_) => BTreeSet::new(),
    };
    let mut tree = Tree::default();
    // A part's own folder is looked at with the part.
    let entries = WalkDir::new(start)
        .follow_root_links(*part == Part::Top)
        .follow_links(false)
        .min_depth(usize::from(*part == Part::Top))
        .into_iter();
    let mut sidecars = Vec::new();
    let entries = entries.filter_entry(|entry| {
        let sidecar = sidecar(root, entry);
        let descend = entry.file_name() != ".git"
            && sidecar.is_none()
            && !(entry.depth() == 2 && others.contains(entry.path()));
        sidecars.extend(sidecar);
        descend
    });
    for (count, entry) in entries.enumerate() {
        let entry = entry.map_err(|e| WalkError {
            path: e.path().unwrap_or(root).to_path_buf(),
            message: e
                .io_error()
                .map_or_else(|| e.to_string(), ToString::to_string),
        })?;
        if count >= MOST_ENTRIES {
            let message = format!("more than {MOST_ENTRIES} entries");
            return Err(WalkError {
                path: root.to_path_buf(),
                message,
            });
        }
        let relative = entry.path().strip_prefix(root).unwrap_or(entry.path());
        let kind = entry.file_type();
        let found = if kind.is_symlink() {
            Found::Odd(OddityKind::Symlink)
        } else if kind.is_dir() {
            Found::Folder
        } else if kind.is_file() {
            Found::File(At::File(entry.path().to_path_buf()))
        } else {
            Found::Odd(OddityKind::Special)
        };
        let path = RegistryPath::try_from(relative).ok();
        if !kind.is_symlink() && path.as_ref().is_some_and(is_leftover) {
            tree.leftovers.push(entry.path().to_path_buf());
        }
        place(&mut tree, path, &relative.to_string_lossy(), found);
    }
    tree.sidecars = sidecars.into_iter().map(|path| (path, None)).collect();
    Ok(tree)
}

/// The whole of a work tree, of its parts.
///
/// # Errors
/// [`WalkError`] where there is more than any registry has.
pub fn merge(root: &Path, parts: Vec<Tree>) -> Result<Tree, WalkError> {
    let mut whole = Tree::default();
    for part in parts {
        whole.artifacts.extend(part.artifacts);
        whole.files.extend(part.files);
        whole.oddities.extend(part.oddities);
        whole.templates.extend(part.templates);
        whole.sidecars.extend(part.sidecars);
        whole.shards.extend(part.shards);
        whole.leftovers.extend(part.leftovers);
    }
    if whole.artifacts.len() + whole.files.len() > MOST_ENTRIES {
        return Err(WalkError {
            path: root.to_path_buf(),
            message: format!("more than {MOST_ENTRIES} entries"),
        });
    }
    sort(&mut whole);
    Ok(whole)
}

/// Lists the tree of a commit, as [`walk`] lists a checkout of it.
///
/// # Errors
/// When a tree is missing or broken, or there is more in it than the bounds allow.
pub fn list(
    objects: &Objects,
    root: &gix::hash::oid,
    bounds: &mut Bounds<'_>,
) -> Result<Tree, GitError> {
    let mut tree = Tree::default();
    git::walk(objects, root, bounds, |path, leaf| {
        let is_dataset =
            leaf.mode == Mode::Tree && std::str::from_utf8(path).is_ok_and(is_sidecar_path);
        if is_dataset {
            let path = String::from_utf8_lossy(path).into_owned();
            tree.sidecars.push((path, Some(leaf.id)));
        } else {
            add(&mut tree, path, leaf);
        }
        Ok(!is_dataset)
    })?;
    sort(&mut tree);
    Ok(tree)
}

/// Adds one thing of a commit's tree to a list, by its path.
pub fn add(tree: &mut Tree, path: &[u8], leaf: Leaf) {
    let shown = String::from_utf8_lossy(path);
    let path = std::str::from_utf8(path)
        .ok()
        .and_then(|path| RegistryPath::try_from(path).ok());
    let found = match leaf.mode {
        Mode::Tree => Found::Folder,
        Mode::Blob => Found::File(At::Blob(leaf.id)),
        Mode::Link => Found::Odd(OddityKind::Symlink),
        Mode::Commit => Found::Odd(OddityKind::Submodule),
    };
    place(tree, path, &shown, found);
}

fn sort(tree: &mut Tree) {
    tree.artifacts.sort();
    tree.files.sort();
    tree.oddities.sort();
    tree.templates.sort();
    tree.sidecars.sort();
    tree.shards.sort();
    tree.leftovers.sort();
}

/// The path of a folder that is named as a cartridge's dataset, where one may stand.
fn sidecar(root: &Path, entry: &walkdir::DirEntry) -> Option<String> {
    if !entry.file_type().is_dir() {
        return None;
    }
    let path = RegistryPath::try_from(entry.path().strip_prefix(root).ok()?).ok()?;
    is_sidecar_path(path.as_str()).then(|| path.as_str().to_owned())
}

/// Whether a file belongs to a dataset that a build writes, and to which.
pub fn sidecar_of(path: &str) -> Option<&str> {
    let (end, _) = path
        .match_indices('/')
        .find(|(at, _)| path.get(..*at).is_some_and(is_sidecar_path))?;
    path.get(..end)
}

/// The path of the dataset beside a cartridge.
pub fn sidecar_path(cartridge: &str) -> String {
    let folder = cartridge.strip_suffix("cartridge.acx");
    folder.unwrap_or(cartridge).to_owned() + SIDECAR
}

/// Whether a path is `memories.lance`, or `cartridges/<publisher>/<id>/<version>/cartridge.memories.lance`.
fn is_sidecar_path(path: &str) -> bool {
    path == REGISTRY_DATASET
        || path.strip_suffix(SIDECAR).is_some_and(|folder| {
            RegistryPath::try_from(format!("{folder}cartridge.acx").as_str())
                .and_then(|cartridge| Coordinate::of_path(&cartridge))
                .is_ok()
        })
}

/// Where a build writes the shard of a publisher whose bytes have this hash. Named by its content, so that a new one
/// never takes the place of one that the index of before names.
pub fn shard_path(publisher: &str, sha256: &Digest) -> String {
    format!("{SHARDS}/{publisher}/{}.json", sha256.hex())
}

/// Whether a path is one that [`shard_path`] gives.
pub fn is_shard_path(path: &str) -> bool {
    let publisher_and_hash = || {
        let (publisher, name) = shard_folder(path)?;
        let hash = Digest::from_hex(name.strip_suffix(".json")?)?;
        Some(path == shard_path(publisher, &hash))
    };
    publisher_and_hash().unwrap_or_default()
}

/// Whether a file of this path keeps a build from writing some publisher's shard: it stands where a folder of shards
/// goes, or below what has the name of a shard.
pub fn blocks_shards(path: &str) -> bool {
    let of_publisher = |rest: &str| PublisherId::try_from(rest).is_ok();
    path == SHARDS
        || path
            .strip_prefix(SHARDS)
            .and_then(|rest| rest.strip_prefix('/'))
            .is_some_and(of_publisher)
        || path
            .match_indices('/')
            .any(|(end, _)| path.get(..end).is_some_and(is_shard_path))
}

/// The publisher in whose folder of shards a path lies, and the rest of it.
fn shard_folder(path: &str) -> Option<(&str, &str)> {
    let (publisher, name) = path
        .strip_prefix(SHARDS)?
        .strip_prefix('/')?
        .split_once('/')?;
    PublisherId::try_from(publisher).ok()?;
    Some((publisher, name))
}

/// Whether a path is a temporary file or folder beside a dataset, an index or a shard of one.
fn is_leftover(path: &RegistryPath) -> bool {
    let path = path.as_str();
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let of_shard = || shard_folder(path).is_some_and(|(_, rest)| rest == name);
    name.starts_with(TEMPORARY)
        && (folder.is_empty() || is_sidecar_path(&format!("{folder}/{SIDECAR}")) || of_shard())
}

enum Found {
    Folder,
    File(At),
    Odd(OddityKind),
}

/// Puts one thing into its list; `path` is `None` where it is none that a registry can have.
fn place(tree: &mut Tree, path: Option<RegistryPath>, shown: &str, found: Found) {
    let depth = shown.split('/').count();
    let mut odd = |kind| {
        tree.oddities.push(Oddity {
            path: shown.to_owned(),
            kind,
        });
    };
    let Some(path) = path.filter(|_| depth <= DEEPEST) else {
        return odd(OddityKind::Name);
    };
    match found {
        Found::Odd(kind) => odd(kind),
        Found::Folder => {
            if ArtifactType::of_path(&path).is_some() {
                odd(OddityKind::Folder);
            }
            if let Some(("templates", name)) = path.as_str().split_once('/')
                && !name.contains('/')
            {
                tree.templates.push(name.to_owned());
            }
        }
        Found::File(at) => {
            let entry = Entry { path, at };
            if entry.kind().is_some() {
                &mut tree.artifacts
            } else if is_shard_path(entry.path.as_str()) {
                &mut tree.shards
            } else {
                &mut tree.files
            }
            .push(entry);
        }
    }
}
