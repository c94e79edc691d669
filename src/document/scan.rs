//! Private names and secrets in a document. These forms are the format's own, narrower and stricter than the scrub gate's:
//! what one verifier refuses, every one must.

use std::sync::LazyLock;

use regex::Regex;

use super::{Issue, IssueKind, Kind, at, list};
use crate::attest::Envelope;
use crate::model::json::member;
use crate::model::{Digest, Json};
use crate::secret::private_key_block;

const FORMS: [(&str, &str); 10] = [
    (
        "pem-private-key",
        r"(?i)-----BEGIN (?:(?:RSA|EC|OPENSSH|DSA|PGP) )?PRIVATE KEY-----",
    ),
    ("aws-access-key", r"(?-u:\b)AKIA[A-Z0-9]{16}(?-u:\b)"),
    (
        "github-token",
        r"(?-u:\b)gh[pousr]_[A-Za-z0-9]{36,}(?-u:\b)",
    ),
    ("slack-token", r"xox[abprs]-[A-Za-z0-9-]{10,}"),
    ("google-api-key", r"(?-u:\b)AIza[A-Za-z0-9_-]{35}(?-u:\b)"),
    (
        "jwt",
        r"eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
    ),
    ("uri-credentials", r"://[^\s/:@]+:[^\s/@]+@"),
    (
        "secret-assignment",
        r#"(?i-u:(?:secret|token|password|passwd|pwd|(?:api|access|private)[_-]?key)[A-Za-z0-9_-]*)\s*[=:]\s*["']?[^\s"']{6,}"#,
    ),
    (
        "home-path",
        r"(?i-u:/Users/|/home/|[a-z]:\\Users\\)[A-Za-z0-9._-]",
    ),
    ("home-path", r#"(?:^|[\s"'`(])~[/\\]"#),
];

static COMPILED: LazyLock<Vec<(&str, Option<Regex>)>> = LazyLock::new(|| {
    let compile = |(id, form): (&'static str, &str)| (id, Regex::new(form).ok());
    FORMS.map(compile).into()
});

/// The rule that a text trips, if one.
fn secret(text: &str) -> Option<&'static str> {
    // A form that does not compile lets nothing pass; a test compiles each.
    let form = COMPILED
        .iter()
        .find(|(_, form)| form.as_ref().is_none_or(|form| form.is_match(text)));
    if let Some((id, _)) = form {
        return Some(id);
    }
    let ends = |c: char| c.is_whitespace() || "\"'`,;()[]{}".contains(c);
    text.split(ends).any(is_random).then_some("high-entropy")
}

fn is_random(part: &str) -> bool {
    if part.len() >= 32 && part.bytes().all(|b| b.is_ascii_hexdigit()) {
        return true;
    }
    let class = |b: u8| b.is_ascii_alphanumeric() || b"+/_=-".contains(&b);
    let long = part.len() >= 40 || part.bytes().any(|b| b.is_ascii_digit());
    if part.len() < 24 || !long || !part.bytes().all(class) {
        return false;
    }
    let mut counts = [0_u32; 256];
    for byte in part.bytes() {
        if let Some(count) = counts.get_mut(usize::from(byte)) {
            *count += 1;
        }
    }
    let length = part.len() as f64;
    let used = counts.iter().filter(|count| **count > 0);
    let bits: f64 = used
        .clone()
        .map(|count| f64::from(*count) / length)
        .map(|share| -share * share.log2())
        .sum();
    bits >= 4.0 && bits >= 0.85 * (used.count() as f64).log2()
}

pub(super) fn check(kind: Kind, value: &Json, issues: &mut Vec<Issue>) {
    if let Some(members) = value.as_object() {
        for (name, item) in members.iter().filter(|(name, _)| *name != "integrity") {
            walk(item, &mut vec![name], &member("", name), issues);
        }
    }
    let envelope = value.pointer("/integrity/envelope");
    let envelope = envelope.and_then(|envelope| Envelope::of_json(envelope).ok());
    if envelope.is_some_and(|envelope| private_key_block(&envelope.payload).is_some()) {
        issues.push((
            IssueKind::Secret,
            "/integrity/envelope/payload".to_owned(),
            "the signed statement has a private key in it".to_owned(),
        ));
    }
    if let Some(extensions) = value.get("extensions") {
        names(extensions, "/extensions", &[kind], issues);
    }
    if kind == Kind::Workflow {
        for (place, item) in list(value, "rac").iter().enumerate() {
            if let Some(okf) = item.get("okf") {
                names(
                    okf,
                    &at("rac", place, "/okf"),
                    &[Kind::Workflow, Kind::AgentGraph],
                    issues,
                );
            }
        }
    }
}

/// Whether a digest belongs at this place; lists leave no name.
fn is_digest_place(path: &[&str]) -> bool {
    matches!(
        path,
        ["participants", "romDigest"]
            | ["loops", "workflowRef", "digest"]
            | ["lineage", "parents", "digest"]
    )
}

/// Recursion is as deep as the parser allows, 100 levels.
fn walk<'a>(value: &'a Json, path: &mut Vec<&'a str>, pointer: &str, issues: &mut Vec<Issue>) {
    let mut report = |pointer: &str, id: &str, what: &str| {
        issues.push((
            IssueKind::Secret,
            pointer.to_owned(),
            format!("{what} has the look of a secret ({id})"),
        ));
    };
    match value {
        Json::String(text) => {
            let is_digest = Digest::try_from(text.as_str()).is_ok();
            if is_digest && is_digest_place(path) {
                return;
            }
            let text = text
                .strip_prefix("sha256:")
                .filter(|_| is_digest)
                .unwrap_or(text);
            if let Some(id) = secret(text) {
                report(pointer, id, "the text");
            }
        }
        Json::Array(items) => {
            for (place, item) in items.iter().enumerate() {
                walk(item, path, &format!("{pointer}/{place}"), issues);
            }
        }
        Json::Object(members) => {
            for (name, item) in members {
                if let Some(id) = secret(name) {
                    // The name itself is not repeated, nor what is below it.
                    issues.push((
                        IssueKind::Secret,
                        pointer.to_owned(),
                        format!("a member's name has the look of a secret ({id})"),
                    ));
                    continue;
                }
                path.push(name);
                walk(item, path, &member(pointer, name), issues);
                path.pop();
            }
        }
        _ => {}
    }
}

