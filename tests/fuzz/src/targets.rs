//! What is fuzzed: one function for each way that a stranger's bytes come in. Each panics where a promise is broken, and
//! the same functions run under the fuzzer and, over its corpus, as a plain test.

use std::sync::LazyLock;

use acx_registry::attest::{Envelope, PrivateKey, Statement, verify};
use acx_registry::author::scrub::Scrubber;
use acx_registry::check::Settings;
use acx_registry::document::{self, Kind};
use acx_registry::git::{ObjectFolders, Repo};
use acx_registry::lance;
use acx_registry::level::{IssuerKeys, VerificationState};
use acx_registry::model::{Digest, PublisherId, Timestamp, json};
use acx_registry::pipeline::parse_updates;
use acx_registry::policy::{Policy, StatusLedger, TrustRegistry};
use acx_registry::project::{self, Entries, MemoryRecord};
use acx_registry::publish::{self, Content, Signing};
use acx_registry::registry::parse_policy;
use acx_registry::verdict::{self, Admitted};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::mutate::{CELLS, CHANGES, Input, change_cells, edit, with_database};
use crate::support::cartridge::{Builder, Entry, PUBLISHER_SEED};
use crate::support::documents::Document;
use crate::support::records::{Capability, Memory};
use crate::support::{envelope, jcs, keys, levels, signed};

/// A target: bytes in, nothing out.
pub type Target = fn(&[u8]);

/// Every target by its name, which is also the name of its corpus.
pub const TARGETS: &[(&str, Target)] = &[
    ("cartridge", cartridge),
    ("cells", cells),
    ("credential", credential),
    ("document", document),
    ("edits", edits),
    ("envelope", dsse),
    ("index", index),
    ("issuer_keys", issuer_keys),
    ("json", canonical),
    ("lance_rows", lance_rows),
    ("ledger", ledger),
    ("pages", pages),
    ("policy", policy),
    ("scrub", scrub),
    ("signed", signed_text),
    ("trust", trust),
    ("updates", updates),
];

/// Changes that one input makes at the most.
const EDITS: usize = 16;

/// The run's one time.
fn now() -> Timestamp {
    Timestamp::from_unix(1_788_220_800).expect("a time that can be written")
}

static POLICY: LazyLock<Policy> = LazyLock::new(Policy::default);
static TRUST: LazyLock<TrustRegistry> = LazyLock::new(TrustRegistry::default);

/// Judges a cartridge. What is accepted goes the whole way into an index; see [`follow`].
fn judged(bytes: &[u8], issuers: &IssuerKeys) -> Option<Box<Admitted>> {
    let now = now();
    let settings = Settings {
        policy: &POLICY,
        trust: &TRUST,
        own_keys: &[],
        now: &now,
        public: true,
    };
    let judgement = verdict::judge("x.acx", bytes, settings, |_, _| {}).ok()?;
    let admitted = judgement.admitted?;
    follow(&admitted, issuers);
    Some(admitted)
}

/// A cartridge that is accepted must not hurt the index: it is listed, signed, written, read back, and its card and
/// dataset are made.
fn follow(admitted: &Admitted, issuers: &IssuerKeys) {
    let now = now();
    let weighed = project::levels(admitted, issuers, &now);
    let [publisher, id, version] = ["publisher_id", "artifact_id", "artifact_version"].map(|key| {
        let value = admitted.cartridge().meta(&format!("acx.{key}"));
        value.expect("an accepted cartridge has a coordinate")
    });
    let path = format!("cartridges/{publisher}/{id}/{version}/cartridge.acx");
    let projected = project::entry(&path, admitted, &weighed);
    let _ = project::card(&projected.entry, admitted);
    let mut records = Vec::new();
    for row in &admitted.cartridge().memory {
        let payload = json::parse(row.payload.as_bytes()).expect("an accepted payload is JSON");
        if let Ok(record) = MemoryRecord::of_json(&payload) {
            records.push(record);
        }
    }
    if !records.is_empty() {
        let batch = project::record_batch(&records).expect("accepted records are rows");
        lance::dataset(&batch, &now).expect("accepted rows are a dataset");
    }
    let entries = Entries {
        cartridges: vec![projected.entry],
        ..Entries::default()
    };
    listed(entries);
}

/// Signs, writes and reads an index of these entries.
fn listed(entries: Entries) {
    let content = Content::new(now().as_str().to_owned(), entries, Vec::new());
    let key = PrivateKey::from_seed(&keys::seed(90)).expect("a key");
    let signing = Signing {
        registry_id: "io.example.registry".to_owned(),
        sequence: 1,
        previous_digest: None,
        signed_at: now(),
        expires: None,
        retired: Vec::new(),
    };
    let integrity = publish::sign(&content, &signing, &key);
    let file = publish::render(&content, &integrity).expect("an index is written");
    let read = publish::read(&file).unwrap_or_else(|e| panic!("the index that came of it: {e}"));
    assert!(
        read.head.well_formed,
        "the index is in the form in which it is written"
    );
}

