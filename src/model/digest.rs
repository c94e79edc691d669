//! SHA-256 digests, written `sha256:` and 64 lower-case hex digits.

use sha2::{Digest as _, Sha256};

use super::{Malformed, hex};

/// A SHA-256 digest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The digest of all parts that `feed` hands over, as of one text.
    pub fn of_parts(feed: impl FnOnce(&mut dyn FnMut(&[u8]))) -> Self {
        let mut hasher = Sha256::new();
        feed(&mut |part| hasher.update(part));
        Self(hasher.finalize().into())
    }

    /// The digest of everything a reader gives.
    ///
    /// # Errors
    /// Whatever the reader fails with.
    pub fn of_reader(mut reader: impl std::io::Read) -> std::io::Result<Self> {
        let mut hasher = Sha256::new();
        let mut buffer = vec![0; 64 * 1024];
        loop {
            match reader.read(&mut buffer) {
                Ok(0) => return Ok(Self(hasher.finalize().into())),
                Ok(n) => hasher.update(buffer.get(..n).unwrap_or_default()),
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }

    /// The 32 bytes.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The 64 hex digits without the prefix.
    pub fn hex(&self) -> String {
        hex::encode(&self.0)
    }

    /// A digest from its 64 bare hex digits.
    pub fn from_hex(text: &str) -> Option<Self> {
        hex::decode32(text).map(Self)
    }
}

impl TryFrom<&str> for Digest {
    type Error = Malformed;
    fn try_from(text: &str) -> Result<Self, Malformed> {
        text.strip_prefix("sha256:")
            .and_then(Self::from_hex)
            .ok_or_else(|| Malformed::new("`sha256:` and 64 lower-case hex digits", text))
    }
}

impl std::str::FromStr for Digest {
    type Err = Malformed;
    fn from_str(text: &str) -> Result<Self, Malformed> {
        Self::try_from(text)
    }
}

impl std::fmt::Display for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "sha256:{}", self.hex())
    }
}

impl std::fmt::Debug for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

impl serde::Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <String as serde::Deserialize>::deserialize(deserializer)?;
        Self::try_from(text.as_str()).map_err(serde::de::Error::custom)
    }
}
