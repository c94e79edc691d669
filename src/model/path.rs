//! Paths inside a registry: relative, `/`-separated, on every system.

use super::Malformed;

/// A relative path below the registry's root, `/`-separated, without empty, `.` or `..` segments.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RegistryPath(String);

impl RegistryPath {
    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The last segment.
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// The file's place below `root` in the local file system.
    pub fn below(&self, root: &std::path::Path) -> std::path::PathBuf {
        let mut path = root.to_path_buf();
        path.extend(self.0.split('/'));
        path
    }

    fn check(text: &str) -> bool {
        !text.contains('\0')
            && text
                .split('/')
                .all(|segment| !matches!(segment, "" | "." | ".."))
    }
}

super::checked_text!(
    RegistryPath,
    "a relative path without empty, `.` or `..` segments"
);

impl TryFrom<&std::path::Path> for RegistryPath {
    type Error = Malformed;
    fn try_from(path: &std::path::Path) -> Result<Self, Malformed> {
        let mut text = String::new();
        for component in path.components() {
            let std::path::Component::Normal(part) = component else {
                return Err(Malformed::new("a relative path", &path.to_string_lossy()));
            };
            let Some(part) = part.to_str() else {
                return Err(Malformed::new(
                    "a path that is valid UTF-8",
                    &path.to_string_lossy(),
                ));
            };
            if !text.is_empty() {
                text.push('/');
            }
            text.push_str(part);
        }
        Self::try_from(text.as_str())
    }
}
