//! Git's hooks that call this program, put into a repository and taken out of it. What others put there stays theirs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::Repo;
use crate::disk;

/// The line by which a hook of ours is known.
const MARK: &str = "# acx-registry hook";
/// What a hook is called that was there before and still runs first.
const BEFORE: &str = ".before-acx";
/// Bytes of a hook that are looked at.
const HOOK_BYTES: u64 = 1 << 20;

/// The server that runs the hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Server {
    /// Git itself: one file, `hooks/<name>`.
    Git,
    /// Gitea and Forgejo: their own `hooks/<name>` runs every file in `hooks/<name>.d`.
    Gitea,
    /// GitLab: every file in `custom_hooks/<name>.d`.
    Gitlab,
}

/// A hook by git's name of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hook {
    /// Judges a push before it lands.
    PreReceive,
    /// Builds the index after it.
    PostReceive,
}

impl Hook {
    /// Git's name, which is that of the command too.
    pub fn name(self) -> &'static str {
        match self {
            Self::PreReceive => "pre-receive",
            Self::PostReceive => "post-receive",
        }
    }
}

/// Why nothing was changed.
#[derive(Debug)]
pub struct HookError(String);

impl std::fmt::Display for HookError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for HookError {}

fn failed(path: &Path) -> impl Fn(io::Error) -> HookError {
    move |e| HookError(format!("{}: {e}", path.display()))
}

/// What stands where a hook goes.
enum Found {
    Nothing,
    Ours,
    Foreign,
}

fn found(file: &Path) -> Result<Found, HookError> {
    let about = match file.symlink_metadata() {
        Ok(about) => about,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(e) => return Err(failed(file)(e)),
    };
    if !about.is_file() {
        return Ok(Found::Foreign);
    }
    let bytes =
        disk::read(file, HOOK_BYTES).map_err(|e| HookError(format!("{}: {e}", file.display())))?;
    let ours = bytes.split(|b| *b == b'\n').nth(1) == Some(MARK.as_bytes());
    Ok(if ours { Found::Ours } else { Found::Foreign })
}

/// The git folder that all work trees share, by its plain name.
fn folder_of(repo: &Repo) -> Result<PathBuf, HookError> {
    let folder = repo.common_dir();
    folder.canonicalize().map_err(failed(&folder))
}

/// The kind of server, by the folders that it makes in each repository.
pub fn server_of(git_dir: &Path) -> Server {
    if git_dir.join("custom_hooks").is_dir() {
        Server::Gitlab
    } else if git_dir.join("hooks/pre-receive.d").is_dir() {
        Server::Gitea
    } else {
        Server::Git
    }
}

/// The file that a hook goes to.
fn place(git_dir: &Path, server: Server, hook: Hook) -> PathBuf {
    let name = hook.name();
    match server {
        Server::Git => git_dir.join("hooks").join(name),
        Server::Gitea => git_dir.join("hooks").join(format!("{name}.d")).join("acx"),
        Server::Gitlab => git_dir
            .join("custom_hooks")
            .join(format!("{name}.d"))
            .join("acx"),
    }
}

fn before(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(BEFORE);
    PathBuf::from(name)
}

/// The hook's text. `program` is one word of a POSIX shell.
fn script(program: &str, hook: Hook, chained: bool) -> String {
    let name = hook.name();
    let what = match hook {
        Hook::PreReceive => "nothing can be checked and nothing is accepted",
        Hook::PostReceive => "the index was not rebuilt and does not list what was pushed",
    };
    let run = if chained {
        format!(
            "# The hook that was here before runs first, with the same lines.\n\
             lines=$(cat && echo .) || exit 1\n\
             lines=${{lines%.}}\n\
             printf '%s' \"$lines\" | \"$0{BEFORE}\" \"$@\" || exit 1\n\
             printf '%s' \"$lines\" | \"$acx\" {name}\n"
        )
    } else {
        format!("exec \"$acx\" {name}\n")
    };
    format!(
        "#!/bin/sh\n{MARK}\n\
         # Made by `acx hook install`; `acx hook uninstall` takes it out again.\n\
         acx={program}\n\
         if ! [ -x \"$acx\" ]; then\n\
         \x20   echo \"{name}: $acx is not there or cannot be run, so {what}.\" >&2\n\
         \x20   echo \"Ask the registry's maintainers to install it.\" >&2\n\
         \x20   exit 1\n\
         fi\n{run}"
    )
}

/// A hook's place, looked at before anything is changed.
struct Plan {
    hook: Hook,
    file: PathBuf,
    /// Another hook is kept beside it and runs first.
    chained: bool,
    /// That is still to be done.
    keep: bool,
}

