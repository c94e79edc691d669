//! Exporting an agent package: what comes out is what the gate accepts, what a stock SQLite extracts, and what an
//! independent verifier confirms.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod support;

use acx_registry::attest::PrivateKey;
use acx_registry::author::codebase::Salt;
use acx_registry::author::{ExportError, ExportOptions, Exported, Package, export, strip};
use acx_registry::check::Settings;
use acx_registry::model::{PublisherId, Timestamp};
use acx_registry::policy::{Policy, TrustRegistry};
use acx_registry::verdict::{self, Judgement};
use serde_json::{Value, json};
use support::package::Folder;

fn key() -> PrivateKey {
    PrivateKey::from_seed(&[7; 32]).unwrap()
}

fn now() -> Timestamp {
    Timestamp::try_from("2026-09-01T00:00:00Z").unwrap()
}

fn package(folder: &Folder) -> Package {
    Package::of_files(folder.0.clone())
}

fn exported(folder: &Folder) -> Result<Exported, ExportError> {
    let (key, now) = (key(), now());
    let publisher = PublisherId::try_from("io.github.ridgeworks").unwrap();
    export(
        &package(folder),
        &ExportOptions {
            publisher: &publisher,
            key: &key,
            now: &now,
            id: None,
            version: None,
            include_field_learned: false,
            salt: None,
        },
    )
}

fn judged(bytes: &[u8]) -> Judgement {
    let settings = Settings {
        policy: &Policy::default(),
        trust: &TrustRegistry::default(),
        own_keys: &[],
        now: &now(),
        public: true,
    };
    verdict::judge("c.acx", bytes, settings, |_, _| {}).unwrap()
}

#[test]
fn the_gate_has_nothing_to_say() {
    for folder in [Folder::whole(), Folder::least()] {
        let exported = exported(&folder).unwrap();
        let judgement = judged(&exported.bytes);
        assert!(judgement.findings.is_empty(), "{:#?}", judgement.findings);
        let admitted = judgement.admitted.expect("accepted");
        assert_eq!(admitted.signed().manifest, exported.rom_hash);
        assert!(exported.notes.is_empty(), "{:?}", exported.notes);
    }
}

fn text(bytes: &[u8], sql: &str) -> Vec<Vec<Option<String>>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.acx");
    std::fs::write(&path, bytes).unwrap();
    let db = rusqlite::Connection::open(path).unwrap();
    let mut statement = db.prepare(sql).unwrap();
    let columns = statement.column_count();
    let rows = statement.query_map([], |row| (0..columns).map(|n| row.get(n)).collect());
    rows.unwrap().map(Result::unwrap).collect()
}

fn meta(bytes: &[u8], key: &str) -> Option<String> {
    text(
        bytes,
        &format!("SELECT value FROM cartridge WHERE key = '{key}'"),
    )
    .first()
    .and_then(|row| row[0].clone())
}

/// Where exactly a package is wrong, and what is said of it.
fn problems(folder: &Folder) -> Vec<(String, String, String)> {
    match exported(folder) {
        Err(ExportError::Package(list)) => list
            .into_iter()
            .map(|p| (p.file, p.field, p.message))
            .collect(),
        other => panic!("{other:?}"),
    }
}

fn contains(haystack: &[u8], needle: &str) -> bool {
    haystack
        .windows(needle.len())
        .any(|w| w == needle.as_bytes())
}

#[test]
fn the_same_package_key_and_time_give_the_same_bytes() {
    let folder = Folder::whole();
    let first = exported(&folder).unwrap();
    assert_eq!(first.bytes, exported(&folder).unwrap().bytes);
    // Whatever goes in shows in the hash or the id.
    let mut other = folder.clone();
    other.put("STYLE.md", "Long sentences.\n");
    let other = exported(&other).unwrap();
    assert_ne!(other.rom_hash, first.rom_hash);
    assert_ne!(other.cartridge_id, first.cartridge_id);
    let mut later = folder;
    later.edit("manifest.json", |m| {
        m["exportedAt"] = "2026-07-17T08:30:00Z".into()
    });
    assert_ne!(exported(&later).unwrap().cartridge_id, first.cartridge_id);
}

