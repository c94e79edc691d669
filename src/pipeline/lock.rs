//! One build at a time in one checkout. The lock ends with the process that holds it, however that ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;
use std::time::Duration;

use super::RunError;
use crate::git::Repo;

/// How long a build waits for another one: 1,200 times 50 ms.
const TRIES: u32 = 1_200;
const PAUSE: Duration = Duration::from_millis(50);

/// Held while a build writes.
#[derive(Debug)]
pub struct Lock {
    _file: Option<File>,
}

/// Waits for the lock of a registry: a file in its git folder, or, where it lies in no repository, its folder itself.
///
/// # Errors
/// [`RunError`] where another build holds it for a minute, or it cannot be made.
pub fn lock(repo: Option<&Repo>, root: &Path) -> Result<Lock, RunError> {
    let (file, name) = match repo {
        Some(repo) => {
            let folder = repo.git_dir().join("acx");
            let name = folder.join("lock");
            let made = std::fs::create_dir_all(&folder).and_then(|()| {
                OpenOptions::new()
                    .create(true)
                    .truncate(false)
                    .write(true)
                    .open(&name)
            });
            let file = made.map_err(|e| RunError::new(format!("{}: {e}", name.display())))?;
            (file, name)
        }
        // Not every system lets a folder be opened, or locked; such a one has builds outside of git unguarded.
        None => match File::open(root) {
            Ok(file) => (file, root.to_path_buf()),
            Err(_) => return Ok(Lock { _file: None }),
        },
    };
    for _ in 0..TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(Lock { _file: Some(file) }),
            Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
            Err(TryLockError::Error(_)) if repo.is_none() => return Ok(Lock { _file: None }),
            Err(TryLockError::Error(e)) => {
                return Err(RunError::new(format!("{}: {e}", name.display())));
            }
        }
    }
    Err(RunError::new(format!(
        "another build is at work here: {} is locked; wait for it or stop it",
        name.display()
    )))
}
