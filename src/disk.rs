//! Reading and writing local files without being led astray: no links followed, no pipe waited for, sizes bounded,
//! and a file replaced in one step or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

/// How the names begin of what is written first and then renamed. A killed run leaves such names behind.
pub const TEMPORARY: &str = ".acx-tmp-";

/// Why a file was not read.
#[derive(Debug)]
pub enum ReadError {
    /// It is a link, a folder, a pipe or a device.
    NotAFile,
    /// It has more bytes than are accepted; how many it has.
    TooLarge(u64),
    /// The system failed.
    Io(io::Error),
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotAFile => f.write_str("not an ordinary file"),
            Self::TooLarge(bytes) => write!(f, "too large: {bytes} bytes"),
            Self::Io(e) => write!(f, "{e}"),
        }
    }
}

impl std::error::Error for ReadError {}

impl ReadError {
    /// The file is not there.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Io(e) if e.kind() == io::ErrorKind::NotFound)
    }
}

/// Opens an ordinary file. A link in the last place of the path is not followed.
///
/// # Errors
/// [`ReadError::NotAFile`] and [`ReadError::Io`].
pub fn open(path: &Path) -> Result<File, ReadError> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        let flags = rustix::fs::OFlags::NOFOLLOW
            | rustix::fs::OFlags::NONBLOCK
            | rustix::fs::OFlags::CLOEXEC;
        options.custom_flags(flags.bits().cast_signed());
    }
    let file = options
        .open(path)
        .map_err(|e| match fs::symlink_metadata(path) {
            Ok(metadata) if !metadata.is_file() => ReadError::NotAFile,
            _ => ReadError::Io(e),
        })?;
    match file.metadata() {
        Ok(metadata) if metadata.is_file() => Ok(file),
        Ok(_) => Err(ReadError::NotAFile),
        Err(e) => Err(ReadError::Io(e)),
    }
}

/// Reads an ordinary file of at most `most` bytes.
///
/// # Errors
/// [`ReadError`].
pub fn read(path: &Path, most: u64) -> Result<Vec<u8>, ReadError> {
    let file = open(path)?;
    let length = file.metadata().map_err(ReadError::Io)?.len();
    if length > most {
        return Err(ReadError::TooLarge(length));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
    // The file may grow while it is read.
    file.take(most.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(ReadError::Io)?;
    if bytes.len() as u64 > most {
        return Err(ReadError::TooLarge(bytes.len() as u64));
    }
    Ok(bytes)
}

/// Replaces a file in one step: written beside it, synced, renamed, the folder synced. A killed run leaves the old
/// file or the new one. A link in the file's place is refused. Who may read the old file may read the new one, and
/// nobody else.
///
/// # Errors
/// Whatever the system says, and `InvalidInput` for something that is no ordinary file.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    swap_in(path, &mut |file| file.write_all(bytes), true, None)
}

/// As [`replace`], with what `write` writes.
///
/// # Errors
/// As [`replace`], and what `write` fails with; then the old file is there still.
pub fn replace_with(
    path: &Path,
    write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    swap_in(path, write, true, None)
}

/// As [`replace`], for what a power cut may damage, since it can be made again.
///
/// # Errors
/// As [`replace`].
pub fn replace_unsynced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    swap_in(path, &mut |file| file.write_all(bytes), false, None)
}

/// As [`replace`], with a program that everyone may run.
///
/// # Errors
/// As [`replace`].
pub fn replace_program(path: &Path, bytes: &[u8]) -> io::Result<()> {
    swap_in(path, &mut |file| file.write_all(bytes), true, Some(0o755))
}

/// `bits` are the new file's mode on Unix; otherwise it has the old one's.
fn swap_in(
    path: &Path,
    write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    sync: bool,
    bits: Option<u32>,
) -> io::Result<()> {
    let old = match fs::symlink_metadata(path) {
        Ok(metadata) if !metadata.is_file() => {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "its place is taken by something that is no ordinary file",
            ));
        }
        Ok(metadata) => Some(metadata.permissions()),
        Err(e) if e.kind() == io::ErrorKind::NotFound => None,
        Err(e) => return Err(e),
    };
    let (temporary, folder) = stage(path, write, sync)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        if let Some(mode) = bits.map(fs::Permissions::from_mode).or(old) {
            temporary.as_file().set_permissions(mode)?;
        }
    }
    #[cfg(not(unix))]
    let _ = (old, bits);
    temporary.persist(path).map_err(|e| e.error)?;
    if sync { sync_folder(folder) } else { Ok(()) }
}

/// Writes a file that must not be there yet, in one step, as [`replace`] does.
///
/// # Errors
/// `AlreadyExists` where anything has its place, a link among it, or whatever the system says.
pub fn create(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if fs::symlink_metadata(path).is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let (temporary, folder) = stage(path, &mut |file| file.write_all(bytes), true)?;
    temporary.persist_noclobber(path).map_err(|e| e.error)?;
    sync_folder(folder)
}

/// The folder that a path is in.
pub fn folder_of(path: &Path) -> &Path {
    path.parent()
        .filter(|p| !p.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// What is written, in a file of a temporary name in the folder that `path` is in.
fn stage<'a>(
    path: &'a Path,
    write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    sync: bool,
) -> io::Result<(tempfile::NamedTempFile, &'a Path)> {
    let folder = folder_of(path);
    let mut builder = tempfile::Builder::new();
    builder.prefix(TEMPORARY);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // As any other file of the checkout: readable by all, as far as the user's mask lets it.
        builder.permissions(fs::Permissions::from_mode(0o644));
    }
    let mut temporary = builder.tempfile_in(folder)?;
    // For `remove_stale`; a file system without locks does as well.
    let _ = temporary.as_file().lock();
    let mut buffered = io::BufWriter::with_capacity(64 << 10, temporary.as_file_mut());
    write(&mut buffered)?;
    buffered.flush()?;
    drop(buffered);
    if sync {
        temporary.as_file().sync_all()?;
    }
    Ok((temporary, folder))
}

/// Holds off other runs of this program that read, change and replace what is in this folder, until the value is
/// dropped. `None` where the file system has no such locks: then the last one wins.
pub fn lock_folder(folder: &Path) -> Option<File> {
    let folder = File::open(folder).ok()?;
    folder.lock().ok()?;
    Some(folder)
}

/// What SQLite keeps beside a database that is in use, or was when its program stopped. The database without it is
/// not whole, and it would be applied to whatever takes the database's place.
pub fn unfinished(database: &Path) -> Option<std::path::PathBuf> {
    ["-wal", "-journal"].iter().find_map(|suffix| {
        let mut name = database.as_os_str().to_owned();
        name.push(suffix);
        let file = std::path::PathBuf::from(name);
        let found = file.symlink_metadata().ok()?;
        (!found.is_file() || found.len() > 0).then_some(file)
    })
}

/// Removes what a killed run of [`replace`] left, so that it does not pile up. What cannot be removed stays: it harms
/// nothing.
pub fn remove_stale(path: &Path) {
    // A run that still writes holds its file's lock, which ends with the run.
    if open(path).is_ok_and(|file| file.try_lock().is_ok()) {
        let _ = fs::remove_file(path);
    }
}

/// Makes a rename in this folder last through a power failure, where the system can.
///
/// # Errors
/// Whatever the system says.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(folder)?.sync_all()
    } else {
        Ok(())
    }
}

/// Creates a file that must not be there yet, readable by its owner alone.
///
/// # Errors
/// `AlreadyExists`, or whatever the system says.
pub fn create_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}
