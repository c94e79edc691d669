//! Damage of every kind to sound cartridges: what is accepted is what was signed, and nothing makes the judge panic.
//!
//! In process, so that thousands of damaged files take seconds.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod support;

use acx_registry::check::Settings;
use acx_registry::level::IssuerKeys;
use acx_registry::model::Timestamp;
use acx_registry::policy::{Policy, TrustRegistry};
use acx_registry::project;
use acx_registry::verdict::{self, Admitted};
use rayon::prelude::*;
use serde_json::{Value, json};
use support::cartridge::Builder;

/// Single flips over all cartridges together, at random places.
const FLIPS: usize = 4_000;
/// Files of random bytes behind a sound header.
const RANDOM_FILES: u64 = 600;
const TRUNCATIONS: u64 = 300;
const PAGE_SWAPS: u64 = 400;
/// Several places changed at once.
const SHOWERS: u64 = 600;

/// splitmix64
fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The `n`th random number below `most` of a stream.
fn below(stream: u64, n: u64, most: usize) -> usize {
    (mix(mix(stream) ^ n) % most as u64) as usize
}

/// The metadata that the signature covers. The format leaves every other key unbound.
const BOUND: &[&str] = &[
    "acx.spec_version",
    "acx.cartridge_id",
    "acx.created_at",
    "acx.embedding_engine",
    "acx.publisher_id",
    "acx.agent_name",
    "acx.provider",
    "acx.model",
    "acx.role",
    "acx.declared_level",
    "acx.artifact_id",
    "acx.artifact_version",
    "acx.description",
    "acx.license",
    "acx.authors",
    "acx.tags",
    "acx.homepage",
];

/// Everything that counts of an accepted cartridge: what the index would say of it, and its content.
fn content(admitted: &Admitted) -> Value {
    let now = &admitted.signed().signed_at;
    let levels = project::levels(admitted, &IssuerKeys::default(), now);
    let mut entry = serde_json::to_value(project::entry("x", admitted, &levels).entry).unwrap();
    let members = entry.as_object_mut().unwrap();
    // The file's own hash differs by the damage, its length by what is cut off or added.
    members.shift_remove("sha256").unwrap();
    members.shift_remove("bytes").unwrap();
    let cartridge = admitted.cartridge();
    let meta = cartridge
        .meta
        .iter()
        .filter(|(key, _)| BOUND.contains(&key.as_str()));
    json!({
        "entry": entry,
        "keyid": admitted.signed().key.id(),
        "manifest": admitted.signed().manifest,
        "meta": meta.collect::<Vec<_>>(),
        "files": cartridge.files.iter().map(|f| (&f.name, f.digest)).collect::<Vec<_>>(),
        "memory": cartridge.memory.iter().map(|m| {
            (&m.id, m.zone.as_str(), &m.artifact_fingerprint, &m.codebase_fingerprint, &m.payload)
        }).collect::<Vec<_>>(),
        "capabilities": cartridge.capabilities.iter().map(|c| (&c.id, &c.json, &c.content_hash)).collect::<Vec<_>>(),
        "save": cartridge.vectors.save,
    })
}

/// The content of the bytes if they are accepted. A refusal of the tool is no acceptance.
fn accepted(bytes: &[u8]) -> Option<Value> {
    let (policy, trust) = (Policy::default(), TrustRegistry::default());
    let now = Timestamp::from_unix(1_788_220_800).unwrap();
    let settings = Settings {
        policy: &policy,
        trust: &trust,
        own_keys: &[],
        now: &now,
        public: true,
    };
    let judgement = verdict::judge("x", bytes, settings, |_, _| {}).ok()?;
    judgement.admitted.as_deref().map(content)
}

struct Sound {
    what: &'static str,
    bytes: Vec<u8>,
    content: Value,
    page_size: usize,
}

