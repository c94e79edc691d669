//! An artifact's place in a registry: kind, publisher, id, version.

use super::{ArtifactId, ArtifactType, DocumentId, Malformed, PublisherId, RegistryPath, Version};

/// Kind, publisher, id and version; each is published once and never changed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Coordinate {
    /// What it is.
    pub kind: ArtifactType,
    /// Who publishes.
    pub publisher: PublisherId,
    /// Its id within its publisher and its kind; of a cartridge an [`ArtifactId`] too.
    pub id: DocumentId,
    /// The version.
    pub version: Version,
}

impl ArtifactType {
    /// Every kind, in the order of the index.
    pub const ALL: [Self; 3] = [Self::Agent, Self::Workflow, Self::AgentGraph];

    /// The kind's name, as ledger and lineage write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Workflow => "workflow",
            Self::AgentGraph => "agent-graph",
        }
    }

    /// The folder of a registry that has its artifacts, by publisher, then by id.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Agent => "cartridges",
            Self::Workflow => "cals",
            Self::AgentGraph => "graphs",
        }
    }

    /// What stands after the version in an artifact's path.
    fn tail(self) -> &'static str {
        match self {
            Self::Agent => "/cartridge.acx",
            Self::Workflow => ".cal.json",
            Self::AgentGraph => ".agent-graph.json",
        }
    }

    fn form(self) -> &'static str {
        match self {
            Self::Agent => "the path `cartridges/<publisher>/<id>/<version>/cartridge.acx`",
            Self::Workflow => "the path `cals/<publisher>/<id>/<version>.cal.json`",
            Self::AgentGraph => "the path `graphs/<publisher>/<id>/<version>.agent-graph.json`",
        }
    }

    /// The path that these texts make, whatever they are.
    pub fn path(self, publisher: &str, id: &str, version: &str) -> String {
        let (folder, tail) = (self.folder(), self.tail());
        format!("{folder}/{publisher}/{id}/{version}{tail}")
    }

    /// The kind of artifact that a file in a registry is to be: `.acx` anywhere, `.cal.json` below `cals/`,
    /// `.agent-graph.json` below `graphs/`; in any case, since some file systems know none.
    pub fn of_path(path: &RegistryPath) -> Option<Self> {
        let ends = |end: &str| {
            let text = path.as_str().as_bytes();
            let at = text.len().checked_sub(end.len());
            at.and_then(|at| text.get(at..))
                .is_some_and(|tail| tail.eq_ignore_ascii_case(end.as_bytes()))
        };
        let top = path.as_str().split('/').next().unwrap_or_default();
        Self::ALL.into_iter().find(|kind| match kind {
            Self::Agent => ends(".acx"),
            _ => top.eq_ignore_ascii_case(kind.folder()) && ends(kind.tail()),
        })
    }
}

impl Coordinate {
    /// The coordinate that an artifact's canonical path spells.
    ///
    /// # Errors
    /// [`Malformed`] names the first part that is not of its form.
    pub fn of_path(path: &RegistryPath) -> Result<Self, Malformed> {
        let kind = ArtifactType::of_path(path).unwrap_or(ArtifactType::Agent);
        let text = path.as_str();
        let inner = text
            .strip_prefix(kind.folder())
            .and_then(|rest| rest.strip_prefix('/'))
            .and_then(|rest| rest.strip_suffix(kind.tail()));
        let parts: Vec<&str> = inner.into_iter().flat_map(|rest| rest.split('/')).collect();
        let [publisher, id, version] = parts.as_slice() else {
            return Err(Malformed::new(kind.form(), text));
        };
        Ok(Self {
            kind,
            publisher: PublisherId::try_from(*publisher)?,
            id: match kind {
                ArtifactType::Agent => ArtifactId::try_from(*id)?.into(),
                _ => DocumentId::try_from(*id)?,
            },
            version: Version::try_from(*version)?,
        })
    }

    /// The canonical path of this coordinate's artifact.
    pub fn path(&self) -> String {
        let (id, version) = (self.id.as_str(), self.version.as_str());
        self.kind.path(self.publisher.as_str(), id, version)
    }

    /// The folder with all versions.
    pub fn versions(&self) -> String {
        let kind = self.kind.folder();
        format!("{kind}/{}/{}", self.publisher, self.id)
    }

    /// The path of another version, by the name of what stands in [`Coordinate::versions`]; `None` where that is none.
    pub fn beside(&self, name: &str) -> Option<String> {
        let version = match self.kind {
            ArtifactType::Agent => name,
            kind => name.strip_suffix(kind.tail())?,
        };
        let path = self
            .kind
            .path(self.publisher.as_str(), self.id.as_str(), version);
        let place = RegistryPath::try_from(path.as_str()).ok()?;
        Self::of_path(&place).ok().map(|_| path)
    }
}

impl std::fmt::Display for Coordinate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}@{}", self.publisher, self.id, self.version)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn path(text: &str) -> RegistryPath {
        RegistryPath::try_from(text).unwrap()
    }

    #[test]
    fn each_kind_has_its_place() {
        for (text, kind) in [
            ("cartridges/io.x/a/1.0.0/cartridge.acx", ArtifactType::Agent),
            (
                "cals/io.x/a.b_c/1.0.0-rc.1+b.cal.json",
                ArtifactType::Workflow,
            ),
            (
                "graphs/io.x/a/1.0.0.agent-graph.json",
                ArtifactType::AgentGraph,
            ),
        ] {
            let found = Coordinate::of_path(&path(text)).unwrap();
            assert_eq!((found.kind, found.path()), (kind, text.to_owned()));
        }
        for text in [
            "cals/io.x/a/b/1.0.0.cal.json",
            "cals/io.x/1.0.0.cal.json",
            "cals/IO.x/a/1.0.0.cal.json",
            "Cals/io.x/a/1.0.0.cal.json",
            "cals/io.x/a/1.0.0.CAL.json",
            "cals/io.x/a/1.0.cal.json",
            "graphs/io.x/a/1.0.0.cal.json",
            "cals/io.x/a/1.0.0/cartridge.acx",
            "cartridges/io.x/a_b/1.0.0/cartridge.acx",
            "cartridges/io.x/a/1.0.0/other.acx",
        ] {
            assert!(Coordinate::of_path(&path(text)).is_err(), "{text}");
        }
    }

    #[test]
    fn files_are_known_by_name() {
        for (text, kind) in [
            ("x.ACX", Some(ArtifactType::Agent)),
            ("cals/x.acx", Some(ArtifactType::Agent)),
            ("CALS/x.Cal.Json", Some(ArtifactType::Workflow)),
            (
                "graphs/a/b/c/d.agent-graph.json",
                Some(ArtifactType::AgentGraph),
            ),
            ("docs/x.cal.json", None),
            ("cals/x.agent-graph.json", None),
            ("cals/README.md", None),
            ("cals.cal.json", None),
        ] {
            assert_eq!(ArtifactType::of_path(&path(text)), kind, "{text}");
        }
    }

    #[test]
    fn versions_stand_beside_each_other() {
        let one = Coordinate::of_path(&path("cals/io.x/a/1.0.0.cal.json")).unwrap();
        let other = Some("cals/io.x/a/2.0.0.cal.json".to_owned());
        assert_eq!(one.beside("2.0.0.cal.json"), other);
        assert_eq!(one.beside("README.md"), None);
    }
}
