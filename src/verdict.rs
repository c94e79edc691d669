//! The verdict on one cartridge. An [`Admitted`] is made here alone, out of a check without errors, so nothing can be
//! indexed that was not checked.

use crate::check::{self, Checked, Documents, Evidence, Settings, Signed};
use crate::container::{Cartridge, Refusal};
use crate::finding::{Finding, Severity};
use crate::model::{Digest, KeyId, Trust};

/// A cartridge that every rule let pass.
#[derive(Debug)]
pub struct Admitted {
    cartridge: Cartridge,
    documents: Documents,
    signed: Signed,
    trust: Trust,
    clean: bool,
    /// What the rules warn of, before anything is said of the file's place; `None` where an error is waived.
    warnings: Option<Vec<Finding>>,
}

impl Admitted {
    /// The content.
    pub fn cartridge(&self) -> &Cartridge {
        &self.cartridge
    }

    /// Its JSON documents.
    pub fn documents(&self) -> &Documents {
        &self.documents
    }

    /// Who signed it, when, and the signed manifest hash.
    pub fn signed(&self) -> &Signed {
        &self.signed
    }

    /// The trust value: portable, trusted or local.
    pub fn trust(&self) -> Trust {
        self.trust
    }

    /// What the rules warn of by its bytes alone; `None` where an error was waived.
    pub(crate) fn warnings(&self) -> Option<&[Finding]> {
        self.warnings.as_deref()
    }

    /// Whether it conforms to the format; false where a waiver let it pass.
    pub fn clean(&self) -> bool {
        self.clean
    }
}

/// What a place is asked about: of a cartridge that was read, or of one that is remembered.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// SHA-256 of the file.
    pub sha256: Digest,
    /// `acx.publisher_id`, `acx.artifact_id` and `acx.artifact_version`.
    pub claims: [Option<&'a str>; 3],
    /// The signed manifest hash, where the signature verified.
    pub manifest: Option<Digest>,
    /// What the content is worth.
    pub trust: Trust,
}

pub(crate) const CLAIMS: [&str; 3] = [
    "acx.publisher_id",
    "acx.artifact_id",
    "acx.artifact_version",
];

impl<'a> Seen<'a> {
    fn of(checked: &'a Checked) -> Option<Self> {
        let (cartridge, evidence) = (checked.cartridge.as_ref()?, checked.evidence.as_ref()?);
        Some(Self {
            sha256: cartridge.sha256,
            claims: CLAIMS.map(|key| cartridge.meta(key)),
            manifest: evidence.signed.as_ref().map(|signed| signed.manifest),
            trust: evidence.trust,
        })
    }
}

/// Whether nothing stands against a cartridge but what became of its signer's key.
pub(crate) fn is_of_the_key(findings: &[Finding]) -> bool {
    findings
        .iter()
        .filter(|f| f.severity == Severity::Error)
        .all(|f| OF_THE_KEY.contains(&f.code))
}

/// What is known of a cartridge that was judged.
#[derive(Debug)]
pub struct Judgement {
    /// The cartridge, where it was admitted.
    pub admitted: Option<Box<Admitted>>,
    /// What the content is worth, where it could be read.
    pub trust: Option<Trust>,
    /// One sentence that explains the trust.
    pub summary: String,
    /// Conforms to the format, whoever signed it.
    pub clean: bool,
    /// SHA-256 of the file.
    pub sha256: Digest,
    /// Errors and warnings, sorted.
    pub findings: Vec<Finding>,
    /// The publisher and the signer's key, where nothing stands against the cartridge but what became of the key since:
    /// whoever signed it then is known, admitted or not.
    pub signer: Option<(String, KeyId)>,
}

/// The rules that say what became of a key, and not what a cartridge is.
const OF_THE_KEY: &[&str] = &[
    "policy-minimum-trust",
    "signature-compromised-key",
    "document-key",
];

impl Judgement {
    /// invalid, warning or verified.
    pub fn status(&self) -> &'static str {
        self.trust.map_or("invalid", Trust::status)
    }

    /// Whether the findings hold an error.
    pub fn is_rejected(&self) -> bool {
        self.admitted.is_none()
    }
}

/// Judges the bytes of one cartridge. `place` adds what the caller knows of the file's place (its findings count as
/// the rules' own) and may lower findings by the registry's waivers.
///
/// # Errors
/// [`Refusal`] where the tool failed: nothing is known of the file, and it must not be taken for good or bad.
pub fn judge(
    path: &str,
    bytes: &[u8],
    settings: Settings<'_>,
    place: impl FnOnce(Option<Seen<'_>>, &mut Vec<Finding>),
) -> Result<Judgement, Refusal> {
    let mut checked = check::check(path, bytes, settings)?;
    let mut findings = std::mem::take(&mut checked.findings);
    let warnings = findings
        .iter()
        .all(|f| f.severity != Severity::Error)
        .then(|| findings.clone());
    place(Seen::of(&checked), &mut findings);
    crate::finding::sort(&mut findings);
    let accepted = findings.iter().all(|f| f.severity != Severity::Error);
    let (trust, summary, signed) = match checked.evidence {
        Some(Evidence {
            trust,
            summary,
            signed,
            ..
        }) => (Some(trust), summary, signed),
        None => (
            None,
            "the file cannot be read as a cartridge".to_owned(),
            None,
        ),
    };
    let of_the_key = is_of_the_key(&findings);
    let signer = match (&checked.cartridge, &signed) {
        (Some(cartridge), Some(signed)) if of_the_key => cartridge
            .meta("acx.publisher_id")
            .map(|publisher| (publisher.to_owned(), signed.key.id().clone())),
        _ => None,
    };
    let trusted_enough = trust.is_some_and(|t| t >= Trust::Portable);
    let sha256 = match &checked.cartridge {
        Some(cartridge) => cartridge.sha256,
        None => Digest::of(bytes),
    };
    let admitted = match (checked.cartridge, checked.documents, signed, trust) {
        (Some(cartridge), Some(documents), Some(signed), Some(trust))
            if accepted && trusted_enough =>
        {
            Some(Box::new(Admitted {
                cartridge,
                documents,
                signed,
                trust,
                clean: checked.clean,
                warnings,
            }))
        }
        // Every way to end here without an error finding would be a hole in the rules; the type keeps it shut.
        _ if accepted => {
            return Err(Refusal(
                "the rules found nothing wrong, yet the signature was not verified".into(),
            ));
        }
        _ => None,
    };
    Ok(Judgement {
        admitted,
        trust,
        summary,
        clean: checked.clean,
        sha256,
        findings,
        signer,
    })
}
