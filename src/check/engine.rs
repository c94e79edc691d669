//! Runs the rules over one cartridge.

use crate::container::{self, Cartridge, Fault, Refusal};
use crate::finding::{Family, Finding, Severity};
use crate::model::{KeyId, Timestamp, json};
use crate::policy::{Policy, RuleInfo, TrustRegistry};

use super::evidence::{self, Evidence};
use super::{
    CapabilityItem, Check, Context, Documents, MemoryItem, Place, RULES, Rule, Scope, Sink,
};

/// What a check depends on besides the bytes.
#[derive(Clone, Copy)]
pub struct Settings<'a> {
    /// The registry's policy.
    pub policy: &'a Policy,
    /// The registry's keys.
    pub trust: &'a TrustRegistry,
    /// The verifier's own keys, for the trust value `local`.
    pub own_keys: &'a [KeyId],
    /// The run's one time.
    pub now: &'a Timestamp,
    /// Whether the cartridge is to be public: then SAVE data counts too.
    pub public: bool,
}

/// Everything the rules found in one cartridge.
#[derive(Debug)]
pub struct Checked {
    /// The content; `None` where the container could not be read.
    pub cartridge: Option<Cartridge>,
    /// What its digests and signature show; with the content.
    pub evidence: Option<Evidence>,
    /// Its JSON documents; with the content.
    pub documents: Option<Documents>,
    /// By family, code and place.
    pub findings: Vec<Finding>,
    /// Conforms to the format, whoever signed it.
    pub clean: bool,
}

impl Rule {
    /// What the policy must know of the rule.
    pub fn info(&self) -> RuleInfo {
        RuleInfo {
            code: self.code,
            level: self.level,
            fixed: self.fixed,
        }
    }
}

/// The rule of this code.
pub fn rule(code: &str) -> Option<&'static Rule> {
    RULES.iter().copied().find(|rule| rule.code == code)
}

/// Checks one cartridge by every rule for cartridges; `path` is how findings name the file.
///
/// # Errors
/// [`Refusal`] where the tool failed and nothing is known of the file.
pub fn check(path: &str, bytes: &[u8], settings: Settings<'_>) -> Result<Checked, Refusal> {
    let opened = container::open(bytes, &settings.policy.limits)?;
    let mut findings = Vec::new();
    report_faults(path, &opened.faults, settings.policy, &mut findings);
    let Some(cartridge) = opened.cartridge else {
        findings.sort();
        return Ok(Checked {
            cartridge: None,
            evidence: None,
            documents: None,
            findings,
            clean: false,
        });
    };
    let documents = Documents::of(&cartridge);
    let evidence = evidence::gather(&cartridge, settings.trust, settings.own_keys, settings.now);
    let context = Context {
        bytes,
        cartridge: &cartridge,
        documents: &documents,
        evidence: &evidence,
        policy: settings.policy,
        trust: settings.trust,
        now: settings.now,
    };
    run(path, &context, settings, &mut findings);
    findings.sort();
    let unclean = |f: &Finding| {
        f.severity == Severity::Error
            && match f.family {
                Family::Container
                | Family::Path
                | Family::PackageSpec
                | Family::Memory
                | Family::Capability
                | Family::Lance
                | Family::Skill
                | Family::Harness
                | Family::LoopContext => true,
                Family::Integrity => f.code == "integrity-duplicate-row",
                Family::Signature
                | Family::SaveZone
                | Family::Registry
                | Family::History
                | Family::Policy
                | Family::Schema
                | Family::Graph
                | Family::Profile
                | Family::Lineage
                | Family::Coordinate => false,
            }
    };
    let clean = !findings.iter().any(unclean);
    Ok(Checked {
        evidence: Some(evidence),
        documents: Some(documents),
        cartridge: Some(cartridge),
        findings,
        clean,
    })
}

fn report_faults(path: &str, faults: &[Fault], policy: &Policy, findings: &mut Vec<Finding>) {
    for rule in RULES {
        let Check::Fault(kind) = rule.check else {
            continue;
        };
        let mut sink = Sink::new(rule, path, policy.level(rule.info()), findings);
        for fault in faults.iter().filter(|f| f.kind == kind) {
            let place = Place {
                table: fault.table,
                row: fault.row.clone(),
                pointer: None,
            };
            sink.report(place, fault.message.as_str());
        }
    }
}

/// Every rule but the container's. Records are parsed one at a time, so a cartridge of many takes the memory of one.
fn run(path: &str, context: &Context<'_>, settings: Settings<'_>, findings: &mut Vec<Finding>) {
    let policy = settings.policy;
    let applies = |rule: &&&'static Rule| settings.public || rule.scope != Scope::Public;
    let mut record_findings: Vec<(&'static Rule, Vec<Finding>)> = Vec::new();
    for rule in RULES.iter().filter(applies) {
        let level = policy.level(rule.info());
        match rule.check {
            Check::Evidence(kind) => {
                let mut sink = Sink::new(rule, path, level, findings);
                for issue in context
                    .evidence
                    .issues
                    .iter()
                    .filter(|issue| issue.kind == kind)
                {
                    sink.report(issue.place.clone(), issue.message.as_str());
                }
            }
            Check::Cartridge(run) => run(context, &mut Sink::new(rule, path, level, findings)),
            Check::Memory(_) | Check::Capability(_) => record_findings.push((rule, Vec::new())),
            Check::Fault(_) | Check::Document(_) | Check::Registry => {}
        }
    }
    // One sink a rule for all records of the file, so that the count of what is left out is the file's.
    let mut sinks: Vec<(&'static Rule, Sink<'_>)> = record_findings
        .iter_mut()
        .map(|(rule, list)| {
            (
                *rule,
                Sink::new(rule, path, policy.level(rule.info()), list),
            )
        })
        .collect();
    for row in &context.cartridge.memory {
        let payload = json::parse(row.payload.as_bytes());
        let item = MemoryItem {
            row,
            payload: &payload,
        };
        for (rule, sink) in &mut sinks {
            if let Check::Memory(run) = rule.check {
                run(context, &item, sink);
            }
        }
    }
    for row in &context.cartridge.capabilities {
        let record = json::parse(row.json.as_bytes());
        let item = CapabilityItem {
            row,
            record: &record,
        };
        for (rule, sink) in &mut sinks {
            if let Check::Capability(run) = rule.check {
                run(context, &item, sink);
            }
        }
    }
    drop(sinks);
    findings.extend(record_findings.into_iter().flat_map(|(_, list)| list));
}
