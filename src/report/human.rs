//! Reports for people, in the manner of a compiler: what, where, expected and found, how to fix it.
//!
//! Names and texts come from strangers. Every one passes [`escape`] before it reaches a terminal.

use std::fmt::Write as _;

use textwrap::{Options, WordSplitter};

use super::view::{Seen, View, severity, within};
use super::{BuildReport, FileReport, FilesReport, Report, Style, Verdict, escape, human_proofs};
use crate::finding::{Finding, Severity};

/// The least width that lines are broken for.
const NARROWEST: usize = 40;

/// How a word stands out.
#[derive(Clone, Copy)]
enum Tone {
    Bad,
    Doubtful,
    Good,
    Strong,
    Quiet,
}

impl Style {
    fn paint(&self, tone: Tone, text: &str) -> String {
        let code = match tone {
            _ if !self.colour => return text.to_owned(),
            Tone::Bad => "1;31",
            Tone::Doubtful => "1;33",
            Tone::Good => "32",
            Tone::Strong => "1",
            Tone::Quiet => "36",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }

    /// Text behind a label, broken at the width of the terminal where there is one.
    fn line(&self, out: &mut String, label: &str, indent: &str, text: &str) {
        match self.width.filter(|width| *width >= NARROWEST) {
            Some(width) => {
                let options = Options::new(width)
                    .initial_indent(label)
                    .subsequent_indent(indent)
                    .break_words(false)
                    .word_splitter(WordSplitter::NoHyphenation);
                out.push_str(&textwrap::fill(text, options));
                out.push('\n');
            }
            None => {
                let _ = writeln!(out, "{label}{text}");
            }
        }
    }
}

/// One finding as a block of lines; `path` where no line above names the file.
fn finding(out: &mut String, finding: &Finding, path: Option<&str>, style: &Style) {
    let (margin, tone) = match (path, finding.severity) {
        (Some(_), Severity::Error) => ("", Tone::Bad),
        (Some(_), Severity::Warning) => ("", Tone::Doubtful),
        (None, Severity::Error) => ("  ", Tone::Bad),
        (None, Severity::Warning) => ("  ", Tone::Doubtful),
    };
    let word = style.paint(tone, &format!("{}[{}]", severity(finding), finding.code));
    let indent = format!("{margin}    ");
    style.line(
        out,
        &format!("{margin}{word}: "),
        &indent,
        &escape(&finding.message),
    );
    let place: Vec<String> = path
        .into_iter()
        .chain(within(finding))
        .map(escape)
        .collect();
    if !place.is_empty() {
        let _ = writeln!(out, "{margin}  --> {}", place.join(" › "));
    }
    let fix = style.paint(Tone::Quiet, "fix:");
    style.line(
        out,
        &format!("{margin}  {fix} "),
        &indent,
        &escape(&finding.help),
    );
}

/// The commands that explain codes.
fn explain<'a>(out: &mut String, findings: impl Iterator<Item = &'a Finding>) {
    let mut codes: Vec<&str> = findings.map(|f| f.code).collect();
    codes.sort_unstable();
    codes.dedup();
    if let Some((first, rest)) = codes.split_first() {
        let _ = write!(out, "For more, run `acx explain {first}`");
        if !rest.is_empty() {
            let _ = write!(out, " (also: {})", rest.join(", "));
        }
        out.push_str(".\n");
    }
}

/// Findings on their own, and the commands that explain their codes.
pub fn human_findings(findings: &[Finding], style: &Style) -> String {
    let mut out = String::new();
    for f in findings {
        finding(&mut out, f, Some(&f.location.path), style);
        out.push('\n');
    }
    explain(&mut out, findings.iter());
    out
}

