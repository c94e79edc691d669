use base64::Engine as _;
use serde_json::json;

use super::*;
use crate::attest::PrivateKey;
use crate::model::{KeyId, PublisherId};
use crate::policy::{
    Ineligible, KeyStatus, NamespaceProof, RevocationReason, TrustRegistry, TrustedKey,
};

fn key(seed: u8, publisher: &str, proof: Json) -> Json {
    let key = PrivateKey::from_seed(&[seed; 32]).unwrap();
    json!({
        "keyid": key.public().id(), "publisherId": publisher, "algorithm": "ed25519",
        "publicKeyPem": key.public().pem(), "status": "active",
        "notBefore": "2026-01-01T00:00:00Z", "notAfter": "2027-01-01T00:00:00Z",
        "namespaceProof": proof,
    })
}

fn oidc(subject: &str) -> Json {
    json!({
        "method": "github-oidc", "oidcSubject": subject,
        "oidcIssuer": "https://token.actions.githubusercontent.com", "verifiedAt": "2026-01-02T00:00:00Z",
    })
}

fn dns(record: &str) -> Json {
    json!({"method": "dns-txt", "txtRecord": record, "verifiedAt": "2026-01-02T00:00:00Z"})
}

/// One key of a GitHub name, one of a domain.
fn registry() -> Json {
    json!({
        "schemaVersion": "acx.trust-registry/1",
        "keys": [
            key(1, "io.github.acme", oidc("repo:acme/agents:ref:refs/heads/main")),
            key(2, "com.example.agents", dns("_acx-challenge.agents.example.com")),
        ],
    })
}

fn parse(document: &Json) -> Result<TrustRegistry, ConfigError> {
    TrustRegistry::parse(&serde_json::to_vec(document).unwrap(), &now())
}

fn id(seed: u8) -> KeyId {
    PrivateKey::from_seed(&[seed; 32])
        .unwrap()
        .public()
        .id()
        .clone()
}

fn entry(change: impl FnOnce(&mut Json)) -> TrustedKey {
    let mut document = registry();
    change(&mut document["keys"][0]);
    parse(&document).unwrap().get(&id(1)).unwrap().clone()
}

#[test]
fn a_full_registry() {
    let mut document = registry();
    set(&mut document, "/registryId", Some(json!("anything")));
    set(
        &mut document,
        "/updatedAt",
        Some(json!("2026-06-01T00:00:00Z")),
    );
    set(&mut document, "/keys/1/status", Some(json!("revoked")));
    set(&mut document, "/keys/1/rotatedFrom", Some(json!(id(3))));
    set(&mut document, "/keys/1/rotatedTo", Some(json!(id(4))));
    set(
        &mut document,
        "/keys/1/revokedAt",
        Some(json!("2026-05-01T00:00:00Z")),
    );
    set(
        &mut document,
        "/keys/1/revocationReason",
        Some(json!("retired")),
    );
    let registry = parse(&document).unwrap();
    let key = registry.get(&id(2)).unwrap();
    assert_eq!(key.keyid, id(2));
    assert_eq!(key.key.id(), &id(2));
    assert_eq!(key.publisher.as_str(), "com.example.agents");
    assert_eq!(key.status, KeyStatus::Revoked);
    assert_eq!(key.not_before, time("2026-01-01T00:00:00Z"));
    assert_eq!(key.not_after, time("2027-01-01T00:00:00Z"));
    assert_eq!(
        (&key.rotated_from, &key.rotated_to),
        (&Some(id(3)), &Some(id(4)))
    );
    assert_eq!(key.revoked_at, Some(time("2026-05-01T00:00:00Z")));
    assert_eq!(key.revocation_reason, Some(RevocationReason::Retired));
    let proof = NamespaceProof::DnsTxt {
        txt_record: "_acx-challenge.agents.example.com".to_owned(),
        verified_at: time("2026-01-02T00:00:00Z"),
    };
    assert_eq!(key.proof, proof);
    assert!(registry.get(&id(1)).is_some());
    assert!(registry.get(&id(3)).is_none());
    assert!(TrustRegistry::default().get(&id(1)).is_none());
}

