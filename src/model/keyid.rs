//! Key ids: `ed25519:` and the hex SHA-256 of the DER SubjectPublicKeyInfo.

use super::hex;

/// The id of an Ed25519 public key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(String);

impl KeyId {
    /// The id of the key whose DER SubjectPublicKeyInfo these bytes are.
    pub fn of_spki(der: &[u8]) -> Self {
        Self(format!("ed25519:{}", super::Digest::of(der).hex()))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn check(text: &str) -> bool {
        text.strip_prefix("ed25519:")
            .is_some_and(|digits| hex::is_hex(digits, 64))
    }
}

super::checked_text!(KeyId, "`ed25519:` and 64 lower-case hex digits");
