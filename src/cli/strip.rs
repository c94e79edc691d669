//! `acx strip`

use std::path::{Path, PathBuf};

use acx_registry::author;
use acx_registry::disk;
use acx_registry::policy::Policy;
use acx_registry::report::{REJECTED, escape};
use serde_json::json;

use super::{Failure, Format, Global, environment, output};

/// Strip a cartridge to its ROM zone, and prove that what was signed is unchanged
#[derive(clap::Args)]
pub struct Args {
    /// The cartridge; it stays as it is
    file: PathBuf,
    /// The new file, which must not be there yet
    out: PathBuf,
}

pub fn run(args: Args, global: Global) -> Result<u8, Failure> {
    let now = environment::now()?;
    let shown = escape(&args.file.to_string_lossy());
    let shown_out = escape(&args.out.to_string_lossy());
    if is_same_file(&args.file, &args.out) {
        return Err(Failure(format!(
            "{shown_out}: is the cartridge itself; name another file, so that the original stays"
        )));
    }
    if args.out.symlink_metadata().is_ok() {
        return Err(Failure(format!(
            "{shown_out}: is there already; remove it, or name another file"
        )));
    }
    let limit = Policy::default().limits.file_bytes;
    let bytes = disk::read(&args.file, limit).map_err(|e| Failure(format!("{shown}: {e}")))?;
    let stripped = match author::strip(&bytes, &now) {
        Ok(stripped) => stripped,
        Err(why) => {
            output::error(&format!("{shown}: {}\n", escape(&why)));
            return Ok(REJECTED);
        }
    };
    if let Ok(bytes) = &stripped.bytes {
        disk::create(&args.out, bytes)
            .map_err(|e| Failure(format!("{shown_out}: cannot be written: {e}")))?;
    }
    let removed = stripped.removed;
    match global.format {
        Format::Json => output::json(&json!({
            "version": 1,
            "path": args.file.to_string_lossy(),
            "romBefore": stripped.before,
            "romAfter": stripped.after,
            "equal": stripped.bytes.is_ok(),
            "reason": stripped.bytes.as_ref().err(),
            "removed": {
                "memory": removed.memory, "files": removed.files, "vectors": removed.vectors,
                "objects": removed.objects,
            },
            "wrote": stripped.bytes.is_ok().then(|| args.out.to_string_lossy()),
        }))?,
        Format::Human => {
            let proof = match &stripped.bytes {
                Ok(_) => "EQUAL (ROM intact; SAVE removed)".to_owned(),
                Err(why) => format!("MISMATCH ({})", escape(why)),
            };
            let mut text = format!(
                "rom hash before strip: {}\nrom hash after  strip: {}\nhash-equality proof:   {proof}\n",
                stripped.before, stripped.after
            );
            if stripped.bytes.is_ok() {
                text.push_str(&format!("wrote:                 {shown_out}\n"));
            }
            output::print(&text);
        }
    }
    Ok(if stripped.bytes.is_ok() { 0 } else { REJECTED })
}

/// Whether two paths lead to one file: by the same name, through a link, or as two names of it.
fn is_same_file(a: &Path, b: &Path) -> bool {
    if let (Ok(a), Ok(b)) = (a.canonicalize(), b.canonicalize())
        && a == b
    {
        return true;
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        if let (Ok(a), Ok(b)) = (a.metadata(), b.metadata()) {
            return (a.dev(), a.ino()) == (b.dev(), b.ino());
        }
    }
    false
}