/// The line that names a file and its verdict.
fn heading(out: &mut String, file: &Seen<'_>, style: &Style) {
    let (tone, word) = match file.verdict {
        Some(Verdict::Accept) => (Tone::Good, "accept      "),
        Some(Verdict::Reject) => (Tone::Bad, "REJECT      "),
        Some(Verdict::Unverifiable) => (Tone::Bad, "UNVERIFIABLE"),
        None => (Tone::Strong, "registry    "),
    };
    let _ = write!(
        out,
        "{}  {}",
        style.paint(tone, word),
        style.paint(Tone::Strong, &escape(file.path))
    );
    let note = escape(file.note);
    let _ = match (file.verdict, file.trust) {
        (_, None) if note.is_empty() => writeln!(out),
        (Some(Verdict::Unverifiable), _) => writeln!(out, "  ({note})"),
        (_, Some(trust)) if note.is_empty() => writeln!(out, "  ({})", trust),
        (_, Some(trust)) => writeln!(out, "  ({}: {note})", trust),
        (_, None) => writeln!(out, "  (unreadable: {note})"),
    };
}

fn block(out: &mut String, file: &Seen<'_>, style: &Style) {
    heading(out, file, style);
    for f in &file.findings {
        finding(out, f, None, style);
    }
    if let Some(proofs) = file.levels {
        out.push_str(&human_proofs(proofs));
    }
}

/// A report for people.
pub(super) fn render(report: &Report<'_>, style: &Style) -> String {
    let view = View::of(report);
    let mut out = String::new();
    match report {
        Report::Files(_) => {
            for file in &view.files {
                block(&mut out, file, style);
            }
            if view.findings().next().is_some() {
                out.push('\n');
                explain(&mut out, view.findings());
            }
        }
        Report::Build(report) => {
            let accepted =
                |file: &Seen<'_>| file.findings.is_empty() && file.verdict == Some(Verdict::Accept);
            for file in view.files.iter().filter(|file| !accepted(file)) {
                block(&mut out, file, style);
                out.push('\n');
            }
            if view.findings().next().is_some() {
                explain(&mut out, view.findings());
                out.push('\n');
            }
            end(&mut out, report);
        }
    }
    out
}

/// What a build did, in numbers and paths.
fn end(out: &mut String, report: &BuildReport) {
    for difference in &report.differences {
        let _ = writeln!(out, "differs: {}", escape(difference));
    }
    let counts = &report.counts;
    let _ = writeln!(
        out,
        "{}: {} accepted, {} rejected, {} unverifiable, {} warnings, {} templates",
        escape(&report.registry),
        counts.accepted,
        counts.rejected,
        counts.unverifiable,
        counts.warnings,
        counts.templates
    );
    for path in &report.wrote {
        let _ = writeln!(out, "wrote: {}", escape(path));
    }
    for path in &report.removed {
        let _ = writeln!(out, "removed: {}", escape(path));
    }
    if !report.outcome.is_empty() {
        let _ = writeln!(out, "{}", escape(&report.outcome));
    }
}

/// One file for people.
pub fn human_file(file: FileReport, style: &Style) -> String {
    render(&Report::Files(&FilesReport::new(vec![file])), style)
}

/// `pre-receive` for whoever pushes, in at most `most` lines.
pub fn human_push(report: &BuildReport, most: usize) -> String {
    let style = Style::default();
    let mut blocks: Vec<String> = Vec::new();
    for file in View::of(&Report::Build(report)).files {
        if !matches!(file.verdict, Some(Verdict::Unverifiable | Verdict::Reject)) {
            continue;
        }
        let mut text = String::new();
        heading(&mut text, &file, &style);
        // A file with many findings is shown as far as it goes.
        for f in file
            .findings
            .iter()
            .filter(|f| f.severity == Severity::Error)
        {
            finding(&mut text, f, None, &style);
            blocks.push(std::mem::take(&mut text));
        }
        if !text.is_empty() {
            blocks.push(text);
        }
    }
    let outcome = format!("acx: {}\n", escape(&report.outcome));
    let mut out = String::new();
    // The outcome, and the line that counts the rest.
    let mut left = most.saturating_sub(2);
    let mut shown = 0;
    for block in &blocks {
        let lines = block.lines().count();
        if lines > left {
            break;
        }
        left -= lines;
        shown += 1;
        out.push_str(block);
    }
    if shown < blocks.len() {
        let _ = writeln!(
            out,
            "and {} more; `acx check` shows all of a file",
            blocks.len() - shown
        );
    }
    out.push_str(&outcome);
    out
}
