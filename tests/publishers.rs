//! A publisher's first key is the publisher's key, until the trust registry or the policy says more.
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

use serde_json::{Value, json};
use support::cartridge::Builder;
use support::git::Lab;
use support::keys;
use support::registry::{
    SEPTEMBER, TempRegistry, TrustKey, listed, rejected_codes, trust_registry, warning_codes,
};

const FIRST: u8 = 7;
const SECOND: u8 = 33;
const THIRD: u8 = 34;

fn signed(id: &str, version: &str, seed: u8) -> Builder {
    let mut builder = Builder::valid("io.github.acme", id, version);
    builder.envelope.seed = keys::seed(seed);
    builder
}

fn keyid(seed: u8) -> String {
    keys::keyid(&keys::public(&keys::seed(seed)))
}

/// A registry that has accepted a cartridge by the first key and is given one by the second.
fn two_keys() -> (TempRegistry, String) {
    let registry = TempRegistry::new();
    registry.cartridge(&signed("build-smith", "1.0.0", FIRST));
    assert_eq!(registry.build_index(&[]).status, 0);
    let new = registry.cartridge(&signed("other-tool", "1.0.0", SECOND));
    (registry, new)
}

fn with_keys(registry: &TempRegistry, edit: impl FnOnce(&mut Value), trusted: &[TrustKey]) {
    let mut document = trust_registry(trusted);
    edit(&mut document);
    registry.put("trust-registry.json", document.to_string());
}

#[test]
fn another_key_is_refused_with_the_expected_and_the_found() {
    let (registry, new) = two_keys();
    let out = registry.build_index(&[]);
    assert_eq!(out.status, 1);
    let report = out.json();
    assert_eq!(rejected_codes(&report)[&new], ["history-publisher-key"]);
    let finding = &report["rejected"][0]["findings"][0];
    let message = finding["message"].as_str().unwrap();
    assert!(
        message.contains(&keyid(FIRST)) && message.contains(&keyid(SECOND)),
        "{message}"
    );
    assert!(
        finding["help"].as_str().unwrap().contains("rotat"),
        "{finding}"
    );
    assert_eq!(listed(&registry.index().unwrap()).len(), 1);
    // Again, now that the index that was just written has been the last word.
    assert_eq!(
        rejected_codes(&registry.build_index(&["--resign"]).json()).len(),
        1
    );
    // A further version by the first key goes on.
    registry.cartridge(&signed("build-smith", "1.1.0", FIRST));
    registry.build_index(&[]);
    assert_eq!(listed(&registry.index().unwrap()).len(), 2);
}

#[test]
fn a_key_that_is_listed_for_the_publisher_is_the_publishers() {
    let (registry, new) = two_keys();
    with_keys(
        &registry,
        |_| {},
        &[TrustKey::active(keys::seed(SECOND), "io.github.acme")],
    );
    let out = registry.build_index(&[]);
    assert_eq!(out.status, 0, "{out:#?}");
    // Another publisher's entry says nothing of this one.
    let (registry, _) = two_keys();
    with_keys(
        &registry,
        |_| {},
        &[TrustKey::active(keys::seed(SECOND), "io.github.other")],
    );
    assert_eq!(
        rejected_codes(&registry.build_index(&[]).json())[&new],
        ["history-publisher-key"]
    );
    // Nor does one that was taken back.
    let (registry, _) = two_keys();
    let revoked = TrustKey::active(keys::seed(SECOND), "io.github.acme").revoked("retired");
    with_keys(&registry, |_| {}, &[revoked]);
    assert_eq!(
        rejected_codes(&registry.build_index(&[]).json())[&new],
        ["history-publisher-key"]
    );
}

#[test]
fn a_rotated_key_goes_on_from_the_one_before() {
    // The pinned key's entry names its successor, which has no entry of its own.
    let (registry, _) = two_keys();
    let old = TrustKey::active(keys::seed(FIRST), "io.github.acme").revoked("superseded");
    with_keys(
        &registry,
        |document| document["keys"][0]["rotatedTo"] = json!(keyid(SECOND)),
        &[old],
    );
    let out = registry.build_index(&[]);
    assert_eq!(out.status, 0, "{out:#?}");
    // A link in another publisher's entry is nobody's word for this one.
    let (registry, new) = two_keys();
    with_keys(
        &registry,
        |document| document["keys"][0]["rotatedFrom"] = json!(keyid(FIRST)),
        &[TrustKey::active(keys::seed(SECOND), "io.github.other")],
    );
    assert_eq!(
        rejected_codes(&registry.build_index(&[]).json())[&new],
        ["history-publisher-key"]
    );
}

