//! An agent package → a signed cartridge.
//!
//! The steps: read the manifest with its defaults, the records, the skills, the capabilities and the documents; look
//! for secrets in everything that would travel; name every part for the signature; sign; write the file; and let the
//! gate judge it. A cartridge that the gate would refuse is never given out.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::codebase::Salt;
use super::documents::{self, Counts};
use super::manifest::{Manifest, Overrides};
use super::package::{
    ALLOWANCES, HARNESS, KNOWLEDGE, LOOP_POLICY, MANIFEST, Package, Problem, RECORDS,
};
use super::scrub::{self, Hit, Scrubber};
use super::write::{self, Rows};
use super::{capabilities, records, seal, skills};
use crate::attest::PrivateKey;
use crate::check::Settings;
use crate::check::documents as names;
use crate::container::{MemoryRow, Zone};
use crate::finding::Finding;
use crate::model::{
    ArtifactId, ArtifactType, Coordinate, Digest, Json, KeyId, PublisherId, Timestamp, Version,
    json as strict,
};
use crate::policy::{Policy, TrustRegistry};
use crate::verdict;

/// The version of the format that is written.
pub const SPEC_VERSION: &str = "0.1";

/// What an export depends on besides the package.
#[derive(Debug, Clone, Copy)]
pub struct ExportOptions<'a> {
    /// Who publishes.
    pub publisher: &'a PublisherId,
    /// The publisher's key.
    pub key: &'a PrivateKey,
    /// The run's one time; the cartridge is signed at it unless the manifest has an `exportedAt`.
    pub now: &'a Timestamp,
    /// The cartridge's id in place of the manifest's.
    pub id: Option<&'a ArtifactId>,
    /// The version in place of the manifest's.
    pub version: Option<&'a Version>,
    /// Take field-learned records, too, into the SAVE zone.
    pub include_field_learned: bool,
    /// The installation's salt, for the fingerprints of field-learned records that have none.
    pub salt: Option<&'a Salt>,
}

/// A signed cartridge.
#[derive(Debug, Clone)]
pub struct Exported {
    /// The file's bytes: the same for the same package, options, key and time.
    pub bytes: Vec<u8>,
    /// Publisher, id and version.
    pub coordinate: Coordinate,
    /// `<publisher>/<id>@<uuid>`
    pub cartridge_id: String,
    /// The signed hash of the ROM manifest.
    pub rom_hash: Digest,
    /// The signer's key.
    pub keyid: KeyId,
    /// When it was signed, as it says.
    pub signed_at: Timestamp,
    /// The archive's files with their sizes in bytes, by name.
    pub files: Vec<(String, usize)>,
    /// How many objects the signature covers.
    pub objects: usize,
    /// Portable memory records.
    pub memory: usize,
    /// Field-learned memory records in the SAVE zone.
    pub field_learned: usize,
    /// Field-learned records that stayed out.
    pub left_out: usize,
    /// Skills.
    pub skills: usize,
    /// Capability records.
    pub capabilities: usize,
    /// What the author should know; none for a package without peculiarities.
    pub notes: Vec<String>,
}

/// Why nothing was exported.
#[derive(Debug)]
pub enum ExportError {
    /// The package is not of its form.
    Package(Vec<Problem>),
    /// There are secrets in it.
    Secrets(Vec<Hit>),
    /// The gate would refuse the cartridge.
    Gate(Vec<Finding>),
    /// The tool failed.
    Failed(String),
}

impl std::fmt::Display for ExportError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let lines: Vec<String> = match self {
            Self::Package(problems) => problems.iter().map(ToString::to_string).collect(),
            Self::Secrets(hits) => hits.iter().map(ToString::to_string).collect(),
            Self::Gate(findings) => findings
                .iter()
                .map(|x| format!("{}: {}", x.code, x.message))
                .collect(),
            Self::Failed(message) => vec![message.clone()],
        };
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for ExportError {}

impl From<Vec<Problem>> for ExportError {
    fn from(problems: Vec<Problem>) -> Self {
        Self::Package(problems)
    }
}

