//! `acx init`

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use acx_registry::attest::PrivateKey;
use acx_registry::author::{EXAMPLES, Tool};
use acx_registry::model::PublisherId;
use acx_registry::pipeline::{self, InitOptions};
use acx_registry::report::{ACCEPTED, escape};
use serde_json::json;

use super::{Failure, Format, Global, environment, output};

/// Found a registry: policy, hooks, a signing key outside of it, and its first signed index
#[derive(clap::Args)]
pub struct Args {
    /// The registry's folder: a new or an empty one
    dir: PathBuf,
    /// Publish two example cartridges in it, to try things out
    #[arg(long)]
    example: bool,
    /// The name that its index carries, as reversed domain labels; otherwise made from the folder's name
    #[arg(long, value_name = "ID")]
    registry_id: Option<String>,
    /// Write GitHub Actions workflows, too, that take this program from this repository and commit
    #[arg(long, value_name = "OWNER/REPO@SHA")]
    tool: Option<Tool>,
}

/// A key and its file.
struct Key {
    key: PrivateKey,
    file: PathBuf,
    created: bool,
}

pub fn run(args: Args, global: Global) -> Result<u8, Failure> {
    let now = environment::now()?;
    let id = match args.registry_id {
        Some(id) => {
            PublisherId::try_from(id.as_str())
                .map_err(|e| Failure(format!("--registry-id: {e}")))?;
            id
        }
        None => default_id(&args.dir),
    };
    pipeline::vacant(&args.dir)?;
    let examples = if args.example { EXAMPLES } else { &[] };
    let mut names = vec![id.as_str()];
    names.extend(examples.iter().map(|e| e.publisher));
    let mut keys = Vec::new();
    let result = names
        .iter()
        .try_for_each(|name| key(name, &args.dir).map(|key| keys.push(key)))
        .and_then(|()| {
            let mut keys = keys.iter();
            let own = keys
                .next()
                .ok_or_else(|| Failure("no key was made".into()))?;
            let examples: Vec<_> = examples
                .iter()
                .zip(keys)
                .map(|(example, key)| (*example, &key.key))
                .collect();
            let options = InitOptions {
                registry_id: &id,
                key: &own.key,
                examples: &examples,
                tool: args.tool.as_ref(),
                now: &now,
            };
            Ok(pipeline::init(&args.dir, &options)?)
        });
    let founded = match result {
        Ok(founded) => founded,
        Err(failure) => {
            for key in keys.iter().filter(|key| key.created) {
                let _ = std::fs::remove_file(&key.file);
            }
            return Err(failure);
        }
    };
    let Some((own, publishers)) = keys.split_first() else {
        return Err(Failure("no key was made".into()));
    };
    let next = next(&args.dir, own.key.public().id().as_str());
    let examples: Vec<String> = founded.examples.iter().map(ToString::to_string).collect();
    match global.format {
        Format::Json => output::json(&json!({
            "version": 1,
            "registry": id,
            "path": args.dir.to_string_lossy(),
            "keyid": own.key.public().id(),
            "keyFile": own.file.to_string_lossy(),
            "keyCreated": own.created,
            "publisherKeys": publishers.iter().map(|k| k.file.to_string_lossy()).collect::<Vec<_>>(),
            "examples": examples,
            "workflows": args.tool.is_some(),
            "files": founded.files,
            "next": next,
        }))?,
        Format::Human => {
            let mut text = String::new();
            let _ = writeln!(
                text,
                "registry: {id} in {} ({} files)",
                escape(&args.dir.to_string_lossy()),
                founded.files.len()
            );
            let _ = writeln!(text, "keyid:    {}", own.key.public().id());
            for key in &keys {
                let made = if key.created { " (new)" } else { "" };
                let file = escape(&key.file.to_string_lossy());
                let _ = writeln!(text, "key:      {file}{made}");
            }
            for example in &examples {
                let _ = writeln!(text, "example:  {example}");
            }
            if args.tool.is_none() {
                text.push_str(
                    "No GitHub Actions workflows were written, since they need to know where this program is. \
                     Found the registry with --tool OWNER/REPO@SHA, its GitHub repository and a commit, or copy \
                     .github from one that was.\n",
                );
            }
            text.push_str(
                "Keep the registry's key safe: whoever has it signs your index.\nnext:\n",
            );
            for command in &next {
                let _ = writeln!(text, "  {}", escape(command));
            }
            output::print(&text);
        }
    }
    Ok(ACCEPTED)
}

/// The key of this name in the key folder; made where there is none.
fn key(name: &str, registry: &Path) -> Result<Key, Failure> {
    let file = environment::key_file(name).ok_or_else(|| {
        Failure("there is no key folder: set ACX_KEY_DIR to a folder outside the registry".into())
    })?;
    if environment::real(&file).starts_with(environment::real(registry)) {
        return Err(Failure(format!(
            "{}: the key would be in the registry; set ACX_KEY_DIR to a folder outside of it",
            file.display()
        )));
    }
    let created = file.symlink_metadata().is_err();
    let key = if created {
        environment::create_key(&file)?
    } else {
        environment::load_key(&file)?
    };
    Ok(Key { key, file, created })
}

/// The folder's name where it is an id, else `local.` and its letters and digits.
fn default_id(folder: &Path) -> String {
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_path_buf());
    let name = folder
        .file_name()
        .map(|n| n.to_string_lossy().to_lowercase())
        .unwrap_or_default();
    if PublisherId::try_from(name.as_str()).is_ok() {
        return name;
    }
    let words: Vec<&str> = name
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let mut label = words.join("-");
    label.truncate(63);
    if label.is_empty() {
        "registry".clone_into(&mut label);
    }
    format!("local.{label}")
}

/// What to do with a new registry.
fn next(folder: &Path, keyid: &str) -> Vec<String> {
    let folder = output::shell_word(&folder.to_string_lossy());
    vec![
        format!("acx build-index {folder}"),
        format!("acx verify-index {folder} --keyid {keyid}"),
        format!("git -C {folder} init"),
        format!("git -C {folder} add -A"),
        format!("git -C {folder} commit -m \"Found the registry\""),
    ]
}
