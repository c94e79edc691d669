//! The registry's own policy: what it may change, what it may not, and what it says when it is wrong.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod support;

use support::cartridge::{Builder, PUBLISHER_SEED};
use support::keys;
use support::registry::{
    SEPTEMBER, TempRegistry, TrustKey, artifact, index_keyid, ledger_entry, listed, rejected_codes,
    warning_codes,
};

/// A cartridge that earns the warning `spec-count`.
fn miscounted() -> Builder {
    let mut builder = Builder::valid("io.github.acme", "fine", "1.0.0");
    builder.edit_spec(|spec| spec["artifacts"][1]["count"] = 99.into());
    builder
}

/// A cartridge that earns the error `memory-canonical`, which a policy may lower.
fn uncanonical() -> Builder {
    let mut builder = Builder::valid("io.github.acme", "loose", "1.0.0");
    let pretty = serde_json::to_string_pretty(&builder.memory[0].record).unwrap();
    builder.memory[0].payload = Some(pretty);
    builder
}

#[test]
fn a_level_raises_a_warning_to_a_rejection_and_turns_it_off() {
    for (level, status, warnings) in [(None, 0, 1), (Some("error"), 1, 0), (Some("off"), 0, 0)] {
        let registry = TempRegistry::new();
        let path = registry.cartridge(&miscounted());
        if let Some(level) = level {
            registry.policy(&format!("[rules]\nspec-count = \"{level}\"\n"));
        }
        let out = registry.build_index(&[]);
        assert_eq!(out.status, status, "{level:?}: {out:#?}");
        assert_eq!(
            warning_codes(&out.json()).len(),
            warnings,
            "{level:?}: {out:#?}"
        );
        if status == 1 {
            assert_eq!(rejected_codes(&out.json())[&path], ["spec-count"]);
        }
        assert_eq!(
            listed(&registry.index().unwrap()).len(),
            usize::from(status == 0)
        );
    }
}

#[test]
fn a_level_lowers_what_is_not_fixed() {
    let registry = TempRegistry::new();
    let path = registry.cartridge(&uncanonical());
    let out = registry.build_index(&[]);
    assert_eq!(out.status, 1, "{out:#?}");
    assert_eq!(rejected_codes(&out.json())[&path], ["memory-canonical"]);
    registry.policy("[rules]\nmemory-canonical = \"warning\"\n");
    let out = registry.build_index(&[]);
    assert_eq!(out.status, 0, "{out:#?}");
    assert_eq!(
        warning_codes(&out.json()),
        [("memory-canonical".to_owned(), path)]
    );
}

#[test]
fn fixed_rules_and_mistakes_stop_the_run_and_name_the_field() {
    let waiver = |code: &str, path: &str, reason: &str, expires: &str| {
        format!(
            "[[waivers]]\ncode = \"{code}\"\npath = \"{path}\"\nreason = \"{reason}\"\nexpires = \"{expires}\"\n"
        )
    };
    let long = "a reason long enough";
    let cases = [
        (
            "[rules]\nintegrity-stowaway = \"warning\"\n".to_owned(),
            "rules.integrity-stowaway",
        ),
        (
            "[rules]\nsignature-invalid = \"off\"\n".to_owned(),
            "rules.signature-invalid",
        ),
        (
            "[rules]\nhistory-changed = \"warning\"\n".to_owned(),
            "rules.history-changed",
        ),
        (
            "[rules]\nregistry-symlink = \"off\"\n".to_owned(),
            "rules.registry-symlink",
        ),
        ("[rules]\nspec-counts = \"off\"\n".to_owned(), "spec-count"),
        (
            "[rules]\nspec-count = \"fatal\"\n".to_owned(),
            "rules.spec-count",
        ),
        (
            waiver("history-removed", "a/**", long, "2027-01-01"),
            "waivers[0].code",
        ),
        (
            waiver("integrity-object", "a/**", long, "2027-01-01"),
            "waivers[0].code",
        ),
        (
            waiver("registry-secret", "a/**", "short", "2027-01-01"),
            "waivers[0].reason",
        ),
        (
            waiver("registry-secret", "a/**", long, "2027-02-30"),
            "waivers[0].expires",
        ),
        (
            waiver("registry-secret", "../a", long, "2027-01-01"),
            "waivers[0].path",
        ),
        (
            waiver("registry-secret", "*", long, "2027-01-01"),
            "waivers[0].path",
        ),
        ("[limits]\nfile_bytes = 0\n".to_owned(), "limits.file_bytes"),
        (
            "[limits]\nfile_bytes = -1\n".to_owned(),
            "limits.file_bytes",
        ),
        (
            "[limits]\nmax_file_bytes = 1\n".to_owned(),
            "limits.file_bytes",
        ),
        (
            "[trust]\nminimum = \"legacy\"\n".to_owned(),
            "trust.minimum",
        ),
        (
            "[index]\nkeys = [\"ed25519:00\"]\n".to_owned(),
            "index.keys",
        ),
        (
            "[index]\nexpires_days = 0\n".to_owned(),
            "index.expires_days",
        ),
        (
            "[registry]\nid = \"../../evil\"\n".to_owned(),
            "registry.id",
        ),
        ("[registry\n".to_owned(), "acx-registry.toml"),
        (
            "[registry]\nid = \"a.b\"\nid = \"a.c\"\n".to_owned(),
            "acx-registry.toml",
        ),
    ];
    let registry = TempRegistry::new();
    for (toml, field) in cases {
        registry.policy(&toml);
        for mode in [&[][..], &["--check"], &["--dry-run"]] {
            let out = registry.build_index(mode);
            assert_eq!(out.status, 2, "{toml}: {out:#?}");
            assert!(out.stderr.contains("acx-registry.toml"), "{toml}: {out:#?}");
            assert!(out.stderr.contains(field), "{toml}: {out:#?}");
        }
    }
    assert!(registry.index().is_none());
}

