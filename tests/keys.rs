//! Attacks on keys: those that publishers sign with, the one that signs the index, and the one that a consumer pins.
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

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Command;

use serde_json::{Value, json};
use support::cartridge::{Builder, PUBLISHER_SEED};
use support::git::Lab;
use support::keys;
use support::registry::{
    INDEX_SEED, Output, SEPTEMBER, TempRegistry, TrustKey, index_keyid, rejected_codes,
    trust_registry,
};

const PUBLISHER: &str = "io.github.acme";
const PATH: &str = "cartridges/io.github.acme/build-smith/1.0.0/cartridge.acx";
const SECOND: u8 = 33;

fn signed(version: &str, seed: u8) -> Builder {
    let mut builder = Builder::valid(PUBLISHER, "build-smith", version);
    builder.envelope.seed = keys::seed(seed);
    builder
}

/// The publisher's key in the trust registry.
fn own() -> TrustKey {
    TrustKey::active(keys::seed(PUBLISHER_SEED), PUBLISHER)
}

/// A registry of one cartridge with these keys.
fn trusting(trusted: &[TrustKey]) -> TempRegistry {
    let registry = TempRegistry::new();
    registry.cartridge(&signed("1.0.0", PUBLISHER_SEED));
    registry.trust(trusted);
    registry
}

/// What a build in September says of the one cartridge: its trust.
fn trust_of(registry: &TempRegistry) -> String {
    let out = registry.build_at(SEPTEMBER, &["--dry-run"]);
    assert_eq!(out.status, 0, "{out:#?}");
    let accepted = &out.json()["accepted"];
    assert_eq!(accepted.as_array().map(Vec::len), Some(1), "{accepted}");
    assert_eq!(accepted[0]["path"], PATH);
    accepted[0]["trust"].as_str().unwrap().to_owned()
}

// The publisher's key.

#[test]
fn a_key_that_is_not_good_now_makes_nobody_trusted() {
    let edited = |edit: &dyn Fn(&mut TrustKey)| {
        let mut key = own();
        edit(&mut key);
        key
    };
    let cases: &[(&str, TrustKey, &str)] = &[
        ("active and proven", own(), "trusted"),
        ("superseded", own().revoked("superseded"), "portable"),
        ("retired", own().revoked("retired"), "portable"),
        (
            "expired by its status",
            edited(&|key| key.status = "expired".into()),
            "portable",
        ),
        (
            "expired by its window, signed within it",
            edited(&|key| key.not_after = "2026-08-31T23:59:59Z".into()),
            "portable",
        ),
        (
            "expired before it signed",
            edited(&|key| key.not_after = "2026-07-01T00:00:00Z".into()),
            "portable",
        ),
        (
            "not yet valid",
            edited(&|key| key.not_before = "2026-09-02T00:00:00Z".into()),
            "portable",
        ),
        (
            "valid now, and not when it signed",
            edited(&|key| key.not_before = "2026-08-15T00:00:00Z".into()),
            "portable",
        ),
        (
            "of a publisher whose name begins alike",
            TrustKey::active(keys::seed(PUBLISHER_SEED), "io.github.acme/agents"),
            "portable",
        ),
    ];
    for (what, key, trust) in cases {
        let registry = trusting(std::slice::from_ref(key));
        assert_eq!(trust_of(&registry), *trust, "{what}");
    }
}

#[test]
fn a_strangers_first_cartridge_beside_the_listed_key_is_refused() {
    let registry = trusting(&[TrustKey::active(keys::seed(SECOND), PUBLISHER)]);
    let out = registry.build_at(SEPTEMBER, &["--dry-run"]);
    assert_eq!(out.status, 1, "{out:#?}");
    assert_eq!(rejected_codes(&out.json())[PATH], ["history-publisher-key"]);
}

