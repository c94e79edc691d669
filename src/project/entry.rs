//! An admitted cartridge → its entry in the index. Pure.
//!
//! Nothing here is proven beyond what the verdict and the issuers' keys prove: a capability or a level that the cartridge
//! merely claims reads as a claim.

use serde::{Deserialize, Serialize};

use crate::check::Checked;
use crate::container::Cartridge;
use crate::level::{Credential, IssuerKeys, Levels, Scales, VerificationState};
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
    /// A verified credential that it names says so, whatever the record says.
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
    /// The highest proven level, bound to this ROM; null without one.
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

/// The credentials of an admitted cartridge, weighed.
pub fn levels(admitted: &Admitted, issuers: &IssuerKeys, now: &Timestamp) -> Levels {
    let signed = admitted.signed();
    let scales = Scales {
        rom: &signed.manifest,
        signer: Some(signed.key.id()),
        issuers,
        now,
    };
    Levels::of(admitted.cartridge(), admitted.documents(), scales)
}

/// The credentials of a cartridge that was checked and not judged, weighed; `None` where it cannot be read. Nothing is
/// verified about a ROM that is not what its signature says.
pub fn levels_of_checked(
    checked: &Checked,
    issuers: &IssuerKeys,
    now: &Timestamp,
) -> Option<Levels> {
    let evidence = checked.evidence.as_ref()?;
    let sound = evidence.trust >= Trust::Portable;
    let signed = evidence.signed.as_ref().filter(|_| sound);
    let scales = Scales {
        rom: signed.map_or(&evidence.manifest, |signed| &signed.manifest),
        signer: signed.map(|signed| signed.key.id()),
        issuers,
        now,
    };
    let (cartridge, documents) = (checked.cartridge.as_ref()?, checked.documents.as_ref()?);
    Some(Levels::of(cartridge, documents, scales))
}

/// The entry of one admitted cartridge.
pub fn entry(path: &str, admitted: &Admitted, levels: &Levels) -> Projected {
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
        capabilities: capabilities(cartridge, levels),
        level: proven_level(levels),
        level_claim: level_claim(levels),
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

/// The `level` of an entry: that of the verified credential with the highest one.
pub fn proven_level(levels: &Levels) -> Option<Json> {
    let proven = levels.proven()?;
    Some(serde_json::json!({
        "acxLevel": proven.claim.acx_level,
        "careerTier": proven.claim.career_tier,
        "boundToRom": true,
        "proven": true,
        "verificationState": proven.state,
    }))
}

/// The `levelClaim` of an entry: the highest claim, with the state of the credential that makes it.
pub fn level_claim(levels: &Levels) -> LevelClaim {
    levels
        .highest_claim()
        .map(|credential| LevelClaim {
            acx_level: credential.claim.acx_level.clone(),
            career_tier: credential.claim.career_tier.clone(),
            verification_state: Some(credential.state),
        })
        .unwrap_or_default()
}

/// What a cartridge's credentials come to: as its index entry has it, and one by one.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Proofs {
    /// The highest proven level, or none.
    pub level: Option<Json>,
    /// The highest claim, with its own state.
    pub level_claim: LevelClaim,
    /// The capabilities, by record id.
    pub capabilities: Vec<CapabilityEntry>,
    /// The credentials, weighed.
    pub credentials: Vec<Credential>,
}

/// What a cartridge's credentials come to; `None` where it has none.
pub fn proofs(cartridge: &Cartridge, levels: Levels) -> Option<Proofs> {
    if levels.credentials.is_empty() {
        return None;
    }
    Some(Proofs {
        level: proven_level(&levels),
        level_claim: level_claim(&levels),
        capabilities: capabilities(cartridge, &levels),
        credentials: levels.credentials,
    })
}

fn capabilities(cartridge: &Cartridge, levels: &Levels) -> Vec<CapabilityEntry> {
    let rows = cartridge.capabilities.iter();
    rows.filter_map(|row| capability(&row.json, levels))
        .collect()
}

/// A capability of an entry, of the text of its record; `None` where that is no capability.
pub fn capability(text: &str, levels: &Levels) -> Option<CapabilityEntry> {
    let record = json::parse(text.as_bytes()).ok()?;
    let member = |name: &str| record.get(name).and_then(Json::as_str).map(str::to_owned);
    let state = record
        .get("evidenceRefs")
        .and_then(Json::as_array)
        .into_iter()
        .flatten()
        .filter(|r| r.get("kind").and_then(Json::as_str) == Some("level-attestation"))
        .filter_map(|r| levels.state_of(r.get("ref")?.as_str()?))
        .max()
        .unwrap_or(VerificationState::Unresolved);
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
        verified: state == VerificationState::Verified,
        verification_state: state,
    })
}
