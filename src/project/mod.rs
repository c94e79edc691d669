//! What an admitted cartridge looks like from outside: its entry in the index. Pure: no file, no clock.

mod entry;
mod template;

pub use entry::{
    Author, CapabilityEntry, CartridgeEntry, LevelClaim, Memories, Projected, RegistryStatus,
    VerificationState, entry,
};
pub use template::{TemplateEntry, template};
