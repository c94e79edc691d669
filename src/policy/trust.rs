//! `trust-registry.json`, the publishers' keys.

/// The registry's keys.
#[derive(Debug, Clone, Default)]
pub struct TrustRegistry {}
