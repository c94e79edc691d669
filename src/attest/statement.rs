//! In-toto Statements v1 (<https://github.com/in-toto/attestation>) with exactly one subject.
//!
//! A statement of several subjects would leave open which one a verifier meant, so it is refused, not searched.

use serde_json::json;

use super::dsse::Envelope;
use crate::model::{Digest, Json, json, shorten};

/// The DSSE payload type of a statement.
pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";
/// The `_type` of a statement.
pub const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";

/// What a statement is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// The subject's name.
    pub name: String,
    /// The subject's SHA-256.
    pub digest: Digest,
}

/// A statement of the expected predicate type.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// The one subject.
    pub subject: Subject,
    /// The predicate, an object.
    pub predicate: Json,
    /// The payload is canonical JSON.
    pub canonical: bool,
}

/// Why a payload is no such statement: the JSON pointer and what was expected and found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatementError {
    /// The JSON pointer; empty for the whole.
    pub pointer: &'static str,
    /// What is wrong, expected and found.
    pub message: String,
}

impl Statement {
    /// Reads the statement out of an envelope.
    ///
    /// # Errors
    /// [`StatementError`] where the payload type, the type, the predicate type or the subject is another.
    pub fn of_envelope(envelope: &Envelope, predicate_type: &str) -> Result<Self, StatementError> {
        Self::read(envelope, predicate_type, false)
    }

    /// As [`Statement::of_envelope`]; digests by other algorithms may stand beside the SHA-256.
    ///
    /// # Errors
    /// [`StatementError`] as there.
    pub fn of_open_envelope(
        envelope: &Envelope,
        predicate_type: &str,
    ) -> Result<Self, StatementError> {
        Self::read(envelope, predicate_type, true)
    }

    fn read(envelope: &Envelope, predicate_type: &str, open: bool) -> Result<Self, StatementError> {
        let error = |pointer, message: String| StatementError { pointer, message };
        if envelope.payload_type != PAYLOAD_TYPE {
            let found = shorten(&envelope.payload_type);
            return Err(error(
                "",
                format!("expected the payload type {PAYLOAD_TYPE}, found {found:?}"),
            ));
        }
        let value = json::parse(&envelope.payload)
            .map_err(|e| error("", format!("the payload is not JSON: {e}")))?;
        for (name, pointer, expected) in [
            ("_type", "/_type", STATEMENT_TYPE),
            ("predicateType", "/predicateType", predicate_type),
        ] {
            let found = value.get(name);
            if found.and_then(Json::as_str) != Some(expected) {
                let found = found.map_or_else(|| "nothing".to_owned(), json::shown);
                return Err(error(
                    pointer,
                    format!("expected {expected}, found {found}"),
                ));
            }
        }
        let subject = match value
            .get("subject")
            .and_then(Json::as_array)
            .map(Vec::as_slice)
        {
            Some([one]) => one,
            _ => return Err(error("/subject", "expected exactly one subject".into())),
        };
        let name = subject
            .get("name")
            .and_then(Json::as_str)
            .ok_or_else(|| error("/subject/0/name", "expected a text".into()))?;
        let digest = subject
            .get("digest")
            .and_then(Json::as_object)
            .filter(|d| open || d.len() == 1)
            .and_then(|d| d.get("sha256"))
            .and_then(Json::as_str)
            .and_then(Digest::from_hex)
            .ok_or_else(|| {
                error(
                    "/subject/0/digest",
                    "expected exactly a sha256 of 64 hex digits".into(),
                )
            })?;
        let predicate = value
            .get("predicate")
            .filter(|p| p.is_object())
            .ok_or_else(|| error("/predicate", "expected an object".into()))?;
        Ok(Self {
            subject: Subject {
                name: name.to_owned(),
                digest,
            },
            predicate: predicate.clone(),
            canonical: json::canonical(&value) == envelope.payload,
        })
    }

    /// The canonical bytes of a statement, to be signed.
    pub fn payload(subject: &Subject, predicate_type: &str, predicate: &Json) -> Vec<u8> {
        json::canonical(&json!({
            "_type": STATEMENT_TYPE,
            "subject": [{"name": subject.name, "digest": {"sha256": subject.digest.hex()}}],
            "predicateType": predicate_type,
            "predicate": predicate,
        }))
    }
}
