//! Cartridges, registries and runs of the program for the tests.
//!
//! Nothing here uses the crate: its container, signature and canonical JSON code is what the tests judge, so the
//! second opinion is written from the format's rules alone.

#![allow(dead_code)]

pub mod cartridge;
pub mod documents;
pub mod envelope;
pub mod git;
pub mod jcs;
pub mod keys;
pub mod levels;
pub mod mutations;
pub mod noise;
pub mod package;
pub mod python;
pub mod records;
pub mod registry;
pub mod signed;
pub mod trust;
