//! Builds a cartridge, whole or hostile: plain data that a test bends, then one function that makes the file.
//!
//! The way there: fill the tables → `before_objects` → list each ROM source in `objects` → `before_sign` → hash the
//! manifest as `objects` states it, sign, write the signature → `after_sign` → read the file → `after_write`. A hook
//! before the signature makes a cartridge that is validly signed and wrong; a hook after it makes a tampered one.

use std::collections::BTreeMap;
use std::sync::Arc;

use rusqlite::types::Value as Sql;
use rusqlite::{Connection, params};
use serde_json::{Value, json};

use super::documents::{self, Counts, Document};
use super::envelope::{Envelope, Subject};
use super::jcs::jcs;
use super::keys::{self, hex, sha256};
use super::records::{self, Attestation, Capability, Memory};

/// A change to the open database.
pub type Hook = Arc<dyn Fn(&Connection) + Send + Sync>;
/// A change to the file's bytes.
pub type FileHook = Arc<dyn Fn(&mut Vec<u8>) + Send + Sync>;

/// How an archive file is stored.
#[derive(Clone)]
pub enum Form {
    /// Deflated where that is smaller.
    Auto,
    /// As it is.
    Stored,
    /// These values of `sz` and `data`, whatever the content is.
    Raw(Sql, Sql),
}

/// One archive file.
#[derive(Clone)]
pub struct Entry {
    pub name: String,
    pub data: Vec<u8>,
    pub form: Form,
    /// It gets an `objects` row.
    pub named: bool,
}

impl Entry {
    pub fn new(name: &str, data: impl Into<Vec<u8>>) -> Self {
        Self {
            name: name.to_owned(),
            data: data.into(),
            form: Form::Auto,
            named: true,
        }
    }
}

/// One row of `acx_skill`.
#[derive(Clone)]
pub struct SkillRow {
    pub path: String,
    pub name: String,
    pub content_sha256: String,
}

/// The order in which the signer puts the manifest.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Order {
    CodePoint,
    Utf16,
}

/// A cartridge to be.
#[derive(Clone)]
pub struct Builder {
    /// The `cartridge` table; `acx.rom_manifest_hash` is added when it builds.
    pub meta: BTreeMap<String, String>,
    /// `acx.rom_manifest_hash`, where it is not the manifest's hash.
    pub rom_manifest_hash: Option<String>,
    /// Archive files besides the four documents.
    pub files: Vec<Entry>,
    pub spec: Document,
    pub lance: Document,
    pub harness: Document,
    pub loop_policy: Document,
    pub memory: Vec<Memory>,
    pub capabilities: Vec<Capability>,
    pub attestations: Vec<Attestation>,
    /// The `acx_skill` rows, where they do not follow from the SKILL.md files.
    pub skills: Option<Vec<SkillRow>>,
    /// The SQL of each table and index by name.
    pub tables: BTreeMap<&'static str, String>,
    pub page_size: u32,
    /// As `PRAGMA encoding` takes it.
    pub encoding: &'static str,
    /// Header bytes 18 and 19: 1 rollback journal, 2 WAL.
    pub journal: [u8; 2],
    pub application_id: i32,
    pub user_version: i32,
    pub order: Order,
    pub envelope: Envelope,
    pub before_objects: Vec<Hook>,
    pub before_sign: Vec<Hook>,
    pub after_sign: Vec<Hook>,
    pub after_write: Vec<FileHook>,
}

/// What came out.
pub struct Built {
    pub bytes: Vec<u8>,
    /// The hash of the manifest as `objects` stated it when it was signed.
    pub manifest_hash: String,
}

/// Seed byte of the key that signs unless a test says otherwise.
pub const PUBLISHER_SEED: u8 = 7;

