//! The example registry in `tests/example-registry`, which the README's commands run on: what is committed is what the
//! builder and a build make of it.
//!
//! `ACX_REGENERATE=1 cargo test --test example` writes it anew. Its signing key is the tests' own, so its signature shows
//! how an index is signed and verified, and vouches for nothing.

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
use std::path::Path;

use serde_json::json;
use support::cartridge::Builder;
use support::records::{self, Memory};
use support::registry::{TempRegistry, TrustKey, artifact, ledger_entry};

const EPOCH: &str = "1785542400";

/// (title, summary, tags) of a lesson.
type Lesson = (&'static str, &'static str, &'static [&'static str]);

const BUILD_LESSONS: &[Lesson] = &[
    (
        "Cache keys must name the compiler",
        "A cache that is shared by two compiler versions serves objects that do not link. Put the full version of the compiler into every cache key.",
        &["builds", "caching"],
    ),
    (
        "Retry with a growing pause",
        "Workers that retry after a fixed pause return together and fail together. Double the pause each time and add some chance.",
        &["reliability"],
    ),
    (
        "Split the slowest test first",
        "A suite is as slow as its slowest shard. Measure, split the slowest file, measure again.",
        &["builds", "testing"],
    ),
];

const WRITING_LESSONS: &[Lesson] = &[
    (
        "Lead with the command",
        "Readers of a README look for the line to paste. Put it first and explain it afterwards.",
        &["documentation"],
    ),
    (
        "An error names the remedy",
        "An error message says what is wrong, where, what was expected, and what to do. The last part is the one that is read.",
        &["documentation", "errors"],
    ),
];

fn cartridge(publisher: &str, id: &str, version: &str, lessons: &[Lesson], seed: u8) -> Builder {
    let mut builder = Builder::valid(publisher, id, version);
    builder.envelope.seed = [seed; 32];
    builder.memory = lessons
        .iter()
        .enumerate()
        .map(|(n, (title, summary, tags))| {
            let mut record = records::portable(n + 1);
            record["title"] = json!(title);
            record["summary"] = json!(summary);
            record["tags"] = json!(tags);
            Memory::sealed(record)
        })
        .collect();
    builder
}

/// The registry before a build.
fn sources() -> TempRegistry {
    let alice =
        |version, lessons| cartridge("io.github.alice", "build-smith", version, lessons, 21);
    let mut scribe = cartridge("com.example.docs", "scribe", "0.3.0", WRITING_LESSONS, 22);
    scribe.set(
        "acx.description",
        "A portable technical writer who keeps READMEs and error messages short.",
    );
    scribe.set("acx.role", "technical_writer");
    scribe.set("acx.tags", r#"["documentation"]"#);
    let (old, new) = (
        alice("1.0.0", &BUILD_LESSONS[..2]),
        alice("1.1.0", BUILD_LESSONS),
    );
    let mut superseded = ledger_entry(&old, "superseded");
    superseded["reason"] = json!("1.1.0 knows how to split slow tests.");
    superseded["successor"] = artifact(&new);

    let registry = TempRegistry::new();
    for builder in [&old, &new, &scribe] {
        registry.cartridge(builder);
    }
    registry.trust(&[TrustKey::active([21; 32], "io.github.alice")]);
    registry.ledger(&[superseded]);
    registry.put(
        "templates/starter-agent/manifest.json",
        "{\n  \"schemaVersion\": \"2.0\",\n  \"name\": \"TODO: name your agent\"\n}\n",
    );
    registry.put("templates/starter-agent/IDENTITY.md", "# TODO\n");
    let shown = registry
        .run(&["key", "show", &registry.key(), "--format", "json"])
        .json();
    let keyid = shown["keyid"].as_str().expect("a key id");
    registry.policy(&format!(
        "[registry]\nid = \"org.example.registry\"\n\n[index]\nkeys = [\"{keyid}\"]\n"
    ));
    registry
}

#[test]
fn what_is_committed_is_what_is_made() {
    let made = sources();
    let built = made.run_with(
        &["build-index", "--key", &made.key()],
        &[("SOURCE_DATE_EPOCH", EPOCH)],
    );
    assert_eq!(built.status, 0, "{built:#?}");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/example-registry");
    let made = snapshot(&made.root());
    if std::env::var_os("ACX_REGENERATE").is_some() {
        let _ = fs::remove_dir_all(&folder);
        for (path, bytes) in &made {
            let at = folder.join(path);
            fs::create_dir_all(at.parent().expect("a folder")).expect("a new folder");
            fs::write(at, bytes).expect("a new file");
        }
    }
    let committed = snapshot(&folder);
    let paths = |files: &[(String, Vec<u8>)]| {
        files
            .iter()
            .map(|(path, _)| path.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        paths(&committed),
        paths(&made),
        "ACX_REGENERATE=1 writes it anew"
    );
    for ((path, committed), (_, made)) in committed.iter().zip(&made) {
        assert!(
            committed == made,
            "{path} is another; ACX_REGENERATE=1 writes it anew"
        );
    }
}

#[test]
fn a_build_without_a_key_leaves_it_as_it_is() {
    let registry = TempRegistry::copy_of(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/example-registry"),
    );
    let before = snapshot(&registry.root());
    for args in [&["build-index"][..], &["build-index", "--check"]] {
        let output = registry.run(args);
        assert_eq!(output.status, 0, "{output:#?}");
    }
    assert!(snapshot(&registry.root()) == before);
}

/// Every file below a folder: (path, bytes), sorted.
fn snapshot(root: &Path) -> Vec<(String, Vec<u8>)> {
    walkdir::WalkDir::new(root)
        .sort_by_file_name()
        .into_iter()
        .map(|entry| entry.expect("a folder that can be listed"))
        .filter(|e| e.file_type().is_file())
        .map(|e| {
            let path = e
                .path()
                .strip_prefix(root)
                .expect("below the root")
                .to_string_lossy()
                .into_owned();
            (path, fs::read(e.path()).expect("a file that can be read"))
        })
        .collect()
}
