//! W3C Data Integrity proofs of the suite `eddsa-jcs-2022` (<https://www.w3.org/TR/vc-di-eddsa/>).

use crate::attest::PublicKey;
use crate::model::{Digest, Json, json};

/// The suite that is checked.
pub(super) const CRYPTOSUITE: &str = "eddsa-jcs-2022";
/// Characters of the base58 of 64 bytes at the most: decoding takes the square of the length.
const LONGEST_VALUE: usize = 88;

/// Verifies a document's embedded proof by a key.
///
/// The proof is hashed as it stands, so one that repeats the document's `@context` (as the Recommendation has it) and one
/// that does not (as drafts had it) are both checked for what was signed.
///
/// # Errors
/// A clause that says what of the proof does not hold.
pub(super) fn verify(document: &Json, key: &PublicKey) -> Result<(), String> {
    let members = document.as_object().ok_or("expected an object")?;
    let proof = members
        .get("proof")
        .and_then(Json::as_object)
        .ok_or("expected one proof, an object")?;
    for (name, expected) in [
        ("type", "DataIntegrityProof"),
        ("cryptosuite", CRYPTOSUITE),
        ("proofPurpose", "assertionMethod"),
    ] {
        let found = proof.get(name);
        if found.and_then(Json::as_str) != Some(expected) {
            let found = super::found(found);
            return Err(format!("{name}: expected {expected}, found {found}"));
        }
    }
    if let Some(context) = proof.get("@context")
        && Some(context) != members.get("@context")
    {
        return Err("@context: expected the document's, found another".to_owned());
    }
    let signature = proof
        .get("proofValue")
        .and_then(Json::as_str)
        .and_then(signature)
        .ok_or("proofValue: expected `z` and the base58 of 64 bytes")?;
    let (mut body, mut options) = (members.clone(), proof.clone());
    body.remove("proof");
    options.remove("proofValue");
    let options = Digest::of(&json::canonical(&Json::Object(options)));
    let body = Digest::of(&json::canonical(&Json::Object(body)));
    let message = [*options.bytes(), *body.bytes()].concat();
    if key.verifies(&message, &signature) {
        Ok(())
    } else {
        Err(
            "the signature does not verify: something was changed since, or another key signed"
                .into(),
        )
    }
}

/// The 64 bytes of a multibase base58btc text.
fn signature(text: &str) -> Option<[u8; 64]> {
    let digits = text
        .strip_prefix('z')
        .filter(|d| d.len() <= LONGEST_VALUE)?;
    let mut bytes = [0; LONGEST_VALUE];
    let length = bs58::decode(digits).onto(&mut bytes).ok()?;
    bytes.get(..length)?.try_into().ok()
}
