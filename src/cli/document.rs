//! `acx workflow` and `acx graph`: the two signed JSON documents, for those who write them.

use std::path::{Path, PathBuf};
use std::time::Instant;

use acx_registry::disk;
use acx_registry::document::{self, Kind, MAX_BYTES, Settings};
use acx_registry::model::PublisherId;
use acx_registry::policy::Policy;
use acx_registry::report::{ACCEPTED, FileReport, FilesReport, REJECTED, Report, escape};
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
