//! The scrub gate: looks for secrets in everything that an export would publish, before it is signed.
//!
//! It fails closed: one hit, and nothing is written. Nothing is mended or blotted out silently; the report says which
//! rule, which file or field, and at which byte, and shows the secret's public prefix at the most. What is no secret
//! after all is allowed in `scrub-allow.toml`, with a reason.
//!
//! Three passes over each text: forms that say what they are, tokens that only look it, and names of repositories
//! that records were learned in. All of them take time linear in the text.

mod allow;
mod rules;
mod tokens;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use regex::bytes::Regex;
use serde::Serialize;

pub(super) use allow::apply;
pub use rules::{Rule, all as rules};
use tokens::Token;

use super::codebase;
use super::package::Problem;

/// Hits that are kept; a file of nothing but secrets has no end of them, and then nothing can be allowed.
const MOST_HITS: usize = 10_000;
/// Warnings that are kept.
const MOST_WARNINGS: usize = 200;
/// Names of repositories that are searched for.
const MOST_REPOSITORIES: usize = 10_000;

/// One thing that must not be published.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Hit {
    /// The file in the package folder.
    pub file: String,
    /// The record's or the metadata's field; empty for the file's own text.
    pub field: String,
    /// Where the secret begins, in bytes of the file or of the field's text.
    pub offset: usize,
    /// The rule's id.
    pub rule: &'static str,
    /// What it looks like without telling it: its public prefix, and how long it is.
    pub sample: String,
}

impl std::fmt::Display for Hit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = rules::all()
            .find(|(id, _)| *id == self.rule)
            .map_or("a folder of one user", |(_, what)| what);
        let field = if self.field.is_empty() {
            String::new()
        } else {
            format!(" › {}", self.field)
        };
        write!(
            f,
            "[{}] {}{field}, byte {}: {what}: {}",
            self.rule, self.file, self.offset, self.sample
        )
    }
}

/// The forms, compiled, and the look-up of their keywords.
struct Compiled {
    forms: Vec<Regex>,
    keywords: AhoCorasick,
    /// For each keyword, the form that it is of.
    form_of: Vec<usize>,
}

static COMPILED: LazyLock<Option<Compiled>> = LazyLock::new(|| {
    let forms = rules::FORMS
        .iter()
        .map(|rule| {
            regex::bytes::RegexBuilder::new(rule.pattern)
                .unicode(false)
                .size_limit(4 << 20)
                .build()
                .ok()
        })
        .collect::<Option<Vec<Regex>>>()?;
    let pairs: Vec<(usize, &str)> = rules::FORMS
        .iter()
        .enumerate()
        .flat_map(|(at, rule)| rule.keywords.iter().map(move |word| (at, *word)))
        .collect();
    Some(Compiled {
        forms,
        keywords: AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .build(pairs.iter().map(|(_, word)| word))
            .ok()?,
        form_of: pairs.iter().map(|(at, _)| *at).collect(),
    })
});

/// Looks for secrets, and keeps what it found.
#[derive(Debug, Default)]
pub struct Scrubber {
    search: Option<AhoCorasick>,
    /// For each name that is searched for, whether it blocks the export.
    blocks: Vec<bool>,
    hits: Vec<Hit>,
    too_many: bool,
    warnings: Vec<Hit>,
}

impl Scrubber {
    /// A scrubber that knows the names of repositories that must not be told: as they are given, as `host/owner/name`
    /// and as `owner/name`. A name alone may be a word, and is a warning.
    ///
    /// # Errors
    /// [`Problem`] where there are too many names to be searched for.
    pub fn new(repositories: &BTreeSet<String>) -> Result<Self, Problem> {
        let problem = |message: String| Problem::new(super::package::RECORDS, "", message);
        if repositories.len() > MOST_REPOSITORIES {
            return Err(problem(format!(
                "the records name more than {MOST_REPOSITORIES} repositories"
            )));
        }
        // What blocks comes last, and so wins where a name is both.
        let mut names: BTreeMap<String, bool> = BTreeMap::new();
        let canonical: Vec<String> = repositories
            .iter()
            .map(|name| codebase::canonical_identity(name))
            .collect();
        for path in canonical.iter().filter(|path| path.contains('/')) {
            let name = path.rsplit('/').next().unwrap_or_default();
            names.insert(name.to_owned(), false);
        }
        for path in &canonical {
            let mut parts = path.rsplitn(3, '/');
            if let (Some(name), Some(owner)) = (parts.next(), parts.next()) {
                names.insert(format!("{owner}/{name}"), true);
                names.insert(path.clone(), true);
            }
        }
        for name in repositories {
            let plain = name.len() < 12 && name.bytes().all(|b| b.is_ascii_alphabetic());
            names.insert(name.to_lowercase(), !plain);
        }
        names.retain(|name, blocks| name.len() >= if *blocks { 3 } else { 5 });
        let search = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .build(names.keys())
            .map_err(|e| {
                problem(format!(
                    "the repositories' names cannot be searched for: {e}"
                ))
            })?;
        Ok(Self {
            search: (!names.is_empty()).then_some(search),
            blocks: names.into_values().collect(),
            ..Self::default()
        })
    }

