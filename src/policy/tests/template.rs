//! The example registry's files: valid, and the policy shows every key at its default.

use super::*;
use crate::policy::{Policy, StatusLedger, TrustRegistry};

const POLICY: &str = include_str!("../../../registry-template/acx-registry.toml");

/// The settings that the template shows, as a policy that sets them: prose follows `# `, a setting follows `#`.
fn shown() -> String {
    let lines = POLICY.lines().map(|line| match line.strip_prefix('#') {
        Some(setting)
            if setting.starts_with(|c: char| c.is_ascii_lowercase() || "[\"".contains(c)) =>
        {
            setting
        }
        _ => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_template_is_valid_and_sets_nothing() {
    assert_eq!(Policy::parse(POLICY, RULES).unwrap(), Policy::default());
    let ledger =
        StatusLedger::parse(include_bytes!("../../../registry-template/status.json")).unwrap();
    assert!(ledger.entries.is_empty());
    let trust = include_bytes!("../../../registry-template/trust-registry.json");
    TrustRegistry::parse(trust, &now()).unwrap();
    let keys: Json = serde_json::from_slice(trust).unwrap();
    assert_eq!(keys["keys"], serde_json::json!([]));
}

#[test]
fn the_template_shows_every_key_at_its_default() {
    let shown = shown();
    let table: toml::Table = shown.parse().unwrap();
    for (section, keys) in crate::policy::settings::KNOWN {
        let part = match &table[*section] {
            toml::Value::Array(items) => items[0].as_table().unwrap(),
            part => part.as_table().unwrap(),
        };
        for key in *keys {
            assert!(part.contains_key(*key), "{section}.{key}");
        }
    }
    // What has no default is an example, and its comment says so.
    let mut rules = RULES.to_vec();
    for code in table["rules"].as_table().unwrap().keys() {
        let code: &'static str = code.clone().leak();
        rules.push(RuleInfo {
            code,
            level: Severity::Warning,
            fixed: false,
        });
    }
    rules.push(RuleInfo {
        code: "history-publisher-key",
        level: Severity::Error,
        fixed: false,
    });
    let mut policy = Policy::parse(&shown, &rules).unwrap();
    assert_eq!(policy.guarded, ["main", "release/*"]);
    assert_eq!(policy.publisher_pins.len(), 1);
    assert!(policy.issuer_keys.is_some());
    policy.issuer_keys = None;
    policy.guarded.clear();
    policy.publisher_pins.clear();
    assert_eq!(policy.waivers.len(), 1);
    assert_eq!(policy.index_expires_days, Some(365));
    policy.levels.clear();
    policy.waivers.clear();
    policy.index_expires_days = None;
    assert_eq!(policy, Policy::default());
}
