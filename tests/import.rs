//! Taking cartridges in: what is merged, what is kept apart, what is refused, and that nothing lands outside.
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

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use acx_registry::author::{Record, merge};
use proptest::prelude::*;
use serde_json::{Value, json};
use support::cartridge::{Builder, PUBLISHER_SEED};
use support::keys;
use support::records::{self, Capability, Memory};
use support::registry::{Output, TrustKey, read_json, run_acx, trust_registry};
use tempfile::TempDir;

/// A cartridge file and a package folder that is not there yet.
struct Desk {
    folder: TempDir,
}

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("home")).unwrap();
        Self { folder }
    }

    fn agent(&self) -> PathBuf {
        self.folder.path().join("agent")
    }

    fn put(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.agent().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn import(&self, builder: &Builder, more: &[&str]) -> Output {
        self.import_bytes(builder.build(), more)
    }

    fn import_bytes(&self, bytes: Vec<u8>, more: &[&str]) -> Output {
        fs::write(self.folder.path().join("c.acx"), bytes).unwrap();
        let args = [&["import", "c.acx", "--into", "agent"], more].concat();
        run_acx(
            &args,
            self.folder.path(),
            &self.folder.path().join("home"),
            &[],
        )
    }

    /// Every file below the desk but the cartridge, with its bytes.
    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let walk = walkdir::WalkDir::new(self.folder.path()).into_iter();
        walk.map(Result::unwrap)
            .filter(|e| e.file_type().is_file() && e.file_name() != "c.acx")
            .map(|e| {
                let name = e.path().strip_prefix(self.folder.path()).unwrap();
                (
                    name.to_str().unwrap().to_owned(),
                    fs::read(e.path()).unwrap(),
                )
            })
            .collect()
    }

    fn records(&self) -> Value {
        read_json(&self.agent().join("memory-records.json"))
    }
}

fn smith() -> Builder {
    Builder::valid("io.github.acme", "smith", "1.0.0")
}

fn ids(records: &Value) -> Vec<&str> {
    let records = records.as_array().unwrap().iter();
    records.map(|r| r["id"].as_str().unwrap()).collect()
}

#[test]
fn memory_and_skills_are_taken_in_once() {
    let desk = Desk::new();
    let dry = desk.import(&smith(), &["--dry-run"]);
    assert_eq!(dry.status, 0, "{dry:#?}");
    assert!(
        dry.stdout
            .contains("memory-records.json: 3 added, 0 merged, 0 unchanged")
    );
    assert!(dry.stdout.ends_with("dry run: nothing was written\n"));
    assert!(desk.files().is_empty(), "a dry run writes nothing");
    assert!(!desk.agent().exists());

    let out = desk.import(&smith(), &[]);
    assert_eq!(out.status, 0, "{out:#?}");
    let files = desk.files();
    assert_eq!(
        files.keys().map(String::as_str).collect::<Vec<_>>(),
        [
            "agent/memory-records.json",
            "agent/skills/builds/SKILL.md",
            "agent/skills/builds/references/CACHES.md",
            "agent/skills/caches/SKILL.md",
        ]
    );
    assert_eq!(
        files["agent/skills/builds/references/CACHES.md"],
        b"# Caches\n\nKeep them warm.\n"
    );
    let signed: Vec<Value> = smith().memory.iter().map(|m| m.record.clone()).collect();
    assert_eq!(desk.records(), json!(signed), "as they were signed");

    let again = desk.import(&smith(), &["--format", "json"]);
    assert_eq!(again.status, 0, "{again:#?}");
    assert_eq!(desk.files(), files);
    let report = &again.json()["report"];
    assert_eq!(
        report["memory"],
        json!({"path": "memory-records.json", "added": [], "merged": [], "unchanged": 3})
    );
    assert_eq!(
        report["skills"][0],
        json!({"name": "builds", "state": "unchanged"})
    );
}

