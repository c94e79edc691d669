//! An agent package folder in memory: the files that an export reads, bounded and without links.
//!
//! Only what the format knows is read: the documents and knowledge files at the top, and everything below `skills/`.
//! Whatever else stands at the top is named in [`Package::left_out`], so that nobody believes it was exported.

use std::collections::BTreeMap;
use std::path::Path;

use crate::container::Limits;
use crate::disk;
use crate::model::shorten;

/// The package's manifest.
pub const MANIFEST: &str = "manifest.json";
/// The package's memory.
pub const RECORDS: &str = "memory-records.json";
/// The harness requirements; a default is written where there are none.
pub const HARNESS: &str = "harness-requirements.json";
/// The loop and context policy; a default is written where there is none.
pub const LOOP_POLICY: &str = "loop-context-policy.json";
/// What the scrub gate lets pass, each with its reason. Never exported.
pub const ALLOWANCES: &str = "scrub-allow.toml";
/// The knowledge files, each with `.md` behind it.
pub const KNOWLEDGE: [&str; 8] = [
    "CAREER",
    "EQUIPMENT",
    "EXCHANGE",
    "IDENTITY",
    "LEARNING_PATH",
    "MEMORY",
    "SKILLS",
    "STYLE",
];
/// The folder of skills.
pub const SKILLS: &str = "skills";

/// Bytes of `memory-records.json` and of everything else that is no skill file: more than the records of the largest
/// cartridge take.
const RECORDS_BYTES: u64 = 48 << 20;
/// Folders within folders below `skills/`.
const DEPTH: usize = 16;
/// Entries of the top folder that are looked at.
const TOP_ENTRIES: usize = 10_000;

/// Something that is wrong with a package, and where.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct Problem {
    /// The file in the package folder, `/`-separated; empty for the folder itself.
    pub file: String,
    /// The JSON pointer or field within it; empty for the whole.
    pub field: String,
    /// What is wrong, expected and found, and what to do.
    pub message: String,
}

impl Problem {
    /// A problem of a field of a file.
    pub fn new(file: &str, field: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            field: field.into(),
            message: message.into(),
        }
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let file = if self.file.is_empty() {
            "the package folder"
        } else {
            &self.file
        };
        match self.field.as_str() {
            "" => write!(f, "{file}: {}", self.message),
            field => write!(f, "{file} › {field}: {}", self.message),
        }
    }
}

/// The files of an agent package by their `/`-separated paths within its folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Package {
    files: BTreeMap<String, Vec<u8>>,
    left_out: Vec<String>,
}

impl Package {
    /// A package of files that are in memory already, such as an embedded example.
    pub fn of_files<N: Into<String>, D: Into<Vec<u8>>>(
        files: impl IntoIterator<Item = (N, D)>,
    ) -> Self {
        let (files, left_out): (Vec<_>, Vec<_>) = files
            .into_iter()
            .map(|(name, data)| (name.into(), data.into()))
            .partition(|(name, _): &(String, Vec<u8>)| belongs(name));
        Self {
            files: files.into_iter().collect(),
            left_out: left_out.into_iter().map(|(name, _)| name).collect(),
        }
    }

    /// Reads a package folder.
    ///
    /// # Errors
    /// [`Problem`] for a link, a device, a name that is not UTF-8, more or larger files than `limits` admit, or
    /// whatever the system says.
    pub fn read(folder: &Path, limits: &Limits) -> Result<Self, Problem> {
        let mut package = Self::default();
        let io = |e: &dyn std::fmt::Display| Problem::new("", "", format!("cannot be read: {e}"));
        let mut names = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(|e| io(&e))? {
            let entry = entry.map_err(|e| io(&e))?;
            if names.len() >= TOP_ENTRIES {
                let message = format!("expected at most {TOP_ENTRIES} entries, found more");
                return Err(Problem::new("", "", message));
            }
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
        names.sort_unstable();
        let mut room = Room {
            bytes: limits.file_bytes,
            files: limits.archive_rows,
        };
        for name in names {
            if name == SKILLS {
                package.read_skills(folder, limits, &mut room)?;
            } else if belongs(&name) {
                let most = if name == RECORDS {
                    RECORDS_BYTES
                } else {
                    limits.inflated_file_bytes
                };
                let data = read_file(&folder.join(&name), &name, most, &mut room)?;
                package.files.insert(name, data);
            } else {
                package.left_out.push(name);
            }
        }
        Ok(package)
    }

    fn read_skills(
        &mut self,
        folder: &Path,
        limits: &Limits,
        room: &mut Room,
    ) -> Result<(), Problem> {
        let root = folder.join(SKILLS);
        // WalkDir would follow a link that it starts at.
        if !root.symlink_metadata().is_ok_and(|m| m.is_dir()) {
            let message = "expected a folder of skills, found a file or a link";
            return Err(Problem::new(SKILLS, "", message));
        }
        for entry in walkdir::WalkDir::new(&root)
            .min_depth(1)
            .max_depth(DEPTH + 1)
            .sort_by_file_name()
        {
            let entry =
                entry.map_err(|e| Problem::new(SKILLS, "", format!("cannot be read: {e}")))?;
            let path = entry.path().strip_prefix(folder).unwrap_or(entry.path());
            let shown = path.to_string_lossy().replace('\\', "/");
            if entry.depth() > DEPTH {
                let message = format!("expected at most {DEPTH} folders within each other");
                return Err(Problem::new(&shorten(&shown), "", message));
            }
            if entry.file_type().is_dir() {
                continue;
            }
            if entry.file_type().is_symlink() {
                let message = "is a link, and links are not followed: put the file itself there";
                return Err(Problem::new(&shown, "", message));
            }
            let Some(name) = name_of(path) else {
                let message = "expected a name in UTF-8";
                return Err(Problem::new(&shown, "", message));
            };
            let data = read_file(entry.path(), &name, limits.inflated_file_bytes, room)?;
            self.files.insert(name, data);
        }
        Ok(())
    }

    /// The bytes of a file.
    pub fn file(&self, name: &str) -> Option<&[u8]> {
        self.files.get(name).map(Vec::as_slice)
    }

    /// Every file with its path, in the order of the paths.
    pub fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files
            .iter()
            .map(|(name, data)| (name.as_str(), data.as_slice()))
    }

    /// What stands in the folder and is no part of a package.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }
}

/// What may still be read.
struct Room {
    bytes: u64,
    files: u64,
}

/// Whether an export looks at a file of this path.
fn belongs(name: &str) -> bool {
    [MANIFEST, RECORDS, HARNESS, LOOP_POLICY, ALLOWANCES].contains(&name)
        || name
            .strip_suffix(".md")
            .is_some_and(|stem| KNOWLEDGE.contains(&stem))
        || name.starts_with("skills/")
}

fn name_of(path: &Path) -> Option<String> {
    let parts: Option<Vec<&str>> = path.components().map(|c| c.as_os_str().to_str()).collect();
    Some(parts?.join("/"))
}

fn read_file(path: &Path, name: &str, most: u64, room: &mut Room) -> Result<Vec<u8>, Problem> {
    let problem = |message: String| Problem::new(name, "", message);
    let data = disk::read(path, most).map_err(|e| {
        problem(format!(
            "{e}; at most {most} bytes of an ordinary file are read"
        ))
    })?;
    room.files = room
        .files
        .checked_sub(1)
        .ok_or_else(|| problem("the package has more files than a cartridge holds".to_owned()))?;
    room.bytes = room.bytes.checked_sub(data.len() as u64).ok_or_else(|| {
        problem("the package's files are larger together than a cartridge may be".to_owned())
    })?;
    Ok(data)
}
