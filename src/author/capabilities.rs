//! What an agent claims it can do: one capability record over its manifest's stack, as package URLs.
//!
//! Nothing is proven by it and it says so: no sample, no confidence, not verified. Names that people write become
//! package URLs by a table; a name that is not in it becomes `pkg:generic/<name>`, which claims no more than the name.

use serde_json::{Value, json};

use super::manifest::{Manifest, slug};
use crate::check::capability_id;
use crate::container::CapabilityRow;
use crate::model::{Digest, Timestamp, json as strict};

/// What people call a technology, in lower case, and its package URL.
const ALIASES: &[(&str, &str)] = &[
    ("actix", "pkg:cargo/actix-web"),
    ("airflow", "pkg:pypi/apache-airflow"),
    ("angular", "pkg:npm/%40angular/core"),
    ("ansible", "pkg:pypi/ansible"),
    ("astro", "pkg:npm/astro"),
    ("axum", "pkg:cargo/axum"),
    ("celery", "pkg:pypi/celery"),
    ("dbt", "pkg:pypi/dbt-core"),
    ("django", "pkg:pypi/django"),
    ("dotnet", "pkg:generic/dotnet"),
    ("electron", "pkg:npm/electron"),
    ("eslint", "pkg:npm/eslint"),
    ("express", "pkg:npm/express"),
    ("fastapi", "pkg:pypi/fastapi"),
    ("flask", "pkg:pypi/flask"),
    ("gin", "pkg:golang/github.com/gin-gonic/gin"),
    ("go", "pkg:generic/go"),
    ("golang", "pkg:generic/go"),
    ("jest", "pkg:npm/jest"),
    ("k8s", "pkg:generic/kubernetes"),
    ("kafka", "pkg:generic/kafka"),
    ("lancedb", "pkg:pypi/lancedb"),
    ("langchain", "pkg:pypi/langchain"),
    ("laravel", "pkg:composer/laravel/framework"),
    ("mongo", "pkg:generic/mongodb"),
    ("nestjs", "pkg:npm/%40nestjs/core"),
    ("next", "pkg:npm/next"),
    ("next.js", "pkg:npm/next"),
    ("nextjs", "pkg:npm/next"),
    ("node", "pkg:generic/node"),
    ("node.js", "pkg:generic/node"),
    ("nodejs", "pkg:generic/node"),
    ("numpy", "pkg:pypi/numpy"),
    ("nuxt", "pkg:npm/nuxt"),
    ("pandas", "pkg:pypi/pandas"),
    ("playwright", "pkg:npm/playwright"),
    ("postgres", "pkg:generic/postgresql"),
    ("prisma", "pkg:npm/prisma"),
    ("pydantic", "pkg:pypi/pydantic"),
    ("pytest", "pkg:pypi/pytest"),
    ("pytorch", "pkg:pypi/torch"),
    ("rails", "pkg:gem/rails"),
    ("react", "pkg:npm/react"),
    ("react native", "pkg:npm/react-native"),
    ("remix", "pkg:npm/%40remix-run/react"),
    ("ruby on rails", "pkg:gem/rails"),
    ("scikit-learn", "pkg:pypi/scikit-learn"),
    ("serde", "pkg:cargo/serde"),
    ("spring", "pkg:maven/org.springframework/spring-core"),
    (
        "spring boot",
        "pkg:maven/org.springframework.boot/spring-boot",
    ),
    ("sqlalchemy", "pkg:pypi/sqlalchemy"),
    ("storybook", "pkg:npm/storybook"),
    ("svelte", "pkg:npm/svelte"),
    ("symfony", "pkg:composer/symfony/symfony"),
    ("tailwind", "pkg:npm/tailwindcss"),
    ("tailwindcss", "pkg:npm/tailwindcss"),
    ("tauri", "pkg:cargo/tauri"),
    ("tensorflow", "pkg:pypi/tensorflow"),
    ("tokio", "pkg:cargo/tokio"),
    ("ts", "pkg:npm/typescript"),
    ("typescript", "pkg:npm/typescript"),
    ("vite", "pkg:npm/vite"),
    ("vitest", "pkg:npm/vitest"),
    ("vue", "pkg:npm/vue"),
    ("vue.js", "pkg:npm/vue"),
    ("webpack", "pkg:npm/webpack"),
];

