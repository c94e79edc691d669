//! Agent package folders for the authoring tests, as plain data that a test bends.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

/// The files of a package by their paths.
#[derive(Clone)]
pub struct Folder(pub BTreeMap<String, Vec<u8>>);

impl Folder {
    /// A whole package: every kind of file, two skills, three records of which one is field-learned.
    pub fn whole() -> Self {
        let mut folder = Self(BTreeMap::new());
        folder
            .json("manifest.json", &manifest())
            .json("memory-records.json", &records())
            .put(
                "IDENTITY.md",
                "# Ada Ridge\n\nBuilds pipelines, and says what they cost.\n",
            )
            .put("SKILLS.md", "# Skills\n\n- pipelines\n- warehouses\n")
            .put("STYLE.md", "Short sentences.\n")
            .put(
                "skills/pipelines/SKILL.md",
                super::records::skill_md("pipelines"),
            )
            .put(
                "skills/pipelines/references/BACKFILL.md",
                "# Backfill\n\nOldest day first.\n",
            )
            .put(
                "skills/pipelines/scripts/check.sh",
                "#!/bin/sh\nset -eu\ndbt parse\n",
            )
            .put(
                "skills/pipelines/assets/pixel.bin",
                vec![0_u8, 1, 2, 255, 254, 10, 13, 0],
            )
            .put(
                "skills/warehouses/SKILL.md",
                super::records::skill_md("warehouses"),
            )
            .put("skills/warehouses/assets/empty.txt", "");
        folder
    }

    /// Only what must be there.
    pub fn least() -> Self {
        let mut folder = Self(BTreeMap::new());
        folder.json("manifest.json", &json!({"name": "Ada Ridge"}));
        folder
    }

    pub fn put(&mut self, name: &str, data: impl Into<Vec<u8>>) -> &mut Self {
        self.0.insert(name.to_owned(), data.into());
        self
    }

    pub fn json(&mut self, name: &str, value: &Value) -> &mut Self {
        self.put(
            name,
            serde_json::to_vec_pretty(value).expect("a JSON value prints"),
        )
    }

    /// Changes one of the JSON files.
    pub fn edit(&mut self, name: &str, edit: impl FnOnce(&mut Value)) -> &mut Self {
        let mut value = serde_json::from_slice(&self.0[name]).expect("a JSON file");
        edit(&mut value);
        self.json(name, &value)
    }

    /// Writes the files below a folder.
    pub fn write(&self, root: &Path) {
        for (name, data) in &self.0 {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            std::fs::write(path, data).expect("a file");
        }
    }
}

pub fn manifest() -> Value {
    json!({
        "name": "Ada Ridge",
        "role": "devops_engineer",
        "provider": "claude",
        "model": "claude-opus-4-8",
        "level": 4,
        "techStack": ["Airflow", "Snowflake", "dbt", "Python", "React"],
        "exportedAt": "2026-07-16T08:30:00Z",
        "artifactVersion": "1.2.0",
        "description": "Builds and repairs data pipelines, and knows what each run costs.",
        "license": "Apache-2.0",
        "authors": [{"name": "Ada Ridge", "url": "https://ridge.example/ada"}],
        "tags": ["data", "pipelines"],
        "homepage": "https://ridge.example/agents/ada",
        "originInstanceId": "install-7",
    })
}

pub fn records() -> Value {
    json!([record("m2"), record("m1"), field_learned("m3")])
}

pub fn record(id: &str) -> Value {
    json!({
        "id": id,
        "title": format!("Lesson {id}"),
        "summary": "Backfill the oldest partition first; late rows then land where they are looked for.",
        "sourceType": "knowledge",
        "timestamp": "2026-07-01T00:00:00.000Z",
        "impact": "positive",
        "xpAwarded": 20,
        "tags": ["Pipelines", "backfill"],
        "repoLabel": "data platform",
    })
}

/// A record that was learned in one repository.
pub fn field_learned(id: &str) -> Value {
    let mut record = record(id);
    record["repoId"] = "ridgeworks/lakehouse-prod".into();
    record["repoLabel"] = "ridgeworks/lakehouse-prod".into();
    record
}
