//! Private keys as files: made with mode 0600, never overwritten, never printed.

use std::path::{Path, PathBuf};

use crate::attest::PrivateKey;
use crate::disk;

/// Bytes of a key file that are read.
const KEY_BYTES: u64 = 16 << 10;

/// Why a key could not be had: the file and the reason, never the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyFileError {
    /// The file.
    pub file: PathBuf,
    /// Why.
    pub message: String,
}

impl std::fmt::Display for KeyFileError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.file.display(), self.message)
    }
}

impl std::error::Error for KeyFileError {}

fn error(file: &Path, message: impl std::fmt::Display) -> KeyFileError {
    KeyFileError {
        file: file.to_path_buf(),
        message: message.to_string(),
    }
}

/// Reads a private key's PEM file.
///
/// # Errors
/// [`KeyFileError`] where the file cannot be read or is no unencrypted PKCS#8 Ed25519 key.
pub fn load(file: &Path) -> Result<PrivateKey, KeyFileError> {
    let bytes = disk::read(file, KEY_BYTES).map_err(|e| match e.is_absent() {
        true => error(file, "there is no such key; `acx key generate` makes one"),
        false => error(file, e),
    })?;
    let text = String::from_utf8(bytes).map_err(|_| error(file, "expected PEM text"))?;
    PrivateKey::from_pem(&text).map_err(|e| error(file, e))
}

/// Whether others than the owner may read or change the file; false where the system has no such notion.
pub fn is_exposed(file: &Path) -> bool {
    has_mode(file, 0o077)
}

/// Whether everyone may read or change the file; false where the system has no such notion.
pub fn is_public(file: &Path) -> bool {
    has_mode(file, 0o007)
}

fn has_mode(file: &Path, bits: u32) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        file.metadata()
            .is_ok_and(|m| m.permissions().mode() & bits != 0)
    }
    #[cfg(not(unix))]
    {
        let _ = (file, bits);
        false
    }
}

/// Makes a key out of 32 random bytes and writes it to a file that must not be there yet, with mode 0600; folders on
/// the way are made with mode 0700.
///
/// # Errors
/// [`KeyFileError`].
pub fn create(file: &Path, seed: &[u8; 32]) -> Result<PrivateKey, KeyFileError> {
    let key = PrivateKey::from_seed(seed).map_err(|e| error(file, e))?;
    let pem = key.to_pem().map_err(|e| error(file, e))?;
    if let Some(folder) = file.parent().filter(|f| !f.as_os_str().is_empty()) {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::DirBuilderExt as _;
            builder.mode(0o700);
        }
        builder.create(folder).map_err(|e| error(folder, e))?;
    }
    disk::create_private(file, pem.as_bytes()).map_err(|e| match e.kind() {
        std::io::ErrorKind::AlreadyExists => error(
            file,
            "is there already, and no key is ever overwritten: name another file",
        ),
        _ => error(file, e),
    })?;
    Ok(key)
}
