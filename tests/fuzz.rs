//! What the fuzzers found and kept, through the same targets, on the stable toolchain: every input of every corpus and
//! every regression by its name.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    clippy::print_stdout
)]

#[path = "fuzz/src/mutate.rs"]
mod mutate;
mod support;
#[path = "fuzz/src/targets.rs"]
mod targets;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fuzz")
        .join(name)
}

/// The files of a folder of a target, by name; none where there is no folder.
fn inputs(of: &Path) -> Vec<(String, Vec<u8>)> {
    let Ok(entries) = fs::read_dir(of) else {
        return Vec::new();
    };
    let mut files: Vec<(String, Vec<u8>)> = entries
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, fs::read(&path).unwrap())
        })
        .collect();
    files.sort();
    files
}

/// Runs inputs of all targets; a panic says which.
fn replay(inputs: Vec<(&'static str, String, Vec<u8>)>) -> BTreeMap<&'static str, usize> {
    let by_name: BTreeMap<_, _> = targets::TARGETS.iter().copied().collect();
    inputs.par_iter().for_each(|(target, name, bytes)| {
        let run = by_name[target];
        let result = std::panic::catch_unwind(|| run(bytes));
        assert!(
            result.is_ok(),
            "tests/fuzz: {target}, input {name}: see the panic above"
        );
    });
    let mut counts = BTreeMap::new();
    for (target, _, _) in &inputs {
        *counts.entry(*target).or_insert(0) += 1;
    }
    counts
}

#[test]
fn every_seed_keeps_its_promises() {
    let counts = replay(targets::seeds());
    println!("seeds: {counts:?}");
    for (target, _) in targets::TARGETS {
        assert!(counts.contains_key(target), "no seed for {target}");
    }
}

#[test]
fn every_input_of_the_corpus_keeps_its_promises() {
    let mut all = Vec::new();
    for (target, _) in targets::TARGETS {
        let found = inputs(&folder("corpus").join(target));
        assert!(!found.is_empty(), "no corpus for {target}");
        all.extend(
            found
                .into_iter()
                .map(|(name, bytes)| (*target, name, bytes)),
        );
    }
    println!("corpus: {:?}", replay(all));
}

#[test]
fn every_regression_keeps_its_promises() {
    let mut all = Vec::new();
    for (target, _) in targets::TARGETS {
        let found = inputs(&folder("regressions").join(target));
        all.extend(
            found
                .into_iter()
                .map(|(name, bytes)| (*target, name, bytes)),
        );
    }
    println!("regressions: {:?}", replay(all));
}

/// The fuzzers' own crate lists its programs by hand.
#[test]
fn every_target_is_a_program_of_the_fuzzers() {
    let manifest = fs::read_to_string(folder("Cargo.toml")).unwrap();
    let named: Vec<&str> = manifest
        .split("[[bin]]\nname = \"")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap())
        .collect();
    let targets: Vec<&str> = targets::TARGETS.iter().map(|(name, _)| *name).collect();
    assert_eq!(named, targets);
}
