//! `verify-index`: what a consumer who knows the registry's key learns, and what nobody can change unseen.
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
use std::os::unix::fs::symlink;

use acx_registry::model::{KeyId, Timestamp};
use acx_registry::pipeline::{Pins, verify_index};
use acx_registry::publish;
use acx_registry::publish::KeySource;
use rayon::prelude::*;
use serde_json::{Value, json};
use support::keys;
use support::registry::{
    FINE, INDEX_SEED, Output, SEPTEMBER, TempRegistry, index_keyid, with_fine,
};

fn built() -> TempRegistry {
    let registry = with_fine();
    assert_eq!(registry.build_at(SEPTEMBER, &[]).status, 0);
    registry
}

fn verify(registry: &TempRegistry, more: &[&str]) -> Output {
    let keyid = index_keyid();
    let args = ["verify-index", "--format", "json", "--keyid", &keyid];
    registry.run_with(&[&args, more].concat(), &[("SOURCE_DATE_EPOCH", SEPTEMBER)])
}

/// It fails, for a reason that holds `needle`.
fn fails(registry: &TempRegistry, more: &[&str], needle: &str) {
    let out = verify(registry, more);
    assert_eq!(out.status, 1, "{needle}: {out:#?}");
    let report = out.json();
    assert_eq!(report["verified"], false, "{needle}");
    let problems = report["problems"].as_array().unwrap();
    assert!(
        problems
            .iter()
            .any(|p| p.as_str().unwrap().contains(needle)),
        "{needle}: {problems:?}"
    );
}

#[test]
fn a_key_that_the_consumer_knows_verifies_the_index() {
    let registry = built();
    let report = verify(&registry, &[]).json();
    assert_eq!(report["verified"], true);
    assert_eq!(report["keySource"], "given");
    assert_eq!(report["keyid"], json!(index_keyid()));
    assert_eq!(report["registry"], "local.registry");
    assert_eq!(report["sequence"], 1);
    assert_eq!(report["signedAt"], "2026-09-01T00:00:00.000Z");
    let entry = &registry.index().unwrap()["cartridges"][0];
    assert_eq!(
        report["cartridges"],
        json!([{
            "path": FINE,
            "digest": entry["digest"],
            "sha256": entry["sha256"],
            "state": "verified",
        }])
    );

    let public = registry.home().join("public.pem");
    fs::write(
        &public,
        keys::public_pem(&keys::public(&keys::seed(INDEX_SEED))),
    )
    .unwrap();
    let public = public.to_str().unwrap();
    assert_eq!(
        registry.run(&["verify-index", "--pubkey", public]).status,
        0
    );
    // The file itself, from anywhere, and the index alone without its registry.
    let alone = registry.home().join("index.json");
    fs::copy(registry.at("index.json"), &alone).unwrap();
    let out = registry.run(&["verify-index", alone.to_str().unwrap(), "--pubkey", public]);
    assert_eq!(out.status, 0, "{out:#?}");
    assert!(out.stdout.contains("1 absent"), "{out:#?}");
}

#[test]
fn with_no_key_it_says_so_and_does_not_verify() {
    let registry = built();
    let out = registry.run(&["verify-index"]);
    assert_eq!(out.status, 1, "{out:#?}");
    assert!(out.stdout.contains("anyone can sign"), "{out:#?}");
    assert!(out.stdout.contains("NOT VERIFIED"), "{out:#?}");
}

#[test]
fn the_policys_own_key_is_called_self_attested() {
    let registry = TempRegistry::new();
    registry.policy(&format!("[index]\nkeys = [\"{}\"]\n", index_keyid()));
    assert_eq!(registry.build_index(&[]).status, 0);
    let out = registry.run(&["verify-index", "--format", "json"]);
    assert_eq!(
        (out.status, &out.json()["keySource"]),
        (0, &json!("self-attested"))
    );
    let out = registry.run(&["verify-index"]);
    assert_eq!(out.status, 0);
    assert!(out.stdout.contains("self-attested"), "{out:#?}");
    // A consumer's key counts over the policy's.
    let other = keys::keyid(&keys::public(&keys::seed(77)));
    assert_eq!(registry.run(&["verify-index", "--keyid", &other]).status, 1);
}

