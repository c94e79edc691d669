//! The rules, one file each: a rule's declaration and its check.

use super::Rule;

mod attestation_json;
mod capability_evidence;
mod capability_hash;
mod capability_id;
mod capability_json;
mod capability_row;
mod capability_schema;
mod capability_task_type;
mod capability_verified;
mod harness_json;
mod harness_schema;
mod lance_absent;
mod lance_engine;
mod lance_json;
mod lance_schema;
mod loop_json;
mod loop_schema;
mod memory_canonical;
mod memory_fingerprint;
mod memory_json;
mod memory_row;
mod memory_schema;
mod memory_tier;
mod memory_timestamp;
mod memory_xp;
mod memory_xp_negative;
mod metadata_invalid;
mod metadata_missing;
mod save_file;
mod save_memory;
mod save_metadata;
mod save_object;
mod save_vector;
mod skill_frontmatter;
mod spec_absent;
mod spec_count;
mod spec_json;
mod spec_metadata;
mod spec_required_file;
mod spec_schema;

#[cfg(test)]
mod tests;

/// Every rule, by family, then by code.
pub const RULES: &[&Rule] = &[
    &metadata_invalid::RULE,
    &metadata_missing::RULE,
    &spec_absent::RULE,
    &spec_count::RULE,
    &spec_json::RULE,
    &spec_metadata::RULE,
    &spec_required_file::RULE,
    &spec_schema::RULE,
    &memory_canonical::RULE,
    &memory_fingerprint::RULE,
    &memory_json::RULE,
    &memory_row::RULE,
    &memory_schema::RULE,
    &memory_tier::RULE,
    &memory_timestamp::RULE,
    &memory_xp::RULE,
    &memory_xp_negative::RULE,
    &attestation_json::RULE,
    &capability_evidence::RULE,
    &capability_hash::RULE,
    &capability_id::RULE,
    &capability_json::RULE,
    &capability_row::RULE,
    &capability_schema::RULE,
    &capability_task_type::RULE,
    &capability_verified::RULE,
    &lance_absent::RULE,
    &lance_engine::RULE,
    &lance_json::RULE,
    &lance_schema::RULE,
    &save_file::RULE,
    &save_memory::RULE,
    &save_metadata::RULE,
    &save_object::RULE,
    &save_vector::RULE,
    &skill_frontmatter::RULE,
    &harness_json::RULE,
    &harness_schema::RULE,
    &loop_json::RULE,
    &loop_schema::RULE,
];
