//! `acx-registry.toml`.

use std::collections::BTreeMap;

use crate::container::Limits;
use crate::finding::Severity;
use crate::model::{KeyId, Trust};

/// The policy's word on a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Not reported.
    Off,
    /// Reported; the verdict stands.
    Warning,
    /// Rejects.
    Error,
}

/// What the policy must know of a rule to judge its own `[rules]` and `[[waivers]]`.
#[derive(Debug, Clone, Copy)]
pub struct RuleInfo {
    /// The rule's code.
    pub code: &'static str,
    /// The default level.
    pub level: Severity,
    /// It may be neither lowered nor waived.
    pub fixed: bool,
}

/// An accepted exception: findings of one rule on matching paths do not count until it expires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiver {
    /// The rule's code.
    pub code: &'static str,
    /// The registry path it is for: exact, or a prefix that ends in `/**`.
    pub path: String,
    /// Why.
    pub reason: String,
    /// The last day it holds, `YYYY-MM-DD` (UTC).
    pub expires: String,
}

/// The registry's policy, valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// `[registry] id`
    pub registry_id: String,
    /// `[limits]`
    pub limits: Limits,
    /// `[trust] minimum`
    pub minimum_trust: Trust,
    /// `[rules]`: codes whose level differs from the default.
    pub levels: BTreeMap<&'static str, Level>,
    /// `[[waivers]]`
    pub waivers: Vec<Waiver>,
    /// `[index] keys`: the keys that may sign the index; empty = not pinned.
    pub index_keys: Vec<KeyId>,
    /// `[index] expires_days`
    pub index_expires_days: Option<u32>,
}
