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

use support::registry::{copy_tree, run_acx};

/// The commands in the README's `sh` blocks.
fn commands() -> Vec<String> {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md"))
        .expect("the README");
    let mut commands = Vec::new();
    let mut inside = false;
    for line in readme.lines() {
        match line {
            "```sh" => inside = true,
            "```" => inside = false,
            line if inside && !line.trim().is_empty() => commands.push(line.to_owned()),
            _ => {}
        }
    }
    commands
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

#[test]
fn every_command_works() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let folder = home.path().join("work");
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/example-registry");
    copy_tree(&example, &folder.join("tests/example-registry"));
    // The reader's own registry: pushed to, never built.
    let own = folder.join("my-registry");
    copy_tree(&example, &own);
    fs::remove_file(own.join("index.json")).expect("the example has an index");
    let cartridge = own.join("cartridges/com.example.docs/scribe/0.3.0/cartridge.acx");
    fs::copy(&cartridge, folder.join("cartridge.acx")).expect("the example has a cartridge");

    support::package::Folder::whole().write(&folder.join("my-agent"));

    let mut keyid = String::new();
    let mut run = 0;
    for command in commands() {
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
            // As the README says: pin it.
            let policy = format!(
                "[registry]\nid = \"com.example.agents\"\n\n[index]\nkeys = [\"{keyid}\"]\n"
            );
            fs::write(own.join("acx-registry.toml"), policy).expect("a new file");
        }
        run += 1;
    }
    assert!(run >= 15, "the README has {run} commands");
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