#[test]
fn what_the_gate_refuses_is_not_taken_in() {
    let mut tampered = smith();
    tampered.sql("UPDATE cartridge SET value = 'Evil' WHERE key = 'acx.agent_name'");
    let mut unsigned = smith();
    unsigned.sql("DELETE FROM signatures");
    let mut unclean = smith();
    unclean.edit_spec(|spec| spec["artifacts"][0]["extra"] = 1.into());
    let mut task = smith();
    task.capabilities = vec![Capability::sealed(records::capability(
        "build-things",
        &["pkg:generic/make"],
        "backend",
    ))];
    let mut own_task = task.clone();
    own_task.capabilities = vec![Capability::sealed(records::capability(
        "com.example:build-things",
        &["pkg:generic/make"],
        "backend",
    ))];
    for (builder, code) in [
        (&tampered, "integrity-object"),
        (&unsigned, "signature-absent"),
        (&unclean, "spec-schema"),
        (&task, "capability-task-type"),
    ] {
        let desk = Desk::new();
        let out = desk.import(builder, &["--format", "json"]);
        assert_eq!(out.status, 1, "{code}: {out:#?}");
        let file = &out.json()["files"][0];
        assert_eq!(file["verdict"], "reject");
        let codes: Vec<&Value> = file["findings"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|f| f["severity"] == "error")
            .map(|f| &f["code"])
            .collect();
        assert!(codes.contains(&&json!(code)), "{codes:?}");
        assert!(!desk.agent().exists(), "{code}: nothing is written");
        let human = desk.import(builder, &[]);
        assert_eq!(human.status, 1);
        assert!(
            human
                .stdout
                .ends_with("not imported: nothing was written\n")
        );
    }
    assert_eq!(Desk::new().import(&own_task, &[]).status, 0);
    assert_eq!(
        Desk::new().import_bytes(b"no cartridge".into(), &[]).status,
        1
    );
}

#[test]
fn a_compromised_key_is_not_taken_from() {
    let desk = Desk::new();
    let key = TrustKey::active(keys::seed(PUBLISHER_SEED), "io.github.acme");
    for (key, status) in [
        (key.clone(), 0),
        (key.clone().revoked("retired"), 0),
        (key.revoked("key-compromise"), 1),
    ] {
        let _ = fs::remove_dir_all(desk.agent());
        let trust = trust_registry(&[key]).to_string();
        fs::write(desk.folder.path().join("trust.json"), trust).unwrap();
        let out = desk.import(&smith(), &["--trust-registry", "trust.json"]);
        assert_eq!(out.status, status, "{out:#?}");
        assert_eq!(desk.agent().exists(), status == 0);
    }
    // One that cannot be read is never taken for an empty one.
    fs::write(desk.folder.path().join("trust.json"), "{}").unwrap();
    let out = desk.import(&smith(), &["--trust-registry", "trust.json"]);
    assert_eq!(out.status, 2, "{out:#?}");
}

#[test]
fn other_codebases_are_quarantined_under_their_own_fingerprint() {
    let desk = Desk::new();
    let mut builder = smith();
    let mut other = records::field_learned(5);
    other["codebaseFingerprint"] = format!("cbf1_{}", "5".repeat(40)).into();
    let mut unmarked = records::field_learned(6);
    unmarked.as_object_mut().unwrap().remove("foreign");
    for record in [records::field_learned(4), other, unmarked] {
        builder.memory.push(Memory::sealed(record));
    }
    let out = desk.import(&builder, &[]);
    assert_eq!(out.status, 0, "{out:#?}");
    assert_eq!(ids(&desk.records()), ["m1", "m2", "m3"]);
    let own = records::field_learned(4)["codebaseFingerprint"].clone();
    let quarantine =
        |fingerprint: &str| read_json(&desk.agent().join(format!("quarantine/{fingerprint}.json")));
    let first = quarantine(own.as_str().unwrap());
    assert_eq!(ids(&first), ["m4", "m6"]);
    for record in first.as_array().unwrap() {
        assert_eq!(record["codebaseFingerprint"], own);
        assert_eq!(record["foreign"], true);
        assert_eq!(record["portable"], false);
    }
    assert_eq!(
        ids(&quarantine(&format!("cbf1_{}", "5".repeat(40)))),
        ["m5"]
    );
    let files = desk.files();
    assert_eq!(desk.import(&builder, &[]).status, 0);
    assert_eq!(desk.files(), files);
}

