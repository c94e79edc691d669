//! Levels: what credentials claim, what issuers' keys prove, and what an index says of either.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::type_complexity
)]

mod support;

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};
use support::cartridge::{Builder, PUBLISHER_SEED};
use support::git::{Lab, Repository};
use support::keys;
use support::levels::*;
use support::records::{Capability, capability};
use support::registry::{Output, SEPTEMBER, TempRegistry, index_keyid, read_json, run_acx, shared};

const NOW: &str = "2026-09-01T00:00:00Z";

/// The entry of each listed cartridge, by artifact id.
fn entries(index: &Value) -> BTreeMap<String, Value> {
    let entries = index["cartridges"].as_array().unwrap().iter();
    entries
        .map(|e| (e["id"].as_str().unwrap().to_owned(), e.clone()))
        .collect()
}

fn states(entry: &Value) -> Vec<(Value, Value)> {
    let claims = entry["capabilities"].as_array().unwrap().iter();
    claims
        .map(|c| (c["verified"].clone(), c["verificationState"].clone()))
        .collect()
}

#[test]
fn every_case_of_the_shared_corpus() {
    let Some(folder) = shared("documents") else {
        return;
    };
    let folder = folder.join("levels");
    let cases = read_json(&folder.join("expected.json"));
    let registry = TempRegistry::new();
    let keys = fs::read(folder.join("issuer-keys.json")).unwrap();
    registry.put("issuer-keys.json", keys);
    let cases = cases.as_array().unwrap();
    assert!(cases.len() >= 11);
    for case in cases {
        let file = folder.join(format!("{}.acx", case["case"].as_str().unwrap()));
        registry.put(case["path"].as_str().unwrap(), fs::read(file).unwrap());
    }
    let out = registry.build_at(SEPTEMBER, &[]);
    assert_eq!(out.status, 1, "{:.2000}", out.stdout);
    let index = registry.index().unwrap();
    let entries = entries(&index);
    for case in cases {
        let name = case["case"].as_str().unwrap();
        let file = folder.join(format!("{name}.acx"));
        let args = [
            "level",
            file.to_str().unwrap(),
            "--issuer-keys",
            "issuer-keys.json",
            "--format",
            "json",
        ];
        let shown = registry.run_with(&args, &[("SOURCE_DATE_EPOCH", SEPTEMBER)]);
        let shown = &shown.json()["files"][0];
        assert_eq!(
            shown["credentials"][0]["state"], case["verificationState"],
            "{name}"
        );
        if case["verdict"] == "reject" {
            assert!(!entries.contains_key(name), "{name}");
            continue;
        }
        let entry = &entries[name];
        for member in ["level", "levelClaim"] {
            assert_eq!(entry[member], case[member], "{name}: {member}");
            assert_eq!(shown[member], case[member], "{name}: {member}");
        }
        let claims: Vec<Value> = entry["capabilities"]
            .as_array()
            .unwrap()
            .iter()
            .map(|c| {
                json!({"taskType": c["taskType"], "claimedVerified": c["claimedVerified"],
                "verified": c["verified"], "verificationState": c["verificationState"]})
            })
            .collect();
        assert_eq!(Value::from(claims), case["capabilities"], "{name}");
    }
}

/// A credential that is made otherwise: its name, what is done before it is signed, the seed that signs it, what is done
/// after, and the state and part of the reason that come of it.
struct Case {
    name: &'static str,
    before: fn(&mut Value),
    seed: u8,
    after: fn(&mut Value),
    state: &'static str,
    reason: &'static str,
}

fn case(
    name: &'static str,
    before: fn(&mut Value),
    state: &'static str,
    reason: &'static str,
) -> Case {
    Case {
        name,
        before,
        seed: ISSUER_SEED,
        after: |_| {},
        state,
        reason,
    }
}

fn by(seed: u8, case: Case) -> Case {
    Case { seed, ..case }
}

fn then(after: fn(&mut Value), case: Case) -> Case {
    Case { after, ..case }
}

fn result(document: &mut Value) -> &mut Value {
    &mut document["credentialSubject"]["result"][0]
}

fn drop_member(document: &mut Value, name: &str) {
    document.as_object_mut().unwrap().remove(name).unwrap();
}

fn value_of(document: &mut Value, text: impl Into<Value>) {
    document["proof"]["proofValue"] = text.into();
}