impl Builder {
    /// A whole, clean, signed cartridge: three memory records, two capabilities, two skills, knowledge files.
    pub fn valid(publisher: &str, id: &str, version: &str) -> Self {
        let name = id
            .split('-')
            .map(|word| word[..1].to_uppercase() + &word[1..])
            .collect::<Vec<_>>()
            .join(" ");
        let digest = sha256(format!("{publisher}/{id}/{version}").as_bytes());
        let h = &digest["sha256:".len()..];
        let uuid = format!(
            "{}-{}-5{}-9{}-{}",
            &h[..8],
            &h[8..12],
            &h[13..16],
            &h[17..20],
            &h[20..32]
        );
        let meta = [
            ("acx.spec_version", "0.1".to_owned()),
            ("acx.cartridge_id", format!("{publisher}/{id}@{uuid}")),
            ("acx.created_at", "2026-07-16T00:00:00.000Z".to_owned()),
            (
                "acx.embedding_engine",
                r#"{"id":"local-hash-128","dim":128}"#.to_owned(),
            ),
            ("acx.vec0_format", "1".to_owned()),
            ("acx.publisher_id", publisher.to_owned()),
            ("acx.agent_name", name.clone()),
            ("acx.provider", "claude".to_owned()),
            ("acx.model", "claude-opus-4-8".to_owned()),
            ("acx.role", "backend_dev".to_owned()),
            ("acx.declared_level", "3".to_owned()),
            ("acx.artifact_id", id.to_owned()),
            ("acx.artifact_version", version.to_owned()),
            (
                "acx.description",
                "A portable agent specializing in incremental builds and caches.".to_owned(),
            ),
            ("acx.license", "Apache-2.0".to_owned()),
            ("acx.authors", json!([{"name": publisher}]).to_string()),
            ("acx.tags", r#"["backend","builds"]"#.to_owned()),
            ("acx.package_spec", documents::SPEC.to_owned()),
            ("acx.lance_schema", documents::LANCE.to_owned()),
        ]
        .map(|(k, v)| (k.to_owned(), v))
        .into();
        Self {
            meta,
            rom_manifest_hash: None,
            files: vec![
                Entry::new("rom/knowledge/IDENTITY.md", format!("# {name}\n")),
                Entry::new(
                    "rom/knowledge/SKILLS.md",
                    "# Skills\n\n- builds\n- caches\n",
                ),
                Entry::new("rom/skills/builds/SKILL.md", records::skill_md("builds")),
                Entry::new(
                    "rom/skills/builds/references/CACHES.md",
                    "# Caches\n\nKeep them warm.\n",
                ),
                Entry::new("rom/skills/caches/SKILL.md", records::skill_md("caches")),
            ],
            spec: Document::Derived,
            lance: Document::Derived,
            harness: Document::Derived,
            loop_policy: Document::Derived,
            memory: (1..=3)
                .map(|n| Memory::sealed(records::portable(n)))
                .collect(),
            capabilities: vec![
                Capability::sealed(records::capability(
                    "implement-feature",
                    &["pkg:cargo/serde", "pkg:generic/python"],
                    "backend",
                )),
                Capability::sealed(records::capability(
                    "build-dag",
                    &["pkg:generic/make"],
                    "infrastructure",
                )),
            ],
            attestations: Vec::new(),
            skills: None,
            tables: tables(),
            page_size: 1024,
            encoding: "UTF-8",
            journal: [1, 1],
            application_id: 0x4143_5831,
            user_version: 0x0100_0100,
            order: Order::CodePoint,
            envelope: Envelope::new(keys::seed(PUBLISHER_SEED)),
            before_objects: Vec::new(),
            before_sign: Vec::new(),
            after_sign: Vec::new(),
            after_write: Vec::new(),
        }
    }

    /// `n` memory records instead of three.
    pub fn with_memories(mut self, n: usize) -> Self {
        self.memory = (1..=n)
            .map(|n| Memory::sealed(records::portable(n)))
            .collect();
        self
    }

    /// An embedded level credential, cited by nothing.
    pub fn with_attestation(mut self) -> Self {
        self.attestations.push(records::level_credential());
        self
    }

    /// Signed padding files, so that the file has at least `bytes` bytes, and a hundredth or four pages more at the most.
    pub fn padded_to(mut self, bytes: usize) -> Self {
        const LARGEST: usize = 8 << 20;
        for n in 0.. {
            let missing = bytes.saturating_sub(self.build().len());
            if missing == 0 {
                break;
            }
            let mut entry = Entry::new(
                &format!("rom/padding/{n}.bin"),
                noise(n, missing.min(LARGEST)),
            );
            entry.form = Form::Stored;
            self.files.push(entry);
        }
        self
    }

    pub fn file(&mut self, name: &str, data: impl Into<Vec<u8>>) -> &mut Entry {
        self.files.push(Entry::new(name, data));
        self.files.last_mut().expect("just pushed")
    }

    pub fn entry(&mut self, name: &str) -> &mut Entry {
        let found = self.files.iter_mut().find(|e| e.name == name);
        found.unwrap_or_else(|| panic!("no archive file {name}"))
    }

    pub fn set(&mut self, key: &str, value: &str) {
        self.meta.insert(key.to_owned(), value.to_owned());
    }

    /// Fixes the package spec as it is derived now, then changes it.
    pub fn edit_spec(&mut self, edit: impl FnOnce(&mut Value)) {
        let mut value = self.derive_spec();
        edit(&mut value);
        self.spec = Document::Json(value);
    }

    pub fn edit_lance(&mut self, edit: impl FnOnce(&mut Value)) {
        let mut value = documents::lance_descriptor(&self.engine());
        edit(&mut value);
        self.lance = Document::Json(value);
    }

    pub fn edit_harness(&mut self, edit: impl FnOnce(&mut Value)) {
        let mut value = documents::harness();
        edit(&mut value);
        self.harness = Document::Json(value);
    }

    pub fn edit_loop(&mut self, edit: impl FnOnce(&mut Value)) {
        let mut value = documents::loop_policy(&self.engine());
        edit(&mut value);
        self.loop_policy = Document::Json(value);
    }

    /// Changes the first memory record, and its fingerprint accordingly.
    pub fn edit_memory(&mut self, edit: impl FnOnce(&mut Value)) {
        let mut record = self.memory[0].record.clone();
        edit(&mut record);
        self.memory[0] = Memory::sealed(record);
    }

    /// Changes the first capability record, and its id accordingly.
    pub fn edit_capability(&mut self, edit: impl FnOnce(&mut Value)) {
        let mut record = self.capabilities[0].record.clone();
        edit(&mut record);
        self.capabilities[0] = Capability::sealed(record);
    }

    pub fn before_objects(&mut self, hook: impl Fn(&Connection) + Send + Sync + 'static) {
        self.before_objects.push(Arc::new(hook));
    }

    pub fn before_sign(&mut self, hook: impl Fn(&Connection) + Send + Sync + 'static) {
        self.before_sign.push(Arc::new(hook));
    }

    pub fn after_sign(&mut self, hook: impl Fn(&Connection) + Send + Sync + 'static) {
        self.after_sign.push(Arc::new(hook));
    }

    /// Runs SQL after signing.
    pub fn sql(&mut self, statements: &str) {
        let statements = statements.to_owned();
        self.after_sign(move |db| db.execute_batch(&statements).expect("the hook's SQL runs"));
    }

    pub fn after_write(&mut self, hook: impl Fn(&mut Vec<u8>) + Send + Sync + 'static) {
        self.after_write.push(Arc::new(hook));
    }

    fn get(&self, key: &str) -> &str {
        self.meta.get(key).map_or("", String::as_str)
    }

    pub fn publisher(&self) -> &str {
        self.get("acx.publisher_id")
    }

    /// Where a registry keeps it.
    pub fn path(&self) -> String {
        format!(
            "cartridges/{}/{}/{}/cartridge.acx",
            self.publisher(),
            self.get("acx.artifact_id"),
            self.get("acx.artifact_version")
        )
    }

    fn engine(&self) -> Value {
        serde_json::from_str(self.get("acx.embedding_engine")).unwrap_or(Value::Null)
    }

    fn derive_spec(&self) -> Value {
        let counts = Counts {
            memory: self.memory.len(),
            skills: self.files.iter().filter(|e| is_skill(&e.name)).count(),
            capabilities: self.capabilities.len(),
            levels: self
                .attestations
                .iter()
                .filter(|a| a.kind == "vc-2.0")
                .count(),
        };
        documents::package_spec(
            self.get("acx.cartridge_id"),
            self.get("acx.spec_version"),
            &self.engine(),
            counts,
        )
    }

    /// The file's bytes.
    pub fn build(&self) -> Vec<u8> {
        self.build_whole().bytes
    }

    /// The signed manifest's hash.
    pub fn manifest_hash(&self) -> String {
        self.build_whole().manifest_hash
    }

    /// The file and what was signed. The same builder gives the same bytes.
    pub fn build_whole(&self) -> Built {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("c.acx");
        let db = Connection::open(&path).expect("SQLite opens a new file");
        db.execute_batch(&format!(
            "PRAGMA page_size={}; PRAGMA encoding='{}'; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;
             PRAGMA application_id={}; PRAGMA user_version={}; BEGIN;",
            self.page_size, self.encoding, self.application_id, self.user_version
        ))
        .expect("the pragmas hold");
        // Tables before their indexes.
        for kind in ["CREATE TABLE", "CREATE INDEX"] {
            for sql in self.tables.values().filter(|sql| sql.starts_with(kind)) {
                db.execute_batch(sql)
                    .unwrap_or_else(|e| panic!("{sql}: {e}"));
            }
        }
        let files = self.all_files();
        self.fill(&db, &files).expect("the content fits its tables");
        run(&self.before_objects, &db);
        self.list_objects(&db, &files).expect("the objects fit");
        run(&self.before_sign, &db);
        let manifest_hash = self.sign(&db).expect("the signature fits");
        run(&self.after_sign, &db);
        db.execute_batch("COMMIT").expect("the content commits");
        db.close().expect("SQLite closes the file");

        let mut bytes = std::fs::read(&path).expect("the file is there");
        bytes[18..20].copy_from_slice(&self.journal);
        for hook in &self.after_write {
            hook(&mut bytes);
        }
        Built {
            bytes,
            manifest_hash,
        }
    }

    fn all_files(&self) -> Vec<Entry> {
        let engine = self.engine();
        let mut files = self.files.clone();
        for (name, bytes) in [
            (documents::HARNESS, self.harness.bytes(documents::harness)),
            (
                documents::LOOP,
                self.loop_policy.bytes(|| documents::loop_policy(&engine)),
            ),
            (
                documents::LANCE,
                self.lance.bytes(|| documents::lance_descriptor(&engine)),
            ),
            (documents::SPEC, self.spec.bytes(|| self.derive_spec())),
        ] {
            files.extend(bytes.map(|bytes| Entry::new(name, bytes)));
        }
        files
    }

    fn fill(&self, db: &Connection, files: &[Entry]) -> rusqlite::Result<()> {
        let created = self.get("acx.created_at");
        for (key, value) in &self.meta {
            db.execute(
                "INSERT INTO cartridge (key, value) VALUES (?1, ?2)",
                params![key, value],
            )?;
        }
        for file in files {
            let (sz, data) = stored(file);
            db.prepare(
                "INSERT INTO sqlar (name, mode, mtime, sz, data) VALUES (?1, 420, 0, ?2, ?3)",
            )?
            .execute(params![file.name, sz, data])?;
        }
        for row in &self.memory {
            db.prepare(
                "INSERT INTO memory (id, zone, artifact_fingerprint, codebase_fingerprint, payload, oid, created_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, '2026-07-01T00:00:00.000Z')",
            )?
            .execute(params![
                row.id(),
                row.zone(),
                row.artifact_fingerprint(),
                row.codebase_fingerprint(),
                row.payload(),
                row.oid(),
            ])?;
        }
        for row in &self.capabilities {
            db.execute(
                "INSERT INTO capabilities (id, json, content_hash) VALUES (?1, ?2, ?3)",
                params![row.id(), row.json(), row.content_hash()],
            )?;
        }
        for row in &self.attestations {
            db.execute(
                "INSERT INTO attestations (att_id, type, subject_oid, media_type, document, status_url, created_at)
                 VALUES (?1, ?2, NULL, 'application/vc', ?3, NULL, ?4)",
                params![row.att_id, row.kind, row.document, created],
            )?;
        }
        let derived = || {
            let skills = files.iter().filter(|e| is_skill(&e.name));
            skills
                .map(|e| SkillRow {
                    path: e.name.clone(),
                    name: e.name.rsplit('/').nth(1).unwrap_or_default().to_owned(),
                    content_sha256: sha256(&e.data)["sha256:".len()..].to_owned(),
                })
                .collect()
        };
        for row in self.skills.clone().unwrap_or_else(derived) {
            db.execute(
                "INSERT INTO acx_skill (sqlar_path, name, description, license, compatibility, skill_version,
                 body_tokens, content_sha256, resources, ext, schema_version)
                 VALUES (?1, ?2, ?3, 'Apache-2.0', NULL, '1.0.0', 12, ?4, '[]', NULL, 'acx.skill/1')",
                params![
                    row.path,
                    row.name,
                    format!("What {} knows. Use when a task calls for it.", row.name),
                    row.content_sha256
                ],
            )?;
        }
        Ok(())
    }

