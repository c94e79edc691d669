//! The index's own signature: made here, verified here, by the same DSSE and key code as every cartridge's.
//!
//! The signature stands in the file that it signs, as the member `integrity`, so the two can never be torn apart. What
//! is signed is the canonical form of all the rest; `sequence` and `previousDigest` chain each index to the one before,
//! so that a consumer notices an old one being served again.
//!
//! `retired` in the predicate remembers what this registry once listed and lists no more. Without it, a version that
//! was changed or removed would be forgotten with the build that refused it, and the next build would take it for new.

use serde::{Deserialize, Serialize};
use serde_json::json;

use std::collections::BTreeSet;

use super::index::{Content, Counts, INDEX_VERSION, array, entries, pretty};
use super::shard::{self, Further, ROOT_VERSION, Shard};
use crate::attest::{self, Envelope, PAYLOAD_TYPE, PrivateKey, PublicKey, Statement, Subject};
use crate::discover::sidecar_path;
use crate::disk::ReadError;
use crate::model::{ArtifactType, Digest, Json, KeyId, Timestamp, json as strict, shorten};
use crate::schema::{REGISTRY_INDEX, REGISTRY_INDEX_ROOT, Schema};

/// The predicate type of an index's statement.
pub const PREDICATE_TYPE: &str = "https://acx.dev/attestation/registry-index/v1";
const SCHEMA_VERSION: &str = "acx.registry-index-signature/1";

/// Where the keys to hold the signer against come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeySource {
    /// The consumer named them.
    Consumer,
    /// The registry's own policy names them: the registry vouches for itself.
    OwnPolicy,
    /// Nobody did.
    Nobody,
}

/// The member `integrity`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Integrity {
    /// `acx.registry-index-signature/1`
    pub schema_version: String,
    /// SHA-256 of the canonical content.
    pub digest: Digest,
    /// Whose index it is.
    pub registry_id: String,
    /// The signer's key.
    pub keyid: KeyId,
    /// The signer's key, SPKI PEM.
    pub public_key_pem: String,
    /// When it was signed.
    pub signed_at: Timestamp,
    /// The DSSE envelope.
    pub envelope: Json,
}

/// A coordinate that an index lists, or once listed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// The artifact's path, which spells its coordinate.
    pub path: String,
    /// The signed digest.
    pub digest: Digest,
    /// SHA-256 of the file.
    pub sha256: Digest,
    /// The digest of its Lance dataset, where it is listed with one.
    #[serde(skip)]
    pub dataset: Option<Digest>,
    /// The signer's key; unknown of what was retired before it was kept.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub keyid: Option<KeyId>,
}

