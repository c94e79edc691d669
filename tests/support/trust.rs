//! Keys of a `trust-registry.json`.

use serde_json::{Value, json};

use super::keys;

/// A key of `trust-registry.json`.
#[derive(Clone)]
pub struct TrustKey {
    pub seed: [u8; 32],
    pub publisher: String,
    pub status: String,
    pub not_before: String,
    pub not_after: String,
    pub revoked: Option<(String, String)>,
}

impl TrustKey {
    /// An active key with a namespace proof, from 2026 to 2030.
    pub fn active(seed: [u8; 32], publisher: &str) -> Self {
        Self {
            seed,
            publisher: publisher.to_owned(),
            status: "active".to_owned(),
            not_before: "2026-01-01T00:00:00Z".to_owned(),
            not_after: "2030-01-01T00:00:00Z".to_owned(),
            revoked: None,
        }
    }

    /// The same key, revoked on 1 August 2026 for this reason.
    pub fn revoked(mut self, reason: &str) -> Self {
        self.status = "revoked".to_owned();
        self.revoked = Some(("2026-08-01T00:00:00Z".to_owned(), reason.to_owned()));
        self
    }

    fn json(&self) -> Value {
        let public = keys::public(&self.seed);
        let proof = match self.publisher.strip_prefix("io.github.") {
            Some(owner) => json!({
                "method": "github-oidc",
                "oidcSubject": format!("repo:{}/agents:ref:refs/heads/main", owner.split('/').next().unwrap_or_default()),
                "oidcIssuer": "https://token.actions.githubusercontent.com",
                "verifiedAt": "2026-01-02T00:00:00Z",
            }),
            None => {
                let domain: Vec<&str> = self.publisher.split('.').rev().collect();
                json!({
                    "method": "dns-txt",
                    "txtRecord": format!("_acx-challenge.{}", domain.join(".")),
                    "verifiedAt": "2026-01-02T00:00:00Z",
                })
            }
        };
        let mut key = json!({
            "keyid": keys::keyid(&public),
            "publisherId": self.publisher,
            "algorithm": "ed25519",
            "publicKeyPem": keys::public_pem(&public),
            "status": self.status,
            "notBefore": self.not_before,
            "notAfter": self.not_after,
            "namespaceProof": proof,
        });
        if let Some((at, reason)) = &self.revoked {
            key["revokedAt"] = at.as_str().into();
            key["revocationReason"] = reason.as_str().into();
        }
        key
    }
}

/// A valid `trust-registry.json` with these keys.
pub fn trust_registry(trusted: &[TrustKey]) -> Value {
    json!({
        "schemaVersion": "acx.trust-registry/1",
        "registryId": "com.example.registry",
        "updatedAt": "2026-06-01T00:00:00Z",
        "keys": trusted.iter().map(TrustKey::json).collect::<Vec<_>>(),
    })
}
