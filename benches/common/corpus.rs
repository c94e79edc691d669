//! Registries of any count and size of cartridges, the same bytes for the same numbers.

use std::fs;
use std::path::Path;

use super::support::cartridge::{Builder, Entry};

/// Cartridge `n`: ten versions of each of a hundred agents of each publisher.
pub fn named(n: usize) -> Builder {
    let (publisher, agent, version) = (n / 1_000, n / 10 % 100, n % 10);
    Builder::valid(
        &format!("io.github.acme{publisher:03}"),
        &format!("agent-{agent:02}"),
        &format!("1.{version}.0"),
    )
}

/// Writes `cartridges` of at least `bytes` bytes each; gives the bytes of all.
pub fn write(root: &Path, cartridges: usize, bytes: usize) -> u64 {
    // Padding is found by building again and again, so it is found once; ids differ in nothing that changes a size.
    let padding: Vec<Entry> = match bytes {
        0 => Vec::new(),
        bytes => named(0).padded_to(bytes).files,
    };
    let padding: Vec<_> = padding
        .into_iter()
        .filter(|file| file.name.starts_with("rom/padding/"))
        .collect();
    let make = |n: usize| {
        let mut builder = named(n);
        builder.files.extend(padding.iter().cloned());
        let bytes = builder.build();
        let path = root.join(builder.path());
        fs::create_dir_all(path.parent().expect("a file has a folder")).expect("a new folder");
        fs::write(path, &bytes).expect("a new file");
        bytes.len() as u64
    };
    let half = |first: usize| (first..cartridges).step_by(2).map(make).sum::<u64>();
    std::thread::scope(|scope| {
        let odd = scope.spawn(|| half(1));
        half(0) + odd.join().expect("the builder holds")
    })
}