    /// What blocks the export, and what the author should look at; both in the order in which they were found.
    ///
    /// # Errors
    /// [`Problem`] where there is more than can be listed, and so more than can be allowed.
    pub fn finish(self) -> Result<(Vec<Hit>, Vec<Hit>), Problem> {
        if self.too_many {
            let message = format!(
                "more than {MOST_HITS} places look like secrets, the first in {}: leave such files out",
                self.hits.first().map_or("", |hit| &hit.file)
            );
            return Err(Problem::new("", "", message));
        }
        Ok((self.hits, self.warnings))
    }

    /// Looks through a file of the package.
    pub fn file(&mut self, name: &str, data: &[u8]) {
        self.text(name, "file name", name.as_bytes(), false);
        let last = name.rsplit('/').next().unwrap_or(name);
        if let Some(what) = crate::secret::secret_name(last) {
            self.hit(
                name,
                "file name",
                name.len() - last.len(),
                rules::FILE_NAME,
                what.to_owned(),
            );
        }
        if let Some(what) = opaque(data) {
            self.hit(name, "", 0, rules::OPAQUE, what.to_owned());
            return;
        }
        self.text(name, "", data, is_lock_file(name));
    }

    /// Looks through one field of a record, or one metadata value.
    pub fn field(&mut self, file: &str, field: &str, text: &str) {
        self.text(file, field, text.as_bytes(), false);
    }

    fn hit(&mut self, file: &str, field: &str, offset: usize, rule: &'static str, sample: String) {
        if self.hits.len() >= MOST_HITS {
            self.too_many = true;
        } else {
            self.hits.push(Hit {
                file: file.to_owned(),
                field: field.to_owned(),
                offset,
                rule,
                sample,
            });
        }
    }