impl Published {
    /// As `retired` remembers it: what must never change, and nothing that is derived.
    pub fn retired(&self) -> Self {
        Self {
            dataset: None,
            ..self.clone()
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Predicate {
    registry_id: String,
    index_digest: Digest,
    sequence: u64,
    previous_digest: Option<Digest>,
    signed_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    expires: Option<Timestamp>,
    counts: Counts,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    retired: Vec<Published>,
}

/// What a signature says besides the content.
#[derive(Debug, Clone, PartialEq)]
pub struct Signing {
    /// Whose index it is.
    pub registry_id: String,
    /// 1 for the first, then one more for each.
    pub sequence: u64,
    /// The digest of the index before.
    pub previous_digest: Option<Digest>,
    /// The run's one time.
    pub signed_at: Timestamp,
    /// Until when it may be served.
    pub expires: Option<Timestamp>,
    /// What was listed once and is no more, sorted by path.
    pub retired: Vec<Published>,
}

/// Signs the content.
pub fn sign(content: &Content, signing: &Signing, key: &PrivateKey) -> Integrity {
    sign_digest(content.digest(), content.counts(), signing, key)
}

/// Signs the content, or the root, of this digest.
pub(super) fn sign_digest(
    digest: Digest,
    counts: Counts,
    signing: &Signing,
    key: &PrivateKey,
) -> Integrity {
    let predicate = Predicate {
        registry_id: signing.registry_id.clone(),
        index_digest: digest,
        sequence: signing.sequence,
        previous_digest: signing.previous_digest,
        signed_at: signing.signed_at.clone(),
        expires: signing.expires.clone(),
        counts,
        retired: signing.retired.clone(),
    };
    let subject = Subject {
        name: subject_name(&signing.registry_id),
        digest,
    };
    let payload = Statement::payload(&subject, PREDICATE_TYPE, &json!(predicate));
    Integrity {
        schema_version: SCHEMA_VERSION.to_owned(),
        digest,
        registry_id: signing.registry_id.clone(),
        keyid: key.public().id().clone(),
        public_key_pem: key.public().pem().to_owned(),
        signed_at: signing.signed_at.clone(),
        envelope: attest::sign(PAYLOAD_TYPE, &payload, key),
    }
}

fn subject_name(registry_id: &str) -> String {
    format!("urn:acx:registry-index:{registry_id}")
}

/// An index whose signature holds — under the key that it names itself. Whether that key may sign is for the caller
/// to say: anyone can sign.
#[derive(Debug, Clone)]
pub struct SignedIndex {
    /// Everything but `integrity`, in the form of an index in one file.
    pub content: Json,
    /// What is known of it besides.
    pub head: IndexHead,
}

/// What a build needs of the index before it.
#[derive(Debug, Clone)]
pub struct IndexHead {
    /// The member `integrity`.
    pub integrity: Integrity,
    /// The signer's key.
    pub key: PublicKey,
    /// What the signature says.
    pub signing: Signing,
    /// The artifacts that it lists.
    pub published: Vec<Published>,
    /// The shards that it names; none where one file holds all.
    pub shards: Option<Vec<Shard>>,
    /// The publishers whose shard was not at hand: what it lists of them is not known.
    pub absent: BTreeSet<String>,
    /// The file and its shards are in the form in which this tool writes them, byte for byte.
    pub well_formed: bool,
}

impl std::ops::Deref for SignedIndex {
    type Target = IndexHead;

    fn deref(&self) -> &IndexHead {
        &self.head
    }
}

/// Why a file is no signed index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexError {
    /// Not an index at all: what its schema has against it, and where.
    Malformed(String),
    /// An index without a signature.
    Unsigned,
    /// The signature does not hold.
    Invalid(String),
    /// A shard is missing, or not what the signed root says.
    Shard {
        /// Its path in the registry.
        path: String,
        /// What was expected and found.
        message: String,
    },
}

impl std::fmt::Display for IndexError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Malformed(what) => write!(f, "not a registry index: {what}"),
            Self::Unsigned => f.write_str("the index is not signed: it has no `integrity`"),
            Self::Invalid(what) => write!(f, "the index's signature does not hold: {what}"),
            Self::Shard { path, message } => write!(f, "{path}: {message}"),
        }
    }
}

impl std::error::Error for IndexError {}

/// Reads an index of one file and verifies its signature under the key that stands in it.
///
/// # Errors
/// [`IndexError`]; nothing of a file that fails is given out. A root fails by its first shard.
pub fn read(bytes: &[u8]) -> Result<SignedIndex, IndexError> {
    read_with(bytes, &|_, _| {
        Err(ReadError::Io(std::io::ErrorKind::NotFound.into()))
    })
}

/// Reads an index of either form, all of it; `further` gives its shards.
///
/// # Errors
/// [`IndexError`]; nothing of an index that fails is given out.
pub fn read_with(bytes: &[u8], further: Further<'_>) -> Result<SignedIndex, IndexError> {
    let index = read_at_hand(bytes, further)?;
    match absent(&index.head) {
        None => Ok(index),
        Some(shard) => Err(shard.missing()),
    }
}

/// The first shard that was not at hand.
fn absent(head: &IndexHead) -> Option<&Shard> {
    let mut shards = head.shards.iter().flatten();
    shards.find(|shard| head.absent.contains(&shard.publisher))
}

