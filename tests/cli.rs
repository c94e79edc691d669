//! The command line: JSON shapes, exit statuses, keys, and text of strangers that never reaches a terminal raw.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use support::cartridge::{Builder, Entry, PUBLISHER_SEED};
use support::keys;
use support::registry::{
    INDEX_SEED, Output, TempRegistry, TrustKey, fine, index_keyid, ledger_entry, rejected_codes,
    with_fine,
};

/// An object of exactly these members, each of its kind: s text, b truth, n number, a list, o object, `|` for more.
fn shape(value: &Value, members: &[(&str, &str)]) {
    let object = value
        .as_object()
        .unwrap_or_else(|| panic!("no object: {value}"));
    let found: BTreeSet<&str> = object.keys().map(String::as_str).collect();
    let expected: BTreeSet<&str> = members.iter().map(|(name, _)| *name).collect();
    assert_eq!(found, expected, "{value}");
    for (name, kinds) in members {
        let kind = match &object[*name] {
            Value::Null => '-',
            Value::Bool(_) => 'b',
            Value::Number(_) => 'n',
            Value::String(_) => 's',
            Value::Array(_) => 'a',
            Value::Object(_) => 'o',
        };
        assert!(kinds.contains(kind), "{name}: {}", object[*name]);
    }
}

const FAMILIES: &[&str] = &[
    "container",
    "path",
    "integrity",
    "signature",
    "package-spec",
    "memory",
    "capability",
    "lance",
    "save-zone",
    "skill",
    "harness",
    "loop-context",
    "registry",
    "history",
    "policy",
    "schema",
    "graph",
    "profile",
    "lineage",
    "coordinate",
];

fn finding(value: &Value, severity: &str) {
    shape(
        value,
        &[
            ("code", "s"),
            ("family", "s"),
            ("severity", "s"),
            ("message", "s"),
            ("help", "s"),
            ("location", "o"),
        ],
    );
    assert_eq!(value["severity"], severity, "{value}");
    assert!(
        FAMILIES.contains(&value["family"].as_str().unwrap()),
        "{value}"
    );
    let location = value["location"].as_object().unwrap();
    assert!(location["path"].is_string(), "{value}");
    for (name, part) in location {
        assert!(
            ["path", "table", "row", "pointer"].contains(&name.as_str()),
            "{value}"
        );
        assert!(part.is_string(), "{value}");
    }
}

/// Files with each verdict: accepted, accepted with a warning, rejected, no cartridge, absent.
fn files(registry: &TempRegistry) -> Vec<String> {
    let mut warned = fine();
    warned.edit_spec(|spec| spec["artifacts"][1]["count"] = 9.into());
    let mut tampered = fine();
    tampered.sql("UPDATE cartridge SET value = 'Evil' WHERE key = 'acx.agent_name'");
    registry
        .put("a.acx", fine().build())
        .put("b.acx", warned.build())
        .put("c.acx", tampered.build())
        .put("d.acx", "no cartridge");
    ["a.acx", "b.acx", "c.acx", "d.acx", "absent.acx"]
        .map(str::to_owned)
        .into()
}

#[test]
fn check_and_verify_print_files_in_the_order_of_the_arguments() {
    let registry = TempRegistry::new();
    let files = files(&registry);
    for command in ["check", "verify"] {
        let mut args: Vec<&str> = vec![command, "--format", "json"];
        args.extend(files.iter().map(String::as_str));
        let out = registry.run(&args);
        assert_eq!(out.status, 2, "{command}: {out:#?}");
        let report = out.json();
        shape(&report, &[("version", "n"), ("files", "a")]);
        assert_eq!(report["version"], 1);
        let found: Vec<(&str, &str)> = report["files"]
            .as_array()
            .unwrap()
            .iter()
            .map(|file| {
                shape(
                    file,
                    &[
                        ("path", "s"),
                        ("verdict", "s"),
                        ("trust", "s-"),
                        ("status", "s"),
                        ("clean", "b"),
                        ("findings", "a"),
                    ],
                );
                (
                    file["path"].as_str().unwrap(),
                    file["verdict"].as_str().unwrap(),
                )
            })
            .collect();
        let verdicts = ["accept", "accept", "reject", "reject", "unverifiable"];
        let expected: Vec<(&str, &str)> = files.iter().map(String::as_str).zip(verdicts).collect();
        assert_eq!(found, expected, "{command}");
        assert_eq!(report["files"][2]["trust"], "tampered");
        assert_eq!(report["files"][2]["status"], "invalid");
        assert_eq!(report["files"][3]["trust"], json!(null));
        assert_eq!(report["files"][0]["findings"], json!([]), "{command}");
        for at in [2, 3] {
            finding(&report["files"][at]["findings"][0], "error");
        }
        if command == "check" {
            finding(&report["files"][1]["findings"][0], "warning");
        }
    }
}

