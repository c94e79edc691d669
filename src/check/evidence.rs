//! What recomputing a cartridge's digests and checking its signature gives.
//!
//! This is the one place where a cartridge's integrity and signature are decided; the rules of those two families
//! only say what an [`Issue`] found here means. The steps, in order:
//!
//! 1. Every ROM object's digest is recomputed from its live source, and everything in the ROM zone is looked up among
//!    the objects, so that nothing unsigned hides there.
//! 2. The manifest of those objects is hashed, in code point order and, where that differs, in UTF-16 order.
//! 3. The newest envelope is verified by the key that comes with it or that the trust registry has for its key id.
//! 4. Its statement must be about this cartridge, this manifest and this publisher.
//! 5. The trust registry says what the key is worth.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::attest::{self, Envelope, PublicKey, SignatureError, Statement};
use crate::container::{Cartridge, ObjectRow, SignatureRow, Zone};
use crate::model::{Digest, Json, KeyId, PublisherId, Timestamp, Trust, json, shorten};
use crate::policy::TrustRegistry;

use super::rule::Place;

/// The predicate type of a cartridge's statement.
pub const PREDICATE_TYPE: &str = "https://acx.dev/attestation/cartridge/v1";

/// Metadata that the index projects, or that decides how the rest is read: the signature must cover it where it is
/// present.
pub const COVERED_KEYS: &[&str] = &[
    "acx.agent_name",
    "acx.artifact_id",
    "acx.artifact_version",
    "acx.authors",
    "acx.cartridge_id",
    "acx.created_at",
    "acx.description",
    "acx.embedding_engine",
    "acx.homepage",
    "acx.license",
    "acx.model",
    "acx.provider",
    "acx.publisher_id",
    "acx.role",
    "acx.spec_version",
    "acx.tags",
];

/// The ROM files that the package spec names one by one.
pub const SPEC_PATHS: &[&str] = &[
    "rom/manifest/harness-requirements.json",
    "rom/package-spec.json",
    "rom/policy/loop-context-policy.json",
    "rom/schema/lance-memory.json",
];

/// What the evidence can show; each kind is the subject of one rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IssueKind {
    /// An object's source is gone or has another digest.
    Object,
    /// ROM content that no object names.
    Stowaway,
    /// A second file with signed bytes, at a path that means something.
    Alias,
    /// A second file with signed bytes, at a path that means nothing.
    SharedContent,
    /// The recomputed manifest is not the signed one.
    Manifest,
    /// A recorded manifest hash is not the signed one.
    RecordedHash,
    /// The signer sorted the manifest by UTF-16 code units.
    Utf16Order,
    /// An `acx_skill` row disagrees with its SKILL.md.
    SkillCache,
    /// `memory.oid` is not the payload's digest.
    MemoryOid,
    /// No signature row.
    Absent,
    /// No key to check the signature with.
    NoKey,
    /// The envelope is not DSSE.
    Envelope,
    /// The key is no Ed25519 key, is weak, or is not the one the signature names.
    Key,
    /// The signature does not verify.
    Invalid,
    /// The statement is of another type or has no single subject.
    Statement,
    /// The subject is another cartridge or another manifest than the predicate's.
    Subject,
    /// The predicate disagrees with the content.
    Predicate,
    /// The signed publisher is not the cartridge's.
    Publisher,
    /// The key was revoked because it was compromised.
    Compromised,
    /// The statement is not in canonical form.
    NotCanonical,
    /// Informative members of the predicate disagree with the content.
    Tally,
    /// The signature says that it was made after now.
    Future,
}

impl IssueKind {
    /// The cartridge is not what its publisher signed.
    fn is_tampering(self) -> bool {
        !matches!(
            self,
            Self::Absent
                | Self::NoKey
                | Self::SharedContent
                | Self::Utf16Order
                | Self::NotCanonical
                | Self::Tally
                | Self::Future
        )
    }
}

/// One thing the evidence shows.
#[derive(Debug, Clone)]
pub struct Issue {
    /// What.
    pub kind: IssueKind,
    /// Where.
    pub place: Place,
    /// What is wrong, expected and found.
    pub message: String,
}