#[test]
fn a_waiver_holds_for_its_path_until_its_day_and_is_reported_when_it_waives_nothing() {
    let secret = "notes/id_rsa";
    let registry = TempRegistry::new();
    let fine = registry.cartridge(&Builder::valid("io.github.acme", "fine", "1.0.0"));
    registry.put(secret, "a fixture, no secret");
    let waive = |path: &str, expires: &str| {
        registry.policy(&format!(
            "[[waivers]]\ncode = \"registry-secret\"\npath = \"{path}\"\nreason = \"a fixture of a test\"\nexpires = \"{expires}\"\n"
        ));
    };
    let waiver_warning = ("policy-waiver".to_owned(), "acx-registry.toml".to_owned());
    for (path, expires, holds) in [
        (secret, "2026-09-01", true),
        ("notes/**", "2026-09-01", true),
        (secret, "2026-08-31", false),
        ("notes/id_rs", "2026-09-01", false),
        ("notes", "2026-09-01", false),
        ("note/**", "2026-09-01", false),
        ("notes/id_rsa/**", "2026-09-01", false),
    ] {
        waive(path, expires);
        let out = registry.build_at(SEPTEMBER, &[]);
        let warnings = warning_codes(&out.json());
        let case = format!("{path} until {expires}: {out:#?}");
        assert_eq!(out.status, i32::from(!holds), "{case}");
        assert_eq!(warnings.contains(&waiver_warning), !holds, "{case}");
        let waived = ("registry-secret".to_owned(), secret.to_owned());
        assert_eq!(warnings.contains(&waived), holds, "{case}");
        assert_eq!(
            rejected_codes(&out.json()).contains_key(secret),
            !holds,
            "{case}"
        );
        assert_eq!(listed(&registry.index().unwrap()), [fine.as_str()]);
    }
    // The last second of its last day, and the first after.
    waive(secret, "2026-09-01");
    assert_eq!(registry.build_at("1788307199", &[]).status, 0);
    assert_eq!(registry.build_at("1788307200", &[]).status, 1);
}

#[test]
fn a_waiver_of_one_finding_does_not_hide_another() {
    let registry = TempRegistry::new();
    let mut builder = uncanonical();
    builder.edit_harness(|harness| harness["schemaVersion"] = "acx.harness.v9".into());
    let path = registry.cartridge(&builder);
    registry.policy(&format!(
        "[[waivers]]\ncode = \"memory-canonical\"\npath = \"{path}\"\nreason = \"known and accepted\"\nexpires = \"2027-01-01\"\n"
    ));
    let out = registry.build_at(SEPTEMBER, &[]);
    assert_eq!(out.status, 1, "{out:#?}");
    assert_eq!(rejected_codes(&out.json())[&path], ["harness-schema"]);
}