/// Every row of the state table and every stricter rule, each tripped alone.
fn cases() -> Vec<Case> {
    let mut all = vec![
        case("fine", |_| {}, "verified", "proves it"),
        case(
            "proof-context",
            |d| d["proof"]["@context"] = d["@context"].clone(),
            "verified",
            "",
        ),
        case("no-id", |d| drop_member(d, "id"), "verified", ""),
        case(
            "until-later",
            |d| d["validUntil"] = "2026-09-01T00:00:00.001Z".into(),
            "verified",
            "",
        ),
        case("from-now", |d| d["validFrom"] = NOW.into(), "verified", ""),
        case(
            "more-contexts",
            |d| {
                d["@context"]
                    .as_array_mut()
                    .unwrap()
                    .push("https://x.example".into())
            },
            "verified",
            "",
        ),
        case(
            "texts",
            |d| {
                result(d)["acx:ratingMu"] = "29.6".into();
                result(d)["acx:ratingSigma"] = "1.2".into();
                result(d)["acx:gamesPlayed"] = "60".into();
                result(d)["acx:acxLevel"] = "26".into();
            },
            "verified",
            "",
        ),
        case(
            "least-games",
            |d| result(d)["acx:gamesPlayed"] = 30.into(),
            "verified",
            "",
        ),
        case(
            "whole-games",
            |d| result(d)["acx:gamesPlayed"] = json!(30.0),
            "verified",
            "",
        ),
        case(
            "slack-down",
            |d| result(d)["acx:ratingMu"] = json!(30.101),
            "verified",
            "",
        ),
        case(
            "slack-half",
            |d| {
                result(d)["acx:ratingMu"] = json!(29.099);
                result(d)["acx:ratingSigma"] = json!(1.2);
            },
            "verified",
            "",
        ),
        case(
            "level-zero",
            |d| {
                result(d)["acx:ratingMu"] = json!(-7);
                result(d)["acx:acxLevel"] = 0.into();
                result(d)["acx:careerTier"] = "intern".into();
            },
            "verified",
            "",
        ),
        case(
            "last-bit",
            |d| d["credentialStatus"]["statusListIndex"] = "131071".into(),
            "verified",
            "",
        ),
        case(
            "first-bit",
            |d| d["credentialStatus"]["statusListIndex"] = "0".into(),
            "verified",
            "",
        ),
        case(
            "zeros",
            |d| d["credentialStatus"]["statusListIndex"] = "0005".into(),
            "verified",
            "",
        ),
        by(
            33,
            case(
                "second-key",
                |d| d["proof"]["verificationMethod"] = format!("{ISSUER}#key-2").into(),
                "verified",
                "",
            ),
        ),
        // What needs no key.
        case(
            "bare-issuer",
            |d| d["issuer"] = ISSUER.into(),
            "invalid",
            "issuer: expected an object with a text `id`",
        ),
        case(
            "no-issuer",
            |d| drop_member(d, "issuer"),
            "invalid",
            "issuer: expected",
        ),
        case(
            "number-issuer",
            |d| d["issuer"]["id"] = 1.into(),
            "invalid",
            "issuer: expected",
        ),
        case(
            "no-method",
            |d| drop_member(&mut d["proof"], "verificationMethod"),
            "invalid",
            "proof.verificationMethod: expected a text",
        ),
        then(
            |d| d["proof"] = json!([d["proof"]]),
            case("two-proofs", |_| {}, "invalid", "proof.verificationMethod"),
        ),
        then(
            |d| drop_member(d, "proof"),
            case("no-proof", |_| {}, "invalid", "proof.verificationMethod"),
        ),
        by(
            OTHER_SEED,
            case(
                "foreign-method",
                |d| d["proof"]["verificationMethod"] = format!("{OTHER}#key-1").into(),
                "invalid",
                "expected a method of the issuer",
            ),
        ),
        case(
            "longer-method",
            |d| d["proof"]["verificationMethod"] = format!("{ISSUER}.evil#key-1").into(),
            "invalid",
            "expected a method of the issuer",
        ),
        case(
            "path-method",
            |d| d["proof"]["verificationMethod"] = format!("{ISSUER}/#key-1").into(),
            "invalid",
            "expected a method of the issuer",
        ),
        // Nobody can check it, though it is broken too.
        case(
            "unknown-issuer",
            |d| {
                d["issuer"]["id"] = "did:web:nobody.example".into();
                d["proof"]["verificationMethod"] = "did:web:nobody.example#key-1".into();
                result(d)["acx:ratingSigma"] = 9.into();
            },
            "unresolved",
            "no key for \"did:web:nobody.example#key-1\" is at hand",
        ),
        case(
            "unknown-method",
            |d| d["proof"]["verificationMethod"] = format!("{ISSUER}#key-9").into(),
            "unresolved",
            "no key for",
        ),
        case(
            "no-fragment",
            |d| d["proof"]["verificationMethod"] = ISSUER.into(),
            "unresolved",
            "no key for",
        ),
        case(
            "rdfc",
            |d| d["proof"]["cryptosuite"] = "eddsa-rdfc-2022".into(),
            "unresolved",
            "expected eddsa-jcs-2022",
        ),
        case(
            "no-suite",
            |d| drop_member(&mut d["proof"], "cryptosuite"),
            "unresolved",
            "found nothing",
        ),
        case(
            "other-owner",
            |d| d["issuer"]["id"] = METHOD.into(),
            "invalid",
            "is listed for the issuer",
        ),
        // The status is not known, though the proof may be broken too.
        case(
            "no-status",
            |d| drop_member(d, "credentialStatus"),
            "unresolved",
            "no status entry",
        ),
        case(
            "status-array",
            |d| d["credentialStatus"] = json!([d["credentialStatus"]]),
            "unresolved",
            "no status entry",
        ),
        case(
            "status-type",
            |d| d["credentialStatus"]["type"] = "StatusList2021Entry".into(),
            "unresolved",
            "no BitstringStatusListEntry",
        ),
        case(
            "status-purpose",
            |d| d["credentialStatus"]["statusPurpose"] = "suspension".into(),
            "unresolved",
            "expected revocation, found \"suspension\"",
        ),
        case(
            "status-size",
            |d| d["credentialStatus"]["statusSize"] = 2.into(),
            "unresolved",
            "statusSize: expected 1",
        ),
        case(
            "index-number",
            |d| d["credentialStatus"]["statusListIndex"] = 5.into(),
            "unresolved",
            "decimal digits as text",
        ),
        case(
            "index-sign",
            |d| d["credentialStatus"]["statusListIndex"] = "+5".into(),
            "unresolved",
            "decimal digits as text",
        ),
        case(
            "index-empty",
            |d| d["credentialStatus"]["statusListIndex"] = "".into(),
            "unresolved",
            "decimal digits as text",
        ),
        case(
            "index-exponent",
            |d| d["credentialStatus"]["statusListIndex"] = "1e1".into(),
            "unresolved",
            "decimal digits as text",
        ),
        case(
            "index-arabic",
            |d| d["credentialStatus"]["statusListIndex"] = "\u{665}".into(),
            "unresolved",
            "decimal digits as text",
        ),
        case(
            "index-beyond",
            |d| d["credentialStatus"]["statusListIndex"] = "131072".into(),
            "unresolved",
            "131072 is beyond the end",
        ),
        case(
            "index-huge",
            |d| d["credentialStatus"]["statusListIndex"] = "9".repeat(100_000).into(),
            "unresolved",
            "is beyond the end",
        ),
        case(
            "other-list",
            |d| {
                d["credentialStatus"]["statusListCredential"] =
                    "https://verifier.example/status/9".into()
            },
            "unresolved",
            "no status list \"https://verifier.example/status/9\" is at hand",
        ),
        case(
            "no-list",
            |d| drop_member(&mut d["credentialStatus"], "statusListCredential"),
            "unresolved",
            "statusListCredential: expected a text",
        ),
        then(
            |d| result(d)["acx:acxLevel"] = 40.into(),
            case(
                "no-status-forged",
                |d| drop_member(d, "credentialStatus"),
                "unresolved",
                "no status entry",
            ),
        ),
        case(
            "no-status-self",
            |d| {
                drop_member(d, "credentialStatus");
                d["credentialSubject"]["id"] = ISSUER.into();
            },
            "invalid",
            "self-issued: issuer and subject",
        ),
        // Revoked, whatever else it is.
        case(
            "revoked-self",
            |d| {
                d["credentialStatus"]["statusListIndex"] = REVOKED.into();
                d["credentialSubject"]["id"] = ISSUER.into();
            },
            "revoked",
            "is set",
        ),
        case(
            "revoked",
            |d| d["credentialStatus"]["statusListIndex"] = REVOKED.into(),
            "revoked",
            "status list \"https://verifier.example/status/1\" is set",
        ),
        then(
            |d| result(d)["acx:acxLevel"] = 40.into(),
            case(
                "revoked-forged",
                |d| d["credentialStatus"]["statusListIndex"] = REVOKED.into(),
                "revoked",
                "is set",
            ),
        ),
        case(
            "revoked-expired",
            |d| {
                d["credentialStatus"]["statusListIndex"] = REVOKED.into();
                d["validUntil"] = NOW.into();
            },
            "revoked",
            "is set",
        ),
        // The proof.
        then(
            |d| result(d)["acx:careerTier"] = "legend".into(),
            case(
                "changed",
                |_| {},
                "invalid",
                "the signature does not verify",
            ),
        ),
        then(
            |d| d["proof"]["created"] = NOW.into(),
            case(
                "changed-proof",
                |_| {},
                "invalid",
                "the signature does not verify",
            ),
        ),
        then(
            |d| d["evidence"] = json!([]),
            case("added", |_| {}, "invalid", "the signature does not verify"),
        ),
        by(
            33,
            case(
                "wrong-key",
                |_| {},
                "invalid",
                "the signature does not verify",
            ),
        ),
        case(
            "proof-type",
            |d| d["proof"]["type"] = "Ed25519Signature2020".into(),
            "invalid",
            "/proof/type: expected \"DataIntegrityProof\"",
        ),
        case(
            "proof-purpose",
            |d| d["proof"]["proofPurpose"] = "authentication".into(),
            "invalid",
            "/proof/proofPurpose: expected \"assertionMethod\"",
        ),
        case(
            "other-context",
            |d| d["proof"]["@context"] = json!(["https://www.w3.org/ns/credentials/v2"]),
            "invalid",
            "proof: @context: expected the document's",
        ),
        then(
            |d| drop_member(&mut d["proof"], "proofValue"),
            case(
                "no-value",
                |_| {},
                "invalid",
                "/proof/proofValue: the field is missing",
            ),
        ),
        then(
            |d| value_of(d, "z"),
            case("empty-value", |_| {}, "invalid", "/proof/proofValue"),
        ),
        then(
            |d| value_of(d, 7),
            case("number-value", |_| {}, "invalid", "/proof/proofValue"),
        ),
        then(
            |d| {
                let v = d["proof"]["proofValue"]
                    .as_str()
                    .unwrap()
                    .trim_start_matches('z')
                    .to_owned();
                value_of(d, v)
            },
            case("no-multibase", |_| {}, "invalid", "/proof/proofValue"),
        ),
        then(
            |d| value_of(d, format!("z{}", base58(&[1; 63]))),
            case("short-value", |_| {}, "invalid", "base58 of 64 bytes"),
        ),
        then(
            |d| value_of(d, format!("z{}", base58(&[1; 65]))),
            case("long-value", |_| {}, "invalid", "base58 of 64 bytes"),
        ),
        then(
            |d| value_of(d, format!("z{}", "0".repeat(87))),
            case("no-base58", |_| {}, "invalid", "/proof/proofValue"),
        ),
        then(
            |d| value_of(d, format!("z{}", "1".repeat(64))),
            case(
                "zero-value",
                |_| {},
                "invalid",
                "the signature does not verify",
            ),
        ),
        then(
            |d| value_of(d, format!("z{}", "z".repeat(1_000_000))),
            case("value-bomb", |_| {}, "invalid", "/proof/proofValue"),
        ),
        // The form.
        case(
            "contexts-order",
            |d| d["@context"].as_array_mut().unwrap().swap(0, 1),
            "invalid",
            "/@context/0",
        ),
        case(
            "contexts-few",
            |d| {
                d["@context"].as_array_mut().unwrap().pop();
            },
            "invalid",
            "/@context",
        ),
        case(
            "no-badge",
            |d| d["type"] = json!(["VerifiableCredential"]),
            "invalid",
            "/type",
        ),
        case(
            "no-vc",
            |d| d["type"] = json!(["OpenBadgeCredential"]),
            "invalid",
            "/type",
        ),
        case(
            "subject-type",
            |d| d["credentialSubject"]["type"] = json!(["Profile"]),
            "invalid",
            "/credentialSubject/type",
        ),
        case(
            "no-subject",
            |d| drop_member(&mut d["credentialSubject"], "id"),
            "invalid",
            "/credentialSubject/id",
        ),
        case(
            "no-result",
            |d| d["credentialSubject"]["result"] = json!([]),
            "invalid",
            "/credentialSubject/result",
        ),
        // Time.
        case(
            "not-yet",
            |d| d["validFrom"] = "2026-09-01T00:00:00.001Z".into(),
            "invalid",
            "validFrom: it holds from",
        ),
        case(
            "expired",
            |d| d["validUntil"] = NOW.into(),
            "invalid",
            "validUntil: it held until",
        ),
        case(
            "no-from",
            |d| drop_member(d, "validFrom"),
            "invalid",
            "/validFrom: the field is missing",
        ),
        case(
            "bad-from",
            |d| d["validFrom"] = "yesterday".into(),
            "invalid",
            "/validFrom",
        ),
        case(
            "bad-until",
            |d| d["validUntil"] = "2026-02-30T00:00:00Z".into(),
            "invalid",
            "/validUntil",
        ),
        // Who is who.
        case(
            "self",
            |d| d["credentialSubject"]["id"] = ISSUER.into(),
            "invalid",
            "self-issued: issuer and subject",
        ),
        case(
            "self-fragment",
            |d| d["credentialSubject"]["id"] = format!("{ISSUER}#me").into(),
            "invalid",
            "self-issued: issuer and subject",
        ),
        // What it is about.
        case(
            "other-rom",
            |d| result(d)["acx:cartridgeRomDigest"] = keys::sha256(b"other").into(),
            "invalid",
            "the ROM of this cartridge",
        ),
        case(
            "upper-rom",
            |d| {
                let rom = result(d)["acx:cartridgeRomDigest"]
                    .as_str()
                    .unwrap()
                    .to_uppercase();
                result(d)["acx:cartridgeRomDigest"] = rom.into();
            },
            "invalid",
            "the ROM of this cartridge",
        ),
        case(
            "no-rom",
            |d| drop_member(result(d), "acx:cartridgeRomDigest"),
            "invalid",
            "acx:cartridgeRomDigest: the field is missing",
        ),
        // The gate.
        case(
            "sigma-wide",
            |d| {
                result(d)["acx:ratingSigma"] = json!(1.5);
                result(d)["acx:ratingMu"] = json!(30.5);
            },
            "invalid",
            "acx:ratingSigma: expected more than 0 and less than 1.5, found 1.5",
        ),
        case(
            "sigma-zero",
            |d| {
                result(d)["acx:ratingSigma"] = 0.into();
                result(d)["acx:ratingMu"] = 26.into();
            },
            "invalid",
            "acx:ratingSigma: expected more than 0",
        ),
        case(
            "sigma-negative",
            |d| {
                result(d)["acx:ratingSigma"] = (-1).into();
                result(d)["acx:ratingMu"] = 23.into();
            },
            "invalid",
            "acx:ratingSigma: expected more than 0",
        ),
        case(
            "sigma-low",
            |d| result(d)["acx:ratingSigma"] = "low".into(),
            "invalid",
            "acx:ratingSigma: expected a number",
        ),
        case(
            "no-sigma",
            |d| drop_member(result(d), "acx:ratingSigma"),
            "invalid",
            "acx:ratingSigma: the field is missing",
        ),
        case(
            "few-games",
            |d| result(d)["acx:gamesPlayed"] = 29.into(),
            "invalid",
            "acx:gamesPlayed: expected an integer of at least 30, found 29",
        ),
        case(
            "half-games",
            |d| result(d)["acx:gamesPlayed"] = json!(30.5),
            "invalid",
            "acx:gamesPlayed: expected an integer of at least 30, found 30.5",
        ),
        case(
            "no-games",
            |d| result(d)["acx:gamesPlayed"] = Value::Null,
            "invalid",
            "acx:gamesPlayed: expected a number",
        ),
        case(
            "mu-text",
            |d| result(d)["acx:ratingMu"] = " 29.6".into(),
            "invalid",
            "acx:ratingMu: expected a number",
        ),
        case(
            "raised",
            |d| result(d)["acx:acxLevel"] = 27.into(),
            "invalid",
            "acx:acxLevel: expected 26",
        ),
        case(
            "lowered",
            |d| result(d)["acx:acxLevel"] = 25.into(),
            "invalid",
            "acx:acxLevel: expected 26",
        ),
        case(
            "half-level",
            |d| result(d)["acx:acxLevel"] = json!(26.5),
            "invalid",
            "acx:acxLevel: expected 26",
        ),
        case(
            "beyond-slack",
            |d| result(d)["acx:ratingMu"] = json!(29.097),
            "invalid",
            "acx:acxLevel: expected 25",
        ),
        case(
            "below-zero",
            |d| {
                result(d)["acx:ratingMu"] = json!(-7);
                result(d)["acx:acxLevel"] = (-11).into();
                result(d)["acx:careerTier"] = "intern".into()
            },
            "invalid",
            "acx:acxLevel: expected 0",
        ),
        case(
            "tier",
            |d| result(d)["acx:careerTier"] = "staff".into(),
            "invalid",
            "acx:careerTier: expected \"principal\", the tier of level 26, found \"staff\"",
        ),
        case(
            "tier-case",
            |d| result(d)["acx:careerTier"] = "Principal".into(),
            "invalid",
            "acx:careerTier: expected",
        ),
    ];
    for name in [
        "tier-legend",
        "tier-distinguished",
        "tier-staff",
        "tier-senior",
        "tier-mid",
        "tier-junior",
        "tier-intern",
    ] {
        all.push(case(name, |_| {}, "verified", ""));
    }
    all
}

