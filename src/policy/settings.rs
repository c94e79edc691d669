//! `acx-registry.toml`.
//!
//! Read by hand from the parsed tables rather than into a derived struct: only so can an error name the full key, its
//! line and the key that was probably meant.

use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::container::Limits;
use crate::finding::Severity;
use crate::model::{
    Digest, KeyId, Malformed, PublisherId, RegistryPath, Timestamp, Trust, nearest, shorten,
};

use super::{ConfigError, bounded};

const FILE: &str = "acx-registry.toml";
/// The rule whose level `[publishers] continuity` sets.
const CONTINUITY: &str = "history-publisher-key";

/// Every key, by section. `[rules]` is open: its keys are the rules' codes.
pub(super) const KNOWN: &[(&str, &[&str])] = &[
    ("branches", &["guarded"]),
    ("index", &["keys", "expires_days", "shards"]),
    ("levels", &["issuer_keys_sha256"]),
    (
        "limits",
        &[
            "file_bytes",
            "archive_rows",
            "inflated_file_bytes",
            "inflated_total_bytes",
            "memory_records",
            "text_bytes",
        ],
    ),
    ("publishers", &["continuity", "pins"]),
    ("registry", &["id"]),
    ("rules", &[]),
    ("sidecars", &["enabled", "registry"]),
    ("trust", &["minimum"]),
    ("waivers", &["code", "path", "reason", "expires"]),
];

/// The policy's word on a rule, from the mildest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Not reported.
    Off,
    /// Reported; the verdict stands.
    Warning,
    /// Rejects.
    Error,
}

impl From<Severity> for Level {
    fn from(severity: Severity) -> Self {
        match severity {
            Severity::Warning => Self::Warning,
            Severity::Error => Self::Error,
        }
    }
}

/// What the policy must know of a rule to judge its own `[rules]` and `[[waivers]]`.
#[derive(Debug, Clone, Copy)]
pub struct RuleInfo {
    /// The rule's code.
    pub code: &'static str,
    /// The default level.
    pub level: Severity,
    /// It may be neither lowered nor waived.
    pub fixed: bool,
}

/// An accepted exception: findings of one rule on matching paths do not count until it expires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiver {
    /// The rule's code.
    pub code: &'static str,
    /// The registry path it is for: exact, or a prefix that ends in `/**`.
    pub path: String,
    /// Why.
    pub reason: String,
    /// The last day it holds, `YYYY-MM-DD` (UTC).
    pub expires: String,
}

impl Waiver {
    /// Whether the waiver is for findings of this rule at this registry path. `a/**` is for everything below `a`, not
    /// for `a` itself.
    pub fn matches(&self, code: &str, path: &str) -> bool {
        let path_matches = match self.path.strip_suffix("/**") {
            Some(folder) => path
                .strip_prefix(folder)
                .is_some_and(|rest| rest.starts_with('/')),
            None => path == self.path,
        };
        self.code == code && path_matches
    }

    /// Whether the waiver still holds: to the end of its last day in UTC.
    pub fn holds(&self, now: &Timestamp) -> bool {
        let now = now.to_millis();
        // Both are `YYYY-MM-DD`, which sorts as text.
        let today = now.as_str().get(..10).unwrap_or_default();
        today <= self.expires.as_str()
    }
}

/// The registry's policy, valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// `[registry] id`
    pub registry_id: String,
    /// `[limits]`
    pub limits: Limits,
    /// `[trust] minimum`
    pub minimum_trust: Trust,
    /// `[rules]`: codes whose level differs from the default.
    pub levels: BTreeMap<&'static str, Level>,
    /// `[[waivers]]`
    pub waivers: Vec<Waiver>,
    /// `[index] keys`: the keys that may sign the index; empty = not pinned.
    pub index_keys: Vec<KeyId>,
    /// `[index] expires_days`
    pub index_expires_days: Option<u32>,
    /// `[index] shards`: one file for each publisher, named by a signed root, in place of one file of all.
    pub index_shards: bool,
    /// `[levels] issuer_keys_sha256`: the digest of issuer-keys.json.
    pub issuer_keys: Option<Digest>,
    /// `[sidecars] enabled`: a Lance dataset beside each cartridge with memory.
    pub sidecars_enabled: bool,
    /// `[sidecars] registry`: one Lance dataset of the whole registry.
    pub sidecars_registry: bool,
    /// `[branches] guarded`: the names of branches, with `*` for any part of one; empty = the default branch.
    pub guarded: Vec<String>,
    /// `[publishers.pins]`: the keys of a publisher, in place of those its first cartridges were signed by.
    pub publisher_pins: BTreeMap<PublisherId, Vec<KeyId>>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            registry_id: "local.registry".to_owned(),
            limits: Limits::default(),
            minimum_trust: Trust::Portable,
            levels: BTreeMap::new(),
            waivers: Vec::new(),
            index_keys: Vec::new(),
            index_expires_days: None,
            index_shards: false,
            issuer_keys: None,
            sidecars_enabled: true,
            sidecars_registry: false,
            guarded: Vec::new(),
            publisher_pins: BTreeMap::new(),
        }
    }
}

