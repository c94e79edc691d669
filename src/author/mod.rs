//! The other direction: changing a cartridge on its owner's machine. What is signed stays as it is, and that is shown.

mod codebase;
mod embed_dataset;
mod import;
mod merge;

pub use codebase::{Salt, canonical_identity};
pub use embed_dataset::{Embedded, PLACE as DATASET_PLACE, embed_dataset};
pub use import::{
    ImportPlan, ImportReport, RecordsReport, RefusedRecord, SkillReport, SkillState,
    judge_for_import,
};
pub use merge::{Record, Tier, merge};