/// As [`read_with`], but a shard may be absent; [`IndexHead::absent`] tells which.
///
/// # Errors
/// As [`read_with`], but for what is not at hand.
pub fn read_at_hand(bytes: &[u8], further: Further<'_>) -> Result<SignedIndex, IndexError> {
    let malformed = |what: String| IndexError::Malformed(what);
    let invalid = |what: String| IndexError::Invalid(what);
    let whole = strict::parse(bytes).map_err(|e| malformed(e.to_string()))?;
    let well_formed = pretty(&whole).is_ok_and(|text| text == bytes);
    let version = whole
        .get("schemaVersion")
        .and_then(Json::as_str)
        .map(str::to_owned);
    let Json::Object(mut content) = whole else {
        return Err(malformed("expected an object".into()));
    };
    let (schema, sharded) = match version.as_deref() {
        Some(INDEX_VERSION) => (&REGISTRY_INDEX, false),
        Some(ROOT_VERSION) => (&REGISTRY_INDEX_ROOT, true),
        other => {
            let found = other.map_or_else(|| "nothing".to_owned(), |v| format!("{:?}", shorten(v)));
            return Err(malformed(format!(
                "/schemaVersion: expected {INDEX_VERSION:?} or {ROOT_VERSION:?}, found {found}"
            )));
        }
    };
    let as_found = content
        .shift_remove("integrity")
        .ok_or(IndexError::Unsigned)?;
    let mut integrity: Integrity = serde_json::from_value(as_found.clone())
        .map_err(|e| malformed(format!("/integrity: {}", shorten(&e.to_string()))))?;
    let mut content = Json::Object(content);

    let digest = strict::canonical_digest(&content);
    if digest != integrity.digest {
        return Err(invalid(format!(
            "expected the digest {}, found {digest} in the content",
            integrity.digest
        )));
    }
    let (key, statement, predicate, spelled) = signature(&mut integrity)?;
    let well_formed = well_formed && spelled;
    // Only now is the rest worth a look: it is what the key signed.
    conforms(schema, &mut content, as_found)?;
    let counts: Counts =
        counts(&content).ok_or_else(|| malformed("a count is missing or no number".into()))?;
    let agrees = [
        (
            "the subject's name",
            statement.subject.name == subject_name(&integrity.registry_id),
        ),
        ("the subject's digest", statement.subject.digest == digest),
        ("registryId", predicate.registry_id == integrity.registry_id),
        ("indexDigest", predicate.index_digest == digest),
        ("signedAt", predicate.signed_at == integrity.signed_at),
        ("sequence", predicate.sequence >= 1),
        ("counts", predicate.counts == counts),
    ];
    if let Some((what, _)) = agrees.iter().find(|(_, same)| !same) {
        return Err(invalid(format!(
            "{what} of the signed statement is not the index's"
        )));
    }
    let mut absent = BTreeSet::new();
    let (mut shards, mut well_formed) = (None, well_formed);
    if sharded {
        let named = shard::named(&content)?;
        let assembled = shard::assemble(&content, &named, further)?;
        well_formed &= assembled.well_formed;
        content = assembled.content;
        absent = assembled.absent;
        shards = Some(named);
    }
    let published = published(&content).ok_or_else(|| {
        malformed("an entry without path, digest, sha256, keyid or memories".into())
    })?;
    datasets_in_place(&content)?;
    Ok(SignedIndex {
        content,
        head: IndexHead {
            integrity,
            key,
            signing: predicate.into(),
            published,
            shards,
            absent,
            well_formed,
        },
    })
}

