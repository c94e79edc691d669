//! What an admitted cartridge looks like from outside: its entry in the index, and its memory as rows and vectors. Pure:
//! no file, no clock.

mod card;
mod document;
pub mod embed;
mod entry;
pub mod memories;
mod remember;
mod template;

pub use crate::level::VerificationState;
pub use card::card;
pub use document::{Dependency, document_entry};
pub use entry::{
    Author, CapabilityEntry, CartridgeEntry, LevelClaim, Memories, Projected, RegistryStatus,
    capability, entry, level_claim, levels, levels_of_checked, proven_level,
};
pub use memories::{MemoryRecord, record_batch};
pub use remember::{Recalled, Remembered};
pub use template::{TemplateEntry, template};
