//! The summary of a GitHub Actions job: Markdown, one table for each kind of news.

use std::fmt::Write as _;

use super::escape::cell;
use super::view::{View, within};
use super::{Report, Style, Verdict};
use crate::finding::Severity;
use crate::model::cut;

/// Characters of one cell.
const LONGEST: usize = 400;
/// Bytes that are kept for the line that counts what is left out.
const RESERVE: usize = 100;

/// A text that grows up to a bound, row by row.
struct Page {
    text: String,
    most: usize,
    left_out: usize,
}

impl Page {
    fn add(&mut self, text: &str) {
        if self.text.len() + text.len() <= self.most {
            self.text.push_str(text);
        } else {
            self.left_out += 1;
        }
    }

    /// A table with as many of its rows as fit.
    fn table(&mut self, title: &str, columns: &[&str], rows: impl Iterator<Item = Vec<String>>) {
        let mut rows = rows.peekable();
        if rows.peek().is_none() {
            return;
        }
        let rule = vec!["---"; columns.len()].join(" | ");
        self.add(&format!(
            "\n### {title}\n\n| {} |\n| {rule} |\n",
            columns.join(" | ")
        ));
        for row in rows {
            self.add(&format!("| {} |\n", row.join(" | ")));
        }
    }
}

fn short(text: &str) -> String {
    cell(&cut(text, LONGEST))
}

/// The summary, in at most `most` bytes.
pub(super) fn render(report: &Report<'_>, style: &Style, most: usize) -> String {
    // What is not even told whole is not begun.
    let Some(most) = most.checked_sub(RESERVE) else {
        return String::new();
    };
    let view = View::of(report);
    let mut page = Page {
        text: String::new(),
        most,
        left_out: 0,
    };
    let verdict = match view.status {
        super::ACCEPTED => "all is well",
        super::REJECTED => "not everything is accepted",
        _ => "not everything could be judged",
    };
    let title = match view.title {
        "" => String::new(),
        title => format!(" {}", short(title)),
    };
    page.add(&format!("## acx{title}: {verdict}\n\n"));
    head(&mut page, report, &view, style);
    let of = |wanted: Verdict| {
        view.files
            .iter()
            .filter(move |file| file.verdict == Some(wanted))
    };
    page.table(
        "Not judged",
        &["file", "why"],
        of(Verdict::Unverifiable).map(|file| vec![short(file.path), short(file.note)]),
    );
    let findings = |wanted: Severity| {
        view.findings()
            .filter(move |f| f.severity == wanted)
            .map(|f| {
                let place: Vec<&str> = within(f).collect();
                let place = match place.join(" › ") {
                    place if place.is_empty() => short(&f.location.path),
                    place => format!("{}<br>{}", short(&f.location.path), short(&place)),
                };
                vec![place, short(f.code), short(&f.message), short(&f.help)]
            })
    };
    let columns = ["file", "code", "what is wrong", "what to do"];
    page.table("Rejected", &columns, findings(Severity::Error));
    page.table(
        "Different from what a build would write",
        &["what"],
        view.differences.iter().map(|text| vec![short(text)]),
    );
    if let Report::Build(report) = report {
        for (title, paths) in [
            ("Added", &report.changes.added),
            ("Changed", &report.changes.changed),
            ("Removed", &report.changes.removed),
        ] {
            page.table(title, &["file"], paths.iter().map(|path| vec![short(path)]));
        }
    }
    page.table("Warnings", &columns, findings(Severity::Warning));
    if page.left_out > 0 {
        let _ = writeln!(
            page.text,
            "\n{} more lines do not fit here: see the job's log.",
            page.left_out
        );
    }
    page.text
}

fn head(page: &mut Page, report: &Report<'_>, view: &View<'_>, style: &Style) {
    let count = |verdict| {
        view.files
            .iter()
            .filter(|f| f.verdict == Some(verdict))
            .count()
    };
    let mut facts = vec![
        ("accepted", count(Verdict::Accept).to_string()),
        ("rejected", count(Verdict::Reject).to_string()),
        ("not judged", count(Verdict::Unverifiable).to_string()),
    ];
    if let Report::Build(report) = report {
        facts = vec![
            ("accepted", report.counts.accepted.to_string()),
            ("rejected", report.counts.rejected.to_string()),
            ("not judged", report.counts.unverifiable.to_string()),
            ("warnings", report.counts.warnings.to_string()),
            ("added", report.changes.added.len().to_string()),
            ("changed", report.changes.changed.len().to_string()),
            ("removed", report.changes.removed.len().to_string()),
        ];
    }
    if let Some(time) = style.elapsed {
        facts.push(("time", format!("{:.1} s", time.as_secs_f64())));
    }
    let names: Vec<&str> = facts.iter().map(|(name, _)| *name).collect();
    let values: Vec<&str> = facts.iter().map(|(_, value)| value.as_str()).collect();
    page.add(&format!(
        "| {} |\n| {} |\n| {} |\n",
        names.join(" | "),
        vec!["---"; names.len()].join(" | "),
        values.join(" | ")
    ));
    if !view.outcome.is_empty() {
        page.add(&format!("\n{}\n", short(view.outcome)));
    }
}
