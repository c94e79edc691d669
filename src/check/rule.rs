//! What a rule is, what it sees and where it reports.

use crate::container::{CapabilityRow, Cartridge, FaultKind, MemoryRow};
use crate::finding::{Family, Finding, Location, Severity};
use crate::model::{Json, JsonError, Timestamp};
use crate::policy::{Policy, TrustRegistry};
use crate::schema::Schema;

use super::documents::Documents;
use super::evidence::{Evidence, IssueKind};

/// Whom a rule is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Every cartridge: one that breaks it is not clean.
    Cartridge,
    /// Public cartridges only: an installation's own may break it.
    Public,
    /// The registry's tree, its history or its policy.
    Registry,
}

/// What the judgement of a workflow or an Agent Graph can find; each is the subject of one rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DocumentIssue {
    /// Not interoperable JSON.
    Json,
    /// Against the schema.
    Schema,
    /// Parts do not fit each other.
    Graph,
    /// Not fit to be published.
    Profile,
    /// An open object has a member named for private content.
    PrivateName,
    /// Something has the look of a secret.
    Secret,
    /// What it was made from is malformed.
    Lineage,
    /// Not signed.
    Unsigned,
    /// The signature does not hold.
    Integrity,
    /// The trust registry speaks against the key.
    Key,
    /// Signed after now.
    Future,
    /// The path or the publisher is another.
    Coordinate,
    /// A pinned workflow is not there.
    Dependency,
    /// A bound alias is no participant of the pinned workflow.
    Binding,
}

/// How a rule looks.
#[derive(Clone, Copy)]
pub enum Check {
    /// The container reports it while opening the file.
    Fault(FaultKind),
    /// The evidence shows it.
    Evidence(IssueKind),
    /// Once a cartridge.
    Cartridge(fn(&Context<'_>, &mut Sink<'_>)),
    /// Once a memory record.
    Memory(fn(&Context<'_>, &MemoryItem<'_>, &mut Sink<'_>)),
    /// Once a capability record.
    Capability(fn(&Context<'_>, &CapabilityItem<'_>, &mut Sink<'_>)),
    /// The judgement of a signed document shows it.
    Document(DocumentIssue),
    /// The stage that walks or joins the registry reports it.
    Registry,
}

/// One rule, declared in a file of its own.
pub struct Rule {
    /// Stable, kebab-case; never used again for another rule.
    pub code: &'static str,
    /// The kind of evidence.
    pub family: Family,
    /// The default level.
    pub level: Severity,
    /// Policy may neither lower nor waive it: it concerns the container, signatures, digests or coverage, or what the
    /// index and the sidecars are made from. Without a JSON record of the right fields, in the row that claims it and
    /// in its tier, or without the metadata that an entry repeats, there is nothing sound to write, whatever the
    /// policy says.
    pub fixed: bool,
    /// Whom it is for.
    pub scope: Scope,
    /// One line, without a full stop.
    pub summary: &'static str,
    /// What exactly is checked.
    pub what: &'static str,
    /// Why it matters.
    pub why: &'static str,
    /// An example of what trips it.
    pub example: &'static str,
    /// How to fix it; also the help of each finding.
    pub fix: &'static str,
    /// The release that brought it.
    pub since: &'static str,
    /// How it looks.
    pub check: Check,
}

/// What every rule sees.
pub struct Context<'a> {
    /// The file as it stands, deleted pages and slack included.
    pub bytes: &'a [u8],
    /// The cartridge.
    pub cartridge: &'a Cartridge,
    /// Its documents.
    pub documents: &'a Documents,
    /// What recomputing its digests and checking its signature gave.
    pub evidence: &'a Evidence,
    /// The registry's policy.
    pub policy: &'a Policy,
    /// The registry's keys.
    pub trust: &'a TrustRegistry,
    /// The run's one time.
    pub now: &'a Timestamp,
}

/// One memory record.
pub struct MemoryItem<'a> {
    /// The row.
    pub row: &'a MemoryRow,
    /// Its payload, parsed.
    pub payload: &'a Result<Json, JsonError>,
}

/// One capability record.
pub struct CapabilityItem<'a> {
    /// The row.
    pub row: &'a CapabilityRow,
    /// Its record, parsed.
    pub record: &'a Result<Json, JsonError>,
}

/// Where within a file a finding is.
#[derive(Debug, Clone, Default)]
pub struct Place {
    /// The SQLite table.
    pub table: Option<&'static str>,
    /// The row's key or the archive name.
    pub row: Option<String>,
    /// The JSON pointer.
    pub pointer: Option<String>,
}

impl Place {
    /// The file as a whole.
    pub fn file() -> Self {
        Self::default()
    }

    /// A row of a table.
    pub fn row(table: &'static str, row: impl Into<String>) -> Self {
        Self {
            table: Some(table),
            row: Some(row.into()),
            pointer: None,
        }
    }

    /// A place within the JSON document of a row.
    pub fn pointer(
        table: &'static str,
        row: impl Into<String>,
        pointer: impl Into<String>,
    ) -> Self {
        Self {
            table: Some(table),
            row: Some(row.into()),
            pointer: Some(pointer.into()),
        }
    }
}

/// The name of a table of the format, by its text.
pub(crate) fn table(name: &str) -> Option<&'static str> {
    [
        "acx_skill",
        "attestations",
        "capabilities",
        "cartridge",
        "memory",
        "objects",
        "signatures",
        "sqlar",
        "vectors",
    ]
    .into_iter()
    .find(|known| *known == name)
}

/// Findings of one rule that a file's report lists; the rest are counted.
pub const LISTED_PER_RULE: usize = 50;

/// Where a rule reports what it finds about one file.
pub struct Sink<'a> {
    rule: &'static Rule,
    path: &'a str,
    level: Option<Severity>,
    count: usize,
    findings: &'a mut Vec<Finding>,
}

impl<'a> Sink<'a> {
    /// A sink for one rule and one file; `level` is the policy's word on the rule (`None` = off).
    pub fn new(
        rule: &'static Rule,
        path: &'a str,
        level: Option<Severity>,
        findings: &'a mut Vec<Finding>,
    ) -> Self {
        Self {
            rule,
            path,
            level,
            count: 0,
            findings,
        }
    }

    /// Reports a defect: what is wrong, expected and found.
    pub fn report(&mut self, place: Place, message: impl Into<String>) {
        let Some(severity) = self.level else { return };
        self.count += 1;
        if self.count > LISTED_PER_RULE {
            return;
        }
        self.findings.push(Finding {
            code: self.rule.code,
            family: self.rule.family,
            severity,
            message: message.into(),
            help: self.rule.fix.to_owned(),
            location: Location {
                path: self.path.to_owned(),
                table: place.table,
                row: place.row.map(|r| crate::model::shorten(&r)),
                pointer: place.pointer,
            },
        });
    }

    /// Reports each defect of a row's document under a schema.
    pub fn conform(&mut self, schema: &Schema, document: &Json, table: &'static str, row: &str) {
        for (pointer, message) in schema.defects(document) {
            self.report(Place::pointer(table, row, pointer), message);
        }
    }
}

impl Drop for Sink<'_> {
    /// Says how many findings the list leaves out.
    fn drop(&mut self) {
        let hidden = self.count.saturating_sub(LISTED_PER_RULE);
        if let (1.., Some(last)) = (hidden, self.findings.last_mut()) {
            last.message
                .push_str(&format!(" (and {hidden} more of this rule)"));
        }
    }
}
