//! The signature of a document, through the same envelope, statement and key code as every other signature.

use serde_json::json;

use super::{Issue, IssueKind, Kind, Settings, content_digest, list, text};
use crate::attest::{
    self, Envelope, PAYLOAD_TYPE, PrivateKey, PublicKey, SignatureError, Statement, Subject,
};
use crate::model::{
    Digest, Json, KeyId, PublisherId, PublisherScope, Timestamp, Trust, json::shown, shorten,
};
use crate::policy::TrustRegistry;

/// What a document's signature is worth, from the worst to the best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DocumentTrust {
    /// The signature does not hold, or the trust registry speaks against the key.
    Tampered,
    /// No `integrity`.
    Unsigned,
    /// The key is known and not eligible.
    PortableWarning,
    /// The signature holds, and the trust registry does not know the key.
    Portable,
    /// The key is known and eligible.
    Trusted,
}

impl DocumentTrust {
    /// The trust value's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tampered => "tampered",
            Self::Unsigned => "unsigned",
            Self::PortableWarning | Self::Portable => "portable",
            Self::Trusted => "trusted",
        }
    }

    /// What that means, in one sentence.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Tampered => "the signature does not hold, or its key may not sign this",
            Self::Unsigned => "nobody signed it",
            Self::PortableWarning => "signed by a registered key that is not eligible",
            Self::Portable => "signed by a key that no registry vouches for",
            Self::Trusted => "signed by a registered key of the publisher",
        }
    }

    /// The cartridges' trust value that is as much worth, for a policy's minimum.
    pub fn of_cartridges(self) -> Trust {
        match self {
            Self::Tampered => Trust::Tampered,
            Self::Unsigned => Trust::Legacy,
            Self::PortableWarning | Self::Portable => Trust::Portable,
            Self::Trusted => Trust::Trusted,
        }
    }

    /// The status that goes with it: invalid, warning or verified.
    pub fn status(self) -> &'static str {
        match self {
            Self::Tampered => "invalid",
            Self::Unsigned | Self::PortableWarning => "warning",
            Self::Portable | Self::Trusted => "verified",
        }
    }
}

/// The facts of a signature that verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed {
    /// Whose document it is.
    pub publisher: String,
    /// The signer's key.
    pub keyid: KeyId,
    /// When it was signed, by the signer's word.
    pub signed_at: Timestamp,
}

const MEMBERS: [&str; 7] = [
    "schemaVersion",
    "digest",
    "publisherId",
    "keyid",
    "publicKeyPem",
    "signedAt",
    "envelope",
];

type Found = Result<Signed, (String, String)>;

fn wrong<T>(pointer: &str, message: impl Into<String>) -> Result<T, (String, String)> {
    Err((format!("/integrity{pointer}"), message.into()))
}

pub(super) fn check(
    kind: Kind,
    value: &Json,
    digest: Digest,
    settings: Settings<'_>,
    issues: &mut Vec<Issue>,
) -> (DocumentTrust, Option<Signed>) {
    let Some(integrity) = value.get("integrity") else {
        if settings.publication {
            let message = "expected a signature, found none".to_owned();
            issues.push((IssueKind::Unsigned, "/integrity".to_owned(), message));
        }
        return (DocumentTrust::Unsigned, None);
    };
    let signed = match verify(kind, value, integrity, digest, settings) {
        Ok(signed) => signed,
        Err((pointer, message)) => {
            issues.push((IssueKind::Integrity, pointer, message));
            return (DocumentTrust::Tampered, None);
        }
    };
    if PublisherId::try_from(signed.publisher.as_str()).is_err() {
        let message = format!(
            "expected a publisher id of one path segment, found {:?}",
            shorten(&signed.publisher)
        );
        issues.push((
            IssueKind::Coordinate,
            "/integrity/publisherId".to_owned(),
            message,
        ));
    }
    if settings.now.is_before(&signed.signed_at) {
        let message = format!(
            "signed at {}, which is after now ({})",
            signed.signed_at, settings.now
        );
        issues.push((IssueKind::Future, "/integrity/signedAt".to_owned(), message));
    }
    match origin(&signed, settings.trust, settings.now) {
        Ok(trust) => (trust, Some(signed)),
        Err(against) => {
            let pointer = "/integrity/keyid".to_owned();
            issues.push((IssueKind::Key, pointer, against.message));
            // Whose a compromised key was is not forgotten; a foreign one was never the publisher's.
            let signed = against.compromised.then_some(signed);
            (DocumentTrust::Tampered, signed)
        }
    }
}

