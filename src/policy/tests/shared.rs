//! The reference registries: every policy, trust registry and ledger among them reads as its case says.

use super::*;
use crate::policy::{Policy, StatusLedger, TrustRegistry};

/// The cases whose files must be refused, with the file and the field.
const REFUSED: &[(&str, &str, &str)] = &[
    (
        "trust-registry-wrong-proof",
        "trust-registry.json",
        "/keys/0/namespaceProof/method",
    ),
    (
        "superseded-without-successor",
        "status.json",
        "/entries/0/successor",
    ),
    ("ledger-http-advisory", "status.json", "/entries/0/advisory"),
    (
        "policy-unknown-key",
        "acx-registry.toml",
        "limits.max_fille_size",
    ),
];

fn read(file: &str, bytes: &[u8]) -> Result<(), ConfigError> {
    match file {
        "trust-registry.json" => TrustRegistry::parse(bytes, &now()).map(drop),
        "status.json" => StatusLedger::parse(bytes).map(drop),
        _ => Policy::parse(std::str::from_utf8(bytes).unwrap(), RULES).map(drop),
    }
}

#[test]
fn registries() {
    let Some(root) = reference("registries") else {
        return;
    };
    let cases: Json =
        serde_json::from_slice(&std::fs::read(root.join("expected.json")).unwrap()).unwrap();
    let (mut files, mut refusals) = (0, Vec::new());
    for case in cases.as_array().unwrap() {
        let name = case["case"].as_str().unwrap();
        for file in ["trust-registry.json", "status.json", "acx-registry.toml"] {
            let Ok(bytes) = std::fs::read(root.join(name).join(file)) else {
                continue;
            };
            files += 1;
            if let Err(error) = read(file, &bytes) {
                assert_eq!(case["exit"], 2, "{name}: {error}");
                assert_eq!(error.file, file);
                refusals.push((name.to_owned(), error.file, error.field));
            }
        }
    }
    assert!(files >= 10, "{files}");
    refusals.sort();
    let mut expected: Vec<_> = REFUSED
        .iter()
        .map(|(n, file, field)| ((*n).to_owned(), (*file).to_owned(), (*field).to_owned()))
        .collect();
    expected.sort();
    assert_eq!(refusals, expected);
}

#[test]
fn documents_and_the_published_registry() {
    for (folder, file) in [
        ("documents", "trust-registry.json"),
        ("documents", "status.json"),
        ("real-registry", "status.json"),
    ] {
        let Some(root) = reference(folder) else {
            return;
        };
        read(file, &std::fs::read(root.join(file)).unwrap()).unwrap();
    }
}