#[test]
fn an_active_key_that_was_taken_back_is_taken_at_its_worst() {
    for (member, value, expected) in [
        ("revokedAt", "2026-08-01T00:00:00Z", Ok("portable")),
        ("revocationReason", "retired", Ok("portable")),
        (
            "revocationReason",
            "key-compromise",
            Err("signature-compromised-key"),
        ),
    ] {
        let registry = trusting(&[own()]);
        let mut document = trust_registry(&[own()]);
        document["keys"][0][member] = value.into();
        registry.put("trust-registry.json", document.to_string());
        match expected {
            Ok(trust) => assert_eq!(trust_of(&registry), trust, "{member} {value}"),
            Err(code) => {
                let out = registry.build_at(SEPTEMBER, &["--dry-run"]);
                assert_eq!(out.status, 1, "{out:#?}");
                assert_eq!(rejected_codes(&out.json())[PATH], [code]);
            }
        }
    }
}

#[test]
fn a_compromised_key_signs_nothing_that_counts_whatever_date_it_writes() {
    // Whoever has the key writes any date: one from before the theft, too.
    for signed_at in ["2026-01-02T00:00:00.000Z", "2026-07-16T00:00:00.000Z"] {
        let registry = TempRegistry::new();
        let mut builder = signed("1.0.0", PUBLISHER_SEED);
        builder.envelope.signed_at = signed_at.to_owned();
        registry.cartridge(&builder);
        let mut key = own().revoked("key-compromise");
        key.revoked = Some(("2026-08-31T00:00:00Z".into(), "key-compromise".into()));
        registry.trust(&[key]);
        let out = registry.build_at(SEPTEMBER, &[]);
        assert_eq!(out.status, 1, "{out:#?}");
        assert_eq!(
            rejected_codes(&out.json())[PATH],
            ["signature-compromised-key"]
        );
        assert_eq!(registry.index().unwrap()["count"], 0);
    }
}

#[test]
fn a_minimum_of_trust_keeps_out_what_a_lapsed_key_signed() {
    let registry = trusting(&[own().revoked("retired")]);
    registry.policy("[trust]\nminimum = \"trusted\"\n");
    let out = registry.build_at(SEPTEMBER, &[]);
    assert_eq!(out.status, 1, "{out:#?}");
    assert_eq!(rejected_codes(&out.json())[PATH], ["policy-minimum-trust"]);
}

