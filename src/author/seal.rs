//! Naming everything that a cartridge's signature is to cover, and signing it.
//!
//! The hash of the manifest is made by the code that verifies it, so the two cannot differ.

use std::collections::BTreeMap;

use serde_json::json;

use super::package::Problem;
use super::write::Rows;
use crate::attest::{self, PrivateKey, Statement, Subject};
use crate::check::{
    COVERED_KEYS, Engine, Manifests, PREDICATE_TYPE, is_meaningful, metadata_digest,
};
use crate::container::{ObjectRow, SignatureRow, Zone};
use crate::model::{Digest, PublisherId, Timestamp};

/// Metadata that is signed, too, though no index repeats it.
const DECLARED_LEVEL: &str = "acx.declared_level";

/// The objects of these rows, in the manifest's order, and a note for each file that another one names.
///
/// `objects` has one row for one content. So of two files with equal bytes one is named, and the other's bytes are
/// signed through it; the gate says so in a warning. Where a host reads a file by its name, that is not enough, and
/// the pair is refused, as is a file with the bytes of a record.
pub(super) fn objects(
    rows: &Rows,
    notes: &mut Vec<String>,
) -> Result<Vec<ObjectRow>, Vec<Problem>> {
    let row =
        |oid: String, kind: &str, source_ref: String, canon: &str, zone, sz: usize| ObjectRow {
            oid,
            kind: kind.to_owned(),
            source_ref,
            canon: canon.to_owned(),
            zone,
            sz: i64::try_from(sz).unwrap_or(i64::MAX),
        };
    const JCS: &str = "jcs-rfc8785";
    let mut objects: BTreeMap<String, ObjectRow> = BTreeMap::new();
    let mut problems = Vec::new();
    let mut add = |object: ObjectRow| {
        let name = object.source_ref.clone();
        if let Some(other) = objects.insert(object.oid.clone(), object) {
            let message = format!(
                "has exactly the content of {:?}, and a cartridge names one content once: change one of the two",
                other.source_ref
            );
            problems.push(Problem::new(&name, "", message));
        }
    };
    for key in COVERED_KEYS.iter().copied().chain([DECLARED_LEVEL]) {
        if let Some(value) = rows.meta.get(key) {
            let oid = metadata_digest(key, value).to_string();
            add(row(
                oid,
                "cartridge",
                format!("cartridge:{key}"),
                JCS,
                Zone::Rom,
                value.len(),
            ));
        }
    }
    for (memory, _) in &rows.memory {
        let source = format!("memory:{}", memory.id);
        add(row(
            memory.oid.clone(),
            "memory",
            source,
            JCS,
            memory.zone,
            memory.payload.len(),
        ));
    }
    for capability in &rows.capabilities {
        let oid = Digest::of(capability.json.as_bytes()).to_string();
        let source = format!("capability:{}", capability.id);
        add(row(
            oid,
            "cartridge",
            source,
            JCS,
            Zone::Rom,
            capability.json.len(),
        ));
    }
    // The files that hosts read by name come first, so that of equal ones they are the ones that are named.
    let mut files: Vec<(&String, &Vec<u8>)> = rows.files.iter().collect();
    files.sort_by_key(|(name, _)| (!is_meaningful(name), *name));
    let mut named: BTreeMap<Digest, &str> = BTreeMap::new();
    for (name, data) in files {
        let digest = Digest::of(data);
        match named.get(&digest) {
            Some(other) if !is_meaningful(name) => notes.push(format!(
                "{name:?} has the bytes of {other:?}: the signature covers them under that name, and the gate will say so \
                 in a warning"
            )),
            _ => {
                named.insert(digest, name);
                add(row(digest.to_string(), "sqlar", name.clone(), "raw", Zone::Rom, data.len()));
            }
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut objects: Vec<ObjectRow> = objects.into_values().collect();
    objects.sort_by(|a, b| (&a.kind, &a.source_ref, &a.oid).cmp(&(&b.kind, &b.source_ref, &b.oid)));
    Ok(objects)
}

/// What a statement says beside the manifest.
pub(super) struct Claims<'a> {
    pub cartridge_id: &'a str,
    pub publisher: &'a PublisherId,
    pub engine: &'a Engine,
    pub signed_at: &'a Timestamp,
    pub origin: Option<&'a str>,
}

/// Signs the manifest of these objects: the row of `signatures`, and the manifest's hash.
pub(super) fn sign(
    objects: &[ObjectRow],
    claims: &Claims<'_>,
    key: &PrivateKey,
) -> (SignatureRow, Digest) {
    let manifest = Manifests::of(objects);
    let hash = manifest.code_point;
    let predicate = json!({
        "acxSchemaVersion": super::export::SPEC_VERSION,
        "publisherId": claims.publisher,
        "romDigest": hash,
        "manifestHash": hash,
        "checksumHash": manifest.checksum,
        "fileCount": manifest.objects,
        "embeddingEngine": super::documents::engine(claims.engine),
        "signedAt": claims.signed_at,
        "provenanceInstanceId": claims.origin,
    });
    let subject = Subject {
        name: claims.cartridge_id.to_owned(),
        digest: hash,
    };
    let payload = Statement::payload(&subject, PREDICATE_TYPE, &predicate);
    let envelope = attest::sign(attest::PAYLOAD_TYPE, &payload, key);
    let mut short = hash.hex();
    short.truncate(12);
    let row = SignatureRow {
        sig_id: format!("sig-rom-{short}"),
        manifest_hash: hash.to_string(),
        envelope: envelope.to_string(),
        keyid: key.public().id().to_string(),
        public_key_pem: Some(key.public().pem().to_owned()),
        alg: "ed25519".to_owned(),
        created_at: claims.signed_at.to_string(),
    };
    (row, hash)
}
