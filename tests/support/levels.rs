//! Level credentials, status lists and issuer keys, made and signed by hand.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::cartridge::Builder;
use super::jcs::jcs;
use super::keys;
use super::records::{Attestation, Capability, capability};

/// Who issues credentials unless a test says otherwise.
pub const ISSUER: &str = "did:web:verifier.example";
/// The method of that issuer's first key.
pub const METHOD: &str = "did:web:verifier.example#key-1";
/// Seed byte of that key.
pub const ISSUER_SEED: u8 = 31;
/// Another issuer.
pub const OTHER: &str = "did:web:other.example";
/// Seed byte of its key.
pub const OTHER_SEED: u8 = 32;
/// The issuer's status list.
pub const LIST: &str = "https://verifier.example/status/1";
/// The index in it that is revoked.
pub const REVOKED: &str = "9";
/// The least bytes of a list.
pub const LIST_BYTES: usize = 16 << 10;

/// A cartridge whose first capability cites its one credential, which is yet to be made.
pub fn cartridge(id: &str) -> Builder {
    let mut builder = Builder::valid("io.github.acme", id, "1.0.0");
    let mut claim = capability("implement-feature", &["pkg:cargo/serde"], "backend");
    claim["evidenceRefs"] = json!([{"kind": "level-attestation", "ref": "level-1"}]);
    claim["proficiency"]["verified"] = true.into();
    builder.capabilities = vec![
        Capability::sealed(claim),
        Capability::sealed(capability("debug", &["pkg:generic/make"], "backend")),
    ];
    builder.attestations = vec![attestation("level-1", "{}")];
    builder
}

/// A row with a document.
pub fn attestation(att_id: &str, document: &str) -> Attestation {
    Attestation {
        att_id: att_id.to_owned(),
        kind: "vc-2.0".to_owned(),
        document: document.to_owned(),
    }
}

/// A credential of level 26 about a ROM, in the form of issued ones, not yet signed.
pub fn credential(rom: &str) -> Value {
    json!({
        "@context": [
            "https://www.w3.org/ns/credentials/v2",
            "https://purl.imsglobal.org/spec/ob/v3p0/context-3.0.3.json",
            "https://acx.dev/ns/level/v1",
        ],
        "id": "urn:uuid:00000000-0000-4000-8000-000000000001",
        "type": ["VerifiableCredential", "OpenBadgeCredential"],
        "issuer": {"id": ISSUER, "type": ["Profile"]},
        "validFrom": "2026-07-16T09:30:00.000Z",
        "credentialSubject": {
            "type": ["AchievementSubject"],
            "id": "urn:acx:cartridge:io.github.acme/x",
            "achievement": {"id": "https://verifier.example/achievement/1", "type": ["Achievement"]},
            "result": [{
                "type": ["Result"],
                "acx:ratingMu": 29.6,
                "acx:ratingSigma": 1.2,
                "acx:gamesPlayed": 60,
                "acx:acxLevel": 26,
                "acx:careerTier": "principal",
                "acx:cartridgeRomDigest": rom,
                "acx:benchmarkId": "bench",
                "acx:benchmarkVersion": "1",
                "acx:benchmarkDigest": keys::sha256(b"bench"),
                "acx:heldOutSliceDigest": keys::sha256(b"slice"),
            }],
        },
        "credentialStatus": {
            "id": format!("{LIST}#5"),
            "type": "BitstringStatusListEntry",
            "statusPurpose": "revocation",
            "statusListIndex": "5",
            "statusListCredential": LIST,
        },
        "proof": proof(METHOD),
    })
}

/// A proof without its value.
pub fn proof(method: &str) -> Value {
    json!({
        "type": "DataIntegrityProof",
        "cryptosuite": "eddsa-jcs-2022",
        "created": "2026-07-16T09:30:00.000Z",
        "verificationMethod": method,
        "proofPurpose": "assertionMethod",
    })
}

/// Signs a document by the proof that stands in it.
pub fn sign(document: &mut Value, seed: u8) {
    let mut body = document.clone();
    let mut options = body
        .as_object_mut()
        .expect("an object")
        .remove("proof")
        .expect("a proof");
    options
        .as_object_mut()
        .expect("an object")
        .remove("proofValue");
    let message = [Sha256::digest(jcs(&options)), Sha256::digest(jcs(&body))].concat();
    let signature = keys::sign(&keys::seed(seed), &message);
    document["proof"]["proofValue"] = format!("z{}", base58(&signature)).into();
}

/// Base58 by repeated division.
pub fn base58(bytes: &[u8]) -> String {
    const DIGITS: &[u8] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
    let mut number = bytes.to_vec();
    let mut out = Vec::new();
    while number.iter().any(|b| *b != 0) {
        let mut rest = 0_u32;
        for byte in &mut number {
            let value = rest * 256 + u32::from(*byte);
            *byte = u8::try_from(value / 58).expect("a digit of base 256");
            rest = value % 58;
        }
        out.push(DIGITS[rest as usize]);
    }
    out.extend(bytes.iter().take_while(|b| **b == 0).map(|_| b'1'));
    out.reverse();
    String::from_utf8(out).expect("ASCII")
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

/// The `encodedList` of packed bytes.
pub fn encoded(packed: &[u8]) -> String {
    format!("u{}", URL_SAFE_NO_PAD.encode(packed))
}

/// The least list, with these bits set; index 0 is the highest bit of the first byte.
pub fn bits(set: &[usize]) -> Vec<u8> {
    let mut bytes = vec![0; LIST_BYTES];
    for at in set {
        bytes[at / 8] |= 0x80 >> (at % 8);
    }
    bytes
}

/// A status list of the issuer's, not yet signed.
pub fn status_list(id: &str, encoded: &str) -> Value {
    json!({
        "@context": ["https://www.w3.org/ns/credentials/v2"],
        "id": id,
        "type": ["VerifiableCredential", "BitstringStatusListCredential"],
        "issuer": ISSUER,
        "validFrom": "2026-07-16T09:30:00.000Z",
        "credentialSubject": {
            "id": format!("{id}#list"),
            "type": "BitstringStatusList",
            "statusPurpose": "revocation",
            "encodedList": encoded,
        },
        "proof": proof(METHOD),
    })
}

/// A signed status list of the issuer's with these bits set.
pub fn signed_list(set: &[usize]) -> Value {
    let mut list = status_list(LIST, &encoded(&gzip(&bits(set))));
    sign(&mut list, ISSUER_SEED);
    list
}

pub fn key(method: &str, seed: u8) -> Value {
    json!({"verificationMethod": method, "publicKeyPem": keys::public_pem(&keys::public(&keys::seed(seed)))})
}

/// `issuer-keys.json` with the two issuers' keys and these lists.
pub fn issuer_keys(lists: &[Value]) -> Value {
    json!({
        "schemaVersion": "acx.issuer-keys/1",
        "issuers": [
            {"id": ISSUER, "keys": [key(METHOD, ISSUER_SEED), key(&format!("{ISSUER}#key-2"), 33)]},
            {"id": OTHER, "keys": [key(&format!("{OTHER}#key-1"), OTHER_SEED)]},
        ],
        "statusLists": lists,
    })
}
