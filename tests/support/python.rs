//! The Python that judges from outside: its virtual environment, made once.
//!
//! `ACX_INTEROP_VENV` names the environment to use or make.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A Python with everything of `tests/interop/requirements.txt`, in a virtual environment that is made once.
pub fn python() -> Result<PathBuf, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let requirements = root.join("tests/interop/requirements.txt");
    let venv = std::env::var_os("ACX_INTEROP_VENV").map_or_else(
        || Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("interop-venv"),
        PathBuf::from,
    );
    let python = venv.join(if cfg!(windows) {
        "Scripts/python.exe"
    } else {
        "bin/python"
    });
    let run = |command: &mut Command| match command.output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!(
            "{command:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        )),
        Err(error) => Err(format!("{command:?}: {error}")),
    };
    let ready = || {
        let readers = "import lance, lancedb, pyarrow, numpy, cryptography, xmlschema";
        run(Command::new(&python).args(["-c", readers]))
    };
    if ready().is_err() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
        let mut pip = Command::new(&python);
        pip.args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "-r",
        ]);
        run(pip.arg(requirements))?;
        ready()?;
    }
    Ok(python)
}
