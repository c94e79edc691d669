//! SARIF 2.1.0, as code scanning takes it in.
//! Source: <https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html>

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::view::{View, within};
use super::{FAILED, Report, Style, Verdict, escape};
use crate::check::{self, Rule};
use crate::finding::{Finding, Severity};
use crate::model::{cut, hex};

/// Results that are listed; code scanning shows no more of one run.
const RESULTS: usize = 5000;
/// Characters of one message.
const LONGEST: usize = 4096;
/// The schema's address.
const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// The report as a SARIF log of one run.
pub(super) fn render(report: &Report<'_>, style: &Style) -> Result<String, serde_json::Error> {
    let view = View::of(report);
    let findings: Vec<&Finding> = {
        let of = |wanted: Severity| view.findings().filter(move |f| f.severity == wanted);
        of(Severity::Error).chain(of(Severity::Warning)).collect()
    };
    let codes: BTreeSet<&str> = findings.iter().map(|f| f.code).collect();
    let rules: Vec<&Rule> = codes.iter().filter_map(|code| check::rule(code)).collect();
    let results: Vec<Value> = findings
        .iter()
        .take(RESULTS)
        .map(|f| result(f, &rules, style))
        .collect();
    let unjudged = view
        .files
        .iter()
        .filter(|file| file.verdict == Some(Verdict::Unverifiable))
        .map(|file| {
            json!({
                "level": "error",
                "message": {"text": format!("not judged: {}", plain(file.note))},
                "locations": [location(file.path, style)],
            })
        });
    let differences = view
        .differences
        .iter()
        .map(|text| json!({"level": "error", "message": {"text": plain(text)}}));
    let hidden = findings.len().saturating_sub(RESULTS);
    let rest = (hidden > 0).then(|| {
        json!({"level": "warning", "message": {"text": format!("{hidden} more results are not listed")}})
    });
    let notifications: Vec<Value> = unjudged.chain(differences).chain(rest).collect();
    let log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "acx-registry",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules.iter().map(|rule| descriptor(rule)).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "originalUriBaseIds": {"%SRCROOT%": {"description": {"text": "The root of the repository"}}},
            "automationDetails": {"id": "acx-registry/"},
            "invocations": [{
                "executionSuccessful": view.status != FAILED,
                "exitCode": view.status,
                "toolExecutionNotifications": notifications,
            }],
            "results": results,
        }],
    });
    super::json::text(&log)
}

fn plain(text: &str) -> String {
    escape(&cut(text, LONGEST))
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

fn descriptor(rule: &Rule) -> Value {
    // Code scanning sorts security findings by this number, of which 7 and more count as high.
    let grade = match (rule.level, rule.fixed) {
        (Severity::Error, true) => "8.0",
        (Severity::Error, false) => "6.0",
        (Severity::Warning, _) => "3.0",
    };
    json!({
        "id": rule.code,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.what},
        "help": {
            "text": format!("{}\n\nWhy: {}\n\nExample: {}\n\nFix: {}", rule.what, rule.why, rule.example, rule.fix),
            "markdown": format!(
                "{}\n\n**Why:** {}\n\n**Example:** {}\n\n**Fix:** {}", rule.what, rule.why, rule.example, rule.fix
            ),
        },
        "defaultConfiguration": {"level": level(rule.level)},
        "properties": {"tags": ["security", rule.family.as_str()], "precision": "very-high", "security-severity": grade},
    })
}

fn result(finding: &Finding, rules: &[&Rule], style: &Style) -> Value {
    let mut place = location(&finding.location.path, style);
    let inner: Vec<String> = within(finding).map(plain).collect();
    if let (Some(place), false) = (place.as_object_mut(), inner.is_empty()) {
        let logical = json!([{"fullyQualifiedName": inner.join(" › ")}]);
        place.insert("logicalLocations".to_owned(), logical);
    }
    let mut result = json!({
        "ruleId": finding.code,
        "level": level(finding.severity),
        "message": {"text": format!("{}\nFix: {}", plain(&finding.message), plain(&finding.help))},
        "locations": [place],
        "partialFingerprints": {"acxFinding/v1": fingerprint(finding, style)},
    });
    if let (Some(result), Some(at)) = (
        result.as_object_mut(),
        rules.iter().position(|rule| rule.code == finding.code),
    ) {
        result.insert("ruleIndex".to_owned(), at.into());
    }
    result
}

/// The same for the same defect at the same place, whatever the words: SHA-256 over rule and place, each behind its
/// length in bytes.
fn fingerprint(finding: &Finding, style: &Style) -> String {
    let location = &finding.location;
    let path = format!("{}{}", style.root, location.path);
    let mut hash = Sha256::new();
    for part in [
        Some(finding.code),
        Some(path.as_str()),
        location.table,
        location.row.as_deref(),
        location.pointer.as_deref(),
    ] {
        let part = part.unwrap_or_default();
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    hex::encode(&hash.finalize())
}

fn location(path: &str, style: &Style) -> Value {
    let (artifact, base) = uri(&format!("{}{path}", style.root));
    let mut artifact = json!({"uri": artifact});
    if let (Some(artifact), true) = (artifact.as_object_mut(), base) {
        artifact.insert("uriBaseId".to_owned(), "%SRCROOT%".into());
    }
    // A cartridge has no lines; without one code scanning shows nothing.
    json!({"physicalLocation": {"artifactLocation": artifact, "region": {"startLine": 1}}})
}

/// A path as a URI reference (RFC 3986), and whether it is relative.
fn uri(path: &str) -> (String, bool) {
    let mut out = String::new();
    let relative = !path.starts_with('/');
    if !relative {
        out.push_str("file://");
    }
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    (out, relative)
}