/// The parts of an accepted cartridge that its publisher signed.
fn content(admitted: &Admitted) -> Value {
    let weighed = project::levels(admitted, &IssuerKeys::default(), &now());
    let mut entry = serde_json::to_value(project::entry("x", admitted, &weighed).entry)
        .expect("an entry is JSON");
    let members = entry.as_object_mut().expect("an object");
    members.shift_remove("sha256");
    members.shift_remove("bytes");
    // Credentials prove themselves and are in no manifest; without issuers' keys they prove nothing.
    let claim = members.shift_remove("levelClaim");
    assert_ne!(claim.expect("a claim")["verificationState"], "verified");
    for capability in members["capabilities"].as_array_mut().expect("a list") {
        let capability = capability.as_object_mut().expect("an object");
        let state = capability.shift_remove("verificationState");
        assert_ne!(state.expect("a state"), "verified");
        assert_eq!(capability["verified"], false);
    }
    let cartridge = admitted.cartridge();
    json!({
        "entry": entry,
        "keyid": admitted.signed().key.id(),
        "manifest": admitted.signed().manifest,
        "files": cartridge.files.iter().map(|f| (&f.name, f.digest)).collect::<Vec<_>>(),
        "memory": cartridge.memory.iter().map(|m| {
            (&m.id, m.zone.as_str(), &m.artifact_fingerprint, &m.codebase_fingerprint, &m.payload)
        }).collect::<Vec<_>>(),
        "capabilities": cartridge.capabilities.iter().map(|c| (&c.id, &c.json, &c.content_hash)).collect::<Vec<_>>(),
    })
}

/// A sound cartridge that changes are made to.
pub struct Base {
    /// The file.
    pub bytes: Vec<u8>,
    page_size: usize,
    content: Value,
}

/// The sound cartridges, by the first byte of an input.
pub static BASES: LazyLock<Vec<Base>> = LazyLock::new(|| {
    let valid = || Builder::valid("io.github.acme", "fine", "1.0.0");
    let mut utf16 = valid().with_memories(1);
    utf16.encoding = "UTF-16le";
    utf16.page_size = 512;
    let mut small = valid().with_memories(9);
    small.page_size = 512;
    let mut wide = valid().with_memories(4).with_attestation();
    wide.page_size = 4096;
    [valid(), utf16, small, wide]
        .map(|builder| {
            let bytes = builder.build();
            let admitted = judged(&bytes, &IssuerKeys::default()).expect("a sound cartridge");
            Base {
                content: content(&admitted),
                page_size: builder.page_size as usize,
                bytes,
            }
        })
        .into()
});

impl Base {
    /// Judges a changed file that nobody signed anew: what is accepted is what was signed.
    fn judge_changed(&self, bytes: &[u8]) {
        if let Some(admitted) = judged(bytes, &IssuerKeys::default()) {
            assert_eq!(
                content(&admitted),
                self.content,
                "accepted, and not what was signed"
            );
        }
    }
}

/// A file's bytes as they are.
fn cartridge(data: &[u8]) {
    let _ = judged(data, &IssuerKeys::default());
}

/// Pages of a sound cartridge overwritten, copied and exchanged; the file's header stays as it was.
fn pages(data: &[u8]) {
    let mut input = Input(data);
    let Some(base) = input.byte().map(|b| &BASES[usize::from(b) % BASES.len()]) else {
        return;
    };
    let mut bytes = base.bytes.clone();
    let (size, count) = (base.page_size, base.bytes.len() / base.page_size);
    for _ in 0..64 {
        let Some(kind) = input.byte() else { break };
        let (Some(page), Some(at)) = (input.short(), input.short()) else {
            break;
        };
        let (page, at) = (page % count * size, at % size);
        match kind % 5 {
            // From the page's start, where its header and the cells' places are.
            0 | 1 => {
                let Some(new) = input.bytes() else { break };
                let from = page + if kind % 5 == 0 { at % 16 } else { at };
                let to = (from + new.len()).min(page + size);
                bytes[from..to].copy_from_slice(&new[..to - from]);
            }
            2 => {
                let Some(other) = input.short() else { break };
                let other = other % count * size;
                bytes.copy_within(other..other + size, page);
            }
            3 => {
                let Some(other) = input.short() else { break };
                let other = other % count * size;
                let first = bytes[page..page + size].to_vec();
                bytes.copy_within(other..other + size, page);
                bytes[other..other + size].copy_from_slice(&first);
            }
            _ => {
                let Some(mask) = input.byte() else { break };
                bytes[page + at] ^= mask;
            }
        }
    }
    bytes[..100].copy_from_slice(&base.bytes[..100]);
    base.judge_changed(&bytes);
}

