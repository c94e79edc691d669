//! A package's skills → archive files and rows of `acx_skill`, the derived index that hosts choose skills by.
//!
//! A skill that hosts would skip without a word is refused here, where its author can still mend it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::json;

use super::manifest::Manifest;
use super::package::{Package, Problem};
use crate::check::{frontmatter, skill_frontmatter};
use crate::model::{Digest, Json, json as strict, shorten};

/// The schema that a row is of.
const SCHEMA: &str = "acx.skill/1";
/// Characters that make a token, as hosts estimate it.
const TOKEN: usize = 4;

/// One row of `acx_skill`.
#[derive(Debug, Clone)]
pub(super) struct SkillRow {
    pub path: String,
    pub name: String,
    pub description: String,
    pub license: Option<String>,
    pub compatibility: Option<String>,
    pub version: Option<String>,
    pub tokens: usize,
    pub content_sha256: String,
    /// The skill's other files, as a JSON array of paths within it.
    pub resources: String,
    pub schema: &'static str,
}

/// Puts the package's skills, or else the one that its manifest gives, among the archive files.
pub(super) fn add(
    package: &Package,
    manifest: Option<&Manifest>,
    files: &mut BTreeMap<String, Vec<u8>>,
) -> Result<Vec<SkillRow>, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut skills: BTreeSet<String> = BTreeSet::new();
    let found = package
        .files()
        .filter(|(name, _)| name.starts_with("skills/"));
    for (name, data) in found {
        let path: Vec<&str> = name.split('/').skip(1).collect();
        let [skill, inner @ ..] = path.as_slice() else {
            continue;
        };
        if inner.is_empty() {
            let message =
                "expected skills/<name>/SKILL.md; move the file into its skill's folder, or away";
            problems.push(Problem::new(name, "", message));
            continue;
        }
        if let Some(part) = path.iter().find(|part| !is_portable(part)) {
            problems.push(Problem::new(
                name,
                "",
                format!(
                    "expected names of letters, digits, dots, underscores and hyphens that start with a letter or \
                     digit, found {:?}; rename it, or remove the file",
                    shorten(part)
                ),
            ));
            continue;
        }
        skills.insert((*skill).to_owned());
        files.insert(format!("rom/{name}"), data.to_vec());
    }
    if let Some(manifest) = manifest.filter(|_| skills.is_empty() && problems.is_empty()) {
        let name = format!("expertise-{}", manifest.role_slug());
        // A skill's name has at most 64 characters.
        let name = name
            .get(..64)
            .unwrap_or(&name)
            .trim_end_matches('-')
            .to_owned();
        files.insert(skill_path(&name), expertise(&name, manifest).into_bytes());
        skills.insert(name);
    }
    let mut rows = Vec::new();
    for skill in &skills {
        let path = skill_path(skill);
        let shown = format!("skills/{skill}/SKILL.md");
        let Some(data) = files.get(&path) else {
            problems.push(Problem::new(
                &shown,
                "",
                "expected the file, found none: a skill is a folder with a SKILL.md",
            ));
            continue;
        };
        let frontmatter = frontmatter::read(data);
        let defects = skill_frontmatter::defects(skill, &frontmatter);
        if let Ok(fields) = frontmatter
            && defects.is_empty()
        {
            rows.push(row(skill, &path, data, &fields, files));
        }
        problems.extend(defects.into_iter().map(|d| Problem::new(&shown, "", d)));
    }
    if problems.is_empty() {
        Ok(rows)
    } else {
        Err(problems)
    }
}

fn skill_path(skill: &str) -> String {
    format!("rom/skills/{skill}/SKILL.md")
}

/// `[A-Za-z0-9][A-Za-z0-9._-]{0,127}`
pub(super) fn is_portable(part: &str) -> bool {
    let rest = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    part.len() <= 128
        && part
            .bytes()
            .next()
            .is_some_and(|b| b.is_ascii_alphanumeric())
        && part.bytes().all(rest)
}

fn row(
    skill: &str,
    path: &str,
    data: &[u8],
    fields: &Json,
    files: &BTreeMap<String, Vec<u8>>,
) -> SkillRow {
    let text = |pointer: &str| {
        fields
            .pointer(pointer)
            .and_then(Json::as_str)
            .map(str::to_owned)
    };
    let folder = format!("rom/skills/{skill}/");
    let resources: Vec<&str> = files
        .range(folder.clone()..)
        .map_while(|(name, _)| name.strip_prefix(&folder))
        .filter(|name| *name != "SKILL.md")
        .collect();
    SkillRow {
        path: path.to_owned(),
        name: text("/name").unwrap_or_default(),
        description: text("/description").unwrap_or_default(),
        license: text("/license"),
        compatibility: text("/compatibility"),
        version: text("/metadata/version"),
        tokens: String::from_utf8_lossy(data)
            .chars()
            .count()
            .div_ceil(TOKEN),
        content_sha256: Digest::of(data).hex(),
        resources: String::from_utf8(strict::canonical_declared(&resources)).unwrap_or_default(),
        schema: SCHEMA,
    }
}

/// The skill of a package that has none: what its manifest says, as a SKILL.md.
fn expertise(name: &str, manifest: &Manifest) -> String {
    let role = manifest.role.replace('_', " ");
    let stack: Vec<(&String, String)> = manifest
        .stack
        .iter()
        .map(|tech| (tech, super::capabilities::package_url(tech)))
        .collect();
    let mut use_when = format!("Expertise of a {role}");
    for (at, (tech, _)) in stack.iter().enumerate().take(12) {
        let _ = write!(use_when, "{}{tech}", if at == 0 { " in " } else { ", " });
    }
    use_when.push_str(". Use it when a task is of this kind.");
    // JSON text is YAML text too, whatever the manifest's words are.
    let quoted = |text: &str| json!(text).to_string();
    let mut out = format!(
        "---\nname: {name}\ndescription: {}\nlicense: {}\nmetadata:\n  version: {}\n---\n\n# {}\n\n{use_when}\n",
        quoted(&use_when),
        quoted(&manifest.license),
        quoted(manifest.version.as_str()),
        manifest.name,
    );
    if !stack.is_empty() {
        out.push_str("\n## Stack\n\n");
        for (tech, url) in &stack {
            let _ = writeln!(out, "- {tech} (`{url}`)");
        }
    }
    out
}
