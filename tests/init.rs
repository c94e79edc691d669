//! Founding a registry: what is in it, where its keys are, and that a failed run leaves nothing.
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

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use support::registry::{Output, SEPTEMBER, listed, read_json, run_acx};
use tempfile::TempDir;

struct Desk {
    folder: TempDir,
}

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("home")).unwrap();
        Self { folder }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn run(&self, args: &[&str]) -> Output {
        self.run_with(args, &[])
    }

    fn run_with(&self, args: &[&str], env: &[(&str, &str)]) -> Output {
        let env = [&[("SOURCE_DATE_EPOCH", SEPTEMBER)], env].concat();
        run_acx(args, self.folder.path(), &self.at("home"), &env)
    }

    fn keys(&self) -> Vec<String> {
        let folder = self.at("home/.config/acx/keys");
        let Ok(entries) = fs::read_dir(folder) else {
            return Vec::new();
        };
        let mut names: Vec<String> = entries
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

/// Path → bytes of every file below a folder.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let walk = walkdir::WalkDir::new(folder).into_iter();
    walk.map(Result::unwrap)
        .filter(|e| e.file_type().is_file())
        .map(|e| {
            let path = e.path().strip_prefix(folder).unwrap();
            (
                path.to_str().unwrap().to_owned(),
                fs::read(e.path()).unwrap(),
            )
        })
        .collect()
}

#[test]
fn a_registry_is_founded_with_its_key_outside() {
    let desk = Desk::new();
    let out = desk.run(&["init", "demo", "--format", "json"]);
    assert_eq!(out.status, 0, "{out:#?}");
    let report = out.json();
    assert_eq!(report["registry"], "local.demo");
    assert_eq!(report["keyCreated"], true);
    let found = files(&desk.at("demo"));
    let names: Vec<&str> = found.keys().map(String::as_str).collect();
    let expected = [
        ".gitattributes",
        ".gitignore",
        "README.md",
        "acx-registry.toml",
        "cartridges/.gitkeep",
        "hooks/post-receive",
        "hooks/pre-receive",
        "index.json",
        "status.json",
        "trust-registry.json",
    ];
    assert_eq!(names, expected);
    assert_eq!(report["files"], json!(expected));

    let file = PathBuf::from(report["keyFile"].as_str().unwrap());
    assert_eq!(file, desk.at("home/.config/acx/keys/local.demo.pem"));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&file), 0o600);
    for (path, expected) in [
        ("hooks/pre-receive", 0o755),
        ("hooks/post-receive", 0o755),
        ("README.md", 0o644),
        ("index.json", 0o644),
        ("cartridges", 0o755),
        ("hooks", 0o755),
    ] {
        assert_eq!(mode(&desk.at("demo").join(path)), expected, "{path}");
    }

    // The pinned key signs, and nothing is left to do.
    let keyid = report["keyid"].as_str().unwrap();
    let policy = fs::read_to_string(desk.at("demo/acx-registry.toml")).unwrap();
    assert!(policy.contains("\n[index]\n"));
    assert!(policy.contains(&format!("\nkeys = [\"{keyid}\"]\n")));
    assert!(policy.contains("\nid = \"local.demo\"\n"));
    let verified = desk.run(&["verify-index", "demo", "--keyid", keyid]);
    assert_eq!(verified.status, 0, "{verified:#?}");
    assert_eq!(desk.run(&["build-index", "demo", "--check"]).status, 0);
    let index = fs::read(desk.at("demo/index.json")).unwrap();
    assert_eq!(desk.run(&["build-index", "demo"]).status, 0);
    assert_eq!(fs::read(desk.at("demo/index.json")).unwrap(), index);
}

#[test]
fn workflows_are_written_where_the_tool_is_named_and_nowhere_else() {
    let desk = Desk::new();
    let workflows = [
        ".github/workflows/audit.yml",
        ".github/workflows/publish.yml",
        ".github/workflows/pull-request.yml",
        ".github/workflows/rebuild.yml",
    ];
    let sha = "0123456789abcdef0123456789abcdef01234567";
    let tool = format!("some-one/acx-registry@{sha}");
    let out = desk.run(&["init", "with", "--tool", &tool]);
    assert_eq!(out.status, 0, "{out:#?}");
    assert!(!out.stdout.contains("workflows"), "{out:#?}");
    let found = files(&desk.at("with"));
    for path in workflows {
        let text = String::from_utf8(found[path].clone()).unwrap();
        let uses = format!("uses: some-one/acx-registry/.github/actions/build-index@{sha} ");
        assert!(
            text.contains(&uses) && !text.contains("OWNER/REPO"),
            "{text}"
        );
    }
    assert_eq!(desk.run(&["build-index", "with", "--check"]).status, 0);

    let out = desk.run(&["init", "without"]);
    assert_eq!(out.status, 0, "{out:#?}");
    assert!(out.stdout.contains("--tool OWNER/REPO@SHA"), "{out:#?}");
    assert!(!desk.at("without/.github").exists());

    for wrong in [
        "some-one/acx-registry",
        "some-one/acx-registry@main",
        "a/$(b)@0",
    ] {
        let out = desk.run(&["init", "wrong", "--tool", wrong]);
        assert_eq!(out.status, 2, "{out:#?}");
        assert!(out.stderr.contains("expected OWNER/REPO@SHA"), "{out:#?}");
        assert!(!desk.at("wrong").exists());
    }
    assert_eq!(desk.keys(), ["local.with.pem", "local.without.pem"]);
}

