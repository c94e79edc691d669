//! Git's trees: listed, looked into, compared. Nothing here recurses, and every step counts against [`Bounds`], since a
//! few kilobytes of trees that name each other can spell more files than there are atoms.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use gix::hash::{ObjectId, oid};
use gix::objs::TreeRefIter;
use gix::objs::tree::EntryKind;
use gix::validate::path::component;

use super::GitError;
use super::objects::{Objects, Reader};

/// Entries that one walk or comparison looks at.
pub const MOST_ENTRIES: usize = 5_000_000;
/// Folders below each other.
const DEEPEST: usize = 256;

/// Times that one walk enters the same tree: a folder may well stand in many places, and no honest one in so many.
const MOST_VISITS: u32 = 65_536;

/// What ends a walk before its end.
pub struct Bounds<'a> {
    left: usize,
    expired: &'a dyn Fn() -> bool,
    visits: HashMap<ObjectId, u32>,
}

impl<'a> Bounds<'a> {
    /// The bounds of one walk, and what says that the time is up.
    pub fn new(expired: &'a dyn Fn() -> bool) -> Self {
        Self {
            left: MOST_ENTRIES,
            expired,
            visits: HashMap::new(),
        }
    }

    /// Counts a tree that is entered.
    ///
    /// # Errors
    /// When it was entered too often.
    fn enter(&mut self, tree: ObjectId) -> Result<(), GitError> {
        let visits = self.visits.entry(tree).or_default();
        *visits += 1;
        if *visits > MOST_VISITS {
            return Err(GitError::new(format!(
                "the tree {tree} stands in more than {MOST_VISITS} places"
            )));
        }
        Ok(())
    }

    /// Counts one step.
    ///
    /// # Errors
    /// When nothing is left of the bounds.
    pub fn step(&mut self) -> Result<(), GitError> {
        // Asking the clock costs more than a step.
        if self.left.is_multiple_of(256) && (self.expired)() {
            return Err(GitError::expired());
        }
        self.left = self
            .left
            .checked_sub(1)
            .ok_or_else(|| GitError::new(format!("more than {MOST_ENTRIES} entries")))?;
        Ok(())
    }
}

/// Never expires.
pub fn unbounded() -> bool {
    false
}

/// What a tree's entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// A folder.
    Tree,
    /// A file, executable or not.
    Blob,
    /// A symbolic link.
    Link,
    /// A submodule.
    Commit,
}

/// Something at a path: what it is, and its object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leaf {
    /// What it is.
    pub mode: Mode,
    /// Its object.
    pub id: ObjectId,
}

/// One entry of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    /// The last part of the path.
    pub name: Vec<u8>,
    /// What stands there.
    pub leaf: Leaf,
}

/// One difference between two trees. A moved file is a deletion and an addition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The path, `/`-separated.
    pub path: Vec<u8>,
    /// What was there; never a folder.
    pub old: Option<Leaf>,
    /// What is there now; never a folder.
    pub new: Option<Leaf>,
}

/// The entries of a tree, in git's order.
///
/// # Errors
/// When the tree is missing or broken, out of order, or names something twice: then git and others would each see
/// another tree in it.
pub fn entries(reader: &Reader, id: &oid) -> Result<Vec<TreeEntry>, GitError> {
    let bytes = reader.tree(id)?;
    let mut list: Vec<TreeEntry> = Vec::new();
    for entry in TreeRefIter::from_bytes(&bytes, id.kind()) {
        let entry =
            entry.map_err(|e| GitError::new(format!("the tree {id} cannot be read: {e}")))?;
        let mode = match entry.mode.kind() {
            EntryKind::Tree => Mode::Tree,
            EntryKind::Blob | EntryKind::BlobExecutable => Mode::Blob,
            EntryKind::Link => Mode::Link,
            EntryKind::Commit => Mode::Commit,
        };
        let entry = TreeEntry {
            name: entry.filename.to_vec(),
            leaf: Leaf {
                mode,
                id: entry.oid.to_owned(),
            },
        };
        if is_forbidden(&entry) {
            return Err(GitError::new(format!(
                "the tree {id} names {:?}, which no checkout can hold",
                crate::model::shorten(&String::from_utf8_lossy(&entry.name))
            )));
        }
        if list
            .last()
            .is_some_and(|last| order(last, &entry) != Ordering::Less)
        {
            return Err(GitError::new(format!("the tree {id} is out of order")));
        }
        list.push(entry);
    }
    // A file and a folder of one name do not stand side by side.
    let mut names: Vec<&[u8]> = list.iter().map(|e| e.name.as_slice()).collect();
    names.sort_unstable();
    if names.windows(2).any(|pair| pair.first() == pair.last()) {
        return Err(GitError::new(format!(
            "the tree {id} names something twice"
        )));
    }
    Ok(list)
}