#[test]
fn a_lesson_of_two_sources_becomes_one_record() {
    let mut theirs = records::portable(1);
    theirs["id"] = "a-new-id".into();
    let mut longer = records::portable(2);
    longer["summary"] = format!("{} And again.", longer["summary"].as_str().unwrap()).into();
    longer["impact"] = "negative".into();
    longer["tags"] = json!(["zeal", "builds"]);
    longer["xpAwarded"] = 900.into();
    longer["timestamp"] = "2026-07-02T00:00:00+02:00".into();
    let mut builder = smith();
    builder.memory = [theirs, longer].map(Memory::sealed).into();
    let desk = Desk::new();
    assert_eq!(desk.import(&smith(), &[]).status, 0);
    let out = desk.import(&builder, &[]);
    assert_eq!(out.status, 0, "{out:#?}");
    assert!(
        out.stdout.contains("0 added, 2 merged, 1 unchanged"),
        "{out:#?}"
    );
    let records = desk.records();
    assert_eq!(ids(&records), ["a-new-id", "m2", "m3"]);
    assert_eq!(records[0]["mergedFrom"]["ids"], json!(["a-new-id", "m1"]));
    let second = &records[1];
    assert!(second["summary"].as_str().unwrap().ends_with("And again."));
    assert_eq!(second["impact"], "negative");
    assert_eq!(second["tags"], json!(["builds", "caching", "zeal"]));
    assert_eq!(second["xpAwarded"], 900);
    assert_eq!(second["timestamp"], "2026-07-02T00:00:00+02:00");
    assert_eq!(
        second["artifactFingerprint"],
        records::artifact_fingerprint(second).as_str(),
        "the fingerprint is the merged content's"
    );

    // The other way round gives the same bytes.
    let reverse = Desk::new();
    assert_eq!(reverse.import(&builder, &[]).status, 0);
    assert_eq!(reverse.import(&smith(), &[]).status, 0);
    assert_eq!(reverse.files(), desk.files());
}

#[test]
fn the_authors_own_records_stay() {
    let desk = Desk::new();
    let entries = json!([
        {"id": "own", "title": "Own", "summary": "As its author wrote it.", "sourceType": "note",
         "timestamp": "2026-01-01T00:00:00Z", "impact": "positive", "xpAwarded": 5, "tags": ["b", "a"]},
        {"id": "field", "title": "Field", "summary": "Of one repository.", "sourceType": "note", "repoId": "acme/shop",
         "timestamp": "2026-01-01T00:00:00Z", "impact": "positive", "xpAwarded": 5, "tags": []},
        {"id": "broken", "title": "No time", "summary": "s", "sourceType": "note", "timestamp": "yesterday",
         "impact": "positive", "xpAwarded": 5, "tags": []},
        17,
        {"id": "half", "title": "Half", "summary": "Of both kinds.", "sourceType": "note", "portable": true,
         "timestamp": "2026-01-01T00:00:00Z", "impact": "positive", "xpAwarded": 5, "tags": []},
        {"id": "odd", "title": "t", "summary": "s", "sourceType": "note", "repoId": 17,
         "timestamp": "2026-01-01T00:00:00Z", "impact": "positive", "xpAwarded": 5, "tags": []},
    ]);
    desk.put("memory-records.json", entries.to_string());
    let out = desk.import(&smith(), &["--format", "json"]);
    assert_eq!(
        out.status, 1,
        "the file holds records that cannot be read: {out:#?}"
    );
    let refused = &out.json()["report"]["refused"];
    assert_eq!(refused[0]["record"], "/2 broken");
    assert_eq!(
        refused[0]["reasons"],
        json!([
            "/timestamp: expected an RFC 3339 time such as 2026-07-01T00:00:00Z, found \"yesterday\""
        ])
    );
    assert_eq!(refused[1]["record"], "/3");
    assert_eq!(
        refused[1]["reasons"],
        json!(["expected an object, found 17"])
    );
    let records = desk.records();
    for entry in entries.as_array().unwrap() {
        assert!(records.as_array().unwrap().contains(entry), "{entry}");
    }
    assert_eq!(refused[2]["record"], "/5 odd");
    assert_eq!(
        refused[2]["reasons"],
        json!([
            "/repoId: expected null or an empty text in a record that is to be portable, found 17"
        ])
    );
    assert_eq!(records.as_array().unwrap().len(), 9);
    let files = desk.files();
    assert_eq!(desk.import(&smith(), &[]).status, 1);
    assert_eq!(desk.files(), files);
}

