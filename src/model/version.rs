//! SemVer 2.0 versions.

use super::Malformed;

/// A SemVer 2.0 version with its text as written.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Version {
    text: String,
    parsed: semver::Version,
}

impl Version {
    /// The version as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl Ord for Version {
    /// SemVer precedence; build metadata, which has none, breaks ties so that the order is total.
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.parsed.cmp(&other.parsed)
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl TryFrom<&str> for Version {
    type Error = Malformed;
    fn try_from(text: &str) -> Result<Self, Malformed> {
        let malformed =
            || Malformed::new("a SemVer 2.0 version such as `1.2.0` or `2.0.0-rc.1`", text);
        if text.len() > 128 {
            return Err(malformed());
        }
        let parsed = semver::Version::parse(text).map_err(|_| malformed())?;
        Ok(Self {
            text: text.to_owned(),
            parsed,
        })
    }
}

super::text_traits!(Version);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_form() {
        let sorted = [
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-alpha.beta",
            "1.0.0-beta.2",
            "1.0.0-beta.11",
            "1.0.0-rc.1",
            "1.0.0",
            "1.0.1",
            "1.10.0",
            "2.0.0-rc.1",
            "2.0.0",
        ];
        let versions: Vec<Version> = sorted
            .iter()
            .filter_map(|v| Version::try_from(*v).ok())
            .collect();
        assert_eq!(versions.len(), sorted.len());
        assert!(versions.is_sorted());
        for bad in [
            "1.0",
            "01.0.0",
            "1.0.0-01",
            "1.0.0-a..b",
            "v1.0.0",
            "1.0.0 ",
            "99999999999999999999.0.0",
            "",
        ] {
            assert!(Version::try_from(bad).is_err(), "{bad}");
        }
        assert!(Version::try_from("1.0.0-rc.1+build.7").is_ok());
    }
}
