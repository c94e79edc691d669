use super::*;
use crate::container::Limits;
use crate::model::Trust;
use crate::policy::{Level, Policy, Waiver};

fn parse(text: &str) -> Result<Policy, ConfigError> {
    Policy::parse(text, RULES)
}

const KEY: &str = "ed25519:bb97facd81dade000c1d790e0ad1addc47733a120c93cfc4af1734262452a57f";

#[test]
fn an_empty_policy_is_the_default() {
    let policy = parse("").unwrap();
    assert_eq!(policy, Policy::default());
    assert_eq!(policy.registry_id, "local.registry");
    assert_eq!(policy.minimum_trust, Trust::Portable);
    assert_eq!(policy.limits, Limits::default());
    assert!(policy.sidecars_enabled);
    assert!(!policy.sidecars_registry);
    assert!(!policy.index_shards);
    assert_eq!(parse("[limits]\n[rules]\n[index]\n").unwrap(), policy);
}

#[test]
fn a_full_policy() {
    let text = format!(
        r#"
index = {{ keys = ["{KEY}"], expires_days = 3650, shards = true }}
sidecars.enabled = false
sidecars.registry = true
[registry]
id = "com.example.agents"
[limits]
file_bytes = 1_073_741_824
archive_rows = 1
inflated_file_bytes = 0x10
inflated_total_bytes = 4_294_967_296
memory_records = 5
text_bytes = 6
[trust]
minimum = "trusted"
[rules]
memory-fingerprint = "error"
skill-frontmatter = "off"
manifest-order = "error"
signature-invalid = "error"
[[waivers]]
code = "memory-fingerprint"
path = "cartridges/io.github.acme/**"
reason = "Made by an old exporter."
expires = "2027-03-31"
[[waivers]]
code = "skill-frontmatter"
path = "cartridges/io.github.acme/a/1.0.0/cartridge.acx"
reason = "0123456789"
expires = 2028-02-29
"#
    );
    let policy = parse(&text).unwrap();
    assert_eq!(policy.registry_id, "com.example.agents");
    let limits = Limits {
        file_bytes: 1 << 30,
        archive_rows: 1,
        inflated_file_bytes: 16,
        inflated_total_bytes: 4 << 30,
        memory_records: 5,
        text_bytes: 6,
    };
    assert_eq!(policy.limits, limits);
    assert_eq!(policy.minimum_trust, Trust::Trusted);
    // A level that repeats the default is not kept.
    let levels: Vec<_> = policy.levels.iter().map(|(c, l)| (*c, *l)).collect();
    let expected = [
        ("manifest-order", Level::Error),
        ("memory-fingerprint", Level::Error),
        ("skill-frontmatter", Level::Off),
    ];
    assert_eq!(levels, expected);
    let effective: Vec<_> = RULES.iter().map(|r| policy.level(*r)).collect();
    let error = Some(Severity::Error);
    assert_eq!(effective, [error, None, error, error]);
    assert_eq!(policy.index_keys[0].as_str(), KEY);
    assert_eq!(policy.index_expires_days, Some(3650));
    assert!(policy.index_shards);
    assert!(!policy.sidecars_enabled && policy.sidecars_registry);
    assert_eq!(policy.waivers[0].code, "memory-fingerprint");
    assert_eq!(policy.waivers[1].expires, "2028-02-29");
}

#[test]
fn levels_without_a_word_of_the_policy() {
    let policy = Policy::default();
    assert_eq!(policy.level(RULES[0]), Some(Severity::Warning));
    assert_eq!(policy.level(RULES[1]), Some(Severity::Error));
    let lowered = parse("[rules]\nskill-frontmatter = \"warning\"").unwrap();
    assert_eq!(lowered.level(RULES[1]), Some(Severity::Warning));
}

