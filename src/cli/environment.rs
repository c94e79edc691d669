//! What the program takes from its surroundings: the clock, the environment, randomness.

use std::path::{Path, PathBuf};

use acx_registry::attest::PrivateKey;
use acx_registry::author::codebase::{SALT_BYTES, Salt};
use acx_registry::disk;
use acx_registry::git::ObjectFolders;
use acx_registry::keys;
use acx_registry::model::Timestamp;
use acx_registry::report::{Style, escape};

use super::{Failure, output};

/// Bytes of a salt's file.
const LONGEST_SALT: u64 = 4096;

/// The run's one time: now, or `SOURCE_DATE_EPOCH` in seconds.
pub fn now() -> Result<Timestamp, Failure> {
    match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(text) => {
            let seconds: i64 = text.trim().parse().map_err(|_| {
                Failure(format!(
                    "SOURCE_DATE_EPOCH: expected seconds since 1970, found {text:?}"
                ))
            })?;
            Ok(Timestamp::from_unix(seconds)
                .map_err(|e| Failure(format!("SOURCE_DATE_EPOCH: {e}")))?)
        }
        Err(std::env::VarError::NotPresent) => {
            // Whole milliseconds: the text that is signed is the point in time that counts.
            let now = Timestamp::from(jiff::Timestamp::now());
            Ok(Timestamp::try_from(now.as_str())?)
        }
        Err(e) => Err(Failure(format!("SOURCE_DATE_EPOCH: {e}"))),
    }
}

/// Where git says that objects are: during a push, in a quarantine beside the repository's own.
pub fn object_folders() -> Result<ObjectFolders, Failure> {
    let first = std::env::var_os("GIT_OBJECT_DIRECTORY")
        .or_else(|| std::env::var_os("GIT_QUARANTINE_PATH"))
        .filter(|v| !v.is_empty())
        .map(PathBuf::from);
    let others = match std::env::var("GIT_ALTERNATE_OBJECT_DIRECTORIES") {
        Ok(list) => split_folders(&list).ok_or_else(|| {
            Failure("GIT_ALTERNATE_OBJECT_DIRECTORIES: a quoted folder does not end".into())
        })?,
        Err(std::env::VarError::NotPresent) => Vec::new(),
        Err(e) => return Err(Failure(format!("GIT_ALTERNATE_OBJECT_DIRECTORIES: {e}"))),
    };
    Ok(ObjectFolders { first, others })
}

/// Splits git's list of folders. One with the separator or a quote in it stands in double quotes, with backslashes.
fn split_folders(list: &str) -> Option<Vec<PathBuf>> {
    let separator = if cfg!(windows) { ';' } else { ':' };
    let mut folders = Vec::new();
    let mut rest = list;
    while !rest.is_empty() {
        let mut folder = String::new();
        if let Some(quoted) = rest.strip_prefix('"') {
            let mut characters = quoted.char_indices();
            let end = loop {
                match characters.next()? {
                    (at, '"') => break at,
                    (_, '\\') => folder.push(characters.next()?.1),
                    (_, c) => folder.push(c),
                }
            };
            rest = quoted.get(end + 1..)?;
            rest = rest.strip_prefix(separator).unwrap_or(rest);
        } else {
            let (one, more) = rest.split_once(separator).unwrap_or((rest, ""));
            folder.push_str(one);
            rest = more;
        }
        if !folder.is_empty() {
            folders.push(PathBuf::from(folder));
        }
    }
    Some(folders)
}

/// Whether this is a CI job, which never makes a key of its own.
pub fn is_ci() -> bool {
    std::env::var_os("CI").is_some_and(|v| !v.is_empty() && v != "false" && v != "0")
}

/// How reports look: coloured and broken at its width on a terminal that wants it, plain everywhere else.
pub fn style() -> Style {
    let terminal = console::Term::stdout();
    if !terminal.is_term() || is_dumb() {
        return Style::default();
    }
    Style {
        colour: std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
        width: terminal
            .size_checked()
            .map(|(_, columns)| usize::from(columns)),
        ..Style::default()
    }
}

/// Whether someone watches standard error.
pub fn shows_progress() -> bool {
    console::Term::stderr().is_term() && !is_dumb()
}

fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|v| v == "dumb")
}

/// The file that a variable of a CI job names.
pub fn file_of(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable)
        .filter(|v| !v.is_empty())
        .map(PathBuf::from)
}

/// The user's key folder: `ACX_KEY_DIR`, else `acx/keys` in the user's configuration folder.
pub fn key_folder() -> Option<PathBuf> {
    let variable = |name: &str| {
        std::env::var_os(name)
            .filter(|v| !v.is_empty())
            .map(PathBuf::from)
    };
    let configuration = || {
        variable("XDG_CONFIG_HOME")
            .filter(|p| p.is_absolute())
            .or_else(|| {
                variable("HOME")
                    .filter(|p| p.is_absolute())
                    .map(|home| home.join(".config"))
            })
            .or_else(|| variable("APPDATA"))
    };
    variable("ACX_KEY_DIR")
        .or_else(|| configuration().map(|folder| folder.join("acx").join("keys")))
}

/// The file of a registry's signing key in the key folder.
pub fn key_file(registry_id: &str) -> Option<PathBuf> {
    key_folder().map(|folder| folder.join(format!("{registry_id}.pem")))
}

/// Reads a key file, and says so where the owner's group may read it too. One that everyone may read is refused.
pub fn load_key(file: &Path) -> Result<PrivateKey, Failure> {
    let key = keys::load(file)?;
    if keys::is_public(file) {
        return Err(Failure(format!(
            "{}: everyone on this machine may read this key: run `chmod 600` on it, and make another one if somebody has",
            file.display()
        )));
    }
    if keys::is_exposed(file) {
        output::error(&format!(
            "warning: {} can be read by others than its owner; run `chmod 600` on it\n",
            escape(&file.to_string_lossy())
        ));
    }
    Ok(key)
}

/// Makes a key in a file that is not there yet.
pub fn create_key(file: &Path) -> Result<PrivateKey, Failure> {
    Ok(keys::create(file, &random()?)?)
}

/// Reads an installation's salt, and says so where others may read it too or git may take it; `None` where it is
/// absent.
pub fn load_salt(file: &Path) -> Result<Option<Salt>, Failure> {
    let shown = escape(&file.to_string_lossy());
    let bytes = match disk::read(file, LONGEST_SALT) {
        Ok(bytes) => bytes,
        Err(e) if e.is_absent() => return Ok(None),
        Err(e) => return Err(Failure(format!("--salt: {shown}: {e}"))),
    };
    if keys::is_exposed(file) {
        output::error(&format!(
            "warning: {shown} can be read by others than its owner; run `chmod 600` on it\n"
        ));
    }
    if let Some(tree) = work_tree(file) {
        output::error(&format!(
            "warning: {shown} is in a git work tree ({}); never commit it\n",
            escape(&tree.to_string_lossy())
        ));
    }
    let found = bytes.len();
    let salt = Salt::new(bytes).ok_or_else(|| {
        Failure(format!(
            "--salt: {shown}: expected {SALT_BYTES} bytes or more, found {found}"
        ))
    })?;
    Ok(Some(salt))
}

/// 32 random bytes.
pub fn random() -> Result<[u8; 32], Failure> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|e| Failure(format!("the system gives no randomness: {e}")))?;
    Ok(bytes)
}

/// The path without links, as far as it is there.
pub fn real(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let real = path.ancestors().find_map(|there| {
        let rest = path.strip_prefix(there).ok()?;
        Some(there.canonicalize().ok()?.join(rest))
    });
    real.unwrap_or(path)
}

/// The folder of the git work tree that a path is in, if it is in one.
pub fn work_tree(path: &Path) -> Option<PathBuf> {
    let start = path.parent().filter(|p| !p.as_os_str().is_empty());
    let mut folder = start.unwrap_or(Path::new("."));
    // The key's folder may not be there yet.
    while !folder.exists() {
        folder = folder
            .parent()
            .filter(|p| !p.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
    }
    let folder = folder.canonicalize().ok()?;
    let found = folder.ancestors().find(|f| f.join(".git").exists());
    found.map(Path::to_path_buf)
}