/// Cells of a sound cartridge changed, rows repeated, moved and taken out; nobody signs anew.
fn cells(data: &[u8]) {
    let mut input = Input(data);
    let Some(base) = input.byte().map(|b| &BASES[usize::from(b) % BASES.len()]) else {
        return;
    };
    let Ok(bytes) = with_database(&base.bytes, |db| change_cells(db, &mut input, EDITS)) else {
        return;
    };
    base.judge_changed(&bytes);
}

/// A row of a record that may be anything; its zone is one that the table takes.
fn memory_row(record: Value) -> Memory {
    let mut row = if record.is_object() {
        Memory::sealed(record)
    } else {
        Memory::of(record)
    };
    let zone = row.zone();
    if !["rom", "save"].contains(&&*zone) {
        row.zone = Some("rom".to_owned());
    }
    row
}

/// Where a text goes before its cartridge is signed.
const PLACES: usize = 12;

/// A cartridge that its publisher signed with this text in one place.
fn signed_with(place: u8, text: &[u8]) -> Vec<u8> {
    let mut builder = Builder::valid("io.github.acme", "fine", "1.0.0").with_memories(1);
    builder.capabilities.truncate(1);
    let lossy = String::from_utf8_lossy(text).into_owned();
    match usize::from(place) % PLACES {
        0 => builder.spec = Document::Text(text.to_vec()),
        1 => builder.lance = Document::Text(text.to_vec()),
        2 => builder.harness = Document::Text(text.to_vec()),
        3 => builder.loop_policy = Document::Text(text.to_vec()),
        4 => {
            let mut row = memory_row(serde_json::from_str(&lossy).unwrap_or_default());
            row.payload = Some(lossy);
            builder.memory = vec![row];
        }
        5 => {
            let mut row = match serde_json::from_str(&lossy) {
                Ok(record @ Value::Object(_)) => Capability::of(record),
                _ => Capability::of(Value::Null),
            };
            row.json = Some(lossy);
            builder.capabilities = vec![row];
        }
        6 => builder.entry("rom/skills/builds/SKILL.md").data = text.to_vec(),
        7 => {
            builder.files.push(Entry::new(&lossy, "text"));
        }
        8 => {
            let file = builder.file("rom/knowledge/NOTES.md", text);
            file.named = true;
        }
        9 => {
            let mut lines = lossy.splitn(2, '\n');
            let (key, value) = (lines.next().unwrap_or(""), lines.next().unwrap_or(""));
            builder.set(key, value);
        }
        10 => builder.envelope.payload = Some(text.to_vec()),
        _ => builder.envelope.text = Some(lossy),
    }
    builder.build()
}

/// A text in one of a cartridge's places, and then signed: what a publisher may send.
fn signed_text(data: &[u8]) {
    let Some((place, text)) = data.split_first() else {
        return;
    };
    // A name that is taken makes no cartridge.
    let taken = usize::from(*place) % PLACES == 7
        && (std::str::from_utf8(text).is_err()
            || BASES[0].content["files"]
                .to_string()
                .contains(&*String::from_utf8_lossy(text)));
    if !taken {
        cartridge(&signed_with(*place, text));
    }
}

/// Sound documents that are edited as trees and then signed by whoever may sign them.
fn edits(data: &[u8]) {
    let mut input = Input(data);
    let Some(which) = input.byte() else { return };
    let mut builder = Builder::valid("io.github.acme", "fine", "1.0.0").with_memories(1);
    builder.capabilities.truncate(1);
    match which % 12 {
        0 => builder.edit_spec(|spec| edit(spec, &mut input, EDITS)),
        1 => builder.edit_lance(|lance| edit(lance, &mut input, EDITS)),
        2 => builder.edit_harness(|harness| edit(harness, &mut input, EDITS)),
        3 => builder.edit_loop(|policy| edit(policy, &mut input, EDITS)),
        4 => {
            let mut record = builder.memory[0].record.clone();
            edit(&mut record, &mut input, EDITS);
            builder.memory = vec![memory_row(record)];
        }
        5 => {
            let mut record = builder.capabilities[0].record.clone();
            edit(&mut record, &mut input, EDITS);
            builder.capabilities = vec![if record.is_object() {
                Capability::sealed(record)
            } else {
                Capability::of(record)
            }];
        }
        6 => {
            let mut meta: Value = json!(builder.meta);
            edit(&mut meta, &mut input, EDITS);
            let Value::Object(members) = meta else { return };
            let text = |value: Value| match value {
                Value::String(text) => text,
                other => other.to_string(),
            };
            builder.meta = members.into_iter().map(|(k, v)| (k, text(v))).collect();
            builder.meta.remove("acx.rom_manifest_hash");
        }
        7 => return edited_document(Kind::Workflow, &mut input),
        8 => return edited_document(Kind::AgentGraph, &mut input),
        9 => return edited_credential(&mut input),
        10 => return edited_keys(&mut input),
        _ => return edited_index(&mut input),
    }
    cartridge(&builder.build());
}

