//! The gate of a git registry of `.acx` cartridges, workflows and Agent Graphs: it judges every one of a registry, leaves
//! out what fails, and writes a signed `index.json` and a Lance dataset beside each cartridge with memory.
//!
//! ```text
//!              acx-registry.toml, trust-registry.json, status.json
//!                                 │ policy
//! discover ──► container ──► check ──► verdict ──► project ──► publish
//! work tree    SQLite        rules     admitted    entries     sign, write
//! → entries    → Cartridge   → Finding or not
//!                                 │
//!                                 └──────────► report   human · json · github · sarif · junit
//! ```
//!
//! Data moves to the right; nothing reaches back. `lance` turns projected rows into a dataset's bytes, `attest`
//! makes and verifies every signature, `model` holds the small checked types, `author` makes cartridges and strips
//! them on the same container and checks, `pipeline` wires the stages. `source` reads a registry's files from a folder
//! or, through `git`, from a commit. `document` is to workflows and Agent Graphs what `container`, `check` and `verdict`
//! are to cartridges; `level` weighs level credentials by their issuers' keys; `site` shows an index as web pages. The
//! library neither prints nor exits nor reads the clock or the environment: time, keys and settings come in as arguments.

pub mod attest;
pub mod author;
pub mod check;
pub mod container;
pub mod discover;
pub mod disk;
pub mod document;
pub mod finding;
pub mod git;
pub mod keys;
pub mod lance;
pub mod level;
pub mod model;
pub mod pipeline;
pub mod policy;
pub mod project;
pub mod publish;
pub mod registry;
pub mod report;
pub mod schema;
mod secret;
pub mod site;
pub mod source;
pub mod verdict;