#[test]
fn the_example_is_two_cartridges_of_two_publishers() {
    let desk = Desk::new();
    let out = desk.run(&["init", "demo", "--example"]);
    assert_eq!(out.status, 0, "{out:#?}");
    let index = read_json(&desk.at("demo/index.json"));
    assert_eq!(
        listed(&index),
        [
            "cartridges/com.example.ada/build-smith/1.0.0/cartridge.acx",
            "cartridges/org.example.docs/docs-scribe/1.0.0/cartridge.acx",
        ]
    );
    for (entry, rows) in index["cartridges"].as_array().unwrap().iter().zip([3, 2]) {
        assert_eq!(entry["memories"]["rows"], rows);
        assert_eq!(entry["specClean"], true);
        assert!(!entry["capabilities"].as_array().unwrap().is_empty());
        let path = entry["path"].as_str().unwrap();
        let card = path.replace("cartridge.acx", "README.md");
        assert!(desk.at("demo").join(card).is_file());
        let checked = desk.run(&["check", &format!("demo/{path}"), "--format", "json"]);
        assert_eq!(checked.status, 0, "{checked:#?}");
        assert_eq!(checked.json()["files"][0]["findings"], json!([]));
    }
    assert_eq!(
        desk.keys(),
        [
            "com.example.ada.pem",
            "local.demo.pem",
            "org.example.docs.pem"
        ]
    );
    assert_eq!(desk.run(&["build-index", "demo", "--check"]).status, 0);
    let found = desk.run(&[
        "search",
        "retry a failed upload",
        "demo",
        "--format",
        "json",
    ]);
    assert_eq!(found.json()["results"][0]["memory"], "smith-retry-upload");
    let trust = read_json(&desk.at("demo/trust-registry.json"));
    assert_eq!(
        trust["keys"],
        json!([]),
        "nobody is trusted without a proof"
    );

    // The same keys and time give the same bytes.
    let first = files(&desk.at("demo"));
    fs::remove_dir_all(desk.at("demo")).unwrap();
    let again = desk.run(&["init", "demo", "--example", "--format", "json"]);
    assert_eq!(again.status, 0, "{again:#?}");
    assert_eq!(
        again.json()["keyCreated"],
        false,
        "no key is ever overwritten"
    );
    assert_eq!(files(&desk.at("demo")), first);
}

#[test]
fn the_id_comes_from_the_folder_or_the_reader() {
    let desk = Desk::new();
    for (folder, id) in [
        ("com.example.agents", "com.example.agents"),
        ("My Agents", "local.my-agents"),
        ("deep/er/x_y", "local.x-y"),
        ("---", "local.registry"),
    ] {
        let out = desk.run(&["init", "--format", "json", "--", folder]);
        assert_eq!(out.status, 0, "{folder}: {out:#?}");
        assert_eq!(out.json()["registry"], id);
        assert_eq!(
            read_json(&desk.at(folder).join("index.json"))["integrity"]["registryId"],
            id
        );
    }
    let out = desk.run(&[
        "init",
        "named",
        "--registry-id",
        "org.example.reg",
        "--format",
        "json",
    ]);
    assert_eq!(out.json()["registry"], "org.example.reg");
    let out = desk.run(&["init", "bad", "--registry-id", "../evil"]);
    assert_eq!(out.status, 2);
    assert!(!desk.at("bad").exists());
}

#[test]
fn only_a_new_or_empty_folder_is_taken() {
    let desk = Desk::new();
    fs::create_dir_all(desk.at("full")).unwrap();
    fs::write(desk.at("full/.hidden"), "mine").unwrap();
    fs::write(desk.at("file"), "mine").unwrap();
    fs::create_dir(desk.at("target")).unwrap();
    symlink("target", desk.at("link")).unwrap();
    let before = files(desk.folder.path());
    for (folder, reason) in [
        ("full", "found \".hidden\" in it"),
        ("file", "found a file or a link"),
        ("link", "found a file or a link"),
    ] {
        let out = desk.run(&["init", folder]);
        assert_eq!(out.status, 2, "{folder}: {out:#?}");
        assert!(out.stderr.contains(reason), "{folder}: {out:#?}");
    }
    assert_eq!(
        files(desk.folder.path()),
        before,
        "nothing is written, no key is made"
    );

    fs::create_dir_all(desk.at("empty")).unwrap();
    assert_eq!(desk.run(&["init", "empty"]).status, 0);
    fs::create_dir_all(desk.at("cloned/.git")).unwrap();
    assert_eq!(desk.run(&["init", "cloned"]).status, 0);
    fs::create_dir_all(desk.at("here")).unwrap();
    let out = run_acx(&["init", "."], &desk.at("here"), &desk.at("home"), &[]);
    assert_eq!(out.status, 0, "{out:#?}");
    assert!(desk.at("here/index.json").is_file());
    assert!(desk.at("home/.config/acx/keys/local.here.pem").is_file());
}

