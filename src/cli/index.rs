//! `acx verify-index`

use std::fmt::Write as _;
use std::path::PathBuf;

use acx_registry::attest::PublicKey;
use acx_registry::discover::INDEX;
use acx_registry::disk;
use acx_registry::model::{ArtifactType, KeyId, RegistryPath};
use acx_registry::pipeline::{self, IndexReport, Pins, Present};
use acx_registry::publish::{KeySource, Published};
use acx_registry::registry::{self, POLICY_FILE};
use acx_registry::report::{REJECTED, escape};
use serde_json::json;

use super::{Failure, Format, Global, environment, output};

/// Verify a registry's index by a key you know, and the artifacts that are present
#[derive(clap::Args)]
pub struct Args {
    /// The registry, or its index.json
    #[arg(default_value = ".", value_name = "REGISTRY|INDEX.JSON")]
    place: PathBuf,
    /// The key id that must have signed; may be given again
    #[arg(long, value_name = "KEYID")]
    keyid: Vec<String>,
    /// The public key that must have signed, an SPKI PEM file; may be given again
    #[arg(long, value_name = "FILE")]
    pubkey: Vec<PathBuf>,
    /// The lowest sequence that is not an old index served again
    #[arg(long, value_name = "N")]
    min_sequence: Option<u64>,
    /// Threads; 0 = one a processor
    #[arg(long, short, default_value_t = 0, value_name = "N", value_parser = super::threads())]
    jobs: usize,
}

pub fn run(args: Args, global: Global) -> Result<u8, Failure> {
    let (report, pins) = verify(&args)?;
    match global.format {
        Format::Human => output::print(&human(&report, &pins)),
        Format::Json => output::json(&value(&report, &pins))?,
    }
    Ok(report.exit_status())
}

/// Verifies the index, and says which keys it was held against.
pub fn verify(args: &Args) -> Result<(IndexReport, Pins), Failure> {
    let now = environment::now()?;
    let file = if args.place.is_dir() {
        let root = registry::find_root(&args.place);
        // A mirror may hold the index alone.
        root.map_or_else(|_| args.place.join(INDEX), |root| root.join(INDEX))
    } else {
        args.place.clone()
    };
    let mut keys = Vec::new();
    for id in &args.keyid {
        keys.push(KeyId::try_from(id.as_str()).map_err(|e| Failure(format!("--keyid: {e}")))?);
    }
    for path in &args.pubkey {
        let bytes =
            disk::read(path, 4096).map_err(|e| Failure(format!("{}: {e}", path.display())))?;
        let key = std::str::from_utf8(&bytes)
            .map_err(|_| Failure(format!("{}: expected PEM text", path.display())))
            .and_then(|pem| {
                PublicKey::from_pem(pem).map_err(|e| Failure(format!("{}: {e}", path.display())))
            })?;
        keys.push(key.id().clone());
    }
    let policy_file = file.with_file_name(POLICY_FILE);
    let policy = match disk::read(&policy_file, acx_registry::policy::Policy::MAX_BYTES as u64) {
        Ok(bytes) => Some(registry::parse_policy(&bytes)?),
        Err(e) if e.is_absent() => None,
        Err(e) => return Err(Failure(format!("{}: {e}", policy_file.display()))),
    };
    let pins = if !keys.is_empty() {
        Pins {
            keys,
            source: KeySource::Consumer,
        }
    } else {
        match policy
            .as_ref()
            .map(|p| p.index_keys.clone())
            .filter(|keys| !keys.is_empty())
        {
            Some(keys) => Pins {
                keys,
                source: KeySource::OwnPolicy,
            },
            None => Pins {
                keys,
                source: KeySource::Nobody,
            },
        }
    };
    let registry_id = policy.as_ref().map(|p| p.registry_id.as_str());
    let report = pipeline::verify_index(
        &file,
        &pins,
        registry_id,
        args.min_sequence,
        &now,
        args.jobs,
    )?;
    Ok((report, pins))
}

fn word(present: &Present) -> &'static str {
    match present {
        Present::Verified => "verified",
        Present::Absent => "absent",
        Present::Wrong(_) => "wrong",
    }
}

/// Each artifact that the index lists, with what became of it.
fn listed(report: &IndexReport) -> impl Iterator<Item = (&Published, &Present)> {
    let published = report.index.iter().flat_map(|index| &index.published);
    published.zip(report.artifacts.iter().map(|(_, present)| present))
}

/// Those of them that are of a kind.
fn listed_of(
    report: &IndexReport,
    kind: ArtifactType,
) -> impl Iterator<Item = (&Published, &Present)> {
    let of_kind = move |published: &Published| {
        let path = RegistryPath::try_from(published.path.as_str());
        path.is_ok_and(|path| ArtifactType::of_path(&path) == Some(kind))
    };
    listed(report).filter(move |(published, _)| of_kind(published))
}

/// Those of them that are there.
fn at_hand(report: &IndexReport) -> impl Iterator<Item = (&Published, &Present)> {
    listed(report).filter(|(_, present)| **present != Present::Absent)
}