#[test]
fn the_last_four_fields_may_be_null() {
    for status in ["active", "revoked", "expired"] {
        let key = entry(|key| {
            key["status"] = json!(status);
            for name in ["rotatedFrom", "rotatedTo", "revokedAt", "revocationReason"] {
                key[name] = Json::Null;
            }
        });
        assert_eq!(
            (key.rotated_from, key.rotated_to, key.revoked_at),
            (None, None, None)
        );
        assert_eq!(key.revocation_reason, None);
    }
}

#[test]
fn refused_fields() {
    let other = id(9);
    for (pointer, value, field, says) in [
        (
            "/schemaVersion",
            json!("acx.trust-registry/2"),
            "",
            "\"acx.trust-registry/1\"",
        ),
        ("/registryId", json!(3), "", "expected a text, found 3"),
        (
            "/updatedAt",
            json!("2026-02-30T00:00:00Z"),
            "",
            "an RFC 3339 time",
        ),
        ("/keys", Json::Null, "", "found null"),
        (
            "/key",
            json!([]),
            "",
            "unknown field; remove it, or is \"keys\" meant?",
        ),
        ("/keys/0", json!("x"), "", "found \"x\""),
        ("/keys/0/note", json!("x"), "", "unknown field"),
        (
            "/keys/0/keyid",
            json!("ed25519:0"),
            "",
            "64 lower-case hex digits",
        ),
        (
            "/keys/0/keyid",
            json!(other),
            "",
            "the id of the key beside it",
        ),
        (
            "/keys/1",
            key(1, "io.github.acme", oidc("repo:acme/x")),
            "/keys/1/keyid",
            "each keyid once",
        ),
        ("/keys/0/publisherId", json!("acme"), "", "a publisher id"),
        (
            "/keys/0/algorithm",
            json!("rsa"),
            "",
            "expected \"ed25519\", found \"rsa\"",
        ),
        (
            "/keys/0/publicKeyPem",
            json!("-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n"),
            "",
            "Ed25519 public key",
        ),
        (
            "/keys/0/status",
            json!("paused"),
            "",
            "one of \"active\", \"revoked\", \"expired\", found \"paused\"",
        ),
        ("/keys/0/status", Json::Null, "", "one of"),
        (
            "/keys/0/notBefore",
            json!("2026-01-01"),
            "",
            "an RFC 3339 time",
        ),
        (
            "/keys/0/notAfter",
            json!("2026-06-31T00:00:00Z"),
            "",
            "an RFC 3339 time",
        ),
        (
            "/keys/0/notAfter",
            json!("2026-01-01T00:00:00Z"),
            "",
            "after notBefore",
        ),
        (
            "/keys/0/notAfter",
            json!("2025-01-01T00:00:00Z"),
            "",
            "after notBefore",
        ),
        (
            "/keys/0/rotatedFrom",
            json!("x"),
            "",
            "64 lower-case hex digits, or null, found \"x\"",
        ),
        (
            "/keys/0/rotatedTo",
            json!(1),
            "",
            "64 lower-case hex digits",
        ),
        ("/keys/0/revokedAt", json!("now"), "", "an RFC 3339 time"),
        (
            "/keys/0/revokedAt",
            json!("2026-02-29T00:00:00Z"),
            "",
            "an RFC 3339 time",
        ),
        (
            "/keys/0/revocationReason",
            json!("lost"),
            "",
            "\"key-compromise\"",
        ),
        ("/keys/0/namespaceProof", Json::Null, "", "found null"),
        (
            "/keys/0/namespaceProof/method",
            json!("email"),
            "",
            "one of \"dns-txt\", \"github-oidc\", found \"email\"",
        ),
        (
            "/keys/0/namespaceProof/txtRecord",
            json!("_acx-challenge.x"),
            "",
            "unknown field",
        ),
        (
            "/keys/1/namespaceProof/oidcIssuer",
            json!("x"),
            "",
            "unknown field",
        ),
        (
            "/keys/0/namespaceProof/oidcIssuer",
            json!("https://evil.example"),
            "",
            "https://token.actions.githubusercontent.com",
        ),
        (
            "/keys/0/namespaceProof/verifiedAt",
            json!("2026-10-01T00:00:00.001Z"),
            "",
            "now is 2026-10-01T00:00:00Z",
        ),
        (
            "/keys/0/namespaceProof/verifiedAt",
            json!("2026-04-31T00:00:00Z"),
            "",
            "an RFC 3339 time",
        ),
        (
            "/keys/0/namespaceProof/oidcSubject",
            json!("repo:acme-evil/agents"),
            "",
            "starts with \"repo:acme/\"",
        ),
        (
            "/keys/0/namespaceProof/oidcSubject",
            json!("acme/agents"),
            "",
            "repo:",
        ),
        (
            "/keys/0/namespaceProof/oidcSubject",
            json!("repo:acme/"),
            "",
            "repo:",
        ),
        (
            "/keys/0/namespaceProof/oidcSubject",
            json!("REPO:acme/x"),
            "",
            "repo:",
        ),
        (
            "/keys/0/namespaceProof",
            dns("_acx-challenge.acme.github.io"),
            "/keys/0/namespaceProof/method",
            "\"github-oidc\"",
        ),
        (
            "/keys/1/namespaceProof",
            oidc("repo:example/x"),
            "/keys/1/namespaceProof/method",
            "expected \"dns-txt\" for the publisher com.example.agents",
        ),
        (
            "/keys/1/namespaceProof/txtRecord",
            json!("_acx-challenge.example.com"),
            "",
            "\"_acx-challenge.agents.example.com\"",
        ),
        (
            "/keys/1/namespaceProof/txtRecord",
            json!("_acx-challenge.com.example.agents"),
            "",
            "\"_acx-challenge.agents.example.com\"",
        ),
        (
            "/keys/1/namespaceProof/txtRecord",
            json!("agents.example.com"),
            "",
            "_acx-challenge.",
        ),
    ] {
        let mut document = registry();
        set(&mut document, pointer, Some(value));
        let field = if field.is_empty() { pointer } else { field };
        refused(parse(&document), field, &[says]);
    }
    for pointer in [
        "/schemaVersion",
        "/keys",
        "/keys/0/keyid",
        "/keys/0/publisherId",
        "/keys/0/algorithm",
        "/keys/0/publicKeyPem",
        "/keys/0/status",
        "/keys/0/notBefore",
        "/keys/0/notAfter",
        "/keys/0/namespaceProof",
        "/keys/0/namespaceProof/method",
        "/keys/0/namespaceProof/oidcSubject",
        "/keys/0/namespaceProof/oidcIssuer",
        "/keys/0/namespaceProof/verifiedAt",
        "/keys/1/namespaceProof/txtRecord",
    ] {
        let mut document = registry();
        set(&mut document, pointer, None);
        refused(parse(&document), pointer, &["the field is missing"]);
    }
}

