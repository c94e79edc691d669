//! The index: its content, its signature, and the file that holds both.

mod index;
mod sign;

pub use index::{Content, Counts, GENERATED_NEVER, array, entries, render};
pub use sign::{
    IndexError, IndexHead, Integrity, KeySource, PREDICATE_TYPE, Published, SignedIndex, Signing,
    read, read_known, sign,
};
