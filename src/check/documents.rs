//! The JSON documents of a cartridge, each parsed once, and what capability evidence may name, sorted for look-up.

use std::collections::BTreeMap;

use super::frontmatter::{self, Frontmatter};
use crate::container::{ArchiveFile, Cartridge};
use crate::model::{Json, JsonError, JsonErrorKind, json, shorten};

/// Bytes of a JSON document in the archive; the container admits longer files, but no honest document comes near.
pub const DOCUMENT_BYTES: usize = 1 << 20;

/// Bytes of all level credentials of a cartridge; an honest one has some ten thousand.
pub const CREDENTIAL_BYTES: usize = 4 << 20;

/// The largest vector dimension that is accepted.
pub const MAX_DIM: u32 = 65_536;

/// The archive name of the package spec.
pub const PACKAGE_SPEC: &str = "rom/package-spec.json";
/// The archive name of the Lance descriptor.
pub const LANCE_DESCRIPTOR: &str = "rom/schema/lance-memory.json";
/// The archive name of the harness requirements.
pub const HARNESS: &str = "rom/manifest/harness-requirements.json";
/// The archive name of the loop and context policy.
pub const LOOP_POLICY: &str = "rom/policy/loop-context-policy.json";

/// The attestation type of a level credential.
const LEVEL_CREDENTIAL: &str = "vc-2.0";

/// A document that is there: parsed, or why not.
pub type Parsed = Result<Json, JsonError>;

/// The JSON documents of a cartridge, each parsed once. `None`: the archive has no such file.
#[derive(Debug, Clone, Default)]
pub struct Documents {
    /// `rom/package-spec.json`
    pub package_spec: Option<Parsed>,
    /// `rom/schema/lance-memory.json`
    pub lance_descriptor: Option<Parsed>,
    /// `rom/manifest/harness-requirements.json`
    pub harness: Option<Parsed>,
    /// `rom/policy/loop-context-policy.json`
    pub loop_policy: Option<Parsed>,
    /// The metadata value `acx.embedding_engine`.
    pub engine: Option<Parsed>,
    /// The frontmatter of each SKILL.md and of each file that `acx_skill` names, by archive name.
    pub frontmatter: BTreeMap<String, Frontmatter>,
    /// The `vc-2.0` attestations' documents, by place in `Cartridge::attestations`.
    pub credentials: Vec<(usize, Parsed)>,
    /// The ids by which credentials call themselves or their status, sorted.
    credential_ids: Vec<String>,
    /// Places in `Cartridge::memory`, sorted by artifact fingerprint.
    by_fingerprint: Vec<usize>,
    /// Places in `Cartridge::objects`, sorted by oid.
    by_oid: Vec<usize>,
}

/// An embedding engine: exactly `{id, dim}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Engine {
    /// The engine's name, such as `local-hash-128`.
    pub id: String,
    /// Numbers in one vector, 1 to 65,536.
    pub dim: u32,
}

impl Engine {
    /// The engine that a value spells, if it is of the closed form.
    pub fn of(value: &Json) -> Option<Self> {
        let fields = value.as_object().filter(|fields| fields.len() == 2)?;
        let id = fields.get("id")?.as_str().filter(|id| !id.is_empty())?;
        let dim = fields.get("dim")?.as_f64()?;
        // A double holds every dimension exactly, and `128.0` is an integer to JSON Schema.
        if !(1.0..=f64::from(MAX_DIM)).contains(&dim) || dim.fract() != 0.0 {
            return None;
        }
        Some(Self {
            id: id.to_owned(),
            dim: dim as u32,
        })
    }
}

impl std::fmt::Display for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} of dimension {}", shorten(&self.id), self.dim)
    }
}

impl Documents {
    /// Parses a cartridge's documents.
    pub fn of(cartridge: &Cartridge) -> Self {
        let file = |name: &str| {
            let data = &cartridge.file(name)?.data;
            Some(parse_within(data, data.len(), DOCUMENT_BYTES))
        };
        let mut read = 0;
        let credentials: Vec<(usize, Parsed)> = cartridge
            .attestations
            .iter()
            .enumerate()
            .filter(|(_, row)| row.kind == LEVEL_CREDENTIAL)
            .map(|(at, row)| {
                read += row.document.len();
                (
                    at,
                    parse_within(row.document.as_bytes(), read, CREDENTIAL_BYTES),
                )
            })
            .collect();
        let mut credential_ids: Vec<String> = credentials
            .iter()
            .filter_map(|(_, parsed)| parsed.as_ref().ok())
            .flat_map(ids_of_credential)
            .collect();
        credential_ids.sort_unstable();
        let skills = cartridge.files.iter().filter(|f| skill_folder(f).is_some());
        let listed = cartridge.skills.iter();
        let frontmatter: BTreeMap<String, Frontmatter> = skills
            .chain(listed.filter_map(|row| cartridge.file(&row.path)))
            .map(|file| (file.name.as_str(), file.data.as_slice()))
            .collect::<BTreeMap<_, _>>()
            .into_iter()
            .map(|(name, data)| (name.to_owned(), frontmatter::read(data)))
            .collect();
        // Without capability records nothing is ever looked up.
        let wanted = !cartridge.capabilities.is_empty();
        Self {
            package_spec: file(PACKAGE_SPEC),
            lance_descriptor: file(LANCE_DESCRIPTOR),
            harness: file(HARNESS),
            loop_policy: file(LOOP_POLICY),
            engine: cartridge
                .meta("acx.embedding_engine")
                .map(|text| json::parse(text.as_bytes())),
            frontmatter,
            credentials,
            credential_ids,
            by_fingerprint: order(&cartridge.memory, wanted, |row| &row.artifact_fingerprint),
            by_oid: order(&cartridge.objects, wanted, |row| &row.oid),
        }
    }

