//! `acx hook install` and `acx hook uninstall`

use std::path::{Path, PathBuf};

use acx_registry::git::hooks::{self, Hook, Server};
use acx_registry::git::{ObjectFolders, Repo};
use acx_registry::report::escape;
use serde_json::json;

use super::{Failure, Format, Global, output};

/// Put git's hooks into a server's repository, and take them out
#[derive(clap::Subcommand)]
pub enum Command {
    /// Install pre-receive, which judges a push before it lands
    Install {
        #[command(flatten)]
        place: Place,
        /// Install post-receive as well, which builds the index after each push
        #[arg(long)]
        post_receive: bool,
        /// Keep a hook that is there already; it runs first
        #[arg(long)]
        chain: bool,
        /// The program that the hooks run; otherwise this one
        #[arg(long, value_name = "FILE")]
        program: Option<PathBuf>,
    },
    /// Take the hooks out again, and put back what was there before
    Uninstall {
        #[command(flatten)]
        place: Place,
    },
}

#[derive(clap::Args)]
pub struct Place {
    /// The server's repository
    #[arg(long, value_name = "DIR")]
    git_dir: PathBuf,
    /// What runs the hooks; otherwise seen from the repository's folders
    #[arg(long, value_enum)]
    server: Option<ServerName>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum ServerName {
    /// Git alone
    Git,
    /// Gitea or Forgejo
    Gitea,
    /// GitLab
    Gitlab,
}

impl Place {
    fn open(&self) -> Result<(Repo, Server), Failure> {
        let repo = Repo::open(&self.git_dir, &ObjectFolders::default())?;
        let server = match self.server {
            Some(ServerName::Git) => Server::Git,
            Some(ServerName::Gitea) => Server::Gitea,
            Some(ServerName::Gitlab) => Server::Gitlab,
            None => hooks::server_of(&repo.common_dir()),
        };
        Ok((repo, server))
    }
}

pub fn run(command: Command, global: Global) -> Result<u8, Failure> {
    let (word, files) = match command {
        Command::Install {
            place,
            post_receive,
            chain,
            program,
        } => {
            let (repo, server) = place.open()?;
            let program = word_of(program.as_deref())?;
            let wanted: &[Hook] = if post_receive {
                &[Hook::PreReceive, Hook::PostReceive]
            } else {
                &[Hook::PreReceive]
            };
            let files = hooks::install(&repo, server, wanted, &program, chain)?;
            ("installed", files)
        }
        Command::Uninstall { place } => {
            let (repo, server) = place.open()?;
            let mut files = Vec::new();
            for hook in [Hook::PreReceive, Hook::PostReceive] {
                files.extend(hooks::uninstall(&repo, server, hook)?);
            }
            ("removed", files)
        }
    };
    match global.format {
        Format::Json => {
            let files: Vec<_> = files.iter().map(|file| file.to_string_lossy()).collect();
            output::json(&json!({"version": 1, word: files}))?;
        }
        Format::Human if files.is_empty() => output::print("no hook of acx is there\n"),
        Format::Human => {
            for file in &files {
                output::print(&format!("{word}: {}\n", escape(&file.to_string_lossy())));
            }
        }
    }
    Ok(0)
}

/// The program's absolute path as a word of a shell: a server's hooks have another PATH than its users.
fn word_of(program: Option<&Path>) -> Result<String, Failure> {
    let path = match program {
        Some(path) => path.to_path_buf(),
        None => std::env::current_exe()?,
    };
    let path = path
        .canonicalize()
        .map_err(|e| Failure(format!("{}: {e}", path.display())))?;
    let text = path
        .to_str()
        .filter(|text| !text.contains(['\n', '\0']))
        .ok_or_else(|| Failure(format!("{}: expected a plain path", path.display())))?;
    Ok(acx_registry::report::shell_word(text))
}