    fn text(&mut self, file: &str, field: &str, bytes: &[u8], lock_file: bool) {
        if self.too_many {
            return;
        }
        let mut taken: Vec<Range<usize>> = Vec::new();
        let mut found: Vec<(usize, &'static str, String)> = Vec::new();
        let Some(compiled) = COMPILED.as_ref() else {
            // Without its rules the gate is shut.
            return self.hit(
                file,
                field,
                0,
                rules::OPAQUE,
                "the rules do not compile".to_owned(),
            );
        };
        let wanted: BTreeSet<usize> = compiled
            .keywords
            .find_overlapping_iter(bytes)
            .filter_map(|m| compiled.form_of.get(m.pattern().as_usize()).copied())
            .collect();
        for at in wanted {
            let (Some(rule), Some(form)) = (rules::FORMS.get(at), compiled.forms.get(at)) else {
                continue;
            };
            for captures in form.captures_iter(bytes) {
                let Some(secret) = captures.name("s").or_else(|| captures.get(0)) else {
                    continue;
                };
                if is_stand_in(rule.id, secret.as_bytes()) || overlaps(&taken, &secret.range()) {
                    continue;
                }
                if taken.len() > MOST_HITS {
                    break;
                }
                taken.push(secret.range());
                found.push((
                    secret.start(),
                    rule.id,
                    sample(secret.as_bytes(), rule.shown),
                ));
            }
        }
        // Tokens without a form are a matter of text; in other data anything looks random. Text in an old encoding is
        // text between its odd bytes.
        let text = if bytes.contains(&0) { &[] } else { bytes };
        let mut from = 0;
        for chunk in text.utf8_chunks() {
            let text = chunk.valid();
            for token in tokens::find(text, lock_file) {
                let (rule, range) = match token {
                    Token::Assignment(range) => (rules::ASSIGNMENT, range),
                    Token::Hex(range) => (rules::HEX, range),
                    Token::Random(range) => (rules::RANDOM, range),
                };
                let range = from + range.start..from + range.end;
                if taken.len() <= MOST_HITS && !overlaps(&taken, &range) {
                    taken.push(range.clone());
                    found.push((range.start, rule, hidden(range.len())));
                }
            }
            self.home_folders(file, field, text, from);
            from += text.len() + chunk.invalid().len();
        }
        self.repository_names(file, field, bytes, &mut found);
        found.sort();
        for (offset, rule, sample) in found {
            self.hit(file, field, offset, rule, sample);
        }
    }

    /// Names that tell where a record was learned. Of names within each other the longest counts.
    fn repository_names(
        &mut self,
        file: &str,
        field: &str,
        bytes: &[u8],
        found: &mut Vec<(usize, &'static str, String)>,
    ) {
        let Some(search) = &self.search else { return };
        let word = |b: Option<&u8>| b.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
        let mut matches: Vec<(bool, Range<usize>)> = search
            .find_overlapping_iter(bytes)
            .filter(|m| {
                let before = m.start().checked_sub(1).and_then(|at| bytes.get(at));
                !word(before) && !word(bytes.get(m.end()))
            })
            .map(|m| {
                let blocks = self.blocks.get(m.pattern().as_usize()) == Some(&true);
                (blocks, m.range())
            })
            .take(MOST_HITS + 1)
            .collect();
        self.too_many |= matches.len() > MOST_HITS;
        matches.sort_by_key(|(blocks, range)| (!blocks, range.start, std::cmp::Reverse(range.end)));
        let mut kept: Vec<Range<usize>> = Vec::new();
        for (blocks, range) in matches {
            if overlaps(&kept, &range) {
                continue;
            }
            if blocks {
                found.push((range.start, rules::REPOSITORY, hidden(range.len())));
            } else if self.warnings.len() < MOST_WARNINGS {
                self.warnings.push(Hit {
                    file: file.to_owned(),
                    field: field.to_owned(),
                    offset: range.start,
                    rule: rules::REPOSITORY,
                    sample: hidden(range.len()),
                });
            }
            kept.push(range);
        }
    }

    fn home_folders(&mut self, file: &str, field: &str, text: &str, from: usize) {
        static HOME: LazyLock<Option<regex::Regex>> = LazyLock::new(|| {
            regex::Regex::new(
                r"(?:/home/|/Users/|\b[A-Za-z]:\\{1,2}Users\\{1,2})(?P<user>[A-Za-z0-9._-]{2,64})",
            )
            .ok()
        });
        const ANYBODY: [&str; 18] = [
            "admin", "app", "circleci", "dev", "example", "jovyan", "me", "name", "node", "public",
            "runner", "shared", "ubuntu", "user", "username", "vscode", "you", "youruser",
        ];
        for captures in HOME.iter().flat_map(|home| home.captures_iter(text)) {
            let Some(user) = captures.name("user") else {
                continue;
            };
            if ANYBODY.contains(&user.as_str().to_ascii_lowercase().as_str())
                || self.warnings.len() >= MOST_WARNINGS
            {
                continue;
            }
            let start = from + captures.get(0).map_or(0, |m| m.start());
            self.warnings.push(Hit {
                file: file.to_owned(),
                field: field.to_owned(),
                offset: start,
                rule: rules::HOME,
                sample: hidden(user.len()),
            });
        }
    }
}

/// What cannot be looked into, by its first bytes.
fn opaque(data: &[u8]) -> Option<&'static str> {
    let kinds: [(&[u8], &str); 10] = [
        (b"PK\x03\x04", "a ZIP archive"),
        (b"PK\x05\x06", "a ZIP archive"),
        (b"\x1f\x8b", "gzip data"),
        (b"\x28\xb5\x2f\xfd", "Zstandard data"),
        (b"\xfd7zXZ\x00", "xz data"),
        (b"BZh", "bzip2 data"),
        (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
        (b"SQLite format 3\x00", "an SQLite database"),
        (b"\xff\xfe", "UTF-16 text; save it as UTF-8"),
        (b"\xfe\xff", "UTF-16 text; save it as UTF-8"),
    ];
    let (_, what) = kinds.iter().find(|(magic, _)| data.starts_with(magic))?;
    Some(what)
}

/// Files that package managers write, full of checksums. Only forms that say what they are count in them.
fn is_lock_file(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or(name);
    [
        "Cargo.lock",
        "Gemfile.lock",
        "Pipfile.lock",
        "bun.lock",
        "composer.lock",
        "deno.lock",
        "flake.lock",
        "go.sum",
        "gradle.lockfile",
        "mix.lock",
        "npm-shrinkwrap.json",
        "package-lock.json",
        "packages.lock.json",
        "pdm.lock",
        "pnpm-lock.yaml",
        "poetry.lock",
        "pubspec.lock",
        "uv.lock",
        "yarn.lock",
    ]
    .contains(&name)
}

/// Whether something of a secret's form only stands for one.
fn is_stand_in(rule: &str, secret: &[u8]) -> bool {
    if rule == "private-key" {
        return false;
    }
    let text = String::from_utf8_lossy(secret);
    match rule {
        "uri-credentials" => {
            let lower = text.to_ascii_lowercase();
            let words = ["password", "passwd", "pass", "pwd", "secret", "token", "pw"];
            is_placeholder(&text)
                || words.contains(&lower.as_str())
                || text.starts_with(['$', '{', '%', '*', '['])
        }
        "auth-header" => {
            is_placeholder(&text) || tokens::is_wordy(&text) || tokens::entropy(&text) < 3.0
        }
        _ => {
            let lower = text.to_ascii_lowercase();
            lower.contains("example")
                || lower.contains("xxxxx")
                || lower.contains("00000000")
                || distinct(secret) < 8
        }
    }
}

/// Whether a value says itself that it is none.
fn is_placeholder(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    const WORDS: [&str; 18] = [
        "example",
        "your",
        "xxxx",
        "placeholder",
        "changeme",
        "change-me",
        "change_me",
        "dummy",
        "redacted",
        "****",
        "...",
        "…",
        "${",
        "{{",
        "<",
        "sample",
        "not-a-real",
        "todo",
    ];
    WORDS.iter().any(|word| lower.contains(word)) || distinct(text.as_bytes()) < 4
}

/// How many different bytes there are.
fn distinct(bytes: &[u8]) -> usize {
    bytes.iter().collect::<BTreeSet<_>>().len()
}

fn overlaps(taken: &[Range<usize>], range: &Range<usize>) -> bool {
    taken
        .iter()
        .any(|t| t.start < range.end && range.start < t.end)
}

/// A file's or a field's name without the secrets in it, so that saying where one is does not tell another.
pub fn redacted(name: &str) -> String {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for form in COMPILED.iter().flat_map(|compiled| &compiled.forms) {
        for captures in form.captures_iter(name.as_bytes()) {
            ranges.extend(
                captures
                    .name("s")
                    .or_else(|| captures.get(0))
                    .map(|m| m.range()),
            );
        }
    }
    ranges.extend(
        tokens::find(name, false)
            .into_iter()
            .map(|token| match token {
                Token::Assignment(range) | Token::Hex(range) | Token::Random(range) => range,
            }),
    );
    ranges.sort_by_key(|range| range.start);
    let mut out = String::new();
    let mut from = 0;
    for range in ranges {
        if range.start >= from
            && name.is_char_boundary(range.start)
            && name.is_char_boundary(range.end)
        {
            out.push_str(name.get(from..range.start).unwrap_or_default());
            out.push_str(&hidden(range.len()));
            from = range.end;
        }
    }
    out.push_str(name.get(from..).unwrap_or_default());
    out
}

fn hidden(length: usize) -> String {
    format!("‹{length} bytes hidden›")
}

/// The secret's public prefix, and the length of the rest.
fn sample(secret: &[u8], shown: usize) -> String {
    let shown = shown.min(secret.len() / 2);
    let prefix = String::from_utf8_lossy(secret.get(..shown).unwrap_or_default()).into_owned();
    format!("{prefix}{}", hidden(secret.len() - shown))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_compile_and_are_named_once() {
        assert!(COMPILED.is_some());
        let ids: Vec<&str> = rules::all().map(|(id, _)| id).collect();
        let unique: BTreeSet<&str> = ids.iter().copied().collect();
        assert_eq!(unique.len(), ids.len());
        for rule in rules::FORMS {
            assert!(!rule.keywords.is_empty(), "{}", rule.id);
            for word in rule.keywords {
                assert_eq!(*word, word.to_ascii_lowercase(), "{}", rule.id);
            }
        }
    }

    #[test]
    fn a_sample_tells_at_most_half() {
        assert_eq!(sample(b"ghp_0123456789", 4), "ghp_‹10 bytes hidden›");
        assert_eq!(sample(b"ab", 4), "a‹1 bytes hidden›");
        assert_eq!(hidden(3), "‹3 bytes hidden›");
    }
}
