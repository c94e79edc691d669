//! `acx check`, `verify`, `spec` and `inspect`: single files.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use acx_registry::check::{self, Checked, Settings};
use acx_registry::disk;
use acx_registry::document::Kind;
use acx_registry::finding::{Family, Finding, Severity};
use acx_registry::level::{IssuerKeys, Levels};
use acx_registry::model::{Digest, Json, KeyId, Timestamp, Trust, json as strict};
use acx_registry::pipeline;
use acx_registry::policy::{Policy, TrustRegistry};
use acx_registry::project;
use acx_registry::registry::{self, Registry};
use acx_registry::report::{
    self, ACCEPTED, FileReport, FilesReport, REJECTED, Report, Style, Verdict, escape,
};
use serde_json::json;

use super::document::{self, Shown};
use super::level::IssuerArgs;
use super::report::{Rendering, ReportArgs, publish};
use super::{Failure, Format, Global, environment, output};

#[derive(clap::Args)]
pub struct CheckArgs {
    /// The cartridges, workflows and Agent Graphs
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Judge by the policy and the keys of this registry instead of the defaults
    #[arg(long, value_name = "DIR")]
    registry: Option<PathBuf>,
    #[command(flatten)]
    issuers: IssuerArgs,
    #[command(flatten)]
    report: ReportArgs,
    /// Threads; 0 = one a processor
    #[arg(long, short, default_value_t = 0, value_name = "N", value_parser = super::threads())]
    jobs: usize,
}

#[derive(clap::Args)]
pub struct VerifyArgs {
    /// The cartridges, workflows and Agent Graphs
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// The publishers' keys that you trust
    #[arg(long, value_name = "FILE")]
    trust_registry: Option<PathBuf>,
    /// Your own keys' ids, for the trust value `local`; may be given again
    #[arg(long, value_name = "KEYID")]
    own_key: Vec<String>,
    #[command(flatten)]
    issuers: IssuerArgs,
}

