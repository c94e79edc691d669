//! What a new registry starts with, and two example packages for one that is to be tried out. Part of the program, so
//! that nothing has to be fetched. Pure.

use std::str::FromStr;

use super::package::Package;
use crate::model::{KeyId, PublisherId};
use crate::registry::{POLICY_FILE, parse_policy};

/// One file of the template.
#[derive(Debug, Clone, Copy)]
pub struct TemplateFile {
    /// Its path in the registry.
    pub path: &'static str,
    /// Its bytes; the policy's get the registry's id and key.
    pub bytes: &'static [u8],
    /// Whether it is to be run.
    pub executable: bool,
}

macro_rules! template {
    ($($path:literal)*) => {
        &[$(TemplateFile {
            path: $path,
            bytes: include_bytes!(concat!("../../registry-template/", $path)),
            executable: matches!($path.as_bytes(), [b'h', b'o', b'o', b'k', b's', b'/', ..]),
        }),*]
    };
}

/// Every file of `registry-template/`.
pub const TEMPLATE: &[TemplateFile] = template![
    ".gitattributes"
    ".github/workflows/audit.yml"
    ".github/workflows/publish.yml"
    ".github/workflows/pull-request.yml"
    ".github/workflows/rebuild.yml"
    ".gitignore"
    "README.md"
    "acx-registry.toml"
    "cartridges/.gitkeep"
    "hooks/post-receive"
    "hooks/pre-receive"
    "status.json"
    "trust-registry.json"
];

/// Below it are the workflows, which need to be told where the tool is.
const WORKFLOWS: &str = ".github/workflows/";
/// What the workflows have in its place.
const NO_TOOL: &str =
    "OWNER/REPO/.github/actions/build-index@0000000000000000000000000000000000000000";
/// What a tool is to look like.
const TOOL: &str = "OWNER/REPO@SHA: the GitHub repository of this program, and the 40 hexadecimal digits of the commit \
                    that the workflows are to use";

impl TemplateFile {
    /// Whether it is a workflow.
    pub fn is_workflow(&self) -> bool {
        self.path.starts_with(WORKFLOWS)
    }
}

/// Where GitHub's workflows take this program from: a repository and one commit of it, so that it stays the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    repository: String,
    commit: String,
}

impl FromStr for Tool {
    type Err = String;

    /// By the characters that GitHub allows, so that it can stand in a workflow as it is.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("expected {TOOL}; found {text:?}");
        let (repository, commit) = text.split_once('@').ok_or_else(wrong)?;
        let (owner, name) = repository.split_once('/').ok_or_else(wrong)?;
        let owner_holds = (1..=39).contains(&owner.len())
            && !owner.starts_with('-')
            && !owner.ends_with('-')
            && owner
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-');
        let name_holds = (1..=100).contains(&name.len())
            && !matches!(name, "." | "..")
            && name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
        // No commit has nothing but zeros.
        let commit_holds = commit.len() == 40
            && commit.bytes().all(|b| b.is_ascii_hexdigit())
            && commit.bytes().any(|b| b != b'0');
        if !(owner_holds && name_holds && commit_holds) {
            return Err(wrong());
        }
        Ok(Self {
            repository: repository.to_owned(),
            commit: commit.to_ascii_lowercase(),
        })
    }
}

/// A workflow of the template with the tool in its place, where it has one.
pub fn workflow(bytes: &[u8], tool: &Tool) -> Vec<u8> {
    let place = format!(
        "{}/.github/actions/build-index@{}",
        tool.repository, tool.commit
    );
    String::from_utf8_lossy(bytes)
        .replace(NO_TOOL, &place)
        .into_bytes()
}

/// The template's policy with the registry's id and the key that signs its index.
///
/// # Errors
/// A sentence where the id is none, or the template has no place for it.
pub fn policy(registry_id: &str, key: &KeyId) -> Result<String, String> {
    let id = PublisherId::try_from(registry_id).map_err(|e| format!("the registry's id: {e}"))?;
    let file = TEMPLATE.iter().find(|f| f.path == POLICY_FILE);
    let text = file.and_then(|f| std::str::from_utf8(f.bytes).ok());
    let text = text.ok_or("the template has no policy")?;
    let lines: Vec<String> = text
        .lines()
        .map(|line| match line {
            "#[registry]" => "[registry]".to_owned(),
            "#id = \"local.registry\"" => format!("id = \"{id}\""),
            "#[index]" => "[index]".to_owned(),
            "#keys = []" => format!("keys = [\"{key}\"]"),
            line => line.to_owned(),
        })
        .collect();
    let text = lines.join("\n") + "\n";
    let policy = parse_policy(text.as_bytes()).map_err(|e| e.to_string())?;
    if policy.registry_id != id.as_str() || policy.index_keys != [key.clone()] {
        return Err("the template's policy has no place for the registry's id and key".to_owned());
    }
    Ok(text)
}