#[test]
fn an_index_of_another_key_or_another_registry_fails() {
    let registry = built();
    let other = keys::keyid(&keys::public(&keys::seed(77)));
    let out = registry.run(&["verify-index", "--keyid", &other]);
    assert_eq!(out.status, 1, "{out:#?}");
    assert!(out.stdout.contains("expected the signer"), "{out:#?}");
    // Of several keys one is enough.
    assert_eq!(verify(&registry, &["--keyid", &other]).status, 0);

    let [one, two] = ["com.example.one", "com.example.two"].map(|id| {
        let registry = TempRegistry::new();
        registry.policy(&format!("[registry]\nid = \"{id}\"\n"));
        assert_eq!(registry.build_index(&[]).status, 0);
        assert_eq!(verify(&registry, &[]).status, 0);
        registry
    });
    let (first, second) = (one.index_bytes(), two.index_bytes());
    one.put("index.json", second);
    two.put("index.json", first);
    fails(&one, &[], "com.example.two");
    fails(&two, &[], "com.example.one");
}

#[test]
fn an_old_index_and_an_expired_one_fail() {
    let registry = built();
    assert_eq!(verify(&registry, &["--min-sequence", "1"]).status, 0);
    fails(&registry, &["--min-sequence", "2"], "sequence 2");
    registry.build_at(SEPTEMBER, &["--resign"]);
    assert_eq!(verify(&registry, &["--min-sequence", "2"]).status, 0);

    registry.policy("[index]\nexpires_days = 1\n");
    registry.build_at(SEPTEMBER, &["--resign"]);
    let keyid = index_keyid();
    for (epoch, status) in [("1788220800", 0), ("1788307200", 0), ("1788307201", 1)] {
        let out = registry.run_with(
            &["verify-index", "--keyid", &keyid],
            &[("SOURCE_DATE_EPOCH", epoch)],
        );
        assert_eq!(out.status, status, "{epoch}: {out:#?}");
        assert_eq!(out.stdout.contains("expired"), status == 1);
    }
}