/// Judges a document as published and as a draft; what is accepted can be listed, and what acx signs is accepted.
fn judge_document(kind: Kind, bytes: &[u8]) {
    let now = now();
    for publication in [false, true] {
        let settings = document::Settings {
            policy: &POLICY,
            trust: &TRUST,
            now: &now,
            publication,
        };
        let judgement = document::judge(kind, "x.json", None, bytes, settings);
        if let Some(accepted) = judgement.accepted {
            assert_eq!(document::digest(bytes), Ok(accepted.digest()));
            let [publisher, id, version] = accepted.coordinate();
            let path = kind.artifact().path(publisher, id, version);
            let mut entry = project::document(&path, &accepted);
            if kind == Kind::AgentGraph {
                entry.resolve(|_| "active");
            }
            let mut entries = Entries::default();
            entries.push(project::Artifact::of_document(kind, entry));
            listed(entries);
        }
    }
    let publisher = PublisherId::try_from("io.github.acme").expect("a publisher");
    let key = PrivateKey::from_seed(&keys::seed(PUBLISHER_SEED)).expect("a key");
    if let Ok(file) = document::sign(kind, "x.json", bytes, &publisher, &key, &now) {
        let settings = document::Settings {
            policy: &POLICY,
            trust: &TRUST,
            now: &now,
            publication: true,
        };
        let again = document::judge(kind, "x.json", None, &file, settings);
        assert!(
            again.accepted.is_some(),
            "signed, and then refused: {:?}",
            again.findings
        );
        let twice = document::sign(kind, "x.json", &file, &publisher, &key, &now);
        assert_eq!(twice.ok(), Some(file), "signing twice gives the same file");
    }
}

fn edited_document(kind: Kind, input: &mut Input<'_>) {
    let workflow = signed::workflow("io.github.acme", "pipeline", "1.0.0", PUBLISHER_SEED);
    let mut value = match kind {
        Kind::Workflow => workflow.value,
        Kind::AgentGraph => {
            signed::graph(
                "io.github.acme",
                "team",
                "1.0.0",
                PUBLISHER_SEED,
                &[&workflow],
            )
            .value
        }
    };
    edit(&mut value, input, EDITS);
    if value.is_object() {
        signed::sign(
            &mut value,
            "io.github.acme",
            PUBLISHER_SEED,
            signed::SIGNED_AT,
        );
        edit(&mut value, input, EDITS);
    }
    judge_document(
        kind,
        &serde_json::to_vec(&value).expect("a JSON value prints"),
    );
}

/// A workflow or a graph, as it is.
fn document(data: &[u8]) {
    let Some((kind, text)) = data.split_first() else {
        return;
    };
    let kind = [Kind::Workflow, Kind::AgentGraph][usize::from(kind % 2)];
    judge_document(kind, text);
}

/// A cartridge with this credential, judged with the issuer's keys.
fn judge_credential(text: &str, issuers: &IssuerKeys) -> Vec<VerificationState> {
    let mut builder = levels::cartridge("proven");
    builder.attestations = vec![levels::attestation("level-1", text)];
    let Some(admitted) = judged(&builder.build(), issuers) else {
        return Vec::new();
    };
    let weighed = project::levels(&admitted, issuers, &now());
    weighed.credentials.iter().map(|c| c.state).collect()
}

static ISSUERS: LazyLock<IssuerKeys> = LazyLock::new(|| {
    let lists = [levels::signed_list(&[9])];
    let file = serde_json::to_vec(&levels::issuer_keys(&lists)).expect("a JSON value prints");
    IssuerKeys::parse(&file).expect("sound keys")
});

/// The hash that a sound credential is about.
static ROM: LazyLock<String> = LazyLock::new(|| levels::cartridge("proven").manifest_hash());

