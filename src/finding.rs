//! What a check has to say: one [`Finding`] per cause, with its place.

use serde::Serialize;

/// The kind of evidence a finding rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// The file as a database.
    Container,
    /// Archive names.
    Path,
    /// Live digests, coverage, derived caches.
    Integrity,
    /// Envelope, statement, keys.
    Signature,
    /// The package spec and the metadata it describes.
    PackageSpec,
    /// Memory records.
    Memory,
    /// Capability records and attestations.
    Capability,
    /// The Lance descriptor and dataset.
    Lance,
    /// Data that only one installation should hold.
    SaveZone,
    /// SKILL.md files.
    Skill,
    /// Harness requirements.
    Harness,
    /// Loop and context policy.
    LoopContext,
    /// Places in the registry tree.
    Registry,
    /// What was published before.
    History,
    /// The registry's own policy.
    Policy,
    /// A signed document as JSON, and what its schema says.
    Schema,
    /// How parts of a document fit each other.
    Graph,
    /// What a document must have to be published.
    Profile,
    /// What a document was made from.
    Lineage,
    /// A document's path, publisher and dependencies.
    Coordinate,
}

impl Family {
    /// The family's name as JSON and people read it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Container => "container",
            Self::Path => "path",
            Self::Integrity => "integrity",
            Self::Signature => "signature",
            Self::PackageSpec => "package-spec",
            Self::Memory => "memory",
            Self::Capability => "capability",
            Self::Lance => "lance",
            Self::SaveZone => "save-zone",
            Self::Skill => "skill",
            Self::Harness => "harness",
            Self::LoopContext => "loop-context",
            Self::Registry => "registry",
            Self::History => "history",
            Self::Policy => "policy",
            Self::Schema => "schema",
            Self::Graph => "graph",
            Self::Profile => "profile",
            Self::Lineage => "lineage",
            Self::Coordinate => "coordinate",
        }
    }
}

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; the verdict stands.
    Warning,
    /// The file is rejected.
    Error,
}

/// Where a finding is: the file, and within it the table, the row (its key as text) and the JSON pointer.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Location {
    /// The file, as the user or the registry names it.
    pub path: String,
    /// The SQLite table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<&'static str>,
    /// The row's key, or the archive name of a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row: Option<String>,
    /// The JSON pointer (RFC 6901) into the row's document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
}

/// One defect, with its place and its remedy. Made by `check::Sink`, which knows the rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Finding {
    /// The rule's stable code.
    pub code: &'static str,
    /// The rule's family.
    pub family: Family,
    /// Error or warning.
    pub severity: Severity,
    /// What is wrong, expected and found.
    pub message: String,
    /// What to do about it.
    pub help: String,
    /// Where.
    pub location: Location,
}

/// Sorts findings as reports list them: errors first, then by family, code and place.
pub fn sort(findings: &mut [Finding]) {
    findings.sort_by(|a, b| {
        let key = |f: &Finding| (std::cmp::Reverse(f.severity), f.family, f.code);
        key(a)
            .cmp(&key(b))
            .then_with(|| (&a.location, &a.message).cmp(&(&b.location, &b.message)))
    });
}