impl Policy {
    /// Bytes a policy file may have.
    pub const MAX_BYTES: usize = 256 << 10;

    /// Reads a policy. `rules` are all rules there are.
    ///
    /// # Errors
    /// [`ConfigError`] with the dotted key and line of the first thing that is not as it must be.
    pub fn parse(text: &str, rules: &[RuleInfo]) -> Result<Self, ConfigError> {
        bounded(FILE, text.len(), Self::MAX_BYTES)?;
        let reader = Reader { text, rules };
        let document = DeTable::parse(text).map_err(|e| {
            let at = e.span().unwrap_or_default();
            let why = shorten(e.message());
            reader.refuse("", &at, format!("not valid TOML: {why}; correct the line"))
        })?;
        let mut policy = Self::default();
        for (key, value) in document.get_ref() {
            let name = key.get_ref().as_ref();
            if name == "waivers" {
                policy.waivers = reader.waivers(value)?;
                continue;
            }
            if !KNOWN.iter().any(|(section, _)| *section == name) {
                return Err(reader.unknown("", name, &key.span()));
            }
            let Some(table) = value.get_ref().as_table() else {
                return Err(reader.expected(name, "a table", value));
            };
            for (key, value) in table {
                reader.setting(&mut policy, name, key, value)?;
            }
        }
        Ok(policy)
    }

    /// The level of a rule under this policy; `None` = off.
    pub fn level(&self, rule: RuleInfo) -> Option<Severity> {
        match self.levels.get(rule.code) {
            None => Some(rule.level),
            Some(Level::Error) => Some(Severity::Error),
            Some(Level::Warning) => Some(Severity::Warning),
            Some(Level::Off) => None,
        }
    }
}

type Key<'i> = Spanned<toml::de::DeString<'i>>;
type Value<'i> = Spanned<DeValue<'i>>;

struct Reader<'a> {
    text: &'a str,
    rules: &'a [RuleInfo],
}

