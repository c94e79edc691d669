//! `acx site`

use std::path::{Path, PathBuf};

use acx_registry::publish::KeySource;
use acx_registry::registry::Registry;
use acx_registry::report::{ACCEPTED, REJECTED, escape};
use acx_registry::site::{self, Site};
use serde_json::json;

use super::level::IssuerArgs;
use super::{Failure, Format, Global, index, output};

/// Write a static web site of a registry's index, once it is verified as `verify-index` does
///
/// Where neither --keyid nor --pubkey nor the registry's policy names a key, the site is written, says that nobody
/// vouches for the signer, and the exit status is 1.
#[derive(clap::Args)]
#[group(skip)]
pub struct Args {
    #[command(flatten)]
    index: index::Args,
    #[command(flatten)]
    issuers: IssuerArgs,
    /// The folder of the site: new, empty, or a site that acx wrote, which is replaced
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

pub fn run(args: Args, global: Global) -> Result<u8, Failure> {
    let given = args.issuers.load()?;
    let (report, pins) = index::verify(&args.index)?;
    let by_nobody = pins.source == KeySource::Nobody;
    // That there is no key to hold the signer against is a problem too, which the pages say themselves.
    let refused = report.problems.len() > usize::from(by_nobody);
    let Some(verified) = report.index.as_ref().filter(|_| !refused) else {
        match global.format {
            Format::Human => output::print(&index::human(&report, &pins)),
            Format::Json => output::json(&json!({
                "version": 1,
                "index": report.file.to_string_lossy(),
                "out": null,
                "problems": report.problems,
            }))?,
        }
        return Ok(REJECTED);
    };
    let site = Site::new(verified, pins.source)?;
    let root = report.file.parent().unwrap_or(Path::new(""));
    // What a mirror lacks is its default; levels are shown where the keys give what the index says.
    let own = Registry::load(root, &verified.signing.signed_at)?;
    let issuers = given.unwrap_or(own.issuers);
    issuers.pinned(own.policy.issuer_keys.as_ref())?;
    let site = site.beside(root, own.policy, issuers);
    let out = escape(&args.out.to_string_lossy());
    let written =
        site::write(&site, &args.out).map_err(|e| Failure(format!("--out {out}: {e}")))?;
    match global.format {
        Format::Human => output::print(&format!(
            "{out}: {} files, {} bytes, from index {} ({})\nopen {out}/index.html\n",
            written.files,
            written.bytes,
            verified.signing.sequence,
            index::held(&pins, &verified.integrity.keyid),
        )),
        Format::Json => output::json(&json!({
            "version": 1,
            "index": report.file.to_string_lossy(),
            "keySource": index::source(&pins),
            "keyid": verified.integrity.keyid,
            "sequence": verified.signing.sequence,
            "digest": verified.integrity.digest,
            "out": args.out.to_string_lossy(),
            "files": written.files,
            "bytes": written.bytes,
            "problems": report.problems,
        }))?,
    }
    for problem in report.problems.iter().filter(|_| !global.quiet) {
        output::error(&format!("warning: {}\n", escape(problem)));
    }
    Ok(if by_nobody { REJECTED } else { ACCEPTED })
}
