//! `acx export`

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use acx_registry::attest::PrivateKey;
use acx_registry::author::codebase::Salt;
use acx_registry::author::{self, ExportError, ExportOptions, Exported, Package, Problem};
use acx_registry::disk;
use acx_registry::model::{ArtifactId, PublisherId, Version};
use acx_registry::policy::Policy;
use acx_registry::report::{self, REJECTED, Style, escape};
use serde_json::{Value, json};

use super::{Failure, Format, Global, environment, output};

/// Make a signed cartridge of an agent package folder
#[derive(clap::Args)]
pub struct Args {
    /// The package folder: manifest.json, memory-records.json, knowledge files, skills/
    dir: PathBuf,
    /// The cartridge, which must not be there yet
    out: PathBuf,
    /// Who publishes, such as `io.github.alice`
    #[arg(long, value_name = "ID")]
    publisher: String,
    /// Your signing key: an Ed25519 PKCS#8 PEM file. Otherwise `<publisher>.pem` in the key folder (ACX_KEY_DIR, or
    /// acx/keys in your configuration folder), made there when there is none
    #[arg(long, value_name = "PEM")]
    key: Option<PathBuf>,
    /// The cartridge's id, in place of the manifest's
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// The version, in place of the manifest's
    #[arg(long, value_name = "SEMVER")]
    version: Option<String>,
    /// Take the records that were learned in a repository, too, into the SAVE zone; a public registry refuses them
    #[arg(long)]
    include_field_learned: bool,
    /// The secret salt, 32 bytes or more, by which codebases are named in field-learned records
    #[arg(long, value_name = "FILE", requires = "include_field_learned")]
    salt: Option<PathBuf>,
    /// Write nothing; say what would be in the cartridge
    #[arg(long)]
    dry_run: bool,
}

/// Problems and hits that people are shown; JSON has them all.
const SHOWN: usize = 50;

pub fn run(args: Args, global: Global) -> Result<u8, Failure> {
    let now = environment::now()?;
    let publisher = PublisherId::try_from(args.publisher.as_str())
        .map_err(|e| Failure(format!("--publisher: {e}")))?;
    let id = args.id.as_deref().map(ArtifactId::try_from).transpose();
    let id = id.map_err(|e| Failure(format!("--id: {e}")))?;
    let version = args.version.as_deref().map(Version::try_from).transpose();
    let version = version.map_err(|e| Failure(format!("--version: {e}")))?;
    let shown_out = escape(&args.out.to_string_lossy());
    if !args.dry_run && args.out.symlink_metadata().is_ok() {
        return Err(Failure(format!(
            "{shown_out}: is there already; remove it, or name another file"
        )));
    }
    let salt = args.salt.as_deref().map(read_salt).transpose()?;
    let package = match Package::read(&args.dir, &Policy::default().limits) {
        Ok(package) => package,
        Err(problem) if problem.file.is_empty() => {
            let folder = escape(&args.dir.to_string_lossy());
            return Err(Failure(format!("{folder}: {}", problem.message)));
        }
        Err(problem) => return refused(&ExportError::Package(vec![problem]), global),
    };
    // Signs nothing that lasts: a dry run, and the trial before a key is made.
    let throwaway = PrivateKey::from_seed(&[0; 32])?;
    let mut options = ExportOptions {
        publisher: &publisher,
        key: &throwaway,
        now: &now,
        id: id.as_ref(),
        version: version.as_ref(),
        include_field_learned: args.include_field_learned,
        salt: salt.as_ref(),
    };
    let key = match existing_key(&args, &publisher)? {
        None if args.dry_run => None,
        None => match author::export(&package, &options) {
            Ok(_) => Some(new_key(&publisher)?),
            Err(error) => return refused(&error, global),
        },
        found => found,
    };
    if let Some(key) = &key {
        options.key = key;
    }
    let exported = match author::export(&package, &options) {
        Ok(exported) => exported,
        Err(error) => return refused(&error, global),
    };
    if !args.dry_run {
        disk::create(&args.out, &exported.bytes)
            .map_err(|e| Failure(format!("{shown_out}: cannot be written: {e}")))?;
    }
    match global.format {
        Format::Json => output::json(&value(&exported, &args))?,
        Format::Human => output::print(&human(&exported, &args)),
    }
    Ok(0)
}

fn read_salt(file: &Path) -> Result<Salt, Failure> {
    let shown = escape(&file.to_string_lossy());
    environment::load_salt(file)?
        .ok_or_else(|| Failure(format!("--salt: {shown}: there is no such file")))
}

/// The key of `--key` or of the key folder.
fn existing_key(args: &Args, publisher: &PublisherId) -> Result<Option<PrivateKey>, Failure> {
    let file = match &args.key {
        Some(file) => Some(file.clone()),
        None => {
            environment::key_file(publisher.as_str()).filter(|file| file.symlink_metadata().is_ok())
        }
    };
    file.map(|file| environment::load_key(&file)).transpose()
}

