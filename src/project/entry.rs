//! An admitted cartridge → its entry in the index. Pure.
//!
//! Nothing here is proven beyond what the verdict proves: a capability or a level that the cartridge claims stays
//! `unresolved`, since no issuer's key is at hand.

use serde::{Deserialize, Serialize};

use crate::model::{Digest, Json, KeyId, Timestamp, Trust, json};
use crate::verdict::Admitted;

/// Someone who made the cartridge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Author {
    /// The name.
    pub name: String,
    /// Where to find them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub url: Option<String>,
}

/// How far a claim is proven.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VerificationState {
    /// Nobody has checked it.
    Unresolved,
    /// The credential cannot be what it says.
    Invalid,
}

/// What the cartridge says it can do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CapabilityEntry {
    /// The kind of task.
    pub task_type: String,
    /// Package URLs.
    pub stack: Vec<String>,
    /// The domain.
    pub domain: String,
    /// The record says that it is verified.
    pub claimed_verified: bool,
    /// It is.
    pub verified: bool,
    /// How far the evidence was looked at.
    pub verification_state: VerificationState,
}

/// The level that an embedded credential claims; all null without one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LevelClaim {
    /// `acx:acxLevel`, as the credential has it.
    pub acx_level: Option<Json>,
    /// `acx:careerTier`
    pub career_tier: Option<String>,
    /// How far the credential was looked at.
    pub verification_state: Option<VerificationState>,
}

/// What the status ledger says of an artifact.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RegistryStatus {
    /// active, deprecated, withdrawn or superseded.
    pub status: String,
    /// Why.
    pub reason: Option<String>,
    /// Since when.
    pub recorded_at: Option<String>,
    /// What takes its place.
    pub successor: Option<Json>,
    /// Where to read more.
    pub advisory: Option<String>,
}

impl Default for RegistryStatus {
    fn default() -> Self {
        Self {
            status: "active".into(),
            reason: None,
            recorded_at: None,
            successor: None,
            advisory: None,
        }
    }
}

/// The Lance dataset beside a cartridge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Memories {
    /// Its folder in the registry.
    pub path: String,
    /// Records.
    pub rows: u64,
    /// `acx.lance-memory/1`
    pub schema: String,
    /// The embedding engine's id.
    pub engine: String,
    /// `sha256:` of the JCS of `[{path, sha256, size}]` over its files.
    pub digest: Digest,
}

/// One cartridge of the index, in the order of its members.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CartridgeEntry {
    /// The artifact id.
    pub id: String,
    /// `<publisher>__<id>`
    pub slug: String,
    /// The path in the registry.
    pub path: String,
    /// The agent's name.
    pub name: Option<String>,
    /// The publisher.
    pub publisher: String,
    /// The agent's role.
    pub role: Option<String>,
    /// The model's provider.
    pub provider: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The version.
    pub version: String,
    /// The description, or a stated default.
    pub description: String,
    /// An SPDX expression.
    pub license: Option<String>,
    /// Who made it.
    pub authors: Vec<Author>,
    /// Search words.
    pub tags: Vec<String>,
    /// Where to read more.
    pub homepage: Option<String>,
    /// portable or trusted.
    pub trust: Trust,
    /// warning or verified.
    pub trust_status: String,
    /// Conforms to the format.
    pub spec_clean: bool,
    /// The signed manifest hash.
    pub rom_hash: Digest,
    /// The same.
    pub digest: Digest,
    /// Length of the file in bytes.
    pub bytes: u64,
    /// What it says it can do, by record id.
    pub capabilities: Vec<CapabilityEntry>,
    /// The proven level; null.
    pub level: Option<Json>,
    /// The claimed level.
    pub level_claim: LevelClaim,
    /// What the status ledger says.
    pub registry_status: RegistryStatus,
    /// The version to take unless another is asked for.
    pub latest: bool,
    /// The signer's key.
    pub keyid: KeyId,
    /// When it was signed, by the signer's word.
    pub signed_at: Timestamp,
    /// SHA-256 of the file.
    pub sha256: Digest,
    /// The Lance dataset beside it, if any.
    pub memories: Option<Memories>,
}

/// An entry, and what the join of all entries needs besides.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Projected {
    /// The entry, without status, latest and memories.
    pub entry: CartridgeEntry,
    /// The later of creation and signing time.
    pub made_at: Timestamp,
}