/// The levels of the tiers' cases.
fn rating(name: &str) -> Option<(i64, f64)> {
    Some(match name {
        "tier-legend" => (35, 38.6),
        "tier-distinguished" => (34, 37.6),
        "tier-staff" => (24, 27.6),
        "tier-senior" => (15, 18.6),
        "tier-mid" => (14, 17.6),
        "tier-junior" => (5, 8.6),
        "tier-intern" => (4, 7.6),
        _ => return None,
    })
}

/// A cartridge with one credential that is made otherwise.
fn made(case: &Case) -> Builder {
    let mut builder = cartridge(case.name);
    let mut document = credential(&builder.manifest_hash());
    if let Some((level, mu)) = rating(case.name) {
        result(&mut document)["acx:acxLevel"] = level.into();
        result(&mut document)["acx:ratingMu"] = mu.into();
        result(&mut document)["acx:careerTier"] = case.name.trim_start_matches("tier-").into();
    }
    (case.before)(&mut document);
    sign(&mut document, case.seed);
    (case.after)(&mut document);
    builder.attestations = vec![attestation("level-1", &document.to_string())];
    builder
}

fn at(registry: &TempRegistry, args: &[&str]) -> Output {
    registry.run_with(args, &[("SOURCE_DATE_EPOCH", SEPTEMBER)])
}

/// The credentials of a cartridge by `acx level`.
fn explained(registry: &TempRegistry, path: &str, keys: &str) -> Value {
    at(
        registry,
        &["level", path, "--issuer-keys", keys, "--format", "json"],
    )
    .json()["files"][0]
        .clone()
}

#[test]
fn every_row_of_the_state_table() {
    let registry = TempRegistry::new();
    registry.put(
        "issuer-keys.json",
        issuer_keys(&[signed_list(&[9])]).to_string(),
    );
    let cases = cases();
    let paths: Vec<String> = cases
        .iter()
        .map(|case| registry.cartridge(&made(case)))
        .collect();
    let out = registry.build_at(SEPTEMBER, &[]);
    // Nothing is rejected for its credential.
    assert_eq!(out.status, 0, "{:.2000}", out.stdout);
    let index = registry.index().unwrap();
    let entries = entries(&index);
    let mut args = vec![
        "level",
        "--issuer-keys",
        "issuer-keys.json",
        "--format",
        "json",
    ];
    args.extend(paths.iter().map(String::as_str));
    let out = at(&registry, &args);
    assert_eq!(out.status, 1);
    let shown = out.json();
    for (at, case) in cases.iter().enumerate() {
        let (name, file) = (case.name, &shown["files"][at]);
        let one = &file["credentials"][0];
        assert_eq!(one["state"], case.state, "{name}: {one:#}");
        let reason = one["reason"].as_str().unwrap();
        assert!(reason.contains(case.reason), "{name}: {reason}");
        assert!(reason.len() < 1200, "{name}");
        let entry = &entries[name];
        assert_eq!(entry["levelClaim"], file["levelClaim"], "{name}");
        assert_eq!(
            entry["levelClaim"]["verificationState"], case.state,
            "{name}"
        );
        assert_eq!(entry["level"], file["level"], "{name}");
        let proven = case.state == "verified";
        if proven {
            let (level, tier) = match rating(name) {
                Some((level, _)) => (level, name.trim_start_matches("tier-")),
                None if name == "level-zero" => (0, "intern"),
                None => (26, "principal"),
            };
            let expected = json!({"acxLevel": level, "careerTier": tier, "boundToRom": true, "proven": true,
                "verificationState": "verified"});
            assert_eq!(entry["level"], expected, "{name}");
        } else {
            assert_eq!(entry["level"], Value::Null, "{name}");
        }
        let mut expected = vec![
            (proven.into(), case.state.into()),
            (false.into(), "unresolved".into()),
        ];
        let mut found = states(entry);
        expected.sort_by_key(|(_, state): &(Value, Value)| state.to_string());
        found.sort_by_key(|(_, state)| state.to_string());
        assert_eq!(found, expected, "{name}");
    }
    let keyid = index_keyid();
    let out = at(&registry, &["verify-index", "--keyid", &keyid]);
    assert_eq!(out.status, 0, "{:.2000}", out.stdout);
    // Without keys every claim stays unproven, and what needs no key is still said.
    registry.remove("issuer-keys.json");
    assert_eq!(registry.build_at(SEPTEMBER, &[]).status, 0);
    for (name, entry) in self::entries(&registry.index().unwrap()) {
        assert_eq!(entry["level"], Value::Null, "{name}");
        let state = entry["levelClaim"]["verificationState"].as_str().unwrap();
        let without_a_key = [
            "bare-issuer",
            "no-issuer",
            "number-issuer",
            "no-method",
            "two-proofs",
            "no-proof",
            "foreign-method",
            "longer-method",
            "path-method",
        ];
        let expected = if without_a_key.contains(&name.as_str()) {
            "invalid"
        } else {
            "unresolved"
        };
        assert_eq!(state, expected, "{name}");
    }
}