/// Makes a signed cartridge of a package.
///
/// # Errors
/// [`ExportError`]: nothing is given out that the gate would refuse.
pub fn export(package: &Package, options: &ExportOptions<'_>) -> Result<Exported, ExportError> {
    let limits = Policy::default().limits;
    let mut notes: Vec<String> = package
        .left_out()
        .iter()
        .map(|name| format!("{name:?} is no part of a package and is left out"))
        .collect();
    let overrides = Overrides {
        publisher: options.publisher,
        id: options.id,
        version: options.version,
    };
    // What is wrong in several files is said at once, so that one round mends it.
    let mut problems = Vec::new();
    let manifest = kept(
        Manifest::read(package, overrides, &mut notes),
        &mut problems,
    );
    let memory = records::read(
        package,
        options.include_field_learned,
        options.salt,
        &limits,
        &mut notes,
    );
    let memory = kept(memory, &mut problems);
    let mut files = BTreeMap::new();
    for stem in KNOWLEDGE {
        let name = format!("{stem}.md");
        if let Some(data) = package.file(&name) {
            files.insert(format!("rom/knowledge/{name}"), data.to_vec());
        }
    }
    let skills = skills::add(package, manifest.as_ref(), &mut files);
    let skills = kept(skills, &mut problems);
    let harness = kept(documents::harness(package), &mut problems);
    let engine = manifest.as_ref().map(|manifest| &manifest.engine);
    let policy = kept(documents::loop_policy(package, engine), &mut problems);
    let (Some(manifest), Some(memory), Some(skills), Some(harness), Some(policy)) =
        (manifest, memory, skills, harness, policy)
    else {
        return Err(problems.into());
    };
    let signed_at = signing_time(&manifest, options.now)?;
    let capabilities = capabilities::of(&manifest, &signed_at);
    let descriptor = documents::lance_descriptor(&manifest.engine);
    files.extend([
        (names::HARNESS.to_owned(), harness),
        (names::LOOP_POLICY.to_owned(), policy),
        (
            names::LANCE_DESCRIPTOR.to_owned(),
            documents::pretty(&descriptor),
        ),
    ]);

    let coordinate = Coordinate {
        kind: ArtifactType::Agent,
        publisher: options.publisher.clone(),
        id: manifest.id.clone().into(),
        version: manifest.version.clone(),
    };
    let mut meta = metadata(&manifest, &coordinate, &signed_at);
    let cartridge_id = cartridge_id(&coordinate, &meta, &files, &memory.rows);
    meta.insert("acx.cartridge_id".to_owned(), cartridge_id.clone());
    let field_learned = memory
        .rows
        .iter()
        .filter(|(row, _)| row.zone == Zone::Save)
        .count();
    // What is published is the ROM, so the spec counts that: with or without field-learned records it is the same.
    let counts = Counts {
        memory: memory.rows.len() - field_learned,
        skills: skills.len(),
        capabilities: capabilities.len(),
    };
    let spec = documents::package_spec(&cartridge_id, SPEC_VERSION, &manifest.engine, counts);
    files.insert(names::PACKAGE_SPEC.to_owned(), documents::pretty(&spec));

    let mut rows = Rows {
        meta,
        files,
        memory: memory.rows,
        objects: Vec::new(),
        skills,
        capabilities,
        has_save: field_learned > 0,
    };
    scrub(
        package,
        &rows,
        &memory.repositories,
        manifest.origin.as_deref(),
        &mut notes,
    )?;
    rows.objects = seal::objects(&rows, &mut notes)?;
    let claims = seal::Claims {
        cartridge_id: &cartridge_id,
        publisher: options.publisher,
        engine: &manifest.engine,
        signed_at: &signed_at,
        origin: manifest.origin.as_deref(),
    };
    let (signature, rom_hash) = seal::sign(&rows.objects, &claims, options.key);
    let recorded = ("acx.rom_manifest_hash".to_owned(), rom_hash.to_string());
    rows.meta.extend([recorded]);
    save_metadata(&mut rows);
    let bytes = write::write(&rows, &signature)
        .map_err(|e| ExportError::Failed(format!("SQLite cannot write the cartridge: {e}")))?;
    judge(&coordinate, &bytes, options.now, field_learned == 0)?;
    if field_learned > 0 {
        notes.push(format!(
            "{field_learned} field-learned records are in the SAVE zone; a registry refuses them: run `acx strip` before \
             you publish"
        ));
    }
    Ok(Exported {
        coordinate,
        cartridge_id,
        rom_hash,
        keyid: options.key.public().id().clone(),
        signed_at,
        files: rows
            .files
            .iter()
            .map(|(name, data)| (name.clone(), data.len()))
            .collect(),
        objects: rows.objects.iter().filter(|o| o.zone == Zone::Rom).count(),
        memory: rows.memory.len() - field_learned,
        field_learned,
        left_out: memory.left_out,
        skills: rows.skills.len(),
        capabilities: rows.capabilities.len(),
        notes,
        bytes,
    })
}

