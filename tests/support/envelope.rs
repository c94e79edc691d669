//! The DSSE envelope and its row in `signatures`, with every part open to an attack.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose as b64;
use serde_json::{Value, json};

use super::jcs::jcs;
use super::keys;

/// A change to a JSON value.
pub type Edit = Arc<dyn Fn(&mut Value) + Send + Sync>;

/// How the envelope writes bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Base64 {
    Standard,
    StandardBare,
    Url,
    UrlBare,
}

impl Base64 {
    pub fn encode(self, bytes: &[u8]) -> String {
        match self {
            Self::Standard => b64::STANDARD.encode(bytes),
            Self::StandardBare => b64::STANDARD_NO_PAD.encode(bytes),
            Self::Url => b64::URL_SAFE.encode(bytes),
            Self::UrlBare => b64::URL_SAFE_NO_PAD.encode(bytes),
        }
    }
}

/// What stands in `public_key_pem`.
#[derive(Clone)]
pub enum Pem {
    Own,
    Absent,
    Text(String),
}

/// How the cartridge is signed. `None` everywhere means: as an honest signer would.
#[derive(Clone)]
pub struct Envelope {
    /// The signing key's seed.
    pub seed: [u8; 32],
    /// No `signatures` row at all.
    pub absent: bool,
    pub payload_type: String,
    pub base64: Base64,
    /// Changes to the statement that are signed.
    pub edit_statement: Vec<Edit>,
    /// The signed payload, whole, in place of the statement's JCS.
    pub payload: Option<Vec<u8>>,
    /// The statement is signed pretty-printed instead of canonical.
    pub pretty: bool,
    /// Changes to the statement that are made after signing.
    pub edit_after: Vec<Edit>,
    /// The key id inside the envelope.
    pub keyid: Option<String>,
    /// The key id in the row.
    pub row_keyid: Option<String>,
    pub pem: Pem,
    pub alg: String,
    /// The signature's bytes.
    pub sig: Option<Vec<u8>>,
    /// Further entries `{keyid, sig}`: those before the own one, then those after it.
    pub signatures_before: Vec<Value>,
    pub signatures_after: Vec<Value>,
    /// Changes to the envelope object.
    pub edit_envelope: Vec<Edit>,
    /// The envelope's text, whole.
    pub text: Option<String>,
    pub row_manifest_hash: Option<String>,
    pub target: String,
    pub created_at: String,
    pub signed_at: String,
}

/// What the statement is about.
pub struct Subject<'a> {
    pub cartridge_id: &'a str,
    pub publisher: &'a str,
    pub manifest_hash: &'a str,
    pub checksum_hash: &'a str,
    pub objects: usize,
    pub engine: &'a Value,
}

impl Envelope {
    pub fn new(seed: [u8; 32]) -> Self {
        let time = "2026-07-16T00:00:00.000Z";
        Self {
            seed,
            absent: false,
            payload_type: "application/vnd.in-toto+json".to_owned(),
            base64: Base64::Standard,
            edit_statement: Vec::new(),
            payload: None,
            pretty: false,
            edit_after: Vec::new(),
            keyid: None,
            row_keyid: None,
            pem: Pem::Own,
            alg: "ed25519".to_owned(),
            sig: None,
            signatures_before: Vec::new(),
            signatures_after: Vec::new(),
            edit_envelope: Vec::new(),
            text: None,
            row_manifest_hash: None,
            target: "rom-manifest".to_owned(),
            created_at: time.to_owned(),
            signed_at: time.to_owned(),
        }
    }

    /// Signs the statement after this change.
    pub fn statement(&mut self, edit: impl Fn(&mut Value) + Send + Sync + 'static) {
        self.edit_statement.push(Arc::new(edit));
    }

    /// Changes the statement once it is signed.
    pub fn after(&mut self, edit: impl Fn(&mut Value) + Send + Sync + 'static) {
        self.edit_after.push(Arc::new(edit));
    }

    /// Changes the finished envelope object.
    pub fn envelope(&mut self, edit: impl Fn(&mut Value) + Send + Sync + 'static) {
        self.edit_envelope.push(Arc::new(edit));
    }

    pub fn own_keyid(&self) -> String {
        keys::keyid(&keys::public(&self.seed))
    }

    /// The row's key id.
    pub fn keyid_column(&self) -> String {
        self.row_keyid.clone().unwrap_or_else(|| self.own_keyid())
    }

    /// The row's public key.
    pub fn pem_column(&self) -> Option<String> {
        match &self.pem {
            Pem::Own => Some(keys::public_pem(&keys::public(&self.seed))),
            Pem::Absent => None,
            Pem::Text(text) => Some(text.clone()),
        }
    }

    /// The envelope's text.
    pub fn seal(&self, subject: &Subject<'_>) -> String {
        if let Some(text) = &self.text {
            return text.clone();
        }
        let mut statement = self.honest_statement(subject);
        for edit in &self.edit_statement {
            edit(&mut statement);
        }
        let signed = self.payload.clone().unwrap_or_else(|| {
            if self.pretty {
                format!("{statement:#}").into_bytes()
            } else {
                jcs(&statement).into_bytes()
            }
        });
        let sig = self
            .sig
            .clone()
            .unwrap_or_else(|| keys::sign(&self.seed, &self.pae(&signed)).to_vec());
        let shown = if self.edit_after.is_empty() {
            signed
        } else {
            for edit in &self.edit_after {
                edit(&mut statement);
            }
            jcs(&statement).into_bytes()
        };
        let keyid = self.keyid.clone().unwrap_or_else(|| self.own_keyid());
        let mut signatures = self.signatures_before.clone();
        signatures.push(json!({"keyid": keyid, "sig": self.base64.encode(&sig)}));
        signatures.extend(self.signatures_after.clone());
        let mut envelope = json!({
            "payloadType": self.payload_type,
            "payload": self.base64.encode(&shown),
            "signatures": signatures,
        });
        for edit in &self.edit_envelope {
            edit(&mut envelope);
        }
        envelope.to_string()
    }

    /// DSSE's pre-authentication encoding.
    pub fn pae(&self, payload: &[u8]) -> Vec<u8> {
        let head = format!(
            "DSSEv1 {} {} {} ",
            self.payload_type.len(),
            self.payload_type,
            payload.len()
        );
        [head.as_bytes(), payload].concat()
    }

    fn honest_statement(&self, subject: &Subject<'_>) -> Value {
        let digest = subject.manifest_hash.trim_start_matches("sha256:");
        json!({
            "_type": "https://in-toto.io/Statement/v1",
            "subject": [{"name": subject.cartridge_id, "digest": {"sha256": digest}}],
            "predicateType": "https://acx.dev/attestation/cartridge/v1",
            "predicate": {
                "acxSchemaVersion": "0.1",
                "publisherId": subject.publisher,
                "romDigest": subject.manifest_hash,
                "manifestHash": subject.manifest_hash,
                "checksumHash": subject.checksum_hash,
                "fileCount": subject.objects,
                "embeddingEngine": subject.engine,
                "signedAt": self.signed_at,
                "provenanceInstanceId": null,
            },
        })
    }
}
