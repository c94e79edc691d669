//! Standard output and error. A reader that went away is no reason to fail: the exit status still tells the verdict.

use std::io::Write as _;

/// A result, to standard output.
pub fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// A diagnostic, to standard error.
pub fn error(text: &str) {
    let mut out = std::io::stderr().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// A result as JSON, to standard output.
pub fn json(value: &impl serde::Serialize) -> Result<(), super::Failure> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    print(&text);
    Ok(())
}