#[test]
fn the_cartridge_says_what_the_package_says() {
    let exported = exported(&Folder::whole()).unwrap();
    assert_eq!(
        exported.coordinate.to_string(),
        "io.github.ridgeworks/ada-ridge@1.2.0"
    );
    assert_eq!(exported.signed_at.as_str(), "2026-07-16T08:30:00.000Z");
    assert_eq!(
        (exported.memory, exported.field_learned, exported.left_out),
        (2, 0, 1)
    );
    assert_eq!((exported.skills, exported.capabilities), (2, 1));
    for (key, value) in [
        ("acx.agent_name", "Ada Ridge"),
        ("acx.role", "devops_engineer"),
        ("acx.provider", "claude"),
        ("acx.model", "claude-opus-4-8"),
        ("acx.declared_level", "4"),
        ("acx.created_at", "2026-07-16T08:30:00.000Z"),
        (
            "acx.authors",
            r#"[{"name":"Ada Ridge","url":"https://ridge.example/ada"}]"#,
        ),
        ("acx.tags", r#"["data","pipelines"]"#),
        ("acx.homepage", "https://ridge.example/agents/ada"),
        (
            "acx.embedding_engine",
            r#"{"id":"local-hash-128","dim":128}"#,
        ),
    ] {
        assert_eq!(meta(&exported.bytes, key).as_deref(), Some(value), "{key}");
    }
    let names: Vec<&str> = exported
        .files
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "rom/knowledge/IDENTITY.md",
            "rom/knowledge/SKILLS.md",
            "rom/knowledge/STYLE.md",
            "rom/manifest/harness-requirements.json",
            "rom/package-spec.json",
            "rom/policy/loop-context-policy.json",
            "rom/schema/lance-memory.json",
            "rom/skills/pipelines/SKILL.md",
            "rom/skills/pipelines/assets/pixel.bin",
            "rom/skills/pipelines/references/BACKFILL.md",
            "rom/skills/pipelines/scripts/check.sh",
            "rom/skills/warehouses/SKILL.md",
            "rom/skills/warehouses/assets/empty.txt",
        ]
    );
    let skills = text(
        &exported.bytes,
        "SELECT name, description, license, skill_version, resources, schema_version FROM acx_skill",
    );
    let some = |t: &str| Some(t.to_owned());
    assert_eq!(
        skills[0],
        [
            some("pipelines"),
            some("What pipelines knows. Use when a task calls for it."),
            some("Apache-2.0"),
            some("1.0.0"),
            some(r#"["assets/pixel.bin","references/BACKFILL.md","scripts/check.sh"]"#),
            some("acx.skill/1"),
        ]
    );
    let capability = text(&exported.bytes, "SELECT json FROM capabilities")[0][0]
        .clone()
        .unwrap();
    let capability: Value = serde_json::from_str(&capability).unwrap();
    assert_eq!(
        capability["stack"],
        json!([
            "pkg:generic/python",
            "pkg:generic/snowflake",
            "pkg:npm/react",
            "pkg:pypi/apache-airflow",
            "pkg:pypi/dbt-core"
        ])
    );
    assert_eq!(capability["domain"], "infrastructure");
    assert_eq!(capability["proficiency"]["verified"], false);
}

