//! The gate of a git registry of `.acx` cartridges.

pub mod attest;
pub mod check;
pub mod container;
pub mod finding;
pub mod lance;
pub mod model;
pub mod policy;
pub mod project;
