//! One file of the registry → its outcome. Runs on many threads, so it shares nothing but what it reads.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;

use super::sidecar::{self, Derived};
use crate::check::{self, Checked, Place, Settings, Sink};
use crate::container::Refusal;
use crate::discover::{Entry, Oddity, OddityKind, SIDECAR};
use crate::disk::{self, ReadError};
use crate::finding::{Finding, Severity};
use crate::lance;
use crate::model::{Coordinate, RegistryPath, Timestamp, Trust};
use crate::policy::Policy;
use crate::project::{self, Projected};
use crate::publish::Published;
use crate::registry::Registry;
use crate::secret;
use crate::verdict::{self, Admitted, Judgement};

/// What became of one path.
pub(super) enum Outcome {
    /// Indexed, unless the join of all finds something.
    Accepted(Box<Indexable>),
    /// At least one error.
    Rejected,
    /// Nothing is known of it.
    Unverifiable(String),
}

/// A cartridge that may be indexed.
pub(super) struct Indexable {
    pub projected: Projected,
    /// Its dataset on the disk is missing or another.
    pub stale: bool,
}

/// One path, judged.
pub(super) struct Judged {
    pub path: String,
    pub outcome: Outcome,
    /// Errors and warnings.
    pub findings: Vec<Finding>,
    /// The policy's waivers that lowered a finding, by place in the policy.
    pub waivers: BTreeSet<usize>,
}

/// What every judgement of a run reads.
pub(super) struct Stage<'a> {
    pub registry: &'a Registry,
    /// The time that counts for keys and waivers.
    pub now: &'a Timestamp,
    /// What was published before, by path.
    pub published: BTreeMap<&'a str, &'a Published>,
}

/// Reports for a rule that no single cartridge can trip.
pub(super) fn report(
    policy: &Policy,
    code: &str,
    path: &str,
    place: Place,
    message: impl Into<String>,
    to: &mut Vec<Finding>,
) {
    if let Some(rule) = check::rule(code) {
        Sink::new(rule, path, policy.level(rule.info()), to).report(place, message);
    }
}

/// A file that is too large to be read at all.
pub(super) fn too_large(policy: &Policy, path: &str, bytes: u64, to: &mut Vec<Finding>) {
    let most = policy.limits.file_bytes;
    let message = format!("the file has {bytes} bytes, at most {most} are accepted");
    report(
        policy,
        "container-too-large",
        path,
        Place::file(),
        message,
        to,
    );
}

/// The policy's minimum; what is not even portable is rejected for that.
pub(super) fn minimum_trust(policy: &Policy, path: &str, found: Trust, to: &mut Vec<Finding>) {
    let minimum = policy.minimum_trust;
    if (Trust::Portable..minimum).contains(&found) {
        let message = format!(
            "expected at least {}, found {}",
            minimum.as_str(),
            found.as_str()
        );
        report(
            policy,
            "policy-minimum-trust",
            path,
            Place::file(),
            message,
            to,
        );
    }
}