#[test]
fn cartridges_are_held_against_the_index() {
    let registry = built();
    let good = fs::read(registry.at(FINE)).unwrap();
    let state = |registry: &TempRegistry| {
        let report = verify(registry, &[]).json();
        report["cartridges"][0]["state"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    registry.remove(FINE);
    assert_eq!(verify(&registry, &[]).status, 0);
    assert_eq!(state(&registry), "absent");

    let mut changed = good.clone();
    *changed.last_mut().unwrap() ^= 1;
    registry.put(FINE, changed);
    fails(&registry, &[], "expected sha256");
    assert_eq!(state(&registry), "wrong");

    // The right bytes behind a link are not what stands in the registry.
    registry.put("elsewhere.acx", &good).remove(FINE);
    symlink(registry.at("elsewhere.acx"), registry.at(FINE)).unwrap();
    fails(&registry, &[], "symbolic link");
    registry.remove(FINE).put(FINE, &good);
    assert_eq!(verify(&registry, &[]).status, 0);
    let [folder, moved] = ["cartridges/io.github.acme/fine", "moved"].map(|p| registry.at(p));
    fs::rename(&folder, &moved).unwrap();
    symlink(&moved, &folder).unwrap();
    fails(&registry, &[], "symbolic link");
    fs::remove_file(&folder).unwrap();
    fs::rename(&moved, &folder).unwrap();
    registry.remove(FINE);
    fs::create_dir(registry.at(FINE)).unwrap();
    fails(&registry, &[], "cannot be read");
}

#[test]
fn what_is_no_signed_index_fails_or_stops() {
    let registry = built();
    let good = registry.index_bytes();
    let mut unsigned: Value = serde_json::from_slice(&good).unwrap();
    unsigned.as_object_mut().unwrap().remove("integrity");
    registry.put("index.json", unsigned.to_string());
    fails(&registry, &[], "not signed");
    for garbage in [
        &b""[..],
        b"{}",
        b"[]",
        b"null",
        b"\xff\xfe",
        &good[..good.len() / 2],
    ] {
        registry.put("index.json", garbage);
        fails(&registry, &[], "not a registry index");
    }
    registry.put("index.json", vec![b'['; 1 << 20]);
    fails(&registry, &[], "not a registry index");
    // A member more, whose name hides behind the first.
    let text = String::from_utf8(good.clone()).unwrap();
    registry.put("index.json", text.replacen('{', "{\n  \"count\": 9,", 1));
    fails(&registry, &[], "not a registry index");
    registry.put("index.json", text.replacen('{', "{\n  \"news\": 9,", 1));
    fails(&registry, &[], "signature does not hold");

    registry.remove("index.json");
    assert_eq!(verify(&registry, &[]).status, 2);
    let outside = registry.home().join("index.json");
    fs::write(&outside, &good).unwrap();
    symlink(&outside, registry.at("index.json")).unwrap();
    assert_eq!(verify(&registry, &[]).status, 2);
}

/// What `verify-index` asks of the file's bytes, without the program around it.
fn holds(bytes: &[u8], keyid: &str) -> bool {
    publish::read(bytes)
        .is_ok_and(|index| index.well_formed && index.integrity.keyid.as_str() == keyid)
}

#[test]
fn no_byte_of_the_index_can_be_changed_unseen() {
    let registry = built();
    let good = registry.index_bytes();
    let keyid = index_keyid();
    assert!(holds(&good, &keyid));
    let unseen: Vec<(usize, u8)> = (0..good.len())
        .into_par_iter()
        .flat_map_iter(|at| {
            let byte = good[at];
            // Another case, a neighbour, and what another spelling would have in its place.
            let spelled = match byte {
                b'+' => b'-',
                b'/' => b'_',
                b'\n' => b' ',
                b' ' => b'\t',
                b'=' => b'A',
                other => other ^ 0x80,
            };
            [byte ^ 0x20, byte ^ 1, spelled].map(|new| (at, new))
        })
        .filter(|(at, new)| {
            let mut bytes = good.clone();
            bytes[*at] = *new;
            holds(&bytes, &keyid)
        })
        .collect();
    assert_eq!(unseen, []);
    // The same through the program and through the library's whole check, for a sample.
    let pins = Pins {
        keys: vec![KeyId::try_from(keyid.as_str()).unwrap()],
        source: KeySource::Consumer,
    };
    let now = Timestamp::from_unix(SEPTEMBER.parse().unwrap()).unwrap();
    for at in (0..good.len()).step_by(good.len() / 40) {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        registry.put("index.json", &bytes);
        let file = registry.at("index.json");
        let report = verify_index(&file, &pins, None, None, &now, 1).unwrap();
        assert_eq!(report.exit_status(), 1, "byte {at}");
        assert_eq!(verify(&registry, &[]).status, 1, "byte {at}");
    }
    for more in ["\n", " ", "\0", "{}"] {
        let longer = [&good[..], more.as_bytes()].concat();
        assert!(!holds(&longer, &keyid), "{more:?} after the end");
    }
    for less in 1..good.len() {
        if less < 3 || less % 97 == 0 {
            assert!(
                !holds(&good[..good.len() - less], &keyid),
                "{less} bytes less"
            );
        }
    }
}

#[test]
fn no_other_spelling_of_the_signature_passes() {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=";
    let keyid = index_keyid();
    let registry = TempRegistry::new();
    // A signature with one `+` or `/` alone reads the same in the other alphabet; times are tried until there is one.
    let mut epoch: u64 = SEPTEMBER.parse().unwrap();
    let (text, sig) = loop {
        assert_eq!(
            registry.build_at(&epoch.to_string(), &["--resign"]).status,
            0
        );
        let text = String::from_utf8(registry.index_bytes()).unwrap();
        let index: Value = serde_json::from_str(&text).unwrap();
        let sig = index["integrity"]["envelope"]["signatures"][0]["sig"]
            .as_str()
            .unwrap()
            .to_owned();
        if sig.bytes().filter(|b| b"+/".contains(b)).count() == 1 {
            break (text, sig);
        }
        epoch += 1;
    };
    let start = text.find(&sig).unwrap();
    let good = text.into_bytes();
    assert!(holds(&good, &keyid));
    let places: Vec<(usize, u8)> = (start..start + sig.len())
        .flat_map(|at| ALPHABET.iter().map(move |new| (at, *new)))
        .filter(|(at, new)| good[*at] != *new)
        .collect();
    let unseen: Vec<_> = places
        .into_par_iter()
        .filter(|(at, new)| {
            let mut bytes = good.clone();
            bytes[*at] = *new;
            holds(&bytes, &keyid)
        })
        .collect();
    assert_eq!(unseen, []);
    let unpadded = String::from_utf8(good)
        .unwrap()
        .replace(&sig, sig.trim_end_matches('='));
    assert!(!holds(unpadded.as_bytes(), &keyid));
    // A build puts such a spelling right and keeps the signature.
    registry.put("index.json", &unpadded);
    let out = registry.build_at(&epoch.to_string(), &[]);
    assert_eq!(out.status, 0, "{out:#?}");
    assert!(holds(&registry.index_bytes(), &keyid));
}