    /// One `objects` row for each ROM source. The oid is a key: of two sources with the same bytes the first has it.
    fn list_objects(&self, db: &Connection, files: &[Entry]) -> rusqlite::Result<()> {
        let put = |kind: &str, source: &str, canon: &str, bytes: &[u8], sz: usize| {
            db.prepare("INSERT OR IGNORE INTO objects (oid, kind, source_ref, canon, zone, sz) VALUES (?1, ?2, ?3, ?4, 'rom', ?5)")?
                .execute(params![sha256(bytes), kind, source, canon, sz as i64])
        };
        for file in files
            .iter()
            .filter(|f| f.named && !f.name.starts_with("save/"))
        {
            put("sqlar", &file.name, "raw", &file.data, file.data.len())?;
        }
        for row in self.memory.iter().filter(|m| m.zone() == "rom") {
            let payload = row.payload();
            put(
                "memory",
                &format!("memory:{}", row.id()),
                "jcs-rfc8785",
                payload.as_bytes(),
                payload.len(),
            )?;
        }
        for row in &self.capabilities {
            let json = row.json();
            put(
                "cartridge",
                &format!("capability:{}", row.id()),
                "jcs-rfc8785",
                json.as_bytes(),
                json.len(),
            )?;
        }
        for (key, value) in self.meta.iter().filter(|(k, _)| is_bound(k)) {
            let bytes = jcs(&json!({"key": key, "value": value}));
            put(
                "cartridge",
                &format!("cartridge:{key}"),
                "jcs-rfc8785",
                bytes.as_bytes(),
                value.len(),
            )?;
        }
        Ok(())
    }

