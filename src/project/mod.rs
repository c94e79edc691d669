//! What an admitted cartridge looks like from outside: its entry in the index, and its memory as rows and vectors. Pure:
//! no file, no clock.

mod artifact;
mod card;
mod document;
pub mod embed;
mod entry;
pub mod memories;
mod remember;
mod remember_document;
mod template;

pub use crate::level::VerificationState;
pub(crate) use artifact::heads;
pub use artifact::{Artifact, Entries, Head, IndexEntry};
pub use card::card;
pub use document::{Dependency, DocumentEntry, document};
pub use entry::{
    Author, CapabilityEntry, CartridgeEntry, LevelClaim, Memories, Projected, Proofs,
    RegistryStatus, capability, entry, level_claim, levels, levels_of_checked, proofs,
    proven_level,
};
pub use memories::{MemoryRecord, record_batch};
pub use remember::{Recalled, Remembered};
pub(crate) use remember_document::RememberedDocument;
pub use template::{TemplateEntry, template};
