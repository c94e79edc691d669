//! The installed hooks: by real git repositories and real pushes.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    missing_docs
)]

mod support;

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use support::cartridge::Builder;
use support::git::Lab;
use support::registry::{Output, TempRegistry};

/// `acx hook …` of a repository.
fn hook(action: &str, git_dir: &Path, more: &[&str]) -> Output {
    let mut args = vec!["hook", action, "--git-dir", git_dir.to_str().unwrap()];
    args.extend(more);
    TempRegistry::new().run(&args)
}

fn program(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .map(|entries| {
            entries
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .filter(|name| !name.ends_with(".sample"))
                .collect()
        })
        .unwrap_or_default();
    names.sort();
    names
}

const GOOD: &str = "cartridges/io.github.acme/build-smith/1.0.0/cartridge.acx";

#[test]
fn an_installed_hook_judges_pushes_until_it_is_taken_out() {
    let lab = Lab::new();
    let server = lab.bare("server.git", &[]);
    let clone = lab.clone_of(&server.path, "clone", &[]);
    let out = hook("install", &server.path, &[]);
    assert_eq!(out.status, 0, "{out:#?}");
    assert!(out.stdout.contains("hooks/pre-receive"), "{out:#?}");
    assert_eq!(files(&server.path.join("hooks")), ["pre-receive"]);
    clone.cartridge(&Builder::valid("io.github.acme", "build-smith", "1.0.0"));
    clone.commit("Publish");
    let out = clone.try_git(&["push", "origin", "main"]);
    assert_eq!(out.status, 0, "{out:#?}");
    clone.put(&GOOD.replace("1.0.0", "1.1.0"), "bad");
    clone.commit("Bad");
    let out = clone.try_git(&["push", "origin", "main"]);
    assert_ne!(out.status, 0);
    assert!(out.stderr.contains("container-not-sqlite"), "{out:#?}");
    // Once more is no harm.
    assert_eq!(hook("install", &server.path, &[]).status, 0);
    let out = hook("uninstall", &server.path, &[]);
    assert_eq!(out.status, 0, "{out:#?}");
    assert!(files(&server.path.join("hooks")).is_empty());
    assert_eq!(clone.try_git(&["push", "origin", "main"]).status, 0);
    let out = hook("uninstall", &server.path, &[]);
    assert_eq!(
        (out.status, out.stdout.as_str()),
        (0, "no hook of acx is there\n")
    );
}

