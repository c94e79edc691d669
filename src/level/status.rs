//! W3C Bitstring Status Lists 1.0 (<https://www.w3.org/TR/vc-bitstring-status-list/>): whether an issuer took a
//! credential back. A list is a credential too and counts by its own proof alone.

use std::io::Read as _;
use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use flate2::bufread::GzDecoder;

use super::keys::IssuerKeys;
use super::{found, is_own, proof, text, window};
use crate::model::{Json, Timestamp, shorten};

/// Bytes of an unpacked list at the least, so that a bit hides among others.
const LEAST_BYTES: usize = 16 << 10;
/// Bytes of an unpacked list at the most.
const MOST_BYTES: u64 = 16 << 20;
/// Bytes of all unpacked lists of one file of issuers' keys; the last ones in it go without.
pub(super) const MOST_BYTES_TOGETHER: u64 = 64 << 20;
const PURPOSE: &str = "revocation";

/// What an issuer says of a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    /// It stands.
    Good,
    /// It was taken back.
    Revoked,
}

/// A list as it was given; verified and unpacked when a credential first asks.
#[derive(Debug, Clone)]
pub(super) struct StatusList {
    document: Json,
    most: u64,
    bits: OnceLock<Result<Vec<u8>, String>>,
}

impl StatusList {
    /// A list, and what is left of the bytes for the lists after it.
    pub(super) fn new(document: Json, left: u64) -> (Self, u64) {
        let most = left.min(MOST_BYTES);
        // A gzip ends in its unpacked size; one that lies about it does not unpack.
        let size = text(&document, "/credentialSubject/encodedList")
            .and_then(|encoded| packed(encoded).ok())
            .and_then(|packed| packed.last_chunk().copied().map(u32::from_le_bytes))
            .unwrap_or_default();
        let list = Self {
            document,
            most,
            bits: OnceLock::new(),
        };
        (list, left - most.min(size.into()))
    }

    /// Who issued it: an object's `id` or a bare text.
    fn issuer(&self) -> Option<&str> {
        text(&self.document, "/issuer/id").or_else(|| text(&self.document, "/issuer"))
    }

    /// The bits, where the list is what its own issuer made.
    fn bits(&self, keys: &IssuerKeys) -> Result<&[u8], String> {
        let bits = self.bits.get_or_init(|| self.verified(keys));
        bits.as_deref().map_err(Clone::clone)
    }

    fn verified(&self, keys: &IssuerKeys) -> Result<Vec<u8>, String> {
        let list = &self.document;
        has_type(list, "BitstringStatusListCredential")?;
        let subject = list.get("credentialSubject").unwrap_or(&Json::Null);
        has_type(subject, "BitstringStatusList")?;
        let purpose = subject.get("statusPurpose");
        if purpose.and_then(Json::as_str) != Some(PURPOSE) {
            let found = found(purpose);
            return Err(format!("its purpose: expected {PURPOSE}, found {found}"));
        }
        let issuer = self.issuer().ok_or("it names no issuer")?;
        let method = text(list, "/proof/verificationMethod")
            .filter(|method| is_own(method, issuer))
            .ok_or("its proof names no method of its issuer")?;
        let key = keys
            .key(method, issuer)
            .filter(|key| key.issuer == issuer)
            .ok_or_else(|| format!("no key for {:?} is at hand", shorten(method)))?;
        proof::verify(list, &key.key).map_err(|e| format!("its proof: {e}"))?;
        let encoded = text(subject, "/encodedList").ok_or("it has no encodedList")?;
        unpack(encoded, self.most)
    }
}

fn has_type(value: &Json, expected: &str) -> Result<(), String> {
    let holds = match value.get("type") {
        Some(Json::String(one)) => one == expected,
        Some(Json::Array(all)) => all.iter().any(|one| one.as_str() == Some(expected)),
        _ => false,
    };
    if holds {
        Ok(())
    } else {
        Err(format!("it is no {expected}"))
    }
}