#[derive(clap::Args)]
pub struct FileArgs {
    /// The cartridges
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

#[derive(clap::Args)]
pub struct InspectArgs {
    /// The cartridges, workflows and Agent Graphs
    #[arg(required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    issuers: IssuerArgs,
}

/// What a registry's gate would say.
pub fn check(args: CheckArgs, global: Global) -> Result<u8, Failure> {
    let start = Instant::now();
    args.report.prepare()?;
    let now = environment::now()?;
    let given = args.issuers.load()?;
    let (policy, trust, own) = match &args.registry {
        Some(start) => {
            let root = registry::find_root(start).map_err(Failure)?;
            let registry = Registry::load(&root, &now)?;
            (registry.policy, registry.trust, registry.issuers)
        }
        None => Default::default(),
    };
    let issuers = given.unwrap_or(own);
    issuers.pinned(policy.issuer_keys.as_ref())?;
    let settings = Settings {
        policy: &policy,
        trust: &trust,
        own_keys: &[],
        now: &now,
        public: true,
    };
    let files = pipeline::check_files(&args.files, settings, &issuers, args.jobs)?;
    publish(&Report::Files(&files), &args.report, "", start, global)?;
    Ok(files.exit_status())
}

/// Reads and checks one file by the defaults; `Err` says why nothing is known of it.
fn examine(
    file: &Path,
    trust: &TrustRegistry,
    own: &[KeyId],
    now: &Timestamp,
) -> Result<Checked, String> {
    let policy = Policy::default();
    let bytes =
        disk::read(file, policy.limits.file_bytes).map_err(|e| format!("cannot be read: {e}"))?;
    let settings = Settings {
        policy: &policy,
        trust,
        own_keys: own,
        now,
        public: false,
    };
    check::check(&file.to_string_lossy(), &bytes, settings).map_err(|refusal| refusal.0)
}

/// Reads and checks one file by the defaults, whoever signed it.
pub fn examine_any(file: &Path, now: &Timestamp) -> Result<Checked, String> {
    examine(file, &TrustRegistry::default(), &[], now)
}

/// Who signed it, and whether it is what they signed. Whether the package conforms is for `spec` to say.
pub fn verify(args: VerifyArgs, global: Global) -> Result<u8, Failure> {
    let now = environment::now()?;
    let trust = super::trust_registry(args.trust_registry.as_deref(), &now)?;
    let issuers = args.issuers.load()?.unwrap_or_default();
    let own: Vec<KeyId> = args
        .own_key
        .iter()
        .map(|id| KeyId::try_from(id.as_str()).map_err(|e| Failure(format!("--own-key: {e}"))))
        .collect::<Result<_, _>>()?;
    let files: Vec<FileReport> = args
        .files
        .iter()
        .map(|file| {
            let path = file.to_string_lossy().into_owned();
            if let Some(kind) = Kind::of_name(&path) {
                return document::verify(file, kind, &trust, &now);
            }
            match examine(file, &trust, &own, &now) {
                Ok(checked) => origin(path, checked, &issuers, &now),
                Err(reason) => FileReport::unverifiable(path, reason),
            }
        })
        .collect();
    let report = FilesReport::new(files);
    match global.report {
        Rendering::Human => output::print(&human_verify(&report.files)),
        format => output::print(&report::render(
            &Report::Files(&report),
            format,
            &Style::default(),
        )?),
    }
    Ok(report.exit_status())
}

/// The part of a check that concerns the file as a container, its digests and its signature.
fn origin(path: String, checked: Checked, issuers: &IssuerKeys, now: &Timestamp) -> FileReport {
    let levels = project::levels_of_checked(&checked, issuers, now);
    let levels = match (&checked.cartridge, levels) {
        (Some(cartridge), Some(levels)) => project::proofs(cartridge, levels),
        _ => None,
    };
    let findings: Vec<Finding> = checked
        .findings
        .into_iter()
        .filter(|f| {
            matches!(
                f.family,
                Family::Container | Family::Path | Family::Integrity | Family::Signature
            )
        })
        .collect();
    let (trust, summary) = match checked.evidence {
        Some(evidence) => (Some(evidence.trust), evidence.summary),
        None => (None, "the file cannot be read as a cartridge".to_owned()),
    };
    let rejected = report::has_error(&findings) || trust.is_none_or(|t| t < Trust::Portable);
    FileReport {
        path,
        verdict: if rejected {
            Verdict::Reject
        } else {
            Verdict::Accept
        },
        trust: trust.map(Trust::as_str),
        status: trust.map_or("invalid", Trust::status),
        clean: checked.clean,
        findings,
        levels,
        summary,
    }
}

fn human_verify(files: &[FileReport]) -> String {
    let mut out = String::new();
    for file in files {
        if files.len() > 1 {
            let _ = writeln!(out, "{}:", escape(&file.path));
        }
        let trust = file.trust.unwrap_or("unreadable");
        let _ = if file.verdict == Verdict::Unverifiable {
            writeln!(out, "status: UNVERIFIABLE  — {}", escape(&file.summary))
        } else {
            writeln!(
                out,
                "status: {} / {trust}  — {}",
                file.status,
                escape(&file.summary)
            )
        };
        if let Some(proofs) = &file.levels {
            out.push_str(&report::human_proofs(proofs));
        }
        if !file.findings.is_empty() {
            let _ = writeln!(
                out,
                "\n{}",
                report::human_findings(&file.findings, &environment::style())
            );
        }
    }
    out
}

/// The package spec, and whether the package conforms.
pub fn spec(args: FileArgs, global: Global) -> Result<u8, Failure> {
    let now = environment::now()?;
    let mut status = 0;
    let mut values = Vec::new();
    for file in &args.files {
        let path = file.to_string_lossy().into_owned();
        match examine(file, &TrustRegistry::default(), &[], &now) {
            Err(reason) => {
                status = report::FAILED;
                values.push(
                    json!({"path": path, "verdict": Verdict::Unverifiable, "reason": reason}),
                );
                if global.format == Format::Human {
                    output::error(&format!("{}: {}\n", escape(&path), escape(&reason)));
                }
            }
            Ok(checked) => {
                if !checked.clean {
                    status = status.max(REJECTED);
                }
                match global.format {
                    Format::Json => values.push(spec_value(&path, &checked)),
                    Format::Human => {
                        if args.files.len() > 1 {
                            output::print(&format!("{}:\n", escape(&path)));
                        }
                        output::print(&human_spec(&checked));
                    }
                }
            }
        }
    }
    if global.format == Format::Json {
        output::json(&json!({"version": 1, "files": values}))?;
    }
    Ok(status)
}

/// The findings that decide whether a package is clean, and the warnings beside them.
fn package_findings(checked: &Checked) -> Vec<Finding> {
    let concerns = |f: &&Finding| {
        !matches!(f.family, Family::Signature | Family::Integrity)
            || f.code == "integrity-duplicate-row"
    };
    checked.findings.iter().filter(concerns).cloned().collect()
}

fn package_spec(checked: &Checked) -> Option<&Json> {
    checked
        .documents
        .as_ref()?
        .package_spec
        .as_ref()?
        .as_ref()
        .ok()
}

fn live_counts(checked: &Checked) -> std::collections::BTreeMap<&'static str, usize> {
    match (&checked.documents, &checked.cartridge) {
        (Some(documents), Some(cartridge)) => documents.live_counts(cartridge),
        _ => std::collections::BTreeMap::new(),
    }
}

