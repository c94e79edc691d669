//! The whole way round, by the built program alone: a registry is founded, an agent exported, published, indexed and
//! verified; it learns, is stripped to what was signed, and is taken in elsewhere.
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
use std::path::PathBuf;

use serde_json::{Value, json};
use support::package::Folder;
use support::registry::{Output, SEPTEMBER, listed, read_json, run_acx};
use tempfile::TempDir;

struct Desk {
    folder: TempDir,
}

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("home")).unwrap();
        Self { folder }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// Runs a command line that must succeed, and gives its JSON.
    fn acx(&self, line: &str) -> Value {
        let out = self.run(line);
        assert_eq!(out.status, 0, "acx {line}: {out:#?}");
        out.json()
    }

    fn run(&self, line: &str) -> Output {
        let args: Vec<&str> = line.split(' ').chain(["--format", "json"]).collect();
        let env = [("SOURCE_DATE_EPOCH", SEPTEMBER)];
        run_acx(&args, self.folder.path(), &self.at("home"), &env)
    }
}

#[test]
fn from_a_folder_to_a_registry_and_back() {
    let desk = Desk::new();
    let founded = desk.acx("init demo --example --registry-id org.example.reg");
    let keyid = founded["keyid"].as_str().unwrap();

    // An author exports an agent and publishes it.
    Folder::whole().write(&desk.at("ada"));
    let exported = desk.acx("export ada ada.acx --publisher io.github.ridge");
    let rom = &exported["romHash"];
    let signed = fs::read(desk.at("ada.acx")).unwrap();
    let published = desk.acx("publish ada.acx demo");
    let path = "cartridges/io.github.ridge/ada-ridge/1.2.0/cartridge.acx";
    assert_eq!(published["path"], path);
    assert_eq!(exported["registryPath"], path);

    // The maintainer builds; a consumer verifies.
    let built = desk.acx("build-index demo");
    assert_eq!(built["counts"]["accepted"], 3);
    assert_eq!(built["warnings"], json!([]));
    let index = read_json(&desk.at("demo/index.json"));
    assert!(listed(&index).contains(&path.to_owned()));
    desk.acx(&format!(
        "verify-index demo --keyid {keyid} --min-sequence 2"
    ));

    // Someone takes it from the registry and works with it.
    fs::copy(desk.at("demo").join(path), desk.at("mine.acx")).unwrap();
    let lesson = json!({
        "id": "shop-1", "title": "Warm the cart cache", "summary": "The first order of a day timed out.",
        "sourceType": "incident", "timestamp": "2026-08-01T10:00:00Z", "impact": "negative", "xpAwarded": 12,
        "tags": ["caching"],
    });
    fs::write(desk.at("lesson.json"), lesson.to_string()).unwrap();
    let learn =
        "learn mine.acx --record lesson.json --repo https://example.com/acme/shop --salt salt";
    let learned = desk.acx(learn);
    assert_eq!([&learned["romBefore"], &learned["romAfter"]], [rom, rom]);
    assert_eq!(learned["outcome"], "added");
    assert_eq!(desk.acx(learn)["outcome"], "unchanged");
    assert_eq!(
        desk.run("publish mine.acx demo").status,
        1,
        "what was learned is not public"
    );

    // Stripped, it is what was signed, and a registry knows it by its hash.
    let stripped = desk.acx("strip mine.acx rom.acx");
    assert_eq!([&stripped["romBefore"], &stripped["romAfter"]], [rom, rom]);
    assert_eq!(stripped["removed"]["memory"], 1);
    let text = String::from_utf8_lossy(&fs::read(desk.at("rom.acx")).unwrap()).into_owned();
    assert!(!text.contains("cart cache"), "nothing learned is left");
    let entries = index["cartridges"].as_array().unwrap();
    let entry = entries.iter().find(|e| e["path"] == path).unwrap();
    assert_eq!(
        desk.acx("inspect rom.acx")["files"][0]["romHash"],
        entry["romHash"]
    );
    desk.acx("check rom.acx");

    // Another agent takes in what is portable; the lesson of the shop stays apart.
    let imported = desk.acx("import mine.acx --into other");
    let report = &imported["report"];
    assert_eq!(report["memory"]["added"], json!(["m1", "m2"]));
    assert_eq!(report["quarantine"][0]["added"], json!(["shop-1"]));
    let fingerprint = learned["codebaseFingerprint"].as_str().unwrap();
    let quarantined = read_json(&desk.at(&format!("other/quarantine/{fingerprint}.json")));
    assert_eq!(quarantined[0]["foreign"], true);
    assert_eq!(
        fs::read(desk.at("other/skills/pipelines/assets/pixel.bin")).unwrap(),
        [0, 1, 2, 255, 254, 10, 13, 0]
    );
    desk.acx("import ada.acx --into other");

    // And what was taken in can be exported by its new owner, without the quarantine.
    fs::write(desk.at("other/manifest.json"), r#"{"name": "Other"}"#).unwrap();
    let own = desk.acx("export other other.acx --publisher io.github.other");
    assert_eq!(own["memory"], 2);
    assert_eq!(own["skills"], 2);
    let text = String::from_utf8_lossy(&fs::read(desk.at("other.acx")).unwrap()).into_owned();
    assert!(
        !text.contains("cart cache"),
        "no other codebase's lesson travels on"
    );
    desk.acx("publish other.acx demo");
    assert_eq!(desk.acx("build-index demo")["counts"]["accepted"], 4);
    // The author's file was never touched.
    assert_eq!(fs::read(desk.at("ada.acx")).unwrap(), signed);
}
