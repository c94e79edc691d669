//! Signatures: keys and key ids, DSSE envelopes, in-toto statements, strict Ed25519. Every signature in the project
//! is made and verified here.

mod dsse;
mod key;
mod statement;

pub use dsse::{Envelope, EnvelopeError, SignatureError, pae, sign, verify};

pub use key::{KeyError, PrivateKey, PublicKey};
pub use statement::{PAYLOAD_TYPE, STATEMENT_TYPE, Statement, StatementError, Subject};