    fn sign(&self, db: &Connection) -> rusqlite::Result<String> {
        let mut objects: Vec<(String, String, String, String, i64)> = db
            .prepare("SELECT kind, source_ref, oid, canon, sz FROM objects WHERE zone = 'rom'")?
            .query_map([], |r| {
                Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?, r.get(4)?))
            })?
            .collect::<Result<_, _>>()?;
        let units = |text: &str| text.encode_utf16().collect::<Vec<_>>();
        match self.order {
            Order::CodePoint => objects.sort(),
            Order::Utf16 => objects.sort_by_key(|o| (units(&o.0), units(&o.1))),
        }
        let manifest: Vec<Value> = objects
            .iter()
            .map(|(_, source, oid, canon, sz)| json!({"sourceRef": source, "oid": oid, "canon": canon, "sz": sz}))
            .collect();
        let manifest_hash = sha256(jcs(&Value::Array(manifest)).as_bytes());
        let mut lines: Vec<String> = objects
            .iter()
            .map(|o| format!("{}  {}", o.2, o.1))
            .collect();
        lines.sort();
        let recorded = self.rom_manifest_hash.as_ref().unwrap_or(&manifest_hash);
        db.execute(
            "INSERT INTO cartridge (key, value) VALUES ('acx.rom_manifest_hash', ?1)",
            [recorded],
        )?;
        if !self.envelope.absent {
            let text = self.envelope.seal(&Subject {
                cartridge_id: self.get("acx.cartridge_id"),
                publisher: self.publisher(),
                manifest_hash: &manifest_hash,
                checksum_hash: &sha256(lines.join("\n").as_bytes()),
                objects: objects.len(),
                engine: &self.engine(),
            });
            let envelope = &self.envelope;
            db.execute(
                "INSERT INTO signatures (sig_id, target, manifest_hash, envelope, keyid, public_key_pem, alg, created_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                params![
                    format!("sig-rom-{}", &manifest_hash["sha256:".len()..][..12]),
                    envelope.target,
                    envelope.row_manifest_hash.as_ref().unwrap_or(&manifest_hash),
                    text,
                    envelope.keyid_column(),
                    envelope.pem_column(),
                    envelope.alg,
                    envelope.created_at,
                ],
            )?;
        }
        Ok(manifest_hash)
    }
}

