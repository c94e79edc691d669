#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod any_bytes;
mod index_schema;
mod ledger;
mod settings;
mod shared;
mod template;
mod trust;

use std::io::Write as _;

use super::{ConfigError, RuleInfo};
use crate::finding::Severity;
use crate::model::{Json, Timestamp};

fn time(text: &str) -> Timestamp {
    Timestamp::try_from(text).unwrap()
}

fn now() -> Timestamp {
    time("2026-10-01T00:00:00Z")
}

/// Rules as the policy sees them: two that it may change, two that it may not.
const RULES: &[RuleInfo] = &[
    RuleInfo {
        code: "memory-fingerprint",
        level: Severity::Warning,
        fixed: false,
    },
    RuleInfo {
        code: "skill-frontmatter",
        level: Severity::Error,
        fixed: false,
    },
    RuleInfo {
        code: "manifest-order",
        level: Severity::Warning,
        fixed: true,
    },
    RuleInfo {
        code: "signature-invalid",
        level: Severity::Error,
        fixed: true,
    },
];

/// Sets what `pointer` points to; the last part may be new. `None` removes it.
fn set(document: &mut Json, pointer: &str, value: Option<Json>) {
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    let parent = document.pointer_mut(parent).unwrap();
    match (parent, value) {
        (Json::Object(members), Some(value)) => {
            members.insert(name.to_owned(), value);
        }
        (Json::Object(members), None) => {
            members.remove(name).unwrap();
        }
        (Json::Array(items), Some(value)) => items[name.parse::<usize>().unwrap()] = value,
        _ => panic!("{pointer}"),
    }
}

/// The refusal is of this field and its message holds each of these.
#[track_caller]
fn refused<T>(result: Result<T, ConfigError>, field: &str, says: &[&str]) -> ConfigError {
    let Err(error) = result else {
        panic!("accepted; expected a refusal of {field:?}")
    };
    assert_eq!(error.field, field, "{error}");
    for words in says {
        assert!(error.message.contains(words), "{error}");
    }
    error
}

/// The folder of reference data beside the worktree, where it is.
fn reference(name: &str) -> Option<std::path::PathBuf> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../shared")
        .join(name);
    if path.is_dir() {
        return Some(path);
    }
    // Not by a print macro, whose output the harness keeps to itself for tests that pass.
    let _ = writeln!(
        std::io::stderr(),
        "SKIPPED: {} IS NOT THERE",
        path.display()
    );
    None
}
