//! `status.json`, the lifecycle ledger.
