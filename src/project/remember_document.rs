//! As an entry of a cartridge is kept, so is one of a document.

use serde::{Deserialize, Serialize};

use super::DocumentEntry;
use crate::check::Settings;
use crate::document::{self, Accepted, Pin};
use crate::finding::{Finding, Severity};
use crate::model::KeyId;
use crate::verdict::{Seen, is_of_the_key};

/// An accepted document that no rule has a word to say of, as far as its bytes alone say it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RememberedDocument {
    entry: DocumentEntry,
    pins: Vec<Pin>,
    /// Length of the file in bytes.
    bytes: u64,
}

/// A remembered document, judged anew.
pub(crate) struct RecalledDocument {
    /// Its entry, where it is admitted.
    pub entry: Option<DocumentEntry>,
    /// Errors and warnings, sorted.
    pub findings: Vec<Finding>,
    /// The publisher and the signer's key.
    pub signer: (String, KeyId),
}

impl RememberedDocument {
    /// What is to be kept of an accepted document; `None` where more than its bytes decided.
    pub(crate) fn of(document: &Accepted, entry: &DocumentEntry, bytes: u64) -> Option<Self> {
        document.is_plain().then(|| Self {
            entry: entry.clone(),
            pins: entry.pins.clone(),
            bytes,
        })
    }

    /// Judges it by this policy, these keys and this time, in this place; `None` where it has to be read again.
    /// `size` is the file's length in bytes, where only git's index names the blob: a file that git converts has another.
    pub(crate) fn recall(
        &self,
        path: &str,
        size: Option<u64>,
        settings: Settings<'_>,
        place: impl FnOnce(Seen<'_>, &mut Vec<Finding>),
    ) -> Option<RecalledDocument> {
        // Another place is another coordinate, and the rules have a word to say of that.
        if self.entry.path != path || size.is_some_and(|size| size != self.bytes) {
            return None;
        }
        if settings.now.is_before(&self.entry.signed_at) {
            return None;
        }
        let mut entry = self.entry.clone();
        entry.pins = self.pins.clone();
        let signed = document::Signed {
            publisher: entry.publisher.clone(),
            keyid: entry.keyid.clone(),
            signed_at: entry.signed_at.clone(),
        };
        let trust = document::origin(&signed, settings.trust, settings.now).ok()?;
        entry.trust = trust.of_cartridges();
        entry.trust_status = trust.status().to_owned();
        let seen = Seen {
            sha256: entry.sha256,
            claims: [
                Some(entry.publisher.as_str()),
                Some(entry.id.as_str()),
                Some(entry.version.as_str()),
            ],
            manifest: Some(entry.digest),
            trust: entry.trust,
        };
        let mut findings = Vec::new();
        place(seen, &mut findings);
        crate::finding::sort(&mut findings);
        let accepted = findings.iter().all(|f| f.severity != Severity::Error);
        if !accepted && !is_of_the_key(&findings) {
            return None;
        }
        Some(RecalledDocument {
            entry: accepted.then_some(entry),
            findings,
            signer: (signed.publisher, signed.keyid),
        })
    }
}