#[test]
fn the_message_of_a_proof_that_does_not_fit() {
    let mut document = registry();
    set(
        &mut document,
        "/keys/0/namespaceProof",
        Some(dns("_acx-challenge.acme.github.io")),
    );
    assert_eq!(
        parse(&document).unwrap_err().to_string(),
        "trust-registry.json: /keys/0/namespaceProof/method: expected \"github-oidc\" for the publisher io.github.acme, found \"dns-txt\"; a GitHub name is proven by a token of its own workflows"
    );
}

#[test]
fn a_weak_key_is_refused() {
    let mut spki = b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00".to_vec();
    spki.push(1);
    spki.resize(44, 0);
    let body = base64::engine::general_purpose::STANDARD.encode(&spki);
    let mut document = registry();
    let pem = format!("-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\n");
    set(&mut document, "/keys/0/publicKeyPem", Some(json!(pem)));
    set(
        &mut document,
        "/keys/0/keyid",
        Some(json!(KeyId::of_spki(&spki))),
    );
    refused(parse(&document), "/keys/0/publicKeyPem", &["small order"]);
}

#[test]
fn private_key_material_is_refused_wherever_it_is() {
    let private = PrivateKey::from_seed(&[7; 32]).unwrap().to_pem().unwrap();
    let body = private.lines().nth(1).unwrap();
    let spaced = format!("{} {}", &body[..18], &body[18..]);
    for (pointer, value) in [
        ("/keys/0/publicKeyPem", json!(private)),
        ("/keys/0/publicKeyPem", json!(body)),
        ("/registryId", json!(spaced)),
        ("/registryId", json!("-----BEGIN OPENSSH PRIVATE KEY-----")),
        (
            "/keys/1/namespaceProof/txtRecord",
            json!("-----BEGIN ENCRYPTED PRIVATE KEY-----"),
        ),
        ("/d", json!("AAAA")),
        ("/keys/0/d", json!("AAAA")),
        ("/keys/0/privateKeyPem", json!("x")),
        ("/keys/0/private_key", json!("x")),
        ("/keys/0/namespaceProof/k", json!("x")),
    ] {
        let mut document = registry();
        set(&mut document, pointer, Some(value));
        let error = refused(
            parse(&document),
            pointer,
            &["private key material", "compromised"],
        );
        assert!(!error.message.contains(body), "{error}");
    }
    // Deeper, in a name, behind an escape, in a file that is not JSON.
    let mut document = registry();
    set(
        &mut document,
        "/keys/0/publicKeyPem",
        Some(json!({"jwk": [{"d": "x"}]})),
    );
    refused(
        parse(&document),
        "/keys/0/publicKeyPem/jwk/0/d",
        &["private key material"],
    );
    let mut document = registry();
    set(
        &mut document,
        "/keys/0/-----BEGIN PRIVATE KEY-----",
        Some(json!(1)),
    );
    refused(parse(&document), "/keys/0", &["private key material"]);
    let escaped = br#"{"registryId":"-----BEGIN PRIV\u0041TE KEY-----"}"#;
    refused(
        TrustRegistry::parse(escaped, &now()),
        "/registryId",
        &["private key material"],
    );
    refused(
        TrustRegistry::parse(private.as_bytes(), &now()),
        "",
        &["private key material"],
    );
}

