//! Level credentials: what a cartridge claims to have reached, and which of it an issuer's key proves. Pure: no file, no
//! clock.
//!
//! Credentials lie outside the ROM, so anyone can put one into a cartridge. Each must prove itself, against keys that the
//! registry's maintainers chose. None of them ever decides whether a cartridge is accepted.
//!
//! ```text
//! issuer-keys.json ──► IssuerKeys ─┐   (keys, status)
//! attestations     ──► claim ──────┴─► weigh ──► Credential: state, reason, what held ──► Levels
//! ```

mod claim;
mod keys;
mod proof;
mod status;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use claim::{Benchmark, Claim, tier};
pub use keys::{ISSUER_KEYS_FILE, IssuerKeys};

use crate::check::{Documents, ids_of_credential};
use crate::container::Cartridge;
use crate::model::{Digest, Json, KeyId, Timestamp, json, shorten};
use crate::schema::LEVEL_CREDENTIAL;
use status::Status;

/// How far a claim is proven, from the weakest word on it to the strongest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VerificationState {
    /// Nobody could check it.
    Unresolved,
    /// The credential cannot be what it says.
    Invalid,
    /// Its issuer took it back.
    Revoked,
    /// It is what its issuer says of this ROM.
    Verified,
}

impl VerificationState {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unresolved => "unresolved",
            Self::Invalid => "invalid",
            Self::Revoked => "revoked",
            Self::Verified => "verified",
        }
    }
}

/// One credential, weighed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Credential {
    /// The key of its row.
    pub att_id: String,
    /// The id it gives itself.
    pub id: Option<String>,
    /// How far it is proven.
    pub state: VerificationState,
    /// Why, in a sentence without a capital and a full stop.
    pub reason: String,
    /// What was looked at and held, in order.
    pub held: Vec<&'static str>,
    /// What it claims.
    pub claim: Claim,
    /// On which tasks it was measured, by its own word.
    pub benchmark: Benchmark,
    /// Who issued it, by its own word.
    pub issuer: Option<String>,
    /// The key that its proof names.
    pub verification_method: Option<String>,
    /// Whom it is about, by its own word.
    pub subject: Option<String>,
    /// The status list that it names.
    pub status_list: Option<String>,
    /// What its bit there says; none where that is not known.
    pub revoked: Option<bool>,
    /// From when on it holds, by its own word.
    pub valid_from: Option<String>,
    /// From when on it holds no more, by its own word.
    pub valid_until: Option<String>,
}

/// What credentials are weighed against.
#[derive(Debug, Clone, Copy)]
pub struct Scales<'a> {
    /// The recomputed manifest hash of the ROM.
    pub rom: &'a Digest,
    /// The key that signed the ROM; none where no signature holds, and then nothing is verified.
    pub signer: Option<&'a KeyId>,
    /// The issuers' keys and status lists.
    pub issuers: &'a IssuerKeys,
    /// The run's one time.
    pub now: &'a Timestamp,
}

/// All credentials of a cartridge, in the order of their time and their row's key.
#[derive(Debug, Clone, Default)]
pub struct Levels {
    /// The credentials.
    pub credentials: Vec<Credential>,
    /// The strongest state among those that go by a name.
    states: BTreeMap<String, VerificationState>,
}

