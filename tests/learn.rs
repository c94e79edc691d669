//! Field learning: what is written into SAVE, under which fingerprint, and that ROM and signature stay as they are.
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
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use rusqlite::Connection;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use support::cartridge::Builder;
use support::jcs::jcs;
use support::keys::{hex, sha256};
use support::records::artifact_fingerprint;
use support::registry::{Output, run_acx};
use tempfile::TempDir;

const SALT: [u8; 32] = [7; 32];
const URL: &str = "https://github.com/Acme/Shop.git";

struct Desk {
    folder: TempDir,
}

impl Desk {
    /// A cartridge, a salt and a record.
    fn new(builder: &Builder) -> Self {
        let desk = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        fs::create_dir(desk.at("home")).unwrap();
        fs::write(desk.at("c.acx"), builder.build()).unwrap();
        desk.salt(&SALT);
        desk.record(&lesson());
        desk
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn salt(&self, bytes: &[u8]) {
        fs::write(self.at("salt"), bytes).unwrap();
        fs::set_permissions(self.at("salt"), fs::Permissions::from_mode(0o600)).unwrap();
    }

    fn record(&self, record: &Value) {
        fs::write(self.at("r.json"), record.to_string()).unwrap();
    }

    fn run(&self, args: &[&str]) -> Output {
        run_acx(args, self.folder.path(), &self.at("home"), &[])
    }

    fn learn(&self, repo: &str) -> Output {
        let args = [
            "learn", "c.acx", "--record", "r.json", "--repo", repo, "--salt", "salt", "--format",
            "json",
        ];
        self.run(&args)
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(self.at("c.acx")).unwrap()
    }

    fn database(&self) -> Connection {
        Connection::open(self.at("c.acx")).unwrap()
    }

    /// The payloads of the SAVE zone, by id.
    fn saved(&self) -> Vec<Value> {
        let db = self.database();
        let mut rows = db
            .prepare("SELECT payload FROM memory WHERE zone = 'save' ORDER BY id")
            .unwrap();
        let payloads = rows.query_map([], |row| row.get::<_, String>(0)).unwrap();
        payloads
            .map(|p| serde_json::from_str(&p.unwrap()).unwrap())
            .collect()
    }
}

fn smith() -> Builder {
    Builder::valid("io.github.acme", "smith", "1.0.0")
}

fn lesson() -> Value {
    json!({
        "id": "shop-1", "title": "Warm the cart cache", "summary": "The first order of a day timed out.",
        "sourceType": "incident", "timestamp": "2026-08-01T10:00:00Z", "impact": "negative", "xpAwarded": 12,
        "tags": ["caching", "orders"], "repoId": "acme/shop", "repoLabel": "acme/shop", "projectLabel": "Shop",
    })
}

/// HMAC-SHA-256 by RFC 2104.
fn hmac(key: &[u8], message: &[u8]) -> String {
    let mut block = [0; 64];
    block[..key.len()].copy_from_slice(key);
    let pad = |byte: u8| block.map(|b| b ^ byte).to_vec();
    let inner = Sha256::digest([pad(0x36), message.to_vec()].concat());
    hex(&Sha256::digest([pad(0x5c), inner.to_vec()].concat()))
}

fn fingerprint(identity: &str) -> String {
    format!("cbf1_{}", &hmac(&SALT, identity.as_bytes())[..40])
}

fn git(folder: &Path, args: &[&str]) -> String {
    let out = Command::new("git")
        .args([
            "-c",
            "user.name=T",
            "-c",
            "user.email=t@example.com",
            "-c",
            "init.defaultBranch=main",
        ])
        .args(args)
        .current_dir(folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("HOME", folder)
        .output()
        .expect("git is there");
    assert!(out.status.success(), "git {args:?}: {out:?}");
    String::from_utf8(out.stdout).unwrap().trim().to_owned()
}

#[test]
fn a_record_is_written_into_save_and_the_rom_stays() {
    let builder = smith();
    let desk = Desk::new(&builder);
    fs::set_permissions(desk.at("c.acx"), fs::Permissions::from_mode(0o600)).unwrap();
    let out = desk.run(&[
        "learn", "c.acx", "--record", "r.json", "--repo", URL, "--salt", "salt",
    ]);
    assert_eq!(out.status, 0, "{out:#?}");
    let hash = builder.manifest_hash();
    for line in [
        "learned: shop-1 (added; SAVE zone, unsigned)".to_owned(),
        format!("codebase: {}", fingerprint("github.com/acme/shop")),
        format!("rom hash before learn: {hash}"),
        format!("rom hash after  learn: {hash}"),
        "hash-equality proof:   EQUAL (ROM intact; SAVE zone changed)".to_owned(),
    ] {
        assert!(out.stdout.lines().any(|l| l == line), "{line}: {out:#?}");
    }
    let saved = desk.saved();
    let mut expected = lesson();
    for (name, value) in [
        ("portable", json!(false)),
        ("zone", json!("save")),
        ("foreign", json!(false)),
        ("origin", json!("native")),
        (
            "codebaseFingerprint",
            json!(fingerprint("github.com/acme/shop")),
        ),
        ("repoId", json!(null)),
        ("repoLabel", json!("field-learned")),
        ("projectLabel", json!("field-learned")),
        ("markdownPath", json!("knowledge/shop-1.md")),
    ] {
        expected[name] = value;
    }
    expected["artifactFingerprint"] = artifact_fingerprint(&expected).into();
    assert_eq!(saved, [expected.clone()]);
    let text = fs::read(desk.at("c.acx")).unwrap();
    let text = String::from_utf8_lossy(&text).to_lowercase();
    assert!(!text.contains("acme/shop"), "the repository is not named");

    // The row, its object, the flag and the metadata.
    let db = desk.database();
    let row: (String, String, String) = db
        .query_row(
            "SELECT payload, oid, artifact_fingerprint FROM memory WHERE id = 'shop-1' AND zone = 'save'",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
        .unwrap();
    assert_eq!(row.0, jcs(&expected));
    assert_eq!(row.1, sha256(row.0.as_bytes()));
    let object: String = db
        .query_row(
            "SELECT source_ref FROM objects WHERE zone = 'save' AND oid = ?1",
            [&row.1],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(object, "memory:shop-1");
    let flags: i64 = db
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .unwrap();
    assert_eq!(flags, 0x0100_0101);
    let key: String = db
        .query_row(
            "SELECT value FROM cartridge WHERE key = 'acx.save_codebase_fingerprint'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(key, fingerprint("github.com/acme/shop"));
    drop(db);

    // Its owner may use it; a registry refuses it.
    assert_eq!(desk.run(&["verify", "c.acx"]).status, 0);
    assert_eq!(desk.run(&["check", "c.acx"]).status, 1);

    let mode = fs::metadata(desk.at("c.acx")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "who could not read it still cannot");

    let before = desk.bytes();
    let again = desk.learn(URL);
    assert_eq!(again.status, 0, "{again:#?}");
    assert_eq!(again.json()["outcome"], "unchanged");
    assert_eq!(desk.bytes(), before);
}

#[test]
fn the_same_lesson_in_other_words_is_merged() {
    let desk = Desk::new(&smith());
    assert_eq!(desk.learn(URL).json()["outcome"], "added");
    let mut other = lesson();
    other["summary"] = "The first order of a day timed out, since nothing was warm.".into();
    other["xpAwarded"] = 3.into();
    other["tags"] = json!(["warm-up"]);
    desk.record(&other);
    let out = desk.learn(URL).json();
    assert_eq!(out["outcome"], "merged");
    assert_eq!(out["romBefore"], out["romAfter"]);
    let saved = desk.saved();
    assert_eq!(saved.len(), 1);
    assert_eq!(saved[0]["summary"], other["summary"]);
    assert_eq!(saved[0]["xpAwarded"], 12);
    assert_eq!(saved[0]["tags"], json!(["caching", "orders", "warm-up"]));
    // Either of the two again, in any order, changes nothing.
    for record in [lesson(), other] {
        desk.record(&record);
        assert_eq!(desk.learn(URL).json()["outcome"], "unchanged");
    }
    let objects: i64 = desk
        .database()
        .query_row(
            "SELECT count(*) FROM objects WHERE zone = 'save'",
            [],
            |r| r.get(0),
        )
        .unwrap();
    assert_eq!(
        objects, 1,
        "the object of the row that was replaced is gone"
    );

    // The same words about another codebase are another lesson.
    let out = desk.learn("https://github.com/acme/other");
    assert_eq!(out.status, 2, "{out:#?}");
    assert!(
        out.stderr
            .contains("the id \"shop-1\" is taken by a record in the zone save")
    );
    let mut elsewhere = lesson();
    elsewhere["id"] = "other-1".into();
    desk.record(&elsewhere);
    assert_eq!(
        desk.learn("https://github.com/acme/other").json()["outcome"],
        "added"
    );
    assert_eq!(desk.saved().len(), 2);
}

#[test]
fn every_form_of_a_repository_has_one_fingerprint() {
    let desk = Desk::new(&smith());
    let repository = desk.at("shop");
    fs::create_dir_all(repository.join("src/deep")).unwrap();
    git(&repository, &["init", "-q"]);
    let of = |repo: &str| {
        let out = desk.learn(repo);
        assert_eq!(out.status, 0, "{repo}: {out:#?}");
        out.json()["codebaseFingerprint"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    git(
        &repository,
        &["remote", "add", "origin", "git@github.com:acme/shop.git"],
    );
    let shop = fingerprint("github.com/acme/shop");
    for repo in [
        URL,
        "https://token:x@github.com:443/acme/shop/",
        "ssh://git@github.com:22/ACME/shop.git/",
        "git@github.com:Acme/Shop.git",
        "shop",
        "shop/src/deep",
        "shop/.git",
    ] {
        assert_eq!(of(repo), shop, "{repo}");
    }
    let other = |repo: &str, identity: &str| {
        let mut record = lesson();
        record["id"] = identity.into();
        desk.record(&record);
        assert_eq!(of(repo), fingerprint(identity), "{repo}");
    };
    // What one cartridge keeps from two codebases never meets.
    other(
        "ssh://git@github.com:2222/acme/shop",
        "github.com:2222/acme/shop",
    );

    // Without a URL it is the first commit's; a clone of such a folder has the folder's path.
    git(&repository, &["remote", "remove", "origin"]);
    let none = desk.learn("shop");
    assert_eq!(none.status, 2, "{none:#?}");
    assert!(
        none.stderr
            .contains("neither a remote `origin` nor a commit"),
        "{none:#?}"
    );
    git(
        &repository,
        &["commit", "-q", "--allow-empty", "-m", "first"],
    );
    let first = git(&repository, &["rev-parse", "HEAD"]);
    git(
        &repository,
        &["commit", "-q", "--allow-empty", "-m", "second"],
    );
    other("shop", &format!("commit:{first}"));
    git(&repository, &["remote", "add", "origin", "../elsewhere"]);
    other("shop", &format!("commit:{first}"));
    let linked = desk.at("linked");
    git(
        &repository,
        &["worktree", "add", "-q", linked.to_str().unwrap()],
    );
    other("linked", &format!("commit:{first}"));
    git(&repository, &["remote", "set-url", "origin", URL]);
    desk.record(&lesson());
    assert_eq!(of("linked"), shop);

    // Another salt, other fingerprints.
    desk.salt(&[8; 32]);
    let mut record = lesson();
    record["id"] = "salted".into();
    desk.record(&record);
    assert_ne!(of(URL), shop);
}

#[test]
fn a_shallow_history_has_no_first_commit() {
    let desk = Desk::new(&smith());
    let repository = desk.at("shop");
    fs::create_dir(&repository).unwrap();
    git(&repository, &["init", "-q"]);
    for n in ["1", "2", "3"] {
        git(&repository, &["commit", "-q", "--allow-empty", "-m", n]);
    }
    let url = format!("file://{}", repository.display());
    git(
        desk.folder.path(),
        &["clone", "-q", "--depth", "1", &url, "shallow"],
    );
    git(&desk.at("shallow"), &["remote", "remove", "origin"]);
    let out = desk.learn("shallow");
    assert_eq!(out.status, 2, "{out:#?}");
    assert!(
        out.stderr
            .contains("where the history is shallow, fetch the whole of it"),
        "{out:#?}"
    );
}

#[test]
fn what_is_no_record_or_no_cartridge_changes_nothing() {
    let desk = Desk::new(&smith());
    let before = desk.bytes();
    let with = |name: &str, value: Value| {
        let mut record = lesson();
        record[name] = value;
        record
    };
    let mut without = lesson();
    without.as_object_mut().unwrap().remove("impact");
    for (record, reason) in [
        (without, "/impact: the field is missing"),
        (
            with("timestamp", json!("yesterday")),
            "/timestamp: expected an RFC 3339 time",
        ),
        (
            with("xpAwarded", json!(-1)),
            "/xpAwarded: expected a whole number from 0",
        ),
        (
            with("xpAwarded", json!(1.5)),
            "/xpAwarded: expected a whole number from 0",
        ),
        (with("id", json!("")), "/id: expected a text of 1 to 256"),
        (
            with("portable", json!(true)),
            "/portable: expected false, found true",
        ),
        (
            with("codebaseFingerprint", json!(fingerprint("x/y"))),
            "/codebaseFingerprint: expected",
        ),
        (
            json!([lesson()]),
            "expected one record, an object, found an array of 1 item",
        ),
    ] {
        desk.record(&record);
        let out = desk.learn(URL);
        assert_eq!(out.status, 1, "{reason}: {out:#?}");
        let reasons = out.json()["record"].to_string();
        assert!(reasons.contains(reason), "{reason}: {reasons}");
    }
    desk.record(&with("id", json!("m1")));
    let out = desk.learn(URL);
    assert_eq!(out.status, 2);
    assert!(
        out.stderr
            .contains("the id \"m1\" is taken by a record in the zone rom"),
        "{out:#?}"
    );
    desk.record(&lesson());
    for repo in ["nowhere", "", "https://example.com"] {
        assert_eq!(desk.learn(repo).status, 2, "{repo}");
    }
    desk.salt(&[1; 31]);
    let out = desk.learn(URL);
    assert_eq!(out.status, 2);
    assert!(
        out.stderr.contains("expected 32 bytes or more, found 31"),
        "{out:#?}"
    );
    assert_eq!(desk.bytes(), before);

    let mut tampered = smith();
    tampered.sql("UPDATE cartridge SET value = 'Evil' WHERE key = 'acx.agent_name'");
    let desk = Desk::new(&tampered);
    let before = desk.bytes();
    let out = desk.learn(URL);
    assert_eq!(out.status, 1, "{out:#?}");
    assert_eq!(out.json()["findings"][0]["code"], "integrity-object");
    assert_eq!(desk.bytes(), before);
}

#[test]
fn runs_at_once_lose_nothing() {
    let desk = Desk::new(&smith());
    let runs: Vec<_> = (0..8)
        .map(|n| {
            let mut record = lesson();
            record["id"] = format!("lesson-{n}").into();
            record["title"] = format!("Lesson {n}").into();
            let file = format!("r{n}.json");
            fs::write(desk.at(&file), record.to_string()).unwrap();
            Command::new(env!("CARGO_BIN_EXE_acx"))
                .args([
                    "learn", "c.acx", "--record", &file, "--repo", URL, "--salt", "salt",
                ])
                .current_dir(desk.folder.path())
                .stdout(std::process::Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut run in runs {
        assert!(run.wait().unwrap().success());
    }
    let saved = desk.saved();
    let ids: Vec<&str> = saved.iter().map(|r| r["id"].as_str().unwrap()).collect();
    let expected: Vec<String> = (0..8).map(|n| format!("lesson-{n}")).collect();
    assert_eq!(ids, expected);
}

#[test]
fn a_cartridge_in_use_is_left_alone() {
    let desk = Desk::new(&smith());
    let before = desk.bytes();
    for suffix in ["-wal", "-journal"] {
        let beside = desk.at(&format!("c.acx{suffix}"));
        fs::write(&beside, "frames").unwrap();
        let out = desk.learn(URL);
        assert_eq!(out.status, 2, "{out:#?}");
        assert!(
            out.stderr.contains("another program has it open"),
            "{out:#?}"
        );
        assert_eq!(desk.run(&["lance", "c.acx", "--embed"]).status, 2);
        assert_eq!(desk.bytes(), before);
        // An empty one holds nothing.
        fs::write(&beside, "").unwrap();
        assert_eq!(desk.learn(URL).status, 0);
        fs::remove_file(&beside).unwrap();
        fs::write(desk.at("c.acx"), &before).unwrap();
    }
}

#[test]
fn a_salt_is_made_for_its_owner_alone() {
    let desk = Desk::new(&smith());
    fs::remove_file(desk.at("salt")).unwrap();
    let out = desk.learn(URL);
    assert_eq!(out.status, 0, "{out:#?}");
    assert_eq!(out.json()["saltCreated"], true);
    assert!(out.stderr.starts_with("NEW SALT: salt\n"), "{out:#?}");
    let salt = fs::read(desk.at("salt")).unwrap();
    assert_eq!(salt.len(), 32);
    let mode = |path: &str| fs::metadata(desk.at(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("salt"), 0o600);
    // The next run takes it, and says what is wrong with its place.
    fs::set_permissions(desk.at("salt"), fs::Permissions::from_mode(0o644)).unwrap();
    fs::create_dir(desk.at(".git")).unwrap();
    let again = desk.learn(URL);
    assert_eq!(again.json()["outcome"], "unchanged");
    assert_eq!(again.json()["saltCreated"], false);
    assert!(
        again.stderr.contains("warning: salt can be read by others"),
        "{again:#?}"
    );
    assert!(
        again.stderr.contains("warning: salt is in a git work tree"),
        "{again:#?}"
    );
    assert_eq!(fs::read(desk.at("salt")).unwrap(), salt);
}

#[test]
fn an_embedded_dataset_is_made_anew() {
    let desk = Desk::new(&smith());
    assert_eq!(desk.run(&["lance", "c.acx", "--embed"]).status, 0);
    let rows = || -> String {
        desk.database()
            .query_row(
                "SELECT value FROM cartridge WHERE key = 'acx.lance_rows'",
                [],
                |r| r.get(0),
            )
            .unwrap()
    };
    assert_eq!(rows(), "3");
    let out = desk.learn(URL).json();
    assert_eq!(out["outcome"], "added");
    assert_eq!(out["romBefore"], out["romAfter"]);
    assert_eq!(rows(), "4");
    assert_eq!(desk.run(&["verify", "c.acx"]).status, 0);
}