/// The facts of a signature that verified.
#[derive(Debug, Clone)]
pub struct Signed {
    /// The signer's key.
    pub key: PublicKey,
    /// The signed manifest hash.
    pub manifest: Digest,
    /// When it was signed, by the signer's word.
    pub signed_at: Timestamp,
    /// The key stands in the cartridge, so that nothing else is needed to verify it.
    pub carries_key: bool,
}

/// All that is known of a cartridge's integrity and origin.
#[derive(Debug, Clone)]
pub struct Evidence {
    /// The recomputed manifest hash, in code point order.
    pub manifest: Digest,
    /// What is wrong.
    pub issues: Vec<Issue>,
    /// The verified signature; `None` unless the signature itself verified and its statement is well-formed.
    pub signed: Option<Signed>,
    /// The verdict of the taxonomy, and why.
    pub trust: Trust,
    /// One sentence that explains the trust.
    pub summary: String,
}

struct Gathering<'a> {
    cartridge: &'a Cartridge,
    issues: Vec<Issue>,
}

impl Gathering<'_> {
    /// The signed object of this source is reported to differ, so what follows from the source differs too.
    fn is_stale(&self, source_ref: &str) -> bool {
        self.issues
            .iter()
            .any(|i| i.kind == IssueKind::Object && i.place.row.as_deref() == Some(source_ref))
    }

    fn issue(&mut self, kind: IssueKind, place: Place, message: impl Into<String>) {
        self.issues.push(Issue {
            kind,
            place,
            message: message.into(),
        });
    }
}

/// Gathers the evidence. `own` are the verifier's own keys, for the trust value `local`; an index has none.
pub fn gather(
    cartridge: &Cartridge,
    trust: &TrustRegistry,
    own: &[KeyId],
    now: &Timestamp,
) -> Evidence {
    let mut g = Gathering {
        cartridge,
        issues: Vec::new(),
    };
    objects(&mut g);
    coverage(&mut g);
    derived(&mut g);
    let manifest = Manifests::of(&cartridge.objects);
    let row = newest(&mut g);
    let signed = row.and_then(|row| signature(&mut g, row, &manifest, trust, now));
    recorded_hash(&mut g, &manifest, row, signed.as_ref());

    let tampering = g.issues.iter().find(|i| i.kind.is_tampering());
    let (trust, summary) = match (tampering, &signed) {
        (Some(issue), _) => (Trust::Tampered, tampered_summary(issue)),
        (None, _) if g.issues.iter().any(|i| i.kind == IssueKind::Absent) => (
            Trust::Legacy,
            "no signature; nothing vouches for the content.".to_owned(),
        ),
        (None, None) => (
            Trust::Portable,
            "signature not checked: no public key to verify it with".to_owned(),
        ),
        (None, Some(signed)) => {
            let publisher = cartridge.meta("acx.publisher_id").unwrap_or_default();
            let key = signed.key.id();
            origin(publisher, key, &signed.signed_at, trust, own, now)
        }
    };
    Evidence {
        manifest: manifest.code_point,
        issues: g.issues,
        signed,
        trust,
        summary,
    }
}

/// The digest that an object's source has now, if the source is there.
fn live_digest(cartridge: &Cartridge, source_ref: &str) -> Option<Digest> {
    match source_ref.split_once(':') {
        Some(("memory", id)) => cartridge
            .memory_row(id)
            .map(|row| Digest::of(row.payload.as_bytes())),
        Some(("capability", id)) => cartridge
            .capability(id)
            .map(|row| Digest::of(row.json.as_bytes())),
        Some(("cartridge", key)) => cartridge.meta(key).map(|value| metadata_digest(key, value)),
        _ => cartridge.file(source_ref).map(|file| file.digest),
    }
}

/// The digest of a metadata entry: of the canonical `{key, value}`.
pub(crate) fn metadata_digest(key: &str, value: &str) -> Digest {
    #[derive(Serialize)]
    struct Entry<'a> {
        key: &'a str,
        value: &'a str,
    }
    Digest::of(&json::canonical_declared(&Entry { key, value }))
}

