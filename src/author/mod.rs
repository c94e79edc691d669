//! The other direction: making a cartridge of an agent package, and changing one on its owner's machine. What is
//! signed stays as it is, and that is shown.

mod capabilities;
pub mod codebase;
mod documents;
mod embed_dataset;
mod export;
mod fields;
mod manifest;
mod package;
mod records;
pub mod scrub;
mod seal;
mod skills;
mod strip;
mod write;

pub use embed_dataset::{Embedded, PLACE as DATASET_PLACE, embed_dataset};
pub use export::{ExportError, ExportOptions, Exported, export};
pub use package::{Package, Problem};
pub use strip::{Removed, Stripped, strip};
