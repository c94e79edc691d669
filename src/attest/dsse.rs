//! DSSE envelopes (<https://github.com/secure-systems-lab/dsse>), closed and with one signature or a few.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::json;

use super::key::{PrivateKey, PublicKey};
use crate::model::{Json, json, shorten};

/// Signatures that an envelope may carry.
const MOST_SIGNATURES: usize = 16;

const DECODE: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, DECODE);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, DECODE);

/// A decoded envelope. Nothing in it is verified yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// The type of the payload.
    pub payload_type: String,
    /// The payload's bytes.
    pub payload: Vec<u8>,
    /// (keyid as written, signature bytes), at least one.
    pub signatures: Vec<(String, Vec<u8>)>,
}

/// Why a text is no DSSE envelope: what was expected where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvelopeError {
    /// The JSON pointer to the member that is wrong; empty for the whole.
    pub pointer: String,
    /// What is wrong.
    pub message: String,
}

/// Why a signature does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignatureError {
    /// No signature of the envelope names this key; what the envelope names instead.
    OtherKey(String),
    /// A signature names this key and does not verify.
    Invalid,
}

fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let engine = if text.contains(['-', '_']) {
        &URL_SAFE
    } else {
        &STANDARD
    };
    engine.decode(text).ok()
}

impl Envelope {
    /// Reads `{payloadType, payload, signatures: [{keyid, sig}]}`; base64 standard or URL-safe, padded or not.
    ///
    /// # Errors
    /// [`EnvelopeError`] names the first member that is not of its form.
    pub fn parse(text: &[u8]) -> Result<Self, EnvelopeError> {
        let value = json::parse(text).map_err(|e| EnvelopeError {
            pointer: String::new(),
            message: format!("not JSON: {e}"),
        })?;
        Self::of_json(&value)
    }

    /// As [`Envelope::parse`], of JSON that is parsed already.
    ///
    /// # Errors
    /// [`EnvelopeError`] names the first member that is not of its form.
    pub fn of_json(value: &Json) -> Result<Self, EnvelopeError> {
        let error = |pointer: String, message: &str| EnvelopeError {
            pointer,
            message: message.to_owned(),
        };
        let members =
            closed(value, &["payload", "payloadType", "signatures"]).ok_or_else(|| {
                error(
                    String::new(),
                    "expected exactly payloadType, payload and signatures",
                )
            })?;
        let [payload, payload_type, signatures] = members.as_slice() else {
            return Err(error(
                String::new(),
                "expected exactly payloadType, payload and signatures",
            ));
        };
        let payload_type = payload_type
            .as_str()
            .ok_or_else(|| error("/payloadType".into(), "expected a text"))?;
        let payload = payload
            .as_str()
            .and_then(decode_base64)
            .ok_or_else(|| error("/payload".into(), "expected base64"))?;
        let list = signatures
            .as_array()
            .filter(|list| (1..=MOST_SIGNATURES).contains(&list.len()))
            .ok_or_else(|| {
                error(
                    "/signatures".into(),
                    "expected a list of 1 to 16 signatures",
                )
            })?;
        let mut signatures = Vec::with_capacity(list.len());
        for (at, item) in list.iter().enumerate() {
            let members = closed(item, &["keyid", "sig"]).ok_or_else(|| {
                error(
                    format!("/signatures/{at}"),
                    "expected exactly keyid and sig",
                )
            })?;
            let [keyid, sig] = members.as_slice() else {
                return Err(error(
                    format!("/signatures/{at}"),
                    "expected exactly keyid and sig",
                ));
            };
            let keyid = keyid
                .as_str()
                .ok_or_else(|| error(format!("/signatures/{at}/keyid"), "expected a text"))?;
            let sig = sig
                .as_str()
                .and_then(decode_base64)
                .ok_or_else(|| error(format!("/signatures/{at}/sig"), "expected base64"))?;
            signatures.push((keyid.to_owned(), sig));
        }
        Ok(Self {
            payload_type: payload_type.to_owned(),
            payload,
            signatures,
        })
    }
}

impl Envelope {
    /// The one form in which this tool writes it: padded standard base64.
    pub fn to_json(&self) -> Json {
        let engine = &base64::engine::general_purpose::STANDARD;
        let signatures = self.signatures.iter();
        json!({
            "payloadType": self.payload_type,
            "payload": engine.encode(&self.payload),
            "signatures": signatures
                .map(|(keyid, sig)| json!({"keyid": keyid, "sig": engine.encode(sig)}))
                .collect::<Vec<_>>(),
        })
    }
}

/// The members of an object that has exactly these names, in the order of `names`.
fn closed<'a>(value: &'a Json, names: &[&str]) -> Option<Vec<&'a Json>> {
    let object = value.as_object().filter(|o| o.len() == names.len())?;
    names.iter().map(|name| object.get(*name)).collect()
}