fn packed(encoded: &str) -> Result<Vec<u8>, String> {
    encoded
        .strip_prefix('u')
        .and_then(|digits| URL_SAFE_NO_PAD.decode(digits).ok())
        .ok_or_else(|| "encodedList: expected `u` and base64url without padding".to_owned())
}

/// Unpacks `u` and the base64url of a gzip, to no more than `most` bytes whatever it claims.
fn unpack(encoded: &str, most: u64) -> Result<Vec<u8>, String> {
    let packed = packed(encoded)?;
    let mut rest = packed.as_slice();
    let mut bits = Vec::new();
    GzDecoder::new(&mut rest)
        .take(most + 1)
        .read_to_end(&mut bits)
        .map_err(|e| format!("encodedList: expected a gzip, found an error: {e}"))?;
    if bits.len() as u64 > most {
        let why = if most < MOST_BYTES {
            format!(", what the lists before it left of {MOST_BYTES_TOGETHER}")
        } else {
            String::new()
        };
        return Err(format!(
            "encodedList: it unpacks to more than {most} bytes{why}"
        ));
    }
    if !rest.is_empty() {
        let extra = rest.len();
        return Err(format!("encodedList: {extra} bytes follow the gzip"));
    }
    if bits.len() < LEAST_BYTES {
        let found = bits.len();
        return Err(format!(
            "encodedList: expected at least {LEAST_BYTES} bytes unpacked, found {found}"
        ));
    }
    Ok(bits)
}

/// What the issuer's list says of a credential.
///
/// # Errors
/// A clause that says why that is not known.
pub(super) fn look_up(
    credential: &Json,
    issuer: &str,
    keys: &IssuerKeys,
    now: &Timestamp,
) -> Result<Status, String> {
    let entry = credential
        .get("credentialStatus")
        .filter(|entry| entry.is_object())
        .ok_or("the credential has no status entry")?;
    has_type(entry, "BitstringStatusListEntry").map_err(|e| format!("credentialStatus: {e}"))?;
    let purpose = entry.get("statusPurpose");
    if purpose.and_then(Json::as_str) != Some(PURPOSE) {
        let found = found(purpose);
        return Err(format!(
            "credentialStatus.statusPurpose: expected {PURPOSE}, found {found}"
        ));
    }
    if let Some(size) = entry
        .get("statusSize")
        .filter(|size| size.as_u64() != Some(1))
    {
        let found = found(Some(size));
        return Err(format!(
            "credentialStatus.statusSize: expected 1, found {found}"
        ));
    }
    let name = text(entry, "/statusListCredential")
        .ok_or("credentialStatus.statusListCredential: expected a text")?;
    let digits = text(entry, "/statusListIndex")
        .filter(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
        .ok_or_else(|| {
            let found = found(entry.get("statusListIndex"));
            format!(
                "credentialStatus.statusListIndex: expected decimal digits as text, found {found}"
            )
        })?;
    let shown = shorten(name);
    let list = keys
        .list(name)
        .ok_or_else(|| format!("no status list {shown:?} is at hand"))?;
    let wrong = |e: String| format!("the status list {shown:?} does not count: {e}");
    if list.issuer() != Some(issuer) {
        let found = shorten(list.issuer().unwrap_or_default());
        return Err(wrong(format!("it is {found:?}'s, not the issuer's")));
    }
    window(&list.document, now).map_err(wrong)?;
    let bits = list.bits(keys).map_err(wrong)?;
    // Index 0 is the highest bit of the first byte.
    let index: Option<usize> = digits.parse().ok();
    let byte = index.and_then(|index| Some((bits.get(index / 8)?, index % 8)));
    match byte {
        Some((byte, bit)) if byte & (0x80 >> bit) != 0 => Ok(Status::Revoked),
        Some(_) => Ok(Status::Good),
        None => {
            let (index, most) = (shorten(digits), bits.len() * 8);
            Err(format!(
                "credentialStatus.statusListIndex: {index} is beyond the end of the status list {shown:?}, which has {most} bits"
            ))
        }
    }
}
