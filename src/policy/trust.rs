//! `trust-registry.json`, the publishers' keys: who may sign for whom, since when, until when, and how that was
//! proven.
//!
//! The file is read whole or refused: an entry that cannot be right (a key under another's id, a GitHub name proven by
//! DNS) says that nobody checked it, so nothing beside it counts either. What is merely out of date (a window that
//! has passed, a revoked key) is valid here and weighed by [`TrustedKey::eligible`].

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::attest::PublicKey;
use crate::model::json::member;
use crate::model::{Json, KeyId, PublisherId, PublisherScope, Timestamp};
use crate::schema::TRUST_REGISTRY;

use super::{ConfigError, Members, bounded, conforms, parsed};

const FILE: &str = "trust-registry.json";

/// What the registry says of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyStatus {
    /// In use.
    Active,
    /// Taken back.
    Revoked,
    /// Out of use.
    Expired,
}

/// Why a key was taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RevocationReason {
    /// Others may have the private half: whatever it signs, and whenever, is worth nothing.
    KeyCompromise,
    /// Another key took its place.
    Superseded,
    /// It is no longer used.
    Retired,
}

/// How it was proven that the publisher's name is the key holder's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NamespaceProof {
    /// By a TXT record in the publisher's domain.
    DnsTxt {
        /// The record's name: `_acx-challenge.<domain>`.
        txt_record: String,
        /// When it was seen.
        verified_at: Timestamp,
    },
    /// By a GitHub Actions identity token.
    GithubOidc {
        /// The token's subject: `repo:<owner>/…`.
        oidc_subject: String,
        /// When it was seen.
        verified_at: Timestamp,
    },
}

impl NamespaceProof {
    /// When the proof was made.
    pub fn verified_at(&self) -> &Timestamp {
        match self {
            Self::DnsTxt { verified_at, .. } | Self::GithubOidc { verified_at, .. } => verified_at,
        }
    }
}

/// One key of the registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedKey {
    /// Its id.
    pub keyid: KeyId,
    /// Whose it is.
    pub publisher: PublisherScope,
    /// The key.
    pub key: PublicKey,
    /// Whether it is in use.
    pub status: KeyStatus,
    /// The first moment of its window.
    pub not_before: Timestamp,
    /// The last moment of its window.
    pub not_after: Timestamp,
    /// How the publisher's name was proven.
    pub proof: NamespaceProof,
    /// The key it took the place of.
    pub rotated_from: Option<KeyId>,
    /// The key that took its place.
    pub rotated_to: Option<KeyId>,
    /// When it was taken back.
    pub revoked_at: Option<Timestamp>,
    /// Why it was taken back.
    pub revocation_reason: Option<RevocationReason>,
}

/// Why a registered key proves no publisher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ineligible {
    /// The key was taken back.
    Revoked,
    /// The key's status is expired.
    Expired,
    /// The key is another publisher's, named here.
    OtherPublisher(PublisherScope),
    /// Nothing says when it was signed, so the window cannot be shown to hold.
    SigningTimeUnknown,
    /// Signed before the window opened or after it closed.
    SignedOutsideWindow,
    /// The window is not open now.
    OutsideWindow,
    /// The proof of the publisher's name does not fit the publisher, or is from the future.
    ProofDoesNotFit,
}

impl std::fmt::Display for Ineligible {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Revoked => "the key is revoked",
            Self::Expired => "the key's status is expired",
            Self::OtherPublisher(publisher) => {
                return write!(f, "the key is registered for the publisher {publisher}");
            }
            Self::SigningTimeUnknown => "the signature does not say when it was made",
            Self::SignedOutsideWindow => "the signature was made outside the key's validity window",
            Self::OutsideWindow => "the key's validity window is not open now",
            Self::ProofDoesNotFit => "the proof of the publisher's name does not hold",
        })
    }
}

impl TrustedKey {
    /// Whether the private half may be in other hands. What such a key signed is tampered, whenever it was signed.
    ///
    /// The reason alone decides: an entry that gives it and forgot the status is taken at its worst.
    pub fn compromised(&self) -> bool {
        self.revocation_reason == Some(RevocationReason::KeyCompromise)
    }

    /// Whether this is, in use, a key of that publisher.
    pub fn lists(&self, publisher: &PublisherId) -> bool {
        self.status == KeyStatus::Active
            && self.revocation_reason.is_none()
            && self.publisher.as_str() == publisher.as_str()
    }

