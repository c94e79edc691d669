//! Writes a site into a folder: whole or not at all. What was there stays until the new one is complete, and then goes
//! whole, so no page of something that is gone is left. A folder with anything else in it is not touched.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::Site;
use crate::disk::{TEMPORARY, folder_of, read, sync_folder};

/// The file that says that a folder is a site which this program wrote.
pub const MARKER: &str = ".acx-site";

/// What stands in it.
pub const MARKED: &str = "acx.site/1\n";

/// Why no site was written. What was there is as it was.
#[derive(Debug)]
pub enum WriteError {
    /// The folder is not one to be replaced: why.
    Foreign(String),
    /// The system failed.
    Io(io::Error),
}

impl std::fmt::Display for WriteError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Foreign(why) => write!(f, "not written: {why}"),
            Self::Io(e) => write!(f, "cannot be written: {e}"),
        }
    }
}

impl std::error::Error for WriteError {}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// How much was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// Files.
    pub files: usize,
    /// Bytes of all files together.
    pub bytes: u64,
}

/// Writes the site as the folder `out`, on the threads that are at hand.
///
/// # Errors
/// [`WriteError`].
pub fn write(site: &Site, out: &Path) -> Result<Written, WriteError> {
    // `site/.` and `site/` are the folder too; a name is needed to put another in its place.
    let Some(name) = out.file_name() else {
        return Err(WriteError::Foreign("expected a folder's name".to_owned()));
    };
    let out = &folder_of(out).join(name);
    fs::create_dir_all(folder_of(out))?;
    let found = guard(out)?;
    let new = tempfile::Builder::new()
        .prefix(TEMPORARY)
        .tempdir_in(folder_of(out))?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // A web server is often another user. A folder that is there keeps its own.
        let mode = match fs::symlink_metadata(out) {
            Ok(metadata) if found => metadata.permissions(),
            _ => fs::Permissions::from_mode(0o755),
        };
        fs::set_permissions(new.path(), mode)?;
    }
    let files = site.files();
    let folders: std::collections::BTreeSet<&str> = files
        .iter()
        .filter_map(|file| Some(file.path.rsplit_once('/')?.0))
        .collect();
    for folder in folders {
        fs::create_dir_all(below(new.path(), folder))?;
    }
    let bytes = files
        .par_iter()
        .map(|file| {
            let bytes = file.bytes();
            let mut to = OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(below(new.path(), &file.path))?;
            // Not flushed: a site is derived, and made again in seconds.
            to.write_all(&bytes)?;
            Ok(bytes.len() as u64)
        })
        .sum::<io::Result<u64>>()?;
    let written = Written {
        files: files.len(),
        bytes,
    };
    if found {
        // It may have become another meanwhile.
        guard(out)?;
        swap(new.path(), out)?;
        // What is under the temporary name now is the old one, which goes with the value.
    } else {
        fs::rename(new.path(), out)?;
        let _ = new.keep();
    }
    sync_folder(folder_of(out))?;
    Ok(written)
}

fn below(folder: &Path, path: &str) -> PathBuf {
    let mut below = folder.to_path_buf();
    below.extend(path.split('/'));
    below
}

/// Lets nothing be replaced but a folder that is empty or a site. Whether there is one.
fn guard(out: &Path) -> Result<bool, WriteError> {
    let foreign = |why: String| Err(WriteError::Foreign(why));
    match fs::symlink_metadata(out) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(e) => return Err(e.into()),
        Ok(found) if found.is_symlink() => {
            return foreign("it is a symbolic link; name the folder itself".to_owned());
        }
        Ok(found) if !found.is_dir() => {
            return foreign("it is a file; name a folder that is new, empty or a site".to_owned());
        }
        Ok(_) => {}
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(out)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    if names.is_empty() {
        return Ok(true);
    }
    names.sort();
    match read(&out.join(MARKER), 64) {
        Ok(bytes) if bytes == MARKED.as_bytes() => {}
        _ => {
            return foreign(format!(
                "it is not empty, and no site that acx wrote (there is no {MARKER}); name another folder"
            ));
        }
    }
    // The whole folder is replaced, and with it whatever its owner has added.
    match names.iter().find(|name| !is_ours(name)) {
        Some(name) => foreign(format!(
            "it holds {name:?}, which acx did not write; move it away, or name another folder"
        )),
        None => Ok(true),
    }
}

/// What is at the top of a site.
fn is_ours(name: &str) -> bool {
    let page = |name: &str| {
        let number = name.strip_prefix("page-")?.strip_suffix(".html")?;
        number.parse::<usize>().ok()
    };
    matches!(
        name,
        MARKER
            | "assets"
            | "cartridges"
            | "workflows"
            | "graphs"
            | "templates"
            | "index.html"
            | "registry.html"
    ) || page(name).is_some()
}

/// Puts the folder `new` in the place of `old`, and the old one in its place.
fn swap(new: &Path, old: &Path) -> io::Result<()> {
    // In one step where the system can, so that a killed run leaves one or the other.
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        if renameat_with(CWD, new, CWD, old, RenameFlags::EXCHANGE).is_ok() {
            return Ok(());
        }
    }
    let aside = tempfile::Builder::new()
        .prefix(TEMPORARY)
        .tempdir_in(folder_of(old))?;
    let kept = aside.path().join("site");
    fs::rename(old, &kept)?;
    if let Err(error) = fs::rename(new, old) {
        if fs::rename(&kept, old).is_err() {
            // Better under a strange name than gone.
            let _ = aside.keep();
        }
        return Err(error);
    }
    Ok(())
}
