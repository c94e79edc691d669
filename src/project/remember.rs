//! An entry that is kept, so that a cartridge whose bytes are known need not be read again. What more than the bytes
//! decide (whose the key is, what time it is, where the file stands, what the policy says) is asked anew each time.

use serde::{Deserialize, Serialize};

use super::Projected;
use crate::check::{self, Settings};
use crate::finding::{Finding, Severity};
use crate::model::{KeyId, Trust};
use crate::verdict::{Admitted, CLAIMS, Seen, is_of_the_key};

/// An admitted cartridge, as far as its bytes alone say it: made of an [`Admitted`] and of nothing else.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Remembered {
    projected: Projected,
    claims: [Option<String>; 3],
    warnings: Vec<Warning>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Warning {
    code: String,
    message: String,
    table: Option<String>,
    row: Option<String>,
    pointer: Option<String>,
}

/// A remembered cartridge, judged anew.
#[derive(Debug)]
pub struct Recalled {
    /// Its entry, where it is admitted.
    pub projected: Option<Projected>,
    /// Errors and warnings, sorted.
    pub findings: Vec<Finding>,
    /// The publisher and the signer's key.
    pub signer: (String, KeyId),
}

impl Remembered {
    /// What is to be kept of an admitted cartridge; `None` where more than its bytes decided.
    pub fn of(admitted: &Admitted, projected: &Projected) -> Option<Self> {
        // What a credential is worth depends on the issuers' keys, their status lists and the time.
        if !admitted.signed().carries_key || !admitted.documents().credentials.is_empty() {
            return None;
        }
        let warnings = admitted.warnings()?.iter().map(|f| Warning {
            code: f.code.to_owned(),
            message: f.message.clone(),
            table: f.location.table.map(str::to_owned),
            row: f.location.row.clone(),
            pointer: f.location.pointer.clone(),
        });
        Some(Self {
            projected: projected.clone(),
            claims: CLAIMS.map(|key| admitted.cartridge().meta(key).map(str::to_owned)),
            warnings: warnings.collect(),
        })
    }

    /// Judges it by this policy, these keys and this time, in this place; `None` where it has to be read again.
    pub fn recall(
        self,
        path: &str,
        settings: Settings<'_>,
        place: impl FnOnce(Seen<'_>, &mut Vec<Finding>),
    ) -> Option<Recalled> {
        let mut projected = self.projected;
        let entry = &mut projected.entry;
        let revoked = settings
            .trust
            .get(&entry.keyid)
            .is_some_and(|key| key.compromised());
        if revoked || settings.now.is_before(&entry.signed_at) {
            return None;
        }
        let mut findings = Vec::with_capacity(self.warnings.len());
        for warning in &self.warnings {
            let rule = check::rule(&warning.code)?;
            let level = settings.policy.level(rule.info());
            let at = check::Place {
                table: match &warning.table {
                    Some(table) => Some(check::table(table)?),
                    None => None,
                },
                row: warning.row.clone(),
                pointer: warning.pointer.clone(),
            };
            check::Sink::new(rule, path, level, &mut findings).report(at, warning.message.as_str());
        }
        let [publisher, id, version] = self.claims.each_ref().map(Option::as_deref);
        let (trust, _) = check::origin(
            publisher.unwrap_or_default(),
            &entry.keyid,
            &entry.signed_at,
            settings.trust,
            settings.own_keys,
            settings.now,
        );
        let seen = Seen {
            sha256: entry.sha256,
            claims: [publisher, id, version],
            manifest: Some(entry.digest),
            trust,
        };
        place(seen, &mut findings);
        crate::finding::sort(&mut findings);
        let trust = trust.min(Trust::Trusted);
        entry.path = path.to_owned();
        entry.trust = trust;
        entry.trust_status = trust.status().to_owned();
        let signer = (
            publisher.unwrap_or_default().to_owned(),
            entry.keyid.clone(),
        );
        let accepted = findings.iter().all(|f| f.severity != Severity::Error);
        let of_the_key = is_of_the_key(&findings);
        if !accepted && !of_the_key {
            // Rare, and then every word of the full judgement counts.
            return None;
        }
        Some(Recalled {
            projected: accepted.then_some(projected),
            findings,
            signer,
        })
    }
}