fn run(hooks: &[Hook], db: &Connection) {
    for hook in hooks {
        hook(db);
    }
}

fn is_skill(name: &str) -> bool {
    name.starts_with("rom/skills/") && name.ends_with("/SKILL.md")
}

/// Metadata that has an object of its own.
fn is_bound(key: &str) -> bool {
    !matches!(
        key,
        "acx.vec0_format"
            | "acx.rom_manifest_hash"
            | "acx.package_spec"
            | "acx.lance_schema"
            | "acx.cal_skillset"
            | "acx.lance_present"
            | "acx.lance_path"
            | "acx.lance_rows"
            | "acx.save_codebase_fingerprint"
    )
}

fn stored(file: &Entry) -> (Sql, Sql) {
    let plain = |data: &[u8]| (Sql::Integer(data.len() as i64), Sql::Blob(data.to_vec()));
    match &file.form {
        Form::Raw(sz, data) => (sz.clone(), data.clone()),
        Form::Stored => plain(&file.data),
        Form::Auto => {
            let small = miniz_oxide::deflate::compress_to_vec(&file.data, 6);
            if small.len() < file.data.len() {
                (Sql::Integer(file.data.len() as i64), Sql::Blob(small))
            } else {
                plain(&file.data)
            }
        }
    }
}

