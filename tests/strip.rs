//! `acx strip`: the proof and its lines, what goes and what stays, and that a cartridge that is not what was signed is
//! never written.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod support;

use std::path::{Path, PathBuf};

use acx_registry::author::strip;
use acx_registry::check::Settings;
use acx_registry::model::Timestamp;
use acx_registry::policy::{Policy, TrustRegistry};
use acx_registry::verdict::{self, Judgement};
use serde_json::Value;
use support::cartridge::Builder;
use support::records::{self, Memory};
use support::registry::{Output, run_acx, shared};

const SECRET: &str = "learned in one repository only";

/// A cartridge with data in every place of the SAVE zone.
fn used() -> Builder {
    let mut builder = Builder::valid("io.github.acme", "used", "1.0.0");
    let mut record = records::field_learned(9);
    record["summary"] = SECRET.into();
    let memory = Memory::sealed(record);
    builder.after_sign(move |db| {
        let (id, payload) = (memory.id(), memory.payload());
        db.execute(
            "INSERT INTO memory VALUES (?1, 'save', ?2, ?3, ?4, ?5, '2026-07-01T00:00:00Z')",
            [
                id.clone(),
                memory.artifact_fingerprint(),
                memory.codebase_fingerprint().unwrap(),
                payload.clone(),
                memory.oid(),
            ],
        )
        .unwrap();
        db.execute(
            "INSERT INTO objects VALUES (?1, 'memory', ?2, 'jcs-rfc8785', 'save', 1)",
            [memory.oid(), format!("memory:{id}")],
        )
        .unwrap();
        db.execute_batch(&format!(
            "INSERT INTO sqlar VALUES ('save/trace/a.log', 420, 0, {}, CAST('{SECRET}' AS BLOB));
             INSERT INTO vectors VALUES ('{id}', 'save', x'00', '');
             INSERT INTO cartridge VALUES ('acx.save_codebase_fingerprint', 'cbf1_x');
             PRAGMA user_version = {};",
            SECRET.len(),
            0x0100_0101
        ))
        .unwrap();
    });
    builder
}