#[test]
fn what_is_no_credential_at_all() {
    let registry = TempRegistry::new();
    registry.put("issuer-keys.json", issuer_keys(&[]).to_string());
    let deep = format!("{}1{}", "[".repeat(99), "]".repeat(99));
    for (id, document) in [
        ("list", "[]"),
        ("number", "42"),
        ("empty", "{}"),
        ("deep", deep.as_str()),
    ] {
        let mut builder = cartridge(id);
        builder.attestations = vec![attestation("level-1", document)];
        registry.cartridge(&builder);
    }
    let out = registry.build_at(SEPTEMBER, &[]);
    assert_eq!(out.status, 0, "{:.2000}", out.stdout);
    for (id, entry) in entries(&registry.index().unwrap()) {
        let claim = json!({"acxLevel": null, "careerTier": null, "verificationState": "invalid"});
        assert_eq!(entry["levelClaim"], claim, "{id}");
    }
    // What is no JSON makes the package unclean.
    let deeper = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    for (id, document) in [
        ("text", "level 26"),
        ("twice", r#"{"id":1,"id":2}"#),
        ("deeper", deeper.as_str()),
    ] {
        let mut builder = cartridge(id);
        builder.attestations = vec![attestation("level-1", document)];
        let path = registry.cartridge(&builder);
        let file = explained(&registry, &path, "issuer-keys.json");
        assert_eq!(file["credentials"][0]["state"], "invalid", "{id}");
        let reason = file["credentials"][0]["reason"].as_str().unwrap();
        assert!(
            reason.starts_with("the document is not JSON"),
            "{id}: {reason}"
        );
        let out = registry.build_at(SEPTEMBER, &[]).json();
        assert_eq!(
            out["rejected"][0]["findings"][0]["code"], "attestation-json",
            "{id}"
        );
        registry.remove(&path);
    }
}

#[test]
fn the_roms_signer_is_no_issuer() {
    // The signer's key under another name; also as another key than the one that made the proof.
    for (seed, method) in [
        (PUBLISHER_SEED, "did:web:audit.example#key-1"),
        (40, "did:web:audit.example#key-2"),
    ] {
        let registry = TempRegistry::new();
        let mut builder = cartridge("own-audit");
        let mut document = credential(&builder.manifest_hash());
        document["issuer"]["id"] = "did:web:audit.example".into();
        document["proof"]["verificationMethod"] = method.into();
        sign(&mut document, seed);
        builder.attestations = vec![attestation("level-1", &document.to_string())];
        let path = registry.cartridge(&builder);
        let mut list = status_list(LIST, &encoded(&gzip(&bits(&[]))));
        list["issuer"] = json!({"id": "did:web:audit.example"});
        list["proof"]["verificationMethod"] = method.into();
        sign(&mut list, seed);
        let mut file = issuer_keys(&[list]);
        file["issuers"] = json!([{"id": "did:web:audit.example", "keys": [
            key("did:web:audit.example#key-1", PUBLISHER_SEED), key("did:web:audit.example#key-2", 40)]}]);
        registry.put("issuer-keys.json", file.to_string());
        let one = explained(&registry, &path, "issuer-keys.json")["credentials"][0].clone();
        assert_eq!(one["state"], "invalid", "{one:#}");
        let reason = one["reason"].as_str().unwrap();
        assert!(
            reason.starts_with("self-issued under another name: ed25519:"),
            "{reason}"
        );
        assert_eq!(registry.build_at(SEPTEMBER, &[]).status, 0);
        assert_eq!(
            entries(&registry.index().unwrap())["own-audit"]["level"],
            Value::Null
        );
    }
}

#[test]
fn a_key_for_the_issuer_as_a_whole() {
    let registry = TempRegistry::new();
    let path = registry.cartridge(&made(&case("fine", |_| {}, "", "")));
    let mut file = issuer_keys(&[signed_list(&[9])]);
    file["issuers"][0]["keys"] = json!([key(ISSUER, ISSUER_SEED)]);
    registry.put("issuer-keys.json", file.to_string());
    let one = explained(&registry, &path, "issuer-keys.json")["credentials"][0].clone();
    assert_eq!(one["state"], "verified", "{one:#}");
}

#[test]
fn nothing_is_proven_of_a_rom_that_nobody_signed() {
    let registry = TempRegistry::new();
    registry.put(
        "issuer-keys.json",
        issuer_keys(&[signed_list(&[])]).to_string(),
    );
    let mut builder = made(&case("unsigned", |_| {}, "", ""));
    builder.envelope.absent = true;
    let path = registry.cartridge(&builder);
    let file = explained(&registry, &path, "issuer-keys.json");
    assert_eq!(file["level"], Value::Null);
    assert_eq!(file["credentials"][0]["state"], "invalid");
    let reason = file["credentials"][0]["reason"].as_str().unwrap();
    assert!(
        reason.starts_with("no signature of the ROM holds"),
        "{reason}"
    );
    // Nor of one that was changed, whose own digest the credential would fit.
    let mut builder = made(&case("changed", |_| {}, "", ""));
    builder.sql("UPDATE cartridge SET value='Another' WHERE key='acx.agent_name'");
    let path = registry.cartridge(&builder);
    assert_eq!(
        explained(&registry, &path, "issuer-keys.json")["level"],
        Value::Null
    );
}

#[test]
fn status_lists_that_do_not_count() {
    let registry = TempRegistry::new();
    let path = registry.cartridge(&made(&case("fine", |_| {}, "", "")));
    let good = bits(&[]);
    let set = bits(&[5]);
    let list = |edit: &dyn Fn(&mut Value), packed: &[u8], seed: u8, after: &dyn Fn(&mut Value)| {
        let mut list = status_list(LIST, &encoded(packed));
        edit(&mut list);
        sign(&mut list, seed);
        after(&mut list);
        list
    };
    let keep = |_: &mut Value| {};
    let mut short = good.clone();
    short.pop();
    let bomb = gzip(&vec![0; (16 << 20) + 1]);
    let largest = gzip(&vec![0; 16 << 20]);
    assert!(bomb.len() < 64 << 10);
    let mut cut = gzip(&good);
    cut.truncate(cut.len() - 4);
    let mut sum = gzip(&good);
    let crc = sum.len() - 8;
    sum[crc] ^= 1;
    for (name, list, expected, reason) in [
        (
            "good",
            list(&keep, &gzip(&good), ISSUER_SEED, &keep),
            "verified",
            "",
        ),
        (
            "set",
            list(&keep, &gzip(&set), ISSUER_SEED, &keep),
            "revoked",
            "",
        ),
        (
            "largest",
            list(&keep, &largest, ISSUER_SEED, &keep),
            "verified",
            "",
        ),
        (
            "issuer as an object",
            list(
                &|l| l["issuer"] = json!({"id": ISSUER}),
                &gzip(&good),
                ISSUER_SEED,
                &keep,
            ),
            "verified",
            "",
        ),
        (
            "proof with a context",
            list(
                &|l| l["proof"]["@context"] = l["@context"].clone(),
                &gzip(&good),
                ISSUER_SEED,
                &keep,
            ),
            "verified",
            "",
        ),
        (
            "bomb",
            list(&keep, &bomb, ISSUER_SEED, &keep),
            "unresolved",
            "it unpacks to more than 16777216 bytes",
        ),
        (
            "short",
            list(&keep, &gzip(&short), ISSUER_SEED, &keep),
            "unresolved",
            "expected at least 16384 bytes unpacked, found 16383",
        ),
        (
            "empty",
            list(&keep, &gzip(b""), ISSUER_SEED, &keep),
            "unresolved",
            "found 0",
        ),
        (
            "no gzip",
            list(&keep, &good, ISSUER_SEED, &keep),
            "unresolved",
            "expected a gzip",
        ),
        (
            "cut",
            list(&keep, &cut, ISSUER_SEED, &keep),
            "unresolved",
            "expected a gzip",
        ),
        (
            "sum",
            list(&keep, &sum, ISSUER_SEED, &keep),
            "unresolved",
            "expected a gzip",
        ),
        (
            "more",
            list(
                &keep,
                &[gzip(&good), b"x".to_vec()].concat(),
                ISSUER_SEED,
                &keep,
            ),
            "unresolved",
            "1 bytes follow the gzip",
        ),
        (
            "two members",
            list(
                &keep,
                &[gzip(&good), gzip(&set)].concat(),
                ISSUER_SEED,
                &keep,
            ),
            "unresolved",
            "bytes follow the gzip",
        ),
        (
            "padded",
            list(
                &|l| {
                    let text = format!(
                        "{}=",
                        l["credentialSubject"]["encodedList"].as_str().unwrap()
                    );
                    l["credentialSubject"]["encodedList"] = text.into();
                },
                &gzip(&good),
                ISSUER_SEED,
                &keep,
            ),
            "unresolved",
            "base64url without padding",
        ),
        (
            "no multibase",
            list(
                &|l| {
                    let text =
                        l["credentialSubject"]["encodedList"].as_str().unwrap()[1..].to_owned();
                    l["credentialSubject"]["encodedList"] = text.into();
                },
                &gzip(&good),
                ISSUER_SEED,
                &keep,
            ),
            "unresolved",
            "base64url without padding",
        ),
        (
            "no list",
            list(
                &|l| drop_member(&mut l["credentialSubject"], "encodedList"),
                &gzip(&good),
                ISSUER_SEED,
                &keep,
            ),
            "unresolved",
            "it has no encodedList",
        ),
        (
            "suspension",
            list(
                &|l| l["credentialSubject"]["statusPurpose"] = "suspension".into(),
                &gzip(&good),
                ISSUER_SEED,
                &keep,
            ),
            "unresolved",
            "its purpose: expected revocation",
        ),
        (
            "type",
            list(
                &|l| l["type"] = json!(["VerifiableCredential"]),
                &gzip(&good),
                ISSUER_SEED,
                &keep,
            ),
            "unresolved",
            "it is no BitstringStatusListCredential",
        ),
        (
            "subject type",
            list(
                &|l| l["credentialSubject"]["type"] = "StatusList2021".into(),
                &gzip(&good),
                ISSUER_SEED,
                &keep,
            ),
            "unresolved",
            "it is no BitstringStatusList",
        ),
        (
            "expired",
            list(
                &|l| l["validUntil"] = NOW.into(),
                &gzip(&good),
                ISSUER_SEED,
                &keep,
            ),
            "unresolved",
            "validUntil: it held until",
        ),
        (
            "expired and set",
            list(
                &|l| l["validUntil"] = NOW.into(),
                &gzip(&set),
                ISSUER_SEED,
                &keep,
            ),
            "unresolved",
            "validUntil: it held until",
        ),
        (
            "not yet",
            list(
                &|l| l["validFrom"] = "2026-09-02T00:00:00Z".into(),
                &gzip(&good),
                ISSUER_SEED,
                &keep,
            ),
            "unresolved",
            "validFrom: it holds from",
        ),
        (
            "other key",
            list(&keep, &gzip(&set), OTHER_SEED, &keep),
            "unresolved",
            "its proof: the signature does not verify",
        ),
        (
            "changed",
            list(&keep, &gzip(&set), ISSUER_SEED, &|l| {
                l["credentialSubject"]["encodedList"] = encoded(&gzip(&good)).into()
            }),
            "unresolved",
            "its proof: the signature does not verify",
        ),
        (
            "no proof",
            list(&keep, &gzip(&good), ISSUER_SEED, &|l| {
                drop_member(l, "proof")
            }),
            "unresolved",
            "its proof names no method of its issuer",
        ),
        (
            "purpose of the proof",
            list(
                &|l| l["proof"]["proofPurpose"] = "authentication".into(),
                &gzip(&good),
                ISSUER_SEED,
                &keep,
            ),
            "unresolved",
            "its proof: proofPurpose: expected assertionMethod",
        ),
        (
            "another suite",
            list(
                &|l| l["proof"]["cryptosuite"] = "eddsa-rdfc-2022".into(),
                &gzip(&good),
                ISSUER_SEED,
                &keep,
            ),
            "unresolved",
            "its proof: cryptosuite: expected eddsa-jcs-2022",
        ),
        (
            "another issuer's",
            list(
                &|l| {
                    l["issuer"] = OTHER.into();
                    l["proof"]["verificationMethod"] = format!("{OTHER}#key-1").into();
                },
                &gzip(&set),
                OTHER_SEED,
                &keep,
            ),
            "unresolved",
            "not the issuer's",
        ),
        (
            "a foreign proof",
            list(
                &|l| l["proof"]["verificationMethod"] = format!("{OTHER}#key-1").into(),
                &gzip(&set),
                OTHER_SEED,
                &keep,
            ),
            "unresolved",
            "its proof names no method of its issuer",
        ),
        (
            "unknown key",
            list(
                &|l| l["proof"]["verificationMethod"] = format!("{ISSUER}#key-9").into(),
                &gzip(&set),
                ISSUER_SEED,
                &keep,
            ),
            "unresolved",
            "no key for",
        ),
    ] {
        registry.put("issuer-keys.json", issuer_keys(&[list]).to_string());
        let one = explained(&registry, &path, "issuer-keys.json")["credentials"][0].clone();
        assert_eq!(one["state"], expected, "{name}: {one:#}");
        let found = one["reason"].as_str().unwrap();
        assert!(found.contains(reason), "{name}: {found}");
    }
}

#[test]
fn status_lists_take_no_more_memory_together_than_four_of_the_largest() {
    let registry = TempRegistry::new();
    let path = registry.cartridge(&made(&case("fine", |_| {}, "", "")));
    let signed = |id: &str, packed: &[u8]| {
        let mut list = status_list(id, &encoded(packed));
        sign(&mut list, ISSUER_SEED);
        list
    };
    let large = |n| signed(&format!("{LIST}/{n}"), &gzip(&vec![0; 16 << 20]));
    for (before, state, reason) in [
        (3, "verified", "proves it"),
        (
            4,
            "unresolved",
            "it unpacks to more than 0 bytes, what the lists before it left of 67108864",
        ),
    ] {
        let mut lists: Vec<Value> = (0..before).map(large).collect();
        lists.push(signed(LIST, &gzip(&bits(&[]))));
        registry.put("issuer-keys.json", issuer_keys(&lists).to_string());
        let one = explained(&registry, &path, "issuer-keys.json")["credentials"][0].clone();
        assert_eq!(one["state"], state, "{before}: {one:#}");
        let found = one["reason"].as_str().unwrap();
        assert!(found.contains(reason), "{before}: {found}");
    }
}

#[test]
fn a_forged_claim_beside_a_proven_one_never_reads_verified() {
    let registry = TempRegistry::new();
    registry.put(
        "issuer-keys.json",
        issuer_keys(&[signed_list(&[9])]).to_string(),
    );
    let mut builder = cartridge("two-claims");
    let claim = |task: &str, named: &[&str]| {
        let mut claim = capability(task, &["pkg:cargo/serde"], "backend");
        let refs = named
            .iter()
            .map(|name| json!({"kind": "level-attestation", "ref": name}));
        claim["evidenceRefs"] = refs.collect();
        Capability::sealed(claim)
    };
    builder.capabilities = vec![
        claim("debug", &["forged"]),
        claim("build-dag", &["forged", "urn:proven"]),
        claim(
            "implement-feature",
            &["https://verifier.example/status/1#5"],
        ),
        claim("review", &["revoked", "forged"]),
        claim("write-tests", &["unknown", "forged"]),
        claim("refactor", &["unknown"]),
    ];
    for name in ["forged", "proven", "revoked", "unknown"] {
        builder.attestations.push(attestation(name, "{}"));
    }
    builder.attestations.remove(0);
    let rom = builder.manifest_hash();
    let mut documents = BTreeMap::new();
    for name in ["forged", "proven", "revoked", "unknown"] {
        let mut document = credential(&rom);
        document["id"] = format!("urn:{name}").into();
        document["credentialStatus"]["id"] =
            format!("{LIST}#{}", if name == "proven" { "5" } else { name }).into();
        match name {
            "revoked" => document["credentialStatus"]["statusListIndex"] = REVOKED.into(),
            "unknown" => document["proof"]["verificationMethod"] = format!("{ISSUER}#key-9").into(),
            _ => {}
        }
        sign(&mut document, ISSUER_SEED);
        if name == "forged" {
            result(&mut document)["acx:acxLevel"] = 45.into();
            result(&mut document)["acx:careerTier"] = "legend".into();
        }
        documents.insert(name, document);
    }
    builder.attestations = documents
        .iter()
        .map(|(name, document)| attestation(name, &document.to_string()))
        .collect();
    let path = registry.cartridge(&builder);
    let out = registry.build_at(SEPTEMBER, &[]);
    assert_eq!(out.status, 0, "{:.2000}", out.stdout);
    let entry = entries(&registry.index().unwrap())["two-claims"].clone();
    assert_eq!(
        entry["levelClaim"],
        json!({"acxLevel": 45, "careerTier": "legend", "verificationState": "invalid"})
    );
    assert_eq!(entry["level"]["acxLevel"], 26);
    let found: BTreeMap<String, Value> = entry["capabilities"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| {
            assert_eq!(c["claimedVerified"], false);
            assert_eq!(c["verified"], c["verificationState"] == "verified");
            (
                c["taskType"].as_str().unwrap().to_owned(),
                c["verificationState"].clone(),
            )
        })
        .collect();
    let expected = [
        ("debug", "invalid"),
        ("build-dag", "verified"),
        ("implement-feature", "verified"),
        ("review", "revoked"),
        ("write-tests", "invalid"),
        ("refactor", "unresolved"),
    ]
    .map(|(task, state)| (task.to_owned(), Value::from(state)))
    .into();
    assert_eq!(found, expected);
    // Inspect and `level` say the same.
    let out = at(
        &registry,
        &[
            "inspect",
            &path,
            "--issuer-keys",
            "issuer-keys.json",
            "--format",
            "json",
        ],
    )
    .json();
    let file = &out["files"][0];
    assert_eq!(
        (&file["level"], &file["levelClaim"]),
        (&entry["level"], &entry["levelClaim"])
    );
    let inspected: BTreeMap<String, Value> = file["capabilities"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| {
            (
                c["taskType"].as_str().unwrap().to_owned(),
                c["verificationState"].clone(),
            )
        })
        .collect();
    assert_eq!(inspected, found);
    let human = at(
        &registry,
        &["inspect", &path, "--issuer-keys", "issuer-keys.json"],
    )
    .stdout;
    assert!(
        human.contains("level      26 principal verified\n"),
        "{human}"
    );
    assert!(human.contains("claims     45 legend invalid\n"), "{human}");
    let human = at(
        &registry,
        &["level", &path, "--issuer-keys", "issuer-keys.json"],
    )
    .stdout;
    assert!(
        human.contains("level 26 principal, proven; claims 45 legend (invalid)\n"),
        "{human}"
    );
    assert!(
        human.contains("forged: invalid: proof: the signature does not verify"),
        "{human}"
    );
    assert!(
        human.contains("revoked: revoked: its bit in the issuer's status list"),
        "{human}"
    );
    assert!(human.contains("unknown: unresolved: no key for"), "{human}");
    assert!(
        human.contains("  rating     mu 29.6, sigma 1.2, 60 games\n"),
        "{human}"
    );
    assert!(
        human.contains("  holds      the proof verifies by that key\n"),
        "{human}"
    );
    let human = at(&registry, &["level", &path]);
    assert!(
        human
            .stdout
            .contains("no level is proven; claims 45 legend (unresolved)\n"),
        "{human:#?}"
    );
    assert_eq!(human.status, 0);
    as_the_index_says(&registry, &path, &entry);
}

/// `check` and `verify` say of levels what the index says, with the keys that are given, with a registry's own, and with none.
fn as_the_index_says(registry: &TempRegistry, path: &str, entry: &Value) {
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/schemas/report.schema.json");
    let schema = jsonschema::validator_for(&read_json(schema.as_ref())).unwrap();
    let given = ["--issuer-keys", "issuer-keys.json"];
    for args in [
        [&["check", path][..], &given[..]].concat(),
        vec!["check", path, "--registry", "."],
        [&["verify", path][..], &given[..]].concat(),
    ] {
        let out = at(registry, &[&args[..], &["--format", "json"]].concat());
        assert_eq!(out.status, 0, "{args:?}: {}", out.stdout);
        schema.validate(&out.json()).unwrap();
        let levels = out.json()["files"][0]["levels"].clone();
        for member in ["level", "levelClaim", "capabilities"] {
            assert_eq!(levels[member], entry[member], "{args:?}: {member}");
        }
        let states: Vec<(&str, &str)> = levels["credentials"]
            .as_array()
            .unwrap()
            .iter()
            .map(|c| (c["attId"].as_str().unwrap(), c["state"].as_str().unwrap()))
            .collect();
        let expected = [
            ("forged", "invalid"),
            ("proven", "verified"),
            ("revoked", "revoked"),
            ("unknown", "unresolved"),
        ];
        assert_eq!(states, expected, "{args:?}");
        let human = at(registry, &args).stdout;
        for line in [
            "  level 26 principal, proven; claims 45 legend (invalid)\n",
            "  credential forged: invalid: proof: the signature does not verify",
            "  credential proven: verified: ",
            "  credential revoked: revoked: ",
            "  credential unknown: unresolved: no key for",
            "  capability debug (backend): invalid\n",
            "  capability implement-feature (backend): verified\n",
        ] {
            assert!(human.contains(line), "{args:?}: {line}\n{human}");
        }
    }
    for command in ["check", "verify"] {
        let out = at(registry, &[command, path, "--format", "json"]);
        assert_eq!(out.status, 0, "{}", out.stdout);
        let levels = out.json()["files"][0]["levels"].clone();
        assert_eq!(levels["level"], Value::Null);
        assert_eq!(levels["levelClaim"]["verificationState"], "unresolved");
        for c in levels["credentials"].as_array().unwrap() {
            assert_eq!(c["state"], "unresolved", "{c}");
        }
        for c in levels["capabilities"].as_array().unwrap() {
            assert_eq!(
                (&c["verified"], &c["verificationState"]),
                (&json!(false), &json!("unresolved"))
            );
        }
        let human = at(registry, &[command, path]).stdout;
        assert!(
            human.contains("  no level is proven; claims 45 legend (unresolved)\n"),
            "{human}"
        );
    }
    // A registry that pins its issuers' keys is not judged by others.
    let pin = format!("sha256:{}", "0".repeat(64));
    registry.policy(&format!("[levels]\nissuer_keys_sha256 = \"{pin}\"\n"));
    let out = at(registry, &["check", path, "--registry", "."]);
    assert_eq!((out.status, out.stdout.as_str()), (2, ""), "{out:#?}");
    assert!(
        out.stderr.contains("[levels] issuer_keys_sha256"),
        "{out:#?}"
    );
}

#[test]
fn what_holds_no_credential_or_is_rejected_has_no_levels() {
    let registry = TempRegistry::new();
    registry.put(
        "issuer-keys.json",
        issuer_keys(&[signed_list(&[9])]).to_string(),
    );
    let plain = registry.cartridge(&Builder::valid("io.github.acme", "plain", "1.0.0"));
    for command in ["check", "verify"] {
        let args = [command, &plain, "--issuer-keys", "issuer-keys.json"];
        let out = at(&registry, &[&args[..], &["--format", "json"]].concat());
        assert_eq!(out.status, 0, "{}", out.stdout);
        assert_eq!(out.json()["files"][0].get("levels"), None, "{command}");
        assert!(!at(&registry, &args).stdout.contains("level"), "{command}");
    }
    // Nobody signed this one: it is not listed, and a proof about nobody's ROM proves nothing.
    let mut builder = made(&case("unsigned", |_| {}, "", ""));
    builder.envelope.absent = true;
    let path = registry.cartridge(&builder);
    let args = ["--issuer-keys", "issuer-keys.json", "--format", "json"];
    let out = at(&registry, &[&["check", &path][..], &args[..]].concat());
    assert_eq!(out.status, 1);
    assert_eq!(out.json()["files"][0].get("levels"), None);
    let out = at(&registry, &[&["verify", &path][..], &args[..]].concat());
    let levels = &out.json()["files"][0]["levels"];
    assert_eq!(out.status, 1);
    assert_eq!(levels["level"], Value::Null);
    assert_eq!(levels["levelClaim"]["verificationState"], "invalid");
}

#[test]
fn of_equal_claims_the_older_row_speaks() {
    let registry = TempRegistry::new();
    registry.put(
        "issuer-keys.json",
        issuer_keys(&[signed_list(&[9])]).to_string(),
    );
    for (id, older) in [("a-older", "a"), ("b-older", "b")] {
        let mut builder = cartridge(id);
        builder.capabilities.truncate(0);
        builder.attestations = vec![attestation("a", "{}"), attestation("b", "{}")];
        let mut fine = credential(&builder.manifest_hash());
        sign(&mut fine, ISSUER_SEED);
        let mut revoked = credential(&builder.manifest_hash());
        revoked["credentialStatus"]["statusListIndex"] = REVOKED.into();
        sign(&mut revoked, ISSUER_SEED);
        builder.attestations = vec![
            attestation("a", &fine.to_string()),
            attestation("b", &revoked.to_string()),
        ];
        builder.sql(&format!(
            "UPDATE attestations SET created_at='2026-01-01T00:00:00.000Z' WHERE att_id='{older}'"
        ));
        registry.cartridge(&builder);
    }
    // A time that is none costs the cartridge nothing.
    let mut builder = made(&case("no-time", |_| {}, "", ""));
    builder.sql("UPDATE attestations SET created_at=x'00ff'");
    registry.cartridge(&builder);
    let out = registry.build_at(SEPTEMBER, &[]);
    assert_eq!(out.status, 0, "{:.2000}", out.stdout);
    let entries = entries(&registry.index().unwrap());
    assert_eq!(
        entries["a-older"]["levelClaim"]["verificationState"],
        "verified"
    );
    assert_eq!(
        entries["b-older"]["levelClaim"]["verificationState"],
        "revoked"
    );
    for id in ["a-older", "b-older", "no-time"] {
        assert_eq!(entries[id]["level"]["acxLevel"], 26, "{id}");
    }
}

/// A registry under git with one proven cartridge, built once so that its cache is warm.
fn warm(lab: &Lab) -> Repository<'_> {
    let work = lab.work("work", &[]);
    let until = |d: &mut Value| d["validUntil"] = "2026-10-01T00:00:00Z".into();
    work.cartridge(&made(&case("fine", until, "", "")));
    work.cartridge(&Builder::valid("io.github.acme", "plain", "1.0.0"));
    work.put(
        "issuer-keys.json",
        issuer_keys(&[signed_list(&[9])]).to_string(),
    );
    work.commit("Found");
    assert_eq!(work.build(&[]).status, 0);
    work.commit("Built");
    work
}

