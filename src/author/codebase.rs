//! Naming a codebase without telling which it is: a keyed hash of its canonical name, by a salt that never leaves the
//! machine.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::model::hex;

/// Bytes that a salt has at least.
pub const SALT_BYTES: usize = 32;
/// What a fingerprint begins with.
pub const PREFIX: &str = "cbf1_";

/// An installation's secret salt. `Debug` shows nothing of it.
pub struct Salt(Vec<u8>);

impl std::fmt::Debug for Salt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Salt(…)")
    }
}

impl Salt {
    /// A salt of these bytes; `None` for fewer than [`SALT_BYTES`].
    pub fn new(bytes: Vec<u8>) -> Option<Self> {
        (bytes.len() >= SALT_BYTES).then_some(Self(bytes))
    }

    /// The fingerprint of the codebase of this identity: `cbf1_` and 40 hex digits.
    pub fn fingerprint(&self, identity: &str) -> String {
        let mut digits = match Hmac::<Sha256>::new_from_slice(&self.0) {
            Ok(mut mac) => {
                mac.update(identity.as_bytes());
                hex::encode(&mac.finalize().into_bytes())
            }
            Err(_) => unreachable!("HMAC takes a key of any length"),
        };
        digits.truncate(40);
        format!("{PREFIX}{digits}")
    }
}

/// Whether a text is a codebase fingerprint.
pub fn is_fingerprint(text: &str) -> bool {
    text.strip_prefix(PREFIX)
        .is_some_and(|digits| hex::is_hex(digits, 40))
}

/// A repository's canonical name: its URL in lower case without scheme, credentials, default port, `.git` and slashes
/// at the end; `git@host:path` reads as `host/path`.
pub fn canonical_identity(url: &str) -> String {
    let lower = url.trim().to_lowercase();
    let (scheme, rest) = match lower.split_once("://") {
        Some((scheme, rest)) => (scheme, rest),
        None => ("", lower.as_str()),
    };
    // The colons of an address in brackets are its own.
    let bracket = rest.find('[').filter(|at| {
        rest.get(..*at)
            .is_some_and(|user| !user.contains(['/', ':']))
    });
    let from = bracket
        .and_then(|at| Some(at + rest.get(at..)?.find(']')?))
        .unwrap_or(0);
    let end_of_host = rest
        .get(from..)
        .and_then(|r| r.find(['/', ':']))
        .map(|at| from + at);
    let (host, path) = match (scheme, end_of_host) {
        // Without a scheme, a colon before any slash is the scp form.
        ("", Some(at)) if rest.get(at..=at) == Some(":") => (
            rest.get(..at),
            rest.get(at + 1..).map(|p| p.trim_start_matches('/')),
        ),
        _ => {
            let at = rest.find('/').unwrap_or(rest.len());
            (
                rest.get(..at),
                rest.get(at..).map(|p| p.trim_start_matches('/')),
            )
        }
    };
    let host = host.unwrap_or_default();
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let default_port = match scheme {
        "https" => ":443",
        "http" => ":80",
        "ssh" | "git+ssh" | "ssh+git" => ":22",
        "git" => ":9418",
        "ftp" => ":21",
        "ftps" => ":990",
        _ => "",
    };
    let host = host.strip_suffix(default_port).unwrap_or(host);
    let path = path.unwrap_or_default().trim_end_matches('/');
    let path = path
        .strip_suffix(".git")
        .unwrap_or(path)
        .trim_end_matches('/');
    if path.is_empty() {
        host.to_owned()
    } else {
        format!("{host}/{path}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_repository_has_one_name() {
        for url in [
            "https://github.com/Acme/Payments",
            "https://github.com/acme/payments.git",
            "https://user:pw@github.com:443/acme/payments/",
            "ssh://git@github.com:22/acme/payments.git/",
            "git@github.com:acme/payments.git",
            "github.com/acme/payments",
        ] {
            assert_eq!(canonical_identity(url), "github.com/acme/payments", "{url}");
        }
        assert_eq!(canonical_identity("https://h:8443/a"), "h:8443/a");
        assert_eq!(canonical_identity("acme/payments"), "acme/payments");
        assert_eq!(canonical_identity("acme"), "acme");
    }

    /// RFC 4231, test case 6: a key that is longer than a block.
    #[test]
    fn hmac() {
        let salt = Salt::new(vec![0xaa; 131]);
        let text = "Test Using Larger Than Block-Size Key - Hash Key First";
        assert_eq!(
            salt.map(|s| s.fingerprint(text)).as_deref(),
            Some("cbf1_60e431591ee0b67f0d8a26aacbf5b77f8e0bc621")
        );
        assert!(Salt::new(vec![0; 31]).is_none());
    }
}