const WORKFLOW: &str = "credential password passwd secret privatekey apikey accesstoken accesskey authtoken authkey bearertoken refreshtoken clienttoken clientsecret taskcontent knowledgecontent payload transcript";
const GRAPH_WHOLE: &str = "content body message messages payload transcript token knowledgecontent privatecontent sourcecontent taskcontent";
const GRAPH_PART: &str = "credential password passwd secret privatekey apikey accesstoken authtoken bearertoken refreshtoken clienttoken apitoken";

fn is_private(name: &str, kind: Kind) -> bool {
    let plain: String = name
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect();
    match kind {
        Kind::Workflow => WORKFLOW.split(' ').any(|word| plain.contains(word)),
        Kind::AgentGraph => {
            GRAPH_WHOLE.split(' ').any(|word| plain == word)
                || GRAPH_PART.split(' ').any(|word| plain.contains(word))
        }
    }
}

fn names(value: &Json, pointer: &str, kinds: &[Kind], issues: &mut Vec<Issue>) {
    match value {
        Json::Array(items) => {
            for (place, item) in items.iter().enumerate() {
                names(item, &format!("{pointer}/{place}"), kinds, issues);
            }
        }
        Json::Object(members) => {
            for (name, item) in members {
                let at = member(pointer, name);
                if kinds.iter().any(|kind| is_private(name, *kind)) {
                    issues.push((
                        IssueKind::PrivateName,
                        at.clone(),
                        "a name for private content; remove the member".to_owned(),
                    ));
                }
                names(item, &at, kinds, issues);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        assert!(COMPILED.iter().all(|(_, form)| form.is_some()));
        for (text, id) in [
            ("max_token_count: 100000", Some("secret-assignment")),
            ("see ~/notes", Some("home-path")),
            ("C:\\Users\\ada", Some("home-path")),
            ("/HOME/ada", Some("home-path")),
            ("https://a:b@c", Some("uri-credentials")),
            ("https://a.example/b", None),
            ("a plain sentence of words", None),
        ] {
            assert_eq!(secret(text), id, "{text}");
        }
        let hex = "ab".repeat(16);
        assert_eq!(secret(&hex), Some("high-entropy"));
        assert_eq!(secret(&format!("see sha256:{}", "ab".repeat(32))), None);
    }
}
