//! Every command of the README is run, in the order in which it stands there, by the built program on a copy.

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

use support::registry::run_acx;

/// The lines in a document's blocks of this language.
fn blocks(document: &str, language: &str) -> Vec<String> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(document))
        .expect("the document");
    let start = format!("```{language}");
    let mut lines = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        match line {
            "```" => inside = false,
            line if line == start => inside = true,
            line if inside && !line.trim().is_empty() => lines.push(line.to_owned()),
            _ => {}
        }
    }
    lines
}

/// Splits at spaces outside double quotes.
fn words(command: &str) -> Vec<String> {
    let quoted = command.split('"').enumerate();
    quoted
        .flat_map(|(n, part)| match n % 2 {
            0 => part
                .split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>(),
            _ => vec![part.to_owned()],
        })
        .collect()
}

/// Makes a folder the work tree of a repository with a remote.
fn in_git(folder: &Path, home: &Path) {
    let git = |folder: &Path, args: &[&str]| {
        let out = support::git::git_in(folder, home, args);
        assert_eq!(out.status, 0, "git {args:?}: {out:#?}");
    };
    let origin = home.join("origin.git");
    git(home, &["init", "-q", "--bare", origin.to_str().unwrap()]);
    git(folder, &["init", "-q", "-b", "main"]);
    git(folder, &["config", "user.name", "Ada"]);
    git(folder, &["config", "user.email", "ada@example.com"]);
    git(
        folder,
        &["remote", "add", "origin", origin.to_str().unwrap()],
    );
    git(folder, &["add", "-A"]);
    git(folder, &["commit", "-q", "-m", "A registry"]);
}

#[test]
fn every_command_works() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let folder = home.path().join("work");
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/example-registry");
    fs::create_dir_all(&folder).expect("a new folder");
    let cartridge = example.join("cartridges/com.example.docs/scribe/0.3.0/cartridge.acx");
    let bytes = fs::read(&cartridge).expect("the example has a cartridge");
    fs::write(folder.join("cartridge.acx"), bytes).expect("a new file");
    let lesson = blocks("README.md", "json").join("\n");
    fs::write(folder.join("lesson.json"), lesson).expect("a new file");
    let deliver = blocks("README.md", "jsonc").join("\n");
    fs::write(folder.join("deliver.cal.json"), deliver).expect("a new file");

    support::package::Folder::whole().write(&folder.join("my-agent"));

    let mut keyid = String::new();
    let mut run = 0;
    for command in blocks("README.md", "sh") {
        // The gate runs these two itself: `.ci/run` takes the first from the README and installs by the second.
        if command == "cargo test --locked" || command == "cargo install --locked --path ." {
            continue;
        }
        let mut words = words(&command);
        if command.starts_with("cargo run --release --bin acx -- ") {
            words.drain(..6);
        } else {
            assert_eq!(words.remove(0), "acx", "{command}");
        }
        for word in &mut words {
            if word.starts_with("ed25519:") {
                assert!(!keyid.is_empty(), "{command}");
                keyid.clone_into(word);
            }
        }
        if command.starts_with("acx check-history") {
            // From here on the registry is a clone.
            in_git(&folder.join("my-registry"), home.path());
        }
        if command.starts_with("acx hook install") {
            let made = support::git::git_in(
                &folder,
                home.path(),
                &["init", "-q", "--bare", "server.git"],
            );
            assert_eq!(made.status, 0, "{made:#?}");
        }
        let args: Vec<&str> = words.iter().map(String::as_str).collect();
        let output = run_acx(&args, &folder, home.path(), &[]);
        assert_eq!(output.status, 0, "{command}: {output:#?}");
        assert!(!output.stdout.is_empty(), "{command} says nothing");
        if command.starts_with("acx key show") {
            let line = output
                .stdout
                .lines()
                .find_map(|l| l.strip_prefix("keyid: "))
                .expect("a key id");
            line.clone_into(&mut keyid);
        }
        run += 1;
    }
    assert!(run >= 20, "the README has {run} commands");
    for made in [
        "demo/index.json",
        "my-registry/cartridges/com.example.docs/scribe/0.3.0/README.md",
        "my-agent/memory-records.json",
        "installation.salt",
    ] {
        assert!(folder.join(made).is_file(), "{made}");
    }
}

/// The README that `acx init` puts into a registry, in one that it made.
#[test]
fn every_command_of_a_registrys_readme_works() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let out = run_acx(
        &["init", "demo", "--example"],
        home.path(),
        home.path(),
        &[],
    );
    assert_eq!(out.status, 0, "{out:#?}");
    let folder = home.path().join("demo");
    let policy = fs::read_to_string(folder.join("acx-registry.toml")).expect("a policy");
    let keyid = policy
        .lines()
        .find_map(|l| l.strip_prefix("keys = [\"")?.strip_suffix("\"]"));
    let keyid = keyid.expect("a pinned key");
    let commands = blocks("registry-template/README.md", "sh");
    assert_eq!(commands.len(), 8);
    for command in commands {
        if command.starts_with("acx export") {
            // What an author adds to what was taken in.
            let manifest = home.path().join("my-agent/manifest.json");
            fs::write(manifest, r#"{"name": "My Agent"}"#).expect("a new file");
        }
        let command = command
            .replace(
                "<publisher>/<id>/<version>",
                "com.example.ada/build-smith/1.0.0",
            )
            .replace("ed25519:…", keyid);
        let words = words(&command);
        let args: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
        let output = run_acx(&args, &folder, home.path(), &[]);
        assert_eq!(output.status, 0, "{command}: {output:#?}");
    }
    let mine = "cartridges/io.github.you/my-agent/1.0.0/cartridge.acx";
    let index = fs::read_to_string(folder.join("index.json")).expect("an index");
    assert!(index.contains(mine), "{index}");
}

#[test]
fn limits_are_the_defaults() {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md"))
        .expect("the README");
    let limits = acx_registry::container::Limits::default();
    for (name, bytes, shown) in [
        ("file_bytes", limits.file_bytes, "64 MiB"),
        ("inflated_file_bytes", limits.inflated_file_bytes, "16 MiB"),
        (
            "inflated_total_bytes",
            limits.inflated_total_bytes,
            "128 MiB",
        ),
        ("text_bytes", limits.text_bytes, "1 MiB"),
    ] {
        assert_eq!(format!("{} MiB", bytes >> 20), shown);
        let row = readme
            .lines()
            .find(|l| l.contains(&format!("`limits.{name}`")))
            .expect(name);
        assert!(row.contains(shown), "{row}");
    }
    assert!(readme.contains("20,000") && limits.archive_rows == 20_000);
    assert!(readme.contains("100,000") && limits.memory_records == 100_000);
}