/// The scrub gate over everything that would travel.
fn scrub(
    package: &Package,
    rows: &Rows,
    repositories: &BTreeSet<String>,
    origin: Option<&str>,
    notes: &mut Vec<String>,
) -> Result<(), ExportError> {
    let mut scrubber = Scrubber::new(repositories).map_err(|p| vec![p])?;
    for (name, data) in &rows.files {
        scrubber.file(source_of(name), data);
    }
    for (row, _) in &rows.memory {
        let record = strict::parse(row.payload.as_bytes()).unwrap_or_default();
        texts(&record, &row.id, &mut |field, text| {
            scrubber.field(RECORDS, field, text)
        });
    }
    for row in &rows.capabilities {
        let record = strict::parse(row.json.as_bytes()).unwrap_or_default();
        texts(&record, &row.id, &mut |field, text| {
            scrubber.field(MANIFEST, field, text)
        });
    }
    for (key, value) in &rows.meta {
        scrubber.field(MANIFEST, key, value);
    }
    scrubber.field(MANIFEST, "originInstanceId", origin.unwrap_or_default());
    let (mut hits, warnings) = scrubber.finish().map_err(|p| vec![p])?;
    let allowed = scrub::apply(package, &mut hits)?;
    if !hits.is_empty() {
        for hit in &mut hits {
            hit.file = scrub::redacted(&hit.file);
            hit.field = scrub::redacted(&hit.field);
        }
        return Err(ExportError::Secrets(hits));
    }
    notes.extend(warnings.iter().map(|hit| format!("look at {hit}")));
    if allowed > 0 {
        notes.push(format!(
            "{allowed} hits of the scrub gate are allowed by {ALLOWANCES}"
        ));
    }
    Ok(())
}

/// The file of the package that an archive file comes from, or would come from.
fn source_of(name: &str) -> &str {
    match name {
        names::HARNESS => HARNESS,
        names::LOOP_POLICY => LOOP_POLICY,
        _ => name
            .strip_prefix("rom/knowledge/")
            .or_else(|| name.strip_prefix("rom/"))
            .unwrap_or(name),
    }
}