#[test]
fn unknown_keys_name_their_place_and_a_known_one() {
    for (text, field, line, meant) in [
        (
            "[limits]\nmax_fille_size = 3",
            "limits.max_fille_size",
            2,
            "limits.file_bytes",
        ),
        (
            "[limits]\n\n\nfile_byte = 3",
            "limits.file_byte",
            4,
            "limits.file_bytes",
        ),
        ("[limit]\nfile_bytes = 3", "limit", 1, "limits"),
        (
            "\nexpires_days = 3",
            "expires_days",
            2,
            "index.expires_days",
        ),
        (
            "[registry]\nname = 'x'\n",
            "registry.name",
            2,
            "registry.id",
        ),
        ("[index]\nkey = 3", "index.key", 2, "index.keys"),
        (
            "[sidecars]\nenable = true",
            "sidecars.enable",
            2,
            "sidecars.enabled",
        ),
        ("[trust]\nminimun = 3", "trust.minimun", 2, "trust.minimum"),
        ("waiver = []", "waiver", 1, "waivers"),
        (
            "[[waivers]]\nexpired = 1",
            "waivers[0].expired",
            2,
            "waivers.expires",
        ),
        ("\"a\\u001b b\" = 1", "\"a\\u{1b} b\"", 1, ""),
        ("trust.minimum.x = 1", "trust.minimum", 1, ""),
        ("[limits.deeper]\nx = 1", "limits.deeper", 1, ""),
    ] {
        let line = format!("line {line}: ");
        refused(parse(text), field, &[&line, meant]);
    }
    let shown = parse("[limits]\nmax_fille_size = 3")
        .unwrap_err()
        .to_string();
    assert_eq!(
        shown,
        "acx-registry.toml: limits.max_fille_size: line 2: unknown key; did you mean `limits.file_bytes`? Remove or correct it"
    );
}

#[test]
fn refused_values() {
    for (text, field, says) in [
        ("[registry]\nid = 'acme'", "registry.id", "publisher id"),
        (
            "[registry]\nid = 'Com.Example'",
            "registry.id",
            "\"Com.Example\"",
        ),
        (
            "[registry]\nid = 3",
            "registry.id",
            "a text in quotes, found 3",
        ),
        ("registry = 3", "registry", "a table, found 3"),
        (
            "[limits]\nfile_bytes = 0",
            "limits.file_bytes",
            "from 1 to 1073741824, found 0",
        ),
        (
            "[limits]\nfile_bytes = 1_073_741_825",
            "limits.file_bytes",
            "found 1073741825",
        ),
        (
            "[limits]\narchive_rows = -1",
            "limits.archive_rows",
            "found -1",
        ),
        (
            "[limits]\narchive_rows = 1000001",
            "limits.archive_rows",
            "to 1000000",
        ),
        (
            "[limits]\ninflated_file_bytes = 1.5",
            "limits.inflated_file_bytes",
            "found 1.5",
        ),
        (
            "[limits]\ninflated_total_bytes = 4294967297",
            "limits.inflated_total_bytes",
            "to 4294967296",
        ),
        (
            "[limits]\nmemory_records = '5'",
            "limits.memory_records",
            "found \"5\"",
        ),
        (
            "[limits]\nmemory_records = 1000001",
            "limits.memory_records",
            "to 1000000",
        ),
        (
            "[limits]\ntext_bytes = 99999999999999999999999",
            "limits.text_bytes",
            "to 67108864",
        ),
        (
            "[trust]\nminimum = 'local'",
            "trust.minimum",
            "\"portable\" or \"trusted\", found \"local\"",
        ),
        ("[trust]\nminimum = true", "trust.minimum", "found true"),
        (
            "[rules]\nmemory-fingerprnt = 'off'",
            "rules.memory-fingerprnt",
            "did you mean `memory-fingerprint`?",
        ),
        (
            "[rules]\nmemory-fingerprint = 'info'",
            "rules.memory-fingerprint",
            "\"error\", \"warning\" or \"off\", found \"info\"",
        ),
        (
            "[rules]\nsignature-invalid = 'warning'",
            "rules.signature-invalid",
            "cannot be lowered: it concerns the container",
        ),
        (
            "[rules]\nmanifest-order = 'off'",
            "rules.manifest-order",
            "cannot be lowered",
        ),
        ("[index]\nkeys = 'x'", "index.keys", "an array of key ids"),
        (
            "[index]\nkeys = ['ed25519:00']",
            "index.keys[0]",
            "64 lower-case hex digits",
        ),
        (
            "[index]\nexpires_days = 0",
            "index.expires_days",
            "from 1 to 3650",
        ),
        (
            "[index]\nexpires_days = 3651",
            "index.expires_days",
            "found 3651",
        ),
        (
            "[sidecars]\nenabled = 1",
            "sidecars.enabled",
            "true or false, found 1",
        ),
        (
            "[sidecars]\nregistry = 'no'",
            "sidecars.registry",
            "true or false",
        ),
        ("waivers = 3", "waivers", "[[waivers]]"),
        (
            "waivers = [3]",
            "waivers[0]",
            "a table headed [[waivers]], found 3",
        ),
        ("[waivers]\ncode = 'x'", "waivers", "found a table"),
        ("a = ", "", "line 1: not valid TOML"),
        (
            "\n[limits]\nfile_bytes = 1\nfile_bytes = 2",
            "",
            "line 4: not valid TOML",
        ),
    ] {
        refused(parse(text), field, &["line ", says]);
    }
    let twice = format!("[index]\nkeys = ['{KEY}',\n '{KEY}']");
    refused(parse(&twice), "index.keys[1]", &["line 3", "each key once"]);
    let long = "#".repeat(Policy::MAX_BYTES + 1);
    refused(parse(&long), "", &["at most 262144 bytes, found 262145"]);
    assert!(parse(&long[1..]).is_ok());
}