#[test]
fn the_format_never_changes_the_exit_status() {
    let registry = TempRegistry::new();
    let files = files(&registry);
    for (file, check, inspect) in [
        (&files[0], 0, 0),
        (&files[1], 0, 0),
        (&files[2], 1, 0),
        (&files[3], 1, 1),
        (&files[4], 2, 2),
    ] {
        for format in ["human", "json"] {
            for (command, status) in [("check", check), ("verify", check), ("inspect", inspect)] {
                let out = registry.run(&[command, file, "--format", format]);
                assert_eq!(out.status, status, "{command} {file} {format}: {out:#?}");
            }
            let out = registry.run(&["spec", file, "--format", format]);
            assert_eq!(
                out.status == 2,
                check == 2,
                "spec {file} {format}: {out:#?}"
            );
        }
    }
    let key = registry.key();
    for format in ["human", "json"] {
        // The loose files of this registry stand at no place of a cartridge.
        let args = ["build-index", "--key", &key, "--format", format];
        assert_eq!(registry.run(&args).status, 1);
        assert_eq!(
            registry.run(&["verify-index", "--format", format]).status,
            1
        );
        let good = [
            "verify-index",
            "--keyid",
            &index_keyid(),
            "--format",
            format,
        ];
        assert_eq!(registry.run(&good).status, 0);
        assert_eq!(
            registry
                .run(&["explain", "no-such-code", "--format", format])
                .status,
            2
        );
    }
}

#[test]
fn build_index_prints_what_it_did() {
    let registry = with_fine();
    let mut warned = Builder::valid("io.github.acme", "warned", "1.0.0");
    warned.edit_spec(|spec| spec["artifacts"][1]["count"] = 9.into());
    registry.cartridge(&warned);
    let bad = "cartridges/io.github.acme/bad/1.0.0/cartridge.acx";
    registry.put(bad, "no cartridge");
    let out = registry.build_index(&[]);
    assert_eq!(out.status, 1, "{out:#?}");
    let report = out.json();
    shape(
        &report,
        &[
            ("version", "n"),
            ("registry", "s"),
            ("accepted", "a"),
            ("rejected", "a"),
            ("unverifiable", "a"),
            ("warnings", "a"),
            ("counts", "o"),
            ("wrote", "a"),
            ("removed", "a"),
            ("changes", "o"),
            ("differences", "a"),
            ("outcome", "s"),
        ],
    );
    assert_eq!(
        (&report["version"], &report["registry"]),
        (&json!(1), &json!("local.registry"))
    );
    assert_eq!(
        report["wrote"],
        json!([
            "cartridges/io.github.acme/fine/1.0.0/cartridge.memories.lance",
            "cartridges/io.github.acme/warned/1.0.0/cartridge.memories.lance",
            "index.json"
        ])
    );
    shape(
        &report["accepted"][0],
        &[
            ("path", "s"),
            ("publisher", "s"),
            ("id", "s"),
            ("version", "s"),
            ("trust", "s"),
            ("digest", "s"),
        ],
    );
    assert_eq!(
        report["accepted"][0]["digest"],
        json!(fine().manifest_hash())
    );
    shape(&report["rejected"][0], &[("path", "s"), ("findings", "a")]);
    assert_eq!(report["rejected"][0]["path"], bad);
    finding(&report["rejected"][0]["findings"][0], "error");
    finding(&report["warnings"][0], "warning");
    assert_eq!(
        report["counts"],
        json!({
            "cartridges": 3, "workflows": 0, "agentGraphs": 0, "accepted": 2, "rejected": 1, "unverifiable": 0,
            "warnings": 1, "templates": 0,
        })
    );
}

