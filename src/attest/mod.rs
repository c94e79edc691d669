//! Signatures: keys and key ids, DSSE envelopes, in-toto statements, strict Ed25519. Every signature in the project
//! is made and verified here.

mod dsse;
mod key;
mod statement;

pub use key::{KeyError, PrivateKey, PublicKey};
