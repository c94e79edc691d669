//! `init`: a new registry from the template, with its first signed index.
//!
//! Everything is made in a temporary folder inside the new one and moved to its place at the end, the index last. What
//! fails leaves nothing behind.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::publish::{NotPublished, plan_publication};
use super::{BuildOptions, Mode, Output, RunError, build};
use crate::attest::PrivateKey;
use crate::author::{self, Example, ExportOptions, TEMPLATE, Tool};
use crate::discover::INDEX;
use crate::disk::TEMPORARY;
use crate::model::{Coordinate, PublisherId, Timestamp};
use crate::registry::{POLICY_FILE, Registry};
use crate::report::ACCEPTED;

/// What a new registry depends on.
#[derive(Debug, Clone, Copy)]
pub struct InitOptions<'a> {
    /// Its id.
    pub registry_id: &'a str,
    /// The key that signs its index.
    pub key: &'a PrivateKey,
    /// Example packages to publish in it, each with its publisher's key.
    pub examples: &'a [(Example, &'a PrivateKey)],
    /// Where its GitHub workflows take this program from; without it there are none.
    pub tool: Option<&'a Tool>,
    /// The run's one time.
    pub now: &'a Timestamp,
}

/// A registry that was founded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Founded {
    /// Its files by path, sorted.
    pub files: Vec<String>,
    /// The example cartridges in it.
    pub examples: Vec<Coordinate>,
}

/// Whether a registry may be founded here: in a folder that is not there, is empty, or holds nothing but `.git`.
///
/// # Errors
/// [`RunError`] says what is there.
pub fn vacant(folder: &Path) -> Result<(), RunError> {
    let shown = folder.display();
    let failed = |e: io::Error| RunError::new(format!("{shown}: {e}"));
    match folder.symlink_metadata() {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(failed(e)),
        Ok(found) if !found.is_dir() => {
            return Err(RunError::new(format!(
                "{shown}: expected a new or an empty folder, found a file or a link"
            )));
        }
        Ok(_) => {}
    }
    for entry in fs::read_dir(folder).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        // What a killed run left is removed by the next build.
        if name != ".git" && !name.to_string_lossy().starts_with(TEMPORARY) {
            return Err(RunError::new(format!(
                "{shown}: expected a new or an empty folder, found {:?} in it; name another folder",
                name.to_string_lossy()
            )));
        }
    }
    Ok(())
}

/// Founds a registry.
///
/// # Errors
/// [`RunError`]; then the folder is as it was.
pub fn init(folder: &Path, options: &InitOptions<'_>) -> Result<Founded, RunError> {
    vacant(folder)?;
    let made = make_folder(folder)?;
    let founded = found(folder, options);
    if let (Err(_), Some(made)) = (&founded, made) {
        // It was not there before, so nothing of anyone else's is in it.
        let _ = fs::remove_dir_all(made);
    }
    founded
}

/// Makes the folder; gives the topmost folder that was made.
fn make_folder(folder: &Path) -> Result<Option<PathBuf>, RunError> {
    let topmost = folder
        .ancestors()
        .take_while(|f| !f.as_os_str().is_empty() && f.symlink_metadata().is_err())
        .last()
        .map(Path::to_path_buf);
    fs::create_dir_all(folder).map_err(|e| RunError::new(format!("{}: {e}", folder.display())))?;
    Ok(topmost)
}

fn found(folder: &Path, options: &InitOptions<'_>) -> Result<Founded, RunError> {
    let failed = |e: io::Error| RunError::new(format!("{}: {e}", folder.display()));
    let temporary = tempfile::Builder::new()
        .prefix(TEMPORARY)
        .tempdir_in(folder)
        .map_err(failed)?;
    let root = temporary.path();
    for file in TEMPLATE {
        let made;
        let bytes = if file.path == POLICY_FILE {
            made = author::policy(options.registry_id, options.key.public().id())
                .map_err(RunError::new)?
                .into_bytes();
            &made
        } else if file.is_workflow() {
            let Some(tool) = options.tool else {
                continue;
            };
            made = author::workflow(file.bytes, tool);
            &made
        } else {
            file.bytes
        };
        write(&root.join(file.path), bytes, file.executable).map_err(failed)?;
    }
    let registry = Registry::load(root, options.now).map_err(|e| RunError::new(e.to_string()))?;
    let mut examples = Vec::new();
    for (example, key) in options.examples {
        examples.push(publish(&registry, example, key, options.now)?);
    }
    let built = build(
        &registry,
        &mut Output::Folder(root.to_path_buf()),
        &BuildOptions {
            fail_on_reject: true,
            ..BuildOptions::new(Mode::Write, options.now, Some(options.key))
        },
    )?;
    if built.exit_status() != ACCEPTED {
        return Err(RunError::new("the new registry's own index was refused"));
    }
    let files = list(root).map_err(failed)?;
    settle(root, folder).map_err(failed)?;
    Ok(Founded { files, examples })
}

fn publish(
    registry: &Registry,
    example: &Example,
    key: &PrivateKey,
    now: &Timestamp,
) -> Result<Coordinate, RunError> {
    let publisher =
        PublisherId::try_from(example.publisher).map_err(|e| RunError::new(e.to_string()))?;
    let options = ExportOptions {
        publisher: &publisher,
        key,
        now,
        id: None,
        version: None,
        include_field_learned: false,
        salt: None,
    };
    let exported = author::export(&example.package(), &options)
        .map_err(|e| RunError::new(format!("the example of {publisher}: {e}")))?;
    let name = exported.coordinate.to_string();
    let publication =
        plan_publication(registry, &name, &exported.bytes, now).map_err(|e| match e {
            NotPublished::Failed(error) => error,
            NotPublished::Rejected(_) => {
                RunError::new(format!("the example {name} would be refused"))
            }
        })?;
    publication.write(registry, &exported.bytes)?;
    Ok(publication.coordinate)
}

fn write(path: &Path, bytes: &[u8], executable: bool) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(if executable { 0o755 } else { 0o644 });
    }
    #[cfg(not(unix))]
    let _ = executable;
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Every file below the root by its path, sorted.
fn list(root: &Path) -> io::Result<Vec<String>> {
    let mut files = Vec::new();
    for entry in walkdir::WalkDir::new(root).sort_by_file_name() {
        let entry = entry.map_err(io::Error::other)?;
        if entry.file_type().is_file()
            && let Ok(path) = entry.path().strip_prefix(root)
        {
            files.push(path.to_string_lossy().replace('\\', "/"));
        }
    }
    files.sort();
    Ok(files)
}

/// Moves everything of the temporary folder to its place, the index last. What was moved is removed where one cannot be.
fn settle(from: &Path, to: &Path) -> io::Result<()> {
    let mut names: Vec<_> = fs::read_dir(from)?
        .map(|entry| entry.map(|e| e.file_name()))
        .collect::<io::Result<_>>()?;
    names.sort_by_key(|name| (name == INDEX, name.clone()));
    for (done, name) in names.iter().enumerate() {
        let target = to.join(name);
        let moved = match target.symlink_metadata() {
            // A rename would replace it.
            Ok(_) => Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "something was put into the folder meanwhile",
            )),
            Err(_) => fs::rename(from.join(name), &target),
        };
        if let Err(error) = moved {
            for name in names.iter().take(done) {
                let _ = fs::rename(to.join(name), from.join(name));
            }
            return Err(error);
        }
    }
    crate::disk::sync_folder(to)
}