#[test]
fn wrong_use_is_status_2_and_no_result() {
    let registry = with_fine();
    let cases: &[&[&str]] = &[
        &[],
        &["no-such-command"],
        &["check"],
        &["verify"],
        &["build-index", "--no-such-option"],
        &["build-index", "--check", "--dry-run"],
        &["build-index", "--on-reject", "ignore"],
        &["build-index", "--jobs", "-1"],
        &["build-index", "--jobs", "many"],
        &["build-index", "--format", "yaml"],
        &["build-index", "--key"],
        &["build-index", "--key", "/no/such/file"],
        &["build-index", "/no/such/registry"],
        &["build-index", ".", "."],
        &["check", "--registry", "/no/such/registry", "a.acx"],
        &["verify", "--trust-registry", "/no/such/file", "a.acx"],
        &["verify", "--own-key", "ed25519:0", "a.acx"],
        &["verify-index", "--keyid", "ed25519:0"],
        &["verify-index", "--pubkey", "/no/such/file"],
        &["verify-index", "--min-sequence", "-1"],
        &["verify-index", "/no/such/file"],
        &["explain"],
        &["explain", "integrity-stowawy"],
        &["key"],
        &["key", "generate", "--registry-id", "../../evil"],
        &["completions", "no-such-shell"],
    ];
    for args in cases {
        let out = registry.run(args);
        assert_eq!(out.status, 2, "{args:?}: {out:#?}");
        assert_eq!(out.stdout, "", "{args:?}");
        assert!(!out.stderr.trim().is_empty(), "{args:?}");
    }
    let out = registry.run(&["explain", "integrity-stowawy"]);
    assert!(out.stderr.contains("`integrity-stowaway`"), "{out:#?}");
    for epoch in [
        "",
        "yesterday",
        "99999999999999999999",
        "1e9",
        "999999999999999",
    ] {
        let out = registry.run_with(
            &["build-index", "--dry-run"],
            &[("SOURCE_DATE_EPOCH", epoch)],
        );
        assert_eq!(out.status, 2, "{epoch:?}: {out:#?}");
        assert!(
            out.stderr.contains("SOURCE_DATE_EPOCH"),
            "{epoch:?}: {out:#?}"
        );
    }
}