fn built(work: &Repository<'_>, epoch: &str) -> Value {
    let key = work.lab.key();
    let args = ["build-index", "--key", &key, "--format", "json"];
    let env = [("SOURCE_DATE_EPOCH", epoch)];
    let out = run_acx(&args, &work.path, &work.lab.home(), &env);
    assert_eq!(out.status, 0, "{out:#?}");
    let index = read_json(&work.path.join("index.json"));
    entries(&index)["fine"].clone()
}

#[test]
fn a_warm_cache_never_hides_what_became_of_a_level() {
    const NOVEMBER: &str = "1793491200";
    let lab = Lab::new();
    let work = warm(&lab);
    let before = built(&work, SEPTEMBER);
    assert_eq!(before["level"]["acxLevel"], 26);
    // A bit is set.
    let put = |keys: &Value| {
        work.put("issuer-keys.json", keys.to_string());
    };
    put(&issuer_keys(&[signed_list(&[5, 9])]));
    let entry = built(&work, SEPTEMBER);
    assert_eq!(entry["level"], Value::Null);
    assert_eq!(entry["levelClaim"]["verificationState"], "revoked");
    // The issuer is no issuer any more.
    let mut keys = issuer_keys(&[signed_list(&[9])]);
    keys["issuers"] = json!([keys["issuers"][1]]);
    put(&keys);
    let entry = built(&work, SEPTEMBER);
    assert_eq!(entry["levelClaim"]["verificationState"], "unresolved");
    // There are no keys at all.
    fs::remove_file(work.path.join("issuer-keys.json")).unwrap();
    let entry = built(&work, SEPTEMBER);
    assert_eq!(entry["levelClaim"]["verificationState"], "unresolved");
    // All is as it was, and the entry with it.
    put(&issuer_keys(&[signed_list(&[9])]));
    assert_eq!(built(&work, SEPTEMBER), before);
    // Time passes. A check says what a build would have said then, and what holds no more.
    let out = run_acx(
        &["build-index", "--check", "--format", "json"],
        &work.path,
        &lab.home(),
        &[("SOURCE_DATE_EPOCH", NOVEMBER)],
    );
    assert_eq!(out.status, 0, "{out:#?}");
    let warnings = out.json()["warnings"].clone();
    let lapsed: Vec<&Value> = warnings
        .as_array()
        .unwrap()
        .iter()
        .filter(|w| w["code"] == "policy-lapsed")
        .collect();
    assert_eq!(lapsed.len(), 1, "{warnings:#}");
    let message = lapsed[0]["message"].as_str().unwrap();
    assert!(message.contains("its level was proven when"), "{message}");
    assert!(message.contains("validUntil"), "{message}");
    let entry = built(&work, NOVEMBER);
    assert_eq!(entry["level"], Value::Null);
    assert_eq!(entry["levelClaim"]["verificationState"], "invalid");
    assert!(states(&entry).contains(&(false.into(), "invalid".into())));
}

