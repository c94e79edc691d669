//! The other direction: changing a cartridge on its owner's machine. What is signed stays as it is, and that is shown.

mod embed_dataset;

pub use embed_dataset::{Embedded, PLACE as DATASET_PLACE, embed_dataset};
