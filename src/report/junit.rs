//! A JUnit report: one test case a file, for the dashboards that read it.

use std::fmt::Write as _;

use super::escape::xml;
use super::view::{Seen, View, severity, within};
use super::{Report, Style, Verdict};
use crate::finding::Severity;
use crate::model::cut;

/// Characters of one text.
const LONGEST: usize = 4096;

/// The report.
pub(super) fn render(report: &Report<'_>, style: &Style) -> String {
    let view = View::of(report);
    let name = if view.title.is_empty() {
        "acx"
    } else {
        view.title
    };
    let count = |verdict| {
        view.files
            .iter()
            .filter(|f| f.verdict == Some(verdict))
            .count()
    };
    let differs = !view.differences.is_empty();
    let counts = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\"",
        view.files.len() + usize::from(differs),
        count(Verdict::Reject) + usize::from(differs),
        count(Verdict::Unverifiable)
    );
    let time = style.elapsed.map_or_else(String::new, |time| {
        format!(" time=\"{:.3}\"", time.as_secs_f64())
    });
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(out, "<testsuites name=\"acx\" {counts}{time}>");
    let _ = writeln!(
        out,
        "  <testsuite name=\"{}\" {counts} skipped=\"0\"{time}>",
        text(name)
    );
    for file in &view.files {
        case(&mut out, file, style);
    }
    if differs {
        out.push_str("    <testcase classname=\"acx.check\" name=\"committed output\">\n");
        fault(
            &mut out,
            "failure",
            "difference",
            view.outcome,
            view.differences,
        );
        out.push_str("    </testcase>\n");
    }
    out.push_str("  </testsuite>\n</testsuites>\n");
    out
}

fn text(text: &str) -> String {
    xml(&cut(text, LONGEST))
}

/// A foreign text may stand alone on a line, so none of its own line ends is left: they separate the texts here.
fn fault(out: &mut String, element: &str, kind: &str, message: &str, body: &[String]) {
    let lines: Vec<String> = body.iter().map(|line| text(line)).collect();
    let _ = writeln!(
        out,
        "      <{element} type=\"{}\" message=\"{}\">{}</{element}>",
        text(kind),
        text(message),
        lines.join("\n")
    );
}

fn case(out: &mut String, file: &Seen<'_>, style: &Style) {
    let class = match file.verdict {
        Some(_) => "acx.cartridge",
        None => "acx.registry",
    };
    let _ = write!(
        out,
        "    <testcase classname=\"{class}\" name=\"{}\"",
        text(&format!("{}{}", style.root, file.path))
    );
    let told = |wanted: Severity| -> Vec<String> {
        let found = file.findings.iter().filter(|f| f.severity == wanted);
        found
            .map(|f| {
                let place: Vec<&str> = within(f).collect();
                let place = match place.join(" › ") {
                    place if place.is_empty() => place,
                    place => format!(" (at {place})"),
                };
                format!(
                    "{}[{}]: {}{place}; fix: {}",
                    severity(f),
                    f.code,
                    f.message,
                    f.help
                )
            })
            .collect()
    };
    let errors = told(Severity::Error);
    let warnings = told(Severity::Warning);
    let bad = matches!(file.verdict, Some(Verdict::Reject | Verdict::Unverifiable));
    if !bad && warnings.is_empty() {
        out.push_str("/>\n");
        return;
    }
    out.push_str(">\n");
    let first = file.findings.iter().find(|f| f.severity == Severity::Error);
    match file.verdict {
        Some(Verdict::Unverifiable) => fault(
            out,
            "error",
            "unverifiable",
            file.note,
            &[file.note.to_owned()],
        ),
        Some(Verdict::Reject) => fault(
            out,
            "failure",
            first.map_or("rejected", |f| f.code),
            first.map_or(file.note, |f| &f.message),
            &errors,
        ),
        Some(Verdict::Accept) | None => {}
    }
    if !warnings.is_empty() {
        let lines: Vec<String> = warnings.iter().map(|line| text(line)).collect();
        let _ = writeln!(out, "      <system-out>{}</system-out>", lines.join("\n"));
    }
    out.push_str("    </testcase>\n");
}