#[test]
fn a_package_of_a_name_alone_gets_sound_defaults() {
    let exported = exported(&Folder::least()).unwrap();
    assert_eq!(
        exported.coordinate.to_string(),
        "io.github.ridgeworks/ada-ridge@1.0.0"
    );
    assert_eq!(exported.signed_at.as_str(), "2026-09-01T00:00:00.000Z");
    for (key, value) in [
        ("acx.role", Some("fullstack_dev")),
        ("acx.provider", Some("custom")),
        ("acx.model", None),
        ("acx.declared_level", Some("0")),
        ("acx.description", Some("A portable fullstack dev agent.")),
        ("acx.license", Some("Apache-2.0")),
        ("acx.authors", Some(r#"[{"name":"io.github.ridgeworks"}]"#)),
        ("acx.tags", Some(r#"["fullstack-dev"]"#)),
        ("acx.homepage", None),
    ] {
        assert_eq!(meta(&exported.bytes, key).as_deref(), value, "{key}");
    }
    assert!(
        exported
            .files
            .iter()
            .any(|(name, _)| name == "rom/skills/expertise-fullstack-dev/SKILL.md")
    );
    assert_eq!((exported.memory, exported.capabilities), (0, 0));
}

#[test]
fn what_was_learned_in_a_repository_stays_out_and_so_does_its_name() {
    let mut folder = Folder::whole();
    folder.edit("memory-records.json", |records| {
        records[0]["privateNote"] = "kept at home".into();
    });
    let exported = exported(&folder).unwrap();
    assert_eq!(exported.left_out, 1);
    for private in [
        "ridgeworks/lakehouse-prod",
        "data platform",
        "kept at home",
        "Lesson m3",
    ] {
        assert!(!contains(&exported.bytes, private), "{private}");
    }
    assert_eq!(
        exported.notes,
        ["memory-records.json: fields that are none of the format's are left out: privateNote"]
    );
    // Nor is it in any hash: without the record the cartridge is the same.
    let mut without = folder.clone();
    without.edit("memory-records.json", |records| {
        records.as_array_mut().unwrap().pop();
    });
    assert_eq!(crate::exported(&without).unwrap().bytes, exported.bytes);
    let payload = text(
        &exported.bytes,
        "SELECT payload FROM memory WHERE id = 'm1'",
    )[0][0]
        .clone()
        .unwrap();
    let record: Value = serde_json::from_str(&payload).unwrap();
    for (field, value) in [
        ("repoId", Value::Null),
        ("repoLabel", "portable-core".into()),
        ("projectLabel", "portable-core".into()),
        ("codebaseFingerprint", Value::Null),
        ("portable", true.into()),
        ("zone", "rom".into()),
        ("markdownPath", "knowledge/m1.md".into()),
        ("xpAwarded", 20.into()),
    ] {
        assert_eq!(record[field], value, "{field}");
    }
}

#[test]
fn field_learned_records_go_to_the_save_zone_and_leave_the_rom_as_it_is() {
    let folder = Folder::whole();
    let without = exported(&folder).unwrap();
    let (key, now) = (key(), now());
    let publisher = PublisherId::try_from("io.github.ridgeworks").unwrap();
    let salt = Salt::new(vec![9; 32]).unwrap();
    let mut options = ExportOptions {
        publisher: &publisher,
        key: &key,
        now: &now,
        id: None,
        version: None,
        include_field_learned: true,
        salt: None,
    };
    match export(&package(&folder), &options) {
        Err(ExportError::Package(list)) => {
            assert_eq!(list[0].field, "/2/repoId");
            assert!(list[0].message.contains("--salt"), "{}", list[0].message);
        }
        other => panic!("{other:?}"),
    }
    options.salt = Some(&salt);
    let with = export(&package(&folder), &options).unwrap();
    assert_eq!((with.memory, with.field_learned, with.left_out), (2, 1, 0));
    assert!(!contains(&with.bytes, "lakehouse"));
    let rows = text(
        &with.bytes,
        "SELECT id, codebase_fingerprint, payload FROM memory WHERE zone = 'save'",
    );
    let fingerprint = salt.fingerprint("ridgeworks/lakehouse-prod");
    assert_eq!(rows[0][1].as_deref(), Some(fingerprint.as_str()));
    let record: Value = serde_json::from_str(rows[0][2].as_ref().unwrap()).unwrap();
    assert_eq!(
        (&record["foreign"], &record["repoLabel"]),
        (&json!(true), &json!("field-learned"))
    );
    assert_eq!(
        meta(&with.bytes, "acx.save_codebase_fingerprint"),
        Some(fingerprint)
    );
    // The ROM does not know of it, and stripping brings back what would have been exported without.
    assert_eq!(without.rom_hash, with.rom_hash);
    let stripped = strip(&with.bytes, &now).unwrap();
    assert_eq!(
        (stripped.before, stripped.after),
        (with.rom_hash, with.rom_hash)
    );
    let judgement = judged(&stripped.bytes.unwrap());
    assert!(judgement.findings.is_empty(), "{:#?}", judgement.findings);
    // A registry takes none of it as it is.
    let codes: Vec<&str> = judged(&with.bytes)
        .findings
        .iter()
        .map(|f| f.code)
        .collect();
    assert_eq!(
        codes,
        ["save-memory", "save-metadata", "save-object", "spec-count"]
    );
}

#[test]
fn of_files_with_equal_bytes_one_is_named_unless_names_matter() {
    let licence = "Permission is granted, free of charge, to anybody.\n";
    let mut folder = Folder::whole();
    folder
        .put("skills/pipelines/LICENSE", licence)
        .put("skills/warehouses/LICENSE", licence);
    let exported_ = exported(&folder).unwrap();
    let judgement = judged(&exported_.bytes);
    let codes: Vec<&str> = judgement.findings.iter().map(|f| f.code).collect();
    assert_eq!(codes, ["integrity-shared-content"]);
    assert!(judgement.admitted.is_some());
    assert_eq!(exported_.notes.len(), 1);
    for name in [
        "rom/skills/pipelines/LICENSE",
        "rom/skills/warehouses/LICENSE",
    ] {
        assert!(exported_.notes[0].contains(name), "{}", exported_.notes[0]);
    }
    // A copy of a SKILL.md under another name: the SKILL.md is the one that is named.
    let mut folder = Folder::whole();
    let skill = folder.0["skills/pipelines/SKILL.md"].clone();
    folder.put("skills/pipelines/references/A-COPY.md", skill.clone());
    let judgement = judged(&exported(&folder).unwrap().bytes);
    assert_eq!(judgement.findings.len(), 1, "{:#?}", judgement.findings);
    assert_eq!(
        judgement.findings[0].location.row.as_deref(),
        Some("rom/skills/pipelines/references/A-COPY.md")
    );
    // Two files that hosts read by their names.
    folder.put("skills/pipelines/references/SKILL.md", skill);
    let found = problems(&folder);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0, "rom/skills/pipelines/references/SKILL.md");
    assert!(
        found[0].2.contains("rom/skills/pipelines/SKILL.md"),
        "{found:?}"
    );
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    type Edit = fn(&mut Folder) -> &mut Folder;
    let cases: &[(Edit, &str, &str, &str)] = &[
        (
            |f| {
                f.0.remove("manifest.json");
                f
            },
            "manifest.json",
            "",
            "expected the file",
        ),
        (
            |f| f.put("manifest.json", "{"),
            "manifest.json",
            "",
            "expected JSON",
        ),
        (
            |f| f.put("manifest.json", r#"{"name":"a","name":"b"}"#),
            "manifest.json",
            "",
            "repeated",
        ),
        (
            |f| f.put("manifest.json", "[]"),
            "manifest.json",
            "",
            "expected a JSON object",
        ),
        (
            |f| f.edit("manifest.json", |m| m["name"] = json!(7)),
            "manifest.json",
            "/name",
            "found 7",
        ),
        (
            |f| f.json("manifest.json", &json!({"name": "123"})),
            "manifest.json",
            "/name",
            "add artifactId",
        ),
        (
            |f| f.edit("manifest.json", |m| m["artifactId"] = "A b".into()),
            "manifest.json",
            "/artifactId",
            "an artifact id",
        ),
        (
            |f| f.edit("manifest.json", |m| m["artifactVersion"] = "1.0".into()),
            "manifest.json",
            "/artifactVersion",
            "SemVer",
        ),
        (
            |f| f.edit("manifest.json", |m| m["description"] = "short".into()),
            "manifest.json",
            "/description",
            "20 to 500",
        ),
        (
            |f| f.edit("manifest.json", |m| m["exportedAt"] = "yesterday".into()),
            "manifest.json",
            "/exportedAt",
            "RFC 3339",
        ),
        (
            |f| {
                f.edit("manifest.json", |m| {
                    m["exportedAt"] = "2027-01-01T00:00:00Z".into()
                })
            },
            "manifest.json",
            "/exportedAt",
            "from the future",
        ),
        (
            |f| f.edit("manifest.json", |m| m["techStack"] = "react".into()),
            "manifest.json",
            "/techStack",
            "a list",
        ),
        (
            |f| f.edit("manifest.json", |m| m["level"] = json!(-1)),
            "manifest.json",
            "/level",
            "whole number",
        ),
        (
            |f| {
                f.edit("manifest.json", |m| {
                    m["authors"] = json!([{"name": "a", "mail": "b"}])
                })
            },
            "manifest.json",
            "/authors",
            "url",
        ),
        (
            |f| f.edit("manifest.json", |m| m["vectorEngine"] = json!({"id": "x"})),
            "manifest.json",
            "/vectorEngine",
            "dim",
        ),
        (
            |f| {
                f.edit("manifest.json", |m| {
                    m["license"] = "Apache 2; see <LICENSE>".into()
                })
            },
            "manifest.json",
            "/license",
            "SPDX",
        ),
        (
            |f| f.put("memory-records.json", "{}"),
            "memory-records.json",
            "",
            "array of records",
        ),
        (
            |f| f.edit("memory-records.json", |r| r[0] = json!(1)),
            "memory-records.json",
            "/0",
            "an object",
        ),
        (
            |f| f.edit("memory-records.json", |r| r[1]["id"] = "m2".into()),
            "memory-records.json",
            "/1/id",
            "another record's",
        ),
        (
            |f| f.edit("memory-records.json", |r| r[0]["impact"] = "great".into()),
            "memory-records.json",
            "/0/impact",
            "positive, neutral or negative",
        ),
        (
            |f| {
                f.edit("memory-records.json", |r| {
                    r[0]["timestamp"] = "2026-07-01".into()
                })
            },
            "memory-records.json",
            "/0/timestamp",
            "RFC 3339",
        ),
        (
            |f| f.edit("memory-records.json", |r| r[0]["xpAwarded"] = json!(1.5)),
            "memory-records.json",
            "/0/xpAwarded",
            "whole number",
        ),
        (
            |f| f.edit("memory-records.json", |r| r[0]["tags"] = json!(["a", 1])),
            "memory-records.json",
            "/0/tags",
            "list",
        ),
        (
            |f| f.edit("memory-records.json", |r| r[0]["repoId"] = json!(7)),
            "memory-records.json",
            "/0/repoId",
            "text or null",
        ),
        (
            |f| f.put("skills/notes.md", "x"),
            "skills/notes.md",
            "",
            "skills/<name>/SKILL.md",
        ),
        (
            |f| f.put("skills/a/notes.md", "x"),
            "skills/a/SKILL.md",
            "",
            "expected the file",
        ),
        (
            |f| f.put("skills/pipelines/.DS_Store", "x"),
            "skills/pipelines/.DS_Store",
            "",
            "rename it",
        ),
        (
            |f| f.put("skills/warehouses/SKILL.md", "# no frontmatter\n"),
            "skills/warehouses/SKILL.md",
            "",
            "frontmatter",
        ),
        (
            |f| {
                f.put(
                    "skills/warehouses/SKILL.md",
                    "---\nname: other\ndescription: d\n---\n",
                )
            },
            "skills/warehouses/SKILL.md",
            "",
            "the folder's name",
        ),
        (
            |f| {
                f.put(
                    "skills/warehouses/SKILL.md",
                    "---\nname: warehouses\ndescription: d\nmodel: x\n---\n",
                )
            },
            "skills/warehouses/SKILL.md",
            "",
            "unknown field",
        ),
        (
            |f| f.put("harness-requirements.json", "{}"),
            "harness-requirements.json",
            "/schemaVersion",
            "missing",
        ),
        (
            |f| f.put("loop-context-policy.json", "nope"),
            "loop-context-policy.json",
            "",
            "expected JSON",
        ),
    ];
    for (edit, file, field, message) in cases {
        let mut folder = Folder::whole();
        edit(&mut folder);
        let found = problems(&folder);
        assert!(
            found
                .iter()
                .any(|(f, p, m)| f == file && p == field && m.contains(message)),
            "{file} {field} {message}: {found:#?}"
        );
    }
}

#[test]
fn an_id_never_becomes_a_path() {
    let mut folder = Folder::whole();
    folder.edit("memory-records.json", |r| {
        r[0]["id"] = "../../Evil id".into()
    });
    let exported = exported(&folder).unwrap();
    let rows = text(&exported.bytes, "SELECT payload FROM memory ORDER BY id");
    let record = |row: &Vec<Option<String>>| -> Value {
        serde_json::from_str(row[0].as_deref().unwrap()).unwrap()
    };
    let first = record(&rows[0]);
    assert_eq!(first["id"], "../../Evil id");
    assert_eq!(first["markdownPath"], "knowledge/evil-id.md");
    let second = record(&rows[1]);
    assert_eq!(second["id"], "m1");
    assert_eq!(second["markdownPath"], "knowledge/m1.md");
}

#[test]
fn own_harness_and_policy_travel_as_they_are() {
    let mut folder = Folder::whole();
    let harness = support::documents::harness();
    let policy = support::documents::loop_policy(&json!({"id": "local-hash-128", "dim": 128}));
    folder
        .json("harness-requirements.json", &harness)
        .json("loop-context-policy.json", &policy);
    let exported = exported(&folder).unwrap();
    assert!(judged(&exported.bytes).findings.is_empty());
    for (name, file) in [
        (
            "rom/manifest/harness-requirements.json",
            "harness-requirements.json",
        ),
        (
            "rom/policy/loop-context-policy.json",
            "loop-context-policy.json",
        ),
    ] {
        let stored = text(
            &exported.bytes,
            &format!("SELECT CAST(data AS TEXT) FROM sqlar WHERE name = '{name}'"),
        );
        assert_eq!(
            stored[0][0].as_ref().map(String::as_bytes),
            Some(folder.0[file].as_slice()),
            "{name}"
        );
    }
}

#[test]
fn what_the_format_does_not_know_is_said_to_be_left_out() {
    let mut folder = Folder::whole();
    folder.put("README.md", "# x\n").edit("manifest.json", |m| {
        m.as_object_mut().unwrap().remove("artifactVersion");
        m["artefactVersion"] = "9.9.9".into();
        m["careerTier"] = "intern".into();
    });
    assert_eq!(
        exported(&folder).unwrap().notes,
        [
            "\"README.md\" is no part of a package and is left out",
            "manifest.json: the field \"artefactVersion\" is left out; is \"artifactVersion\" meant?",
        ]
    );
}

#[test]
fn an_id_in_the_metadata_that_the_gate_refuses_is_not_exported() {
    let mut folder = Folder::whole();
    folder.edit("manifest.json", |m| {
        m["homepage"] = "javascript:alert(1)".into()
    });
    match exported(&folder) {
        Err(ExportError::Gate(findings)) => {
            assert_eq!(
                findings.iter().map(|f| f.code).collect::<Vec<_>>(),
                ["metadata-invalid"]
            );
        }
        other => panic!("{other:?}"),
    }
}

#[cfg(unix)]
#[test]
fn links_and_devices_in_the_folder_are_refused() {
    let limits = acx_registry::container::Limits::default();
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret"), "x").unwrap();
    for place in ["skills/pipelines/references/x.md", "IDENTITY.md", "skills"] {
        let root = tempfile::tempdir().unwrap();
        let mut folder = Folder::whole();
        folder.0.retain(|name, _| !name.starts_with(place));
        folder.write(root.path());
        let target = if place == "skills" {
            outside.path().to_path_buf()
        } else {
            outside.path().join("secret")
        };
        std::os::unix::fs::symlink(target, root.path().join(place)).unwrap();
        let problem = Package::read(root.path(), &limits).unwrap_err();
        assert_eq!(problem.file, place, "{problem}");
    }
    // A folder that is whole reads as its files.
    let root = tempfile::tempdir().unwrap();
    Folder::whole().write(root.path());
    assert_eq!(
        Package::read(root.path(), &limits).unwrap(),
        package(&Folder::whole())
    );
    let small = acx_registry::container::Limits {
        file_bytes: 64,
        ..limits.clone()
    };
    assert!(
        Package::read(root.path(), &small)
            .unwrap_err()
            .message
            .contains("larger together")
    );
    let few = acx_registry::container::Limits {
        archive_rows: 3,
        ..limits
    };
    assert!(
        Package::read(root.path(), &few)
            .unwrap_err()
            .message
            .contains("more files")
    );
}

/// `CI` is set, so that nothing may be left unchecked.
fn is_ci() -> bool {
    std::env::var_os("CI").is_some()
}

#[test]
fn a_stock_sqlite_extracts_the_archive_byte_for_byte() {
    let home = tempfile::tempdir().unwrap();
    let exported = exported(&Folder::whole()).unwrap();
    std::fs::write(home.path().join("c.acx"), &exported.bytes).unwrap();
    let mut command = std::process::Command::new("sqlite3");
    let output = match command
        .args(["c.acx", "-Ax"])
        .current_dir(home.path())
        .output()
    {
        Ok(output) => output,
        Err(why) => {
            assert!(!is_ci(), "sqlite3 is required here: {why}");
            eprintln!("SKIPPED: NO SQLITE3 TO EXTRACT WITH: {why}");
            return;
        }
    };
    assert!(output.status.success(), "{output:?}");
    let mut found = 0;
    for (name, data) in &Folder::whole().0 {
        let place = match name.as_str() {
            "manifest.json" | "memory-records.json" => continue,
            name if name.starts_with("skills/") => home.path().join("rom").join(name),
            name => home.path().join("rom/knowledge").join(name),
        };
        assert_eq!(&std::fs::read(&place).unwrap(), data, "{name}");
        found += 1;
    }
    assert_eq!(found, 9);
    for (name, bytes) in &exported.files {
        let length = home.path().join(name).metadata().unwrap().len();
        assert_eq!(length, *bytes as u64, "{name}");
    }
}

#[test]
fn independent_verifiers_agree() {
    let home = tempfile::tempdir().unwrap();
    let mut paths = Vec::new();
    let mut expected = Vec::new();
    for (n, folder) in [Folder::whole(), Folder::least()].iter().enumerate() {
        let exported = exported(folder).unwrap();
        let path = home.path().join(format!("{n}.acx"));
        std::fs::write(&path, &exported.bytes).unwrap();
        paths.push(path);
        expected.push(json!({
            "manifest": exported.rom_hash, "keyid": exported.keyid, "objects": exported.objects,
        }));
    }
    let python = match support::python::python() {
        Ok(python) => python,
        Err(why) => {
            assert!(!is_ci(), "Python with cryptography is required here: {why}");
            eprintln!(
                "SKIPPED: EXPORTS WERE NOT VERIFIED INDEPENDENTLY, NO PYTHON WITH CRYPTOGRAPHY: {why}"
            );
            return;
        }
    };
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let run = |script: &str, paths: &[std::path::PathBuf]| {
        std::process::Command::new(&python)
            .arg(root.join(script))
            .args(paths)
            .output()
            .unwrap()
    };
    let output = run("tests/interop/verify_export.py", &paths);
    assert!(output.status.success(), "{output:?}");
    let said: Vec<Value> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(said, expected);
    let output = run("tests/support/verify.py", &paths);
    assert!(output.status.success(), "{output:?}");
    // It would not agree with anything else: one letter of a skill, one of the name.
    for sql in [
        "UPDATE sqlar SET data = replace(CAST(data AS TEXT), 'M', 'N') WHERE name GLOB '*SKILL.md'",
        "UPDATE cartridge SET value = 'Eve' WHERE key = 'acx.agent_name'",
        "UPDATE signatures SET envelope = replace(envelope, 'A', 'B')",
    ] {
        let path = home.path().join("tampered.acx");
        std::fs::copy(&paths[0], &path).unwrap();
        rusqlite::Connection::open(&path)
            .unwrap()
            .execute(sql, [])
            .unwrap();
        assert_eq!(
            run("tests/interop/verify_export.py", &[path]).status.code(),
            Some(1),
            "{sql}"
        );
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(96))]

    /// Whatever stands in a package, the outcome is a cartridge that the gate has nothing to say about, or a reason.
    #[test]
    fn any_texts_give_a_clean_cartridge_or_a_reason(
        texts in proptest::collection::vec("(?s).{1,24}|[ -~]{1,40}|[a-z]{1,12}( [a-z]{1,12}){0,5}", 11),
        license in "[A-Za-z0-9.-]{1,20}",
        drop_field in 0..16_usize,
        xp in 0..100_u32,
    ) {
        let mut folder = Folder::whole();
        let [name, role, model, author, tag, title, summary, source, id, tech, text] = texts.as_slice() else {
            unreachable!("eleven texts");
        };
        folder.edit("manifest.json", |m| {
            m["artifactId"] = "any".into();
            m["name"] = name.as_str().into();
            m["role"] = role.as_str().into();
            m["model"] = model.as_str().into();
            m["license"] = license.as_str().into();
            m["authors"][0]["name"] = author.as_str().into();
            m["tags"][0] = tag.as_str().into();
            m["techStack"][0] = tech.as_str().into();
            let fields = m.as_object_mut().unwrap();
            let dropped = fields.keys().nth(drop_field).cloned();
            dropped.map(|field| fields.remove(&field));
        });
        folder.edit("memory-records.json", |r| {
            r[0]["id"] = id.as_str().into();
            r[0]["title"] = title.as_str().into();
            r[0]["summary"] = summary.as_str().into();
            r[0]["sourceType"] = source.as_str().into();
            r[0]["xpAwarded"] = json!(xp);
            r[1]["tags"][0] = text.as_str().into();
        });
        folder.put("STYLE.md", text.as_str());
        match exported(&folder) {
            Ok(exported) => {
                let judgement = judged(&exported.bytes);
                assert!(judgement.findings.is_empty(), "{:#?}", judgement.findings);
            }
            Err(ExportError::Package(list)) => assert!(!list.is_empty()),
            Err(ExportError::Secrets(hits)) => assert!(!hits.is_empty()),
            Err(other) => panic!("{other:?}"),
        }
    }
}

/// As other programs write packages: more fields, an engine by name.
#[test]
fn a_package_of_another_program_is_understood() {
    let Some(folder) = support::registry::shared("real-registry/templates/starter-agent-package")
    else {
        return;
    };
    let package = Package::read(&folder, &acx_registry::container::Limits::default()).unwrap();
    let (key, now) = (key(), now());
    let publisher = PublisherId::try_from("io.github.ridgeworks").unwrap();
    let exported = export(
        &package,
        &ExportOptions {
            publisher: &publisher,
            key: &key,
            now: &now,
            id: None,
            version: None,
            include_field_learned: false,
            salt: None,
        },
    )
    .unwrap();
    assert_eq!(
        exported.coordinate.to_string(),
        "io.github.ridgeworks/todo-agent-id@1.0.0"
    );
    assert_eq!(
        (exported.memory, exported.skills, exported.capabilities),
        (1, 1, 1)
    );
    assert!(exported.notes.is_empty(), "{:?}", exported.notes);
    assert!(judged(&exported.bytes).findings.is_empty());
}

/// A package of many records takes seconds, not minutes.
#[test]
fn many_records_are_no_trouble() {
    let mut folder = Folder::least();
    let records: Vec<Value> = (0..5_000)
        .map(|n| support::package::record(&format!("m{n}")))
        .collect();
    folder.json("memory-records.json", &records.into());
    let start = std::time::Instant::now();
    assert_eq!(exported(&folder).unwrap().memory, 5_000);
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
}

#[cfg(unix)]
mod cli {
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;

    use serde_json::Value;

    use super::Folder;
    use super::support::noise::Noise;
    use super::support::registry::{Output, run_acx};

    const PUBLISHER: &str = "io.github.ridgeworks";

    struct Home(tempfile::TempDir);

    impl Home {
        fn of(folder: &Folder) -> Self {
            let home = tempfile::tempdir().unwrap();
            folder.write(&home.path().join("agent"));
            Self(home)
        }

        fn path(&self) -> &Path {
            self.0.path()
        }

        fn run_with(&self, args: &[&str], env: &[(&str, &str)]) -> Output {
            let args = [&["export", "agent"], args].concat();
            run_acx(&args, self.path(), self.path(), env)
        }

        fn run(&self, args: &[&str]) -> Output {
            self.run_with(args, &[("SOURCE_DATE_EPOCH", "1788220800")])
        }

        fn key(&self) -> std::path::PathBuf {
            self.path()
                .join(format!(".config/acx/keys/{PUBLISHER}.pem"))
        }
    }

    #[test]
    fn the_first_export_makes_a_key_and_the_next_uses_it() {
        let home = Home::of(&Folder::whole());
        let first = home.run(&["a.acx", "--publisher", PUBLISHER]);
        assert_eq!(first.status, 0, "{first:?}");
        assert!(
            first
                .stderr
                .starts_with("NEW SIGNING KEY for io.github.ridgeworks: ed25519:"),
            "{first:?}"
        );
        assert_eq!(
            home.key().metadata().unwrap().permissions().mode() & 0o777,
            0o600
        );
        for line in [
            "cartridge: io.github.ridgeworks/ada-ridge@1.2.0\n",
            "holds:     13 files, 2 skills, 2 memory records, 1 capability; 33 objects signed\n",
            "left out:  1 field-learned record (",
            "wrote:     a.acx (",
        ] {
            assert!(first.stdout.contains(line), "{line}: {first:?}");
        }
        let second = home.run(&["b.acx", "--publisher", PUBLISHER]);
        assert_eq!((second.status, second.stderr.as_str()), (0, ""));
        let read = |name: &str| std::fs::read(home.path().join(name)).unwrap();
        assert_eq!(read("a.acx"), read("b.acx"));
        // The key given by name is the same one.
        let key = home.key();
        let third = home.run(&[
            "c.acx",
            "--publisher",
            PUBLISHER,
            "--key",
            key.to_str().unwrap(),
        ]);
        assert_eq!(third.status, 0, "{third:?}");
        assert_eq!(read("a.acx"), read("c.acx"));
        let checked = run_acx(&["check", "a.acx"], home.path(), home.path(), &[]);
        assert_eq!(checked.status, 0, "{checked:?}");
        // What is there already stays.
        let again = home.run(&["a.acx", "--publisher", PUBLISHER, "--version", "9.0.0"]);
        assert_eq!(again.status, 2);
        assert!(
            again.stderr.contains("a.acx: is there already"),
            "{again:?}"
        );
        assert_eq!(read("a.acx"), read("b.acx"));
    }

    #[test]
    fn no_key_is_made_in_ci_or_for_a_dry_run_and_one_in_a_work_tree_is_warned_of() {
        let home = Home::of(&Folder::whole());
        let ci = home.run_with(&["a.acx", "--publisher", PUBLISHER], &[("CI", "true")]);
        assert_eq!(ci.status, 2);
        assert!(ci.stderr.contains("none is made in CI"), "{ci:?}");
        let dry = home.run(&["a.acx", "--publisher", PUBLISHER, "--dry-run"]);
        assert_eq!((dry.status, dry.stderr.as_str()), (0, ""));
        assert!(dry.stdout.contains("would write: a.acx ("), "{dry:?}");
        assert!(
            dry.stdout.contains("rom/skills/pipelines/scripts/check.sh"),
            "{dry:?}"
        );
        assert!(!dry.stdout.contains("keyid"), "{dry:?}");
        let names: Vec<_> = std::fs::read_dir(home.path())
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        assert_eq!(names, ["agent"]);
        std::fs::create_dir(home.path().join(".git")).unwrap();
        let made = home.run(&["a.acx", "--publisher", PUBLISHER]);
        assert_eq!(made.status, 0);
        assert!(
            made.stderr
                .contains("warning: the new key is in a git work tree"),
            "{made:?}"
        );
    }

    #[test]
    fn json_has_everything() {
        let home = Home::of(&Folder::whole());
        let args = [
            "a.acx",
            "--publisher",
            PUBLISHER,
            "--id",
            "other",
            "--version",
            "2.0.0-rc.1",
            "--format",
            "json",
        ];
        let output = home.run(&args);
        assert_eq!(output.status, 0, "{output:?}");
        let value: Value = serde_json::from_str(&output.stdout).unwrap();
        for (name, expected) in [
            ("version", serde_json::json!(1)),
            ("dryRun", false.into()),
            ("publisher", PUBLISHER.into()),
            ("id", "other".into()),
            ("artifactVersion", "2.0.0-rc.1".into()),
            (
                "registryPath",
                "cartridges/io.github.ridgeworks/other/2.0.0-rc.1/cartridge.acx".into(),
            ),
            ("memory", 2.into()),
            ("leftOut", 1.into()),
            ("notes", serde_json::json!([])),
            ("wrote", "a.acx".into()),
        ] {
            assert_eq!(value[name], expected, "{name}");
        }
        assert_eq!(value["files"].as_array().unwrap().len(), 13);
        let dry = home.run(&[
            "b.acx",
            "--publisher",
            PUBLISHER,
            "--dry-run",
            "--format",
            "json",
        ]);
        let dry: Value = serde_json::from_str(&dry.stdout).unwrap();
        assert_eq!(
            (&dry["dryRun"], &dry["wrote"]),
            (&Value::Bool(true), &Value::Null)
        );
    }

    #[test]
    fn a_secret_stops_it_and_is_not_repeated() {
        let token = format!("{}{}", ["gh", "p_"].concat(), Noise::new(5).fill("«an:36»"));
        let mut folder = Folder::whole();
        folder.put("STYLE.md", format!("token: {token}\n"));
        let home = Home::of(&folder);
        let output = home.run(&["a.acx", "--publisher", PUBLISHER]);
        assert_eq!((output.status, output.stdout.as_str()), (1, ""));
        assert!(
            output
                .stderr
                .contains("[github-token] STYLE.md, byte 7: a GitHub token: ghp_‹36 bytes hidden›"),
            "{output:?}"
        );
        assert!(!output.stderr.contains(&token[4..]), "{output:?}");
        assert!(!home.path().join("a.acx").exists());
        let json = home.run(&["a.acx", "--publisher", PUBLISHER, "--format", "json"]);
        assert_eq!(json.status, 1);
        assert!(!json.stdout.contains(&token[4..]));
        let value: Value = serde_json::from_str(&json.stdout).unwrap();
        assert_eq!(
            value,
            serde_json::json!({"version": 1, "refused": "secrets", "hits": [{
                "file": "STYLE.md", "field": "", "offset": 7, "rule": "github-token",
                "sample": "ghp_‹36 bytes hidden›",
            }]})
        );
        let explained = run_acx(&["explain", "github-token"], home.path(), home.path(), &[]);
        assert_eq!(explained.status, 0, "{explained:?}");
        assert!(
            explained
                .stdout
                .starts_with("github-token: a GitHub token\n"),
            "{explained:?}"
        );
        // What it proposes works.
        let (_, proposal) = output.stderr.split_once("[[allow]]").unwrap();
        std::fs::write(
            home.path().join("agent/scrub-allow.toml"),
            format!("[[allow]]{proposal}"),
        )
        .unwrap();
        let allowed = home.run(&["a.acx", "--publisher", PUBLISHER]);
        assert_eq!(allowed.status, 0, "{allowed:?}");
        assert!(
            allowed
                .stdout
                .contains("1 hits of the scrub gate are allowed"),
            "{allowed:?}"
        );
    }

    #[test]
    fn what_is_wrong_is_told_apart_from_what_failed() {
        let mut folder = Folder::whole();
        folder.edit("manifest.json", |m| m["name"] = "\u{1b}[31mEve".into());
        folder.put("skills/pipelines/\u{202e}x", "x");
        let home = Home::of(&folder);
        let refused = home.run(&["a.acx", "--publisher", PUBLISHER]);
        assert!(!home.key().exists(), "a key that nothing was signed with");
        // Both files' problems are said at once.
        assert!(
            refused.stderr.contains("manifest.json › /name"),
            "{refused:?}"
        );
        assert_eq!((refused.status, refused.stdout.as_str()), (1, ""));
        assert!(
            refused.stderr.contains("\\u{202e}") && !refused.stderr.contains('\u{202e}'),
            "{refused:?}"
        );
        for (args, says) in [
            (
                &["a.acx", "--publisher", "Alice"][..],
                "--publisher: expected a publisher id",
            ),
            (
                &["a.acx", "--publisher", PUBLISHER, "--id", "A"],
                "--id: expected an artifact id",
            ),
            (
                &["a.acx", "--publisher", PUBLISHER, "--version", "1"],
                "--version: expected a SemVer",
            ),
            (
                &["a.acx", "--publisher", PUBLISHER, "--key", "absent.pem"],
                "absent.pem",
            ),
            (
                &[
                    "a.acx",
                    "--publisher",
                    PUBLISHER,
                    "--include-field-learned",
                    "--salt",
                    "agent/IDENTITY.md",
                ],
                "32 bytes or more",
            ),
            (&["a.acx"], "--publisher"),
        ] {
            let home = Home::of(&{
                let mut short = Folder::whole();
                short.put("IDENTITY.md", "x");
                short
            });
            let output = home.run(args);
            assert_eq!(
                (output.status, output.stdout.as_str()),
                (2, ""),
                "{args:?}: {output:?}"
            );
            assert!(output.stderr.contains(says), "{args:?}: {output:?}");
            assert!(!home.path().join("a.acx").exists());
        }
        let absent = run_acx(
            &["export", "nowhere", "a.acx", "--publisher", PUBLISHER],
            home.path(),
            home.path(),
            &[],
        );
        assert_eq!(absent.status, 2);
        assert!(
            absent.stderr.contains("nowhere: cannot be read"),
            "{absent:?}"
        );
    }
}