/// An example package and who publishes it.
#[derive(Debug, Clone, Copy)]
pub struct Example {
    /// The publisher.
    pub publisher: &'static str,
    files: &'static [(&'static str, &'static str)],
}

impl Example {
    /// The package's files.
    pub fn package(&self) -> Package {
        Package::of_files(self.files.iter().copied())
    }
}

macro_rules! example {
    ($publisher:literal, $folder:literal: $($path:literal)*) => {
        Example {
            publisher: $publisher,
            files: &[$(($path, include_str!(concat!("examples/", $folder, "/", $path)))),*],
        }
    };
}

/// Two packages with memory and skills, of different publishers.
pub const EXAMPLES: &[Example] = &[
    example!("com.example.ada", "build-smith":
        "IDENTITY.md"
        "manifest.json"
        "memory-records.json"
        "skills/fast-builds/SKILL.md"
        "skills/fast-builds/references/CACHING.md"
    ),
    example!("org.example.docs", "docs-scribe":
        "IDENTITY.md"
        "manifest.json"
        "memory-records.json"
        "skills/plain-writing/SKILL.md"
        "skills/plain-writing/references/CHECKLIST.md"
    ),
];

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    fn files(folder: &str) -> BTreeSet<String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        walkdir::WalkDir::new(&root)
            .into_iter()
            .map(Result::unwrap)
            .filter(|e| e.file_type().is_file())
            .map(|e| {
                e.path()
                    .strip_prefix(&root)
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .to_owned()
            })
            .collect()
    }

    #[test]
    fn nothing_of_the_folders_is_left_out() {
        let listed: BTreeSet<String> = TEMPLATE.iter().map(|f| f.path.to_owned()).collect();
        assert_eq!(listed, files("registry-template"));
        for (example, folder) in EXAMPLES.iter().zip(["build-smith", "docs-scribe"]) {
            let listed: BTreeSet<String> =
                example.files.iter().map(|(n, _)| (*n).to_owned()).collect();
            assert_eq!(listed, files(&format!("src/author/examples/{folder}")));
            assert!(example.package().left_out().is_empty());
            assert!(PublisherId::try_from(example.publisher).is_ok());
        }
        let publishers: BTreeSet<&str> = EXAMPLES.iter().map(|e| e.publisher).collect();
        assert_eq!(publishers.len(), EXAMPLES.len());
    }

    #[test]
    fn a_tool_is_a_repository_and_a_commit_and_nothing_else() {
        let sha = "0123456789abcdef0123456789ABCDEF01234567";
        let tool: Tool = format!("some-one/acx.registry_2@{sha}").parse().unwrap();
        for file in TEMPLATE.iter().filter(|f| f.is_workflow()) {
            let text = String::from_utf8(workflow(file.bytes, &tool)).unwrap();
            let place = format!(
                "uses: some-one/acx.registry_2/.github/actions/build-index@{} #",
                sha.to_lowercase()
            );
            let jobs = if file.path.ends_with("rebuild.yml") {
                2
            } else {
                1
            };
            assert_eq!(text.matches(&place).count(), jobs, "{}", file.path);
            assert!(!text.contains("OWNER") && !text.contains("00000000"));
        }
        let zeros = "0".repeat(40);
        for wrong in [
            "".to_owned(),
            "owner/repo".to_owned(),
            format!("owner@{sha}"),
            format!("/repo@{sha}"),
            format!("owner/@{sha}"),
            format!("owner/..@{sha}"),
            format!("owner/a/b@{sha}"),
            format!("-owner/repo@{sha}"),
            format!("owner-/repo@{sha}"),
            format!("{}/repo@{sha}", "o".repeat(40)),
            format!("owner/{}@{sha}", "r".repeat(101)),
            format!("own er/repo@{sha}"),
            format!("owner/re\npo@{sha}"),
            format!("owner/repo@{sha}\n"),
            format!("owner/repo@{}", &sha[1..]),
            format!("owner/repo@{sha}0"),
            format!("owner/repo@{zeros}"),
            "owner/repo@v1.0.0".to_owned(),
        ] {
            let error = wrong.parse::<Tool>().unwrap_err();
            assert!(error.contains("expected OWNER/REPO@SHA"), "{error}");
        }
    }

    #[test]
    fn the_policy_gets_id_and_key_and_keeps_the_rest() {
        let key = KeyId::of_spki(b"a key");
        let text = policy("com.example.agents", &key).unwrap();
        let parsed = parse_policy(text.as_bytes()).unwrap();
        assert_eq!(parsed.registry_id, "com.example.agents");
        assert_eq!(parsed.index_keys, std::slice::from_ref(&key));
        let template = include_str!("../../registry-template/acx-registry.toml");
        let changed = text.lines().zip(template.lines()).filter(|(a, b)| a != b);
        assert_eq!(changed.count(), 4);
        assert_eq!(text.lines().count(), template.lines().count());
        assert!(policy("no id", &key).is_err());
    }
}
