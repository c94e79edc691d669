//! A cartridge's place in a registry: publisher, id, version.

use super::{ArtifactId, Malformed, PublisherId, RegistryPath, Version};

/// Publisher, id and version; each is published once and never changed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Coordinate {
    /// Who publishes.
    pub publisher: PublisherId,
    /// The cartridge's id within its publisher.
    pub id: ArtifactId,
    /// The version.
    pub version: Version,
}

impl Coordinate {
    /// The coordinate that a canonical cartridge path spells:
    /// `cartridges/<publisher>/<id>/<version>/cartridge.acx`.
    ///
    /// # Errors
    /// [`Malformed`] names the first part that is not of its form.
    pub fn of_path(path: &RegistryPath) -> Result<Self, Malformed> {
        let parts: Vec<&str> = path.as_str().split('/').collect();
        match parts.as_slice() {
            ["cartridges", publisher, id, version, "cartridge.acx"] => Ok(Self {
                publisher: PublisherId::try_from(*publisher)?,
                id: ArtifactId::try_from(*id)?,
                version: Version::try_from(*version)?,
            }),
            _ => Err(Malformed::new(
                "the path `cartridges/<publisher>/<id>/<version>/cartridge.acx`",
                path.as_str(),
            )),
        }
    }

    /// The canonical path of this coordinate's cartridge.
    pub fn path(&self) -> String {
        format!(
            "cartridges/{}/{}/{}/cartridge.acx",
            self.publisher, self.id, self.version
        )
    }
}

impl std::fmt::Display for Coordinate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}@{}", self.publisher, self.id, self.version)
    }
}
