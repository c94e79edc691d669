//! The report as JSON, version 1: `schemas/report.schema.json`.

use std::fmt::Write as _;

use serde::Serialize;

use super::Report;
use super::escape::is_hidden;

/// The report.
pub(super) fn render(report: &Report<'_>) -> Result<String, serde_json::Error> {
    match report {
        Report::Files(report) => text(report),
        Report::Build(report) => text(report),
    }
}

/// A value as JSON text, two spaces deep, with a line end. What a terminal or a job's log would act upon is escaped:
/// outside of strings JSON has none of it, and within them the escape means the same.
///
/// # Errors
/// Where the value is none that JSON has.
pub fn text(value: &impl Serialize) -> Result<String, serde_json::Error> {
    let plain = serde_json::to_string_pretty(value)?;
    let mut out = String::with_capacity(plain.len() + 1);
    for c in plain.chars() {
        if (is_hidden(c) && c != '\n') || (c == '[' && out.ends_with("##")) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out.push('\n');
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn it_means_the_same_and_a_terminal_sees_nothing() -> Result<(), serde_json::Error> {
        let hostile = "\u{9b}31m\u{202e}\u{e0001}##[error]\n\u{7f}é";
        let shown = text(&hostile)?;
        assert_eq!(
            shown,
            "\"\\u009b31m\\u202e\\udb40\\udc01##\\u005berror]\\n\\u007fé\"\n"
        );
        assert_eq!(serde_json::from_str::<String>(&shown)?, hostile);
        Ok(())
    }
}