fn now() -> Timestamp {
    Timestamp::try_from("2026-09-01T00:00:00Z").unwrap()
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

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn with(self, name: &str, bytes: &[u8]) -> Self {
        std::fs::write(self.at(name), bytes).unwrap();
        self
    }

    fn run(&self, args: &[&str]) -> Output {
        run_acx(args, self.0.path(), self.0.path(), &[])
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.0.path())
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

fn contains(path: &Path, needle: &str) -> bool {
    let bytes = std::fs::read(path).unwrap();
    bytes.windows(needle.len()).any(|w| w == needle.as_bytes())
}

#[test]
fn the_proof_is_printed_as_the_format_says_and_what_was_learned_is_gone() {
    let built = used().build_whole();
    let home = Home::new().with("demo.acx", &built.bytes);
    let output = home.run(&["strip", "demo.acx", "demo.rom.acx"]);
    let hash = &built.manifest_hash;
    assert_eq!(
        output.stdout,
        format!(
            "rom hash before strip: {hash}\nrom hash after  strip: {hash}\n\
             hash-equality proof:   EQUAL (ROM intact; SAVE removed)\nwrote:                 demo.rom.acx\n"
        )
    );
    assert_eq!((output.status, output.stderr.as_str()), (0, ""));
    // The original stays; nothing of the SAVE zone is in the new file's pages, deleted or not.
    assert_eq!(std::fs::read(home.at("demo.acx")).unwrap(), built.bytes);
    assert!(contains(&home.at("demo.acx"), SECRET));
    assert!(!contains(&home.at("demo.rom.acx"), SECRET));
    let stripped = std::fs::read(home.at("demo.rom.acx")).unwrap();
    let judgement = judged(&stripped);
    assert!(judgement.findings.is_empty(), "{:#?}", judgement.findings);
    assert_eq!(stripped[63] & 1, 0, "the flag of the SAVE zone");
    // Stripping again changes nothing that counts.
    let again = strip(&stripped, &now()).unwrap();
    assert_eq!(again.before.to_string(), *hash);
    assert_eq!(again.removed, acx_registry::author::Removed::default());
}

#[test]
fn json_says_the_same() {
    let built = used().build_whole();
    let home = Home::new().with("demo.acx", &built.bytes);
    let output = home.run(&["strip", "demo.acx", "out.acx", "--format", "json"]);
    assert_eq!(output.status, 0, "{output:?}");
    let value: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(
        value,
        serde_json::json!({
            "version": 1, "path": "demo.acx", "romBefore": built.manifest_hash, "romAfter": built.manifest_hash,
            "equal": true, "reason": null, "removed": {"memory": 1, "files": 1, "vectors": 1, "objects": 1},
            "wrote": "out.acx",
        })
    );
}

#[test]
fn a_tampered_rom_is_a_mismatch_and_nothing_is_written() {
    for sql in [
        "UPDATE sqlar SET data = CAST('# Other' AS BLOB), sz = 7 WHERE name GLOB '*IDENTITY.md'",
        "UPDATE memory SET payload = replace(payload, 'warm', 'cool') WHERE zone = 'rom'",
        "UPDATE cartridge SET value = 'Eve' WHERE key = 'acx.agent_name'",
        "UPDATE capabilities SET json = replace(json, '\"verified\":false', '\"verified\":true')",
        "DELETE FROM objects WHERE source_ref = 'rom/knowledge/IDENTITY.md'",
        "INSERT INTO sqlar VALUES ('rom/knowledge/STOWAWAY.md', 420, 0, 1, CAST('x' AS BLOB))",
        "UPDATE signatures SET manifest_hash = 'sha256:' || hex(zeroblob(32))",
        "UPDATE cartridge SET value = 'sha256:' || hex(zeroblob(32)) WHERE key = 'acx.rom_manifest_hash'",
        "UPDATE signatures SET keyid = 'ed25519:' || lower(hex(zeroblob(32)))",
        "UPDATE signatures SET envelope = replace(envelope, 'A', 'B')",
    ] {
        let mut builder = used();
        builder.sql(sql);
        let home = Home::new().with("demo.acx", &builder.build());
        let output = home.run(&["strip", "demo.acx", "out.acx"]);
        assert_eq!(output.status, 1, "{sql}: {output:?}");
        let lines: Vec<&str> = output.stdout.lines().collect();
        assert_eq!(lines.len(), 3, "{sql}: {output:?}");
        assert!(
            lines[2].starts_with("hash-equality proof:   MISMATCH ("),
            "{sql}: {output:?}"
        );
        assert_eq!(home.names(), ["demo.acx"], "{sql}");
    }
    // Where the content differs, so do the hashes that are printed.
    let mut builder = used();
    builder.sql("UPDATE cartridge SET value = 'Eve' WHERE key = 'acx.agent_name'");
    let stripped = strip(&builder.build(), &now()).unwrap();
    assert_ne!(stripped.before, stripped.after);
}

#[test]
fn what_has_no_signature_has_no_proof() {
    for sql in [
        "DELETE FROM signatures",
        "UPDATE signatures SET public_key_pem = NULL",
    ] {
        let mut builder = used();
        builder.sql(sql);
        let home = Home::new().with("demo.acx", &builder.build());
        let output = home.run(&["strip", "demo.acx", "out.acx"]);
        assert_eq!(output.status, 1, "{output:?}");
        assert!(
            output.stdout.contains("MISMATCH (") && output.stdout.contains("signature"),
            "{output:?}"
        );
        assert_eq!(home.names(), ["demo.acx"]);
    }
}

#[test]
fn the_input_and_whatever_else_is_there_stay() {
    let bytes = used().build();
    let home = Home::new()
        .with("demo.acx", &bytes)
        .with("other.acx", b"mine");
    std::fs::hard_link(home.at("demo.acx"), home.at("hard.acx")).unwrap();
    std::os::unix::fs::symlink("demo.acx", home.at("soft.acx")).unwrap();
    std::os::unix::fs::symlink("nowhere", home.at("dangling.acx")).unwrap();
    std::fs::create_dir(home.at("folder")).unwrap();
    let absolute = home.at("demo.acx");
    let before = home.names();
    for (out, says) in [
        ("demo.acx", "is the cartridge itself"),
        ("./demo.acx", "is the cartridge itself"),
        ("folder/../demo.acx", "is the cartridge itself"),
        (absolute.to_str().unwrap(), "is the cartridge itself"),
        ("hard.acx", "is the cartridge itself"),
        ("soft.acx", "is the cartridge itself"),
        ("other.acx", "is there already"),
        ("dangling.acx", "is there already"),
        ("folder", "is there already"),
        ("nowhere/out.acx", "cannot be written"),
    ] {
        let output = home.run(&["strip", "demo.acx", out]);
        assert_eq!(
            (output.status, output.stdout.as_str()),
            (2, ""),
            "{out}: {output:?}"
        );
        assert!(output.stderr.contains(says), "{out}: {output:?}");
    }
    assert_eq!(home.names(), before);
    assert_eq!(std::fs::read(home.at("demo.acx")).unwrap(), bytes);
    assert_eq!(std::fs::read(home.at("other.acx")).unwrap(), b"mine");
    assert_eq!(
        std::fs::read_link(home.at("dangling.acx")).unwrap(),
        Path::new("nowhere")
    );
}

#[test]
fn what_is_no_cartridge_is_refused() {
    let mut trigger = used();
    trigger.sql("CREATE TRIGGER t AFTER DELETE ON memory BEGIN DELETE FROM signatures; END");
    for bytes in [b"no cartridge".to_vec(), Vec::new(), trigger.build()] {
        let home = Home::new().with("demo.acx", &bytes);
        let output = home.run(&["strip", "demo.acx", "out.acx"]);
        assert_eq!(
            (output.status, output.stdout.as_str()),
            (1, ""),
            "{output:?}"
        );
        assert!(
            output.stderr.contains("cannot be read as a cartridge"),
            "{output:?}"
        );
        assert_eq!(home.names(), ["demo.acx"]);
    }
    let output = Home::new().run(&["strip", "absent.acx", "out.acx"]);
    assert_eq!(output.status, 2, "{output:?}");
}

#[test]
fn an_embedded_dataset_goes_with_what_says_that_it_is_there() {
    let home = Home::new().with("demo.acx", &used().build());
    let output = home.run(&["lance", "demo.acx", "--embed"]);
    assert_eq!(output.status, 0, "{output:?}");
    assert!(contains(&home.at("demo.acx"), "acx.lance_rows"));
    let output = home.run(&["strip", "demo.acx", "out.acx"]);
    assert_eq!(output.status, 0, "{output:?}");
    assert!(!contains(&home.at("out.acx"), "acx.lance_rows"));
    assert!(
        judged(&std::fs::read(home.at("out.acx")).unwrap())
            .findings
            .is_empty()
    );
}

#[test]
fn statistics_of_what_was_there_go_too() {
    let mut builder = used();
    builder.sql("ANALYZE; INSERT INTO sqlite_stat1 VALUES ('memory', 'memory_zone_fp', 'seen in a codebase');");
    let bytes = builder.build();
    let seen = |bytes: &[u8]| bytes.windows(18).any(|w| w == b"seen in a codebase");
    assert!(seen(&bytes));
    assert!(!seen(&strip(&bytes, &now()).unwrap().bytes.unwrap()));
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(200))]

    /// Whatever is done to a file, what comes out is what was signed, or nothing does.
    #[test]
    fn a_damaged_file_gives_what_was_signed_or_nothing(at in 0.0..1.0_f64, byte in 0..=255_u8) {
        static BUILT: std::sync::LazyLock<(Vec<u8>, String)> = std::sync::LazyLock::new(|| {
            let built = used().build_whole();
            (built.bytes, built.manifest_hash)
        });
        let (bytes, hash) = &*BUILT;
        let mut damaged = bytes.clone();
        let at = (at * damaged.len() as f64) as usize;
        damaged[at] = byte;
        if let Ok(stripped) = strip(&damaged, &now())
            && let Ok(bytes) = stripped.bytes
        {
            assert_eq!((&stripped.before.to_string(), &stripped.after.to_string()), (hash, hash));
            assert!(!bytes.windows(SECRET.len()).any(|w| w == SECRET.as_bytes()));
        }
    }
}