/// Bytes that do not compress, another run for each `n`.
fn noise(n: u64, len: usize) -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64 ^ (n + 1);
    let words = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    });
    words.flatten().take(len).collect()
}

/// The SQL of the format's tables, by name.
pub fn tables() -> BTreeMap<&'static str, String> {
    [
        ("cartridge", "CREATE TABLE cartridge (key TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL) WITHOUT ROWID"),
        ("sqlar", "CREATE TABLE sqlar (name TEXT PRIMARY KEY, mode INT, mtime INT, sz INT, data BLOB)"),
        ("memory", "CREATE TABLE memory (id TEXT PRIMARY KEY NOT NULL, zone TEXT NOT NULL CHECK (zone IN ('rom','save')), artifact_fingerprint TEXT NOT NULL, codebase_fingerprint TEXT, payload TEXT NOT NULL, oid TEXT NOT NULL, created_at TEXT NOT NULL) WITHOUT ROWID"),
        ("memory_zone_fp", "CREATE INDEX memory_zone_fp ON memory(zone, artifact_fingerprint)"),
        ("vectors", "CREATE TABLE vectors (memory_id TEXT PRIMARY KEY, zone TEXT NOT NULL, embedding BLOB NOT NULL, artifact_fingerprint TEXT)"),
        ("objects", "CREATE TABLE objects (oid TEXT PRIMARY KEY NOT NULL, kind TEXT NOT NULL CHECK (kind IN ('sqlar','memory','cartridge','skill','attestation')), source_ref TEXT NOT NULL, canon TEXT NOT NULL, zone TEXT NOT NULL CHECK (zone IN ('rom','save')), sz INTEGER NOT NULL) WITHOUT ROWID"),
        ("signatures", "CREATE TABLE signatures (sig_id TEXT PRIMARY KEY NOT NULL, target TEXT NOT NULL DEFAULT 'rom-manifest', manifest_hash TEXT NOT NULL, envelope TEXT NOT NULL, keyid TEXT NOT NULL, public_key_pem TEXT, alg TEXT NOT NULL DEFAULT 'ed25519', created_at TEXT NOT NULL) WITHOUT ROWID"),
        ("attestations", "CREATE TABLE attestations (att_id TEXT PRIMARY KEY NOT NULL, type TEXT NOT NULL, subject_oid TEXT, media_type TEXT NOT NULL, document TEXT NOT NULL, status_url TEXT, created_at TEXT NOT NULL) WITHOUT ROWID"),
        ("acx_skill", "CREATE TABLE acx_skill (sqlar_path TEXT PRIMARY KEY, name TEXT NOT NULL, description TEXT NOT NULL, license TEXT, compatibility TEXT, skill_version TEXT, body_tokens INTEGER, content_sha256 TEXT NOT NULL, resources TEXT NOT NULL, ext TEXT, schema_version TEXT NOT NULL)"),
        ("capabilities", "CREATE TABLE capabilities (id TEXT PRIMARY KEY NOT NULL, json TEXT NOT NULL, content_hash TEXT NOT NULL)"),
    ]
    .map(|(name, sql)| (name, sql.to_owned()))
    .into()
}