/// The hash of the ROM manifest with every digest taken from the live content, whatever the object rows say; and
/// whether it is this signed one, in either order.
pub(crate) fn live_manifest(cartridge: &Cartridge, signed: Option<&Digest>) -> (Digest, bool) {
    let live = |object: &ObjectRow| ObjectRow {
        oid: live_digest(cartridge, &object.source_ref)
            .map_or_else(|| "absent".to_owned(), |digest| digest.to_string()),
        ..object.clone()
    };
    let objects: Vec<ObjectRow> = cartridge.objects.iter().map(live).collect();
    let manifests = Manifests::of(&objects);
    match signed {
        Some(signed) if manifests.is(signed) => (*signed, true),
        _ => (manifests.code_point, false),
    }
}

/// Whether a second file of signed bytes may not stand under this name: hosts read it by its name.
pub(crate) fn is_meaningful(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    lower.ends_with("/skill.md") || SPEC_PATHS.contains(&lower.as_str())
}

/// Step 1, first half: every ROM object against its live source.
fn objects(g: &mut Gathering<'_>) {
    for object in g.cartridge.objects.iter().filter(|o| o.zone == Zone::Rom) {
        let place = || Place::row("objects", &object.source_ref);
        match live_digest(g.cartridge, &object.source_ref) {
            None => {
                let message = format!(
                    "the signed object {:?} has no source in the cartridge",
                    shorten(&object.source_ref)
                );
                g.issue(IssueKind::Object, place(), message);
            }
            Some(live) if live.to_string() != object.oid => {
                let message = format!(
                    "expected the digest {}, found {live} in the content",
                    shorten(&object.oid)
                );
                g.issue(IssueKind::Object, place(), message);
            }
            Some(_) => {}
        }
    }
}

/// Step 1, second half: everything in the ROM zone against the objects.
fn coverage(g: &mut Gathering<'_>) {
    let cartridge = g.cartridge;
    let rom = || cartridge.objects.iter().filter(|o| o.zone == Zone::Rom);
    let named: BTreeSet<&str> = rom().map(|o| o.source_ref.as_str()).collect();
    let signed_files: BTreeMap<Digest, &str> = rom()
        .filter_map(|o| cartridge.file(&o.source_ref))
        .map(|file| (file.digest, file.name.as_str()))
        .collect();

    for file in cartridge
        .files
        .iter()
        .filter(|f| f.zone() != Some(Zone::Save) && !named.contains(f.name.as_str()))
    {
        let place = Place::row("sqlar", &file.name);
        match signed_files.get(&file.digest) {
            None => g.issue(
                IssueKind::Stowaway,
                place,
                "the signature does not cover this file: no object names it",
            ),
            Some(other) => {
                let kind = if is_meaningful(&file.name) {
                    IssueKind::Alias
                } else {
                    IssueKind::SharedContent
                };
                let message = format!(
                    "no object names this file; its bytes are those of {:?}",
                    shorten(other)
                );
                g.issue(kind, place, message);
            }
        }
    }
    for row in cartridge.memory.iter().filter(|m| m.zone == Zone::Rom) {
        if !named.contains(format!("memory:{}", row.id).as_str()) {
            let place = Place::row("memory", &row.id);
            g.issue(
                IssueKind::Stowaway,
                place,
                "the signature does not cover this record: no object names it",
            );
        }
    }
    for row in &cartridge.capabilities {
        if !named.contains(format!("capability:{}", row.id).as_str()) {
            let place = Place::row("capabilities", &row.id);
            g.issue(
                IssueKind::Stowaway,
                place,
                "the signature does not cover this capability: no object names it",
            );
        }
    }
    for key in COVERED_KEYS {
        if cartridge.meta(key).is_some() && !named.contains(format!("cartridge:{key}").as_str()) {
            let place = Place::row("cartridge", *key);
            g.issue(
                IssueKind::Stowaway,
                place,
                "the signature does not cover this metadata: no object names it",
            );
        }
    }
}

