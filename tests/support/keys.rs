//! Ed25519 keys from seeds, with PEM and key ids made by hand.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signer, SigningKey};
use sha2::{Digest, Sha256};

/// A 32-byte key seed made of one byte: plain to read in a test, and never the same as another's.
pub fn seed(byte: u8) -> [u8; 32] {
    [byte; 32]
}

/// The public key of a seed.
pub fn public(seed: &[u8; 32]) -> [u8; 32] {
    SigningKey::from_bytes(seed).verifying_key().to_bytes()
}

/// An Ed25519 signature.
pub fn sign(seed: &[u8; 32], message: &[u8]) -> [u8; 64] {
    SigningKey::from_bytes(seed).sign(message).to_bytes()
}

/// The DER SubjectPublicKeyInfo of RFC 8410.
pub fn spki(public: &[u8; 32]) -> Vec<u8> {
    const HEAD: [u8; 12] = [
        0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00,
    ];
    [&HEAD[..], public].concat()
}

/// The key id of a public key.
pub fn keyid(public: &[u8; 32]) -> String {
    format!("ed25519:{}", hex(&Sha256::digest(spki(public))))
}

/// The public key as SPKI PEM.
pub fn public_pem(public: &[u8; 32]) -> String {
    pem("PUBLIC KEY", &spki(public))
}

/// Writes a private key's file, for its owner alone.
pub fn write_private(file: &std::path::Path, seed: &[u8; 32]) {
    std::fs::write(file, private_pem(seed)).expect("a new file");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o600)).expect("a mode");
    }
}

/// The private key as PKCS#8 PEM.
pub fn private_pem(seed: &[u8; 32]) -> String {
    const HEAD: [u8; 16] = [
        0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04,
        0x20,
    ];
    pem("PRIVATE KEY", &[&HEAD[..], seed].concat())
}

fn pem(label: &str, der: &[u8]) -> String {
    // Both forms fit on one line of 64 characters.
    format!(
        "-----BEGIN {label}-----\n{}\n-----END {label}-----\n",
        STANDARD.encode(der)
    )
}

/// Lower-case hex.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// `sha256:` and the hex digest.
pub fn sha256(bytes: &[u8]) -> String {
    format!("sha256:{}", hex(&Sha256::digest(bytes)))
}