/// Reads an index that [`read`] has accepted before and found in the form in which it is written, which the caller
/// knows by the file's hash. The signature is verified again; what it covers is not hashed again, but for shards, which
/// are files of their own.
///
/// # Errors
/// As [`read_with`].
pub fn read_known(bytes: &[u8], further: Further<'_>) -> Result<IndexHead, IndexError> {
    /// An index, a root or a shard.
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Known {
        #[serde(default)]
        cartridges: Vec<Entry>,
        #[serde(default)]
        workflows: Vec<Entry>,
        #[serde(default)]
        agent_graphs: Vec<Entry>,
        shards: Option<Vec<Shard>>,
        integrity: Option<Integrity>,
    }
    #[derive(Deserialize)]
    struct Entry {
        path: String,
        digest: Digest,
        sha256: Digest,
        keyid: KeyId,
        memories: Option<Memories>,
    }
    #[derive(Deserialize)]
    struct Memories {
        digest: Digest,
    }
    let parse = |bytes: &[u8]| {
        serde_json::from_slice::<Known>(bytes)
            .map_err(|e| IndexError::Malformed(shorten(&e.to_string())))
    };
    let mut known = parse(bytes)?;
    let mut integrity = known.integrity.take().ok_or(IndexError::Unsigned)?;
    let (key, _, predicate, _) = signature(&mut integrity)?;
    for shard in known.shards.iter().flatten() {
        let bytes = shard.fetch(further)?.ok_or_else(|| shard.missing())?;
        let more = parse(&bytes)?;
        known.cartridges.extend(more.cartridges);
        known.workflows.extend(more.workflows);
        known.agent_graphs.extend(more.agent_graphs);
    }
    let entries = [known.cartridges, known.workflows, known.agent_graphs];
    let published = entries.into_iter().flatten().map(|entry| Published {
        path: entry.path,
        digest: entry.digest,
        sha256: entry.sha256,
        dataset: entry.memories.map(|memories| memories.digest),
        keyid: Some(entry.keyid),
    });
    Ok(IndexHead {
        integrity,
        key,
        signing: predicate.into(),
        published: published.collect(),
        shards: known.shards,
        absent: BTreeSet::new(),
        well_formed: true,
    })
}

impl From<Predicate> for Signing {
    fn from(predicate: Predicate) -> Self {
        Self {
            registry_id: predicate.registry_id,
            sequence: predicate.sequence,
            previous_digest: predicate.previous_digest,
            signed_at: predicate.signed_at,
            expires: predicate.expires,
            retired: predicate.retired,
        }
    }
}

/// Verifies the envelope under the key that stands beside it. Gives the key, what it signed, and whether the envelope
/// is spelled as this tool spells it.
fn signature(
    integrity: &mut Integrity,
) -> Result<(PublicKey, Statement, Predicate, bool), IndexError> {
    let invalid = |what: String| IndexError::Invalid(what);
    let key = PublicKey::from_pem(&integrity.public_key_pem)
        .map_err(|e| invalid(format!("publicKeyPem: {e}")))?;
    if *key.id() != integrity.keyid || key.pem() != integrity.public_key_pem {
        return Err(invalid(format!(
            "publicKeyPem is the key {}, keyid names {}",
            key.id(),
            integrity.keyid
        )));
    }
    let envelope = Envelope::of_json(&integrity.envelope)
        .map_err(|e| invalid(format!("integrity/envelope{}: {}", e.pointer, e.message)))?;
    // One signature has several spellings in base64; a file of another spelling is not the one that was written.
    let spelled = envelope.to_json();
    let same = spelled == integrity.envelope;
    integrity.envelope = spelled;
    attest::verify(&envelope, &key)
        .map_err(|_| invalid(format!("the key {} did not sign it", key.id())))?;
    let statement = Statement::of_envelope(&envelope, PREDICATE_TYPE)
        .map_err(|e| invalid(format!("the statement{}: {}", e.pointer, e.message)))?;
    let predicate: Predicate = serde_json::from_value(statement.predicate.clone())
        .map_err(|e| invalid(format!("the predicate: {}", shorten(&e.to_string()))))?;
    Ok((key, statement, predicate, same))
}