/// What the trust registry has against a key.
pub(crate) struct Against {
    message: String,
    /// The key was compromised; otherwise it is another publisher's.
    compromised: bool,
}

/// What a signature that holds is worth under these keys at this time.
pub(crate) fn origin(
    signed: &Signed,
    trust: &TrustRegistry,
    now: &Timestamp,
) -> Result<DocumentTrust, Against> {
    let Some(entry) = trust.get(&signed.keyid) else {
        return Ok(DocumentTrust::Portable);
    };
    if entry.compromised() {
        return Err(Against {
            message: format!(
                "the signer's key {} is revoked: it was compromised",
                signed.keyid
            ),
            compromised: true,
        });
    }
    if entry.publisher.as_str() != signed.publisher {
        return Err(Against {
            message: format!(
                "the trust registry gives the key {} to {}",
                signed.keyid, entry.publisher
            ),
            compromised: false,
        });
    }
    let eligible = PublisherId::try_from(signed.publisher.as_str()).is_ok_and(|publisher| {
        entry
            .eligible(&publisher, Some(&signed.signed_at), now)
            .is_ok()
    });
    Ok(if eligible {
        DocumentTrust::Trusted
    } else {
        DocumentTrust::PortableWarning
    })
}

/// `integrity.schemaVersion`
fn signature_version(kind: Kind) -> &'static str {
    match kind {
        Kind::Workflow => "acx.workflow-signature/1",
        Kind::AgentGraph => "acx.agent-graph-signature/1",
    }
}

fn predicate_type(kind: Kind) -> &'static str {
    match kind {
        Kind::Workflow => "https://acx.dev/attestation/workflow/v1",
        Kind::AgentGraph => "https://acx.dev/attestation/agent-graph/v1",
    }
}

/// The name of what is signed; a draft may have no version.
fn subject_name(kind: Kind, value: &Json) -> String {
    format!(
        "urn:acx:{}:{}@{}",
        kind.artifact().as_str(),
        text(value, "id"),
        value
            .get("version")
            .and_then(Json::as_str)
            .unwrap_or("unversioned")
    )
}

/// What the statement's predicate says of a document.
fn predicate(
    kind: Kind,
    value: &Json,
    digest: Digest,
    publisher: &str,
    signed_at: &str,
) -> Vec<(String, Json)> {
    let noun = match kind {
        Kind::Workflow => "workflow",
        Kind::AgentGraph => "agentGraph",
    };
    let counts: &[(&str, &str)] = match kind {
        Kind::Workflow => &[("participants", "participants"), ("nodes", "nodes")],
        Kind::AgentGraph => &[
            ("actors", "actors"),
            ("knowledgeModules", "knowledge"),
            ("routes", "routes"),
            ("loops", "loops"),
            ("convergencePoints", "convergence"),
        ],
    };
    let version = value.get("version").and_then(Json::as_str);
    let mut all = vec![
        (
            "acxSchemaVersion".to_owned(),
            value.get("schemaVersion").cloned().unwrap_or_default(),
        ),
        (format!("{noun}Id"), text(value, "id").into()),
        (format!("{noun}Version"), version.into()),
        (format!("{noun}Digest"), digest.to_string().into()),
        ("publisherId".to_owned(), publisher.into()),
        ("signedAt".to_owned(), signed_at.into()),
    ];
    let counted = counts
        .iter()
        .map(|(name, of)| ((*name).to_owned(), list(value, of).len().into()));
    all.extend(counted);
    all
}

/// The member `integrity` of a document that has none: signed by this key, in the name of this publisher.
pub(super) fn sign(
    kind: Kind,
    value: &Json,
    publisher: &PublisherId,
    key: &PrivateKey,
    now: &Timestamp,
) -> Json {
    let digest = content_digest(value);
    let predicate = predicate(kind, value, digest, publisher.as_str(), now.as_str());
    let subject = Subject {
        name: subject_name(kind, value),
        digest,
    };
    let predicate = Json::Object(predicate.into_iter().collect());
    let payload = Statement::payload(&subject, predicate_type(kind), &predicate);
    json!({
        "schemaVersion": signature_version(kind),
        "digest": digest,
        "publisherId": publisher.as_str(),
        "keyid": key.public().id(),
        "publicKeyPem": key.public().pem(),
        "signedAt": now.as_str(),
        "envelope": attest::sign(PAYLOAD_TYPE, &payload, key),
    })
}