    /// Whether a signature by this key proves that `publisher` signed. Publisher ids are compared as text: a key for
    /// `io.github.alice/project` does not speak for `io.github.alice`, nor the other way round.
    ///
    /// # Errors
    /// [`Ineligible`], the first reason in its own order.
    pub fn eligible(
        &self,
        publisher: &PublisherId,
        signed_at: Option<&Timestamp>,
        now: &Timestamp,
    ) -> Result<(), Ineligible> {
        // An active key that says when or why it was taken back contradicts itself; the worse half counts.
        let taken_back = self.revocation_reason.is_some()
            || self.revoked_at.as_ref().is_some_and(|t| !now.is_before(t));
        match self.status {
            KeyStatus::Revoked => return Err(Ineligible::Revoked),
            _ if taken_back => return Err(Ineligible::Revoked),
            KeyStatus::Expired => return Err(Ineligible::Expired),
            KeyStatus::Active => {}
        }
        if self.publisher.as_str() != publisher.as_str() {
            return Err(Ineligible::OtherPublisher(self.publisher.clone()));
        }
        let inside = |t: &Timestamp| !t.is_before(&self.not_before) && !self.not_after.is_before(t);
        let signed_at = signed_at.ok_or(Ineligible::SigningTimeUnknown)?;
        if !inside(signed_at) {
            return Err(Ineligible::SignedOutsideWindow);
        }
        if !inside(now) {
            return Err(Ineligible::OutsideWindow);
        }
        // Parsing has compared the proof with the clock of that moment; this one may be another.
        let fits = proof_defect(&self.proof, &self.publisher).is_none();
        if !fits || now.is_before(self.proof.verified_at()) {
            return Err(Ineligible::ProofDoesNotFit);
        }
        Ok(())
    }
}

/// The registry's keys, valid. The default has none.
#[derive(Debug, Clone, Default)]
pub struct TrustRegistry {
    keys: BTreeMap<KeyId, TrustedKey>,
}

impl TrustRegistry {
    /// Bytes a trust registry may have.
    pub const MAX_BYTES: usize = 4 << 20;

    /// Reads a trust registry. `now` is the run's time: a proof from after it is refused.
    ///
    /// # Errors
    /// [`ConfigError`] with the first field that is not as it must be; it never repeats private key material.
    pub fn parse(bytes: &[u8], now: &Timestamp) -> Result<Self, ConfigError> {
        bounded(FILE, bytes.len(), Self::MAX_BYTES)?;
        let document = parsed(FILE, bytes);
        // Before anything else, since other errors repeat what they found.
        refuse_private(FILE, bytes, document.as_ref().ok())?;
        let document = document?;
        conforms(FILE, &TRUST_REGISTRY, &document)?;
        let top = Members {
            file: FILE,
            at: String::new(),
            object: &document,
        };
        top.optional::<Timestamp>("updatedAt")?;
        let mut keys = BTreeMap::new();
        for members in top.objects("keys") {
            let key = trusted_key(&members, now)?;
            let keyid = key.keyid.clone();
            if keys.insert(keyid.clone(), key).is_some() {
                return Err(members.refuse(
                    "keyid",
                    format!("expected each keyid once, found {keyid} again; remove one entry"),
                ));
            }
        }
        Ok(Self { keys })
    }

    /// Whether one of two keys took the place of the other, both being this publisher's where they have an entry.
    pub fn rotates(&self, publisher: &PublisherId, one: &KeyId, other: &KeyId) -> bool {
        let names = |entry: Option<&TrustedKey>, key: &KeyId| {
            entry.is_some_and(|entry| {
                entry.publisher.as_str() == publisher.as_str()
                    && (entry.rotated_from.as_ref() == Some(key)
                        || entry.rotated_to.as_ref() == Some(key))
            })
        };
        let (a, b) = (self.get(one), self.get(other));
        let foreign = |entry: Option<&TrustedKey>| {
            entry.is_some_and(|entry| entry.publisher.as_str() != publisher.as_str())
        };
        !foreign(a) && !foreign(b) && (names(a, other) || names(b, one))
    }