/// Where the keys come from, for programs.
pub fn source(pins: &Pins) -> &'static str {
    match pins.source {
        KeySource::Consumer => "given",
        KeySource::OwnPolicy => "self-attested",
        KeySource::Nobody => "none",
    }
}

/// What the signer's key was held against, for people.
pub fn held(pins: &Pins, signer: &KeyId) -> &'static str {
    match pins.source {
        KeySource::Nobody => "not held against any key",
        _ if !pins.keys.contains(signer) => "not a key that it is held against",
        KeySource::Consumer => "the key that you gave",
        KeySource::OwnPolicy => "self-attested: the key that the registry's own policy pins",
    }
}

/// The artifacts of a kind, in a word that stands beside others.
fn noun(kind: ArtifactType) -> &'static str {
    match kind {
        ArtifactType::Agent => "cartridges",
        ArtifactType::Workflow => "workflows",
        ArtifactType::AgentGraph => "graphs",
    }
}

fn counted(all: &[&str]) -> String {
    let count = |wanted: &str| all.iter().filter(|word| **word == wanted).count();
    format!(
        "{} listed, {} verified, {} absent, {} wrong",
        all.len(),
        count("verified"),
        count("absent"),
        count("wrong")
    )
}

pub fn human(report: &IndexReport, pins: &Pins) -> String {
    let mut out = String::new();
    if let Some(index) = &report.index {
        let signing = &index.signing;
        let held = held(pins, &index.integrity.keyid);
        let _ = writeln!(out, "registry:   {}", escape(&signing.registry_id));
        let _ = writeln!(out, "signer:     {} ({held})", index.integrity.keyid);
        let _ = writeln!(out, "sequence:   {}", signing.sequence);
        let _ = writeln!(out, "signed at:  {}", signing.signed_at);
        let _ = writeln!(out, "digest:     {}", index.integrity.digest);
        for kind in ArtifactType::ALL {
            let all: Vec<&str> = listed_of(report, kind).map(|(_, p)| word(p)).collect();
            if kind == ArtifactType::Agent || !all.is_empty() {
                let noun = format!("{}:", noun(kind));
                let _ = writeln!(out, "{noun:<11} {}", counted(&all));
            }
        }
    }
    if report.index.as_ref().is_some_and(|i| i.shards.is_some()) {
        let all: Vec<&str> = report.shards.iter().map(|(_, p)| word(p)).collect();
        let _ = writeln!(out, "shards:     {}", counted(&all));
    }
    if !report.datasets.is_empty() {
        let all: Vec<&str> = report.datasets.iter().map(|(_, p)| word(p)).collect();
        let _ = writeln!(out, "datasets:   {}", counted(&all));
    }
    for (shard, present) in &report.shards {
        let _ = writeln!(
            out,
            "{:<11} {} {}",
            format!("{}:", word(present)),
            shard.sha256,
            escape(&shard.path)
        );
    }
    for (published, present) in at_hand(report) {
        let _ = writeln!(
            out,
            "{:<11} {} {}",
            format!("{}:", word(present)),
            published.digest,
            escape(&published.path)
        );
    }
    for problem in &report.problems {
        let _ = writeln!(out, "problem:    {}", escape(problem));
    }
    let verdict = if report.exit_status() == REJECTED {
        "NOT VERIFIED"
    } else {
        "verified"
    };
    let _ = writeln!(out, "{}: {verdict}", escape(&report.file.to_string_lossy()));
    out
}

fn shards(report: &IndexReport) -> Vec<serde_json::Value> {
    let shards = report.shards.iter().map(|(shard, present)| {
        json!({
            "publisher": shard.publisher,
            "path": shard.path,
            "sha256": shard.sha256,
            "state": word(present),
        })
    });
    shards.collect()
}

fn value(report: &IndexReport, pins: &Pins) -> serde_json::Value {
    let files = |kind| {
        let of_kind = listed_of(report, kind);
        let files = of_kind.map(|(published, present)| {
            json!({
                "path": published.path,
                "digest": published.digest,
                "sha256": published.sha256,
                "state": word(present),
            })
        });
        files.collect::<Vec<_>>()
    };
    json!({
        "version": 1,
        "index": report.file.to_string_lossy(),
        "verified": report.problems.is_empty(),
        "keySource": source(pins),
        "registry": report.index.as_ref().map(|i| &i.signing.registry_id),
        "keyid": report.index.as_ref().map(|i| &i.integrity.keyid),
        "sequence": report.index.as_ref().map(|i| i.signing.sequence),
        "previousDigest": report.index.as_ref().map(|i| i.signing.previous_digest),
        "signedAt": report.index.as_ref().map(|i| &i.signing.signed_at),
        "digest": report.index.as_ref().map(|i| i.integrity.digest),
        "shards": report.index.as_ref().and_then(|i| i.shards.as_ref()).map(|_| shards(report)),
        "cartridges": files(ArtifactType::Agent),
        "workflows": files(ArtifactType::Workflow),
        "agentGraphs": files(ArtifactType::AgentGraph),
        "datasets": report.datasets.iter().map(|(path, present)| json!({"path": path, "state": word(present)})).collect::<Vec<_>>(),
        "problems": report.problems,
    })
}