/// A credential as it is. No text that the issuer did not sign is ever verified.
fn credential(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let states = judge_credential(&text, &ISSUERS);
    if states.contains(&VerificationState::Verified) {
        let mut sound = levels::credential(&ROM);
        levels::sign(&mut sound, levels::ISSUER_SEED);
        let found = json::parse(text.as_bytes()).expect("a verified credential is JSON");
        assert_eq!(
            jcs::jcs(&found),
            jcs::jcs(&sound),
            "verified, and not what was signed"
        );
    }
}

/// A credential edited before its issuer signs, and after.
fn edited_credential(input: &mut Input<'_>) {
    let mut value = levels::credential(&ROM);
    edit(&mut value, input, EDITS);
    if value["proof"].is_object() {
        levels::sign(&mut value, levels::ISSUER_SEED);
        let signed = value.clone();
        edit(&mut value, input, EDITS);
        let states = judge_credential(&value.to_string(), &ISSUERS);
        assert!(
            !states.contains(&VerificationState::Verified) || jcs::jcs(&value) == jcs::jcs(&signed),
            "verified, and not what was signed"
        );
    } else {
        judge_credential(&value.to_string(), &ISSUERS);
    }
}

/// The issuers' file, and the status list in it, edited; a sound credential is judged by it.
fn edited_keys(input: &mut Input<'_>) {
    let mut list = levels::signed_list(&[9]);
    edit(&mut list, input, EDITS);
    if list["proof"].is_object() {
        levels::sign(&mut list, levels::ISSUER_SEED);
    }
    let mut file = levels::issuer_keys(&[list]);
    edit(&mut file, input, EDITS);
    let Ok(issuers) = IssuerKeys::parse(file.to_string().as_bytes()) else {
        return;
    };
    let mut sound = levels::credential(&ROM);
    levels::sign(&mut sound, levels::ISSUER_SEED);
    judge_credential(&sound.to_string(), &issuers);
}

/// The issuers' file as it is.
fn issuer_keys(data: &[u8]) {
    let _ = IssuerKeys::parse(data);
}

/// An envelope as it is; what verifies is a statement or is not.
fn dsse(data: &[u8]) {
    let Ok(envelope) = Envelope::parse(data) else {
        return;
    };
    let again = Envelope::of_json(&envelope.to_json()).expect("an envelope that was read");
    assert_eq!(again.to_json(), envelope.to_json());
    let key = PrivateKey::from_seed(&keys::seed(PUBLISHER_SEED)).expect("a key");
    let _ = verify(&envelope, key.public());
    for predicate in ["https://acx.dev/attestations/registry-index/v1", ""] {
        let _ = Statement::of_envelope(&envelope, predicate);
    }
}

/// An index as it is.
fn index(data: &[u8]) {
    if let Ok(read) = publish::read(data) {
        let digest = json::canonical_digest(&read.content);
        assert_eq!(digest, read.head.integrity.digest);
    }
}

/// A sound index edited and signed anew by its key.
fn edited_index(input: &mut Input<'_>) {
    let mut index = SOUND_INDEX.clone();
    let integrity = index
        .as_object_mut()
        .and_then(|members| members.shift_remove("integrity"));
    let Some(mut integrity) = integrity else {
        return;
    };
    edit(&mut index, input, EDITS);
    let payload = integrity["envelope"]["payload"]
        .as_str()
        .unwrap_or_default();
    let payload = STANDARD.decode(payload).expect("Base64 that we wrote");
    let mut statement: Value = serde_json::from_slice(&payload).expect("JSON that we wrote");
    let digest = keys::sha256(jcs::jcs(&index).as_bytes());
    statement["subject"][0]["digest"]["sha256"] = digest.trim_start_matches("sha256:").into();
    statement["predicate"]["indexDigest"] = digest.as_str().into();
    statement["predicate"]["counts"] = json!({
        "artifacts": index["artifactCount"], "cartridges": index["count"], "workflows": index["workflowCount"],
        "agentGraphs": index["agentGraphCount"], "templates": index["templateCount"],
    });
    edit(&mut statement, input, EDITS);
    let payload = jcs::jcs(&statement);
    let seed = keys::seed(90);
    let sig = keys::sign(
        &seed,
        &envelope::Envelope::new(seed).pae(payload.as_bytes()),
    );
    integrity["envelope"]["payload"] = STANDARD.encode(payload).into();
    integrity["envelope"]["signatures"][0]["sig"] = STANDARD.encode(sig).into();
    integrity["digest"] = digest.into();
    edit(&mut integrity, input, EDITS);
    if let Some(members) = index.as_object_mut() {
        members.insert("integrity".to_owned(), integrity);
    }
    let mut file = serde_json::to_vec_pretty(&index).expect("a JSON value prints");
    file.push(b'\n');
    self::index(&file);
}

