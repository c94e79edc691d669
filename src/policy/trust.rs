//! `trust-registry.json`, the publishers' keys.