#[test]
fn a_waiver_lets_one_path_change_its_key_until_its_day() {
    let (registry, new) = two_keys();
    let waiver = |path: &str, expires: &str| {
        let reason = "The publisher lost the key; they proved it by their domain.";
        registry.policy(&format!(
            "[[waivers]]\ncode = \"history-publisher-key\"\npath = \"{path}\"\nreason = \"{reason}\"\nexpires = \"{expires}\"\n"
        ));
    };
    let codes = |status: i32| {
        let out = registry.run_with(
            &["build-index", "--dry-run", "--format", "json"],
            &[("SOURCE_DATE_EPOCH", SEPTEMBER)],
        );
        assert_eq!(out.status, status, "{out:#?}");
        out.json()
    };
    // Another path's, another publisher's, and one whose day has passed.
    for (path, expires) in [
        ("cartridges/io.github.acme/build-smith/**", "2099-01-01"),
        ("cartridges/io.github.acm/**", "2099-01-01"),
        (new.as_str(), "2026-08-31"),
    ] {
        waiver(path, expires);
        let report = codes(1);
        assert_eq!(rejected_codes(&report)[&new], ["history-publisher-key"]);
        let unused = ("policy-waiver".to_owned(), "acx-registry.toml".to_owned());
        assert!(warning_codes(&report).contains(&unused), "{report}");
    }
    waiver(&new, "2026-09-01");
    let report = codes(0);
    let warnings = report["warnings"].as_array().unwrap();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert_eq!(warnings[0]["code"], "history-publisher-key");
    let message = warnings[0]["message"].as_str().unwrap();
    assert!(
        message.ends_with(" (waived until 2026-09-01: The publisher lost the key; they proved it by their domain.)"),
        "{message}"
    );
    // What was let in pins its key: the publisher goes on with it, and without the waiver.
    assert_eq!(registry.build_at(SEPTEMBER, &[]).status, 0);
    registry.policy("");
    registry.cartridge(&signed("other-tool", "1.1.0", SECOND));
    assert_eq!(registry.build_at(SEPTEMBER, &[]).status, 0);
    let third = registry.cartridge(&signed("third-tool", "1.0.0", THIRD));
    let report = codes(1);
    assert_eq!(rejected_codes(&report)[&third], ["history-publisher-key"]);
}

#[test]
fn the_policy_pins_and_lowers() {
    let (registry, new) = two_keys();
    registry.policy("[publishers]\ncontinuity = \"warn\"\n");
    let out = registry.build_index(&[]);
    assert_eq!(out.status, 0, "{out:#?}");
    assert!(warning_codes(&out.json()).contains(&("history-publisher-key".to_owned(), new)));
    assert_eq!(listed(&registry.index().unwrap()).len(), 2);

    let (registry, new) = two_keys();
    let pins = |seed| {
        format!(
            "[publishers.pins]\n\"io.github.acme\" = [\"{}\"]\n",
            keyid(seed)
        )
    };
    registry.policy(&pins(SECOND));
    let out = registry.build_index(&[]);
    assert_eq!(out.status, 0, "{out:#?}");
    registry.cartridge(&signed("third-tool", "1.0.0", THIRD));
    registry.cartridge(&signed("build-smith", "1.1.0", FIRST));
    let codes = rejected_codes(&registry.build_index(&[]).json());
    assert_eq!(
        codes.len(),
        2,
        "the pins take the place of what was first: {codes:?}"
    );
    assert!(!codes.contains_key(&new));
    for bad in [
        "[publishers]\ncontinuity = \"maybe\"\n",
        "[publishers.pins]\n\"io.github.acme\" = []\n",
        "[publishers.pins]\n\"Not A Publisher\" = [\"x\"]\n",
        "[branches]\nguarded = []\n",
        "[branches]\nguarded = [\"refs/heads/main\"]\n",
        "[branches]\nguarded = [\"a b\"]\n",
    ] {
        registry.policy(bad);
        assert_eq!(registry.build_index(&[]).status, 2, "{bad}");
    }
}

#[test]
fn a_new_publisher_comes_with_one_key() {
    let registry = TempRegistry::new();
    let one = registry.cartridge(&signed("build-smith", "1.0.0", FIRST));
    let two = registry.cartridge(&signed("other-tool", "1.0.0", SECOND));
    let out = registry.build_index(&[]);
    assert_eq!(out.status, 1);
    let codes = rejected_codes(&out.json());
    assert_eq!(codes[&one], ["history-publisher-key"]);
    assert_eq!(codes[&two], ["history-publisher-key"]);
    // Unless the keys are linked, or one of them is listed: then the others are strangers.
    with_keys(
        &registry,
        |document| document["keys"][0]["rotatedFrom"] = json!(keyid(FIRST)),
        &[TrustKey::active(keys::seed(SECOND), "io.github.acme")],
    );
    assert_eq!(registry.build_index(&["--dry-run"]).status, 0);
    registry.trust(&[TrustKey::active(keys::seed(SECOND), "io.github.acme")]);
    let codes = rejected_codes(&registry.build_index(&["--dry-run"]).json());
    assert_eq!(codes.into_keys().collect::<Vec<_>>(), [one]);
}

