//! What an admitted cartridge looks like from outside: its memory as rows and vectors. Pure: no file, no clock.

pub mod embed;
pub mod memories;

pub use memories::{MemoryRecord, record_batch};