/// Caches that are derived from signed content and must agree with it.
fn derived(g: &mut Gathering<'_>) {
    for row in &g.cartridge.skills {
        let place = Place::row("acx_skill", &row.path);
        match g.cartridge.file(&row.path) {
            None => g.issue(
                IssueKind::SkillCache,
                place,
                "the row's SKILL.md is not in the archive",
            ),
            Some(file) if file.digest.hex() != row.content_sha256 => {
                let message = format!(
                    "content_sha256: expected {} (its SKILL.md's), found {:?}",
                    file.digest.hex(),
                    shorten(&row.content_sha256)
                );
                g.issue(IssueKind::SkillCache, place, message);
            }
            Some(_) => {}
        }
    }
    // Where the object of a ROM record already disagrees with the payload, that is the cause and is reported.
    let stale: BTreeSet<&str> = g
        .issues
        .iter()
        .filter(|i| i.kind == IssueKind::Object)
        .filter_map(|i| i.place.row.as_deref()?.strip_prefix("memory:"))
        .collect();
    let mut found = Vec::new();
    for row in g
        .cartridge
        .memory
        .iter()
        .filter(|row| !stale.contains(row.id.as_str()))
    {
        let live = Digest::of(row.payload.as_bytes()).to_string();
        if row.oid != live {
            let message = format!(
                "oid: expected {live} (the payload's digest), found {:?}",
                shorten(&row.oid)
            );
            found.push(Issue {
                kind: IssueKind::MemoryOid,
                place: Place::row("memory", &row.id),
                message,
            });
        }
    }
    g.issues.extend(found);
}

/// Step 2: the manifest's hash in both orders, and the facts that a predicate repeats.
pub(crate) struct Manifests {
    /// The hash of the manifest in code point order: what a signer signs.
    pub(crate) code_point: Digest,
    /// Where sorting by UTF-16 code units gives another order.
    utf16: Option<Digest>,
    /// How many objects the manifest names.
    pub(crate) objects: u64,
    /// The predicate's `checksumHash`.
    pub(crate) checksum: Digest,
}

/// An object as the manifest lists it; the members are in the order of RFC 8785.
#[derive(Serialize)]
struct Line<'a> {
    canon: &'a str,
    oid: &'a str,
    #[serde(rename = "sourceRef")]
    source_ref: &'a str,
    sz: i64,
}

impl Manifests {
    /// Of the ROM rows among these, which are in the order of (kind, source_ref, oid), as [`Cartridge::objects`] is:
    /// the order of UTF-8 bytes is that of code points.
    pub(crate) fn of(objects: &[ObjectRow]) -> Self {
        let rom: Vec<_> = objects.iter().filter(|o| o.zone == Zone::Rom).collect();
        let hash = |objects: &[&ObjectRow]| {
            let list: Vec<_> = objects
                .iter()
                .map(|o| Line {
                    canon: &o.canon,
                    oid: &o.oid,
                    source_ref: &o.source_ref,
                    sz: o.sz,
                })
                .collect();
            Digest::of(&json::canonical_declared(&list))
        };
        let utf16_key = |o: &&ObjectRow| -> (Vec<u16>, Vec<u16>) {
            (
                o.kind.encode_utf16().collect(),
                o.source_ref.encode_utf16().collect(),
            )
        };
        // The orders differ only where a code point beyond the Basic Multilingual Plane meets one of U+E000 to U+FFFF.
        let astral = rom.iter().any(|o| {
            o.source_ref
                .chars()
                .chain(o.kind.chars())
                .any(|c| c > '\u{ffff}')
        });
        let utf16 = astral
            .then(|| {
                let mut sorted = rom.clone();
                sorted.sort_by_cached_key(utf16_key);
                sorted
            })
            .filter(|sorted| sorted.iter().zip(&rom).any(|(a, b)| a.oid != b.oid))
            .map(|sorted| hash(&sorted));
        let mut lines: Vec<String> = rom
            .iter()
            .map(|o| format!("{}  {}", o.oid, o.source_ref))
            .collect();
        lines.sort();
        Self {
            code_point: hash(&rom),
            utf16,
            objects: rom.len() as u64,
            checksum: Digest::of(lines.join("\n").as_bytes()),
        }
    }

    fn is(&self, digest: &Digest) -> bool {
        self.code_point == *digest || self.utf16.as_ref() == Some(digest)
    }
}