/// Installs hooks, or installs them anew; gives their files. With `chain`, a foreign hook in a hook's place is kept
/// beside it and runs first: what it refuses is refused.
///
/// # Errors
/// [`HookError`] where a foreign hook has a place, where a hook would not run, or where a file cannot be written. All
/// places are looked at before the first is changed.
pub fn install(
    repo: &Repo,
    server: Server,
    hooks: &[Hook],
    program: &str,
    chain: bool,
) -> Result<Vec<PathBuf>, HookError> {
    let git_dir = folder_of(repo)?;
    let elsewhere = repo
        .text_setting("core.hooksPath")
        .filter(|_| server != Server::Gitlab);
    if let Some(elsewhere) = elsewhere {
        return Err(HookError(format!(
            "git runs no hook of this repository: its configuration says core.hooksPath = {elsewhere}; unset it first"
        )));
    }
    let plans: Vec<Plan> = hooks
        .iter()
        .map(|hook| plan(&git_dir, server, *hook, chain))
        .collect::<Result<_, _>>()?;
    plans.into_iter().map(|plan| put(plan, program)).collect()
}

fn plan(git_dir: &Path, server: Server, hook: Hook, chain: bool) -> Result<Plan, HookError> {
    let file = place(git_dir, server, hook);
    let folder = disk::folder_of(&file);
    // A folder of hooks may be a link to one that other repositories share.
    for shared in [folder, disk::folder_of(folder)] {
        if shared.starts_with(git_dir)
            && shared != git_dir
            && shared.symlink_metadata().is_ok_and(|about| !about.is_dir())
        {
            return Err(HookError(format!(
                "{}: expected a folder, found a link or a file; a hook there would be one of other repositories too",
                shared.display()
            )));
        }
    }
    let kept = before(&file);
    let refused = |place: &Path, why: &str| Err(HookError(format!("{}: {why}", place.display())));
    let (chained, keep) = match found(&file)? {
        Found::Nothing => (false, false),
        Found::Ours => (kept.symlink_metadata().is_ok(), false),
        Found::Foreign if server != Server::Git => {
            return refused(
                &file,
                "another hook is there; the server runs every file of this folder, so name it otherwise",
            );
        }
        Found::Foreign if !chain => {
            return refused(
                &file,
                "another hook is there; --chain keeps it, and it runs first",
            );
        }
        Found::Foreign if !is_program(&file) => {
            return refused(
                &file,
                "expected a program, found what git cannot run; move it away first",
            );
        }
        Found::Foreign if kept.symlink_metadata().is_ok() => {
            return refused(
                &kept,
                "a hook of an earlier installation is kept there; move it away first",
            );
        }
        Found::Foreign => (true, true),
    };
    Ok(Plan {
        hook,
        file,
        chained,
        keep,
    })
}

/// Whether git would run the file.
fn is_program(file: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        file.metadata()
            .is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
    }
    #[cfg(not(unix))]
    {
        file.is_file()
    }
}

fn put(plan: Plan, program: &str) -> Result<PathBuf, HookError> {
    let Plan { file, .. } = &plan;
    let folder = disk::folder_of(file);
    fs::create_dir_all(folder).map_err(failed(folder))?;
    if plan.keep {
        let kept = before(file);
        // Another name first: at no time is there no hook.
        fs::hard_link(file, &kept).map_err(failed(&kept))?;
    }
    let text = script(program, plan.hook, plan.chained);
    let written = if plan.keep && file.is_symlink() {
        // A link was kept as it is; what takes its place is a file.
        fs::remove_file(file).and_then(|()| disk::replace_program(file, text.as_bytes()))
    } else {
        disk::replace_program(file, text.as_bytes())
    };
    written.map_err(failed(file))?;
    Ok(plan.file)
}

/// Takes a hook of ours out, and puts back what was there before; gives its file, or nothing where there was none.
///
/// # Errors
/// [`HookError`] where it cannot be removed.
pub fn uninstall(repo: &Repo, server: Server, hook: Hook) -> Result<Option<PathBuf>, HookError> {
    let file = place(&folder_of(repo)?, server, hook);
    match found(&file)? {
        Found::Nothing | Found::Foreign => return Ok(None),
        Found::Ours => {}
    }
    let kept = before(&file);
    let done = if kept.symlink_metadata().is_ok() {
        fs::rename(&kept, &file)
    } else {
        fs::remove_file(&file)
    };
    done.map_err(failed(&file))?;
    Ok(Some(file))
}