    /// The cartridge's embedding engine, where its metadata spell a valid one.
    pub fn embedding_engine(&self) -> Option<Engine> {
        Engine::of(json_of(&self.engine)?)
    }

    /// Whether a level-attestation reference names an attestation of the cartridge: by its att_id, its credential's
    /// id, or the id of its credential's status entry.
    pub fn has_attestation(&self, cartridge: &Cartridge, reference: &str) -> bool {
        let by_row = cartridge
            .attestations
            .binary_search_by(|row| row.att_id.as_str().cmp(reference));
        let by_id = || {
            self.credential_ids
                .binary_search_by(|id| id.as_str().cmp(reference))
        };
        by_row.is_ok() || by_id().is_ok()
    }

    /// Whether a memory record has this artifact fingerprint.
    pub fn has_fingerprint(&self, cartridge: &Cartridge, reference: &str) -> bool {
        has(&cartridge.memory, &self.by_fingerprint, reference, |row| {
            &row.artifact_fingerprint
        })
    }

    /// Whether `objects` has this oid.
    pub fn has_oid(&self, cartridge: &Cartridge, reference: &str) -> bool {
        has(&cartridge.objects, &self.by_oid, reference, |row| &row.oid)
    }

    /// What the cartridge holds of each role whose artifact states a count.
    pub fn live_counts(&self, cartridge: &Cartridge) -> BTreeMap<&'static str, usize> {
        BTreeMap::from([
            ("memory-baseline", cartridge.memory.len()),
            (
                "skills",
                cartridge
                    .files
                    .iter()
                    .filter(|f| skill_folder(f).is_some())
                    .count(),
            ),
            ("capabilities", cartridge.capabilities.len()),
            ("level", self.credentials.len()),
        ])
    }
}

/// The folder's name, where a file is the SKILL.md of a folder in `rom/skills/`.
pub fn skill_folder(file: &ArchiveFile) -> Option<&str> {
    file.name
        .strip_prefix("rom/skills/")?
        .strip_suffix("/SKILL.md")
        .filter(|folder| !folder.contains('/'))
}

/// The document, where it is there and was parsed.
pub fn json_of(document: &Option<Parsed>) -> Option<&Json> {
    document.as_ref().and_then(|parsed| parsed.as_ref().ok())
}

/// Why a JSON text was refused, in a sentence about it.
pub fn refusal(error: &JsonError) -> String {
    match error.kind {
        JsonErrorKind::Syntax => format!("expected JSON, found an error: {error}"),
        JsonErrorKind::RepeatedName => format!("expected each name once in an object: {error}"),
        JsonErrorKind::TooDeep => format!("expected at most {} levels: {error}", json::MAX_DEPTH),
    }
}

/// Parses a document, unless more than `limit` bytes were read: a parsed value takes up to thirty times its text.
fn parse_within(text: &[u8], read: usize, limit: usize) -> Parsed {
    if read > limit {
        return Err(JsonError {
            kind: JsonErrorKind::Syntax,
            message: format!("{read} bytes, more than the {limit} that are read"),
        });
    }
    json::parse(text)
}

/// A credential's own id, and those of its status entries: one, or several in an array.
pub(crate) fn ids_of_credential(credential: &Json) -> Vec<String> {
    let status = credential.get("credentialStatus");
    let entries = match status {
        Some(Json::Array(entries)) => entries.as_slice(),
        Some(one) => std::slice::from_ref(one),
        None => &[],
    };
    std::iter::once(credential)
        .chain(entries)
        .filter_map(|value| value.get("id")?.as_str().map(str::to_owned))
        .collect()
}

fn order<T>(rows: &[T], wanted: bool, key: impl Fn(&T) -> &String) -> Vec<usize> {
    let mut places: Vec<usize> = if wanted {
        (0..rows.len()).collect()
    } else {
        Vec::new()
    };
    places.sort_unstable_by_key(|at| rows.get(*at).map(&key));
    places
}

fn has<T>(rows: &[T], places: &[usize], wanted: &str, key: impl Fn(&T) -> &String) -> bool {
    places
        .binary_search_by(|at| {
            let found = rows.get(*at).map(|row| key(row).as_str());
            found.cmp(&Some(wanted))
        })
        .is_ok()
}