impl Stage<'_> {
    fn policy(&self) -> &Policy {
        &self.registry.policy
    }

    fn report(&self, code: &str, path: &str, message: impl Into<String>, to: &mut Vec<Finding>) {
        report(self.policy(), code, path, Place::file(), message, to);
    }

    /// Judges one `.acx` file.
    pub fn cartridge(&self, entry: &Entry) -> Judged {
        let path = entry.path.as_str();
        let bytes = match disk::read(&entry.file, self.policy().limits.file_bytes) {
            Ok(bytes) => bytes,
            Err(e) => return self.unread(path, &e),
        };
        let (judged, waivers) = self.judge(&entry.path, &bytes);
        let unverifiable = |reason: String, waivers| Judged {
            path: path.to_owned(),
            outcome: Outcome::Unverifiable(reason),
            findings: Vec::new(),
            waivers,
        };
        let mut judgement = match judged {
            Ok(judgement) => judgement,
            Err(refusal) => return unverifiable(refusal.0, waivers),
        };
        let outcome = match judgement.admitted.take() {
            Some(admitted) => match self.indexable(entry, &admitted, &mut judgement.findings) {
                Ok(indexable) => Outcome::Accepted(Box::new(indexable)),
                Err(reason) => return unverifiable(reason, waivers),
            },
            None => Outcome::Rejected,
        };
        Judged {
            path: path.to_owned(),
            outcome,
            findings: judgement.findings,
            waivers,
        }
    }

    /// Judges one `.acx` file again, for its content alone.
    pub fn admit(&self, entry: &Entry) -> Option<Box<Admitted>> {
        let bytes = disk::read(&entry.file, self.policy().limits.file_bytes).ok()?;
        self.judge(&entry.path, &bytes).0.ok()?.admitted
    }

    /// Judges the bytes of a cartridge for a place; also the waivers that were used.
    pub fn judge(
        &self,
        path: &RegistryPath,
        bytes: &[u8],
    ) -> (Result<Judgement, Refusal>, BTreeSet<usize>) {
        let settings = Settings {
            policy: self.policy(),
            trust: &self.registry.trust,
            own_keys: &[],
            now: self.now,
            public: true,
        };
        let mut waivers = BTreeSet::new();
        let judged = verdict::judge(path.as_str(), bytes, settings, |checked, findings| {
            self.place(path, checked, findings);
            waivers = self.waive(findings);
        });
        (judged, waivers)
    }

    /// The entry of an admitted cartridge, and whether its dataset on the disk is the one it gives.
    fn indexable(
        &self,
        entry: &Entry,
        admitted: &Admitted,
        findings: &mut Vec<Finding>,
    ) -> Result<Indexable, String> {
        let path = entry.path.as_str();
        let mut projected = project::entry(path, admitted);
        let mut stale = false;
        if self.policy().sidecars_enabled {
            match sidecar::derive(admitted)? {
                Derived::NoMemory => {}
                Derived::OtherEngine(engine) => {
                    let message = format!(
                        "expected the embedding engine local-hash-128, found {engine}: no dataset is written"
                    );
                    self.report("lance-other-engine", path, message, findings);
                }
                Derived::Dataset { records, dataset } => {
                    let at = entry.file.with_file_name(SIDECAR);
                    stale = !lance::matches(&dataset, &at).unwrap_or(false);
                    projected.entry.memories =
                        Some(sidecar::memories_entry(path, records.len(), &dataset));
                }
            }
        }
        Ok(Indexable { projected, stale })
    }

    /// Looks for secrets in one other file.
    pub fn file(&self, entry: &Entry) -> Option<Judged> {
        let path = entry.path.as_str();
        let mut findings = Vec::new();
        if let Some(what) = secret::secret_name(entry.path.name()) {
            self.report(
                "registry-secret",
                path,
                format!("the name says {what}"),
                &mut findings,
            );
        }
        match private_key(entry) {
            Ok(None) => {}
            Ok(Some(offset)) => {
                let message = format!("a PEM block of a private key begins at byte {offset}");
                self.report("registry-secret", path, message, &mut findings);
            }
            Err(e) => return Some(self.unread(path, &e)),
        }
        self.found(path, findings)
    }

    /// Reports what is neither file nor folder.
    pub fn oddity(&self, oddity: &Oddity) -> Option<Judged> {
        let mut findings = Vec::new();
        let (code, message) = match oddity.kind {
            OddityKind::Symlink => (
                "registry-symlink",
                "expected a file or a folder, found a symbolic link",
            ),
            OddityKind::Special => (
                "registry-symlink",
                "expected a file or a folder, found a pipe, a socket or a device",
            ),
            OddityKind::Folder => (
                "registry-path",
                "expected a cartridge's file, found a folder of such a name",
            ),
            OddityKind::Name => (
                "registry-unreadable-name",
                "expected a Unicode name at most 64 folders deep",
            ),
        };
        self.report(code, &oddity.path, message, &mut findings);
        self.found(&oddity.path, findings)
    }

    /// Findings about a path that is no cartridge; with an error among them it is rejected.
    pub fn found(&self, path: &str, mut findings: Vec<Finding>) -> Option<Judged> {
        let waivers = self.waive(&mut findings);
        (!findings.is_empty()).then(|| Judged {
            path: path.to_owned(),
            outcome: Outcome::Rejected,
            findings,
            waivers,
        })
    }

    fn unread(&self, path: &str, error: &ReadError) -> Judged {
        let mut findings = Vec::new();
        match error {
            ReadError::TooLarge(bytes) => {
                too_large(self.policy(), path, *bytes, &mut findings);
            }
            ReadError::NotAFile => {
                self.report(
                    "registry-symlink",
                    path,
                    "expected a file, found a link or a device",
                    &mut findings,
                );
            }
            ReadError::Io(_) => {}
        }
        let outcome = if findings.is_empty() {
            Outcome::Unverifiable(format!("cannot be read: {error}"))
        } else {
            Outcome::Rejected
        };
        Judged {
            path: path.to_owned(),
            outcome,
            findings,
            waivers: BTreeSet::new(),
        }
    }

    /// The rules about a cartridge's place, its past and its worth.
    fn place(&self, path: &RegistryPath, checked: &Checked, findings: &mut Vec<Finding>) {
        let text = path.as_str();
        let spelled = Coordinate::of_path(path);
        if let Err(malformed) = &spelled {
            self.report("registry-path", text, malformed.to_string(), findings);
        }
        let (Some(cartridge), Some(evidence)) = (&checked.cartridge, &checked.evidence) else {
            self.history(text, None, findings);
            return;
        };
        if let Ok(spelled) = spelled {
            let parts = [
                ("acx.publisher_id", spelled.publisher.as_str()),
                ("acx.artifact_id", spelled.id.as_str()),
                ("acx.artifact_version", spelled.version.as_str()),
            ];
            for (key, expected) in parts {
                let found = cartridge.meta(key);
                if found != Some(expected) {
                    let found = found.map_or_else(
                        || "nothing".to_owned(),
                        |f| format!("{:?}", crate::model::shorten(f)),
                    );
                    let message =
                        format!("the path says {expected:?}, the cartridge says {found} ({key})");
                    let place = Place::row("cartridge", key);
                    report(
                        self.policy(),
                        "registry-coordinate",
                        text,
                        place,
                        message,
                        findings,
                    );
                }
            }
        }
        // Nothing is written through a link, so a cartridge with one in its dataset's place cannot be indexed whole.
        let dataset = path.below(&self.registry.root).with_file_name(SIDECAR);
        if self.policy().sidecars_enabled && dataset.is_symlink() {
            let message = "a symbolic link stands where the cartridge's dataset goes";
            self.report("registry-symlink", text, message, findings);
        }
        self.history(text, Some(checked), findings);
        minimum_trust(self.policy(), text, evidence.trust, findings);
    }

    /// Published once, never changed: the file's hash is the one that was signed, and so is the content's.
    fn history(&self, path: &str, checked: Option<&Checked>, findings: &mut Vec<Finding>) {
        let Some(published) = self.published.get(path) else {
            return;
        };
        let Some(cartridge) = checked.and_then(|c| c.cartridge.as_ref()) else {
            let message = format!(
                "expected the published file ({}), found one that cannot be read",
                published.sha256
            );
            return self.report("history-changed", path, message, findings);
        };
        if cartridge.sha256 != published.sha256 {
            let message = format!(
                "expected the published file ({}), found {}",
                published.sha256, cartridge.sha256
            );
            self.report("history-changed", path, message, findings);
        } else if let Some(signed) = checked.and_then(|c| c.evidence.as_ref()?.signed.as_ref())
            && signed.manifest != published.digest
        {
            let message = format!(
                "expected the published digest {}, found {}",
                published.digest, signed.manifest
            );
            self.report("history-changed", path, message, findings);
        }
    }

    /// Lowers the errors that the policy waives; gives the waivers that did.
    fn waive(&self, findings: &mut [Finding]) -> BTreeSet<usize> {
        let mut used = BTreeSet::new();
        for finding in findings
            .iter_mut()
            .filter(|f| f.severity == Severity::Error)
        {
            let waiver = self.policy().waivers.iter().enumerate().find(|(_, w)| {
                w.holds(self.now) && w.matches(finding.code, &finding.location.path)
            });
            if let Some((at, waiver)) = waiver {
                used.insert(at);
                finding.severity = Severity::Warning;
                finding.message.push_str(&format!(
                    " (waived until {}: {})",
                    waiver.expires, waiver.reason
                ));
            }
        }
        used
    }
}

/// The offset of a private key in a file of any size, read in pieces that overlap by the longest head line.
fn private_key(entry: &Entry) -> Result<Option<u64>, ReadError> {
    const PIECE: usize = 1 << 20;
    let mut file = disk::open(&entry.file)?;
    let mut window: Vec<u8> = Vec::new();
    let mut start = 0_u64;
    loop {
        let taken = (&mut file)
            .take(PIECE as u64)
            .read_to_end(&mut window)
            .map_err(ReadError::Io)?;
        if let Some(at) = secret::private_key_head(&window) {
            return Ok(Some(start + at as u64));
        }
        if taken == 0 {
            return Ok(None);
        }
        let done = window.len().saturating_sub(secret::LONGEST_HEAD);
        window.drain(..done);
        start += done as u64;
    }
}
