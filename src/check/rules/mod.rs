//! The rules, one file each: a rule's declaration and its check.

use super::Rule;

mod attestation_json;
mod capability_evidence;
mod capability_hash;
pub(crate) mod capability_id;
mod capability_json;
mod capability_row;
mod capability_schema;
mod capability_task_type;
mod capability_verified;
mod cartridge_secret;
mod container_application_id;
mod container_corrupt;
mod container_extra_column;
mod container_format_version;
mod container_inflate;
mod container_length;
mod container_lfs_pointer;
mod container_limit;
mod container_missing;
mod container_not_sqlite;
mod container_schema_object;
mod container_too_large;
mod container_value_type;
mod document_binding;
mod document_coordinate;
mod document_dependency;
mod document_graph;
mod document_integrity;
mod document_json;
mod document_key;
mod document_lineage;
mod document_private_name;
mod document_profile;
mod document_schema;
mod document_secret;
mod document_signed_later;
mod document_unsigned;
mod harness_json;
mod harness_schema;
mod history_branch;
mod history_budget;
mod history_changed;
mod history_index;
mod history_policy;
mod history_publisher_key;
mod history_removed;
mod integrity_alias;
mod integrity_duplicate_row;
mod integrity_manifest;
mod integrity_memory_oid;
mod integrity_object;
mod integrity_recorded_hash;
mod integrity_shared_content;
mod integrity_skill_cache;
mod integrity_stowaway;
mod integrity_utf16_order;
mod lance_absent;
mod lance_engine;
mod lance_json;
mod lance_other_engine;
mod lance_schema;
mod loop_json;
mod loop_schema;
mod memory_canonical;
pub(crate) mod memory_fingerprint;
mod memory_json;
mod memory_row;
mod memory_schema;
mod memory_tier;
mod memory_timestamp;
mod memory_xp;
mod memory_xp_negative;
mod metadata_invalid;
mod metadata_missing;
mod path_collision;
mod path_file_mode;
mod path_name;
mod path_name_type;
mod policy_lapsed;
mod policy_minimum_trust;
mod policy_waiver;
mod registry_coordinate;
mod registry_duplicate;
mod registry_file_too_large;
mod registry_line_endings;
mod registry_path;
mod registry_secret;
mod registry_status_target;
mod registry_symlink;
mod registry_template;
mod registry_unreadable_name;
mod save_file;
mod save_memory;
mod save_metadata;
mod save_object;
mod save_vector;
mod signature_absent;
mod signature_compromised_key;
mod signature_envelope;
mod signature_future;
mod signature_invalid;
mod signature_key;
mod signature_no_key;
mod signature_not_canonical;
mod signature_predicate;
mod signature_publisher;
mod signature_statement;
mod signature_subject;
mod signature_tally;
pub(crate) mod skill_frontmatter;
mod skill_index;
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
    &container_application_id::RULE,
    &container_corrupt::RULE,
    &container_extra_column::RULE,
    &container_format_version::RULE,
    &container_inflate::RULE,
    &container_length::RULE,
    &container_lfs_pointer::RULE,
    &container_limit::RULE,
    &container_missing::RULE,
    &container_not_sqlite::RULE,
    &container_schema_object::RULE,
    &container_too_large::RULE,
    &container_value_type::RULE,
    &path_collision::RULE,
    &path_file_mode::RULE,
    &path_name::RULE,
    &path_name_type::RULE,
    &integrity_alias::RULE,
    &integrity_duplicate_row::RULE,
    &integrity_manifest::RULE,
    &integrity_memory_oid::RULE,
    &integrity_object::RULE,
    &integrity_recorded_hash::RULE,
    &integrity_shared_content::RULE,
    &integrity_skill_cache::RULE,
    &integrity_stowaway::RULE,
    &integrity_utf16_order::RULE,
    &document_integrity::RULE,
    &document_key::RULE,
    &document_signed_later::RULE,
    &document_unsigned::RULE,
    &signature_absent::RULE,
    &signature_compromised_key::RULE,
    &signature_envelope::RULE,
    &signature_future::RULE,
    &signature_invalid::RULE,
    &signature_key::RULE,
    &signature_no_key::RULE,
    &signature_not_canonical::RULE,
    &signature_predicate::RULE,
    &signature_publisher::RULE,
    &signature_statement::RULE,
    &signature_subject::RULE,
    &signature_tally::RULE,
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
    &lance_other_engine::RULE,
    &lance_schema::RULE,
    &save_file::RULE,
    &save_memory::RULE,
    &save_metadata::RULE,
    &save_object::RULE,
    &save_vector::RULE,
    &skill_frontmatter::RULE,
    &skill_index::RULE,
    &harness_json::RULE,
    &harness_schema::RULE,
    &loop_json::RULE,
    &loop_schema::RULE,
    &cartridge_secret::RULE,
    &registry_coordinate::RULE,
    &registry_duplicate::RULE,
    &registry_file_too_large::RULE,
    &registry_line_endings::RULE,
    &registry_path::RULE,
    &registry_secret::RULE,
    &registry_status_target::RULE,
    &registry_symlink::RULE,
    &registry_template::RULE,
    &registry_unreadable_name::RULE,
    &history_branch::RULE,
    &history_budget::RULE,
    &history_changed::RULE,
    &history_index::RULE,
    &history_policy::RULE,
    &history_publisher_key::RULE,
    &history_removed::RULE,
    &policy_lapsed::RULE,
    &policy_minimum_trust::RULE,
    &policy_waiver::RULE,
    &document_json::RULE,
    &document_schema::RULE,
    &document_binding::RULE,
    &document_graph::RULE,
    &document_private_name::RULE,
    &document_profile::RULE,
    &document_secret::RULE,
    &document_lineage::RULE,
    &document_coordinate::RULE,
    &document_dependency::RULE,
];