impl Levels {
    /// Weighs the credentials of a cartridge.
    pub fn of(cartridge: &Cartridge, documents: &Documents, scales: Scales<'_>) -> Self {
        let mut rows: Vec<_> = documents
            .credentials
            .iter()
            .filter_map(|(at, parsed)| Some((cartridge.attestations.get(*at)?, parsed)))
            .collect();
        rows.sort_by(|(a, _), (b, _)| (&a.created_at, &a.att_id).cmp(&(&b.created_at, &b.att_id)));
        let mut levels = Self::default();
        for (row, parsed) in rows {
            let nothing = Json::Null;
            let document = parsed.as_ref().unwrap_or(&nothing);
            let mut held = Vec::new();
            let weighed = match parsed {
                Ok(document) => weigh(document, scales, &mut held),
                Err(error) => invalid(format!("the document is not JSON: {error}")),
            };
            let (state, reason) = match weighed {
                Ok(()) => (
                    VerificationState::Verified,
                    "its issuer's key proves it, and it is about this ROM".to_owned(),
                ),
                Err(Verdict(state, reason)) => (state, reason),
            };
            let mut names = ids_of_credential(document);
            names.push(row.att_id.clone());
            for name in names {
                let known = levels.states.entry(name).or_insert(state);
                *known = (*known).max(state);
            }
            let text = |pointer| text(document, pointer).map(str::to_owned);
            let revoked = match state {
                VerificationState::Revoked => Some(true),
                _ => held.contains(&NOT_REVOKED).then_some(false),
            };
            levels.credentials.push(Credential {
                att_id: row.att_id.clone(),
                id: text("/id"),
                state,
                reason,
                held,
                claim: Claim::of(document),
                benchmark: Benchmark::of(document),
                issuer: text("/issuer/id"),
                verification_method: text("/proof/verificationMethod"),
                subject: text("/credentialSubject/id"),
                status_list: text("/credentialStatus/statusListCredential"),
                revoked,
                valid_from: text("/validFrom"),
                valid_until: text("/validUntil"),
            });
        }
        levels
    }

    /// The strongest state among the credentials that go by this name: att_id, credential id or status id.
    pub fn state_of(&self, name: &str) -> Option<VerificationState> {
        self.states.get(name).copied()
    }

    /// The credential with the highest claim, proven or not; of equal ones the first.
    pub fn highest_claim(&self) -> Option<&Credential> {
        highest(self.credentials.iter())
    }

    /// The verified credential with the highest level; of equal ones the first.
    pub fn proven(&self) -> Option<&Credential> {
        let verified = |c: &&Credential| c.state == VerificationState::Verified;
        highest(self.credentials.iter().filter(verified))
    }
}

fn highest<'c>(credentials: impl Iterator<Item = &'c Credential>) -> Option<&'c Credential> {
    let level = |credential: &Credential| credential.claim.acx_level.as_ref()?.as_f64();
    credentials.fold(None, |best, one| match best {
        Some(best) if level(one) <= level(best) => Some(best),
        _ => Some(one),
    })
}

/// What holds where the status is known and good.
const NOT_REVOKED: &str = "the issuer has not revoked it";

/// A state other than verified, and why.
struct Verdict(VerificationState, String);

fn invalid(reason: impl Into<String>) -> Result<(), Verdict> {
    Err(Verdict(VerificationState::Invalid, reason.into()))
}

fn unresolved(reason: impl Into<String>) -> Result<(), Verdict> {
    Err(Verdict(VerificationState::Unresolved, reason.into()))
}

fn text<'j>(document: &'j Json, pointer: &str) -> Option<&'j str> {
    document.pointer(pointer).and_then(Json::as_str)
}

/// A foreign value in a reason.
fn found(value: Option<&Json>) -> String {
    value.map_or_else(|| "nothing".to_owned(), json::shown)
}

/// Whether a method is one of an issuer's own: its id, or its id and a fragment.
fn is_own(method: &str, issuer: &str) -> bool {
    method
        .strip_prefix(issuer)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('#'))
}

/// An id without its fragment.
fn bare(id: &str) -> &str {
    id.split('#').next().unwrap_or_default()
}