#[test]
fn a_foreign_hook_is_refused_or_chained_and_comes_back() {
    let lab = Lab::new();
    let server = lab.bare("server.git", &[]);
    let clone = lab.clone_of(&server.path, "clone", &[]);
    let file = server.path.join("hooks/pre-receive");
    let theirs = "#!/bin/sh\ncat > lines\ntest ! -e refuse\n";
    program(&file, theirs);
    let out = hook("install", &server.path, &[]);
    assert_eq!(out.status, 2, "{out:#?}");
    assert!(out.stderr.contains("--chain"), "{out:#?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), theirs);
    assert_eq!(hook("uninstall", &server.path, &[]).status, 0);
    assert_eq!(fs::read_to_string(&file).unwrap(), theirs);

    for _ in 0..2 {
        let out = hook("install", &server.path, &["--chain"]);
        assert_eq!(out.status, 0, "{out:#?}");
        assert_eq!(
            files(&server.path.join("hooks")),
            ["pre-receive", "pre-receive.before-acx"]
        );
    }
    // Theirs sees the lines and may refuse; ours still judges.
    clone.cartridge(&Builder::valid("io.github.acme", "build-smith", "1.0.0"));
    clone.commit("Publish");
    fs::write(server.path.join("refuse"), "").unwrap();
    assert_ne!(clone.try_git(&["push", "origin", "main"]).status, 0);
    fs::remove_file(server.path.join("refuse")).unwrap();
    let out = clone.try_git(&["push", "origin", "main"]);
    assert_eq!(out.status, 0, "{out:#?}");
    let lines = fs::read_to_string(server.path.join("lines")).unwrap();
    assert!(lines.ends_with(" refs/heads/main\n"), "{lines:?}");
    clone.put(&GOOD.replace("1.0.0", "1.1.0"), "bad");
    clone.commit("Bad");
    let out = clone.try_git(&["push", "origin", "main"]);
    assert_ne!(out.status, 0);
    assert!(out.stderr.contains("container-not-sqlite"), "{out:#?}");

    assert_eq!(hook("uninstall", &server.path, &[]).status, 0);
    assert_eq!(files(&server.path.join("hooks")), ["pre-receive"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), theirs);
}

#[test]
fn each_server_has_its_own_place() {
    let lab = Lab::new();
    for (folder, option, place) in [
        ("hooks/pre-receive.d", None, "hooks/pre-receive.d/acx"),
        ("custom_hooks", None, "custom_hooks/pre-receive.d/acx"),
        ("x", Some("gitea"), "hooks/pre-receive.d/acx"),
        ("x", Some("gitlab"), "custom_hooks/pre-receive.d/acx"),
        ("hooks/pre-receive.d", Some("git"), "hooks/pre-receive"),
    ] {
        let name = format!(
            "{}-{}.git",
            folder.replace('/', "-"),
            option.unwrap_or("seen")
        );
        let server = lab.bare(&name, &[]);
        // Gitea's own dispatcher, which is none of our business.
        fs::create_dir_all(server.path.join(folder)).unwrap();
        if place.starts_with("hooks/pre-receive.d") {
            program(&server.path.join("hooks/pre-receive"), "#!/bin/sh\n");
        }
        let mut more = vec!["--post-receive"];
        more.extend(option.iter().flat_map(|server| ["--server", server]));
        let out = hook("install", &server.path, &more);
        assert_eq!(out.status, 0, "{out:#?}");
        for file in [
            place.to_owned(),
            place.replace("pre-receive", "post-receive"),
        ] {
            let mode = fs::metadata(server.path.join(&file)).unwrap().permissions();
            assert_eq!(mode.mode() & 0o777, 0o755, "{file}");
        }
        let out = hook("uninstall", &server.path, &more[1..]);
        assert_eq!(out.status, 0, "{out:#?}");
        assert!(!server.path.join(place).exists(), "{place}");
    }
}

#[test]
fn a_hook_that_would_not_run_or_would_be_others_too_is_not_installed() {
    let lab = Lab::new();
    let server = lab.bare("set.git", &[]);
    server.git(&["config", "core.hooksPath", "/elsewhere"]);
    let out = hook("install", &server.path, &[]);
    assert_eq!(out.status, 2, "{out:#?}");
    assert!(out.stderr.contains("core.hooksPath"), "{out:#?}");
    assert!(files(&server.path.join("hooks")).is_empty());

    let server = lab.bare("linked.git", &[]);
    let shared = lab.at("shared-hooks");
    fs::create_dir(&shared).unwrap();
    fs::remove_dir_all(server.path.join("hooks")).unwrap();
    symlink(&shared, server.path.join("hooks")).unwrap();
    let out = hook("install", &server.path, &[]);
    assert_eq!(out.status, 2, "{out:#?}");
    assert!(out.stderr.contains("other repositories"), "{out:#?}");
    assert!(files(&shared).is_empty());

    let out = hook("install", &lab.at("nowhere"), &[]);
    assert_eq!(out.status, 2, "{out:#?}");
}

#[test]
fn a_repository_with_a_work_tree_has_a_hook_too() {
    let lab = Lab::new();
    let server = lab.work("it's a server", &[]);
    server.put("a", "b");
    server.commit("First");
    let clone = lab.clone_of(&server.path, "clone", &[]);
    let linked = lab.at("linked");
    server.git(&["worktree", "add", "-q", linked.to_str().unwrap()]);
    for place in [&server.path, &linked] {
        let out = hook("install", place, &[]);
        assert_eq!(out.status, 0, "{out:#?}");
        let file = server
            .path
            .canonicalize()
            .unwrap()
            .join(".git/hooks/pre-receive");
        assert_eq!(out.stdout, format!("installed: {}\n", file.display()));
    }
    clone.git(&["checkout", "-q", "-b", "side"]);
    clone.cartridge(&Builder::valid("io.github.acme", "build-smith", "1.0.0"));
    clone.commit("Publish");
    let out = clone.try_git(&["push", "origin", "side"]);
    assert_eq!(out.status, 0, "{out:#?}");
    server.put("acx-registry.toml", "[branches]\nguarded = [\"*\"]\n");
    server.commit("Guard all");
    clone.put(&GOOD.replace("1.0.0", "1.1.0"), "bad");
    clone.commit("Bad");
    let out = clone.try_git(&["push", "origin", "side"]);
    assert_ne!(out.status, 0, "{out:#?}");
    assert!(out.stderr.contains("container-not-sqlite"), "{out:#?}");
}

#[test]
fn what_is_no_program_is_not_chained() {
    let lab = Lab::new();
    let server = lab.bare("server.git", &[]);
    let file = server.path.join("hooks/pre-receive");
    fs::create_dir_all(&file).unwrap();
    let out = hook("install", &server.path, &["--chain"]);
    assert_eq!(out.status, 2, "{out:#?}");
    assert!(out.stderr.contains("expected a program"), "{out:#?}");
    assert_eq!(files(&server.path.join("hooks")), ["pre-receive"]);
}

#[test]
fn nothing_is_installed_by_halves() {
    let lab = Lab::new();
    let server = lab.bare("server.git", &[]);
    program(&server.path.join("hooks/post-receive"), "#!/bin/sh\n");
    let out = hook("install", &server.path, &["--post-receive"]);
    assert_eq!(out.status, 2, "{out:#?}");
    assert_eq!(files(&server.path.join("hooks")), ["post-receive"]);

    // Git runs no hook that is no program, so it is not made to run either.
    let server = lab.bare("sample.git", &[]);
    let file = server.path.join("hooks/pre-receive");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "#!/bin/sh\nexit 1\n").unwrap();
    let out = hook("install", &server.path, &["--chain"]);
    assert_eq!(out.status, 2, "{out:#?}");
    assert!(out.stderr.contains("expected a program"), "{out:#?}");

    // Where the server runs every file of a folder, one that is kept beside ours would run twice.
    let server = lab.bare("gitea.git", &[]);
    program(&server.path.join("hooks/pre-receive.d/acx"), "#!/bin/sh\n");
    let out = hook("install", &server.path, &["--chain"]);
    assert_eq!(out.status, 2, "{out:#?}");
    assert_eq!(files(&server.path.join("hooks/pre-receive.d")), ["acx"]);
}

#[test]
fn a_hook_without_its_program_accepts_nothing() {
    let lab = Lab::new();
    let server = lab.bare("server.git", &[]);
    let clone = lab.clone_of(&server.path, "clone", &[]);
    let gone = lab.at("it's gone");
    program(&gone, "#!/bin/sh\n");
    let out = hook(
        "install",
        &server.path,
        &["--program", gone.to_str().unwrap()],
    );
    assert_eq!(out.status, 0, "{out:#?}");
    fs::remove_file(&gone).unwrap();
    clone.put("x", "y");
    clone.commit("Anything");
    let out = clone.try_git(&["push", "origin", "main"]);
    assert_ne!(out.status, 0);
    assert!(out.stderr.contains("nothing is accepted"), "{out:#?}");
}
