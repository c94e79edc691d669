//! The other direction: making a cartridge of an agent package, and changing one on its owner's machine. What is
//! signed stays as it is, and that is shown.

mod capabilities;
pub mod codebase;
mod documents;
mod embed_dataset;
mod export;
mod fields;
mod import;
mod learn;
mod manifest;
mod merge;
mod package;
mod records;
mod repository;
pub mod scrub;
mod seal;
mod skills;
mod strip;
mod template;
mod write;

pub use embed_dataset::{Embedded, PLACE as DATASET_PLACE, embed_dataset};
pub use export::{ExportError, ExportOptions, Exported, export};
pub use import::{
    ImportPlan, ImportReport, RecordsReport, RefusedRecord, SkillReport, SkillState,
    judge_for_import,
};
pub use learn::{Learned, NotLearned, Outcome, learn};
pub use merge::{Record, Tier, merge};
pub use package::{Package, Problem};
pub use repository::repository_identity;
pub use strip::{Removed, Stripped, strip};
pub use template::{EXAMPLES, Example, TEMPLATE, TemplateFile, Tool, policy, workflow};
