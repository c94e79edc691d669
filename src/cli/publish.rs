//! `acx publish`

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use acx_registry::disk;
use acx_registry::pipeline::{self, NotPublished};
use acx_registry::registry::{self, Registry};
use acx_registry::report::{self, ACCEPTED, FilesReport, REJECTED, escape};
use serde_json::json;

use super::{Failure, Format, Global, RegistryArg, environment, output};

/// Put an artifact into its place in a registry's work tree, checked as the gate will check it
#[derive(clap::Args)]
pub struct Args {
    /// The cartridge, workflow (`*.cal.json`) or Agent Graph (`*.agent-graph.json`)
    file: PathBuf,
    #[command(flatten)]
    registry: RegistryArg,
    /// Write nothing; say what would be written
    #[arg(long)]
    dry_run: bool,
}

pub fn run(args: Args, global: Global) -> Result<u8, Failure> {
    let now = environment::now()?;
    let root = registry::find_root(&args.registry.registry).map_err(Failure)?;
    let registry = Registry::load(&root, &now)?;
    let shown = args.file.to_string_lossy().into_owned();
    let bytes = disk::read(&args.file, registry.policy.limits.file_bytes)
        .map_err(|e| Failure(format!("{shown}: {e}")))?;
    let publication = match pipeline::plan_publication(&registry, &shown, &bytes, &now) {
        Ok(publication) => publication,
        Err(NotPublished::Failed(error)) => return Err(error.into()),
        Err(NotPublished::Rejected(file)) => {
            match global.format {
                Format::Json => output::json(&FilesReport::new(vec![*file]))?,
                Format::Human => {
                    output::print(&report::human_file(*file, &environment::style()));
                    output::print("not published: nothing was written\n");
                }
            }
            return Ok(REJECTED);
        }
    };
    let files = if args.dry_run {
        publication.new_files(&registry)?
    } else {
        publication.write(&registry, &bytes)?
    };
    let next = next(&root, &files, &publication.coordinate.to_string());
    match global.format {
        Format::Json => output::json(&json!({
            "version": 1,
            "file": shown,
            "registry": registry.policy.registry_id,
            "path": publication.path,
            "publisher": publication.coordinate.publisher,
            "id": publication.coordinate.id,
            "artifactVersion": publication.coordinate.version,
            "alreadyThere": publication.is_there,
            "dryRun": args.dry_run,
            "files": files,
            "findings": publication.report.findings,
            "next": next,
        }))?,
        Format::Human => {
            output::print(&report::human_file(
                publication.report.clone(),
                &environment::style(),
            ));
            let mut text = String::new();
            if publication.is_there {
                let _ = writeln!(text, "{} is there already", publication.path);
            }
            for file in &files {
                let _ = writeln!(
                    text,
                    "{}: {file}",
                    if args.dry_run { "would write" } else { "wrote" }
                );
            }
            if args.dry_run {
                text.push_str("dry run: nothing was written\n");
            } else if !next.is_empty() {
                text.push_str("next:\n");
                for command in &next {
                    let _ = writeln!(text, "  {}", escape(command));
                }
            }
            output::print(&text);
        }
    }
    Ok(ACCEPTED)
}

/// The git commands that bring the new files to the gate.
fn next(root: &Path, files: &[String], coordinate: &str) -> Vec<String> {
    if files.is_empty() {
        return Vec::new();
    }
    let root = output::shell_word(&root.to_string_lossy());
    let files: Vec<String> = files.iter().map(|f| output::shell_word(f)).collect();
    vec![
        format!("git -C {root} add -- {}", files.join(" ")),
        format!("git -C {root} commit -m \"Publish {coordinate}\""),
        format!("git -C {root} push"),
    ]
}