/// The entry of one admitted cartridge.
pub fn entry(path: &str, admitted: &Admitted) -> Projected {
    let cartridge = admitted.cartridge();
    let signed = admitted.signed();
    let text = |key: &str| cartridge.meta(key).map(str::to_owned);
    let required = |key: &str| text(key).unwrap_or_default();
    let publisher = required("acx.publisher_id");
    let id = required("acx.artifact_id");
    let role = text("acx.role");
    let description = text("acx.description")
        .filter(|d| !d.is_empty())
        .unwrap_or_else(|| match &role {
            Some(role) => format!("A portable {} cartridge.", role.replace('_', " ")),
            None => "A portable cartridge.".to_owned(),
        });
    let created_at = Timestamp::try_from(required("acx.created_at").as_str()).ok();
    let made_at = created_at
        .into_iter()
        .chain([signed.signed_at.clone()])
        .max()
        .unwrap_or(signed.signed_at.clone());
    // An index never says `local`: it would differ by who builds it.
    let trust = admitted.trust().min(Trust::Trusted);
    let credentials = Credentials::of(admitted);
    let entry = CartridgeEntry {
        slug: format!("{publisher}__{id}"),
        path: path.to_owned(),
        name: text("acx.agent_name"),
        role,
        provider: text("acx.provider"),
        model: text("acx.model"),
        version: required("acx.artifact_version"),
        description,
        license: text("acx.license"),
        authors: json_text(cartridge.meta("acx.authors")),
        tags: json_text(cartridge.meta("acx.tags")),
        homepage: text("acx.homepage").filter(|h| !h.is_empty()),
        trust,
        trust_status: trust.status().to_owned(),
        spec_clean: admitted.clean(),
        rom_hash: signed.manifest,
        digest: signed.manifest,
        bytes: cartridge.bytes,
        capabilities: cartridge
            .capabilities
            .iter()
            .filter_map(|row| capability(&row.json, &credentials))
            .collect(),
        level: None,
        level_claim: credentials.highest_claim(),
        registry_status: RegistryStatus::default(),
        latest: false,
        keyid: signed.key.id().clone(),
        signed_at: signed.signed_at.clone(),
        sha256: cartridge.sha256,
        memories: None,
        publisher,
        id,
    };
    Projected { entry, made_at }
}

/// The list that a metadata value spells in JSON; the rules saw to its form.
fn json_text<T: serde::de::DeserializeOwned>(value: Option<&str>) -> Vec<T> {
    value
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default()
}

fn capability(text: &str, credentials: &Credentials) -> Option<CapabilityEntry> {
    let record = json::parse(text.as_bytes()).ok()?;
    let member = |name: &str| record.get(name).and_then(Json::as_str).map(str::to_owned);
    let named = record
        .get("evidenceRefs")
        .and_then(Json::as_array)
        .into_iter()
        .flatten()
        .filter(|r| r.get("kind").and_then(Json::as_str) == Some("level-attestation"))
        .filter_map(|r| credentials.state_of(r.get("ref")?.as_str()?));
    Some(CapabilityEntry {
        task_type: member("taskType")?,
        stack: record
            .get("stack")?
            .as_array()?
            .iter()
            .filter_map(|s| s.as_str().map(str::to_owned))
            .collect(),
        domain: member("domain")?,
        claimed_verified: record
            .pointer("/proficiency/verified")
            .and_then(Json::as_bool)
            .unwrap_or_default(),
        verified: false,
        verification_state: named.max().unwrap_or(VerificationState::Unresolved),
    })
}

/// The embedded level credentials, as far as they can be looked at without a key.
struct Credentials {
    /// (every name it goes by, its state, its claim)
    list: Vec<(Vec<String>, VerificationState, LevelClaim)>,
}

impl Credentials {
    fn of(admitted: &Admitted) -> Self {
        let attestations = &admitted.cartridge().attestations;
        let list = admitted
            .documents()
            .credentials
            .iter()
            .filter_map(|(at, document)| {
                let row = attestations.get(*at)?;
                let mut names = vec![row.att_id.clone()];
                let Ok(document) = document else {
                    return Some((names, VerificationState::Invalid, LevelClaim::default()));
                };
                let text = |pointer: &str| document.pointer(pointer).and_then(Json::as_str);
                names.extend(
                    ["/id", "/credentialStatus/id"]
                        .iter()
                        .filter_map(|p| text(p))
                        .map(str::to_owned),
                );
                let state = state(document);
                let claim = LevelClaim {
                    acx_level: document
                        .pointer("/credentialSubject/result/0/acx:acxLevel")
                        .filter(|level| level.is_number())
                        .cloned(),
                    career_tier: text("/credentialSubject/result/0/acx:careerTier")
                        .map(str::to_owned),
                    verification_state: Some(state),
                };
                Some((names, state, claim))
            })
            .collect();
        Self { list }
    }

    /// The strongest state among the credentials that go by this name.
    fn state_of(&self, name: &str) -> Option<VerificationState> {
        self.list
            .iter()
            .filter(|(names, ..)| names.iter().any(|n| n == name))
            .map(|(_, state, _)| *state)
            .max()
    }

    /// The claim with the highest level; of equal ones the first.
    fn highest_claim(&self) -> LevelClaim {
        let level = |claim: &LevelClaim| claim.acx_level.as_ref().and_then(Json::as_f64);
        let mut best: Option<&LevelClaim> = None;
        for (_, _, claim) in &self.list {
            if best.is_none_or(|b| level(claim) > level(b)) {
                best = Some(claim);
            }
        }
        best.cloned().unwrap_or_default()
    }
}

/// A credential whose proof is not by its issuer, by its own words, is invalid under any key.
fn state(document: &Json) -> VerificationState {
    let text = |pointer: &str| document.pointer(pointer).and_then(Json::as_str);
    match (text("/issuer/id"), text("/proof/verificationMethod")) {
        (Some(issuer), Some(method))
            if method == issuer
                || method
                    .strip_prefix(issuer)
                    .is_some_and(|rest| rest.starts_with('#')) =>
        {
            VerificationState::Unresolved
        }
        _ => VerificationState::Invalid,
    }
}
