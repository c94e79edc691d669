//! The threat model names a test for every row, every test that it names exists, and every bomb was measured.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn source(file: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(root.join(file)).unwrap()
}

/// The cells of each row of the table under a heading.
fn rows(heading: &str) -> Vec<Vec<String>> {
    let text = source("SECURITY.md");
    let section = text.split(&format!("\n## {heading}\n")).nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let cells = |line: &str| {
        let cells = line.trim_matches('|').split('|');
        cells.map(|cell| cell.trim().to_owned()).collect()
    };
    section
        .lines()
        .filter(|line| line.starts_with('|'))
        .skip(2)
        .map(cells)
        .collect()
}

/// The names of the tests in a file.
fn tests(file: &str) -> BTreeSet<String> {
    let source = source(&format!("tests/{file}.rs"));
    let declared = source.split("#[test]\n").skip(1).map(|rest| {
        let line = rest.lines().find(|line| line.starts_with("fn "));
        let name = line.unwrap_or_default().trim_start_matches("fn ");
        name.split('(').next().unwrap_or_default().to_owned()
    });
    declared.collect()
}

#[test]
fn every_row_of_the_threat_model_names_tests_that_exist() {
    let rows = rows("Who tries what");
    assert!(rows.len() > 40, "the table is gone");
    for row in rows {
        assert_eq!(row.len(), 4, "{row:?}");
        assert!(row[3].starts_with('`'), "no test for {row:?}");
        for name in row[3].split(", ") {
            let (file, function) = name.trim_matches('`').split_once("::").unwrap();
            assert!(
                tests(file).contains(function),
                "tests/{file}.rs has no test {function}"
            );
        }
    }
}

#[test]
fn every_bomb_has_its_row_of_time_and_memory() {
    let rows = rows("Time and memory");
    let name = |row: &Vec<String>| {
        let first = row[0].split(',').next();
        first.unwrap_or_default().to_owned()
    };
    let named: BTreeSet<String> = rows.iter().map(name).collect();
    assert_eq!(named, tests("bombs"));
}