fn sound() -> Vec<Sound> {
    let valid = || Builder::valid("io.github.acme", "fine", "1.0.0");
    let mut utf16 = valid().with_memories(1);
    utf16.encoding = "UTF-16le";
    utf16.page_size = 512;
    let mut many = valid().with_memories(12).with_attestation();
    many.page_size = 4096;
    [
        ("1 KiB pages", valid()),
        ("UTF-16 in 512-byte pages", utf16),
        ("4 KiB pages", many),
    ]
    .into_iter()
    .map(|(what, builder)| {
        let bytes = builder.build();
        let content = accepted(&bytes).unwrap_or_else(|| panic!("{what}: not accepted"));
        Sound {
            what,
            bytes,
            content,
            page_size: builder.page_size as usize,
        }
    })
    .collect()
}

/// How many of the damaged files are accepted. Each must be what was signed.
fn judge_all(sound: &Sound, damages: impl IntoParallelIterator<Item = (String, Vec<u8>)>) -> usize {
    damages
        .into_par_iter()
        .map(|(damage, bytes)| match accepted(&bytes) {
            None => 0,
            Some(content) => {
                let differs = differences(&content, &sound.content);
                assert!(
                    differs.is_empty(),
                    "{}: {damage}: accepted with {differs:?}",
                    sound.what
                );
                1
            }
        })
        .sum()
}

/// The members that differ, as found and as signed.
fn differences(found: &Value, signed: &Value) -> Vec<String> {
    let [found, signed] = [found, signed].map(|v| v.as_object().unwrap());
    assert!(found.keys().eq(signed.keys()));
    let pairs = found
        .iter()
        .filter(|(name, value)| signed[*name] != **value);
    let mut out = Vec::new();
    for (name, value) in pairs {
        match (value, &signed[name]) {
            (Value::Array(a), Value::Array(b)) if a.len() == b.len() => out.extend(
                a.iter()
                    .zip(b)
                    .filter(|(a, b)| a != b)
                    .map(|(a, b)| format!("{name}: {a}, signed {b}")),
            ),
            (a, b) => out.push(format!("{name}: {a}, signed {b}")),
        }
    }
    out
}

fn flipped(sound: &Sound, at: usize, mask: u8) -> (String, Vec<u8>) {
    let mut bytes = sound.bytes.clone();
    bytes[at] ^= mask;
    (format!("byte {at} ^ {mask:#04x}"), bytes)
}

fn find(bytes: &[u8], needle: &[u8]) -> Vec<usize> {
    let windows = bytes.windows(needle.len()).enumerate();
    windows
        .filter(|(_, w)| *w == needle)
        .map(|(at, _)| at)
        .collect()
}

#[test]
fn a_flipped_byte_changes_nothing_that_is_accepted() {
    let all = sound();
    let mut counts = Vec::new();
    for (stream, sound) in all.iter().enumerate() {
        let length = sound.bytes.len();
        let places: Vec<(usize, u8)> = (0..(FLIPS / all.len() + 1) as u64)
            .map(|n| {
                let mask = below(stream as u64 + 100, n, 255) as u8 + 1;
                (below(stream as u64, n, length), mask)
            })
            .collect();
        let damaged = places
            .par_iter()
            .map(|(at, mask)| flipped(sound, *at, *mask));
        counts.push((sound.what, judge_all(sound, damaged), places.len()));
    }
    println!("accepted of random flips: {counts:?}");
    // Small cartridges are for the most part slack and free pages; the rest must be noticed.
    for (what, accepted, all) in counts {
        assert!(
            accepted * 10 < all * 9,
            "{what}: {accepted} of {all} flips made no difference"
        );
    }
}

#[test]
fn the_header_and_the_signature_hold_byte_by_byte() {
    for sound in sound() {
        let mut places: Vec<usize> = (0..200).collect();
        // Page 1 goes on with the schema; the row of the signature has the envelope and the key.
        let marks: [&[u8]; 3] = [b"payloadType", b"BEGIN PUBLIC KEY", b"rom-manifest"];
        for mark in marks {
            let wide: Vec<u8> = mark.iter().flat_map(|b| [*b, 0]).collect();
            for at in find(&sound.bytes, mark)
                .into_iter()
                .chain(find(&sound.bytes, &wide))
            {
                places.extend(at.saturating_sub(150)..(at + 450).min(sound.bytes.len()));
            }
        }
        places.sort_unstable();
        places.dedup();
        assert!(
            places.len() > 600,
            "{}: the signature's row was not found",
            sound.what
        );
        let damaged = places
            .par_iter()
            .map(|at| flipped(&sound, *at, 1 << (at % 8)));
        let count = judge_all(&sound, damaged);
        println!("{}: {count} of {} accepted", sound.what, places.len());
    }
}

