//! The index: its content, its signature, and the files that hold both.

mod index;
mod layout;
mod shard;
mod sign;
mod text;

pub use index::{Content, Counts, GENERATED_NEVER, array, entries, render};
pub use layout::Layout;
pub use shard::{Further, Shard};
pub use sign::{
    IndexError, IndexHead, Integrity, KeySource, PREDICATE_TYPE, Published, SignedIndex, Signing,
    read, read_at_hand, read_known, read_with, sign,
};

/// Bytes of an index that are read, and of its shards together.
pub const INDEX_BYTES: u64 = 512 << 20;