#[test]
fn a_file_of_records_that_cannot_be_read_stops_the_run() {
    for text in ["{}", "[", "[{\"id\": 1, \"id\": 2}]"] {
        let desk = Desk::new();
        desk.put("memory-records.json", text);
        let out = desk.import(&smith(), &[]);
        assert_eq!(out.status, 2, "{text}: {out:#?}");
        assert!(out.stderr.contains("memory-records.json: "), "{out:#?}");
        assert_eq!(desk.files().len(), 1, "nothing is written");
    }
}

#[test]
fn records_that_the_gate_only_warns_about_are_refused_one_by_one() {
    let mut builder = smith();
    let mut bend = |n: usize, field: &str, value: Value| {
        let mut record = records::portable(n);
        record[field] = value;
        builder.memory.push(Memory::sealed(record));
    };
    bend(4, "timestamp", json!("yesterday"));
    bend(5, "xpAwarded", json!(-5));
    let mut nested = records::portable(6);
    nested["mergedFrom"] = json!({"ids": ["m1", "m2"], "artifactFingerprints": ["0123456789"]});
    builder.memory.push(Memory::sealed(nested));
    let desk = Desk::new();
    let out = desk.import(&builder, &["--format", "json"]);
    assert_eq!(out.status, 1, "{out:#?}");
    let report = &out.json()["report"];
    let refused = report["refused"].as_array().unwrap();
    assert_eq!(refused.len(), 2, "{refused:?}");
    assert_eq!(refused[0]["record"], "m4");
    assert_eq!(refused[1]["record"], "m5");
    assert_eq!(
        refused[1]["reasons"],
        json!(["/xpAwarded: expected a whole number from 0 to 2147483647, found -5"])
    );
    // A stranger's claim to have been merged from others binds nothing.
    assert_eq!(ids(&desk.records()), ["m1", "m2", "m3", "m6"]);
    assert!(desk.records()[3].get("mergedFrom").is_none());
}

#[test]
fn another_skill_of_the_name_is_left_alone() {
    for change in ["other bytes", "one more file", "a link to the same bytes"] {
        let desk = Desk::new();
        assert_eq!(desk.import(&smith(), &[]).status, 0);
        let skill = desk.agent().join("skills/builds");
        match change {
            "other bytes" => fs::write(skill.join("SKILL.md"), "mine").unwrap(),
            "one more file" => fs::write(skill.join("mine.md"), "mine").unwrap(),
            _ => {
                fs::rename(skill.join("SKILL.md"), desk.agent().join("mine.md")).unwrap();
                symlink("../../mine.md", skill.join("SKILL.md")).unwrap();
            }
        }
        let files = desk.files();
        let out = desk.import(&smith(), &[]);
        assert_eq!(out.status, 1, "{change}: {out:#?}");
        assert!(
            out.stdout
                .contains("skills/builds: REFUSED: another skill of this name is at skills/builds"),
            "{out:#?}"
        );
        assert!(out.stdout.contains("skills/caches: unchanged"));
        assert_eq!(desk.files(), files, "{change}");
    }
}

#[test]
fn nothing_is_written_through_a_link() {
    for name in [
        "skills",
        "quarantine",
        "memory-records.json",
        "skills/builds",
    ] {
        let desk = Desk::new();
        let outside = desk.folder.path().join("outside");
        fs::create_dir_all(&outside).unwrap();
        let at = desk.agent().join(name);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        if name == "memory-records.json" {
            fs::write(outside.join("file"), "[]").unwrap();
            symlink("../outside/file", &at).unwrap();
        } else {
            symlink(&outside, &at).unwrap();
        }
        let out = desk.import(&smith(), &[]);
        let expected = if name == "skills/builds" { 1 } else { 2 };
        assert_eq!(out.status, expected, "{name}: {out:#?}");
        let written: Vec<String> = desk
            .files()
            .into_keys()
            .filter(|f| f.starts_with("outside/") && f != "outside/file")
            .collect();
        assert!(written.is_empty(), "{name}: {written:?}");
        assert!(at.is_symlink(), "{name}");
    }
}