impl Reader<'_> {
    /// One key of a section other than `[[waivers]]`.
    fn setting(
        &self,
        policy: &mut Policy,
        section: &str,
        key: &Key<'_>,
        value: &Value<'_>,
    ) -> Result<(), ConfigError> {
        let name = key.get_ref().as_ref();
        let dotted = dotted(section, name);
        let limits = &mut policy.limits;
        let limit = |limit: &mut u64, ceiling: u64| -> Result<(), ConfigError> {
            *limit = self.integer(&dotted, value, 1..=ceiling)?;
            Ok(())
        };
        match (section, name) {
            ("registry", "id") => {
                let id: PublisherId = self.checked(&dotted, value)?;
                policy.registry_id = id.as_str().to_owned();
            }
            // The ceilings keep a cartridge within what SQLite and memory can hold, whatever a policy asks for.
            ("limits", "file_bytes") => limit(&mut limits.file_bytes, 1 << 30)?,
            ("limits", "archive_rows") => limit(&mut limits.archive_rows, 1_000_000)?,
            ("limits", "inflated_file_bytes") => limit(&mut limits.inflated_file_bytes, 1 << 30)?,
            ("limits", "inflated_total_bytes") => limit(&mut limits.inflated_total_bytes, 4 << 30)?,
            ("limits", "memory_records") => limit(&mut limits.memory_records, 1_000_000)?,
            ("limits", "text_bytes") => limit(&mut limits.text_bytes, 64 << 20)?,
            ("trust", "minimum") => {
                policy.minimum_trust = match self.string(&dotted, value)? {
                    "portable" => Trust::Portable,
                    "trusted" => Trust::Trusted,
                    _ => {
                        let expected = r#""portable" or "trusted""#;
                        return Err(self.expected(&dotted, expected, value));
                    }
                };
            }
            ("rules", code) => {
                let rule = self.rule(&dotted, code, &key.span())?;
                let level = self.rule_level(&dotted, rule, value)?;
                if level != Level::from(rule.level) {
                    policy.levels.insert(rule.code, level);
                }
            }
            ("index", "keys") => policy.index_keys = self.keys(&dotted, value)?,
            ("index", "expires_days") => {
                let days = self.integer(&dotted, value, 1..=3650)?;
                policy.index_expires_days = u32::try_from(days).ok();
            }
            ("index", "shards") => policy.index_shards = self.boolean(&dotted, value)?,
            ("levels", "issuer_keys_sha256") => {
                policy.issuer_keys = Some(self.checked(&dotted, value)?);
            }
            ("branches", "guarded") => policy.guarded = self.branches(&dotted, value)?,
            ("publishers", "continuity") => {
                let level = match self.string(&dotted, value)? {
                    "enforce" => Level::Error,
                    "warn" => Level::Warning,
                    _ => return Err(self.expected(&dotted, r#""enforce" or "warn""#, value)),
                };
                let rule = self.rule(&dotted, CONTINUITY, &key.span())?;
                if level != Level::from(rule.level) {
                    policy.levels.insert(rule.code, level);
                }
            }
            ("publishers", "pins") => {
                let Some(table) = value.get_ref().as_table() else {
                    return Err(self.expected(
                        &dotted,
                        "a table of publishers and their keys",
                        value,
                    ));
                };
                for (key, value) in table {
                    let dotted = self::dotted(&dotted, key.get_ref());
                    let publisher = PublisherId::try_from(key.get_ref().as_ref()).map_err(|e| {
                        self.refuse(&dotted, &key.span(), format!("{e}; correct it"))
                    })?;
                    let keys = self.keys(&dotted, value)?;
                    if keys.is_empty() {
                        return Err(self.expected(&dotted, "at least one key id", value));
                    }
                    policy.publisher_pins.insert(publisher, keys);
                }
            }
            ("sidecars", "enabled") => policy.sidecars_enabled = self.boolean(&dotted, value)?,
            ("sidecars", "registry") => policy.sidecars_registry = self.boolean(&dotted, value)?,
            _ => return Err(self.unknown(section, name, &key.span())),
        }
        Ok(())
    }

    fn rule_level(
        &self,
        dotted: &str,
        rule: &RuleInfo,
        value: &Value<'_>,
    ) -> Result<Level, ConfigError> {
        let level = match self.string(dotted, value)? {
            "error" => Level::Error,
            "warning" => Level::Warning,
            "off" => Level::Off,
            _ => return Err(self.expected(dotted, r#""error", "warning" or "off""#, value)),
        };
        if rule.fixed && level < Level::from(rule.level) {
            let message = format!(
                "the rule {} cannot be lowered: it concerns the container, signatures, digests or coverage, without which no other verdict means anything; remove the key",
                rule.code
            );
            return Err(self.refuse(dotted, &value.span(), message));
        }
        Ok(level)
    }

    /// Names of branches without `refs/heads/`, or `*` for every reference.
    fn branches(&self, dotted: &str, value: &Value<'_>) -> Result<Vec<String>, ConfigError> {
        let expected = "an array of branch names such as \"main\" or \"release/*\"";
        let Some(items) = value.get_ref().as_array().filter(|items| !items.is_empty()) else {
            return Err(self.expected(dotted, expected, value));
        };
        items
            .iter()
            .map(|item| {
                let name = self.string(dotted, item)?;
                let plain = name.replace('*', "x");
                let reference = format!("refs/heads/{plain}");
                let valid = gix::validate::reference::name(reference.as_str().into()).is_ok();
                if !valid || name.starts_with("refs/") {
                    return Err(self.expected(dotted, expected, item));
                }
                Ok(name.to_owned())
            })
            .collect()
    }

    fn keys(&self, dotted: &str, value: &Value<'_>) -> Result<Vec<KeyId>, ConfigError> {
        let Some(items) = value.get_ref().as_array() else {
            return Err(self.expected(dotted, "an array of key ids", value));
        };
        let mut seen = std::collections::BTreeSet::new();
        let mut keys = Vec::new();
        for (place, item) in items.iter().enumerate() {
            let dotted = format!("{dotted}[{place}]");
            let key: KeyId = self.checked(&dotted, item)?;
            if !seen.insert(key.clone()) {
                let message = format!("expected each key once, found {key} again; remove one");
                return Err(self.refuse(&dotted, &item.span(), message));
            }
            keys.push(key);
        }
        Ok(keys)
    }

    fn waivers(&self, value: &Value<'_>) -> Result<Vec<Waiver>, ConfigError> {
        let Some(items) = value.get_ref().as_array() else {
            return Err(self.expected("waivers", "tables headed [[waivers]]", value));
        };
        let waivers = items.iter().enumerate();
        waivers
            .map(|(place, item)| self.waiver(&format!("waivers[{place}]"), item))
            .collect()
    }

    fn waiver(&self, at: &str, item: &Value<'_>) -> Result<Waiver, ConfigError> {
        let Some(table) = item.get_ref().as_table() else {
            return Err(self.expected(at, "a table headed [[waivers]]", item));
        };
        let (mut code, mut path, mut reason, mut expires) = (None, None, None, None);
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            let dotted = dotted(at, name);
            match name {
                "code" => {
                    let text = self.string(&dotted, value)?;
                    let rule = self.rule(&dotted, text, &value.span())?;
                    if rule.fixed {
                        let message = format!(
                            "the rule {} cannot be waived: it concerns the container, signatures, digests or coverage; remove the waiver",
                            rule.code
                        );
                        return Err(self.refuse(&dotted, &value.span(), message));
                    }
                    code = Some(rule.code);
                }
                "path" => path = Some(self.waiver_path(&dotted, value)?),
                "reason" => {
                    let text = self.string(&dotted, value)?;
                    if text.trim().chars().count() < 10 || text.chars().count() > 1000 {
                        let expected = "a reason of 10 to 1000 characters";
                        return Err(self.expected(&dotted, expected, value));
                    }
                    reason = Some(text.to_owned());
                }
                "expires" => expires = Some(self.date(&dotted, value)?),
                _ => return Err(self.unknown_in(at, "waivers", name, &key.span())),
            }
        }
        let missing = |name: &str| {
            let message = "the key is missing; a waiver has code, path, reason and expires";
            self.refuse(&dotted(at, name), &item.span(), message)
        };
        Ok(Waiver {
            code: code.ok_or_else(|| missing("code"))?,
            path: path.ok_or_else(|| missing("path"))?,
            reason: reason.ok_or_else(|| missing("reason"))?,
            expires: expires.ok_or_else(|| missing("expires"))?,
        })
    }

    fn waiver_path(&self, dotted: &str, value: &Value<'_>) -> Result<String, ConfigError> {
        let text = self.string(dotted, value)?;
        let literal = text.strip_suffix("/**").unwrap_or(text);
        if literal.contains('*') || RegistryPath::try_from(literal).is_err() {
            let expected = "a path in the registry, exact or a folder and `/**`";
            return Err(self.expected(dotted, expected, value));
        }
        Ok(text.to_owned())
    }

    /// A day as `YYYY-MM-DD`, in quotes or as TOML's own date.
    fn date(&self, dotted: &str, value: &Value<'_>) -> Result<String, ConfigError> {
        let text = match value.get_ref() {
            DeValue::Datetime(date) => date.to_string(),
            _ => self.string(dotted, value)?.to_owned(),
        };
        let digits = text
            .bytes()
            .zip(*b"dddd-dd-dd")
            .all(|(b, form)| match form {
                b'd' => b.is_ascii_digit(),
                exact => b == exact,
            });
        if text.len() == 10 && digits && text.parse::<jiff::civil::Date>().is_ok() {
            return Ok(text);
        }
        Err(self.expected(dotted, "a day such as \"2027-03-31\"", value))
    }

    /// The rule of this code.
    fn rule(&self, dotted: &str, code: &str, at: &Range<usize>) -> Result<&RuleInfo, ConfigError> {
        if let Some(rule) = self.rules.iter().find(|r| r.code == code) {
            return Ok(rule);
        }
        let meant = nearest(code, self.rules.iter().map(|r| r.code))
            .map(|near| format!("; did you mean `{near}`?"))
            .unwrap_or_default();
        let message = format!("there is no rule {:?}{meant}", shorten(code));
        Err(self.refuse(dotted, at, message))
    }

    fn string<'v>(&self, dotted: &str, value: &'v Value<'_>) -> Result<&'v str, ConfigError> {
        let text = value.get_ref().as_str();
        text.ok_or_else(|| self.expected(dotted, "a text in quotes", value))
    }

    fn checked<T: for<'t> TryFrom<&'t str, Error = Malformed>>(
        &self,
        dotted: &str,
        value: &Value<'_>,
    ) -> Result<T, ConfigError> {
        let text = self.string(dotted, value)?;
        T::try_from(text)
            .map_err(|e| self.refuse(dotted, &value.span(), format!("{e}; correct it")))
    }

    fn boolean(&self, dotted: &str, value: &Value<'_>) -> Result<bool, ConfigError> {
        let flag = value.get_ref().as_bool();
        flag.ok_or_else(|| self.expected(dotted, "true or false", value))
    }

    fn integer(
        &self,
        dotted: &str,
        value: &Value<'_>,
        range: RangeInclusive<u64>,
    ) -> Result<u64, ConfigError> {
        let number = value
            .get_ref()
            .as_integer()
            .and_then(|i| u64::from_str_radix(i.as_str(), i.radix()).ok());
        number.filter(|n| range.contains(n)).ok_or_else(|| {
            let expected = format!("an integer from {} to {}", range.start(), range.end());
            self.expected(dotted, &expected, value)
        })
    }

    fn unknown(&self, section: &str, name: &str, at: &Range<usize>) -> ConfigError {
        self.unknown_in(section, section, name, at)
    }

    /// The error for a key that `section` lacks, where `shown` is the section's dotted place in the file.
    fn unknown_in(&self, shown: &str, section: &str, name: &str, at: &Range<usize>) -> ConfigError {
        let short = shorten(name);
        let mut best: Option<(f64, String)> = None;
        let mut consider = |candidate: &str, whole: String, near: f64| {
            // Shared pairs of letters: a key is as often recalled by its middle (`max_file_size`) as mistyped.
            let score = strsim::sorensen_dice(&short, candidate) + near;
            if best.as_ref().is_none_or(|(b, _)| score > *b) {
                best = Some((score, whole));
            }
        };
        for (known, keys) in KNOWN {
            // A key of the same section is the likelier slip, yet a key may be under the wrong heading too.
            let near = if *known == section { 0.4 } else { 0.0 };
            let near_section = if section.is_empty() { 0.4 } else { 0.0 };
            consider(known, (*known).to_owned(), near_section);
            for key in *keys {
                consider(key, format!("{known}.{key}"), near);
            }
        }
        let meant = best.map(|(_, whole)| whole).unwrap_or_default();
        self.refuse(
            &dotted(shown, name),
            at,
            format!("unknown key; did you mean `{meant}`? Remove or correct it"),
        )
    }

    fn expected(&self, dotted: &str, expected: &str, value: &Value<'_>) -> ConfigError {
        let found = match value.get_ref() {
            DeValue::String(text) => format!("{:?}", shorten(text)),
            DeValue::Integer(number) => shorten(number.as_str()),
            DeValue::Float(number) => shorten(number.as_str()),
            DeValue::Boolean(flag) => flag.to_string(),
            DeValue::Datetime(time) => time.to_string(),
            DeValue::Array(_) => "an array".to_owned(),
            DeValue::Table(_) => "a table".to_owned(),
        };
        let message = format!("expected {expected}, found {found}; correct it");
        self.refuse(dotted, &value.span(), message)
    }

    fn refuse(
        &self,
        dotted: &str,
        at: &Range<usize>,
        message: impl std::fmt::Display,
    ) -> ConfigError {
        let before = self.text.as_bytes().get(..at.start).unwrap_or_default();
        let line = before.iter().filter(|b| **b == b'\n').count() + 1;
        ConfigError::new(FILE, dotted, format!("line {line}: {message}"))
    }
}

/// The full key; a part that TOML would quote is shown in quotes.
fn dotted(section: &str, name: &str) -> String {
    let bare = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    let name = if !name.is_empty() && name.bytes().all(bare) {
        shorten(name)
    } else {
        format!("{:?}", shorten(name))
    };
    if section.is_empty() {
        name
    } else {
        format!("{section}.{name}")
    }
}