/// An index of one cartridge and two documents.
pub static SOUND_INDEX: LazyLock<Value> = LazyLock::new(|| {
    let admitted = judged(&BASES[0].bytes, &IssuerKeys::default()).expect("a sound cartridge");
    let weighed = project::levels(&admitted, &IssuerKeys::default(), &now());
    let mut entries = Entries::default();
    let at = "cartridges/io.github.acme/fine/1.0.0/cartridge.acx";
    entries
        .cartridges
        .push(project::entry(at, &admitted, &weighed).entry);
    let workflow = signed::workflow("io.github.acme", "pipeline", "1.0.0", PUBLISHER_SEED);
    let graph = signed::graph(
        "io.github.acme",
        "team",
        "1.0.0",
        PUBLISHER_SEED,
        &[&workflow],
    );
    for (kind, value) in [(Kind::Workflow, workflow), (Kind::AgentGraph, graph)] {
        let now = now();
        let settings = document::Settings {
            policy: &POLICY,
            trust: &TRUST,
            now: &now,
            publication: true,
        };
        let judgement = document::judge(kind, "x", None, &value.bytes(), settings);
        let accepted = judgement.accepted.expect("a sound document");
        let mut entry = project::document(&value.path(), &accepted);
        if kind == Kind::AgentGraph {
            entry.resolve(|_| "active");
        }
        entries.push(project::Artifact::of_document(kind, entry));
    }
    let content = Content::new(now().as_str().to_owned(), entries, Vec::new());
    let signing = Signing {
        registry_id: "io.example.registry".to_owned(),
        sequence: 7,
        previous_digest: Some(Digest::of(b"before")),
        signed_at: now(),
        expires: None,
        retired: Vec::new(),
    };
    let key = PrivateKey::from_seed(&keys::seed(90)).expect("a key");
    let integrity = publish::sign(&content, &signing, &key);
    let file = publish::render(&content, &integrity).expect("an index is written");
    serde_json::from_slice(&file).expect("JSON that we wrote")
});

/// JSON under our strict reader: what it takes, serde_json takes as the same value, and the canonical form is a fixed
/// point that an independent writer agrees with.
fn canonical(data: &[u8]) {
    let _ = json::parse_interoperable(data);
    let Ok(value) = json::parse(data) else { return };
    let other: Value = serde_json::from_slice(data).expect("strict JSON is JSON");
    assert_eq!(value, other);
    let text = json::canonical(&value);
    let again = json::parse(&text).expect("the canonical form is JSON");
    assert_eq!(json::canonical(&again), text);
    assert_eq!(json::canonical_of(&value), text);
    assert_eq!(jcs::jcs(&value).as_bytes(), text);
}

/// The rows that an input stands for.
pub fn rows(data: &[u8]) -> Vec<MemoryRecord> {
    let mut input = Input(data);
    let mut rows = Vec::new();
    while let Some(bits) = input.byte() {
        let mut text = || input.text().unwrap_or_default();
        let (id, title, summary, time) = (text(), text(), text(), text());
        let tags = (0..bits >> 5).map(|_| text()).collect();
        rows.push(MemoryRecord {
            id,
            zone: ["rom", "save"][usize::from(bits & 1)].to_owned(),
            portable: bits & 2 == 2,
            artifact_fingerprint: text(),
            codebase_fingerprint: (bits & 4 == 4).then(&mut text),
            title,
            summary,
            source_type: text(),
            tags,
            impact: ["positive", "neutral"][usize::from(bits >> 3 & 1)].to_owned(),
            xp_awarded: i32::from(bits) - 128,
            timestamp: time,
        });
        if rows.len() == 2_000 {
            break;
        }
    }
    rows
}

/// Rows through the dataset's writer: the same twice, and the digest is of what was written.
fn lance_rows(data: &[u8]) {
    let rows = rows(data);
    if rows.is_empty() {
        return;
    }
    let batch = project::record_batch(&rows).expect("any text is a row");
    let dataset = lance::dataset(&batch, &now()).expect("any row is written");
    let again = lance::dataset(&batch, &now()).expect("any row is written");
    assert!(dataset == again);
    assert!(
        dataset
            .files
            .iter()
            .all(|(path, bytes)| !path.is_empty() && !bytes.is_empty())
    );
}

/// The status ledger.
fn ledger(data: &[u8]) {
    let _ = StatusLedger::parse(data);
}

/// The registry's policy.
fn policy(data: &[u8]) {
    let _ = parse_policy(data);
}

/// The trust registry.
fn trust(data: &[u8]) {
    let _ = TrustRegistry::parse(data, &now());
}

