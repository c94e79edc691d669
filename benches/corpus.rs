//! Writes a registry of generated cartridges: `cargo bench --bench corpus -- FOLDER CARTRIDGES KIBIBYTES`.
//!
//! The same numbers give the same bytes. Ten versions of each agent, a hundred agents of each publisher; a key for the
//! index lies beside the registry, in `FOLDER.key`. Zero KiB = as small as a whole cartridge is. Without arguments,
//! nothing is done.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark fails and prints as a test does"
)]

use std::path::Path;

#[path = "common/corpus.rs"]
mod corpus;
#[path = "../tests/support/mod.rs"]
mod support;

fn main() {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .collect();
    let [folder, cartridges, kibibytes] = arguments.as_slice() else {
        println!("expected FOLDER CARTRIDGES KIBIBYTES");
        return;
    };
    let numbers = [cartridges, kibibytes].map(|text| text.parse::<usize>().expect("a number"));
    let folder = Path::new(folder);
    let bytes = corpus::write(folder, numbers[0], numbers[1] * 1024);
    let key = folder.with_extension("key");
    support::keys::write_private(&key, &support::keys::seed(support::registry::INDEX_SEED));
    println!("{} bytes of cartridges, {}", bytes, key.display());
}