fn spec_value(path: &str, checked: &Checked) -> Json {
    json!({
        "path": path,
        "clean": checked.clean,
        "packageSpec": package_spec(checked),
        "counts": live_counts(checked),
        "findings": package_findings(checked),
    })
}

fn human_spec(checked: &Checked) -> String {
    let mut out = String::new();
    if let Some(spec) = package_spec(checked) {
        let text = |value: &Json, name: &str| {
            escape(value.get(name).and_then(Json::as_str).unwrap_or("?"))
        };
        let engine = spec
            .get("embeddingEngine")
            .map_or_else(|| "?".to_owned(), ToString::to_string);
        let _ = writeln!(
            out,
            "package-spec: {}  engine={}",
            text(spec, "schemaVersion"),
            escape(&engine)
        );
        let _ = writeln!(out, "artifacts:");
        let counts = live_counts(checked);
        for artifact in spec
            .get("artifacts")
            .and_then(Json::as_array)
            .into_iter()
            .flatten()
            .take(64)
        {
            let mark = if artifact.get("required") == Some(&Json::Bool(true)) {
                '*'
            } else {
                ' '
            };
            let role = text(artifact, "role");
            let count = counts
                .get(role.as_str())
                .map_or_else(String::new, |count| format!(" ({count})"));
            let (schema, kind) = (text(artifact, "schema"), text(artifact, "kind"));
            let _ = writeln!(out, "  {mark} {role:<16} {schema:<28} {kind}{count}");
        }
        out.push('\n');
    }
    let findings = package_findings(checked);
    if checked.clean {
        let _ = writeln!(out, "validation: CLEAN ✓");
    } else {
        let errors = findings
            .iter()
            .filter(|f| f.severity == Severity::Error)
            .count();
        let _ = writeln!(out, "validation: NOT CLEAN ✗ ({errors} issues)");
    }
    if !findings.is_empty() {
        let _ = writeln!(
            out,
            "\n{}",
            report::human_findings(&findings, &environment::style())
        );
    }
    out
}

/// What is inside.
pub fn inspect(args: InspectArgs, global: Global) -> Result<u8, Failure> {
    let now = environment::now()?;
    let issuers = args.issuers.load()?.unwrap_or_default();
    let files = args.files.iter();
    let shown = files.map(|file| inspect_file(file, &issuers, &now));
    document::show(shown.collect(), global)
}

fn inspect_file(file: &Path, issuers: &IssuerKeys, now: &Timestamp) -> Shown {
    let path = file.to_string_lossy().into_owned();
    if let Some(kind) = Kind::of_name(&path) {
        return document::inspect(file, kind, now);
    }
    match examine(file, &TrustRegistry::default(), &[], now) {
        Ok(checked) if checked.cartridge.is_some() => {
            let levels = project::levels_of_checked(&checked, issuers, now);
            let value = inspect_value(&path, &checked, &levels.unwrap_or_default());
            Shown {
                text: human_inspect(&value),
                value,
                status: ACCEPTED,
            }
        }
        Ok(checked) => Shown {
            text: report::human_findings(&checked.findings, &environment::style()),
            value: json!({"path": path, "verdict": Verdict::Reject, "findings": checked.findings}),
            status: REJECTED,
        },
        Err(reason) => Shown {
            text: format!("{}: {}\n", escape(&path), escape(&reason)),
            value: json!({"path": path, "verdict": Verdict::Unverifiable, "reason": reason}),
            status: report::FAILED,
        },
    }
}

