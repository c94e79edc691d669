//! A run's report, everywhere it is wanted: on standard output, in files, and in the summary and outputs of a GitHub
//! Actions step. All of them show one report, and none changes the exit status.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use acx_registry::discover::INDEX;
use acx_registry::disk;
use acx_registry::level::ISSUER_KEYS_FILE;
use acx_registry::registry::{LEDGER_FILE, TRUST_FILE};
pub use acx_registry::report::Format as Rendering;
use acx_registry::report::{self, BuildReport, Report, SUMMARY_BYTES, Style};

use super::{Failure, Global, environment, output};

/// Where a report goes besides
#[derive(clap::Args, Clone)]
pub struct ReportArgs {
    /// Write the report to a file as well, in the format that its name ends with: .sarif, .json, .xml (JUnit), .md or
    /// .txt; may be given again
    #[arg(long, value_name = "FILE", value_parser = target)]
    report: Vec<Target>,
}

impl ReportArgs {
    /// Makes sure, before anything is done, that the reports can be written, and that none of an earlier run is taken
    /// for this one's.
    pub fn prepare(&self) -> Result<(), Failure> {
        for Target { file, .. } in &self.report {
            let failed = |why: &str| Failure(format!("--report {}: {why}", file.display()));
            match file.symlink_metadata() {
                Ok(about) if !about.is_file() => {
                    return Err(failed(
                        "its place is taken by something that is no ordinary file",
                    ));
                }
                Ok(_) => std::fs::remove_file(file).map_err(|e| failed(&e.to_string()))?,
                Err(_) if disk::folder_of(file).is_dir() => {}
                Err(_) => return Err(failed("its folder is not there")),
            }
        }
        for variable in ["GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"] {
            if let Some(file) = environment::file_of(variable)
                && file.metadata().is_ok_and(|about| !about.is_file())
            {
                return Err(Failure(format!("{variable}: expected an ordinary file")));
            }
        }
        Ok(())
    }

    /// Nowhere but to standard output.
    pub fn none() -> Self {
        Self { report: Vec::new() }
    }
}

/// One file to write.
#[derive(Clone)]
struct Target {
    file: PathBuf,
    format: Rendering,
}

fn target(text: &str) -> Result<Target, String> {
    let format = [
        (".sarif", Rendering::Sarif),
        (".sarif.json", Rendering::Sarif),
        (".json", Rendering::Json),
        (".xml", Rendering::Junit),
        (".md", Rendering::Markdown),
        (".txt", Rendering::Human),
    ]
    .into_iter()
    .find(|(end, _)| text.ends_with(end))
    .map(|(_, format)| format)
    .ok_or("expected a name that ends with .sarif, .json, .xml, .md or .txt")?;
    let file = PathBuf::from(text);
    // By the name alone, wherever it is: a slip must not cost a registry its index or its keys.
    let own = |part: &str| {
        let part = part.to_ascii_lowercase();
        part.ends_with(".lance")
            || [".git", "cartridges", "templates", "cals", "graphs"].contains(&part.as_str())
    };
    let name = file.file_name().unwrap_or_default().to_ascii_lowercase();
    if [INDEX, TRUST_FILE, ISSUER_KEYS_FILE, LEDGER_FILE]
        .iter()
        .any(|own| name == *own)
        || file
            .components()
            .any(|part| part.as_os_str().to_str().is_some_and(own))
    {
        return Err("this is a place of a registry's own files; name another".to_owned());
    }
    Ok(Target { file, format })
}

/// Prints a report and writes its files.
///
/// `root` is the registry's place in its repository, with a slash at its end; `start` is when the run began.
pub fn publish(
    report: &Report<'_>,
    args: &ReportArgs,
    root: &str,
    start: Instant,
    global: Global,
) -> Result<(), Failure> {
    let style = Style {
        root: root.to_owned(),
        elapsed: Some(start.elapsed()),
        ..environment::style()
    };
    // What is printed first is told even where a file cannot be written.
    output::print(&report::render(report, global.report, &style)?);
    for Target { file, format } in &args.report {
        let style = Style {
            colour: false,
            width: None,
            ..style.clone()
        };
        let text = report::render(report, *format, &style)?;
        disk::replace_unsynced(file, text.as_bytes())
            .map_err(|e| Failure(format!("--report {}: {e}", file.display())))?;
    }
    if let Some(file) = environment::file_of("GITHUB_STEP_SUMMARY") {
        // The commands of a step share one summary.
        let there = file.metadata().map_or(0, |about| about.len());
        let left = SUMMARY_BYTES.saturating_sub(usize::try_from(there).unwrap_or(usize::MAX));
        let text = report::summary(report, &style, left);
        append(&file, &text).map_err(|e| Failure(format!("GITHUB_STEP_SUMMARY: {e}")))?;
    }
    Ok(())
}

/// Sets the outputs of a GitHub Actions step.
pub fn outputs(report: &BuildReport, commit: Option<&str>) -> Result<(), Failure> {
    let Some(file) = environment::file_of("GITHUB_OUTPUT") else {
        return Ok(());
    };
    let counts = &report.counts;
    let changes = &report.changes;
    // What a run that writes nothing would write counts too.
    let changed = [
        &report.wrote,
        &report.removed,
        &report.differences,
        &changes.added,
        &changes.changed,
        &changes.removed,
    ]
    .iter()
    .any(|list| !list.is_empty());
    let text = format!(
        "accepted={}\nrejected={}\nunverifiable={}\nwarnings={}\ntemplates={}\nchanged={changed}\ncommit={}\n",
        counts.accepted,
        counts.rejected,
        counts.unverifiable,
        counts.warnings,
        counts.templates,
        commit.unwrap_or_default()
    );
    append(&file, &text).map_err(|e| Failure(format!("GITHUB_OUTPUT: {e}")))
}

fn append(file: &Path, text: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new().append(true).create(true).open(file)?;
    file.write_all(text.as_bytes())
}