#[test]
fn a_rotation_must_be_said_by_the_publishers_own_entry() {
    let id = |seed| keys::keyid(&keys::public(&keys::seed(seed)));
    let successor = |from: u8| {
        let mut document = trust_registry(&[
            own().revoked("superseded"),
            TrustKey::active(keys::seed(SECOND), PUBLISHER),
        ]);
        document["keys"][1]["rotatedFrom"] = json!(id(from));
        document
    };
    let registry = TempRegistry::new();
    registry.cartridge(&signed("1.0.0", PUBLISHER_SEED));
    assert_eq!(registry.build_at(SEPTEMBER, &[]).status, 0);
    let new = registry.cartridge(&signed("1.1.0", SECOND));
    // Nobody says that the second key follows the first.
    let out = registry.build_at(SEPTEMBER, &["--dry-run"]);
    assert_eq!(rejected_codes(&out.json())[&new], ["history-publisher-key"]);
    // The entry says so, and what the old key signed stays, no longer trusted.
    registry.put("trust-registry.json", successor(PUBLISHER_SEED).to_string());
    let out = registry.build_at(SEPTEMBER, &["--dry-run"]);
    assert_eq!(out.status, 0, "{out:#?}");
    let trusts: Vec<(Value, Value)> = out.json()["accepted"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (entry["version"].clone(), entry["trust"].clone()))
        .collect();
    let mut trusts: Vec<String> = trusts.iter().map(|(v, t)| format!("{v} {t}")).collect();
    trusts.sort();
    assert_eq!(trusts, [r#""1.0.0" "portable""#, r#""1.1.0" "trusted""#]);
    // The attacker's own entry, for a publisher of theirs, that claims to follow the victim's key.
    let mut theirs = trust_registry(&[TrustKey::active(keys::seed(SECOND), "io.github.mallory")]);
    theirs["keys"][0]["rotatedFrom"] = json!(id(PUBLISHER_SEED));
    registry.put("trust-registry.json", theirs.to_string());
    let out = registry.build_at(SEPTEMBER, &["--dry-run"]);
    assert_eq!(rejected_codes(&out.json())[&new], ["history-publisher-key"]);
}

#[test]
fn a_trust_registry_with_a_key_of_another_kind_stops_the_run() {
    let lab = Lab::new();
    for (what, args) in KINDS {
        let Some(pem) = openssl(&lab, args).and_then(|pem| public_half(&lab, &pem)) else {
            println!("SKIPPED: openssl makes no {what} key here");
            continue;
        };
        let registry = trusting(&[own()]);
        let mut document = trust_registry(&[own()]);
        document["keys"][0]["publicKeyPem"] = pem.clone().into();
        registry.put("trust-registry.json", document.to_string());
        let out = registry.build_at(SEPTEMBER, &[]);
        assert_eq!(out.status, 2, "{what}: {out:#?}");
        assert!(
            out.stderr.contains("usable Ed25519 public key"),
            "{what}: {out:#?}"
        );
        assert!(registry.index().is_none(), "{what}");
        // In a cartridge's own row it verifies nothing.
        let mut builder = signed("1.0.0", PUBLISHER_SEED);
        builder.envelope.pem = support::envelope::Pem::Text(pem);
        registry.put("c.acx", builder.build());
        registry.remove("trust-registry.json");
        let out = registry.run(&["check", "--format", "json", "c.acx"]);
        assert_eq!(out.status, 1, "{what}: {out:#?}");
        let findings = out.json()["files"][0]["findings"].clone();
        assert_eq!(findings[0]["code"], "signature-key", "{what}: {findings}");
    }
}

// The key that signs the index.

const KINDS: &[(&str, &[&str])] = &[
    (
        "RSA",
        &[
            "genpkey",
            "-algorithm",
            "RSA",
            "-pkeyopt",
            "rsa_keygen_bits:2048",
        ],
    ),
    (
        "P-256",
        &[
            "genpkey",
            "-algorithm",
            "EC",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
        ],
    ),
    ("X25519", &["genpkey", "-algorithm", "X25519"]),
    ("Ed448", &["genpkey", "-algorithm", "ED448"]),
];

/// What openssl prints; `None` where there is none or it cannot.
fn openssl(lab: &Lab, args: &[&str]) -> Option<String> {
    let out = Command::new("openssl")
        .args(args)
        .current_dir(lab.home())
        .output()
        .ok()?;
    out.status
        .success()
        .then(|| String::from_utf8(out.stdout).unwrap())
}

fn public_half(lab: &Lab, private: &str) -> Option<String> {
    let file = lab.at("private.pem");
    fs::write(&file, private).unwrap();
    openssl(lab, &["pkey", "-in", file.to_str().unwrap(), "-pubout"])
}

/// A build that must not sign with this key: nothing is written, and the key is not repeated.
fn signs_nothing(what: &str, key: &str, needle: &str) {
    let registry = trusting(&[own()]);
    let file = registry.home().join("signing.pem");
    fs::write(&file, key).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let file = file.to_str().unwrap();
    let secret = key.lines().nth(1).unwrap().to_owned();
    for out in [
        registry.run(&["build-index", "--key", file]),
        registry.run_with(&["build-index"], &[("ACX_INDEX_KEY", key)]),
        registry.run(&["key", "show", file]),
    ] {
        assert_eq!(out.status, 2, "{what}: {out:#?}");
        assert!(out.stderr.contains(needle), "{what}: {out:#?}");
        assert!(out.stdout.is_empty(), "{what}: {out:#?}");
        assert!(!out.stderr.contains(&secret), "{what}: {out:#?}");
    }
    assert!(registry.index().is_none(), "{what}");
}

#[test]
fn a_signing_key_of_another_kind_signs_nothing() {
    let lab = Lab::new();
    let mut made = 0;
    for (what, args) in KINDS {
        let Some(pem) = openssl(&lab, args) else {
            println!("SKIPPED: openssl makes no {what} key here");
            continue;
        };
        assert!(pem.starts_with("-----BEGIN PRIVATE KEY-----"), "{what}");
        signs_nothing(what, &pem, "unencrypted PKCS#8");
        made += 1;
    }
    if made == 0 {
        println!("SKIPPED: there is no openssl, and no key of another kind was tried");
    }
}

#[test]
fn an_encrypted_signing_key_signs_nothing_and_asks_nobody() {
    let lab = Lab::new();
    let plain = lab.at("plain.pem");
    keys::write_private(&plain, &keys::seed(INDEX_SEED));
    let sealed = openssl(
        &lab,
        &[
            "pkcs8",
            "-topk8",
            "-v2",
            "aes-256-cbc",
            "-passout",
            "pass:x",
            "-in",
            plain.to_str().unwrap(),
        ],
    );
    let Some(sealed) = sealed else {
        println!("SKIPPED: there is no openssl to encrypt a key with");
        return;
    };
    assert!(sealed.contains("ENCRYPTED PRIVATE KEY"));
    signs_nothing("encrypted", &sealed, "unencrypted PKCS#8");
}

#[test]
fn a_signing_key_that_cannot_be_read_signs_nothing() {
    let registry = trusting(&[own()]);
    let key = registry.key();
    let home = registry.home();
    let at = |name: &str| home.join(name).to_str().unwrap().to_owned();
    symlink(&key, at("link.pem")).unwrap();
    fs::create_dir(at("folder.pem")).unwrap();
    assert!(
        Command::new("mkfifo")
            .arg(at("pipe.pem"))
            .status()
            .unwrap()
            .success()
    );
    for (what, file) in [
        ("absent", at("absent.pem")),
        ("a link to the right key", at("link.pem")),
        ("a folder", at("folder.pem")),
        ("a pipe", at("pipe.pem")),
        ("a device", "/dev/zero".to_owned()),
        ("a file that is no folder", format!("{key}/key.pem")),
    ] {
        let out = registry.run(&["build-index", "--key", &file]);
        assert_eq!(out.status, 2, "{what}: {out:#?}");
        assert!(out.stderr.contains(&file), "{what}: {out:#?}");
        assert!(registry.index().is_none(), "{what}");
    }
    // A key of somebody else, mode 0: only one who is not root can see what becomes of it.
    fs::set_permissions(&key, fs::Permissions::from_mode(0o000)).unwrap();
    let Some(out) = as_nobody(&registry, &["build-index", "--key", &key]) else {
        println!("SKIPPED: not root, or no setpriv: a key without permission was not tried");
        return;
    };
    assert_eq!(out.status, 2, "{out:#?}");
    assert!(out.stderr.contains("ermission denied"), "{out:#?}");
    assert!(registry.index().is_none());
}

/// Runs the program as a user who owns nothing; `None` where this test may not.
fn as_nobody(registry: &TempRegistry, args: &[&str]) -> Option<Output> {
    let root = registry.root();
    // The way there, and the registry's own files, are open to all.
    let opened = Command::new("chmod")
        .args(["-R", "a+rwX"])
        .arg(&root)
        .status()
        .unwrap();
    assert!(opened.success());
    let mut folder = root.parent();
    while let Some(place) = folder.filter(|p| *p != std::env::temp_dir()) {
        let mode = fs::metadata(place).unwrap().permissions().mode();
        fs::set_permissions(place, fs::Permissions::from_mode(mode | 0o055)).ok()?;
        folder = place.parent();
    }
    let out = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(env!("CARGO_BIN_EXE_acx"))
        .args(args)
        .current_dir(&root)
        .env_clear()
        .env("HOME", "/nonexistent")
        .output()
        .ok()?;
    // Status 1 or 127 with this word is setpriv's own.
    let text = String::from_utf8_lossy(&out.stderr).into_owned();
    (!text.starts_with("setpriv:")).then(|| Output {
        status: out.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&out.stdout).into_owned(),
        stderr: text,
    })
}

#[test]
fn a_publishers_key_that_everyone_may_read_signs_no_cartridge() {
    let registry = TempRegistry::new();
    let key = registry.key();
    registry.put("agent/manifest.json", r#"{"name":"Build Smith"}"#);
    let export = || {
        registry.run(&[
            "export",
            "agent",
            "out.acx",
            "--publisher",
            PUBLISHER,
            "--key",
            &key,
        ])
    };
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    let out = export();
    assert_eq!(out.status, 2, "{out:#?}");
    assert!(out.stderr.contains("everyone on this machine"), "{out:#?}");
    assert!(!registry.at("out.acx").exists());
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    let out = export();
    assert_eq!(out.status, 0, "{out:#?}");
}

// The index that consumers and builds go on from.

#[test]
fn an_index_of_another_key_is_neither_built_upon_nor_believed() {
    let registry = trusting(&[own()]);
    assert_eq!(registry.build_at(SEPTEMBER, &[]).status, 0);
    // The attacker signs an index of their own over the same tree.
    let theirs = registry.home().join("theirs.pem");
    keys::write_private(&theirs, &keys::seed(66));
    registry.remove("index.json");
    let out = registry.run(&["build-index", "--key", theirs.to_str().unwrap()]);
    assert_eq!(out.status, 0, "{out:#?}");
    let forged = registry.index_bytes();
    for policy in ["", "[index]\nkeys = [\"PIN\"]\n"] {
        registry.policy(&policy.replace("PIN", &index_keyid()));
        let out = registry.build_at(SEPTEMBER, &[]);
        assert_eq!(out.status, 2, "{out:#?}");
        assert!(out.stderr.contains("--new-chain"), "{out:#?}");
        assert_eq!(registry.index_bytes(), forged, "left as it was");
        let out = registry.run(&["verify-index", "--keyid", &index_keyid()]);
        assert_eq!(out.status, 1, "{out:#?}");
        assert!(out.stdout.contains("expected the signer"), "{out:#?}");
        let out = registry.run(&["site", "--out", "public", "--keyid", &index_keyid()]);
        assert_ne!(out.status, 0, "{out:#?}");
        assert!(!registry.at("public/index.html").exists());
    }
    // Its own key as the one that is said to be pinned: the key that signs must be pinned.
    let out = registry.run(&["build-index", "--key", theirs.to_str().unwrap()]);
    assert_eq!(out.status, 2, "{out:#?}");
    assert!(out.stderr.contains("pinned"), "{out:#?}");
}

#[test]
fn an_index_whose_signer_is_renamed_to_the_pinned_key_is_no_index() {
    let registry = trusting(&[own()]);
    let theirs = registry.home().join("theirs.pem");
    keys::write_private(&theirs, &keys::seed(66));
    let out = registry.run(&["build-index", "--key", theirs.to_str().unwrap()]);
    assert_eq!(out.status, 0, "{out:#?}");
    let good = registry.index().unwrap();
    let pem = keys::public_pem(&keys::public(&keys::seed(INDEX_SEED)));
    let named: &[fn(&mut Value, &str)] = &[
        |index, _| index["integrity"]["keyid"] = index_keyid().into(),
        |index, pem| index["integrity"]["publicKeyPem"] = pem.into(),
        |index, pem| {
            index["integrity"]["keyid"] = index_keyid().into();
            index["integrity"]["publicKeyPem"] = pem.into();
        },
        |index, pem| {
            index["integrity"]["keyid"] = index_keyid().into();
            index["integrity"]["publicKeyPem"] = pem.into();
            index["integrity"]["envelope"]["signatures"][0]["keyid"] = index_keyid().into();
        },
        // Two signatures, the first of them the pinned key's in name.
        |index, _| {
            let signatures = &mut index["integrity"]["envelope"]["signatures"];
            let mut first = signatures[0].clone();
            first["keyid"] = index_keyid().into();
            signatures.as_array_mut().unwrap().insert(0, first);
        },
    ];
    for (n, rename) in named.iter().enumerate() {
        let mut index = good.clone();
        rename(&mut index, &pem);
        registry.put("index.json", serde_json::to_vec_pretty(&index).unwrap());
        let out = registry.run(&["verify-index", "--keyid", &index_keyid()]);
        assert_eq!(out.status, 1, "{n}: {out:#?}");
        let out = registry.build_at(SEPTEMBER, &[]);
        assert_eq!(out.status, 2, "{n}: {out:#?}");
    }
}

#[test]
fn an_old_index_that_is_pushed_again_is_refused() {
    let lab = Lab::new();
    let server = lab.bare("server.git", &[]);
    server.hook("pre-receive", "");
    let clone = lab.clone_of(&server.path, "clone", &[]);
    let land = |message: &str| {
        clone.commit(message);
        assert_eq!(clone.build(&["--commit"]).status, 0, "{message}");
        let out = clone.try_git(&["push", "origin", "main"]);
        assert_eq!(out.status, 0, "{message}: {out:#?}");
    };
    clone.cartridge(&signed("1.0.0", PUBLISHER_SEED));
    land("Found the registry");
    let old = fs::read(clone.path.join("index.json")).unwrap();
    clone.cartridge(&signed("1.1.0", PUBLISHER_SEED));
    land("Publish");
    assert_eq!(server.index("main")["count"], 2);
    // The signature is the registry's own, and the sequence falls.
    clone.put("index.json", &old);
    clone.commit("Yesterday's news");
    let before = server.state();
    for push in [
        &["push", "origin", "main"][..],
        &["push", "-f", "origin", "main"],
    ] {
        let out = clone.try_git(push);
        assert_ne!(out.status, 0, "{out:#?}");
        assert!(out.stderr.contains("error[history-index]"), "{out:#?}");
        assert_eq!(server.state(), before);
    }
    // By a forced push of the commit that had it.
    let out = clone.try_git(&["push", "-f", "origin", "main~2:main"]);
    assert_ne!(out.status, 0, "{out:#?}");
    assert!(out.stderr.contains("error[history-"), "{out:#?}");
    assert_eq!(server.state(), before);
    // A consumer who has seen the second does not take the first.
    let replayed = lab.at("replayed");
    fs::create_dir(&replayed).unwrap();
    fs::write(replayed.join("index.json"), &old).unwrap();
    let keyid = index_keyid();
    let verify = |least: &str| {
        clone.acx(&[
            "verify-index",
            replayed.join("index.json").to_str().unwrap(),
            "--keyid",
            &keyid,
            "--min-sequence",
            least,
        ])
    };
    assert_eq!(verify("1").status, 0);
    let out = verify("2");
    assert_eq!(out.status, 1, "{out:#?}");
    assert!(out.stdout.contains("old index"), "{out:#?}");
}

#[test]
fn the_indexes_of_two_registries_of_one_key_are_not_swapped() {
    let [one, two] = ["com.example.one", "com.example.two"].map(|id| {
        let registry = trusting(&[own()]);
        registry.policy(&format!(
            "[registry]\nid = \"{id}\"\n[index]\nkeys = [\"{}\"]\n",
            index_keyid()
        ));
        assert_eq!(registry.build_at(SEPTEMBER, &[]).status, 0);
        registry
    });
    let (first, second) = (one.index_bytes(), two.index_bytes());
    assert_ne!(first, second);
    one.put("index.json", &second);
    two.put("index.json", &first);
    for (registry, own, other) in [
        (&one, "com.example.one", "com.example.two"),
        (&two, "com.example.two", "com.example.one"),
    ] {
        let swapped = registry.index_bytes();
        for args in [&[][..], &["--check"], &["--dry-run"], &["--resign"]] {
            let out = registry.build_at(SEPTEMBER, args);
            assert_eq!(out.status, 2, "{args:?}: {out:#?}");
            assert!(
                out.stderr.contains(own) && out.stderr.contains(other),
                "{args:?}: {out:#?}"
            );
            assert_eq!(registry.index_bytes(), swapped);
        }
        let out = registry.run(&["verify-index", "--keyid", &index_keyid()]);
        assert_eq!(out.status, 1, "{out:#?}");
        assert!(out.stdout.contains(other), "{out:#?}");
    }
}

#[test]
fn a_key_in_the_registrys_own_tree_is_no_secret_and_is_told() {
    let registry = trusting(&[own()]);
    keys::write_private(&registry.at("index.pem"), &keys::seed(INDEX_SEED));
    let out = registry.build_at(SEPTEMBER, &["--dry-run"]);
    assert_eq!(out.status, 1, "{out:#?}");
    assert_eq!(
        rejected_codes(&out.json())["index.pem"],
        ["registry-secret"]
    );
}