fn inspect_value(path: &str, checked: &Checked, levels: &Levels) -> Json {
    let Some(cartridge) = &checked.cartridge else {
        return Json::Null;
    };
    let evidence = checked.evidence.as_ref();
    let signed = evidence.and_then(|e| e.signed.as_ref());
    let memory = cartridge.memory.iter().map(|row| {
        let payload = strict::parse(row.payload.as_bytes()).unwrap_or_default();
        json!({"id": row.id, "zone": row.zone.as_str(), "title": payload.get("title"), "tags": payload.get("tags")})
    });
    let capabilities = cartridge.capabilities.iter().map(|row| {
        let record = strict::parse(row.json.as_bytes()).unwrap_or_default();
        json!({"id": row.id, "taskType": record.get("taskType"), "stack": record.get("stack"), "domain": record.get("domain"),
            "verificationState": project::capability(&row.json, levels).map(|claim| claim.verification_state)})
    });
    let attestations = cartridge.attestations.iter().map(|row| {
        let weighed = levels.credentials.iter().find(|c| c.att_id == row.att_id);
        json!({"id": row.att_id, "type": row.kind, "verificationState": weighed.map(|c| c.state)})
    });
    json!({
        "path": path,
        "bytes": cartridge.bytes,
        "sha256": cartridge.sha256,
        "trust": evidence.map(|e| e.trust),
        "summary": evidence.map(|e| &e.summary),
        "clean": checked.clean,
        "romHash": evidence.map(|e| e.manifest),
        "keyid": signed.map(|s| s.key.id()),
        "signedAt": signed.map(|s| &s.signed_at),
        "metadata": cartridge.meta,
        "files": cartridge.files.iter().map(|f| json!({"name": f.name, "bytes": f.data.len(), "sha256": Digest::of(&f.data)})).collect::<Vec<_>>(),
        "memory": memory.collect::<Vec<_>>(),
        "capabilities": capabilities.collect::<Vec<_>>(),
        "attestations": attestations.collect::<Vec<_>>(),
        "level": project::proven_level(levels),
        "levelClaim": project::level_claim(levels),
        "vectors": {"rom": cartridge.vectors.rom, "save": cartridge.vectors.save, "opaque": cartridge.vectors.opaque},
        "objects": cartridge.objects.len(),
    })
}

fn human_inspect(value: &Json) -> String {
    let mut out = String::new();
    let shown = |value: &Json| match value {
        Json::String(text) => escape(text),
        Json::Null => "-".to_owned(),
        other => escape(&other.to_string()),
    };
    for name in [
        "path", "bytes", "sha256", "trust", "summary", "clean", "romHash", "keyid", "signedAt",
    ] {
        let _ = writeln!(
            out,
            "{name:<10} {}",
            value.get(name).map_or_else(|| "-".to_owned(), shown)
        );
    }
    // Proven, and claimed with the state of the claim.
    for (label, name) in [("level", "level"), ("claims", "levelClaim")] {
        let part = |member: &str| value.get(name)?.get(member).filter(|v| !v.is_null());
        let parts: Vec<String> = ["acxLevel", "careerTier", "verificationState"]
            .into_iter()
            .filter_map(part)
            .map(shown)
            .collect();
        let parts = if parts.is_empty() {
            "-".to_owned()
        } else {
            parts.join(" ")
        };
        let _ = writeln!(out, "{label:<10} {parts}");
    }
    let _ = writeln!(out, "\nmetadata");
    for (key, text) in value
        .get("metadata")
        .and_then(Json::as_object)
        .into_iter()
        .flatten()
    {
        let _ = writeln!(out, "  {:<26} {}", escape(key), shown(text));
    }
    for (section, columns) in [
        ("files", &["bytes", "name"][..]),
        ("memory", &["zone", "id", "title"][..]),
        (
            "capabilities",
            &["id", "domain", "taskType", "stack", "verificationState"][..],
        ),
        ("attestations", &["type", "id", "verificationState"][..]),
    ] {
        let items = value
            .get(section)
            .and_then(Json::as_array)
            .map_or(&[][..], Vec::as_slice);
        let _ = writeln!(out, "\n{section} ({})", items.len());
        for item in items {
            let line: Vec<String> = columns
                .iter()
                .map(|c| item.get(*c).map_or_else(String::new, shown))
                .collect();
            let _ = writeln!(out, "  {}", line.join("  "));
        }
    }
    out
}