/// Git itself checks no such name out on one system or another: `..`, `.git` as HFS+ and NTFS read it too (`git~1`, with
/// joiners), and a link named `.gitmodules`.
fn is_forbidden(entry: &TreeEntry) -> bool {
    let rules = component::Options {
        protect_windows: false,
        protect_hfs: true,
        protect_ntfs: true,
    };
    let mode = (entry.leaf.mode == Mode::Link).then_some(component::Mode::Symlink);
    component(entry.name.as_slice().into(), mode, rules).is_err()
}

/// Git's order: a folder's name counts as if it ended in a slash.
fn order(a: &TreeEntry, b: &TreeEntry) -> Ordering {
    fn key(e: &TreeEntry) -> impl Iterator<Item = u8> + '_ {
        let slash = (e.leaf.mode == Mode::Tree).then_some(b'/');
        e.name.iter().copied().chain(slash)
    }
    key(a).cmp(key(b))
}

/// What stands at a path below a tree; the tree itself for the empty path.
///
/// # Errors
/// When a tree on the way is missing or broken.
pub fn lookup(objects: &Objects, tree: &oid, path: &str) -> Result<Option<Leaf>, GitError> {
    objects.with(|reader| {
        let mut here = Leaf {
            mode: Mode::Tree,
            id: tree.to_owned(),
        };
        for part in path.split('/').filter(|part| !part.is_empty()) {
            if here.mode != Mode::Tree {
                return Ok(None);
            }
            let tree = reader.remembered(&here.id, || entries(reader, &here.id))?;
            match tree.iter().find(|entry| entry.name == part.as_bytes()) {
                Some(entry) => here = entry.leaf,
                None => return Ok(None),
            }
        }
        Ok(Some(here))
    })
}

/// Visits everything below a tree, with its path; a folder is entered where `visit` says so.
///
/// # Errors
/// As [`entries`]; when the bounds are exhausted; whatever `visit` fails with.
pub fn walk(
    objects: &Objects,
    tree: &oid,
    bounds: &mut Bounds<'_>,
    mut visit: impl FnMut(&[u8], Leaf) -> Result<bool, GitError>,
) -> Result<(), GitError> {
    objects.with(|reader| {
        let mut folders: Vec<(Vec<u8>, ObjectId)> = vec![(Vec::new(), tree.to_owned())];
        while let Some((prefix, id)) = folders.pop() {
            bounds.enter(id)?;
            for entry in entries(reader, &id)? {
                bounds.step()?;
                let path = join(&prefix, &entry.name)?;
                if visit(&path, entry.leaf)? && entry.leaf.mode == Mode::Tree {
                    folders.push((path, entry.leaf.id));
                }
            }
        }
        Ok(())
    })
}

/// Every difference between two trees; `None` is the tree of nothing. Sorted by path.
///
/// # Errors
/// As [`entries`], and when the bounds are exhausted.
pub fn diff(
    objects: &Objects,
    old: Option<&oid>,
    new: Option<&oid>,
    bounds: &mut Bounds<'_>,
) -> Result<Vec<Change>, GitError> {
    let mut changes = Vec::new();
    objects.with(|reader| {
        let own = |id: Option<&oid>| id.map(ToOwned::to_owned);
        let mut folders = vec![(Vec::new(), own(old), own(new))];
        while let Some((prefix, old, new)) = folders.pop() {
            if old == new {
                continue;
            }
            for id in [old, new].into_iter().flatten() {
                bounds.enter(id)?;
            }
            let list = |id: Option<ObjectId>| match id {
                Some(id) => reader.remembered(&id, || entries(reader, &id)),
                None => Ok(Arc::default()),
            };
            let (old, new) = (list(old)?, list(new)?);
            let (mut old, mut new) = (old.iter().peekable(), new.iter().peekable());
            // Both are in git's order, in which a file and a folder of one name are two things.
            loop {
                bounds.step()?;
                let order = match (old.peek(), new.peek()) {
                    (None, None) => break,
                    (Some(_), None) => Ordering::Less,
                    (None, Some(_)) => Ordering::Greater,
                    (Some(old), Some(new)) => order(old, new),
                };
                let was = old.next_if(|_| order != Ordering::Greater);
                let is = new.next_if(|_| order != Ordering::Less);
                let (old, new) = (was.map(|e| e.leaf), is.map(|e| e.leaf));
                let Some(entry) = was.or(is).filter(|_| old != new) else {
                    continue;
                };
                let path = join(&prefix, &entry.name)?;
                if entry.leaf.mode == Mode::Tree {
                    folders.push((path, old.map(|leaf| leaf.id), new.map(|leaf| leaf.id)));
                } else {
                    changes.push(Change { path, old, new });
                }
            }
        }
        Ok::<_, GitError>(())
    })?;
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(changes)
}

fn join(prefix: &[u8], name: &[u8]) -> Result<Vec<u8>, GitError> {
    let mut path = prefix.to_vec();
    if !path.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(name);
    if path.iter().filter(|b| **b == b'/').count() > DEEPEST {
        return Err(GitError::new(format!(
            "more than {DEEPEST} folders below each other at {}",
            crate::model::shorten(&String::from_utf8_lossy(&path))
        )));
    }
    Ok(path)
}