    /// Whether it has no keys.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The keys in use of a publisher.
    pub fn listed(&self, publisher: &PublisherId) -> impl Iterator<Item = &KeyId> {
        let own = self.keys.iter().filter(|(_, key)| key.lists(publisher));
        own.map(|(keyid, _)| keyid)
    }

    /// The entry of a key.
    pub fn get(&self, keyid: &KeyId) -> Option<&TrustedKey> {
        self.keys.get(keyid)
    }
}

fn trusted_key(members: &Members<'_>, now: &Timestamp) -> Result<TrustedKey, ConfigError> {
    let missing = |name| members.refuse(name, "the field is missing; add it");
    let keyid: KeyId = members.required("keyid")?;
    let pem = members
        .text("publicKeyPem")
        .ok_or_else(|| missing("publicKeyPem"))?;
    let key = PublicKey::from_pem(pem).map_err(|e| {
        members.refuse(
            "publicKeyPem",
            format!("expected the PEM of a usable Ed25519 public key, found {e}; ask the publisher for the right key"),
        )
    })?;
    if *key.id() != keyid {
        return Err(members.refuse(
            "keyid",
            format!("expected {}, the id of the key beside it, found {keyid}; correct whichever is wrong", key.id()),
        ));
    }
    let publisher = members.required("publisherId")?;
    let not_before: Timestamp = members.required("notBefore")?;
    let not_after: Timestamp = members.required("notAfter")?;
    if !not_before.is_before(&not_after) {
        return Err(members.refuse(
            "notAfter",
            format!("expected a time after notBefore ({not_before}), found {not_after}; correct the window"),
        ));
    }
    let fields = members
        .object("namespaceProof")
        .ok_or_else(|| missing("namespaceProof"))?;
    let proof = namespace_proof(&fields)?;
    if let Some((name, message)) = proof_defect(&proof, &publisher) {
        return Err(fields.refuse(name, message));
    }
    if now.is_before(proof.verified_at()) {
        return Err(fields.refuse(
            "verifiedAt",
            format!(
                "expected a time that has passed (now is {now}), found {}; a proof cannot be from the future",
                proof.verified_at()
            ),
        ));
    }
    Ok(TrustedKey {
        keyid,
        publisher,
        key,
        status: members.named("status")?.ok_or_else(|| missing("status"))?,
        not_before,
        not_after,
        proof,
        rotated_from: members.optional("rotatedFrom")?,
        rotated_to: members.optional("rotatedTo")?,
        revoked_at: members.optional("revokedAt")?,
        revocation_reason: members.named("revocationReason")?,
    })
}

fn namespace_proof(members: &Members<'_>) -> Result<NamespaceProof, ConfigError> {
    let verified_at = members.required("verifiedAt")?;
    let text = |name| {
        let text = members.text(name).map(str::to_owned);
        text.ok_or_else(|| members.refuse(name, "the field is missing; add it"))
    };
    match members.text("method") {
        Some("dns-txt") => Ok(NamespaceProof::DnsTxt {
            txt_record: text("txtRecord")?,
            verified_at,
        }),
        _ => Ok(NamespaceProof::GithubOidc {
            oidc_subject: text("oidcSubject")?,
            verified_at,
        }),
    }
}

/// What a publisher's name has to be proven with.
enum Namespace<'a> {
    /// `io.github.<owner>`, whatever follows.
    GitHub(&'a str),
    /// A domain: the publisher proper, without the scope's tail, reversed.
    Domain(String),
}

impl<'a> Namespace<'a> {
    fn of(scope: &'a PublisherScope) -> Self {
        let scope = scope.as_str();
        if let Some(rest) = scope.strip_prefix("io.github.") {
            return Self::GitHub(rest.split(['.', '/']).next().unwrap_or_default());
        }
        // A tail may begin at a dot as well; where it holds what a domain cannot, the longest prefix that is a
        // publisher is the publisher proper.
        let head = scope.split('/').next().unwrap_or_default();
        let mut proper = head;
        while PublisherId::try_from(proper).is_err() {
            match proper.rsplit_once('.') {
                Some((shorter, _)) => proper = shorter,
                None => break,
            }
        }
        let labels: Vec<&str> = proper.rsplit('.').collect();
        Self::Domain(labels.join("."))
    }
}

