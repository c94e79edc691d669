//! The threat model names a test for every row, and every test that it names exists.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

use std::fs;
use std::path::Path;

#[test]
fn every_row_of_the_threat_model_names_tests_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("SECURITY.md")).unwrap();
    let section = text.split("\n## Who tries what\n").nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let rows: Vec<Vec<&str>> = section
        .lines()
        .filter(|line| line.starts_with('|'))
        .skip(2)
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    assert!(rows.len() > 20, "the table is gone");
    for row in rows {
        assert_eq!(row.len(), 4, "{row:?}");
        assert!(row[3].starts_with('`'), "no test for {row:?}");
        for name in row[3].split(", ") {
            let (file, function) = name.trim_matches('`').split_once("::").unwrap();
            let source = fs::read_to_string(root.join(format!("tests/{file}.rs"))).unwrap();
            let mut tests = source.split("#[test]\n").skip(1);
            let found = tests.any(|rest| {
                let declared = rest
                    .lines()
                    .find(|line| line.starts_with("fn "))
                    .unwrap_or_default();
                declared.starts_with(&format!("fn {function}("))
            });
            assert!(found, "tests/{file}.rs has no test {function}");
        }
    }
}