/// The newest row counts; of several made at one time, the one with the greatest id, so that the choice is the same
/// everywhere. A row whose time cannot be read could be the newest, so it stops the choice.
fn newest<'a>(g: &mut Gathering<'a>) -> Option<&'a SignatureRow> {
    let mut best: Option<(Timestamp, &SignatureRow)> = None;
    let cartridge: &'a Cartridge = g.cartridge;
    if cartridge.signatures.is_empty() {
        let message = "expected a signature row with the target rom-manifest, found none";
        g.issue(
            IssueKind::Absent,
            Place {
                table: Some("signatures"),
                ..Place::file()
            },
            message,
        );
    }
    for row in &cartridge.signatures {
        match Timestamp::try_from(row.created_at.as_str()) {
            Err(malformed) => {
                let place = Place::row("signatures", &row.sig_id);
                g.issue(
                    IssueKind::Envelope,
                    place,
                    format!("created_at: {malformed}"),
                );
                return None;
            }
            Ok(at) => {
                let newer = best.as_ref().is_none_or(|(time, kept)| {
                    time.is_before(&at) || (!at.is_before(time) && kept.sig_id < row.sig_id)
                });
                if newer {
                    best = Some((at, row));
                }
            }
        }
    }
    best.map(|(_, row)| row)
}

/// Steps 3 and 4.
fn signature(
    g: &mut Gathering<'_>,
    row: &SignatureRow,
    manifests: &Manifests,
    trust: &TrustRegistry,
    now: &Timestamp,
) -> Option<Signed> {
    let place =
        |pointer: &str| Place::pointer("signatures", &row.sig_id, format!("/envelope{pointer}"));
    let envelope = match Envelope::parse(row.envelope.as_bytes()) {
        Ok(envelope) => envelope,
        Err(e) => {
            g.issue(
                IssueKind::Envelope,
                place(&e.pointer),
                format!("not a DSSE envelope: {}", e.message),
            );
            return None;
        }
    };
    if row.alg != "ed25519" {
        let message = format!("alg: expected ed25519, found {:?}", shorten(&row.alg));
        g.issue(
            IssueKind::Key,
            Place::row("signatures", &row.sig_id),
            message,
        );
        return None;
    }
    let key = key(g, row, &envelope, trust)?;
    match attest::verify(&envelope, &key) {
        Ok(()) => {}
        Err(SignatureError::OtherKey(named)) => {
            let message = format!(
                "the signature names the key {named}, the key that comes with it is {}",
                key.id()
            );
            g.issue(IssueKind::Key, place("/signatures"), message);
            return None;
        }
        Err(SignatureError::Invalid) => {
            let message = format!(
                "the signature is not the key's: {} did not sign this statement",
                key.id()
            );
            g.issue(IssueKind::Invalid, place("/signatures"), message);
            return None;
        }
    }
    if row.keyid != key.id().as_str() {
        let message = format!(
            "keyid: expected {}, found {:?}",
            key.id(),
            shorten(&row.keyid)
        );
        g.issue(
            IssueKind::Key,
            Place::row("signatures", &row.sig_id),
            message,
        );
    }
    if trust.get(key.id()).is_some_and(|entry| entry.compromised()) {
        let message = format!(
            "the signer's key {} is revoked: it was compromised",
            key.id()
        );
        g.issue(
            IssueKind::Compromised,
            Place::row("signatures", &row.sig_id),
            message,
        );
    }
    statement(g, row, &envelope, key, manifests, now)
}

/// The key to verify with: the one that comes with the signature, else the trust registry's for the key id.
fn key(
    g: &mut Gathering<'_>,
    row: &SignatureRow,
    envelope: &Envelope,
    trust: &TrustRegistry,
) -> Option<PublicKey> {
    let place = Place::row("signatures", &row.sig_id);
    if let Some(pem) = &row.public_key_pem {
        return match PublicKey::from_pem(pem) {
            Ok(key) => Some(key),
            Err(e) => {
                g.issue(IssueKind::Key, place, format!("public_key_pem: {e}"));
                None
            }
        };
    }
    let known = envelope
        .signatures
        .iter()
        .find_map(|(id, _)| trust.get(&KeyId::try_from(id.as_str()).ok()?))
        .map(|entry| entry.key.clone());
    if known.is_none() {
        let message =
            "no public key comes with the signature, and the trust registry has none of its key id";
        g.issue(IssueKind::NoKey, place, message);
    }
    known
}