fn pem_file(registry: &TempRegistry, name: &str, text: &str) -> String {
    let path = registry.home().join(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    path.to_str().unwrap().to_owned()
}

fn folder_key(registry: &TempRegistry) -> PathBuf {
    registry.home().join(".config/acx/keys/local.registry.pem")
}

fn signer(registry: &TempRegistry) -> String {
    let index = registry.index().expect("an index was written");
    index["integrity"]["keyid"].as_str().unwrap().to_owned()
}

fn keyid(seed: u8) -> String {
    keys::keyid(&keys::public(&keys::seed(seed)))
}

#[test]
fn the_key_comes_from_the_option_then_the_environment_then_the_folder() {
    let registry = with_fine();
    let [option, variable, folder] = [21, 22, 23].map(|n| keys::private_pem(&keys::seed(n)));
    let option = pem_file(&registry, "option.pem", &option);
    fs::create_dir_all(folder_key(&registry).parent().unwrap()).unwrap();
    fs::write(folder_key(&registry), &folder).unwrap();
    fs::set_permissions(folder_key(&registry), fs::Permissions::from_mode(0o600)).unwrap();
    let environment = [("ACX_INDEX_KEY", variable.as_str())];
    type Run<'a> = (&'a [&'a str], &'a [(&'a str, &'a str)], u8);
    let cases: [Run<'_>; 3] = [
        (&["build-index", "--key", &option], &environment, 21),
        (&["build-index"], &environment, 22),
        (&["build-index"], &[], 23),
    ];
    for (args, env, seed) in cases {
        let out = registry.run_with(args, env);
        assert_eq!(out.status, 0, "{out:#?}");
        assert_eq!(signer(&registry), keyid(seed));
        registry.remove("index.json");
    }
    // Its folder may be set, and a key that the owner's group can read is said to be.
    let elsewhere = registry.home().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let file = elsewhere.join("local.registry.pem");
    fs::write(&file, keys::private_pem(&keys::seed(24))).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    let out = registry.run_with(
        &["build-index"],
        &[("ACX_KEY_DIR", elsewhere.to_str().unwrap())],
    );
    assert_eq!((out.status, signer(&registry)), (0, keyid(24)));
    assert!(out.stderr.contains("chmod 600"), "{out:#?}");
}

#[test]
fn a_first_build_makes_a_key_and_says_so_and_no_later_one_does() {
    let registry = with_fine();
    let out = registry.run(&["build-index"]);
    assert_eq!(out.status, 0, "{out:#?}");
    let file = folder_key(&registry);
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let folder = file.parent().unwrap().metadata().unwrap();
    assert_eq!(folder.permissions().mode() & 0o777, 0o700);
    let made = signer(&registry);
    assert!(
        out.stderr.contains(&made) && out.stderr.contains("NEW SIGNING KEY"),
        "{out:#?}"
    );
    assert!(out.stderr.contains(file.to_str().unwrap()), "{out:#?}");
    let private = fs::read_to_string(&file).unwrap();
    let body = private.lines().nth(1).unwrap();
    assert!(
        !out.stdout.contains(body) && !out.stderr.contains(body),
        "the key was printed"
    );

    registry.cartridge(&Builder::valid("io.github.acme", "other", "1.0.0"));
    let out = registry.run(&["build-index"]);
    assert_eq!((out.status, out.stderr.as_str()), (0, ""));
    assert_eq!(signer(&registry), made);

    // The key lost, none takes its place: neither with something to write nor without.
    fs::remove_file(&file).unwrap();
    for _ in 0..2 {
        let before = registry.snapshot();
        let out = registry.run(&["build-index"]);
        assert_eq!(out.status, 2, "{out:#?}");
        assert!(out.stderr.contains("no signing key"), "{out:#?}");
        assert!(registry.snapshot() == before);
        assert!(!file.exists());
        registry.cartridge(&Builder::valid("io.github.acme", "third", "1.0.0"));
    }
}

#[test]
fn ci_and_a_missing_home_make_no_key() {
    for env in [("CI", "true"), ("CI", "1"), ("HOME", "")] {
        let registry = with_fine();
        let out = registry.run_with(&["build-index"], &[env]);
        assert_eq!(out.status, 2, "{env:?}: {out:#?}");
        assert!(out.stderr.contains("no signing key"), "{env:?}: {out:#?}");
        assert!(registry.index().is_none(), "{env:?}");
        assert!(!registry.home().join(".config").exists(), "{env:?}");
    }
    let registry = with_fine();
    assert_eq!(
        registry
            .run_with(&["build-index"], &[("CI", "false")])
            .status,
        0
    );
    let out = registry.run_with(&["key", "generate"], &[("HOME", "")]);
    assert_eq!(out.status, 2, "{out:#?}");
    assert!(out.stderr.contains("ACX_KEY_DIR"), "{out:#?}");
}

#[test]
fn what_is_no_signing_key_is_refused_and_not_repeated() {
    let body = "MIIEowIBAAKCAQEAu1SU1LfVLPHCozMxH2Mo4lgOEePzNm0tRgeLezV6ffAt0gun";
    let block = |label: &str| format!("-----BEGIN {label}-----\n{body}\n-----END {label}-----\n");
    let public = keys::public_pem(&keys::public(&keys::seed(INDEX_SEED)));
    let two = keys::private_pem(&keys::seed(1)).replace("MC4CAQ", "MC4CAg");
    for (what, text) in [
        ("encrypted", block("ENCRYPTED PRIVATE KEY")),
        ("RSA", block("RSA PRIVATE KEY")),
        ("OpenSSH", block("OPENSSH PRIVATE KEY")),
        ("PKCS#8 of something else", block("PRIVATE KEY")),
        ("public", public),
        ("another version", two),
        ("a word", "hunter2hunter2".to_owned()),
        ("nothing", String::new()),
    ] {
        let registry = with_fine();
        let file = pem_file(&registry, "key.pem", &text);
        let mut runs = vec![registry.run(&["build-index", "--key", &file])];
        // An empty variable is an unset one.
        if !text.is_empty() {
            runs.push(registry.run_with(&["build-index"], &[("ACX_INDEX_KEY", &text)]));
        }
        fs::create_dir_all(folder_key(&registry).parent().unwrap()).unwrap();
        fs::write(folder_key(&registry), &text).unwrap();
        runs.push(registry.run(&["build-index"]));
        runs.push(registry.run(&["key", "show"]));
        for out in runs {
            assert_eq!(out.status, 2, "{what}: {out:#?}");
            assert!(
                out.stderr.contains("unencrypted PKCS#8"),
                "{what}: {out:#?}"
            );
            for secret in [body, "hunter2"] {
                assert!(
                    !out.stderr.contains(secret) && !out.stdout.contains(secret),
                    "{what}: {out:#?}"
                );
            }
        }
        assert!(registry.index().is_none(), "{what}");
        assert_eq!(
            fs::read_to_string(folder_key(&registry)).unwrap(),
            text,
            "{what}"
        );
    }
    let registry = with_fine();
    let file = registry.home().join("bytes.pem");
    fs::write(&file, [0xff; 64]).unwrap();
    let out = registry.run(&["build-index", "--key", file.to_str().unwrap()]);
    assert_eq!(out.status, 2, "{out:#?}");
    fs::write(&file, vec![b'A'; 1 << 20]).unwrap();
    let out = registry.run(&["build-index", "--key", file.to_str().unwrap()]);
    assert_eq!(out.status, 2, "{out:#?}");
}

#[test]
fn key_generate_never_overwrites() {
    let registry = TempRegistry::new();
    let file = pem_file(&registry, "mine.pem", "precious");
    let out = registry.run(&["key", "generate", &file]);
    assert_eq!(out.status, 2, "{out:#?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "precious");
    let link = registry.home().join("link.pem");
    let target = registry.home().join("target.pem");
    std::os::unix::fs::symlink(&target, &link).unwrap();
    assert_eq!(
        registry
            .run(&["key", "generate", link.to_str().unwrap()])
            .status,
        2
    );
    assert!(!target.exists(), "a link was followed");

    let run = |verb: &str| registry.run(&["key", verb, "--format", "json"]);
    let out = run("generate");
    assert_eq!(out.status, 0, "{out:#?}");
    let made = out.json();
    shape(
        &made,
        &[
            ("version", "n"),
            ("file", "s"),
            ("keyid", "s"),
            ("publicKeyPem", "s"),
        ],
    );
    let before = fs::read(folder_key(&registry)).unwrap();
    // PKCS#8 of version 1, as OpenSSL 3.0 reads it: 48 bytes, of which the last 32 are the seed.
    let text = String::from_utf8(before.clone()).unwrap();
    let der = STANDARD.decode(text.lines().nth(1).unwrap()).unwrap();
    let seed: [u8; 32] = der[16..].try_into().unwrap();
    assert_eq!(text, keys::private_pem(&seed));
    assert_eq!(made["keyid"], keys::keyid(&keys::public(&seed)));
    assert_eq!(run("generate").status, 2);
    assert_eq!(fs::read(folder_key(&registry)).unwrap(), before);
    assert_eq!(run("show").json(), made);
    assert!(!out.stdout.contains("PRIVATE"), "{out:#?}");
}

#[test]
fn a_missing_key_and_a_document_under_another_name_are_told() {
    let registry = TempRegistry::new();
    let out = registry.run(&["key", "show", "nowhere.pem"]);
    assert_eq!(out.status, 2, "{out:#?}");
    assert!(
        out.stderr
            .contains("nowhere.pem: there is no such key; `acx key generate` makes one"),
        "{out:#?}"
    );
    let flow = support::signed::workflow("io.github.acme", "flow", "1.0.0", PUBLISHER_SEED);
    registry.put("flow.json", flow.bytes());
    let out = registry.run(&["check", "flow.json"]);
    assert_eq!(out.status, 1, "{out:#?}");
    assert!(
        out.stdout.contains("container-not-sqlite")
            && out.stdout.contains("found JSON text")
            && out.stdout.contains("ends in .cal.json"),
        "{out:#?}"
    );
}

/// Text that draws, deletes, reorders or hides on a terminal.
const HOSTILE: &str = "\u{1b}[31m\u{1b}]0;owned\u{7}\r\n::error::x\u{8}\u{7f}\u{9b}2J\u{202e}gpj\u{2066}\u{200b}\u{feff}\u{85}end";

fn is_tame(what: &str, out: &Output) {
    for text in [&out.stdout, &out.stderr] {
        let wild: Vec<char> = text
            .chars()
            .filter(|c| {
                (c.is_control() && *c != '\n')
                    || matches!(*c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
            })
            .collect();
        assert!(wild.is_empty(), "{what}: {wild:?} in {text}");
        // A line end of a stranger begins no line.
        assert!(
            !text.lines().any(|line| line.starts_with("::error")),
            "{what}: {text}"
        );
    }
}

#[test]
fn hostile_cartridges_do_not_reach_the_terminal_raw() {
    let registry = TempRegistry::new();
    let mut metadata = fine();
    for key in [
        "acx.agent_name",
        "acx.role",
        "acx.provider",
        "acx.model",
        "acx.description",
        "acx.declared_level",
    ] {
        metadata.set(key, HOSTILE);
    }
    let mut names = fine();
    names.files.push(Entry::new(&format!("rom/{HOSTILE}"), "x"));
    names.files.push(Entry::new(HOSTILE, "x"));
    let mut identity = fine();
    identity.set("acx.cartridge_id", HOSTILE);
    identity.set("acx.artifact_version", HOSTILE);
    identity.set("acx.tags", &json!([HOSTILE]).to_string());
    identity.set(HOSTILE, HOSTILE);
    let mut memory = fine();
    memory.edit_memory(|m| {
        m["title"] = HOSTILE.into();
        m["impact"] = HOSTILE.into();
        m["timestamp"] = HOSTILE.into();
        m[HOSTILE] = HOSTILE.into();
    });
    memory.memory[1].id = Some(HOSTILE.to_owned());
    let mut documents = fine();
    documents.edit_capability(|c| {
        c["taskType"] = HOSTILE.into();
        c["stack"] = json!([HOSTILE]);
        c[HOSTILE] = HOSTILE.into();
    });
    documents.edit_spec(|s| {
        s["artifacts"][0]["role"] = HOSTILE.into();
        s["artifacts"][1]["schema"] = HOSTILE.into();
        s["artifacts"][2]["kind"] = HOSTILE.into();
        s["schemaVersion"] = HOSTILE.into();
        s[HOSTILE] = HOSTILE.into();
    });
    documents.edit_harness(|h| h["requiredTools"][0]["role"] = HOSTILE.into());
    documents.edit_loop(|l| l["loop"]["cycle"] = json!([HOSTILE]));
    let mut envelope = fine();
    envelope.envelope.keyid = Some(HOSTILE.to_owned());
    envelope.envelope.alg = HOSTILE.to_owned();
    envelope.envelope.row_manifest_hash = Some(HOSTILE.to_owned());
    envelope.envelope.created_at = HOSTILE.to_owned();
    let mut statement = fine();
    statement.envelope.statement(|s| {
        s["subject"][0]["name"] = HOSTILE.into();
        s["predicate"]["publisherId"] = HOSTILE.into();
        s["predicate"]["signedAt"] = HOSTILE.into();
        s["predicateType"] = HOSTILE.into();
    });
    let mut table = fine();
    table.sql(&format!(
        "CREATE TABLE \"{}\" (x); CREATE VIEW \"v{0}\" AS SELECT 1",
        HOSTILE.replace('"', "")
    ));
    let cases = [
        ("metadata", metadata),
        ("names", names),
        ("identity", identity),
        ("memory", memory),
        ("documents", documents),
        ("envelope", envelope),
        ("statement", statement),
        ("table", table),
    ];
    for (what, builder) in &cases {
        // The file's own name is a stranger's too.
        let file = format!("{what}{}.acx", HOSTILE.replace('/', ""));
        let place = format!("cartridges/io.github.acme/{what}/1.0.0/cartridge.acx");
        registry
            .put(&file, builder.build())
            .put(&place, builder.build());
        for command in ["check", "verify", "spec", "inspect"] {
            is_tame(what, &registry.run(&[command, &file]));
            is_tame(
                what,
                &registry.run(&[command, &file, &place, "/no/such\u{1b}[1m"]),
            );
        }
    }
    let key = registry.key();
    let out = registry.run(&["build-index", "--key", &key]);
    assert_eq!(out.status, 1);
    is_tame("build-index", &out);
    assert!(
        out.stdout.contains("\\u{1b}[31m"),
        "nothing of it was shown: {out:#?}"
    );
    // They are in JSON as they are, and JSON it is.
    let out = registry.run(&["build-index", "--key", &key, "--format", "json"]);
    assert!(rejected_codes(&out.json()).len() >= cases.len());
}

#[test]
fn hostile_registries_do_not_reach_the_terminal_raw() {
    let name = HOSTILE.replace('/', "");
    let key_of = |registry: &TempRegistry| registry.key();
    let registry = with_fine();
    registry
        .put(&format!("notes/{name}/id_rsa"), "x")
        .put(&format!("cartridges/{name}/fine/1.0.0/cartridge.acx"), "x")
        .put(&format!("templates/{name}/manifest.json"), "{}")
        .put(&format!("templates/fine/{name}"), "{}")
        .put(
            "templates/fine/manifest.json",
            json!({"name": HOSTILE, "packageVersion": HOSTILE}).to_string(),
        );
    std::os::unix::fs::symlink(&name, registry.at(&format!("notes/link{name}"))).unwrap();
    let out = registry.run(&["build-index", "--key", &key_of(&registry)]);
    assert_eq!(out.status, 1, "{out:#?}");
    is_tame("tree", &out);
    is_tame("tree", &registry.run(&["verify-index"]));
    registry.put(&format!("more/{name}.acx"), fine().build());
    is_tame("--check", &registry.run(&["build-index", "--check"]));
    is_tame("--check", &registry.run(&["build-index", "--dry-run"]));

    let mut entry = ledger_entry(&fine(), "deprecated");
    entry["reason"] = HOSTILE.into();
    entry["artifact"]["id"] = HOSTILE.into();
    registry.ledger(&[entry]);
    let out = registry.build_index(&[]);
    assert_eq!(out.status, 2, "{out:#?}");
    is_tame("status.json", &out);
    registry.remove("status.json");

    let mut trust = support::registry::trust_registry(&[TrustKey::active(
        keys::seed(PUBLISHER_SEED),
        "io.github.acme",
    )]);
    trust["keys"][0]["keyid"] = HOSTILE.into();
    trust["keys"][0][HOSTILE] = HOSTILE.into();
    registry.put("trust-registry.json", trust.to_string());
    let out = registry.build_index(&[]);
    assert_eq!(out.status, 2, "{out:#?}");
    is_tame("trust-registry.json", &out);
    registry.remove("trust-registry.json");

    let quoted = serde_json::to_string(HOSTILE)
        .unwrap()
        .replace('\u{7f}', "\\u007f");
    for toml in [
        format!("{quoted} = 1\n"),
        format!("[registry]\nid = {quoted}\n"),
        format!("[rules]\n{quoted} = \"off\"\n"),
        format!("[[waivers]]\ncode = {quoted}\n"),
        format!("[registry]\nid = \"{HOSTILE}\"\n"),
    ] {
        registry.policy(&toml);
        let out = registry.build_index(&[]);
        assert_eq!(out.status, 2, "{toml:?}: {out:#?}");
        is_tame(&toml, &out);
    }
    registry.remove("acx-registry.toml");

    let good = registry.index().unwrap();
    for pointer in [
        "/schemaVersion",
        "/integrity/keyid",
        "/integrity/schemaVersion",
        "/integrity/registryId",
        "/integrity/envelope/payload",
    ] {
        let mut index = good.clone();
        *index.pointer_mut(pointer).unwrap() = HOSTILE.into();
        registry.put("index.json", index.to_string());
        is_tame(
            pointer,
            &registry.run(&["verify-index", "--keyid", &index_keyid()]),
        );
        is_tame(pointer, &registry.build_index(&[]));
    }
}

#[test]
fn hostile_arguments_do_not_reach_the_terminal_raw() {
    let registry = with_fine();
    let option = format!("--{HOSTILE}");
    let cases: &[&[&str]] = &[
        &[HOSTILE],
        &["check", &option],
        &["check", HOSTILE],
        &["build-index", HOSTILE],
        &["build-index", "--jobs", HOSTILE],
        &["build-index", "--format", HOSTILE],
        &["build-index", "--key", HOSTILE],
        &["verify-index", HOSTILE],
        &["verify-index", "--keyid", HOSTILE],
        &["verify-index", "--pubkey", HOSTILE],
        &["explain", HOSTILE],
        &["key", "show", HOSTILE],
        &["key", "generate", "--registry-id", HOSTILE],
    ];
    for args in cases {
        let out = registry.run(args);
        assert_eq!(out.status, 2, "{args:?}: {out:#?}");
        for text in [&out.stdout, &out.stderr] {
            assert!(
                !text.chars().any(|c| c.is_control() && c != '\n'),
                "{args:?}: {text:?}"
            );
            assert!(
                !text.contains(['\u{202e}', '\u{200b}', '\u{feff}', '\u{2066}']),
                "{args:?}: {text:?}"
            );
        }
    }
    let folder = registry.home().join(HOSTILE.replace('/', ""));
    let env = [("ACX_KEY_DIR", folder.to_str().unwrap())];
    let out = registry.run_with(&["build-index"], &env);
    assert_eq!(out.status, 0, "{out:#?}");
    is_tame("a key folder", &out);
    let out = registry.run_with(&["key", "show"], &env);
    assert_eq!(out.status, 0, "{out:#?}");
    is_tame("a key folder", &out);
    let out = registry.run_with(&["build-index"], &[("SOURCE_DATE_EPOCH", HOSTILE)]);
    assert_eq!(out.status, 2);
    is_tame("SOURCE_DATE_EPOCH", &out);
}

#[test]
fn the_second_name_of_the_program_is_the_same_program() {
    let registry = with_fine();
    let key = registry.key();
    let run = |program: &str, args: &[&str]| {
        std::process::Command::new(program)
            .args(args)
            .current_dir(registry.root())
            .env_clear()
            .env("SOURCE_DATE_EPOCH", "1788220800")
            .output()
            .unwrap()
    };
    let mut outputs = Vec::new();
    for (program, command) in [
        (env!("CARGO_BIN_EXE_acx"), &["build-index"][..]),
        (env!("CARGO_BIN_EXE_build-index"), &[]),
    ] {
        let out = run(
            program,
            &[command, &["--key", &key, "--format", "json"]].concat(),
        );
        assert!(out.status.success());
        outputs.push((out.stdout, registry.index_bytes()));
        registry.remove("index.json");
        fs::remove_dir_all(
            registry.at("cartridges/io.github.acme/fine/1.0.0/cartridge.memories.lance"),
        )
        .unwrap();
    }
    assert!(outputs[0] == outputs[1]);
    assert_eq!(
        run(env!("CARGO_BIN_EXE_build-index"), &["--no-such-option"])
            .status
            .code(),
        Some(2)
    );
}

#[test]
fn the_page_of_rules_is_the_one_that_is_printed() {
    let out = TempRegistry::new().run(&["explain", "--table"]);
    assert_eq!(out.status, 0, "{out:#?}");
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/rules.md");
    let kept = fs::read_to_string(file).unwrap_or_default();
    assert!(
        out.stdout == kept,
        "docs/rules.md is out of step: acx explain --table > docs/rules.md"
    );
    for line in kept.lines().filter(|line| line.starts_with("| `")) {
        let code = line.split('`').nth(1).unwrap();
        let cells: Vec<&str> = line.split(" | ").collect();
        assert_eq!(cells.len(), 6, "{line}");
        assert!(cells.iter().all(|cell| cell.len() > 3), "{code}: {line}");
    }
}

#[test]
fn a_key_that_everyone_may_read_signs_nothing() {
    let registry = with_fine();
    let key = registry.key();
    for (mode, status, said) in [
        (0o644, 2, "everyone on this machine may read this key"),
        (0o602, 2, "everyone on this machine may read this key"),
        (0o640, 0, "can be read by others than its owner"),
        (0o600, 0, ""),
    ] {
        fs::set_permissions(&key, fs::Permissions::from_mode(mode)).unwrap();
        let out = registry.run(&["build-index", "--resign", "--key", &key]);
        assert_eq!(out.status, status, "{mode:o}: {out:#?}");
        assert!(out.stderr.contains(said), "{mode:o}: {out:#?}");
        assert_eq!(registry.at("index.json").exists(), status == 0, "{mode:o}");
    }
}
