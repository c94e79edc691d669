//! Publishing: the gate's checks before the push, the canonical place, the card, and never over an existing version.
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

use serde_json::{Value, json};
use support::cartridge::Builder;
use support::records::{self, Memory};
use support::registry::{Output, TempRegistry, listed};

const FOLDER: &str = "cartridges/io.github.acme/smith/1.0.0";

fn smith() -> Builder {
    Builder::valid("io.github.acme", "smith", "1.0.0")
}

/// Publishes into the registry from a file outside it.
fn publish(registry: &TempRegistry, builder: &Builder, more: &[&str]) -> Output {
    let file = registry.home().join("c.acx");
    fs::write(&file, builder.build()).unwrap();
    let args = [&["publish", file.to_str().unwrap(), "."], more].concat();
    registry.run(&args)
}

fn codes(output: &Output) -> Vec<String> {
    let findings = output.json()["files"][0]["findings"].clone();
    let errors = findings.as_array().unwrap().iter();
    errors
        .filter(|f| f["severity"] == "error")
        .map(|f| f["code"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_cartridge_goes_to_its_place_and_the_gate_takes_it() {
    let registry = TempRegistry::new();
    let before = registry.snapshot();
    let dry = publish(&registry, &smith(), &["--dry-run"]);
    assert_eq!(dry.status, 0, "{dry:#?}");
    assert!(
        dry.stdout
            .contains(&format!("would write: {FOLDER}/cartridge.acx\n"))
    );
    assert_eq!(registry.snapshot(), before);

    let out = publish(&registry, &smith(), &[]);
    assert_eq!(out.status, 0, "{out:#?}");
    for line in [
        format!("wrote: {FOLDER}/README.md"),
        format!("wrote: {FOLDER}/cartridge.acx"),
        format!("  git -C . add -- {FOLDER}/README.md {FOLDER}/cartridge.acx"),
        "  git -C . commit -m \"Publish io.github.acme/smith@1.0.0\"".to_owned(),
        "  git -C . push".to_owned(),
    ] {
        assert!(out.stdout.lines().any(|l| l == line), "{line}: {out:#?}");
    }
    let at = |name: &str| registry.at(&format!("{FOLDER}/{name}"));
    assert_eq!(fs::read(at("cartridge.acx")).unwrap(), smith().build());
    let built = registry.build_index(&[]);
    assert_eq!(built.status, 0, "{built:#?}");
    assert_eq!(
        listed(&registry.index().unwrap()),
        [format!("{FOLDER}/cartridge.acx")]
    );

    // Once more: the same file is there, before and after it is indexed.
    let before = registry.snapshot();
    let again = publish(&registry, &smith(), &["--format", "json"]);
    assert_eq!(again.status, 0, "{again:#?}");
    let report = again.json();
    assert_eq!(report["alreadyThere"], true);
    assert_eq!(report["files"], json!([]));
    assert_eq!(report["next"], json!([]));
    assert_eq!(registry.snapshot(), before);
}

#[test]
fn the_card_is_plain_text() {
    let mut builder = smith();
    builder.set("acx.agent_name", "Smith](http://evil) <script>");
    builder.set(
        "acx.description",
        "![x](http://evil/t.png) [click](javascript:0) `code` *bold* and # a | table",
    );
    builder.set("acx.homepage", "https://example.com/a_b");
    let registry = TempRegistry::new();
    let out = publish(&registry, &builder, &[]);
    assert_eq!(out.status, 0, "{out:#?}");
    let card = fs::read_to_string(registry.at(&format!("{FOLDER}/README.md"))).unwrap();
    let mut lines = card.lines();
    assert_eq!(
        lines.next(),
        Some(r"# Smith\]\(http\:\/\/evil\) \<script\>")
    );
    assert_eq!(
        lines.nth(1),
        Some(
            r"\!\[x\]\(http\:\/\/evil\/t\.png\) \[click\]\(javascript\:0\) \`code\` \*bold\* and \# a \| table"
        )
    );
    for line in [
        r"- Publisher: io\.github\.acme",
        r"- Cartridge: smith 1\.0\.0",
        r"- Homepage: https\:\/\/example\.com\/a\_b",
        "- Memory records: 3",
        "- builds",
        "- caches",
        r"- build\-dag \(infrastructure\)\: pkg\:generic\/make",
    ] {
        assert!(card.lines().any(|l| l == line), "{line}: {card}");
    }
    assert!(card.contains(&builder.manifest_hash().replace(':', r"\:")));
    // It is nothing that the registry's own checks would object to.
    assert_eq!(registry.build_index(&[]).status, 0);
}

#[test]
fn what_the_gate_would_refuse_is_not_published() {
    let mut tampered = smith();
    tampered.sql("UPDATE cartridge SET value = 'Evil' WHERE key = 'acx.agent_name'");
    let mut field_learned = smith();
    field_learned
        .memory
        .push(Memory::sealed(records::field_learned(9)));
    let mut escaping = smith();
    escaping.set("acx.artifact_id", "../../evil");
    let mut nameless = smith();
    nameless.meta.remove("acx.publisher_id");
    for (builder, code) in [
        (tampered, "integrity-object"),
        (field_learned, "save-memory"),
        (escaping, "metadata-invalid"),
        (nameless, "metadata-missing"),
    ] {
        let registry = TempRegistry::new();
        let before = registry.snapshot();
        let out = publish(&registry, &builder, &["--format", "json"]);
        assert_eq!(out.status, 1, "{code}: {out:#?}");
        assert!(codes(&out).contains(&code.to_owned()), "{code}: {out:#?}");
        assert_eq!(registry.snapshot(), before, "{code}");
        let human = publish(&registry, &builder, &[]);
        assert_eq!(human.status, 1);
        assert!(
            human
                .stdout
                .ends_with("not published: nothing was written\n")
        );
    }
    // The registry's own policy counts.
    let registry = TempRegistry::new();
    registry.policy("[trust]\nminimum = \"trusted\"\n");
    let out = publish(&registry, &smith(), &["--format", "json"]);
    assert_eq!(codes(&out), ["policy-minimum-trust"]);
    registry.policy("[limits]\nmemory_records = 2\n");
    let out = publish(&registry, &smith(), &["--format", "json"]);
    assert_eq!(codes(&out)[0], "container-limit");
    // And no registry at all is a failed run.
    let file = registry.home().join("c.acx");
    let out = registry.run(&["publish", file.to_str().unwrap(), "nowhere"]);
    assert_eq!(out.status, 2, "{out:#?}");
}

#[test]
fn a_version_that_is_there_or_was_there_is_never_replaced() {
    let registry = TempRegistry::new();
    assert_eq!(publish(&registry, &smith(), &[]).status, 0);
    let mut other = smith();
    other.edit_memory(|record| record["title"] = "Another lesson".into());
    let refused = |registry: &TempRegistry| {
        let before = registry.snapshot();
        let out = publish(registry, &other, &["--format", "json"]);
        assert_eq!(out.status, 1, "{out:#?}");
        assert_eq!(codes(&out), ["history-changed"], "{out:#?}");
        assert_eq!(registry.snapshot(), before);
    };
    // Before it is indexed, after, and when the file is gone.
    refused(&registry);
    assert_eq!(registry.build_index(&[]).status, 0);
    refused(&registry);
    fs::remove_dir_all(registry.at(FOLDER)).unwrap();
    refused(&registry);
    // The published file itself may come back.
    assert_eq!(publish(&registry, &smith(), &[]).status, 0);
    assert_eq!(registry.build_index(&[]).status, 0);

    // A version that only looks like another is refused as a build would refuse it.
    let twin = Builder::valid("io.github.acme", "smith", "1.0.0+build.2");
    let out = publish(&registry, &twin, &["--format", "json"]);
    assert_eq!(out.status, 1);
    assert_eq!(codes(&out), ["registry-duplicate"]);
    let next = Builder::valid("io.github.acme", "smith", "1.0.1");
    assert_eq!(publish(&registry, &next, &[]).status, 0);
}

#[test]
fn links_and_other_peoples_files_are_left_alone() {
    for link in ["cartridges", "cartridges/io.github.acme", FOLDER] {
        let registry = TempRegistry::new();
        registry.policy("");
        let outside = registry.home().join("outside");
        fs::create_dir(&outside).unwrap();
        let at = registry.at(link);
        let _ = fs::remove_dir(registry.at("cartridges"));
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        symlink(&outside, &at).unwrap();
        let out = publish(&registry, &smith(), &["--format", "json"]);
        assert_eq!(out.status, 1, "{link}: {out:#?}");
        assert_eq!(codes(&out), ["registry-symlink"], "{link}");
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0, "{link}");
    }
    for place in ["a folder", "a link"] {
        let registry = TempRegistry::new();
        let at = registry.at(&format!("{FOLDER}/cartridge.acx"));
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        match place {
            "a folder" => fs::create_dir(&at).unwrap(),
            _ => symlink(registry.home().join("target"), &at).unwrap(),
        }
        let out = publish(&registry, &smith(), &["--format", "json"]);
        assert_eq!(out.status, 1, "{place}: {out:#?}");
        assert_eq!(codes(&out), ["history-changed"], "{place}");
        assert!(!registry.home().join("target").exists());
    }
    // A card that its publisher wrote stays.
    let registry = TempRegistry::new();
    registry.put(&format!("{FOLDER}/README.md"), "mine");
    let out = publish(&registry, &smith(), &["--format", "json"]);
    assert_eq!(
        out.json()["files"],
        json!([format!("{FOLDER}/cartridge.acx")])
    );
    assert_eq!(
        fs::read(registry.at(&format!("{FOLDER}/README.md"))).unwrap(),
        b"mine"
    );
}

#[test]
fn an_index_that_cannot_be_believed_stops_the_run() {
    let registry = TempRegistry::new();
    assert_eq!(registry.build_index(&[]).status, 0);
    let mut index: Value = registry.index().unwrap();
    index["artifactCount"] = 7.into();
    registry.put("index.json", index.to_string());
    let before = registry.snapshot();
    let out = publish(&registry, &smith(), &[]);
    assert_eq!(out.status, 2, "{out:#?}");
    assert!(
        out.stderr
            .contains("index.json: the index's signature does not hold"),
        "{out:#?}"
    );
    assert_eq!(registry.snapshot(), before);
}