/// A text that is looked through for secrets: each place that is named lies within it.
fn scrub(data: &[u8]) {
    let repositories = ["git@example.org:acme/tools.git".to_owned()].into();
    let Ok(mut scrubber) = Scrubber::new(&repositories) else {
        return;
    };
    scrubber.file("knowledge/NOTES.md", data);
    if let Ok(text) = std::str::from_utf8(data) {
        scrubber.field("records.json", "/0/summary", text);
    }
    let _ = scrubber.finish();
}

/// The lines that git gives a hook.
fn updates(data: &[u8]) {
    static REPO: LazyLock<(tempfile::TempDir, Repo)> = LazyLock::new(|| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for name in ["objects", "refs"] {
            std::fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        std::fs::write(folder.path().join("HEAD"), "ref: refs/heads/main\n").expect("a file");
        let config = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n";
        std::fs::write(folder.path().join("config"), config).expect("a file");
        let repo = Repo::open(folder.path(), &ObjectFolders::default()).expect("a repository");
        (folder, repo)
    });
    if let Ok(updates) = parse_updates(&REPO.1, data) {
        for update in updates {
            assert!(update.name.starts_with("refs/"));
        }
    }
}

/// Seeds: sound inputs and hostile ones for each target, in which a fuzzer starts.
pub fn seeds() -> Vec<(&'static str, String, Vec<u8>)> {
    let mut out: Vec<(&'static str, String, Vec<u8>)> = Vec::new();
    let mut put = |target, name: String, bytes: Vec<u8>| out.push((target, name, bytes));
    for (n, base) in BASES.iter().enumerate() {
        put("cartridge", format!("sound-{n}"), base.bytes.clone());
        put("pages", format!("sound-{n}"), vec![n as u8]);
        for kind in 0..5_u8 {
            for page in [0, 1, 2, 5, 9_u8] {
                let edit = [n as u8, kind, 0, page, 0, 3, 2, 0x0d, 0xff];
                put("pages", format!("{n}-{kind}-{page}"), edit.to_vec());
            }
        }
        put("cells", format!("sound-{n}"), vec![n as u8]);
    }
    for (table, (_, columns)) in CELLS.iter().enumerate() {
        for column in 0..columns.len() {
            for change in 0..CHANGES.len() {
                let bytes = [
                    0,
                    0,
                    0,
                    table as u8,
                    0,
                    1,
                    0,
                    column as u8,
                    0,
                    change as u8,
                    0,
                    2,
                    1,
                    b'x',
                ];
                if (column + change) % 4 == 0 {
                    put(
                        "cells",
                        format!("{table}-{column}-{change}"),
                        bytes.to_vec(),
                    );
                }
            }
        }
    }
    for which in 0..12_u8 {
        for kind in 0..7_u8 {
            for at in [0, 3, 7, 15, 31_u8] {
                put(
                    "edits",
                    format!("{which}-{kind}-{at}"),
                    vec![which, kind, 0, at, 0, at % 21, 1, b'x'],
                );
            }
        }
    }
    let builder = Builder::valid("io.github.acme", "fine", "1.0.0").with_memories(1);
    let derived: [(u8, Vec<u8>); 8] = [
        (0, spec_of(&builder)),
        (
            1,
            crate::support::documents::lance_descriptor(
                &json!({"id": "local-hash-128", "dim": 128}),
            )
            .to_string()
            .into(),
        ),
        (2, crate::support::documents::harness().to_string().into()),
        (
            3,
            crate::support::documents::loop_policy(&json!({"id": "local-hash-128", "dim": 128}))
                .to_string()
                .into(),
        ),
        (4, builder.memory[0].payload().into()),
        (5, builder.capabilities[0].json().into()),
        (6, crate::support::records::skill_md("builds").into()),
        (9, b"acx.tags\n[\"a\"]".to_vec()),
    ];
    for (place, text) in derived {
        put(
            "signed",
            format!("sound-{place}"),
            [vec![place], text].concat(),
        );
    }
    for (name, text) in [
        ("alias", "---\nname: &a builds\ndescription: *a\n---\n"),
        ("deep", "---\nname: [[[[[[[[[[]]]]]]]]]]\n---\n"),
        ("crlf", "---\r\nname: builds\r\n---\r\n"),
    ] {
        put(
            "signed",
            format!("skill-{name}"),
            [&[6], text.as_bytes()].concat(),
        );
    }
    for (n, name) in [
        "rom/../x",
        "rom/skills/x/SKILL.md",
        "save/x",
        "rom/a\\b",
        "rom//x",
    ]
    .iter()
    .enumerate()
    {
        put(
            "signed",
            format!("name-{n}"),
            [&[7], name.as_bytes()].concat(),
        );
    }
    let mut sound = levels::credential(&ROM);
    levels::sign(&mut sound, levels::ISSUER_SEED);
    put("credential", "sound".to_owned(), sound.to_string().into());
    let lists = [levels::signed_list(&[9])];
    put(
        "issuer_keys",
        "sound".to_owned(),
        levels::issuer_keys(&lists).to_string().into(),
    );
    let workflow = signed::workflow("io.github.acme", "pipeline", "1.0.0", PUBLISHER_SEED);
    let graph = signed::graph(
        "io.github.acme",
        "team",
        "1.0.0",
        PUBLISHER_SEED,
        &[&workflow],
    );
    put(
        "document",
        "workflow".to_owned(),
        [vec![0], workflow.bytes()].concat(),
    );
    put(
        "document",
        "graph".to_owned(),
        [vec![1], graph.bytes()].concat(),
    );
    let mut file = serde_json::to_vec_pretty(&*SOUND_INDEX).expect("a JSON value prints");
    file.push(b'\n');
    put("index", "sound".to_owned(), file);
    put(
        "envelope",
        "index".to_owned(),
        SOUND_INDEX["integrity"]["envelope"].to_string().into(),
    );
    for (n, text) in [
        "{}",
        "[1,2.5,-0,1e-7,\"\\u00e9\\ud83d\\ude00\"]",
        "{\"b\":1,\"a\":[null,true]}",
        "{\"a\":1,\"a\":2}",
    ]
    .iter()
    .enumerate()
    {
        put("json", n.to_string(), text.as_bytes().to_vec());
    }
    put(
        "lance_rows",
        "one".to_owned(),
        b"\x25\x02id\x05title\x07summary\x04time\x03tag\x02fp\x04base\x04task".to_vec(),
    );
    put("lance_rows", "wide".to_owned(), [200; 700].to_vec());
    let (ledger, trust) = (sound_ledger(), sound_trust());
    assert!(StatusLedger::parse(&ledger).is_ok() && TrustRegistry::parse(&trust, &now()).is_ok());
    put("ledger", "sound".to_owned(), ledger);
    put("trust", "sound".to_owned(), trust);
    for (n, text) in POLICIES.iter().enumerate() {
        put("policy", n.to_string(), text.as_bytes().to_vec());
    }
    for (n, text) in [
        "AKIAIOSFODNN7EXAMPLE",
        "password = \"hunter2hunter2\"",
        "see github.com/acme/tools",
        "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n",
    ]
    .iter()
    .enumerate()
    {
        put("scrub", n.to_string(), text.as_bytes().to_vec());
    }
    let (zero, one) = ("0".repeat(40), "1".repeat(40));
    put(
        "updates",
        "one".to_owned(),
        format!("{zero} {one} refs/heads/main\n").into(),
    );
    put(
        "updates",
        "two".to_owned(),
        format!("{one} {zero} refs/heads/a\n{zero} {one} refs/tags/v1\n").into(),
    );
    out
}

fn spec_of(builder: &Builder) -> Vec<u8> {
    let mut copy = builder.clone();
    copy.edit_spec(|_| {});
    copy.spec.bytes(|| Value::Null).unwrap_or_default()
}

fn sound_ledger() -> Vec<u8> {
    let workflow = signed::workflow("io.github.acme", "pipeline", "1.0.0", PUBLISHER_SEED);
    let other = signed::workflow("io.github.acme", "pipeline", "1.1.0", PUBLISHER_SEED);
    let entries = vec![
        workflow.ledger_entry("deprecated"),
        other.ledger_entry("withdrawn"),
    ];
    let mut ledger = Map::new();
    ledger.insert("schemaVersion".to_owned(), json!("acx.registry-status/1"));
    ledger.insert("updatedAt".to_owned(), json!("2026-07-16T00:00:00Z"));
    ledger.insert("entries".to_owned(), Value::Array(entries));
    Value::Object(ledger).to_string().into()
}

fn sound_trust() -> Vec<u8> {
    use crate::support::trust::{TrustKey, trust_registry};
    let keys = [
        TrustKey::active(keys::seed(PUBLISHER_SEED), "io.github.acme"),
        TrustKey::active(keys::seed(8), "io.github.acme").revoked("retired"),
    ];
    trust_registry(&keys).to_string().into()
}

const POLICIES: &[&str] = &[
    "[registry]\nid = \"io.example.registry\"\n",
    "[limits]\nfile_bytes = 1048576\n[levels]\nissuer_keys_sha256 = \"sha256:00\"\n",
    "[[waivers]]\nrule = \"package-spec\"\npath = \"cartridges/**\"\nuntil = \"2027-01-01T00:00:00Z\"\nreason = \"x\"\n",
    "[publishers.pins]\n\"io.github.acme\" = [\"x\"]\n[index]\nshards = true\n",
];