/// The table's SQL without keys and constraints, as a hostile signer may declare it.
pub fn loose(table: &str) -> String {
    let columns = match table {
        "cartridge" => "key TEXT, value TEXT",
        "sqlar" => "name TEXT, mode INT, mtime INT, sz INT, data BLOB",
        "memory" => {
            "id TEXT, zone TEXT, artifact_fingerprint TEXT, codebase_fingerprint TEXT, payload TEXT, oid TEXT, created_at TEXT"
        }
        "vectors" => "memory_id TEXT, zone TEXT, embedding BLOB, artifact_fingerprint TEXT",
        "objects" => "oid TEXT, kind TEXT, source_ref TEXT, canon TEXT, zone TEXT, sz INTEGER",
        "signatures" => {
            "sig_id TEXT, target TEXT, manifest_hash TEXT, envelope TEXT, keyid TEXT, public_key_pem TEXT, alg TEXT, created_at TEXT"
        }
        "attestations" => {
            "att_id TEXT, type TEXT, subject_oid TEXT, media_type TEXT, document TEXT, status_url TEXT, created_at TEXT"
        }
        "acx_skill" => {
            "sqlar_path TEXT, name TEXT, description TEXT, license TEXT, compatibility TEXT, skill_version TEXT, body_tokens INTEGER, content_sha256 TEXT, resources TEXT, ext TEXT, schema_version TEXT"
        }
        "capabilities" => "id TEXT, json TEXT, content_hash TEXT",
        other => panic!("no table {other}"),
    };
    format!("CREATE TABLE {table} ({columns})")
}

/// A digest of nothing in the cartridge.
pub fn stray_digest() -> String {
    format!("sha256:{}", hex(&[0xab; 32]))
}