#[test]
fn the_policy_pins_the_issuers_keys() {
    let registry = TempRegistry::new();
    registry.cartridge(&made(&case("fine", |_| {}, "", "")));
    let good = issuer_keys(&[signed_list(&[9])]).to_string();
    let pin = keys::sha256(good.as_bytes());
    registry.put("issuer-keys.json", &good);
    registry.policy(&format!("[levels]\nissuer_keys_sha256 = \"{pin}\"\n"));
    assert_eq!(registry.build_at(SEPTEMBER, &[]).status, 0);
    let index = registry.index_bytes();
    assert_eq!(
        entries(&registry.index().unwrap())["fine"]["level"]["acxLevel"],
        26
    );
    // Another file, none, and another one by name.
    let other = issuer_keys(&[]).to_string();
    let expected = format!(
        "error: issuer-keys.json: expected the file that the policy pins ([levels] issuer_keys_sha256), {pin}, found "
    );
    registry.put("issuer-keys.json", &other);
    let found = keys::sha256(other.as_bytes());
    let fails = |args: &[&str], found: &str| {
        let out = registry.build_at(SEPTEMBER, args);
        assert_eq!(out.status, 2, "{out:#?}");
        let message = format!("{expected}{found}; restore it, or pin the new one\n");
        assert_eq!(out.stderr, message);
        assert_eq!(registry.index_bytes(), index);
    };
    fails(&[], &found);
    registry.remove("issuer-keys.json");
    fails(&[], "no file");
    fs::write(registry.home().join("other.json"), &other).unwrap();
    fails(&["--issuer-keys", "../home/other.json"], &found);
    // The pinned file may come from elsewhere.
    fs::write(registry.home().join("good.json"), &good).unwrap();
    let out = registry.build_at(SEPTEMBER, &["--issuer-keys", "../home/good.json"]);
    assert_eq!(out.status, 0, "{out:#?}");
    assert_eq!(registry.index_bytes(), index);
    registry.policy("[levels]\nissuer_keys_sha256 = \"sha256:1\"\n");
    let out = registry.build_at(SEPTEMBER, &[]);
    assert_eq!(out.status, 2);
    assert!(
        out.stderr.contains(
            "acx-registry.toml: levels.issuer_keys_sha256: line 2: expected `sha256:` and 64"
        ),
        "{out:#?}"
    );
}