/// Every text in a JSON value with its pointer behind `at`. The parser bounds the depth.
fn texts(value: &Json, at: &str, each: &mut impl FnMut(&str, &str)) {
    match value {
        Json::String(text) => each(at, text),
        Json::Array(items) => {
            for (n, item) in items.iter().enumerate() {
                texts(item, &format!("{at}/{n}"), each);
            }
        }
        Json::Object(fields) => {
            for (name, field) in fields {
                texts(field, &strict::member(at, name), each);
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

/// The value, or its problems with the others'.
fn kept<T>(result: Result<T, Vec<Problem>>, problems: &mut Vec<Problem>) -> Option<T> {
    result.map_err(|list| problems.extend(list)).ok()
}

fn signing_time(manifest: &Manifest, now: &Timestamp) -> Result<Timestamp, ExportError> {
    match &manifest.exported_at {
        Some(at) if now.is_before(at) => {
            let message = format!(
                "expected a time up to now ({now}), found {at}: a signature from the future counts for nothing"
            );
            Err(vec![Problem::new(MANIFEST, "/exportedAt", message)].into())
        }
        Some(at) => Ok(at.to_millis()),
        None => Ok(now.to_millis()),
    }
}

/// `<publisher>/<id>@<uuid>`: a UUID of version 8 made of everything that is published, so that another content or time
/// has another. What stays at home is not in it: nobody could test guesses about it against the id.
fn cartridge_id(
    coordinate: &Coordinate,
    meta: &BTreeMap<String, String>,
    files: &BTreeMap<String, Vec<u8>>,
    memory: &[(MemoryRow, String)],
) -> String {
    let files: Vec<_> = files
        .iter()
        .map(|(name, data)| json!([name, Digest::of(data)]))
        .collect();
    let rom = memory.iter().filter(|(row, _)| row.zone == Zone::Rom);
    let memory: Vec<&str> = rom.map(|(row, _)| row.oid.as_str()).collect();
    let content = json!([coordinate.to_string(), meta, files, memory]);
    let mut bytes = *Digest::of(&strict::canonical(&content)).bytes();
    for (at, mask, bits) in [(6, 0x0f, 0x80), (8, 0x3f, 0x80)] {
        if let Some(byte) = bytes.get_mut(at) {
            *byte = *byte & mask | bits;
        }
    }
    let hex = crate::model::hex::encode(&bytes);
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    format!(
        "{}/{}@{}-{}-{}-{}-{}",
        coordinate.publisher,
        coordinate.id,
        part(0, 8),
        part(8, 12),
        part(12, 16),
        part(16, 20),
        part(20, 32)
    )
}

/// Every metadata value but the cartridge's id and the manifest's hash, which follow from the rest.
fn metadata(
    manifest: &Manifest,
    coordinate: &Coordinate,
    created_at: &Timestamp,
) -> BTreeMap<String, String> {
    let canonical =
        |value: &serde_json::Value| String::from_utf8(strict::canonical(value)).unwrap_or_default();
    let values = [
        ("acx.spec_version", Some(SPEC_VERSION.to_owned())),
        ("acx.created_at", Some(created_at.to_string())),
        (
            "acx.embedding_engine",
            Some(documents::engine(&manifest.engine).to_string()),
        ),
        ("acx.vec0_format", Some("1".to_owned())),
        ("acx.publisher_id", Some(coordinate.publisher.to_string())),
        ("acx.agent_name", Some(manifest.name.clone())),
        ("acx.provider", Some(manifest.provider.clone())),
        ("acx.model", manifest.model.clone()),
        ("acx.role", Some(manifest.role.clone())),
        ("acx.declared_level", Some(manifest.level.to_string())),
        ("acx.artifact_id", Some(coordinate.id.to_string())),
        ("acx.artifact_version", Some(coordinate.version.to_string())),
        ("acx.description", Some(manifest.description.clone())),
        ("acx.license", Some(manifest.license.clone())),
        ("acx.authors", Some(canonical(&manifest.authors))),
        ("acx.tags", Some(canonical(&json!(manifest.tags)))),
        ("acx.homepage", manifest.homepage.clone()),
        ("acx.package_spec", Some(names::PACKAGE_SPEC.to_owned())),
        ("acx.lance_schema", Some(names::LANCE_DESCRIPTOR.to_owned())),
    ];
    values
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value?)))
        .collect()
}

/// The one codebase that the SAVE zone is about, where it is one.
fn save_metadata(rows: &mut Rows) {
    let mut codebases: Vec<String> = rows
        .memory
        .iter()
        .filter_map(|(row, _)| row.codebase_fingerprint.clone())
        .collect();
    codebases.sort_unstable();
    codebases.dedup();
    if let [one] = codebases.as_slice() {
        rows.meta
            .insert("acx.save_codebase_fingerprint".to_owned(), one.clone());
    }
}

/// The gate's own word on what was made.
fn judge(
    coordinate: &Coordinate,
    bytes: &[u8],
    now: &Timestamp,
    public: bool,
) -> Result<(), ExportError> {
    let settings = Settings {
        policy: &Policy::default(),
        trust: &TrustRegistry::default(),
        own_keys: &[],
        now,
        public,
    };
    let judgement = verdict::judge(&coordinate.path(), bytes, settings, |_, _| {})
        .map_err(|refusal| ExportError::Failed(refusal.0))?;
    match judgement.admitted {
        Some(_) => Ok(()),
        None => Err(ExportError::Gate(judgement.findings)),
    }
}
