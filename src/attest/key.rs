//! Ed25519 keys as PEM (SPKI and PKCS#8, RFC 8410) and their key ids.

use ed25519_dalek::pkcs8::{
    DecodePrivateKey, DecodePublicKey, EncodePrivateKey, EncodePublicKey, KeypairBytes,
    spki::der::pem::LineEnding,
};
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};

use crate::model::KeyId;

/// Why a text is no usable key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyError {
    /// Not the PEM of an Ed25519 key.
    NotEd25519,
    /// A point of small order, under which one signature verifies for many messages.
    Weak,
    /// The key file is encrypted or of another form than PKCS#8.
    NotPkcs8,
}

impl std::fmt::Display for KeyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::NotEd25519 => "not the PEM SubjectPublicKeyInfo of an Ed25519 key",
            Self::Weak => "an Ed25519 key of small order, under which one signature verifies for many messages",
            Self::NotPkcs8 => "not an unencrypted PKCS#8 PEM of an Ed25519 private key",
        })
    }
}

impl std::error::Error for KeyError {}

/// An Ed25519 public key that is no small-order point, with its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey {
    key: VerifyingKey,
    id: KeyId,
    pem: String,
}

impl PublicKey {
    /// Longest PEM that is looked at, in bytes; an Ed25519 key takes 113.
    const LONGEST_PEM: usize = 1024;

    /// Reads an SPKI PEM.
    ///
    /// # Errors
    /// [`KeyError::NotEd25519`] and [`KeyError::Weak`].
    pub fn from_pem(pem: &str) -> Result<Self, KeyError> {
        if pem.len() > Self::LONGEST_PEM {
            return Err(KeyError::NotEd25519);
        }
        let key = VerifyingKey::from_public_key_pem(pem).map_err(|_| KeyError::NotEd25519)?;
        Self::from_key(key)
    }

    fn from_key(key: VerifyingKey) -> Result<Self, KeyError> {
        if key.is_weak() {
            return Err(KeyError::Weak);
        }
        let der = key.to_public_key_der().map_err(|_| KeyError::NotEd25519)?;
        let pem = key
            .to_public_key_pem(LineEnding::LF)
            .map_err(|_| KeyError::NotEd25519)?;
        Ok(Self {
            key,
            id: KeyId::of_spki(der.as_bytes()),
            pem,
        })
    }

    /// The key's id.
    pub fn id(&self) -> &KeyId {
        &self.id
    }

    /// The key as SPKI PEM.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// Strict verification: canonical S and R, no small-order key or R. The only one there is: envelopes and Data
    /// Integrity proofs both end here.
    pub(crate) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        Signature::from_slice(signature).is_ok_and(|s| self.key.verify_strict(message, &s).is_ok())
    }
}

/// An Ed25519 private key. Never printed: `Debug` shows the id alone.
pub struct PrivateKey {
    key: SigningKey,
    public: PublicKey,
}

impl std::fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PrivateKey({})", self.public.id)
    }
}

impl PrivateKey {
    /// The key of a 32-byte seed.
    ///
    /// # Errors
    /// None for any seed in practice; the type keeps the public half's check in one place.
    pub fn from_seed(seed: &[u8; 32]) -> Result<Self, KeyError> {
        let key = SigningKey::from_bytes(seed);
        let public = PublicKey::from_key(key.verifying_key())?;
        Ok(Self { key, public })
    }

    /// Reads an unencrypted PKCS#8 PEM.
    ///
    /// # Errors
    /// [`KeyError::NotPkcs8`].
    pub fn from_pem(pem: &str) -> Result<Self, KeyError> {
        let key = SigningKey::from_pkcs8_pem(pem.trim_start()).map_err(|_| KeyError::NotPkcs8)?;
        let public = PublicKey::from_key(key.verifying_key())?;
        Ok(Self { key, public })
    }

    /// The key as PKCS#8 PEM, for its file.
    ///
    /// # Errors
    /// [`KeyError::NotPkcs8`] where it cannot be encoded.
    pub fn to_pem(&self) -> Result<String, KeyError> {
        // Version 1, without the public half: OpenSSL 3.0 and what is built on it read no other.
        let key = KeypairBytes {
            secret_key: self.key.to_bytes(),
            public_key: None,
        };
        let pem = key.to_pkcs8_pem(LineEnding::LF);
        Ok(pem.map_err(|_| KeyError::NotPkcs8)?.to_string())
    }

    /// The public half.
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    pub(super) fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.key.sign(message).to_bytes()
    }
}