fn verify(
    kind: Kind,
    value: &Json,
    integrity: &Json,
    digest: Digest,
    settings: Settings<'_>,
) -> Found {
    let Some(members) = integrity.as_object() else {
        return wrong(
            "",
            format!("expected an object, found {}", shown(integrity)),
        );
    };
    if let Some(name) = members
        .keys()
        .find(|name| !MEMBERS.contains(&name.as_str()))
    {
        return wrong(
            "",
            format!("unknown field {:?}; no signature covers it", shorten(name)),
        );
    }
    if let Some(name) = MEMBERS.iter().find(|name| !members.contains_key(**name)) {
        return wrong(&format!("/{name}"), "the field is missing; sign again");
    }
    let (version, predicate_type) = (signature_version(kind), predicate_type(kind));
    let expect = |pointer: &str, found: Option<&Json>, expected: Json| {
        if found == Some(&expected) {
            return Ok(());
        }
        let found = found.map_or_else(|| "nothing".to_owned(), shown);
        wrong(
            pointer,
            format!("expected {}, found {found}", shown(&expected)),
        )
    };
    expect(
        "/schemaVersion",
        integrity.get("schemaVersion"),
        version.into(),
    )?;
    expect(
        "/digest",
        integrity.get("digest"),
        digest.to_string().into(),
    )?;
    let publisher = text(integrity, "publisherId");
    if let Err(e) = PublisherScope::try_from(publisher) {
        return wrong("/publisherId", e.to_string());
    }
    let signed_at = match Timestamp::try_from(text(integrity, "signedAt")) {
        Ok(time) => time,
        Err(e) => return wrong("/signedAt", e.to_string()),
    };
    let pem = text(integrity, "publicKeyPem");
    if !pem.starts_with("-----BEGIN PUBLIC KEY-----")
        || !pem.trim_end().ends_with("-----END PUBLIC KEY-----")
    {
        return wrong(
            "/publicKeyPem",
            "expected one block of a public key and nothing around it",
        );
    }
    let key = match PublicKey::from_pem(pem) {
        Ok(key) => key,
        Err(e) => return wrong("/publicKeyPem", e.to_string()),
    };
    expect("/keyid", integrity.get("keyid"), key.id().as_str().into())?;
    let envelope = match Envelope::of_json(integrity.get("envelope").unwrap_or(&Json::Null)) {
        Ok(envelope) => envelope,
        Err(e) => return wrong(&format!("/envelope{}", e.pointer), e.message),
    };
    if envelope.signatures.len() != 1 || envelope.payload_type != PAYLOAD_TYPE {
        return wrong(
            "/envelope",
            format!("expected exactly one signature and the payload type {PAYLOAD_TYPE}"),
        );
    }
    let known = settings.trust.get(key.id()).map(|entry| &entry.key);
    match attest::verify(&envelope, known.unwrap_or(&key)) {
        Ok(()) => {}
        Err(SignatureError::OtherKey(named)) => {
            return wrong(
                "/envelope/signatures/0/keyid",
                format!("expected {}, found {named}", key.id()),
            );
        }
        Err(SignatureError::Invalid) => {
            return wrong(
                "/envelope/signatures/0/sig",
                format!("{} did not sign this statement", key.id()),
            );
        }
    }
    let statement = match Statement::of_open_envelope(&envelope, predicate_type) {
        Ok(statement) => statement,
        Err(e) => return wrong(&format!("/envelope/payload{}", e.pointer), e.message),
    };
    let name = subject_name(kind, value);
    let at = |rest: &str| format!("/envelope/payload{rest}");
    expect(
        &at("/subject/0/name"),
        Some(&statement.subject.name.clone().into()),
        name.into(),
    )?;
    expect(
        &at("/subject/0/digest/sha256"),
        Some(&statement.subject.digest.hex().into()),
        digest.hex().into(),
    )?;
    let expected = predicate(kind, value, digest, publisher, text(integrity, "signedAt"));
    for (name, expected) in expected {
        let found = statement.predicate.get(&name);
        // `5` and `5.0` are one number.
        let same_number = expected.is_number() && found.and_then(Json::as_f64) == expected.as_f64();
        if !same_number {
            expect(&at(&format!("/predicate/{name}")), found, expected)?;
        }
    }
    Ok(Signed {
        publisher: publisher.to_owned(),
        keyid: key.id().clone(),
        signed_at,
    })
}