/// The whole file against its schema.
fn conforms(schema: &Schema, content: &mut Json, integrity: Json) -> Result<(), IndexError> {
    let Some(members) = content.as_object_mut() else {
        return Ok(());
    };
    members.insert("integrity".to_owned(), integrity);
    let defect = schema.defect(content);
    if let Some(members) = content.as_object_mut() {
        members.shift_remove("integrity");
    }
    match defect {
        None => Ok(()),
        Some((at, message)) if at.is_empty() => Err(IndexError::Malformed(message)),
        Some((at, message)) => Err(IndexError::Malformed(format!("{at}: {message}"))),
    }
}

fn counts(content: &Json) -> Option<Counts> {
    let count = |name: &str| usize::try_from(content.get(name)?.as_u64()?).ok();
    Some(Counts {
        artifacts: count("artifactCount")?,
        cartridges: count("count")?,
        workflows: count("workflowCount")?,
        agent_graphs: count("agentGraphCount")?,
        templates: count("templateCount")?,
    })
}

fn published(content: &Json) -> Option<Vec<Published>> {
    let member = |entry: &Json, name: &str| entry.get(name)?.as_str().map(str::to_owned);
    let all_there = ArtifactType::ALL
        .into_iter()
        .all(|kind| content.get(array(kind)).is_some_and(Json::is_array));
    if !all_there {
        return None;
    }
    entries(content)
        .map(|(kind, entry)| {
            let memories = match kind {
                ArtifactType::Agent => entry.get("memories")?,
                _ => &Json::Null,
            };
            Some(Published {
                path: member(entry, "path")?,
                digest: Digest::try_from(member(entry, "digest")?.as_str()).ok()?,
                sha256: Digest::try_from(member(entry, "sha256")?.as_str()).ok()?,
                dataset: match memories {
                    Json::Null => None,
                    memories => Some(Digest::try_from(member(memories, "digest")?.as_str()).ok()?),
                },
                keyid: Some(KeyId::try_from(member(entry, "keyid")?.as_str()).ok()?),
            })
        })
        .collect()
}

