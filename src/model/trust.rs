//! The trust taxonomy: how far a cartridge's origin is proven.

use serde::{Deserialize, Serialize};

/// Trust, from the worst to the best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    /// Envelope, digest or coverage fails, or the signer's key is compromised.
    Tampered,
    /// No envelope.
    Legacy,
    /// Signed, but the signer is not proven; or no key to verify with.
    Portable,
    /// Signed by a registered key, active and proven for the publisher.
    Trusted,
    /// As trusted, by the verifier's own key.
    Local,
}

impl Trust {
    /// The value's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tampered => "tampered",
            Self::Legacy => "legacy",
            Self::Portable => "portable",
            Self::Trusted => "trusted",
            Self::Local => "local",
        }
    }

    /// The status that goes with it: invalid, warning or verified.
    pub fn status(self) -> &'static str {
        match self {
            Self::Tampered => "invalid",
            Self::Legacy | Self::Portable => "warning",
            Self::Trusted | Self::Local => "verified",
        }
    }
}
