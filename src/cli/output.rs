//! Standard output and error. A reader that went away is no reason to fail: the exit status still tells the verdict. Any
//! other failure to print a result is one.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

pub use acx_registry::report::shell_word;

static LOST: AtomicBool = AtomicBool::new(false);

/// A result could not be printed, though someone is there to read it.
pub fn is_lost() -> bool {
    LOST.load(Ordering::Relaxed)
}

/// A result, to standard output.
pub fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    if let Err(e) = out.write_all(text.as_bytes()).and_then(|()| out.flush())
        && e.kind() != std::io::ErrorKind::BrokenPipe
    {
        LOST.store(true, Ordering::Relaxed);
        error(&format!("error: the result cannot be printed: {e}\n"));
    }
}

/// A diagnostic, to standard error.
pub fn error(text: &str) {
    let mut out = std::io::stderr().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// A result as JSON, to standard output.
pub fn json(value: &impl serde::Serialize) -> Result<(), super::Failure> {
    print(&acx_registry::report::json_text(value)?);
    Ok(())
}