/// The bytes that are signed: `DSSEv1 SP len SP payloadType SP len SP payload`.
pub fn pae(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let mut bytes = format!(
        "DSSEv1 {} {payload_type} {} ",
        payload_type.len(),
        payload.len()
    )
    .into_bytes();
    bytes.extend_from_slice(payload);
    bytes
}

/// Verifies that a signature of the envelope names this key and is the key's, strictly.
///
/// # Errors
/// [`SignatureError`].
pub fn verify(envelope: &Envelope, key: &PublicKey) -> Result<(), SignatureError> {
    let message = pae(&envelope.payload_type, &envelope.payload);
    let mut named = envelope
        .signatures
        .iter()
        .filter(|(id, _)| id == key.id().as_str())
        .peekable();
    if named.peek().is_none() {
        let others: Vec<&str> = envelope
            .signatures
            .iter()
            .map(|(id, _)| id.as_str())
            .collect();
        return Err(SignatureError::OtherKey(shorten(&others.join(", "))));
    }
    if named.any(|(_, signature)| key.verifies(&message, signature)) {
        Ok(())
    } else {
        Err(SignatureError::Invalid)
    }
}

/// Signs a payload.
pub fn sign(payload_type: &str, payload: &[u8], key: &PrivateKey) -> Json {
    let signature = key.sign(&pae(payload_type, payload)).to_vec();
    let envelope = Envelope {
        payload_type: payload_type.to_owned(),
        payload: payload.to_vec(),
        signatures: vec![(key.public().id().as_str().to_owned(), signature)],
    };
    envelope.to_json()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn round_trip_and_every_flipped_byte() {
        let key = PrivateKey::from_seed(&[7; 32]).unwrap();
        let other = PrivateKey::from_seed(&[8; 32]).unwrap();
        let signed = sign("text/plain", b"hello", &key);
        let envelope = Envelope::of_json(&signed).unwrap();
        assert_eq!(verify(&envelope, key.public()), Ok(()));
        assert_eq!(
            verify(&envelope, other.public()),
            Err(SignatureError::OtherKey(
                key.public().id().as_str().to_owned()
            ))
        );
        for at in 0..64 {
            let mut bad = envelope.clone();
            *bad.signatures
                .first_mut()
                .and_then(|(_, signature)| signature.get_mut(at))
                .unwrap() ^= 1;
            assert_eq!(
                verify(&bad, key.public()),
                Err(SignatureError::Invalid),
                "byte {at}"
            );
        }
        for change in [
            Envelope {
                payload: b"hellp".to_vec(),
                ..envelope.clone()
            },
            Envelope {
                payload_type: "text/plaim".into(),
                ..envelope.clone()
            },
        ] {
            assert_eq!(verify(&change, key.public()), Err(SignatureError::Invalid));
        }
    }

    #[test]
    fn closed_form() {
        let pointer = |text: &str| Envelope::parse(text.as_bytes()).err().map(|e| e.pointer);
        for (text, expected) in [
            ("null", ""),
            ("[]", ""),
            (
                r#"{"payloadType":"t","payload":"","signatures":[],"x":1}"#,
                "",
            ),
            (
                r#"{"payloadType":"t","payload":"","payload":"","signatures":[]}"#,
                "",
            ),
            (
                r#"{"payloadType":1,"payload":"","signatures":[{"keyid":"","sig":""}]}"#,
                "/payloadType",
            ),
            (
                r#"{"payloadType":"t","payload":"*","signatures":[{"keyid":"","sig":""}]}"#,
                "/payload",
            ),
            (
                r#"{"payloadType":"t","payload":"","signatures":[]}"#,
                "/signatures",
            ),
            (
                r#"{"payloadType":"t","payload":"","signatures":[{"keyid":""}]}"#,
                "/signatures/0",
            ),
            (
                r#"{"payloadType":"t","payload":"","signatures":[{"keyid":"","sig":"","cert":""}]}"#,
                "/signatures/0",
            ),
            (
                r#"{"payloadType":"t","payload":"","signatures":[{"keyid":"","sig":"a"}]}"#,
                "/signatures/0/sig",
            ),
        ] {
            assert_eq!(pointer(text).as_deref(), Some(expected), "{text}");
        }
        for payload in ["_-8=", "_-8", "/+8=", "/+8"] {
            let text = format!(
                r#"{{"payloadType":"t","payload":"{payload}","signatures":[{{"keyid":"k","sig":"AA"}}]}}"#
            );
            assert_eq!(
                Envelope::parse(text.as_bytes()).unwrap().payload,
                [0xff, 0xef],
                "{payload}"
            );
        }
    }
}