#[test]
fn a_minimum_of_trust_rejects_what_is_below() {
    let registry = TempRegistry::new();
    let known = registry.cartridge(&Builder::valid("io.github.acme", "fine", "1.0.0"));
    let unknown = registry.cartridge(&Builder::valid("io.github.beta", "fine", "1.0.0"));
    registry
        .policy("[trust]\nminimum = \"trusted\"\n")
        .trust(&[TrustKey::active(
            keys::seed(PUBLISHER_SEED),
            "io.github.acme",
        )]);
    let out = registry.build_at(SEPTEMBER, &[]);
    assert_eq!(out.status, 1, "{out:#?}");
    assert_eq!(
        rejected_codes(&out.json())[&unknown],
        ["policy-minimum-trust"]
    );
    assert_eq!(listed(&registry.index().unwrap()), [known]);
}

#[test]
fn limits_reject() {
    let bytes = Builder::valid("io.github.acme", "fine", "1.0.0")
        .build()
        .len();
    for (limit, code) in [
        ("memory_records = 2".to_owned(), "container-limit"),
        ("archive_rows = 3".to_owned(), "container-limit"),
        ("inflated_total_bytes = 100".to_owned(), "container-limit"),
        (format!("file_bytes = {}", bytes - 1), "container-too-large"),
    ] {
        let registry = TempRegistry::new();
        let path = registry.cartridge(&Builder::valid("io.github.acme", "fine", "1.0.0"));
        registry.policy(&format!("[limits]\n{limit}\n"));
        let out = registry.build_index(&[]);
        assert_eq!(out.status, 1, "{limit}: {out:#?}");
        let codes = &rejected_codes(&out.json())[&path];
        assert!(codes.iter().any(|c| c == code), "{limit}: {codes:?}");
        assert_eq!(registry.index().unwrap()["count"], 0, "{limit}");
        let file = registry.at(&path);
        let check = ["check", "--registry", ".", file.to_str().unwrap()];
        assert_eq!(registry.run(&check).status, 1, "{limit}");
    }
    let registry = TempRegistry::new();
    registry.cartridge(&Builder::valid("io.github.acme", "fine", "1.0.0"));
    registry.policy(&format!(
        "[limits]\nmemory_records = 3\nfile_bytes = {bytes}\n"
    ));
    assert_eq!(registry.build_index(&[]).status, 0, "a limit is inclusive");
}

#[test]
fn only_a_pinned_key_signs() {
    let registry = TempRegistry::new();
    registry.cartridge(&Builder::valid("io.github.acme", "fine", "1.0.0"));
    let other = keys::keyid(&keys::public(&keys::seed(77)));
    registry.policy(&format!("[index]\nkeys = [\"{other}\"]\n"));
    let out = registry.build_index(&[]);
    assert_eq!(out.status, 2, "{out:#?}");
    assert!(
        out.stderr.contains(&other) && out.stderr.contains(&index_keyid()),
        "{out:#?}"
    );
    assert!(registry.index().is_none());
    // No key is made where one is pinned.
    let out = registry.run(&["build-index"]);
    assert_eq!(out.status, 2, "{out:#?}");
    assert!(!registry.home().join(".config").exists());
}

#[test]
fn a_ledger_entry_that_points_at_nothing_is_a_warning() {
    let registry = TempRegistry::new();
    let listed = Builder::valid("io.github.acme", "build-smith", "1.0.0");
    registry.cartridge(&listed);
    let absent = Builder::valid("io.github.acme", "build-smith", "1.0.1");
    let mut wrong_digest = ledger_entry(&listed, "superseded");
    wrong_digest["artifact"]["digest"] = format!("sha256:{}", "0".repeat(64)).into();
    wrong_digest["successor"] = artifact(&absent);
    registry.ledger(&[wrong_digest, ledger_entry(&absent, "deprecated")]);
    let out = registry.build_index(&[]);
    assert_eq!(out.status, 0, "{out:#?}");
    let report = out.json();
    let found: Vec<(&str, &str)> = report["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|w| {
            (
                w["code"].as_str().unwrap(),
                w["location"]["pointer"].as_str().unwrap_or_default(),
            )
        })
        .collect();
    let code = "registry-status-target";
    assert_eq!(
        found,
        [
            (code, "/entries/0/artifact"),
            (code, "/entries/0/successor"),
            (code, "/entries/1/artifact")
        ]
    );
}