#[test]
fn named_issuer_keys_take_the_place_of_the_registrys() {
    let registry = TempRegistry::new();
    registry.cartridge(&made(&case("fine", |_| {}, "", "")));
    registry.put("issuer-keys.json", issuer_keys(&[]).to_string());
    let good = issuer_keys(&[signed_list(&[9])]).to_string();
    fs::write(registry.home().join("good.json"), &good).unwrap();
    assert_eq!(registry.build_at(SEPTEMBER, &[]).status, 0);
    let level = || entries(&registry.index().unwrap())["fine"]["level"].clone();
    assert_eq!(level(), Value::Null);
    let named = ["--issuer-keys", "../home/good.json"];
    assert_eq!(registry.build_at(SEPTEMBER, &named).status, 0);
    assert_eq!(level()["acxLevel"], 26);
    // Deterministic, and a check with the same keys agrees.
    let bytes = registry.index_bytes();
    let check = [&named[..], &["--check"]].concat();
    assert_eq!(registry.build_at(SEPTEMBER, &check).status, 0);
    assert_eq!(registry.build_at(SEPTEMBER, &["--check"]).status, 1);
    assert_eq!(registry.build_at(SEPTEMBER, &named).status, 0);
    assert_eq!(registry.index_bytes(), bytes);
}

