//! A folder below `templates/` → its entry in the index. Templates are unsigned starting points.

use serde::{Deserialize, Serialize};

use crate::model::{DocumentId, Json, json};

/// One template of the index, in the order of its members.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TemplateEntry {
    /// The folder's name.
    pub id: String,
    /// The manifest's packageVersion or schemaVersion.
    pub version: Option<String>,
    /// The manifest's name, or the folder's in title case.
    pub name: String,
    /// A fixed text.
    pub description: String,
    /// A fixed licence.
    pub license: String,
    /// Fixed search words.
    pub tags: Vec<String>,
    /// A fixed publisher.
    pub publisher: String,
    /// The manifest's path.
    pub path: String,
    /// How many files the folder holds.
    pub file_count: usize,
    /// The files, relative to the folder, sorted.
    pub files: Vec<String>,
    /// Never.
    pub signed: bool,
    /// `unsigned`
    pub trust: String,
    /// `warning`
    pub trust_status: String,
}

/// The entry of the template in `templates/<folder>/`, with the files below it (relative, sorted) and the bytes of
/// its manifest.json.
///
/// # Errors
/// What is wrong with the folder's name or its manifest.
pub fn template(
    folder: &str,
    files: Vec<String>,
    manifest: &[u8],
) -> Result<TemplateEntry, String> {
    DocumentId::try_from(folder).map_err(|e| format!("the folder's name: {e}"))?;
    let manifest = json::parse(manifest).map_err(|e| format!("manifest.json is not JSON: {e}"))?;
    if !manifest.is_object() {
        return Err("manifest.json: expected an object".to_owned());
    }
    let text = |name: &str| {
        manifest
            .get(name)
            .and_then(Json::as_str)
            .filter(|t| !t.is_empty())
    };
    let name = match text("name") {
        Some(name) if !name.starts_with("TODO") => name.to_owned(),
        _ => title_case(folder),
    };
    Ok(TemplateEntry {
        id: folder.to_owned(),
        version: text("packageVersion")
            .or_else(|| text("schemaVersion"))
            .map(str::to_owned),
        name,
        description:
            "An editable ACX starter package. Inspect and personalize every file before export."
                .to_owned(),
        license: "Apache-2.0".to_owned(),
        tags: ["agent", "portable", "starter", "template"]
            .map(str::to_owned)
            .to_vec(),
        publisher: "ACX community".to_owned(),
        path: format!("templates/{folder}/manifest.json"),
        file_count: files.len(),
        files,
        signed: false,
        trust: "unsigned".to_owned(),
        trust_status: "warning".to_owned(),
    })
}

/// `starter-agent_package` → `Starter Agent Package`
fn title_case(folder: &str) -> String {
    let word = |word: &str| {
        let mut letters = word.chars();
        letters.next().map_or_else(String::new, |first| {
            first.to_uppercase().chain(letters).collect()
        })
    };
    folder
        .split(['-', '_', '.'])
        .filter(|w| !w.is_empty())
        .map(word)
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let name =
            |manifest: &str| template("starter-agent", vec![], manifest.as_bytes()).map(|t| t.name);
        assert_eq!(
            name(r#"{"name":"TODO: your name"}"#),
            Ok("Starter Agent".to_owned())
        );
        assert_eq!(name("{}"), Ok("Starter Agent".to_owned()));
        assert_eq!(name(r#"{"name":"Mine"}"#), Ok("Mine".to_owned()));
        assert!(name("[]").is_err());
        assert!(template("Starter", vec![], b"{}").is_err());
    }
}