#[test]
fn showers_of_damage_change_nothing_that_is_accepted() {
    for (stream, sound) in sound().iter().enumerate() {
        let damaged = (0..SHOWERS / 3).into_par_iter().map(|n| {
            let mut bytes = sound.bytes.clone();
            let stream = 1_000 + stream as u64;
            for hit in 0..2 + n % 12 {
                let at = below(stream, n * 64 + hit, bytes.len());
                bytes[at] = below(stream + 50, n * 64 + hit, 256) as u8;
            }
            (format!("shower {n}"), bytes)
        });
        judge_all(sound, damaged);
    }
}

#[test]
fn a_truncated_or_lengthened_file_is_rejected() {
    for (stream, sound) in sound().iter().enumerate() {
        let length = sound.bytes.len();
        let random = (0..TRUNCATIONS / 3).map(|n| below(2_000 + stream as u64, n, length));
        let pages = (0..length).step_by(sound.page_size);
        let lengths: Vec<usize> = random.chain(pages).chain([length - 1]).collect();
        let cut = lengths
            .par_iter()
            .map(|l| (format!("{l} bytes"), sound.bytes[..*l].to_vec()));
        assert_eq!(judge_all(sound, cut), 0, "{}", sound.what);
        let longer = [1, 99, sound.page_size, 1 << 20].map(|more| {
            let mut bytes = sound.bytes.clone();
            bytes.resize(length + more, 0);
            (format!("{more} bytes more"), bytes)
        });
        assert_eq!(judge_all(sound, longer.to_vec()), 0, "{}", sound.what);
    }
}

#[test]
fn swapped_and_repeated_pages_change_nothing_that_is_accepted() {
    for (stream, sound) in sound().iter().enumerate() {
        let (size, stream) = (sound.page_size, 3_000 + stream as u64);
        let pages = sound.bytes.len() / size;
        let damaged = (0..PAGE_SWAPS / 3).into_par_iter().map(|n| {
            let mut bytes = sound.bytes.clone();
            let (a, b) = (below(stream, 2 * n, pages), below(stream, 2 * n + 1, pages));
            let first = sound.bytes[a * size..(a + 1) * size].to_vec();
            let second = sound.bytes[b * size..(b + 1) * size].to_vec();
            bytes[b * size..(b + 1) * size].copy_from_slice(&first);
            if n % 2 == 0 {
                bytes[a * size..(a + 1) * size].copy_from_slice(&second);
            }
            (format!("pages {a} and {b}, {n}"), bytes)
        });
        judge_all(sound, damaged);
    }
}

#[test]
fn random_bytes_are_rejected() {
    let sound = sound();
    let accepted: usize = (0..RANDOM_FILES)
        .into_par_iter()
        .map(|n| {
            let sound = &sound[(n % 3) as usize];
            // A sound header, a sound first page, or nothing sound at all.
            let keep = [100, sound.page_size, 0][(n / 3 % 3) as usize];
            let pages = 1 + below(4_000, n, 40);
            let length = if n % 5 == 0 {
                pages * sound.page_size + 7
            } else {
                sound.bytes.len()
            };
            let mut bytes: Vec<u8> = (0..length.max(keep) as u64)
                .map(|i| (mix((n << 32) | (i / 8)) >> (i % 8 * 8)) as u8)
                .collect();
            bytes[..keep].copy_from_slice(&sound.bytes[..keep]);
            usize::from(accepted(&bytes).is_some())
        })
        .sum();
    assert_eq!(accepted, 0);
}

#[test]
fn tiny_files_are_rejected() {
    for length in 0..128 {
        for fill in [0, b'S', 0xff] {
            assert!(
                accepted(&vec![fill; length]).is_none(),
                "{length} bytes {fill:#04x}"
            );
        }
        let mut head = b"SQLite format 3\0".to_vec();
        head.resize(length.max(16), 0);
        assert!(accepted(&head).is_none());
    }
}