#[test]
fn issuer_keys_are_read_whole_or_refused() {
    let registry = TempRegistry::new();
    let path = registry.cartridge(&made(&case("fine", |_| {}, "", "")));
    let private = keys::private_pem(&keys::seed(ISSUER_SEED));
    let secret = private.lines().nth(1).unwrap().to_owned();
    let edits: Vec<(Box<dyn Fn(&mut Value)>, String)> = vec![
        (
            Box::new(|k| k["schemaVersion"] = "acx.issuer-keys/2".into()),
            "/schemaVersion: expected \"acx.issuer-keys/1\", found \"acx.issuer-keys/2\"".into(),
        ),
        (
            Box::new(|k| k["more"] = 1.into()),
            "/more: unknown field; remove it".into(),
        ),
        (
            Box::new(|k| drop_member(k, "statusLists")),
            "/statusLists: the field is missing; add it".into(),
        ),
        (
            Box::new(|k| k["issuers"][0]["name"] = "x".into()),
            "/issuers/0/name: unknown field; remove it".into(),
        ),
        (
            Box::new(|k| k["issuers"][0]["keys"][0]["publicKeyPen"] = "x".into()),
            "/issuers/0/keys/0/publicKeyPen: unknown field; remove it, or is \"publicKeyPem\" meant?".into(),
        ),
        (
            Box::new(|k| k["issuers"][1]["id"] = ISSUER.into()),
            format!("/issuers/1/id: expected each issuer once, found {ISSUER:?} again; merge the two"),
        ),
        (
            Box::new(|k| k["issuers"][0]["id"] = METHOD.into()),
            "/issuers/0/id: expected an issuer's id such as".into(),
        ),
        (
            Box::new(|k| k["issuers"][0]["keys"][1]["verificationMethod"] = METHOD.into()),
            format!(
                "/issuers/0/keys/1/verificationMethod: expected each method once, found {METHOD:?} again; remove one entry"
            ),
        ),
        (
            Box::new(|k| k["issuers"][1]["keys"][0]["verificationMethod"] = METHOD.into()),
            format!(
                "/issuers/1/keys/0/verificationMethod: expected a method of its issuer: {OTHER:?}, or that and `#…`; found {METHOD:?}; list it under its own issuer"
            ),
        ),
        (
            Box::new(|k| k["issuers"][0]["keys"][0]["publicKeyPem"] = "key".into()),
            "/issuers/0/keys/0/publicKeyPem: expected the PEM of a usable Ed25519 public key, found not the PEM SubjectPublicKeyInfo of an Ed25519 key; ask the issuer for the right key".into(),
        ),
        (
            Box::new(|k| k["issuers"][0]["keys"][0]["publicKeyPem"] = keys::public_pem(&[0; 32]).into()),
            "/issuers/0/keys/0/publicKeyPem: expected the PEM of a usable Ed25519 public key, found an Ed25519 key of small order".into(),
        ),
        (
            Box::new(move |k| k["issuers"][0]["keys"][0]["publicKeyPem"] = private.clone().into()),
            "/issuers/0/keys/0/publicKeyPem: private key material, where public keys alone belong; remove it, and treat that key as compromised".into(),
        ),
        (
            Box::new(|k| k["issuers"][0]["keys"][0]["privateKey"] = "x".into()),
            "/issuers/0/keys/0/privateKey: private key material".into(),
        ),
        (
            Box::new(|k| k["statusLists"] = json!([signed_list(&[]), signed_list(&[5])])),
            format!("/statusLists/1/id: expected each status list once, found {LIST:?} again; keep the newest"),
        ),
        (
            Box::new(|k| k["statusLists"] = json!([{"type": "x"}])),
            "/statusLists/0/id: the field is missing; add it".into(),
        ),
        (
            Box::new(|k| k["statusLists"] = json!(vec![json!({"id": "x"}); 65])),
            "/statusLists: expected at most 64 items".into(),
        ),
        (
            Box::new(|k| k["issuers"] = json!(vec![json!(0); 1_000_000])),
            "/issuers: expected".into(),
        ),
        (Box::new(|k| *k = json!([])), "expected an object, found an array of 0 items".into()),
    ];
    let good = issuer_keys(&[signed_list(&[9])]);
    let mut files: Vec<(Vec<u8>, String)> = edits
        .into_iter()
        .map(|(edit, message)| {
            let mut file = good.clone();
            edit(&mut file);
            (file.to_string().into_bytes(), message)
        })
        .collect();
    files.push((b"{".to_vec(), "not valid JSON: EOF".into()));
    files.push((
        b"{\"issuers\": [], \"issuers\": []}".to_vec(),
        "not valid JSON: the name \"issuers\" is repeated".into(),
    ));
    files.push((
        [b"[".repeat(100_000), b"]".repeat(100_000)].concat(),
        "not valid JSON: nested deeper than 100 levels".into(),
    ));
    files.push((
        vec![b' '; (16 << 20) + 1],
        "cannot be read: too large: 16777217 bytes".into(),
    ));
    for (bytes, message) in files {
        registry.put("issuer-keys.json", &bytes);
        let out = registry.build_at(SEPTEMBER, &[]);
        assert_eq!(out.status, 2, "{message}: {out:#?}");
        let expected = format!("error: issuer-keys.json: {message}");
        assert!(
            out.stderr.starts_with(&expected),
            "{expected}\n{:.600}",
            out.stderr
        );
        assert!(!out.stderr.contains(&secret), "{}", out.stderr);
        assert!(out.stderr.len() < 2000);
        assert!(registry.index().is_none());
        if bytes.len() > 16 << 20 {
            continue;
        }
        for command in ["level", "inspect", "check", "verify"] {
            let out = at(
                &registry,
                &[command, &path, "--issuer-keys", "issuer-keys.json"],
            );
            assert_eq!((out.status, out.stdout.as_str()), (2, ""), "{message}");
            let expected =
                format!("error: --issuer-keys issuer-keys.json: issuer-keys.json: {message}");
            assert!(out.stderr.starts_with(&expected), "{}", out.stderr);
        }
        for args in [
            &["check", path.as_str(), "--registry", "."][..],
            &["publish", path.as_str(), ".", "--dry-run"],
        ] {
            assert_eq!(at(&registry, args).status, 2, "{args:?}: {message}");
        }
    }
    // A folder or a link in its place is no file.
    registry.remove("issuer-keys.json");
    fs::create_dir(registry.at("issuer-keys.json")).unwrap();
    let out = registry.build_at(SEPTEMBER, &[]);
    assert_eq!(out.status, 2);
    assert!(
        out.stderr
            .starts_with("error: issuer-keys.json: expected an ordinary file"),
        "{out:#?}"
    );
}

#[test]
fn a_push_brings_no_issuer_of_its_own() {
    let lab = Lab::new();
    let server = lab.bare("server.git", &[]);
    server.hook("pre-receive", "");
    let clone = lab.clone_of(&server.path, "clone", &[]);
    clone.put(
        "acx-registry.toml",
        "[registry]\nid = \"com.example.registry\"\n",
    );
    let mut strict = issuer_keys(&[signed_list(&[9])]);
    strict["issuers"] = json!([strict["issuers"][1]]);
    clone.put("issuer-keys.json", strict.to_string());
    clone.cartridge(&made(&case("fine", |_| {}, "", "")));
    clone.commit("Found");
    assert_eq!(clone.build(&["--commit"]).status, 0);
    let out = clone.try_git(&["push", "origin", "main"]);
    assert_eq!(out.status, 0, "{out:#?}");
    let level = |index: &Value| entries(index)["fine"]["level"].clone();
    assert_eq!(level(&server.index("main")), Value::Null);
    // An issuer is added, taken away, or the list replaced: each is the registry's own word.
    let attempts: [(&str, Option<String>); 2] = [
        ("more", Some(issuer_keys(&[signed_list(&[9])]).to_string())),
        ("none", None),
    ];
    for (name, file) in attempts {
        clone.git(&["checkout", "-q", "-b", name, "origin/main"]);
        match file {
            Some(file) => {
                clone.put("issuer-keys.json", file);
            }
            None => fs::remove_file(clone.path.join("issuer-keys.json")).unwrap(),
        }
        clone.commit("Change the issuers");
        let state = server.state();
        let out = clone.try_git(&["push", "origin", &format!("{name}:main")]);
        assert_ne!(out.status, 0, "{name}");
        assert!(out.stderr.contains("error[history-policy]"), "{out:#?}");
        assert!(
            out.stderr.contains("the push changes issuer-keys.json"),
            "{out:#?}"
        );
        assert_eq!(server.state(), state);
    }
    // An index that says proven by keys the registry has not is no index of it.
    clone.git(&["checkout", "-q", "-b", "proven", "origin/main"]);
    fs::write(
        lab.at("more.json"),
        issuer_keys(&[signed_list(&[9])]).to_string(),
    )
    .unwrap();
    let more = lab.at("more.json");
    let out = clone.build(&["--commit", "--issuer-keys", more.to_str().unwrap()]);
    assert_eq!(out.status, 0, "{out:#?}");
    let out = clone.try_git(&["push", "origin", "proven:main"]);
    assert_ne!(out.status, 0);
    assert!(out.stderr.contains("error[history-index]"), "{out:#?}");
    // A maintainer may, where the server says so; and what lands is readable.
    server.git(&["config", "acx.allowPolicyChange", "true"]);
    clone.git(&["checkout", "-q", "-b", "broken", "origin/main"]);
    clone.put("issuer-keys.json", "{}");
    clone.commit("Break the issuers");
    let out = clone.try_git(&["push", "origin", "broken:main"]);
    assert_ne!(out.status, 0);
    assert!(
        out.stderr.contains("issuer-keys.json") && out.stderr.contains("error[history-policy]"),
        "{out:#?}"
    );
    clone.git(&["checkout", "-q", "-b", "pinned", "origin/main"]);
    let pin = keys::sha256(b"another file");
    clone.put(
        "acx-registry.toml",
        format!(
            "[registry]\nid = \"com.example.registry\"\n[levels]\nissuer_keys_sha256 = \"{pin}\"\n"
        ),
    );
    clone.commit("Pin a file that is not there");
    let out = clone.try_git(&["push", "origin", "pinned:main"]);
    assert_ne!(out.status, 0);
    assert!(
        out.stderr.contains("error[history-policy]") && out.stderr.contains("the policy pins"),
        "{out:#?}"
    );
    clone.git(&["checkout", "-q", "more"]);
    assert_eq!(clone.build(&["--commit"]).status, 0);
    let out = clone.try_git(&["push", "origin", "more:main"]);
    assert_eq!(out.status, 0, "{out:#?}");
    assert_eq!(level(&server.index("main"))["acxLevel"], 26);
    // A base's issuers count, not the proposal's.
    server.git(&["config", "acx.allowPolicyChange", "false"]);
    clone.git(&["fetch", "-q"]);
    clone.git(&["checkout", "-q", "-b", "proposal", "origin/main"]);
    clone.put("issuer-keys.json", strict.to_string());
    clone.commit("Propose");
    let out = clone.build(&["--base", "origin/main", "--check"]);
    assert_eq!(out.status, 0, "{out:#?}");
}
