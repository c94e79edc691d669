//! Whatever bytes a registry's files hold, reading them ends in a value or a refusal.

use proptest::prelude::*;

use super::*;
use crate::level::IssuerKeys;
use crate::policy::{Policy, StatusLedger, TrustRegistry};

fn read_all(bytes: &[u8]) {
    for error in [
        TrustRegistry::parse(bytes, &now()).err(),
        StatusLedger::parse(bytes).err(),
        IssuerKeys::parse(bytes).err(),
        Policy::parse(&String::from_utf8_lossy(bytes), RULES).err(),
    ]
    .into_iter()
    .flatten()
    {
        assert!(!error.message.is_empty());
        // A message repeats little of a file, however large.
        assert!(error.to_string().len() < 4096, "{error}");
    }
}

const SEEDS: &[&str] = &[
    r#"{"schemaVersion":"acx.issuer-keys/1","issuers":[{"id":"did:web:a.example","keys":[{"verificationMethod":"did:web:a.example#1","publicKeyPem":"-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEArvMoqM6Ar8vAo1yyBhN8xm6gRKxl8zpU3FIwiXsf6Oo=\n-----END PUBLIC KEY-----\n"}]}],"statusLists":[{"id":"https://a.example/1"}]}"#,
    include_str!("../../../registry-template/acx-registry.toml"),
    include_str!("../../../registry-template/status.json"),
    include_str!("../../../registry-template/trust-registry.json"),
    r#"{"schemaVersion":"acx.registry-status/1","updatedAt":"2026-08-01T00:00:00Z","entries":[{"artifact":{"artifactType":"agent","publisherId":"io.github.acme","id":"a","version":"1.0.0","digest":"sha256:e8b9d5072b946ccb7b097552ba7a598337df964cc2966d5093acafd4cec6b2d9"},"status":"deprecated","reason":"0123456789","recordedAt":"2026-08-01T00:00:00Z"}]}"#,
    r#"{"schemaVersion":"acx.trust-registry/1","keys":[{"keyid":"ed25519:bb97facd81dade000c1d790e0ad1addc47733a120c93cfc4af1734262452a57f","publisherId":"io.github.acme","algorithm":"ed25519","publicKeyPem":"-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEArvMoqM6Ar8vAo1yyBhN8xm6gRKxl8zpU3FIwiXsf6Oo=\n-----END PUBLIC KEY-----\n","status":"active","notBefore":"2026-01-01T00:00:00Z","notAfter":"2030-01-01T00:00:00Z","namespaceProof":{"method":"github-oidc","oidcSubject":"repo:acme/x","oidcIssuer":"https://token.actions.githubusercontent.com","verifiedAt":"2026-01-02T00:00:00Z"}}]}"#,
    "[limits]\nfile_bytes = 1_0\n[[waivers]]\ncode = 'memory-fingerprint'\npath = 'a/**'\nreason = '0123456789'\nexpires = 2027-01-01\n[index]\nkeys = []\nexpires_days = 9\n[rules]\nmemory-fingerprint = 'off'\n",
];

proptest! {
    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..512)) {
        read_all(&bytes);
    }

    #[test]
    fn any_text(text in "[\\[\\]{}\"'=.,#\\\\ \n\ta-z0-9_:é-]{0,200}") {
        read_all(text.as_bytes());
    }

    #[test]
    fn valid_files_with_a_piece_replaced(
        seed in 0..SEEDS.len(),
        at in any::<prop::sample::Index>(),
        cut in 0..40_usize,
        piece in prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..8),
            prop::sample::select(vec![
                &b"null"[..], b"\"\"", b"[]", b"{}", b"-1", b"1e400", b"\\u0000", b"9999999999999999999999",
                b"\"x\":1,", b"[[a]]\n", b"a.b.c.d = {}\n", b"\xed\xa0\x80",
            ]).prop_map(<[u8]>::to_vec),
        ],
    ) {
        let mut bytes = SEEDS[seed].as_bytes().to_vec();
        let start = at.index(bytes.len());
        let end = (start + cut).min(bytes.len());
        bytes.splice(start..end, piece);
        read_all(&bytes);
    }
}

#[test]
fn deep_and_wide_files() {
    read_all("[".repeat(200_000).as_bytes());
    read_all("a.".repeat(100_000).as_bytes());
    read_all(format!("x = {}", "[".repeat(100_000)).as_bytes());
    read_all(format!("x = {}", "{a=".repeat(50_000)).as_bytes());
    read_all(format!("[{}]", "a.".repeat(60_000)).as_bytes());
    read_all(format!("{} = 1", "k".repeat(200_000)).as_bytes());
    read_all(format!("{{\"{}\": 1}}", "k".repeat(1_000_000)).as_bytes());
    let names: Vec<String> = (0..50_000).map(|n| format!("\"k{n}\":1")).collect();
    read_all(format!("{{{}}}", names.join(",")).as_bytes());
}
