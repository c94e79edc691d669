//! Identifiers of publishers and artifacts.

use serde::{Deserialize, Serialize};

/// Bytes an identifier may have; the grammar sets no limit for publishers, file systems do.
const LONGEST: usize = 255;

/// A publisher: reversed domain labels, such as `io.github.alice`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublisherId(String);

impl PublisherId {
    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn check(text: &str) -> bool {
        text.len() <= LONGEST && is_publisher(text)
    }
}

super::checked_text!(PublisherId, "a publisher id such as `io.github.alice`");

/// A publisher as the trust registry and the status ledger name it: a [`PublisherId`], optionally followed by
/// segments such as `/project`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublisherScope(String);

impl PublisherScope {
    /// The scope as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn check(text: &str) -> bool {
        if text.len() > LONGEST {
            return false;
        }
        let (head, tail) = text.split_at(text.find('/').unwrap_or(text.len()));
        // A `.`-tail segment may hold `.`, `_` and `-` where a label may not; every prefix that ends at a dot may
        // be the publisher proper.
        let head_ok = is_publisher(head)
            || head.match_indices('.').any(|(at, _)| {
                let (publisher, rest) = head.split_at(at);
                is_publisher(publisher) && rest.get(1..).is_some_and(is_tail_segment)
            });
        head_ok && tail.split('/').skip(1).all(is_tail_segment)
    }
}

super::checked_text!(
    PublisherScope,
    "a publisher id, optionally with a tail such as `io.github.alice/project`"
);

/// The id of a cartridge within its publisher: `^[a-z][a-z0-9-]{0,63}$`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArtifactId(String);

impl ArtifactId {
    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn check(text: &str) -> bool {
        is_word(text, 64, |b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-'))
    }
}

super::checked_text!(
    ArtifactId,
    "an artifact id: a lower-case letter, then at most 63 lower-case letters, digits and hyphens"
);

/// The id of a workflow, an Agent Graph or a template: `^[a-z][a-z0-9._-]{0,127}$`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocumentId(String);

impl DocumentId {
    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn check(text: &str) -> bool {
        is_word(
            text,
            128,
            |b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-'),
        )
    }
}

super::checked_text!(
    DocumentId,
    "an id: a lower-case letter, then at most 127 lower-case letters, digits, dots, underscores and hyphens"
);

impl From<ArtifactId> for DocumentId {
    /// Every cartridge's id has the form of the others'.
    fn from(id: ArtifactId) -> Self {
        Self(id.0)
    }
}

/// The kinds of artifact a registry holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArtifactType {
    /// A cartridge.
    Agent,
    /// A signed workflow.
    Workflow,
    /// A signed Agent Graph.
    AgentGraph,
}

fn is_word(text: &str, longest: usize, allowed: fn(u8) -> bool) -> bool {
    text.len() <= longest
        && text.bytes().next().is_some_and(|b| b.is_ascii_lowercase())
        && text.bytes().all(allowed)
}

fn is_lower_alnum(b: u8) -> bool {
    b.is_ascii_lowercase() || b.is_ascii_digit()
}

/// `^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z0-9][a-z0-9-]*$`
fn is_publisher(text: &str) -> bool {
    let Some((labels, last)) = text.rsplit_once('.') else {
        return false;
    };
    let label = |l: &str| {
        l.bytes().next().is_some_and(is_lower_alnum)
            && l.bytes().all(|b| is_lower_alnum(b) || b == b'-')
    };
    label(last) && labels.split('.').all(|l| label(l) && !l.ends_with('-'))
}

/// `[a-z0-9][a-z0-9._-]*`
fn is_tail_segment(text: &str) -> bool {
    text.bytes().next().is_some_and(is_lower_alnum)
        && text
            .bytes()
            .all(|b| is_lower_alnum(b) || matches!(b, b'.' | b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn publishers() {
        for good in ["io.github.alice", "a.b", "0.1", "io.x-y.z-"] {
            assert!(PublisherId::try_from(good).is_ok(), "{good}");
        }
        for bad in [
            "", "alice", "io..x", ".io.x", "io.x.", "io.-x.y", "io.x-.y", "IO.x", "io.x/y",
            "io.x_y", "io.é",
        ] {
            assert!(PublisherId::try_from(bad).is_err(), "{bad}");
        }
        for good in [
            "io.github.alice",
            "io.github.alice/project",
            "io.github.alice.pro_ject",
            "a.b/c.d-e/f",
        ] {
            assert!(PublisherScope::try_from(good).is_ok(), "{good}");
        }
        for bad in [
            "alice/project",
            "io.x/",
            "io.x//y",
            "io.x/-y",
            "io.x/Y",
            "a.b._c",
        ] {
            assert!(PublisherScope::try_from(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn artifact_ids() {
        for good in ["a", "build-smith", "a1-", &"a".repeat(64)] {
            assert!(ArtifactId::try_from(good).is_ok(), "{good}");
        }
        for bad in ["", "1a", "-a", "A", "a.b", "a_b", &"a".repeat(65)] {
            assert!(ArtifactId::try_from(bad).is_err(), "{bad}");
        }
        assert!(DocumentId::try_from("a.b_c-d").is_ok());
        assert!(DocumentId::try_from(".a").is_err());
    }
}