/// Every listed dataset stands beside its cartridge, so that no reader is sent elsewhere.
fn datasets_in_place(content: &Json) -> Result<(), IndexError> {
    let all = entries(content).enumerate();
    for (at, (_, entry)) in all.filter(|(_, (kind, _))| *kind == ArtifactType::Agent) {
        let text = |pointer| entry.pointer(pointer).and_then(Json::as_str);
        let found = text("/memories/path");
        let expected = sidecar_path(text("/path").unwrap_or_default());
        let named = entry.get("memories").is_some_and(|m| !m.is_null());
        if named && found != Some(expected.as_str()) {
            let found = shorten(found.unwrap_or("none"));
            return Err(IndexError::Malformed(format!(
                "/cartridges/{at}/memories/path: expected {expected:?}, found {found:?}"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use crate::project::Entries;
    use crate::publish::render;

    fn content(entries: usize) -> Content {
        let digest = |c: &str| format!("sha256:{}", c.repeat(64));
        let entry = |n: usize| {
            serde_json::from_value(json!({
                "id": "a", "slug": "io.github.acme__a", "path": format!("cartridges/io.github.acme/a/1.0.{n}/cartridge.acx"),
                "name": "A", "publisher": "io.github.acme", "role": "qa_engineer", "provider": "custom", "model": null,
                "version": format!("1.0.{n}"), "description": "d", "license": "Apache-2.0",
                "authors": [{"name": "x"}], "tags": ["a", "b"], "homepage": null, "trust": "trusted",
                "trustStatus": "verified", "specClean": true, "romHash": digest("a"), "digest": digest("a"),
                "bytes": 90_112, "capabilities": [{
                    "taskType": "debug", "stack": ["pkg:pypi/x"], "domain": "backend", "claimedVerified": false,
                    "verified": false, "verificationState": "unresolved",
                }],
                "level": null, "levelClaim": {"acxLevel": null, "careerTier": null, "verificationState": null},
                "registryStatus": {
                    "status": "active", "reason": null, "recordedAt": null, "successor": null, "advisory": null,
                },
                "latest": false, "keyid": format!("ed25519:{}", "b".repeat(64)),
                "signedAt": "2026-07-19T08:54:36.000Z", "sha256": digest("c"), "memories": null,
            }))
            .unwrap()
        };
        let entries = Entries {
            cartridges: (0..entries).map(entry).collect(),
            ..Entries::default()
        };
        Content::new("2026-07-19T08:54:36.000Z".into(), entries, Vec::new())
    }

    fn index(entries: usize) -> Vec<u8> {
        let content = content(entries);
        let signing = Signing {
            registry_id: "local.registry".into(),
            sequence: 1,
            previous_digest: None,
            signed_at: Timestamp::from_unix(1_800_000_000).unwrap(),
            expires: None,
            retired: Vec::new(),
        };
        let key = PrivateKey::from_seed(&[7; 32]).unwrap();
        render(&content, &sign(&content, &signing, &key)).unwrap()
    }

    fn refused(edit: impl FnOnce(&mut Json)) -> String {
        let mut document: Json = serde_json::from_slice(&index(2)).unwrap();
        edit(&mut document);
        let bytes = serde_json::to_vec(&document).unwrap();
        read(&bytes).unwrap_err().to_string()
    }

    #[test]
    fn what_is_written_is_read() {
        let read = read(&index(3)).unwrap();
        assert!(read.well_formed);
        assert_eq!(read.published.len(), 3);
        assert_eq!(read.content, json!(content(3)));
    }

    /// A document whose content was changed before it was signed: true, and still not an index.
    fn signed_but_wrong(edit: impl FnOnce(&mut Json)) -> String {
        let key = PrivateKey::from_seed(&[7; 32]).unwrap();
        let mut document: Json = serde_json::from_slice(&index(2)).unwrap();
        let integrity = document
            .as_object_mut()
            .unwrap()
            .shift_remove("integrity")
            .unwrap();
        let mut integrity: Integrity = serde_json::from_value(integrity).unwrap();
        edit(&mut document);
        let envelope = Envelope::of_json(&integrity.envelope).unwrap();
        let mut statement: Json = serde_json::from_slice(&envelope.payload).unwrap();
        let digest = Digest::of(&strict::canonical(&document));
        statement["predicate"]["indexDigest"] = json!(digest);
        let subject = Subject {
            name: subject_name("local.registry"),
            digest,
        };
        let payload = Statement::payload(&subject, PREDICATE_TYPE, &statement["predicate"]);
        integrity.digest = digest;
        integrity.envelope = attest::sign(PAYLOAD_TYPE, &payload, &key);
        document["integrity"] = json!(integrity);
        read(&serde_json::to_vec(&document).unwrap())
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn a_malformed_index_is_refused_by_field() {
        for (refused, message) in [
            (
                refused(|i| i["schemaVersion"] = json!("acx.registry-index/2")),
                "/schemaVersion: expected \"acx.registry-index/1\" or \"acx.registry-index-root/1\", found \"acx.registry-index/2\"",
            ),
            (refused(|i| *i = json!([])), "expected an object"),
            (
                signed_but_wrong(|i| i["cartridges"][1]["trust"] = json!("local")),
                "/cartridges/1/trust: expected one of \"portable\", \"trusted\", found \"local\"",
            ),
            (
                signed_but_wrong(|i| i["cartridges"][0]["sha265"] = json!("")),
                "/cartridges/0/sha265: unknown field; remove it, or is \"sha256\" meant?",
            ),
        ] {
            assert_eq!(refused, format!("not a registry index: {message}"));
        }
        assert!(
            refused(|i| i["integrity"]["signedAt"] = json!("2026-02-30T00:00:00Z"))
                .starts_with("not a registry index: /integrity: ")
        );
        assert_eq!(
            refused(|i| drop(i.as_object_mut().unwrap().remove("integrity"))),
            IndexError::Unsigned.to_string()
        );
        assert!(
            refused(|i| i["cartridges"][0]["latest"] = json!(true))
                .contains("signature does not hold: expected the digest")
        );
    }
}