#[test]
fn folders_that_are_no_skills_are_not_installed() {
    let mut builder = smith();
    builder.file(
        "rom/skills/Upper/SKILL.md",
        "---\nname: Upper\ndescription: d\n---\n",
    );
    builder.file("rom/skills/bare/notes.md", "no skill here");
    builder.file("rom/skills/loose.md", "no folder");
    let desk = Desk::new();
    let out = desk.import(&builder, &["--format", "json"]);
    assert_eq!(out.status, 1, "{out:#?}");
    let states: Vec<(String, String)> = out.json()["report"]["skills"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| {
            let text = |name: &str| s[name].as_str().unwrap().to_owned();
            (text("name"), text("state"))
        })
        .collect();
    let expected = [
        ("Upper", "refused"),
        ("bare", "refused"),
        ("builds", "installed"),
        ("caches", "installed"),
        ("loose.md", "refused"),
    ];
    assert_eq!(states, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
    let names = |at: &Path| {
        let mut names: Vec<String> = fs::read_dir(at)
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    assert_eq!(names(&desk.agent().join("skills")), ["builds", "caches"]);
}

#[test]
fn the_next_run_completes_one_that_was_killed() {
    let builder = smith().with_memories(30);
    let clean = Desk::new();
    let start = std::time::Instant::now();
    assert_eq!(clean.import(&builder, &[]).status, 0);
    let whole = start.elapsed();
    let expected = clean.files();
    let desk = Desk::new();
    fs::write(desk.folder.path().join("c.acx"), builder.build()).unwrap();
    let mut stopped = 0;
    for part in 0..24_u32 {
        let _ = fs::remove_dir_all(desk.agent());
        let mut run = std::process::Command::new(env!("CARGO_BIN_EXE_acx"))
            .args(["import", "c.acx", "--into", "agent"])
            .current_dir(desk.folder.path())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(whole * part / 20);
        run.kill().unwrap();
        stopped += usize::from(!run.wait().unwrap().success());
        // What is there is whole: each file is one of the clean run, or of a temporary name.
        for (path, bytes) in desk.files() {
            assert!(
                path.contains("/.acx-tmp-") || expected.get(&path) == Some(&bytes),
                "{path} after {part}/20"
            );
        }
        let out = desk.import(&builder, &[]);
        assert_eq!(out.status, 0, "{out:#?}");
        let mut files = desk.files();
        files.retain(|path, _| !path.contains("/.acx-tmp-"));
        assert_eq!(files, expected);
    }
    assert!(stopped > 0, "no run was stopped");
}

// The merge as a function of sets.

fn record(value: Value) -> Record {
    let mut value = value;
    value["artifactFingerprint"] = records::artifact_fingerprint(&value).into();
    Record::of_json(&value).unwrap_or_else(|e| panic!("{e:?}: {value}"))
}

fn bytes(records: &[Record]) -> Vec<String> {
    records.iter().map(|r| r.json().to_string()).collect()
}

/// Few values, so that ids, fingerprints and fields meet in every way.
fn any_record() -> impl Strategy<Value = Record> {
    let content = (0..3_u8, 0..3_u8, 0..2_u8, 0..3_u8, 0..2_u8, 0..4_u8);
    (content, 0..4_u8, 0..4_u8, 0..2_u8).prop_map(
        |((title, summary, source, impact, xp, tags), id, tier, extra)| {
            let mut value = records::portable(1);
            value["id"] = format!("id-{id}").into();
            value["title"] = ["Alpha", "alpha ", "beta"][usize::from(title)].into();
            value["summary"] = ["One", "one", "Another"][usize::from(summary)].into();
            value["sourceType"] = ["note", "review"][usize::from(source)].into();
            value["impact"] = ["positive", "neutral", "negative"][usize::from(impact)].into();
            value["xpAwarded"] = xp.into();
            value["tags"] = [
                json!([]),
                json!(["b", "a"]),
                json!(["a", "a"]),
                json!(["c"]),
            ][usize::from(tags)]
            .clone();
            value["timestamp"] = format!("2026-07-0{}T00:00:00Z", 1 + extra).into();
            value["origin"] = ["native", "imported"][usize::from(extra)].into();
            if tier == 3 {
                // As an author writes it.
                for derived in [
                    "portable",
                    "zone",
                    "codebaseFingerprint",
                    "repoId",
                    "repoLabel",
                    "projectLabel",
                    "artifactFingerprint",
                ] {
                    value.as_object_mut().unwrap().remove(derived);
                }
                return Record::of_entry(&value).unwrap();
            }
            if tier > 0 {
                value["portable"] = false.into();
                value["zone"] = "save".into();
                value["codebaseFingerprint"] =
                    format!("cbf1_{}", tier.to_string().repeat(40)).into();
            }
            record(value)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn merging_depends_on_the_set_alone(
        records in proptest::collection::vec(any_record(), 0..9),
        cut in 0..9_usize,
        turn in 0..9_usize,
    ) {
        let whole = merge(records.clone());
        let cut = cut.min(records.len());
        let (left, right) = records.split_at(cut);
        // Idempotent.
        prop_assert_eq!(bytes(&merge(whole.clone())), bytes(&whole));
        prop_assert_eq!(bytes(&merge(whole.iter().chain(&records).cloned())), bytes(&whole));
        // Commutative.
        let mut turned = records.clone();
        turned.rotate_left(turn.min(records.len()));
        turned.reverse();
        prop_assert_eq!(bytes(&merge(turned)), bytes(&whole));
        // Associative: whatever was merged before.
        let (l, r) = (merge(left.to_vec()), merge(right.to_vec()));
        prop_assert_eq!(bytes(&merge(l.iter().chain(&r).cloned())), bytes(&whole));
        prop_assert_eq!(bytes(&merge(l.iter().chain(right).cloned())), bytes(&whole));
        // What is written is read as the same.
        let reread: Vec<Record> = l
            .iter()
            .chain(&r)
            .map(|record| Record::of_entry(record.json()).unwrap())
            .collect();
        prop_assert_eq!(bytes(&merge(reread)), bytes(&whole));
        // No tier or codebase takes another's record in.
        let tiers = |records: &[Record]| {
            let mut tiers: Vec<_> = records.iter().map(|r| r.tier().clone()).collect();
            tiers.sort();
            tiers.dedup();
            tiers
        };
        prop_assert_eq!(tiers(&whole), tiers(&records));
        // No key is left in two records of one tier.
        for (n, a) in whole.iter().enumerate() {
            for b in &whole[n + 1..] {
                prop_assert!(a.tier() != b.tier() || a.id() != b.id());
            }
        }
    }
}

#[test]
fn equal_ids_of_other_kinds_and_chains_of_keys() {
    let make = |id: &str, title: &str, source: &str| {
        let mut value = records::portable(1);
        value["id"] = id.into();
        value["title"] = title.into();
        value["sourceType"] = source.into();
        record(value)
    };
    // One id, two kinds of source: the smaller content stays, whichever came first.
    let (a, b) = (make("x", "t", "note"), make("x", "t", "code"));
    let one = merge([a.clone(), b.clone()]);
    assert_eq!(bytes(&one), bytes(&merge([b, a])));
    assert_eq!(one.len(), 1);
    assert_eq!(one[0].json()["sourceType"], "code");

    // p and q share a fingerprint, q and r an id, r and s a fingerprint: one lesson, however it is put together.
    let chain = [
        make("p", "first", "note"),
        make("q", "FIRST", "note"),
        make("q", "the longest", "note"),
        make("r", "The Longest ", "note"),
    ];
    let whole = merge(chain.clone());
    assert_eq!(whole.len(), 1);
    assert_eq!(whole[0].id(), "p");
    assert_eq!(whole[0].json()["title"], "The Longest ");
    assert_eq!(whole[0].json()["mergedFrom"]["ids"], json!(["p", "q", "r"]));
    let ends = merge([chain[0].clone(), chain[3].clone()]);
    assert_eq!(ends.len(), 2, "without the middle they are strangers");
    let middle = merge([chain[1].clone(), chain[2].clone()]);
    for order in [[&middle, &ends], [&ends, &middle]] {
        let all = order.into_iter().flatten().cloned();
        assert_eq!(bytes(&merge(all)), bytes(&whole));
    }
}
