//! The `git` program, for what changes a work tree or talks to another repository: there it knows the user's filters,
//! hooks and credentials. It gets plain arguments, never a shell.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

use super::GitError;

/// Variables that would point it at another repository than the folder it runs in.
const REPOSITORY_VARIABLES: &[&str] = &[
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_DIR",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_WORK_TREE",
];
/// Bytes of its messages that an error repeats.
const MESSAGE_BYTES: usize = 2000;

/// How it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// It says that all went well.
    pub ok: bool,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// The end of standard error, as text.
    pub message: String,
}

/// Runs git in a folder.
///
/// # Errors
/// When there is no such program.
pub fn run<I, S>(folder: &Path, args: I) -> Result<Ran, GitError>
where
    I: IntoIterator<Item = S>,
    S: AsRef<OsStr>,
{
    let mut command = Command::new("git");
    command
        .arg("-C")
        .arg(folder)
        .args(args)
        .env("LC_ALL", "C")
        .env("GIT_TERMINAL_PROMPT", "0")
        .stdin(Stdio::null());
    for variable in REPOSITORY_VARIABLES {
        command.env_remove(variable);
    }
    let output = command
        .output()
        .map_err(|e| GitError::new(format!("the program `git` cannot be run: {e}")))?;
    let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let cut = message.len().saturating_sub(MESSAGE_BYTES);
    let cut = (cut..message.len())
        .find(|at| message.is_char_boundary(*at))
        .unwrap_or(0);
    Ok(Ran {
        ok: output.status.success(),
        stdout: output.stdout,
        message: message.get(cut..).unwrap_or_default().to_owned(),
    })
}

/// Runs git in a folder, where anything but success is an error.
///
/// # Errors
/// Its own message.
pub fn must<I, S>(folder: &Path, args: I) -> Result<Vec<u8>, GitError>
where
    I: IntoIterator<Item = S>,
    S: AsRef<OsStr>,
{
    let args: Vec<S> = args.into_iter().collect();
    let shown = args
        .first()
        .map(|a| a.as_ref().to_string_lossy().into_owned())
        .unwrap_or_default();
    let ran = run(folder, args)?;
    if ran.ok {
        Ok(ran.stdout)
    } else {
        Err(GitError::new(format!("git {shown}: {}", ran.message)))
    }
}
