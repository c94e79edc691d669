//! Annotations of a GitHub Actions job: workflow commands, each on a line of its own.
//!
//! GitHub shows ten errors and ten warnings of a step, so the ones that come first are chosen: one of each file before a
//! second of any.
//! Source: <https://docs.github.com/actions/reference/workflow-commands-for-github-actions>

use std::fmt::Write as _;

use super::view::{View, within};
use super::{Report, Style, Verdict, escape, human};
use crate::finding::{Finding, Severity};
use crate::model::cut;

/// Annotations of each kind that GitHub shows of one step.
const SHOWN: usize = 10;
/// Characters of one annotation; GitHub takes 4 KiB at the least.
const LONGEST: usize = 1500;
/// Characters of a file's name.
const LONGEST_PATH: usize = 1024;

/// The annotations, and then the whole report for the job's log.
pub(super) fn render(report: &Report<'_>, style: &Style) -> String {
    let view = View::of(report);
    let mut out = String::new();
    let unjudged = view
        .files
        .iter()
        .filter(|file| file.verdict == Some(Verdict::Unverifiable))
        .map(|file| {
            let text = format!("not judged: {}", escape(file.note));
            annotation("error", Some((style, file.path)), "unverifiable", &[text])
        });
    let differs = view
        .differences
        .iter()
        .map(|text| annotation("error", None, "difference", &[escape(text)]));
    let errors: Vec<String> = unjudged
        .chain(differs)
        .chain(in_turns(&view, Severity::Error).map(|f| of_finding("error", f, style)))
        .collect();
    let warnings: Vec<String> = in_turns(&view, Severity::Warning)
        .map(|f| of_finding("warning", f, style))
        .collect();
    for line in errors.iter().take(SHOWN).chain(warnings.iter().take(SHOWN)) {
        out.push_str(line);
    }
    let hidden = |all: &[String]| all.len().saturating_sub(SHOWN);
    if hidden(&errors) + hidden(&warnings) > 0 {
        let text = format!(
            "and {} more errors and {} more warnings: see the job's log and summary",
            hidden(&errors),
            hidden(&warnings)
        );
        out.push_str(&annotation("notice", None, "acx", &[text]));
    }
    out.push_str(&human::render(report, &Style::default()));
    out
}

/// The annotation of a run that failed.
pub fn github_failure(message: &str) -> String {
    annotation("error", None, "acx", &[escape(message)])
}

/// The findings of one severity: the first of each file, then the second of each, and so on.
fn in_turns<'a>(view: &View<'a>, wanted: Severity) -> impl Iterator<Item = &'a Finding> {
    let mut all: Vec<(usize, &Finding)> = view
        .files
        .iter()
        .flat_map(|file| {
            file.findings
                .iter()
                .filter(|f| f.severity == wanted)
                .enumerate()
                .map(|(turn, f)| (turn, *f))
        })
        .collect();
    all.sort_by_key(|(turn, _)| *turn);
    all.into_iter().map(|(_, finding)| finding)
}

fn of_finding(kind: &str, finding: &Finding, style: &Style) -> String {
    let place: Vec<String> = within(finding).map(escape).collect();
    let mut lines = vec![escape(&finding.message)];
    if !place.is_empty() {
        lines.push(format!("at {}", place.join(" › ")));
    }
    lines.push(format!("fix: {}", escape(&finding.help)));
    annotation(
        kind,
        Some((style, &finding.location.path)),
        finding.code,
        &lines,
    )
}

/// One command; its lines are plain already.
fn annotation(kind: &str, file: Option<(&Style, &str)>, title: &str, lines: &[String]) -> String {
    let mut out = format!("::{kind} ");
    if let Some((style, path)) = file {
        let path = format!("{}{path}", style.root);
        let _ = write!(
            out,
            "file={},",
            property(&cut(&escape(&path), LONGEST_PATH))
        );
    }
    let lines: Vec<String> = lines.iter().map(|line| data(&cut(line, LONGEST))).collect();
    let _ = writeln!(out, "title={}::{}", property(title), lines.join("%0A"));
    out
}

/// Text behind the `::` of a command.
fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// The value of a command's property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