/// The package URL of a technology. A package URL is itself.
pub(super) fn package_url(technology: &str) -> String {
    let lower = technology.trim().to_lowercase();
    if let Some((kind, rest)) = technology
        .trim()
        .strip_prefix("pkg:")
        .and_then(|p| p.split_once('/'))
    {
        let known =
            |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'.' | b'+' | b'-');
        let plain = |c: char| !c.is_whitespace() && !c.is_control();
        if !kind.is_empty()
            && kind.bytes().all(known)
            && !rest.is_empty()
            && rest.chars().all(plain)
        {
            return technology.trim().to_owned();
        }
    }
    if let Ok(at) = ALIASES.binary_search_by(|(name, _)| (*name).cmp(lower.as_str())) {
        return ALIASES
            .get(at)
            .map(|(_, url)| (*url).to_owned())
            .unwrap_or_default();
    }
    let name = match lower.as_str() {
        "c++" => "cpp".to_owned(),
        "c#" => "csharp".to_owned(),
        "f#" => "fsharp".to_owned(),
        _ => slug(&lower),
    };
    // A name without a letter or digit of ASCII still is one thing and no other.
    if name.is_empty() {
        let mut digits = Digest::of(lower.as_bytes()).hex();
        digits.truncate(12);
        return format!("pkg:generic/x-{digits}");
    }
    format!("pkg:generic/{name}")
}

/// The domain that a role works in.
fn domain(role: &str) -> &'static str {
    match role {
        "frontend_dev" | "designer" | "ux_researcher" => "frontend",
        "devops_engineer" | "security_expert" => "infrastructure",
        "qa_engineer" => "testing",
        "architect" | "cto" | "lead_developer" => "architecture",
        "product_owner" | "product_expert" => "product",
        _ => "backend",
    }
}

/// The capabilities of a package: one over its whole stack, or none without a stack.
pub(super) fn of(manifest: &Manifest, created_at: &Timestamp) -> Vec<CapabilityRow> {
    let mut stack: Vec<String> = manifest.stack.iter().map(|t| package_url(t)).collect();
    stack.sort_unstable();
    stack.dedup();
    if stack.is_empty() {
        return Vec::new();
    }
    let mut record = json!({
        "schemaVersion": "acx.capability/1",
        "taskType": "implement-feature",
        "stack": stack,
        "domain": domain(&manifest.role),
        "proficiency": {
            "scale": "acx.proficiency/trueskill-1", "mu": 25, "sigma": 8.333, "score": 0, "confidence": 0,
            "verified": false,
        },
        "evidenceRefs": [],
        "sampleCount": 0,
        "lastDemonstratedAt": created_at,
        "createdAt": created_at,
        "updatedAt": created_at,
        "license": manifest.license,
    });
    let id = capability_id::expected_id(&record).unwrap_or_default();
    if let Some(object) = record.as_object_mut() {
        object.insert("id".to_owned(), Value::from(id.clone()));
    }
    let text = String::from_utf8(strict::canonical(&record)).unwrap_or_default();
    vec![CapabilityRow {
        id,
        content_hash: Digest::of(text.as_bytes()).to_string(),
        json: text,
    }]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn package_urls() {
        for pair in ALIASES.windows(2) {
            assert!(pair.first() < pair.last(), "{pair:?}");
        }
        for (name, url) in [
            ("React", "pkg:npm/react"),
            (" postgres ", "pkg:generic/postgresql"),
            ("rust", "pkg:generic/rust"),
            ("Tokio", "pkg:cargo/tokio"),
            ("C++", "pkg:generic/cpp"),
            ("Google Cloud Run", "pkg:generic/google-cloud-run"),
            ("pkg:pypi/dbt-core", "pkg:pypi/dbt-core"),
            ("pkg:no good/x y", "pkg:generic/pkg-no-good-x-y"),
        ] {
            assert_eq!(package_url(name), url);
        }
        assert_ne!(package_url("数据"), package_url("模型"));
        assert!(package_url("数据").starts_with("pkg:generic/x-"));
    }
}
