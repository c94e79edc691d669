//! `acx key`

use std::path::PathBuf;

use serde_json::json;

use super::{Failure, Format, Global, environment, output};

/// Make and show signing keys
#[derive(clap::Subcommand)]
pub enum Command {
    /// Make an Ed25519 key in a new file with mode 0600
    Generate {
        /// The file; otherwise `<registry id>.pem` in the key folder (ACX_KEY_DIR, or acx/keys in your configuration
        /// folder)
        file: Option<PathBuf>,
        /// The registry that the key is for
        #[arg(long, default_value = "local.registry", conflicts_with = "file")]
        registry_id: String,
    },
    /// Show a key's id and public half
    Show {
        /// The private key's file; otherwise that of the registry in the key folder
        file: Option<PathBuf>,
        /// The registry that the key is for
        #[arg(long, default_value = "local.registry", conflicts_with = "file")]
        registry_id: String,
    },
}

pub fn run(command: Command, global: Global) -> Result<u8, Failure> {
    let place = |file: Option<PathBuf>, registry_id: &str| {
        // The id becomes a file's name.
        acx_registry::model::PublisherId::try_from(registry_id)
            .map_err(|e| Failure(format!("--registry-id: {e}")))?;
        file.or_else(|| environment::key_file(registry_id))
            .ok_or_else(|| {
                Failure("there is no key folder: set ACX_KEY_DIR or HOME, or name a file".into())
            })
    };
    let (file, key) = match command {
        Command::Generate { file, registry_id } => {
            let file = place(file, &registry_id)?;
            let key = environment::create_key(&file)?;
            (file, key)
        }
        Command::Show { file, registry_id } => {
            let file = place(file, &registry_id)?;
            let key = environment::load_key(&file)?;
            (file, key)
        }
    };
    let public = key.public();
    match global.format {
        Format::Human => output::print(&format!(
            "file:  {}\nkeyid: {}\n{}",
            acx_registry::report::escape(&file.to_string_lossy()),
            public.id(),
            public.pem()
        )),
        Format::Json => output::json(&json!({
            "version": 1,
            "file": file.to_string_lossy(),
            "keyid": public.id(),
            "publicKeyPem": public.pem(),
        }))?,
    }
    Ok(0)
}
