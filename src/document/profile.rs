//! What a document must have to be published, and its lineage.

use std::collections::BTreeSet;

use super::{Issue, IssueKind, Kind, at, list, text};
use crate::model::Json;
use crate::model::json::{member, shown};
use crate::schema::is_url;

const SCHEMES: &[&str] = &["https://", "http://"];

pub(super) fn check(kind: Kind, value: &Json, issues: &mut Vec<Issue>) {
    let mut report = |pointer: String, message: &str| {
        issues.push((IssueKind::Profile, pointer, message.to_owned()));
    };
    for name in [
        "version",
        "name",
        "description",
        "license",
        "authors",
        "tags",
    ] {
        if value.get(name).is_none() {
            report(
                member("", name),
                "the field is missing; a published document needs it",
            );
        }
    }
    for (name, least) in [("name", 3), ("description", 20)] {
        if let Some(found) = value.get(name).and_then(Json::as_str)
            && trimmed(found).encode_utf16().count() < least
            && found.chars().count() >= least
        {
            report(
                member("", name),
                &format!("expected at least {least} characters besides blanks"),
            );
        }
    }
    if let Some(license) = value.get("license").and_then(Json::as_str)
        && !license.is_empty()
        && !is_spdx(license)
    {
        report(
            "/license".to_owned(),
            "expected an SPDX expression such as `Apache-2.0 OR MIT`",
        );
    }
    if value
        .get("homepage")
        .and_then(Json::as_str)
        .is_some_and(|url| !is_url(url, SCHEMES))
    {
        report(
            "/homepage".to_owned(),
            "expected an http or https address with a host and without user info",
        );
    }
    for (place, author) in list(value, "authors").iter().enumerate() {
        let name = author.get("name").and_then(Json::as_str);
        if name.is_some_and(|name| !name.is_empty() && trimmed(name).is_empty()) {
            report(
                at("authors", place, "/name"),
                "expected a name that is not blank",
            );
        }
        if author
            .get("url")
            .and_then(Json::as_str)
            .is_some_and(|url| !is_url(url, SCHEMES))
        {
            report(
                at("authors", place, "/url"),
                "expected an http or https address with a host and without user info",
            );
        }
    }
    if kind == Kind::AgentGraph {
        for (place, item) in list(value, "loops").iter().enumerate() {
            let Some(pinned) = item
                .get("workflowRef")
                .filter(|_| text(item, "kind") == "acx-workflow")
            else {
                continue;
            };
            for name in ["publisherId", "version", "digest"] {
                if pinned.get(name).is_none() {
                    report(
                        at("loops", place, &format!("/workflowRef/{name}")),
                        "the field is missing; a published graph pins its workflows",
                    );
                }
            }
        }
    }
}

/// Whether a text is an SPDX expression by its syntax.
fn is_spdx(text: &str) -> bool {
    let spaced = text.replace('(', " ( ").replace(')', " ) ");
    let mut depth = 0_usize;
    // What stands before: an operator or nothing, an operand, an operand that WITH may follow, WITH itself.
    #[derive(PartialEq)]
    enum Last {
        Operator,
        Simple,
        Whole,
        With,
    }
    let mut last = Last::Operator;
    for token in spaced.split_ascii_whitespace() {
        last = match (token, last) {
            ("(", Last::Operator) => {
                depth += 1;
                Last::Operator
            }
            (")", Last::Simple | Last::Whole) if depth > 0 => {
                depth -= 1;
                Last::Whole
            }
            ("AND" | "OR", Last::Simple | Last::Whole) => Last::Operator,
            ("WITH", Last::Simple) => Last::With,
            (operand, before @ (Last::Operator | Last::With)) if is_operand(operand) => {
                if before == Last::With {
                    Last::Whole
                } else {
                    Last::Simple
                }
            }
            _ => return false,
        };
    }
    depth == 0 && matches!(last, Last::Simple | Last::Whole)
}

fn is_operand(token: &str) -> bool {
    token
        .bytes()
        .next()
        .is_some_and(|b| b.is_ascii_alphanumeric())
        && token
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'+' | b'-'))
        && !["AND", "OR", "WITH"]
            .iter()
            .any(|word| token.starts_with(word))
}

/// What the schema cannot say of the lineage: parents that are equal, or the document itself.
pub(super) fn lineage(kind: Kind, value: &Json, publisher: Option<&str>, issues: &mut Vec<Issue>) {
    let Some(lineage) = value.get("lineage") else {
        return;
    };
    let mut seen = BTreeSet::new();
    for (place, parent) in list(lineage, "parents").iter().enumerate() {
        let pointer = format!("/lineage/parents/{place}");
        let names = ["artifactType", "publisherId", "id", "version", "digest"];
        let key = names.map(|name| parent.get(name).map(Json::to_string));
        if !seen.insert(key) {
            issues.push((
                IssueKind::Lineage,
                pointer.clone(),
                "the parent is there twice; remove one".to_owned(),
            ));
        }
        let version = parent.get("version");
        let own = text(parent, "artifactType") == kind.artifact().as_str()
            && parent.get("publisherId").and_then(Json::as_str) == publisher
            && parent.get("id") == value.get("id")
            && (version.is_none() || version == value.get("version"));
        if own {
            let found = version.map_or_else(|| "no version".to_owned(), shown);
            issues.push((
                IssueKind::Lineage,
                pointer,
                format!("the parent is the document itself ({found})"),
            ));
        }
    }
}

/// Without the white space at its ends, ECMAScript's U+FEFF included.
fn trimmed(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn licenses() {
        for good in [
            "MIT",
            "(Apache-2.0 OR MIT) AND GPL-2.0-only WITH Classpath-exception-2.0",
            "((MIT))",
            "LicenseRef-x",
        ] {
            assert!(is_spdx(good), "{good}");
        }
        for bad in [
            "",
            "MIT AND",
            "MIT or ISC",
            "AND",
            "ANDROID",
            "(MIT",
            "MIT)",
            "MIT ISC",
            "(MIT) WITH x",
            "MIT WITH a WITH b",
            "DocumentRef-a:LicenseRef-b",
            "()",
        ] {
            assert!(!is_spdx(bad), "{bad}");
        }
    }
}
