//! Reports for people, in the manner of a compiler: what, where, expected and found, how to fix it.
//!
//! Names and texts come from strangers. Every one passes [`escape`] before it reaches a terminal.

use std::fmt::Write as _;

use super::{BuildReport, FileReport, Verdict};
use crate::finding::{Finding, Severity};
use crate::model::Trust;

/// Makes a foreign text harmless on a terminal: control characters, line ends, and characters that reorder or hide
/// text become `\u{…}`.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let hidden = c.is_control()
            || matches!(c,
                '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}');
        if hidden {
            let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// One finding as a block of lines.
fn finding(out: &mut String, finding: &Finding) {
    let severity = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let _ = writeln!(
        out,
        "{severity}[{}]: {}",
        finding.code,
        escape(&finding.message)
    );
    let location = &finding.location;
    let mut place = escape(&location.path);
    for part in [
        location.table.map(str::to_owned),
        location.row.as_deref().map(escape),
        location.pointer.as_deref().map(escape),
    ]
    .into_iter()
    .flatten()
    .filter(|part| !part.is_empty())
    {
        let _ = write!(place, " › {part}");
    }
    let _ = writeln!(out, "  --> {place}");
    let _ = writeln!(out, "  fix: {}", escape(&finding.help));
}

/// Findings, and the commands that explain their codes.
pub fn human_findings(findings: &[Finding]) -> String {
    let mut out = String::new();
    for f in findings {
        finding(&mut out, f);
        out.push('\n');
    }
    let mut codes: Vec<&str> = findings.iter().map(|f| f.code).collect();
    codes.sort_unstable();
    codes.dedup();
    if let Some((first, rest)) = codes.split_first() {
        let _ = write!(out, "For more, run `acx explain {first}`");
        if !rest.is_empty() {
            let _ = write!(out, " (also: {})", rest.join(", "));
        }
        out.push_str(".\n");
    }
    out
}

/// `check` for people.
pub fn human_files(files: &[FileReport]) -> String {
    let mut out = String::new();
    for file in files {
        let path = escape(&file.path);
        let trust = file.trust.map_or("unreadable", Trust::as_str);
        let _ = match file.verdict {
            Verdict::Accept => writeln!(
                out,
                "accept        {path}  ({trust}: {})",
                escape(&file.summary)
            ),
            Verdict::Reject => writeln!(
                out,
                "REJECT        {path}  ({trust}: {})",
                escape(&file.summary)
            ),
            Verdict::Unverifiable => {
                writeln!(out, "UNVERIFIABLE  {path}  ({})", escape(&file.summary))
            }
        };
    }
    let findings: Vec<Finding> = files
        .iter()
        .flat_map(|f| f.findings.iter().cloned())
        .collect();
    if !findings.is_empty() {
        out.push('\n');
        out.push_str(&human_findings(&findings));
    }
    out
}

/// `pre-receive` for whoever pushes, in at most `most` lines.
pub fn human_push(report: &BuildReport, most: usize) -> String {
    let mut blocks: Vec<String> = Vec::new();
    for one in &report.unverifiable {
        blocks.push(format!(
            "UNVERIFIABLE  {}\n  {}\n",
            escape(&one.path),
            escape(&one.reason)
        ));
    }
    for f in report.rejected.iter().flat_map(|r| &r.findings) {
        let mut block = String::new();
        finding(&mut block, f);
        blocks.push(block);
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

/// `build-index` for people.
pub fn human_build(report: &BuildReport) -> String {
    let mut out = String::new();
    let errors = report
        .rejected
        .iter()
        .flat_map(|r| r.findings.iter().cloned());
    let findings: Vec<Finding> = errors.chain(report.warnings.iter().cloned()).collect();
    if !findings.is_empty() {
        out.push_str(&human_findings(&findings));
        out.push('\n');
    }
    for item in &report.unverifiable {
        let _ = writeln!(
            out,
            "UNVERIFIABLE  {}  ({})",
            escape(&item.path),
            escape(&item.reason)
        );
    }
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
    out
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn foreign_text_is_harmless() {
        for (text, shown) in [
            ("a\x1b[31mb", "a\\u{1b}[31mb"),
            ("a\r\nb", "a\\u{d}\\u{a}b"),
            ("\u{202e}x", "\\u{202e}x"),
            ("\u{200b}\u{feff}\u{9b}", "\\u{200b}\\u{feff}\\u{9b}"),
            ("plain é 日本 🦀", "plain é 日本 🦀"),
        ] {
            assert_eq!(escape(text), shown);
        }
    }
}
