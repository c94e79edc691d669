//! What recomputing a cartridge's digests and checking its signature gives, once a cartridge.

/// The evidence that the integrity and signature rules read.
#[derive(Debug, Clone, Default)]
pub struct Evidence {}