fn statement(
    g: &mut Gathering<'_>,
    row: &SignatureRow,
    envelope: &Envelope,
    key: PublicKey,
    manifests: &Manifests,
    now: &Timestamp,
) -> Option<Signed> {
    let place = |pointer: &str| {
        Place::pointer(
            "signatures",
            &row.sig_id,
            format!("/envelope/payload{pointer}"),
        )
    };
    let statement = match Statement::of_envelope(envelope, PREDICATE_TYPE) {
        Ok(statement) => statement,
        Err(e) => {
            g.issue(IssueKind::Statement, place(e.pointer), e.message);
            return None;
        }
    };
    if !statement.canonical {
        g.issue(
            IssueKind::NotCanonical,
            place(""),
            "the signed statement is not in canonical form (RFC 8785)",
        );
    }
    let expected_id = g
        .cartridge
        .meta("acx.cartridge_id")
        .unwrap_or_default()
        .to_owned();
    if statement.subject.name != expected_id && !g.is_stale("cartridge:acx.cartridge_id") {
        let found = shorten(&statement.subject.name);
        let message = format!(
            "expected the cartridge {:?}, found {found:?}",
            shorten(&expected_id)
        );
        g.issue(IssueKind::Subject, place("/subject/0/name"), message);
    }
    let subject = statement.subject.digest;
    let predicate = &statement.predicate;
    let member = |name: &str| predicate.get(name).filter(|v| !v.is_null());
    for (name, pointer) in [
        ("romDigest", "/predicate/romDigest"),
        ("manifestHash", "/predicate/manifestHash"),
    ] {
        if let Some(found) = member(name).filter(|v| v.as_str() != Some(&subject.to_string())) {
            let message = format!(
                "expected {subject} (the subject's digest), found {}",
                shorten(&found.to_string())
            );
            g.issue(IssueKind::Predicate, place(pointer), message);
        }
    }
    manifest(g, row, &subject, manifests);

    let engine = g.cartridge.meta("acx.embedding_engine");
    let tally = [
        (
            "checksumHash",
            Some(Json::from(manifests.checksum.to_string())),
        ),
        ("fileCount", Some(Json::from(manifests.objects))),
        (
            "embeddingEngine",
            engine.and_then(|text| json::parse(text.as_bytes()).ok()),
        ),
    ];
    for (name, expected) in tally
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
    {
        if let Some(found) =
            member(name).filter(|found| **found != expected && manifests.is(&subject))
        {
            let message = format!("expected {expected}, found {}", shorten(&found.to_string()));
            g.issue(
                IssueKind::Tally,
                place(&format!("/predicate/{name}")),
                message,
            );
        }
    }
    let publisher = g
        .cartridge
        .meta("acx.publisher_id")
        .unwrap_or_default()
        .to_owned();
    let same_publisher = member("publisherId").and_then(|v| v.as_str()) == Some(&publisher);
    if !same_publisher && !g.is_stale("cartridge:acx.publisher_id") {
        let found =
            member("publisherId").map_or_else(|| "nothing".to_owned(), |v| shorten(&v.to_string()));
        let message = format!(
            "expected {:?} (acx.publisher_id), found {found}",
            shorten(&publisher)
        );
        g.issue(
            IssueKind::Publisher,
            place("/predicate/publisherId"),
            message,
        );
    }
    let signed_at = member("signedAt")
        .and_then(|v| v.as_str())
        .unwrap_or_default();
    match Timestamp::try_from(signed_at) {
        Ok(signed_at) => {
            if now.is_before(&signed_at) {
                let message = format!("signed at {signed_at}, which is after now ({now})");
                g.issue(IssueKind::Future, place("/predicate/signedAt"), message);
            }
            Some(Signed {
                key,
                manifest: subject,
                signed_at,
                carries_key: row.public_key_pem.is_some(),
            })
        }
        Err(malformed) => {
            g.issue(
                IssueKind::Predicate,
                place("/predicate/signedAt"),
                malformed.to_string(),
            );
            None
        }
    }
}

