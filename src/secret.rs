//! What a secret looks like by its file's name and by its bytes.

use memchr::memmem;

/// The label of a PEM block's head line that says "private key".
const LABEL: &[u8] = b"PRIVATE KEY-----";
const BEGIN: &[u8] = b"-----BEGIN ";
/// The longest head line, `-----BEGIN ENCRYPTED PRIVATE KEY-----` and kin, has well below this many bytes.
pub const LONGEST_HEAD: usize = 64;
/// Base64 characters that make a body: fewer than any key has, more than a placeholder.
const BODY: usize = 40;

/// Why a file of this name does not belong in a registry, if so.
pub fn secret_name(name: &str) -> Option<&'static str> {
    let lower = name.to_ascii_lowercase();
    let stem = lower.strip_suffix(".pem");
    if lower == ".env" || lower.starts_with(".env.") {
        Some("an environment file")
    } else if lower.ends_with(".key.pem")
        || stem.is_some_and(|s| s.contains("private") || s.contains("secret"))
    {
        Some("a private key by its name")
    } else if [
        "id_rsa",
        "id_dsa",
        "id_ecdsa",
        "id_ed25519",
        "id_ecdsa_sk",
        "id_ed25519_sk",
    ]
    .contains(&lower.as_str())
    {
        Some("an SSH private key by its name")
    } else {
        None
    }
}

/// The offset of the head of a private key's PEM block, with or without a body.
pub fn private_key_head(bytes: &[u8]) -> Option<usize> {
    heads(bytes).next().map(|(at, _)| at)
}

/// The offset of a private key's PEM block that has a body, also as one line with escaped line ends.
pub fn private_key_block(bytes: &[u8]) -> Option<usize> {
    heads(bytes)
        .find(|(_, end)| has_body(bytes.get(*end..).unwrap_or_default()))
        .map(|(at, _)| at)
}

/// The (begin, end) of every head line `-----BEGIN … PRIVATE KEY-----`.
fn heads(bytes: &[u8]) -> impl Iterator<Item = (usize, usize)> + '_ {
    // Made once: a file may be nothing but beginnings.
    let (begin, end) = (memmem::Finder::new(BEGIN), memmem::Finder::new(LABEL));
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let at = from + begin.find(bytes.get(from..)?)?;
            from = at + BEGIN.len();
            let window = bytes
                .get(from..bytes.len().min(at + LONGEST_HEAD))
                .unwrap_or_default();
            let Some(label) = end.find(window) else {
                continue;
            };
            let kind = window.get(..label).unwrap_or_default();
            if kind
                .iter()
                .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || *b == b' ')
            {
                return Some((at, from + label + LABEL.len()));
            }
        }
    })
}

/// Whether base64 follows, past line ends (also written `\n` and `\r`), quotes, comment signs and header lines.
fn has_body(rest: &[u8]) -> bool {
    let mut run = 0;
    let mut bytes = rest.iter().take(1024).copied().peekable();
    while let Some(b) = bytes.next() {
        match b {
            b'\\' if matches!(bytes.peek(), Some(b'n' | b'r')) => {
                bytes.next();
            }
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' | b'=' => {
                run += 1;
                if run >= BODY {
                    return true;
                }
            }
            b'\n' | b'\r' | b' ' | b'\t' | b'"' | b'\'' | b'#' | b'*' => {}
            // The next line of a block begins with five of them.
            b'-' => return false,
            _ => run = 0,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    // Put together at run time, so that this file is no hit itself.
    fn head(kind: &str) -> String {
        format!("-----BEGIN {kind}PRIVATE {}-----", "KEY")
    }

    #[test]
    fn names() {
        for bad in [
            ".env",
            ".env.local",
            ".ENV",
            "a.key.pem",
            "id_rsa",
            "ID_ED25519",
            "my-private.pem",
            "Secrets.pem",
        ] {
            assert!(secret_name(bad).is_some(), "{bad}");
        }
        for good in [
            "environment",
            "a.pem",
            "id_rsa.pub",
            "README.md",
            "keys.pem",
            "env",
            "private.txt",
        ] {
            assert!(secret_name(good).is_none(), "{good}");
        }
    }

    #[test]
    fn blocks() {
        let body = "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g";
        for kind in ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED ", "DSA "] {
            let head = head(kind);
            assert_eq!(private_key_head(format!("xx{head}").as_bytes()), Some(2));
            assert_eq!(
                private_key_block(format!("xx{head}\n{body}\n").as_bytes()),
                Some(2)
            );
            assert_eq!(
                private_key_block(format!("{{\"k\":\"{head}\\n{body}\"}}").as_bytes()),
                Some(6)
            );
            assert_eq!(
                private_key_block(format!("# {head}\n# {body}").as_bytes()),
                Some(2)
            );
            assert_eq!(private_key_block(format!("{head}\n...\n").as_bytes()), None);
            // A first block without a body does not hide a second one with it.
            assert_eq!(
                private_key_block(format!("{head}…\n{head}\n{body}").as_bytes()),
                Some(head.len() + 4)
            );
        }
        assert_eq!(private_key_head(b"-----BEGIN PUBLIC KEY-----"), None);
        assert_eq!(private_key_head(b"-----BEGIN CERTIFICATE-----"), None);
        assert_eq!(private_key_head(b""), None);
    }
}
