//! `issuer-keys.json`: whose level credentials count, by which keys, and what those issuers took back.
//!
//! Read whole or refused, as the publishers' keys are. A status list in it is no more than a credential from elsewhere: one
//! that does not verify leaves the credentials that name it unresolved, and stops nothing.

use std::collections::BTreeMap;

use super::is_own;
use super::status::{MOST_BYTES_TOGETHER, StatusList};
use crate::attest::PublicKey;
use crate::model::{Digest, Json, KeyId, shorten};
use crate::policy::{ConfigError, bounded, conforms, parsed, refuse_private};
use crate::schema::ISSUER_KEYS;

/// The file's name in a registry.
pub const ISSUER_KEYS_FILE: &str = "issuer-keys.json";

/// A key, and whose it is.
#[derive(Debug, Clone)]
pub(super) struct IssuerKey {
    pub(super) issuer: String,
    pub(super) key: PublicKey,
}

/// The issuers' keys and status lists, valid. The default has none: then every claim stays unproven.
#[derive(Debug, Clone, Default)]
pub struct IssuerKeys {
    /// By verification method.
    keys: BTreeMap<String, IssuerKey>,
    /// By id.
    lists: BTreeMap<String, StatusList>,
    digest: Option<Digest>,
}

impl IssuerKeys {
    /// Bytes that the file may have.
    pub const MAX_BYTES: usize = 16 << 20;

    /// Reads the file.
    ///
    /// # Errors
    /// [`ConfigError`] with the first field that is not as it must be; it never repeats private key material.
    pub fn parse(bytes: &[u8]) -> Result<Self, ConfigError> {
        let refuse = |at: String, message: String| ConfigError::new(ISSUER_KEYS_FILE, at, message);
        bounded(ISSUER_KEYS_FILE, bytes.len(), Self::MAX_BYTES)?;
        let document = parsed(ISSUER_KEYS_FILE, bytes);
        refuse_private(ISSUER_KEYS_FILE, bytes, document.as_ref().ok())?;
        let document = document?;
        conforms(ISSUER_KEYS_FILE, &ISSUER_KEYS, &document)?;
        let list = |value: &Json, name: &str| -> Vec<Json> {
            let items = value.get(name).and_then(Json::as_array);
            items.cloned().unwrap_or_default()
        };
        let text = |value: &Json, name: &str| {
            let text = value.get(name).and_then(Json::as_str);
            text.unwrap_or_default().to_owned()
        };
        let mut new = Self {
            digest: Some(Digest::of(bytes)),
            ..Self::default()
        };
        let mut issuers = std::collections::BTreeSet::new();
        for (at, issuer) in list(&document, "issuers").iter().enumerate() {
            let id = text(issuer, "id");
            let shown = shorten(&id);
            if !issuers.insert(id.clone()) {
                let message =
                    format!("expected each issuer once, found {shown:?} again; merge the two");
                return Err(refuse(format!("/issuers/{at}/id"), message));
            }
            for (place, key) in list(issuer, "keys").iter().enumerate() {
                let field = |name: &str| format!("/issuers/{at}/keys/{place}/{name}");
                let method = text(key, "verificationMethod");
                if !is_own(&method, &id) {
                    let found = shorten(&method);
                    let message = format!(
                        "expected a method of its issuer: {shown:?}, or that and `#…`; found {found:?}; list it under its own issuer"
                    );
                    return Err(refuse(field("verificationMethod"), message));
                }
                let key = PublicKey::from_pem(&text(key, "publicKeyPem")).map_err(|e| {
                    let message = format!(
                        "expected the PEM of a usable Ed25519 public key, found {e}; ask the issuer for the right key"
                    );
                    refuse(field("publicKeyPem"), message)
                })?;
                let issuer = id.clone();
                if new
                    .keys
                    .insert(method.clone(), IssuerKey { issuer, key })
                    .is_some()
                {
                    let found = shorten(&method);
                    let message = format!(
                        "expected each method once, found {found:?} again; remove one entry"
                    );
                    return Err(refuse(field("verificationMethod"), message));
                }
            }
        }
        let mut left = MOST_BYTES_TOGETHER;
        for (at, document) in list(&document, "statusLists").into_iter().enumerate() {
            let id = text(&document, "id");
            let status;
            (status, left) = StatusList::new(document, left);
            if new.lists.insert(id.clone(), status).is_some() {
                let found = shorten(&id);
                let message = format!(
                    "expected each status list once, found {found:?} again; keep the newest"
                );
                return Err(refuse(format!("/statusLists/{at}/id"), message));
            }
        }
        Ok(new)
    }

    /// Holds the file against the digest that a policy pins, if it pins one.
    ///
    /// # Errors
    /// [`ConfigError`] where it is another, or there is none.
    pub fn pinned(&self, pin: Option<&Digest>) -> Result<(), ConfigError> {
        let Some(pin) = pin.filter(|pin| Some(*pin) != self.digest.as_ref()) else {
            return Ok(());
        };
        let found = self
            .digest
            .map_or_else(|| "no file".to_owned(), |d| d.to_string());
        let message = format!(
            "expected the file that the policy pins ([levels] issuer_keys_sha256), {pin}, found {found}; restore it, or pin the new one"
        );
        Err(ConfigError::new(ISSUER_KEYS_FILE, "", message))
    }

    /// The key of a method, else the one that is listed for the issuer as a whole.
    pub(super) fn key(&self, method: &str, issuer: &str) -> Option<&IssuerKey> {
        self.keys.get(method).or_else(|| self.keys.get(issuer))
    }

    /// Whether a key is one of an issuer's.
    pub(super) fn owns(&self, issuer: &str, key: &KeyId) -> bool {
        self.keys
            .values()
            .any(|listed| listed.issuer == issuer && listed.key.id() == key)
    }

    pub(super) fn list(&self, id: &str) -> Option<&StatusList> {
        self.lists.get(id)
    }
}