/// The signed manifest against the recomputed one. Where an object's source already differs, that is the cause.
fn manifest(g: &mut Gathering<'_>, row: &SignatureRow, subject: &Digest, manifests: &Manifests) {
    if manifests.is(subject) {
        if manifests.code_point != *subject {
            let message =
                "the signed manifest is sorted by UTF-16 code units instead of code points";
            g.issue(
                IssueKind::Utf16Order,
                Place::row("signatures", &row.sig_id),
                message,
            );
        }
        return;
    }
    let recorded = |text: &str| Digest::try_from(text).is_ok_and(|digest| manifests.is(&digest));
    let found = manifests.code_point;
    // Content whose recorded hashes all fit, under a statement about something else: the statement is the odd one.
    if recorded(&row.manifest_hash)
        && g.cartridge
            .meta("acx.rom_manifest_hash")
            .is_some_and(recorded)
    {
        let message = format!("the signed digest is {subject}, that of the content is {found}");
        let place = Place::pointer(
            "signatures",
            &row.sig_id,
            "/envelope/payload/subject/0/digest",
        );
        g.issue(IssueKind::Subject, place, message);
    } else if !g.issues.iter().any(|i| i.kind == IssueKind::Object) {
        let message = format!("the signed manifest is {subject}, that of the content is {found}");
        g.issue(
            IssueKind::Manifest,
            Place {
                table: Some("objects"),
                ..Place::file()
            },
            message,
        );
    }
}

/// The two places that record the manifest's hash unsigned. Where the content itself differs, that is the cause.
fn recorded_hash(
    g: &mut Gathering<'_>,
    manifests: &Manifests,
    newest: Option<&SignatureRow>,
    signed: Option<&Signed>,
) {
    let content_differs = g.issues.iter().any(|i| {
        matches!(
            i.kind,
            IssueKind::Object | IssueKind::Manifest | IssueKind::Subject
        )
    });
    if content_differs {
        return;
    }
    let expected = signed.map_or(manifests.code_point, |s| s.manifest);
    let fits = |text: &str| match signed {
        Some(signed) => text == signed.manifest.to_string(),
        None => Digest::try_from(text).is_ok_and(|digest| manifests.is(&digest)),
    };
    let meta = g.cartridge.meta("acx.rom_manifest_hash").map(str::to_owned);
    if !meta.as_deref().is_some_and(fits) {
        let found = meta.map_or_else(|| "nothing".to_owned(), |m| format!("{:?}", shorten(&m)));
        let message = format!("expected {expected} (the recomputed manifest), found {found}");
        g.issue(
            IssueKind::RecordedHash,
            Place::row("cartridge", "acx.rom_manifest_hash"),
            message,
        );
    }
    if let Some(row) = newest.filter(|row| !fits(&row.manifest_hash)) {
        let found = shorten(&row.manifest_hash);
        let message = format!(
            "manifest_hash: expected {expected} (the recomputed manifest), found {found:?}"
        );
        g.issue(
            IssueKind::RecordedHash,
            Place::row("signatures", &row.sig_id),
            message,
        );
    }
}

fn tampered_summary(issue: &Issue) -> String {
    match issue.kind {
        IssueKind::Object => {
            "ROM content diverges from signed manifest (object hash mismatch).".to_owned()
        }
        IssueKind::Manifest | IssueKind::RecordedHash => {
            "ROM content diverges from signed manifest (manifest hash mismatch).".to_owned()
        }
        IssueKind::Stowaway | IssueKind::Alias => {
            "ROM content diverges from signed manifest (content that the signature does not cover)."
                .to_owned()
        }
        IssueKind::SkillCache | IssueKind::MemoryOid => {
            "a derived column diverges from the signed content.".to_owned()
        }
        IssueKind::Compromised => "the signer's key was revoked: it was compromised.".to_owned(),
        _ => "the signature does not hold for this cartridge.".to_owned(),
    }
}

/// Step 5: what the trust registry says of a signature that holds.
pub(crate) fn origin(
    publisher: &str,
    key: &KeyId,
    signed_at: &Timestamp,
    trust: &TrustRegistry,
    own: &[KeyId],
    now: &Timestamp,
) -> (Trust, String) {
    let Some(entry) = trust.get(key) else {
        return (
            Trust::Portable,
            "signature valid, signer not in your trust registry".to_owned(),
        );
    };
    let Ok(publisher) = PublisherId::try_from(publisher) else {
        return (
            Trust::Portable,
            "signature valid, but acx.publisher_id is no publisher id".to_owned(),
        );
    };
    match entry.eligible(&publisher, Some(signed_at), now) {
        Err(reason) => (
            Trust::Portable,
            format!("signature valid, but the signer's key is not eligible: {reason}"),
        ),
        Ok(()) if own.contains(key) => (
            Trust::Local,
            "signature valid, signed by your own key".to_owned(),
        ),
        Ok(()) => (
            Trust::Trusted,
            format!("signature valid, signer trusted for {publisher}"),
        ),
    }
}
