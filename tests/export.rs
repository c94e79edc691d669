//! Exporting an agent package: what comes out is what the gate accepts, what a stock SQLite extracts, and what an
//! independent verifier confirms.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod support;

use acx_registry::attest::PrivateKey;
use acx_registry::author::{ExportError, ExportOptions, Exported, Package, export};
use acx_registry::check::Settings;
use acx_registry::model::{PublisherId, Timestamp};
use acx_registry::policy::{Policy, TrustRegistry};
use acx_registry::verdict::{self, Judgement};
use serde_json::{Value, json};
use support::package::Folder;

fn key() -> PrivateKey {
    PrivateKey::from_seed(&[7; 32]).unwrap()
}

fn now() -> Timestamp {
    Timestamp::try_from("2026-09-01T00:00:00Z").unwrap()
}

fn package(folder: &Folder) -> Package {
    Package::of_files(folder.0.clone())
}

fn exported(folder: &Folder) -> Result<Exported, ExportError> {
    let (key, now) = (key(), now());
    let publisher = PublisherId::try_from("io.github.ridgeworks").unwrap();
    export(
        &package(folder),
        &ExportOptions {
            publisher: &publisher,
            key: &key,
            now: &now,
            id: None,
            version: None,
            include_field_learned: false,
            salt: None,
        },
    )
}

fn judged(bytes: &[u8]) -> Judgement {
    let settings = Settings {
        policy: &Policy::default(),
        trust: &TrustRegistry::default(),
        own_keys: &[],
        now: &now(),
        public: true,
    };
    verdict::judge("c.acx", bytes, settings, |_, _| {}).unwrap()
}

#[test]
fn the_gate_has_nothing_to_say() {
    for folder in [Folder::whole(), Folder::least()] {
        let exported = exported(&folder).unwrap();
        let judgement = judged(&exported.bytes);
        assert!(judgement.findings.is_empty(), "{:#?}", judgement.findings);
        let admitted = judgement.admitted.expect("accepted");
        assert_eq!(admitted.signed().manifest, exported.rom_hash);
        assert!(exported.notes.is_empty(), "{:?}", exported.notes);
    }
}
