//! Small checked types. Each is made from text by `TryFrom`/`FromStr`, so holding one is proof that the text was
//! of the right form.

pub mod coordinate;
pub mod digest;
pub mod hex;
pub mod ident;
pub mod json;
pub mod keyid;
pub mod path;
pub mod time;
pub mod trust;
pub mod version;

pub use coordinate::Coordinate;
pub use digest::Digest;
pub use ident::{ArtifactId, ArtifactType, DocumentId, PublisherId, PublisherScope};
pub use json::{Json, JsonError, JsonErrorKind};
pub use keyid::KeyId;
pub use path::RegistryPath;
pub use time::Timestamp;
pub use trust::Trust;
pub use version::Version;

/// A text that is not of the form its type asks for: what was expected, and what was found (shortened).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// The form that was expected, as a noun phrase.
    pub expected: &'static str,
    /// The text that was found, at most [`SHOWN`] characters of it.
    pub found: String,
}

/// Characters of a foreign text that a message repeats.
pub const SHOWN: usize = 96;

/// The first [`SHOWN`] characters of a foreign text, with an ellipsis where it was longer.
pub fn shorten(text: &str) -> String {
    cut(text, SHOWN)
}

/// At most so many characters of a text, with an ellipsis where it was longer.
pub fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// The candidate that is most like a foreign text, where one is alike at all.
pub fn nearest<'a>(text: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let text = shorten(text);
    candidates
        .map(|c| (strsim::jaro_winkler(&text, c), c))
        .filter(|(score, _)| *score > 0.6)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, c)| c)
}

impl Malformed {
    pub(crate) fn new(expected: &'static str, found: &str) -> Self {
        Self {
            expected,
            found: shorten(found),
        }
    }
}

impl std::fmt::Display for Malformed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "expected {}, found {:?}", self.expected, self.found)
    }
}

impl std::error::Error for Malformed {}

/// `Display`, `TryFrom<&str>`, `FromStr`, `Serialize` and `Deserialize` for a checked text type with `as_str` and
/// `check(&str) -> bool`.
macro_rules! checked_text {
    ($type:ty, $expected:literal) => {
        impl TryFrom<&str> for $type {
            type Error = $crate::model::Malformed;
            fn try_from(text: &str) -> Result<Self, Self::Error> {
                if Self::check(text) {
                    Ok(Self(text.to_owned()))
                } else {
                    Err($crate::model::Malformed::new($expected, text))
                }
            }
        }
        $crate::model::text_traits!($type);
    };
}

/// The traits of a text type that follow from `TryFrom<&str>` and `as_str`.
macro_rules! text_traits {
    ($type:ty) => {
        impl std::str::FromStr for $type {
            type Err = $crate::model::Malformed;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::try_from(text)
            }
        }
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <String as serde::Deserialize>::deserialize(deserializer)?;
                Self::try_from(text.as_str()).map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use {checked_text, text_traits};