/// The member of the proof that does not fit the publisher, and why.
fn proof_defect(
    proof: &NamespaceProof,
    publisher: &PublisherScope,
) -> Option<(&'static str, String)> {
    let subject_fits = |subject: &str, owner: &str| {
        let rest = subject.strip_prefix("repo:");
        // GitHub compares owners without case, and a subject repeats the owner as they write it.
        rest.and_then(|r| r.split_once('/'))
            .is_some_and(|(o, repository)| o.eq_ignore_ascii_case(owner) && !repository.is_empty())
    };
    match (Namespace::of(publisher), proof) {
        (Namespace::GitHub(owner), NamespaceProof::GithubOidc { oidc_subject, .. }) => {
            (!subject_fits(oidc_subject, owner)).then(|| {
                let found = crate::model::shorten(oidc_subject);
                let message = format!(
                    "expected a subject that starts with \"repo:{owner}/\" for the publisher {publisher}, found {found:?}; have a repository of that owner prove the name"
                );
                ("oidcSubject", message)
            })
        }
        (Namespace::GitHub(_), NamespaceProof::DnsTxt { .. }) => Some((
            "method",
            format!("expected \"github-oidc\" for the publisher {publisher}, found \"dns-txt\"; a GitHub name is proven by a token of its own workflows"),
        )),
        (Namespace::Domain(domain), NamespaceProof::DnsTxt { txt_record, .. }) => {
            let expected = format!("_acx-challenge.{domain}");
            (*txt_record != expected).then(|| {
                let found = crate::model::shorten(txt_record);
                let message = format!(
                    "expected {expected:?} for the publisher {publisher}, found {found:?}; prove the publisher's own domain"
                );
                ("txtRecord", message)
            })
        }
        (Namespace::Domain(domain), NamespaceProof::GithubOidc { .. }) => Some((
            "method",
            format!("expected \"dns-txt\" for the publisher {publisher}, found \"github-oidc\"; a domain name is proven by a TXT record at _acx-challenge.{domain}"),
        )),
    }
}

/// What every PEM header of a private key says.
const PEM_LABEL: &str = "PRIVATE KEY";

/// What private keys hold, white space left out: the PEM label, the base64 of an Ed25519 PKCS#8 from its algorithm to
/// the tag of its seed (headers may be missing), and the prefix of age identities.
const PRIVATE_MARKS: &[&str] = &["PRIVATEKEY", "BQYDK2VwBCIE", "AGE-SECRET-KEY-"];

/// The private members of a JWK (RFC 7518 and RFC 8037).
const PRIVATE_MEMBERS: &[&str] = &["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/// The error for a file of public keys that holds a private one; it never repeats what it found.
pub(crate) fn refuse_private(
    file: &str,
    bytes: &[u8],
    document: Option<&Json>,
) -> Result<(), ConfigError> {
    let in_bytes = || {
        bytes
            .windows(PEM_LABEL.len())
            .any(|w| w == PEM_LABEL.as_bytes())
    };
    let found = document
        .and_then(|document| private_material(document, ""))
        .or_else(|| in_bytes().then(String::new));
    match found {
        Some(field) => {
            let message = "private key material, where public keys alone belong; remove it, and treat that key as compromised";
            Err(ConfigError::new(file, field, message))
        }
        None => Ok(()),
    }
}

/// The pointer to the first private key material in the document. Depth is bounded by the parser.
fn private_material(value: &Json, at: &str) -> Option<String> {
    let marked = |text: &str| {
        let dense: String = text.split_whitespace().collect();
        PRIVATE_MARKS.iter().any(|mark| dense.contains(mark))
    };
    match value {
        Json::String(text) => marked(text).then(|| at.to_owned()),
        Json::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(place, item)| private_material(item, &format!("{at}/{place}"))),
        Json::Object(members) => members.iter().find_map(|(name, item)| {
            if marked(name) {
                // The name is the secret: point to its object.
                return Some(at.to_owned());
            }
            let letters: String = name
                .chars()
                .filter(char::is_ascii_alphanumeric)
                .map(|c| c.to_ascii_lowercase())
                .collect();
            let private_name = PRIVATE_MEMBERS.contains(&name.as_str())
                || ["privatekey", "secretkey", "privatepem"]
                    .iter()
                    .any(|mark| letters.contains(mark));
            let at = member(at, name);
            if private_name {
                Some(at)
            } else {
                private_material(item, &at)
            }
        }),
        _ => None,
    }
}