/// The state of a credential, the first that applies; `held` gets what was looked at and held. The order decides: what
/// nobody can check is unresolved even where it is broken, and a revoked credential is revoked even where it is forged.
fn weigh(document: &Json, scales: Scales<'_>, held: &mut Vec<&'static str>) -> Result<(), Verdict> {
    if !document.is_object() {
        let found = json::shown(document);
        return invalid(format!("expected a credential, an object, found {found}"));
    }
    let Some(issuer) = text(document, "/issuer/id") else {
        let found = found(document.get("issuer"));
        return invalid(format!(
            "issuer: expected an object with a text `id`, found {found}"
        ));
    };
    let Some(method) = text(document, "/proof/verificationMethod") else {
        let found = found(document.pointer("/proof/verificationMethod"));
        return invalid(format!(
            "proof.verificationMethod: expected a text, found {found}"
        ));
    };
    if !is_own(method, issuer) {
        let (method, issuer) = (shorten(method), shorten(issuer));
        return invalid(format!(
            "proof.verificationMethod: expected a method of the issuer {issuer:?}, found {method:?}"
        ));
    }
    held.push("the proof names a method of the issuer");

    let Some(key) = scales.issuers.key(method, issuer) else {
        let method = shorten(method);
        return unresolved(format!("no key for {method:?} is at hand"));
    };
    let suite = document.pointer("/proof/cryptosuite");
    if suite.and_then(Json::as_str) != Some(proof::CRYPTOSUITE) {
        return unresolved(format!(
            "proof.cryptosuite: expected {}, which alone can be checked here, found {}",
            proof::CRYPTOSUITE,
            found(suite)
        ));
    }
    if key.issuer != issuer {
        let (method, issuer) = (shorten(method), shorten(issuer));
        let owner = shorten(&key.issuer);
        return invalid(format!(
            "the key of {method:?} is listed for the issuer {owner:?}, not for {issuer:?}"
        ));
    }
    held.push("the issuer's key is at hand");

    match status::look_up(document, issuer, scales.issuers, scales.now) {
        Err(reason) => {
            // Whoever vouches for themselves is nobody's issuer, whatever a list of theirs would say.
            self_issued(document, issuer, scales)?;
            return unresolved(format!("the revocation status is not known: {reason}"));
        }
        Ok(Status::Revoked) => {
            let list = text(document, "/credentialStatus/statusListCredential").map(shorten);
            let list = list.unwrap_or_default();
            return Err(Verdict(
                VerificationState::Revoked,
                format!("its bit in the issuer's status list {list:?} is set"),
            ));
        }
        Ok(Status::Good) => held.push(NOT_REVOKED),
    }

    if let Some((at, message)) = LEVEL_CREDENTIAL.defect(document) {
        return invalid(format!("{at}: {message}"));
    }
    held.push("it has the form of a level credential");
    if let Err(reason) = proof::verify(document, &key.key) {
        return invalid(format!("proof: {reason}"));
    }
    held.push("the proof verifies by that key");
    if let Err(reason) = window(document, scales.now) {
        return invalid(reason);
    }
    held.push("it holds at this time");
    if scales.signer.is_none() {
        return invalid("no signature of the ROM holds, so who made the cartridge is not known");
    }
    self_issued(document, issuer, scales)?;
    held.push("the issuer is neither its subject nor the ROM's signer");
    let rom = text(
        document,
        "/credentialSubject/result/0/acx:cartridgeRomDigest",
    );
    if rom != Some(scales.rom.to_string().as_str()) {
        let found = shorten(rom.unwrap_or_default());
        let expected = scales.rom;
        return invalid(format!(
            "acx:cartridgeRomDigest: expected {expected}, the ROM of this cartridge, found {found:?}"
        ));
    }
    held.push("it is about this ROM");
    if let Err(reason) = Claim::of(document).gate() {
        return invalid(reason);
    }
    held.push("rating, games, level and tier agree and pass the gate");
    Ok(())
}

/// Refuses a credential whose issuer is its own subject, or signed the ROM under another name.
fn self_issued(document: &Json, issuer: &str, scales: Scales<'_>) -> Result<(), Verdict> {
    let subject = text(document, "/credentialSubject/id").unwrap_or_default();
    if bare(issuer) == bare(subject) {
        let subject = shorten(subject);
        return invalid(format!(
            "self-issued: issuer and subject are both {subject:?}"
        ));
    }
    match scales.signer.filter(|key| scales.issuers.owns(issuer, key)) {
        Some(signer) => invalid(format!(
            "self-issued under another name: {signer} is a key of the issuer and signed the ROM"
        )),
        None => Ok(()),
    }
}