#[test]
fn refused_files() {
    let parse = |bytes: &[u8]| TrustRegistry::parse(bytes, &now());
    refused(parse(b""), "", &["not valid JSON"]);
    refused(parse(b"null"), "", &["expected an object, found null"]);
    refused(parse(br#"{"keys":[],"keys":[]}"#), "", &["repeated"]);
    refused(
        parse(&vec![b' '; TrustRegistry::MAX_BYTES + 1]),
        "",
        &["at most 4194304 bytes"],
    );
}

#[test]
fn proofs_that_fit() {
    for (publisher, proof) in [
        ("io.github.acme", oidc("repo:Acme/agents:pull_request")),
        ("io.github.acme/project", oidc("repo:acme/x")),
        ("io.github.acme.project", oidc("repo:acme/x")),
        ("io.github.acme._x", oidc("repo:acme/x")),
        ("com.example", dns("_acx-challenge.example.com")),
        ("com.example/team/a_b", dns("_acx-challenge.example.com")),
        ("com.example.a_b", dns("_acx-challenge.example.com")),
        ("com.example.a_b/c", dns("_acx-challenge.example.com")),
        ("com.example.team", dns("_acx-challenge.team.example.com")),
        ("io.github", dns("_acx-challenge.github.io")),
        ("io.githubber.x", dns("_acx-challenge.x.githubber.io")),
    ] {
        let mut document = registry();
        set(&mut document, "/keys/0/publisherId", Some(json!(publisher)));
        set(&mut document, "/keys/0/namespaceProof", Some(proof));
        assert!(
            parse(&document).is_ok(),
            "{publisher}: {:?}",
            parse(&document).err()
        );
    }
}

#[test]
fn eligible_or_why_not() {
    let acme = PublisherId::try_from("io.github.acme").unwrap();
    let signed = time("2026-03-01T00:00:00Z");
    let judge = |key: &TrustedKey| key.eligible(&acme, Some(&signed), &now());
    let good = entry(|_| {});
    assert_eq!(judge(&good), Ok(()));
    assert!(!good.compromised());

    let revoked = entry(|k| k["status"] = json!("revoked"));
    assert_eq!(judge(&revoked), Err(Ineligible::Revoked));
    assert!(!revoked.compromised());
    let compromised = entry(|k| {
        k["status"] = json!("revoked");
        k["revocationReason"] = json!("key-compromise");
    });
    assert_eq!(judge(&compromised), Err(Ineligible::Revoked));
    assert!(compromised.compromised());
    let retired = entry(|k| {
        k["status"] = json!("revoked");
        k["revocationReason"] = json!("retired");
    });
    assert_eq!(judge(&retired), Err(Ineligible::Revoked));
    assert!(!retired.compromised());
    assert_eq!(
        judge(&entry(|k| k["status"] = json!("expired"))),
        Err(Ineligible::Expired)
    );

    // Active, yet taken back: the worse half counts, from the moment it says.
    let already = entry(|k| k["revokedAt"] = json!("2026-09-01T00:00:00Z"));
    assert_eq!(judge(&already), Err(Ineligible::Revoked));
    assert_eq!(
        judge(&entry(|k| k["revokedAt"] = json!("2026-11-01T00:00:00Z"))),
        Ok(())
    );
    let forgotten = entry(|k| k["revocationReason"] = json!("key-compromise"));
    assert!(forgotten.compromised());
    assert_eq!(judge(&forgotten), Err(Ineligible::Revoked));

    // Equal as text, or not at all.
    for other in ["io.github.acmee", "com.example"] {
        let other = PublisherId::try_from(other).unwrap();
        let why = Ineligible::OtherPublisher(good.publisher.clone());
        assert_eq!(good.eligible(&other, Some(&signed), &now()), Err(why));
    }
    let tail = entry(|k| k["publisherId"] = json!("io.github.acme/project"));
    assert_eq!(
        judge(&tail),
        Err(Ineligible::OtherPublisher(tail.publisher.clone()))
    );

    // The window's ends are inside it.
    for (at, outcome) in [
        ("2025-12-31T23:59:59Z", Err(Ineligible::SignedOutsideWindow)),
        ("2026-01-01T00:00:00Z", Ok(())),
        ("2027-01-01T00:00:00Z", Ok(())),
        (
            "2027-01-01T00:00:00.000000001Z",
            Err(Ineligible::SignedOutsideWindow),
        ),
    ] {
        assert_eq!(
            good.eligible(&acme, Some(&time(at)), &now()),
            outcome,
            "{at}"
        );
    }
    assert_eq!(
        good.eligible(&acme, None, &now()),
        Err(Ineligible::SigningTimeUnknown)
    );
    let late = time("2027-01-01T00:00:01Z");
    assert_eq!(
        good.eligible(&acme, Some(&signed), &late),
        Err(Ineligible::OutsideWindow)
    );
    let early = time("2025-12-31T00:00:00Z");
    assert_eq!(
        good.eligible(&acme, Some(&signed), &early),
        Err(Ineligible::OutsideWindow)
    );
    // Judged at a time before the proof was made.
    let before_proof = time("2026-01-01T12:00:00Z");
    assert_eq!(
        good.eligible(&acme, Some(&signed), &before_proof),
        Err(Ineligible::ProofDoesNotFit)
    );
    let mut foreign = good.clone();
    foreign.proof = NamespaceProof::GithubOidc {
        oidc_subject: "repo:mallory/x".to_owned(),
        verified_at: signed.clone(),
    };
    assert_eq!(judge(&foreign), Err(Ineligible::ProofDoesNotFit));
    assert!(
        Ineligible::OtherPublisher(good.publisher)
            .to_string()
            .contains("io.github.acme")
    );
}
