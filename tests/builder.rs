//! The tests' own cartridge builder, checked without the crate: a third implementation, in Python, must agree with it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::cartridge::Builder;
use support::jcs::jcs;
use support::mutations::{CLEAN, MUTATIONS, valid};
use support::registry::{INDEX_SEED, TempRegistry, TrustKey, shared};
use support::{keys, records};

/// What the independent verifier says of these files: whether all hold, and its words.
/// `None` where there is no Python.
fn verify(files: &[PathBuf]) -> Option<(bool, String)> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/verify.py");
    match Command::new("python3").arg(script).args(files).output() {
        Ok(out) => {
            let words = [out.stdout, out.stderr].concat();
            Some((
                out.status.success(),
                String::from_utf8_lossy(&words).into_owned(),
            ))
        }
        Err(e) if std::env::var_os("CI").is_none() => {
            eprintln!("SKIPPED: NO PYTHON TO VERIFY WITH ({e})");
            None
        }
        Err(e) => panic!("CI is set and python3 does not run: {e}"),
    }
}

fn write_clean(folder: &Path) -> Vec<PathBuf> {
    let write = |(at, (_, make)): (usize, &support::mutations::Clean)| {
        let path = folder.join(format!("{at:02}.acx"));
        std::fs::write(&path, make()).unwrap();
        path
    };
    CLEAN.iter().enumerate().map(write).collect()
}

#[test]
fn clean_cartridges_hold_by_an_independent_verifier() {
    let folder = tempfile::tempdir().unwrap();
    let files = write_clean(folder.path());
    if let Some((holds, words)) = verify(&files) {
        assert!(holds, "{words}");
    }
}

#[test]
fn the_independent_verifier_agrees_with_published_cartridges_and_sees_damage() {
    if let Some(folder) = shared("conformance") {
        let clean: Vec<PathBuf> = std::fs::read_dir(folder)
            .unwrap()
            .map(|e| e.unwrap().path())
            .filter(|p| {
                p.file_name()
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .starts_with("clean-")
            })
            .collect();
        assert!(!clean.is_empty());
        if let Some((holds, words)) = verify(&clean) {
            assert!(holds, "{words}");
        }
    }
    // Each of these changes what the signature is about, so whatever verifies must see it.
    for m in MUTATIONS {
        let about_the_signature = [
            "integrity-object",
            "integrity-manifest",
            "integrity-stowaway",
            "signature-invalid",
            "signature-key",
        ];
        if !about_the_signature.contains(&m.code) {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.acx");
        std::fs::write(&path, (m.make)()).unwrap();
        if let Some((holds, words)) = verify(&[path]) {
            assert!(!holds, "{} ({}): {words}", m.code, m.about);
        }
    }
}

/// Keeps the cartridges for looking at by hand: `ACX_DUMP=DIR cargo test --test builder -- --ignored`.
#[test]
#[ignore = "writes to the folder that ACX_DUMP names"]
fn dump() {
    let folder = PathBuf::from(std::env::var_os("ACX_DUMP").expect("ACX_DUMP names a folder"));
    std::fs::create_dir_all(&folder).unwrap();
    write_clean(&folder);
    for (at, m) in MUTATIONS.iter().enumerate() {
        std::fs::write(folder.join(format!("{}-{at:03}.acx", m.code)), (m.make)()).unwrap();
    }
}

#[test]
fn the_same_builder_gives_the_same_bytes() {
    assert_eq!(valid().build(), valid().build());
    let other = Builder::valid("io.github.acme", "build-smith", "1.0.1").build();
    assert_ne!(valid().build(), other);
}

#[test]
fn each_mutation_is_a_file_of_its_own() {
    let mut seen: BTreeMap<Vec<u8>, &str> = BTreeMap::from([(valid().build(), "the valid one")]);
    for m in MUTATIONS {
        // Judged by a trust registry, not by its bytes.
        if m.trust.is_some() {
            continue;
        }
        if let Some(twin) = seen.insert((m.make)(), m.about) {
            panic!("{} ({}) is the same file as {twin:?}", m.code, m.about);
        }
    }
}

#[test]
fn padding_reaches_the_size() {
    for wanted in [100_000, 1 << 20, 9 << 20] {
        let built = valid().padded_to(wanted).build().len();
        assert!(
            (wanted..wanted + wanted / 100 + 4096).contains(&built),
            "{built} for {wanted}"
        );
    }
}

/// RFC 8785: numbers, escapes, and names in UTF-16 order.
#[test]
fn canonical_json() {
    let input = r#"{"\ufb33":1,"\ud83d\ude00":[1e21,1e-7,0.000001,333333333.33333329,-0.0,4.50,123456789012345680000],"a":"\u000f\n\u2028\"\\/"}"#;
    let value: serde_json::Value = serde_json::from_str(input).unwrap();
    assert_eq!(
        jcs(&value),
        "{\"a\":\"\\u000f\\n\u{2028}\\\"\\\\/\",\"\u{1f600}\":[1e+21,1e-7,0.000001,333333333.3333333,0,4.5,\
         123456789012345680000],\"\u{fb33}\":1}"
    );
}

/// A record of a published cartridge, whose fingerprint and ids this builder must reproduce.
#[test]
fn published_identities() {
    let record = serde_json::json!({
        "title": "data engineering pattern",
        "summary": "Reusable approach for data engineering using airflow, snowflake, dbt, python.",
        "sourceType": "knowledge", "repoId": null, "projectLabel": "portable-core",
        "timestamp": "2026-07-01T00:00:00.000Z", "impact": "positive", "xpAwarded": 20,
        "tags": ["data engineering", "pipeline orchestration", "backfills"],
    });
    assert_eq!(records::artifact_fingerprint(&record), "fe2017b41b");
    let capability = records::capability(
        "build-dag",
        &[
            "pkg:generic/snowflake",
            "pkg:pypi/apache-airflow",
            "pkg:pypi/dbt-core",
        ],
        "infrastructure",
    );
    assert_eq!(records::capability_id(&capability), "cap-7073ad41df0a3e62");
}

#[test]
fn registry_parts_are_where_they_belong() {
    let registry = TempRegistry::new();
    let builder = valid();
    let path = registry.cartridge(&builder);
    assert_eq!(
        path,
        "cartridges/io.github.acme/build-smith/1.0.0/cartridge.acx"
    );
    assert_eq!(std::fs::read(registry.at(&path)).unwrap(), builder.build());
    registry.trust(&[TrustKey::active(keys::seed(7), "com.example.tools")]);
    let key = &registry.json("trust-registry.json")["keys"][0];
    assert_eq!(
        key["namespaceProof"]["txtRecord"],
        "_acx-challenge.tools.example.com"
    );
    let signing = PathBuf::from(registry.key());
    assert!(!signing.starts_with(registry.root()));
    // The PEM is one that another implementation reads back to the same key.
    use ed25519_dalek::pkcs8::DecodePrivateKey;
    let pem = std::fs::read_to_string(&signing).unwrap();
    let read = ed25519_dalek::SigningKey::from_pkcs8_pem(&pem).unwrap();
    assert_eq!(read.to_bytes(), keys::seed(INDEX_SEED));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(
            std::fs::metadata(&signing).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }
}
