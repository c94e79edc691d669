//! `acx workflow` and `acx graph`: the two signed JSON documents, for those who write them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use acx_registry::disk;
use acx_registry::document::{self, DocumentTrust, Kind, MAX_BYTES, Settings};
use acx_registry::finding::Family;
use acx_registry::model::{Digest, Json, PublisherId, Timestamp};
use acx_registry::policy::{Policy, TrustRegistry};
use acx_registry::project;
use acx_registry::report::{
    self, ACCEPTED, FAILED, FileReport, FilesReport, REJECTED, Report, Verdict, escape,
};
use serde_json::json;

use super::report::{ReportArgs, publish};
use super::{Failure, Format, Global, environment, output, trust_registry};

#[derive(clap::Subcommand)]
pub enum Command {
    /// Say what is wrong with documents
    Lint {
        /// The documents
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Ask for all that a registry asks for: the shared members, a signature, no secrets
        #[arg(long)]
        publish: bool,
        /// The publishers' keys that you trust
        #[arg(long, value_name = "FILE")]
        trust_registry: Option<PathBuf>,
        #[command(flatten)]
        report: ReportArgs,
    },
    /// Sign a document, if a registry would take it
    Sign {
        /// The document
        file: PathBuf,
        /// Who publishes, such as `io.github.alice`
        #[arg(long, value_name = "ID")]
        publisher: String,
        /// Your signing key: an Ed25519 PKCS#8 PEM file. Otherwise `<publisher>.pem` in the key folder (ACX_KEY_DIR, or
        /// acx/keys in your configuration folder)
        #[arg(long, value_name = "PEM")]
        key: Option<PathBuf>,
        /// Where the signed document goes; otherwise into the file itself
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Show what is inside documents
    Inspect {
        /// The documents
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Print the digest that a signature covers
    Digest {
        /// The document
        file: PathBuf,
    },
}

pub fn run(command: Command, kind: Kind, global: Global) -> Result<u8, Failure> {
    let start = Instant::now();
    let now = environment::now()?;
    match command {
        Command::Lint {
            files,
            publish: publication,
            trust_registry: trust,
            report,
        } => {
            report.prepare()?;
            let trust = trust_registry(trust.as_deref(), &now)?;
            let policy = Policy::default();
            let settings = Settings {
                policy: &policy,
                trust: &trust,
                now: &now,
                publication,
            };
            let files = files
                .iter()
                .map(|file| {
                    let path = file.to_string_lossy().into_owned();
                    let judgement = match disk::read(file, MAX_BYTES as u64) {
                        Ok(bytes) => document::judge(kind, &path, None, &bytes, settings),
                        Err(disk::ReadError::TooLarge(bytes)) => {
                            document::too_large(&path, bytes, MAX_BYTES as u64)
                        }
                        Err(e) => {
                            return FileReport::unverifiable(path, format!("cannot be read: {e}"));
                        }
                    };
                    FileReport::document(path, judgement, !publication)
                })
                .collect();
            let files = FilesReport::new(files);
            publish(&Report::Files(&files), &report, "", start, global)?;
            Ok(files.exit_status())
        }
        Command::Sign {
            file,
            publisher,
            key,
            out,
        } => {
            let publisher = PublisherId::try_from(publisher.as_str())
                .map_err(|e| Failure(format!("--publisher: {e}")))?;
            let key = key
                .or_else(|| environment::key_file(publisher.as_str()))
                .ok_or_else(|| {
                    Failure("there is no key folder: set ACX_KEY_DIR or HOME, or give --key".into())
                })?;
            let key = environment::load_key(&key)?;
            let (shown, bytes) = read(&file)?;
            let out = out.unwrap_or(file);
            let signed = match document::sign(kind, &shown, &bytes, &publisher, &key, &now) {
                Ok(signed) => signed,
                Err(judgement) => {
                    let files = vec![FileReport::document(shown, judgement, false)];
                    let files = FilesReport::new(files);
                    publish(
                        &Report::Files(&files),
                        &ReportArgs::none(),
                        "",
                        start,
                        global,
                    )?;
                    return Ok(REJECTED);
                }
            };
            disk::replace(&out, &signed).map_err(|e| Failure(format!("{}: {e}", out.display())))?;
            let out = out.to_string_lossy();
            match global.format {
                Format::Human => output::print(&format!(
                    "signed: {}\nkeyid:  {}\n",
                    escape(&out),
                    key.public().id()
                )),
                Format::Json => {
                    output::json(&json!({"version": 1, "file": out, "keyid": key.public().id()}))?;
                }
            }
            Ok(ACCEPTED)
        }
        Command::Inspect { files } => {
            let shown: Vec<Shown> = files.iter().map(|file| inspect(file, kind, &now)).collect();
            show(shown, global)
        }
        Command::Digest { file } => {
            let (shown, bytes) = read(&file)?;
            let digest = document::digest(&bytes)
                .map_err(|e| Failure(format!("{}: {e}", escape(&shown))))?;
            match global.format {
                Format::Human => output::print(&format!("{digest}\n")),
                Format::Json => {
                    output::json(&json!({"version": 1, "file": shown, "digest": digest}))?;
                }
            }
            Ok(ACCEPTED)
        }
    }
}

fn read(file: &Path) -> Result<(String, Vec<u8>), Failure> {
    let shown = file.to_string_lossy().into_owned();
    let bytes = disk::read(file, MAX_BYTES as u64)
        .map_err(|e| Failure(format!("{}: {e}", escape(&shown))))?;
    Ok((shown, bytes))
}

/// What `inspect` has to say of one file.
pub struct Shown {
    /// For programs.
    pub value: Json,
    /// For people.
    pub text: String,
    /// 0, 1 or 2.
    pub status: u8,
}

/// Prints what is inside of files, in the order of the arguments; the exit status.
pub fn show(files: Vec<Shown>, global: Global) -> Result<u8, Failure> {
    let status = files
        .iter()
        .map(|shown| shown.status)
        .max()
        .unwrap_or(ACCEPTED);
    match global.format {
        Format::Human => {
            for shown in &files {
                if shown.status == FAILED {
                    output::error(&shown.text);
                } else {
                    output::print(&shown.text);
                }
            }
        }
        Format::Json => {
            let values: Vec<Json> = files.into_iter().map(|shown| shown.value).collect();
            output::json(&json!({"version": 1, "files": values}))?;
        }
    }
    Ok(status)
}

/// What a document holds, whoever signed it and whether or not a registry would take it.
pub fn inspect(file: &Path, kind: Kind, now: &Timestamp) -> Shown {
    let path = file.to_string_lossy().into_owned();
    let (policy, trust) = (Policy::default(), TrustRegistry::default());
    let settings = Settings {
        policy: &policy,
        trust: &trust,
        now,
        publication: true,
    };
    let bytes = match disk::read(file, MAX_BYTES as u64) {
        Ok(bytes) => bytes,
        Err(e) => {
            let reason = format!("cannot be read: {e}");
            return Shown {
                text: format!("{}: {}\n", escape(&path), escape(&reason)),
                value: json!({"path": path, "verdict": Verdict::Unverifiable, "reason": reason}),
                status: FAILED,
            };
        }
    };
    let judgement = document::judge(kind, &path, None, &bytes, settings);
    let Some(content) = document::content(&bytes) else {
        return Shown {
            text: report::human_findings(&judgement.findings, &environment::style()),
            value: json!({"path": path, "verdict": Verdict::Reject, "findings": judgement.findings}),
            status: REJECTED,
        };
    };
    let entry = judgement
        .accepted
        .as_deref()
        .map(|accepted| project::document(&path, accepted).own);
    let member = |pointer: &str| content.pointer(pointer).cloned().unwrap_or_default();
    let value = json!({
        "path": path,
        "artifactType": kind.artifact(),
        "bytes": bytes.len(),
        "sha256": Digest::of(&bytes),
        "publisher": member("/integrity/publisherId"),
        "id": member("/id"),
        "version": member("/version"),
        "name": member("/name"),
        "description": member("/description"),
        "license": member("/license"),
        "tags": member("/tags"),
        "trust": judgement.trust.map(|trust| trust.as_str()),
        "status": judgement.trust.map(|trust| trust.status()),
        "clean": judgement.accepted.is_some(),
        "digest": judgement.digest,
        "keyid": member("/integrity/keyid"),
        "signedAt": member("/integrity/signedAt"),
        "entry": entry,
    });
    Shown {
        text: human(kind, &value, &content),
        value,
        status: ACCEPTED,
    }
}

fn human(kind: Kind, value: &Json, content: &Json) -> String {
    let shown = |value: Option<&Json>| match value {
        Some(Json::String(text)) => escape(text),
        None | Some(Json::Null) => "-".to_owned(),
        Some(other) => escape(&other.to_string()),
    };
    let mut out = String::new();
    for (name, value) in value.as_object().into_iter().flatten() {
        if name != "entry" {
            let _ = writeln!(out, "{name:<10} {}", shown(Some(value)));
        }
    }
    let sections: &[(&str, &[&str])] = match kind {
        Kind::Workflow => &[
            ("participants", &["bind", "alias", "romDigest"]),
            ("nodes", &["type", "id", "agent"]),
            ("edges", &["from", "to"]),
        ],
        Kind::AgentGraph => &[
            ("actors", &["kind", "id", "description"]),
            ("knowledge", &["kind", "id", "stewards"]),
            ("routes", &["intent", "id", "from", "to"]),
            ("loops", &["kind", "id", "workflowRef"]),
        ],
    };
    for (section, columns) in sections {
        let items = content.get(*section).and_then(Json::as_array);
        let items = items.map_or(&[][..], Vec::as_slice);
        let _ = writeln!(out, "\n{section} ({})", items.len());
        for item in items {
            let line: Vec<String> = columns
                .iter()
                .filter_map(|column| item.get(*column))
                .map(|value| shown(Some(value)))
                .collect();
            let _ = writeln!(out, "  {}", line.join("  "));
        }
    }
    out.push('\n');
    out
}

/// Who signed a document, and whether it is what they signed.
pub fn verify(file: &Path, kind: Kind, trust: &TrustRegistry, now: &Timestamp) -> FileReport {
    let path = file.to_string_lossy().into_owned();
    let policy = Policy::default();
    let settings = Settings {
        policy: &policy,
        trust,
        now,
        publication: true,
    };
    let judgement = match disk::read(file, MAX_BYTES as u64) {
        Ok(bytes) => document::judge(kind, &path, None, &bytes, settings),
        Err(disk::ReadError::TooLarge(bytes)) => {
            document::too_large(&path, bytes, MAX_BYTES as u64)
        }
        Err(e) => return FileReport::unverifiable(path, format!("cannot be read: {e}")),
    };
    let trusted = judgement.trust;
    let mut report = FileReport::document(path, judgement, false);
    // Whether it is fit for a registry is for `check` to say.
    report
        .findings
        .retain(|f| f.family == Family::Signature || f.code == "document-json");
    let holds = trusted.is_some_and(|trust| trust >= DocumentTrust::PortableWarning);
    if holds && !report::has_error(&report.findings) {
        report.verdict = Verdict::Accept;
    }
    report
}
