//! `acx import`

use std::fmt::Write as _;
use std::path::PathBuf;

use acx_registry::author::{self, ImportPlan, ImportReport, RecordsReport, SkillState};
use acx_registry::disk;
use acx_registry::policy::Policy;
use acx_registry::report::{
    self, ACCEPTED, FAILED, FileReport, FilesReport, REJECTED, Style, escape,
};
use serde_json::json;

use super::{Failure, Format, Global, environment, output};

/// Records of one kind that people are shown.
const LISTED: usize = 50;

/// Take a cartridge's portable memory and its skills into a package folder
#[derive(clap::Args)]
pub struct Args {
    /// The cartridge
    file: PathBuf,
    /// The package folder; made where it is absent
    #[arg(long, value_name = "DIR")]
    into: PathBuf,
    /// The publishers' keys that you trust
    #[arg(long, value_name = "FILE")]
    trust_registry: Option<PathBuf>,
    /// Write nothing; show what would change
    #[arg(long)]
    dry_run: bool,
}

pub fn run(args: Args, global: Global) -> Result<u8, Failure> {
    let now = environment::now()?;
    let trust = super::trust_registry(args.trust_registry.as_deref(), &now)?;
    let path = args.file.to_string_lossy().into_owned();
    let bytes = disk::read(&args.file, Policy::default().limits.file_bytes)
        .map_err(|e| Failure(format!("{path}: {e}")))?;
    let mut judgement = match author::judge_for_import(&path, &bytes, &trust, &now) {
        Ok(judgement) => judgement,
        Err(refusal) => {
            refused(FileReport::unverifiable(path, refusal.0), global)?;
            return Ok(FAILED);
        }
    };
    let Some(admitted) = judgement.admitted.take() else {
        refused(FileReport::judged(path, judgement), global)?;
        return Ok(REJECTED);
    };
    // Two imports at once would each merge with what was there before the other.
    let _lock = disk::lock_folder(disk::folder_of(&args.into));
    let plan = ImportPlan::new(&admitted, &args.into).map_err(Failure)?;
    if !args.dry_run {
        plan.apply().map_err(Failure)?;
    }
    match global.format {
        Format::Json => output::json(&json!({
            "version": 1,
            "path": path,
            "into": args.into.to_string_lossy(),
            "dryRun": args.dry_run,
            "trust": admitted.trust(),
            "report": plan.report,
            "findings": judgement.findings,
        }))?,
        Format::Human => {
            if !judgement.findings.is_empty() && !global.quiet {
                output::error(&report::human_findings(
                    &judgement.findings,
                    &Style::default(),
                ));
            }
            output::print(&human(&plan.report, args.dry_run));
        }
    }
    Ok(if plan.report.is_partial() {
        REJECTED
    } else {
        ACCEPTED
    })
}

/// The cartridge is not taken in: the gate's report on it. Nothing was written.
fn refused(file: FileReport, global: Global) -> Result<(), Failure> {
    match global.format {
        Format::Json => output::json(&FilesReport::new(vec![file])),
        Format::Human => {
            output::print(&report::human_file(file, &environment::style()));
            output::print("not imported: nothing was written\n");
            Ok(())
        }
    }
}

/// Says how many are not shown.
fn more(out: &mut String, count: usize) {
    let hidden = count.saturating_sub(LISTED);
    if hidden > 0 {
        let _ = writeln!(out, "  … and {hidden} more (--format json lists all)");
    }
}

fn human(report: &ImportReport, dry_run: bool) -> String {
    let mut out = String::new();
    let files = report.memory.iter().chain(&report.quarantine);
    for RecordsReport {
        path,
        added,
        merged,
        unchanged,
    } in files
    {
        let _ = writeln!(
            out,
            "{path}: {} added, {} merged, {unchanged} unchanged",
            added.len(),
            merged.len()
        );
        for (ids, mark) in [(added, '+'), (merged, '~')] {
            for id in ids.iter().take(LISTED) {
                let _ = writeln!(out, "  {mark} {}", escape(id));
            }
            more(&mut out, ids.len());
        }
    }
    for skill in &report.skills {
        let name = escape(&skill.name);
        let _ = match &skill.state {
            SkillState::Installed => writeln!(out, "skills/{name}: installed"),
            SkillState::Unchanged => writeln!(out, "skills/{name}: unchanged"),
            SkillState::Refused { reason } => {
                writeln!(out, "skills/{name}: REFUSED: {}", escape(reason))
            }
        };
    }
    for record in report.refused.iter().take(LISTED) {
        let place = format!("{} {}", escape(&record.source), escape(&record.record));
        for reason in &record.reasons {
            let _ = writeln!(out, "record {place}: REFUSED: {}", escape(reason));
        }
    }
    more(&mut out, report.refused.len());
    if out.is_empty() {
        out.push_str("the cartridge has neither memory nor skills: there is nothing to take in\n");
    }
    if dry_run {
        out.push_str("dry run: nothing was written\n");
    }
    out
}