#[test]
fn a_skill_of_the_save_zone_takes_its_index_row_with_it() {
    let mut builder = used();
    builder.sql(
        "INSERT INTO sqlar VALUES ('save/skills/x/SKILL.md', 420, 0, 1, CAST('x' AS BLOB));
         INSERT INTO acx_skill SELECT 'save/skills/x/SKILL.md', 'x', 'x', license, compatibility, skill_version,
           body_tokens, '2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881', resources, ext, schema_version
           FROM acx_skill LIMIT 1;",
    );
    let stripped = strip(&builder.build(), &now()).unwrap();
    assert!(judged(&stripped.bytes.unwrap()).findings.is_empty());
}

/// Every published cartridge that the format calls clean or that only has SAVE data can be stripped, and is accepted.
#[test]
fn published_cartridges_can_be_stripped() {
    let Some(folder) = shared("conformance") else {
        return;
    };
    let mut names: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    names.retain(|path| {
        let name = path.file_name().unwrap().to_str().unwrap();
        (name.starts_with("clean-") || name.starts_with("save-")) && name.ends_with(".acx")
    });
    names.sort();
    assert!(names.len() > 10, "{names:?}");
    for path in names {
        let stripped = strip(&std::fs::read(&path).unwrap(), &now()).unwrap();
        assert_eq!(stripped.before, stripped.after, "{path:?}");
        let bytes = stripped
            .bytes
            .unwrap_or_else(|why| panic!("{path:?}: {why}"));
        let judgement = judged(&bytes);
        assert!(
            judgement.admitted.is_some(),
            "{path:?}: {:#?}",
            judgement.findings
        );
    }
}