#[test]
fn a_failed_run_leaves_nothing() {
    let desk = Desk::new();
    let keys = desk.at("home/.config/acx/keys");
    fs::create_dir_all(&keys).unwrap();
    // The second publisher's key cannot be read, when the other two were made.
    fs::write(keys.join("org.example.docs.pem"), "no key").unwrap();
    let out = desk.run(&["init", "new/demo", "--example"]);
    assert_eq!(out.status, 2, "{out:#?}");
    assert!(!desk.at("new").exists());
    assert_eq!(desk.keys(), ["org.example.docs.pem"]);

    let out = desk.run_with(&["init", "new/demo"], &[("SOURCE_DATE_EPOCH", "x")]);
    assert_eq!(out.status, 2, "{out:#?}");
    assert!(!desk.at("new").exists());

    for inside in ["new/demo", "new/demo/keys"] {
        let folder = desk.at(inside);
        let env = [("ACX_KEY_DIR", folder.to_str().unwrap())];
        let out = desk.run_with(&["init", "new/demo"], &env);
        assert_eq!(out.status, 2, "{inside}: {out:#?}");
        assert!(
            out.stderr.contains("the key would be in the registry"),
            "{out:#?}"
        );
        assert!(!desk.at("new").exists(), "{inside}");
    }
    // Also by way of a link.
    fs::create_dir(desk.at("empty")).unwrap();
    symlink(desk.at("empty"), desk.at("keys")).unwrap();
    let folder = desk.at("keys");
    let out = desk.run_with(
        &["init", "empty"],
        &[("ACX_KEY_DIR", folder.to_str().unwrap())],
    );
    assert_eq!(out.status, 2, "{out:#?}");
    assert!(files(&desk.at("empty")).is_empty());
}

#[test]
fn git_keeps_every_signed_byte_and_no_key() {
    let desk = Desk::new();
    assert_eq!(desk.run(&["init", "demo", "--example"]).status, 0);
    let git = |args: &[&str]| {
        let out = Command::new("git")
            .args([
                "-c",
                "core.autocrlf=true",
                "-c",
                "user.name=T",
                "-c",
                "user.email=t@example.com",
            ])
            .args(args)
            .current_dir(desk.at("demo"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("HOME", desk.at("home"))
            .output()
            .expect("git is there");
        assert!(out.status.success(), "git {args:?}: {out:?}");
        String::from_utf8(out.stdout).unwrap()
    };
    let before = files(&desk.at("demo"));
    git(&["init", "-q"]);
    fs::write(desk.at("demo/registry.pem"), "a key").unwrap();
    fs::write(desk.at("demo/.env"), "a secret").unwrap();
    git(&["add", "-A"]);
    git(&["commit", "-q", "-m", "Found the registry"]);
    let tracked: Vec<String> = git(&["ls-files"]).lines().map(str::to_owned).collect();
    let expected: Vec<String> = before.keys().cloned().collect();
    assert_eq!(tracked, expected);

    let clone = desk.at("clone");
    git(&[
        "clone",
        "-q",
        "--config",
        "core.autocrlf=true",
        ".",
        clone.to_str().unwrap(),
    ]);
    for (path, bytes) in &before {
        if path.ends_with(".acx") || path.contains(".lance/") || path == "index.json" {
            assert_eq!(fs::read(clone.join(path)).unwrap(), *bytes, "{path}");
        }
    }
    assert_eq!(desk.run(&["verify-index", "clone"]).status, 0);
    assert_eq!(desk.run(&["build-index", "clone", "--check"]).status, 0);
}

#[test]
fn the_hooks_fail_closed() {
    let desk = Desk::new();
    assert_eq!(desk.run(&["init", "demo"]).status, 0);
    let bin = desk.at("bin");
    fs::create_dir(&bin).unwrap();
    for hook in ["pre-receive", "post-receive"] {
        let run = |path: &str| {
            Command::new("/bin/sh")
                .arg(desk.at("demo/hooks").join(hook))
                .env_clear()
                .env("PATH", path)
                .output()
                .unwrap()
        };
        let absent = run("/nonexistent");
        assert_eq!(absent.status.code(), Some(1), "{absent:?}");
        let said = String::from_utf8(absent.stderr).unwrap();
        assert!(
            said.starts_with(&format!("{hook}: acx is not on the PATH")),
            "{said}"
        );
        let fake = bin.join("acx");
        fs::write(&fake, "#!/bin/sh\necho \"acx $*\"\nexit 7\n").unwrap();
        fs::set_permissions(&fake, fs::Permissions::from_mode(0o755)).unwrap();
        let there = run(bin.to_str().unwrap());
        assert_eq!(there.status.code(), Some(7), "its status is the hook's");
        assert_eq!(
            String::from_utf8(there.stdout).unwrap(),
            format!("acx {hook}\n")
        );
        fs::remove_file(fake).unwrap();
    }
}