/// Makes the publisher's key in the key folder.
fn new_key(publisher: &PublisherId) -> Result<PrivateKey, Failure> {
    let file = environment::key_file(publisher.as_str()).ok_or_else(|| {
        Failure("there is no key folder: set ACX_KEY_DIR or HOME, or give --key".into())
    })?;
    if environment::is_ci() {
        return Err(Failure(format!(
            "there is no signing key, and none is made in CI: give --key, or put it at {}",
            escape(&file.to_string_lossy())
        )));
    }
    if let Some(tree) = environment::work_tree(&file) {
        output::error(&format!(
            "warning: the new key is in a git work tree ({}); never commit it\n",
            escape(&tree.to_string_lossy())
        ));
    }
    let key = environment::create_key(&file)?;
    output::error(&format!(
        "NEW SIGNING KEY for {publisher}: {}\n  written to {} — keep it safe: your next versions are to be signed by it\n",
        key.public().id(),
        escape(&file.to_string_lossy())
    ));
    Ok(key)
}

/// Says why nothing was written.
fn refused(error: &ExportError, global: Global) -> Result<u8, Failure> {
    if let ExportError::Failed(message) = error {
        return Err(Failure(message.clone()));
    }
    if global.format == Format::Json {
        output::json(&match error {
            ExportError::Package(problems) => {
                json!({"version": 1, "refused": "package", "problems": problems})
            }
            ExportError::Secrets(hits) => json!({"version": 1, "refused": "secrets", "hits": hits}),
            ExportError::Gate(findings) => {
                json!({"version": 1, "refused": "gate", "findings": findings})
            }
            ExportError::Failed(_) => Value::Null,
        })?;
        return Ok(REJECTED);
    }
    let mut text = String::new();
    match error {
        ExportError::Package(problems) => {
            text.push_str("nothing was exported: the package is not of its form\n");
            list(&mut text, problems.iter().map(Problem::to_string));
        }
        ExportError::Secrets(hits) => {
            text.push_str(
                "nothing was exported: the scrub gate found what must not be published\n",
            );
            list(&mut text, hits.iter().map(ToString::to_string));
            text.push_str(
                "Remove each, and revoke what is a real secret. What is none is allowed in scrub-allow.toml in the \
                 package folder:\n\n",
            );
            if let Some(hit) = hits.first() {
                let _ = writeln!(
                    text,
                    "[[allow]]\nrule = {}\nfile = {}\nsample = {}\nreason = \"why this is no secret\"",
                    json!(hit.rule),
                    json!(hit.file),
                    json!(hit.sample)
                );
            }
        }
        ExportError::Gate(findings) => {
            text.push_str("nothing was exported: a registry would refuse the cartridge\n\n");
            text.push_str(&report::human_findings(findings, &Style::default()));
        }
        ExportError::Failed(_) => {}
    }
    output::error(&text);
    Ok(REJECTED)
}

fn list(text: &mut String, lines: impl ExactSizeIterator<Item = String>) {
    let rest = lines.len().saturating_sub(SHOWN);
    for line in lines.take(SHOWN) {
        let _ = writeln!(text, "  {}", escape(&line));
    }
    if rest > 0 {
        let _ = writeln!(text, "  … and {rest} more (--format json lists all)");
    }
}

fn value(exported: &Exported, args: &Args) -> Value {
    let files = exported.files.iter();
    json!({
        "version": 1,
        "dryRun": args.dry_run,
        "publisher": exported.coordinate.publisher,
        "id": exported.coordinate.id,
        "artifactVersion": exported.coordinate.version,
        "cartridgeId": exported.cartridge_id,
        "registryPath": exported.coordinate.path(),
        "romHash": exported.rom_hash,
        "keyid": exported.keyid,
        "signedAt": exported.signed_at,
        "bytes": exported.bytes.len(),
        "files": files.map(|(name, bytes)| json!({"name": name, "bytes": bytes})).collect::<Vec<_>>(),
        "memory": exported.memory,
        "fieldLearned": exported.field_learned,
        "leftOut": exported.left_out,
        "skills": exported.skills,
        "capabilities": exported.capabilities,
        "objects": exported.objects,
        "notes": exported.notes,
        "wrote": (!args.dry_run).then(|| args.out.to_string_lossy()),
    })
}

fn human(exported: &Exported, args: &Args) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "cartridge: {}", exported.coordinate);
    let _ = writeln!(text, "rom hash:  {}", exported.rom_hash);
    if args.dry_run {
        for (name, bytes) in &exported.files {
            let _ = writeln!(text, "  {bytes:>9}  {name}");
        }
    } else {
        let _ = writeln!(text, "keyid:     {}", exported.keyid);
    }
    let _ = writeln!(text, "signed at: {}", exported.signed_at);
    let _ = writeln!(
        text,
        "holds:     {}, {}, {}, {}; {} signed",
        count(exported.files.len(), "file"),
        count(exported.skills, "skill"),
        count(exported.memory, "memory record"),
        plural(exported.capabilities, "capability", "capabilities"),
        count(exported.objects, "object"),
    );
    if exported.left_out > 0 {
        let _ = writeln!(
            text,
            "left out:  {} (--include-field-learned takes them into the SAVE zone)",
            count(exported.left_out, "field-learned record")
        );
    }
    for note in &exported.notes {
        let _ = writeln!(text, "note:      {}", escape(note));
    }
    let out = escape(&args.out.to_string_lossy());
    let verb = if args.dry_run {
        "would write:"
    } else {
        "wrote:    "
    };
    let _ = writeln!(text, "{verb} {out} ({} bytes)", exported.bytes.len());
    text
}

fn count(n: usize, what: &str) -> String {
    plural(n, what, &format!("{what}s"))
}

fn plural(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}