#[test]
fn refused_waivers() {
    let good = [
        ("code", "'memory-fingerprint'"),
        ("path", "'a/**'"),
        ("reason", "'0123456789'"),
        ("expires", "'2027-01-01'"),
    ];
    let with = |name: &str, value: Option<&str>| {
        let mut text = "[[waivers]]\n".to_owned();
        for (key, default) in good {
            let value = if key == name { value } else { Some(default) };
            if let Some(value) = value {
                text.push_str(&format!("{key} = {value}\n"));
            }
        }
        parse(&text)
    };
    assert!(with("", None).is_ok());
    for (name, _) in good {
        let field = format!("waivers[0].{name}");
        refused(with(name, None), &field, &["line 1", "missing"]);
    }
    let long = format!("'{}'", "x".repeat(1001));
    for (name, value, says) in [
        (
            "code",
            "'signature-invalid'",
            "cannot be waived: it concerns",
        ),
        (
            "code",
            "'memory-fingerprints'",
            "did you mean `memory-fingerprint`?",
        ),
        ("code", "3", "a text in quotes"),
        ("path", "'/a'", "a path in the registry"),
        ("path", "'a/../b'", "a path in the registry"),
        ("path", "'a/*/b'", "a path in the registry"),
        ("path", "'**'", "a path in the registry"),
        ("path", "'/**'", "a path in the registry"),
        ("path", "''", "a path in the registry"),
        ("reason", "'too short'", "10 to 1000 characters"),
        ("reason", "'    short     '", "10 to 1000 characters"),
        ("reason", &long, "10 to 1000 characters"),
        ("expires", "'2027-02-29'", "a day such as"),
        ("expires", "'2027-1-1'", "a day such as"),
        ("expires", "'+002027-01-01'", "a day such as"),
        ("expires", "2027-01-01T00:00:00Z", "a day such as"),
        ("expires", "20270101", "a text in quotes"),
        ("expires", "'forever'", "a day such as"),
    ] {
        refused(
            with(name, Some(value)),
            &format!("waivers[0].{name}"),
            &[says],
        );
    }
    assert!(with("reason", Some(&format!("'{}'", "é".repeat(1000)))).is_ok());
}

#[test]
fn waivers_match_a_path_or_a_folder() {
    let waiver = |path: &str| Waiver {
        code: "memory-fingerprint",
        path: path.to_owned(),
        reason: String::new(),
        expires: "2027-03-31".to_owned(),
    };
    let folder = waiver("cartridges/io.github.acme/**");
    assert!(folder.matches(
        "memory-fingerprint",
        "cartridges/io.github.acme/a/1.0.0/cartridge.acx"
    ));
    assert!(!folder.matches(
        "skill-frontmatter",
        "cartridges/io.github.acme/a/1.0.0/cartridge.acx"
    ));
    assert!(!folder.matches(
        "memory-fingerprint",
        "cartridges/io.github.acme2/a/1.0.0/cartridge.acx"
    ));
    assert!(!folder.matches("memory-fingerprint", "cartridges/io.github.acme"));
    let exact = waiver("a/b");
    assert!(exact.matches("memory-fingerprint", "a/b"));
    assert!(!exact.matches("memory-fingerprint", "a/b/c"));
    for (at, holds) in [
        ("2027-03-31T23:59:59.999Z", true),
        ("2027-04-01T00:00:00Z", false),
        // Still 31 March in UTC, and no longer.
        ("2027-04-01T01:59:59+02:00", true),
        ("2027-03-31T23:30:00-01:00", false),
        ("2026-01-01T00:00:00Z", true),
    ] {
        assert_eq!(folder.holds(&time(at)), holds, "{at}");
    }
}