/// Whether `validFrom` ≤ now < `validUntil`; either may be absent.
///
/// # Errors
/// A sentence with the member that says otherwise.
fn window(document: &Json, now: &Timestamp) -> Result<(), String> {
    let time = |name: &str| match document.get(name) {
        None => Ok(None),
        Some(value) => value
            .as_str()
            .and_then(|text| Timestamp::try_from(text).ok())
            .map(Some)
            .ok_or_else(|| format!("{name}: expected a time, found {}", json::shown(value))),
    };
    if let Some(from) = time("validFrom")?.filter(|from| now.is_before(from)) {
        return Err(format!(
            "validFrom: it holds from {from} on, and now is {now}"
        ));
    }
    if let Some(until) = time("validUntil")?.filter(|until| !now.is_before(until)) {
        return Err(format!(
            "validUntil: it held until {until}, and now is {now}"
        ));
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// Pointers to everything in a value.
    fn places(value: &Json, at: &str, out: &mut Vec<String>) {
        out.push(at.to_owned());
        match value {
            Json::Array(items) => {
                for (n, item) in items.iter().enumerate() {
                    places(item, &format!("{at}/{n}"), out);
                }
            }
            Json::Object(members) => {
                for (name, item) in members {
                    places(item, &json::member(at, name), out);
                }
            }
            _ => {}
        }
    }

    fn issuers() -> IssuerKeys {
        let key = crate::attest::PrivateKey::from_seed(&[31; 32]).unwrap();
        let file = json!({
            "schemaVersion": "acx.issuer-keys/1",
            "issuers": [{"id": "did:web:a.example", "keys": [
                {"verificationMethod": "did:web:a.example#1", "publicKeyPem": key.public().pem()},
            ]}],
            "statusLists": [{
                "id": "https://a.example/1", "type": "BitstringStatusListCredential", "issuer": "did:web:a.example",
                "credentialSubject": {"type": "BitstringStatusList", "statusPurpose": "revocation", "encodedList": "u"},
                "proof": {"type": "DataIntegrityProof", "cryptosuite": "eddsa-jcs-2022", "proofPurpose": "assertionMethod",
                    "verificationMethod": "did:web:a.example#1", "proofValue": "z1"},
            }],
        });
        IssuerKeys::parse(file.to_string().as_bytes()).unwrap()
    }

    proptest! {
        /// Whatever stands where, a credential that nobody signed is never verified, and the reason stays short.
        #[test]
        fn any_value_anywhere(
            edits in proptest::collection::vec((
                any::<prop::sample::Index>(),
                prop_oneof![
                    Just(Json::Null), Just(json!({})), Just(json!([])), Just(json!(-1)), Just(json!(1e308)),
                    Just(json!("")), Just(json!("#")), Just(json!("z".repeat(1000))), Just(json!(u64::MAX)),
                    any::<String>().prop_map(Json::from),
                ],
            ), 0..4),
        ) {
            let mut document = json!({
                "@context": ["https://www.w3.org/ns/credentials/v2",
                    "https://purl.imsglobal.org/spec/ob/v3p0/context-3.0.3.json", "https://acx.dev/ns/level/v1"],
                "type": ["VerifiableCredential", "OpenBadgeCredential"],
                "issuer": {"id": "did:web:a.example"},
                "validFrom": "2026-07-16T09:30:00Z",
                "validUntil": "2027-07-16T09:30:00Z",
                "credentialSubject": {"id": "urn:x", "type": ["AchievementSubject"], "result": [{
                    "acx:ratingMu": 29.6, "acx:ratingSigma": 1.2, "acx:gamesPlayed": 60, "acx:acxLevel": 26,
                    "acx:careerTier": "principal", "acx:cartridgeRomDigest": Digest::of(b"").to_string(),
                }]},
                "credentialStatus": {"type": "BitstringStatusListEntry", "statusPurpose": "revocation",
                    "statusListIndex": "5", "statusListCredential": "https://a.example/1"},
                "proof": {"type": "DataIntegrityProof", "cryptosuite": "eddsa-jcs-2022", "proofPurpose": "assertionMethod",
                    "verificationMethod": "did:web:a.example#1", "proofValue": "z1"},
            });
            for (at, value) in edits {
                let mut all = Vec::new();
                places(&document, "", &mut all);
                let place: &String = at.get(&all);
                if let Some(place) = document.pointer_mut(place) {
                    *place = value;
                }
            }
            let scales = Scales {
                rom: &Digest::of(b""),
                signer: None,
                issuers: &issuers(),
                now: &Timestamp::try_from("2026-09-01T00:00:00Z").unwrap(),
            };
            let Err(Verdict(_, reason)) = weigh(&document, scales, &mut Vec::new()) else {
                return Err(TestCaseError::fail("verified"));
            };
            prop_assert!(!reason.is_empty() && reason.len() < 4096, "{}", reason);
            let _ = (Claim::of(&document).gate(), Benchmark::of(&document));
        }
    }
}