#[test]
fn a_name_whose_owner_is_listed_is_not_for_whoever_comes_first() {
    let registry = TempRegistry::new();
    let path = registry.cartridge(&signed("build-smith", "1.0.0", FIRST));
    registry.trust(&[TrustKey::active(keys::seed(SECOND), "io.github.acme")]);
    let out = registry.build_index(&[]);
    assert_eq!(
        rejected_codes(&out.json())[&path],
        ["history-publisher-key"]
    );
    assert_eq!(listed(&registry.index().unwrap()).len(), 0);
    // A key that was taken back owns nothing, and an entry of another publisher neither.
    for key in [
        TrustKey::active(keys::seed(SECOND), "io.github.acme").revoked("retired"),
        TrustKey::active(keys::seed(SECOND), "io.github.other"),
    ] {
        registry.trust(&[key]);
        assert_eq!(registry.build_index(&["--dry-run"]).status, 0);
    }
    // What was published before the owner was listed stays.
    assert_eq!(registry.build_index(&[]).status, 0);
    registry.trust(&[TrustKey::active(keys::seed(SECOND), "io.github.acme")]);
    assert_eq!(registry.build_index(&[]).status, 0);
    assert_eq!(listed(&registry.index().unwrap()).len(), 1);
}

#[test]
fn a_compromised_key_does_not_set_its_publisher_free() {
    let (registry, new) = two_keys();
    let first = TrustKey::active(keys::seed(FIRST), "io.github.acme").revoked("key-compromise");
    registry.trust(std::slice::from_ref(&first));
    let old = Builder::valid("io.github.acme", "build-smith", "1.0.0").path();
    for _ in 0..2 {
        let codes = rejected_codes(&registry.build_index(&["--allow-shrink"]).json());
        assert_eq!(codes[&old], ["signature-compromised-key"]);
        assert_eq!(codes[&new], ["history-publisher-key"]);
    }
    // The maintainers say who follows.
    registry.trust(&[
        first,
        TrustKey::active(keys::seed(SECOND), "io.github.acme"),
    ]);
    let codes = rejected_codes(&registry.build_index(&[]).json());
    assert_eq!(codes.into_keys().collect::<Vec<_>>(), [old]);

    let lab = Lab::new();
    let server = lab.bare("server.git", &[]);
    server.hook("pre-receive", "");
    server.git(&["config", "acx.allowPolicyChange", "true"]);
    let clone = lab.clone_of(&server.path, "clone", &[]);
    clone.cartridge(&signed("build-smith", "1.0.0", FIRST));
    clone.commit("Found the registry");
    assert_eq!(clone.try_git(&["push", "origin", "main"]).status, 0);
    let first = TrustKey::active(keys::seed(FIRST), "io.github.acme").revoked("key-compromise");
    clone.put("trust-registry.json", trust_registry(&[first]).to_string());
    clone.commit("Revoke");
    assert_eq!(clone.try_git(&["push", "origin", "main"]).status, 0);
    clone.cartridge(&signed("other-tool", "1.0.0", SECOND));
    clone.commit("Take over");
    let out = clone.try_git(&["push", "origin", "main"]);
    assert!(
        out.stderr.contains("error[history-publisher-key]"),
        "{out:#?}"
    );
}

#[test]
fn a_push_and_a_pull_request_are_held_to_the_keys_of_the_base() {
    let lab = Lab::new();
    let server = lab.bare("server.git", &[]);
    server.hook("pre-receive", "");
    let clone = lab.clone_of(&server.path, "clone", &[]);
    clone.cartridge(&signed("build-smith", "1.0.0", FIRST));
    clone.commit("Found the registry");
    assert_eq!(clone.try_git(&["push", "origin", "main"]).status, 0);
    // No index is needed: the cartridges of before say it.
    let new = clone.cartridge(&signed("other-tool", "1.0.0", SECOND));
    clone.commit("Impersonate");
    let out = clone.try_git(&["push", "origin", "main"]);
    assert_ne!(out.status, 0);
    assert!(
        out.stderr.contains("error[history-publisher-key]"),
        "{out:#?}"
    );
    let built = clone.build(&["--base", "origin/main", "--dry-run"]);
    assert_eq!(
        rejected_codes(&built.json())[&new],
        ["history-publisher-key"]
    );
    // A publisher that is new with two keys at once.
    clone.git(&["reset", "-q", "--hard", "origin/main"]);
    for (id, seed) in [("one", FIRST), ("two", SECOND)] {
        let mut builder = Builder::valid("io.github.newcomer", id, "1.0.0");
        builder.envelope.seed = keys::seed(seed);
        clone.cartridge(&builder);
    }
    clone.commit("Two at once");
    let out = clone.try_git(&["push", "origin", "main"]);
    assert_eq!(
        out.stderr.matches("error[history-publisher-key]").count(),
        2,
        "{out:#?}"
    );
    // The first key, and a version of another cartridge of the publisher.
    clone.git(&["reset", "-q", "--hard", "origin/main"]);
    clone.cartridge(&signed("other-tool", "1.0.0", FIRST));
    clone.commit("Publish");
    let out = clone.try_git(&["push", "origin", "main"]);
    assert_eq!(out.status, 0, "{out:#?}");
}
