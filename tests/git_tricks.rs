//! Hostile repositories and surroundings of the hook: nothing of a push is run or followed, and what git's objects can
//! be made to say twice is read once or refused.
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

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use support::cartridge::Builder;
use support::git::{Lab, Repository};
use support::registry::{Output, SEPTEMBER, rejected_codes};

const PUBLISHED: &str = "cartridges/io.github.acme/build-smith/1.0.0/cartridge.acx";
const NEXT: &str = "cartridges/io.github.acme/build-smith/1.1.0/cartridge.acx";

fn cartridge(version: &str) -> Builder {
    Builder::valid("io.github.acme", "build-smith", version)
}

/// A guarded server with one cartridge, and the clone that founded it.
fn founded(lab: &Lab) -> (Repository<'_>, Repository<'_>) {
    let server = lab.bare("server.git", &[]);
    server.hook("pre-receive", "");
    let clone = lab.clone_of(&server.path, "clone", &[]);
    clone.cartridge(&cartridge("1.0.0"));
    clone.commit("Found the registry");
    let out = clone.try_git(&["push", "origin", "main"]);
    assert_eq!(out.status, 0, "{out:#?}");
    (server, clone)
}

/// The hook's own answer to a branch that goes from what the server has to a commit of the repository it runs in.
fn judged(at: &Path, old: &str, new: &str, env: &[(&str, &str)]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_acx"))
        .args(["pre-receive", "--format", "json"])
        .current_dir(at)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("SOURCE_DATE_EPOCH", SEPTEMBER)
        .envs(env.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let line = format!("{old} {new} refs/heads/main\n");
    // A hook that cannot open the repository ends before it reads.
    if let Err(e) = child.stdin.take().unwrap().write_all(line.as_bytes()) {
        assert_eq!(e.kind(), std::io::ErrorKind::BrokenPipe);
    }
    let out = child.wait_with_output().unwrap();
    Output {
        status: out.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&out.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&out.stderr).into_owned(),
    }
}

/// A push that is refused with this text, and leaves the server as it was.
fn refused(server: &Repository<'_>, clone: &Repository<'_>, push: &[&str], needle: &str) {
    let before = server.state();
    let out = clone.try_git(&[&["push", "origin"], push].concat());
    assert_ne!(out.status, 0, "expected {needle}: {out:#?}");
    assert!(out.stderr.contains(needle), "expected {needle}: {out:#?}");
    assert_eq!(server.state(), before);
}

/// Writes an object of any bytes, whatever git thinks of them.
fn object(repository: &Repository<'_>, kind: &str, bytes: &[u8]) -> String {
    let file = repository.lab.at("object");
    fs::write(&file, bytes).unwrap();
    repository.git(&[
        "hash-object",
        "-t",
        kind,
        "-w",
        "--literally",
        file.to_str().unwrap(),
    ])
}

/// An entry of a tree: mode, name, object.
type TreeLine<'a> = (&'a str, &'a str, &'a str);

/// A tree of these entries, in the order given.
fn tree(repository: &Repository<'_>, entries: &[TreeLine<'_>]) -> String {
    let mut bytes = Vec::new();
    for (mode, name, id) in entries {
        bytes.extend_from_slice(format!("{mode} {name}\0").as_bytes());
        let raw = (0..id.len()).step_by(2);
        bytes.extend(raw.map(|at| u8::from_str_radix(&id[at..at + 2], 16).unwrap()));
    }
    object(repository, "tree", &bytes)
}

fn commit_of(repository: &Repository<'_>, tree: &str) -> String {
    repository.git(&["commit-tree", "-p", "HEAD", "-m", "Crafted", tree])
}

#[test]
fn a_replaced_object_is_judged_by_what_it_is() {
    let lab = Lab::new();
    let (server, clone) = founded(&lab);
    clone.put(NEXT, "bad");
    clone.commit("Bad");
    let good = lab.at("good.acx");
    fs::write(&good, cartridge("1.1.0").build()).unwrap();
    let good = clone.git(&["hash-object", "-w", good.to_str().unwrap()]);
    let bad = clone.git(&["rev-parse", &format!("HEAD:{NEXT}")]);
    // The server is told beforehand that the bad blob reads as the good one.
    clone.git(&["replace", &bad, &good]);
    let out = clone.try_git(&["push", "origin", &format!("refs/replace/{bad}")]);
    assert_eq!(out.status, 0, "nobody guards these: {out:#?}");
    refused(&server, &clone, &["main"], "error[container-not-sqlite]");
}

#[test]
fn a_tag_in_the_place_of_the_branchs_commit_brings_no_policy_of_its_own() {
    let lab = Lab::new();
    let (server, clone) = founded(&lab);
    let tip = clone.git(&["rev-parse", "main"]);
    // On a branch that nobody guards: a policy under which the default branch is not guarded either.
    clone.git(&["checkout", "-q", "-b", "topic"]);
    clone.put("acx-registry.toml", "[branches]\nguarded = [\"nothing\"]\n");
    clone.commit("Guard nothing");
    clone.git(&["tag", "-a", "-m", "A tag", "door"]);
    let door = format!("door:refs/replace/{tip}");
    let out = clone.try_git(&["push", "origin", "topic", &door]);
    assert_eq!(out.status, 0, "nobody guards these: {out:#?}");
    clone.git(&["checkout", "-q", "main"]);
    clone.put(NEXT, "bad");
    let bad = clone.commit("Bad");
    refused(&server, &clone, &["main"], "error[container-not-sqlite]");
    // A build of the commit is of that commit too.
    clone.git(&["update-ref", &format!("refs/replace/{bad}"), "door"]);
    for rev in ["HEAD", "main", "HEAD^0", &bad] {
        let out = clone.build(&["--rev", rev, "--dry-run"]);
        assert_eq!(out.status, 1, "{rev}: {out:#?}");
        assert_eq!(rejected_codes(&out.json())[NEXT], ["container-not-sqlite"]);
    }
}

#[test]
fn grafts_hide_no_commit() {
    let lab = Lab::new();
    let (server, clone) = founded(&lab);
    let old = clone.git(&["rev-parse", "HEAD"]);
    clone.put(PUBLISHED, "other");
    clone.commit("Amend");
    clone.put(PUBLISHED, cartridge("1.0.0").build());
    let new = clone.commit("Restore");
    // The grafts say that the last commit follows the first.
    fs::create_dir_all(clone.path.join(".git/info")).unwrap();
    fs::write(
        clone.path.join(".git/info/grafts"),
        format!("{new} {old}\n"),
    )
    .unwrap();
    let out = judged(&clone.path, &old, &new, &[]);
    assert_eq!(out.status, 1, "{out:#?}");
    assert!(out.stdout.contains("history-changed"), "{out:#?}");
    fs::remove_file(clone.path.join(".git/info/grafts")).unwrap();
    fs::create_dir_all(server.path.join("info")).unwrap();
    fs::write(server.path.join("info/grafts"), format!("{new} {old}\n")).unwrap();
    refused(&server, &clone, &["main"], "error[history-changed]");
}

#[test]
fn what_is_no_file_in_a_files_place_is_refused() {
    let lab = Lab::new();
    let (server, clone) = founded(&lab);
    let blob = clone.git(&["rev-parse", &format!("HEAD:{PUBLISHED}")]);
    let head = clone.git(&["rev-parse", "HEAD"]);
    for (mode, id, path) in [
        ("160000", &head, NEXT),
        ("120000", &blob, NEXT),
        ("160000", &head, PUBLISHED),
        ("120000", &blob, PUBLISHED),
        ("120000", &blob, "acx-registry.toml"),
        ("160000", &head, "acx-registry.toml"),
        ("120000", &blob, "index.json"),
        ("120000", &blob, "cartridges/io.github.acme/linked"),
    ] {
        clone.git(&[
            "update-index",
            "--add",
            "--cacheinfo",
            &format!("{mode},{id},{path}"),
        ]);
        clone.git(&["commit", "-q", "-m", "Not a file"]);
        refused(&server, &clone, &["main"], "error[registry-symlink]");
        clone.git(&["reset", "-q", "--hard", "origin/main"]);
    }
}

#[test]
fn trees_that_say_two_things_stop_the_push() {
    let lab = Lab::new();
    let (server, clone) = founded(&lab);
    let old = clone.git(&["rev-parse", "HEAD"]);
    let folder = clone.git(&["rev-parse", "HEAD:cartridges"]);
    let blob = clone.git(&["rev-parse", &format!("HEAD:{PUBLISHED}")]);
    let crafted: &[(&str, &[TreeLine<'_>])] = &[
        (
            "twice",
            &[
                ("40000", "cartridges", &folder),
                ("40000", "cartridges", &folder),
            ],
        ),
        (
            "a file and a folder",
            &[
                ("100644", "cartridges", &blob),
                ("40000", "cartridges", &folder),
            ],
        ),
        (
            "out of order",
            &[("100644", "z", &blob), ("40000", "cartridges", &folder)],
        ),
        (
            ".git",
            &[("40000", ".git", &folder), ("40000", "cartridges", &folder)],
        ),
        (
            ".GIT",
            &[("40000", ".GIT", &folder), ("40000", "cartridges", &folder)],
        ),
        (
            "git~1",
            &[
                ("40000", "git~1", &folder),
                ("40000", "cartridges", &folder),
            ],
        ),
        (
            ".git with a joiner",
            &[
                ("40000", ".g\u{200d}it", &folder),
                ("40000", "cartridges", &folder),
            ],
        ),
        (
            ".git and a stream",
            &[
                ("40000", ".git::$INDEX_ALLOCATION", &folder),
                ("40000", "cartridges", &folder),
            ],
        ),
        (
            "a link named .gitmodules",
            &[
                ("120000", ".gitmodules", &blob),
                ("40000", "cartridges", &folder),
            ],
        ),
        (
            "..",
            &[("40000", "..", &folder), ("40000", "cartridges", &folder)],
        ),
        (
            "a slash",
            &[("100644", "a/b", &blob), ("40000", "cartridges", &folder)],
        ),
        (
            "no name",
            &[("100644", "", &blob), ("40000", "cartridges", &folder)],
        ),
    ];
    for (what, entries) in crafted {
        let new = commit_of(&clone, &tree(&clone, entries));
        // To the hook itself, where git has looked at nothing; the clone has both commits.
        let out = judged(&clone.path, &old, &new, &[]);
        assert_eq!(out.status, 2, "{what}: {out:#?}");
        assert!(
            out.stdout.is_empty() && out.stderr.contains("the tree "),
            "{what}: {out:#?}"
        );
        refused(&server, &clone, &[&format!("{new}:main")], "main");
    }
}

#[test]
fn an_object_that_is_missing_stops_the_push() {
    let lab = Lab::new();
    let (_, clone) = founded(&lab);
    let old = clone.git(&["rev-parse", "HEAD"]);
    let nothing = "1".repeat(40);
    let folder = clone.git(&["rev-parse", "HEAD:cartridges"]);
    for entries in [
        [
            ("40000", "cartridges", nothing.as_str()),
            ("100644", "x", &nothing),
        ],
        [("40000", "cartridges", &folder), ("100644", "x", &nothing)],
        [("40000", "cartridges", &folder), ("40000", "x", &nothing)],
    ] {
        let tree = tree(&clone, &entries);
        let new = object(
            &clone,
            "commit",
            format!(
                "tree {tree}\nparent {old}\nauthor A <a> 0 +0000\ncommitter A <a> 0 +0000\n\nx\n"
            )
            .as_bytes(),
        );
        let out = judged(&clone.path, &old, &new, &[]);
        assert_eq!(out.status, 2, "{out:#?}");
        assert!(
            format!("{}{}", out.stdout, out.stderr).contains("is missing"),
            "{out:#?}"
        );
    }
    // A parent that is nowhere.
    let tree = clone.git(&["rev-parse", "HEAD^{tree}"]);
    let body = format!(
        "tree {tree}\nparent {nothing}\nauthor A <a> 0 +0000\ncommitter A <a> 0 +0000\n\nx\n"
    );
    let new = object(&clone, "commit", body.as_bytes());
    let out = judged(&clone.path, &old, &new, &[]);
    assert_eq!(out.status, 2, "{out:#?}");
}

/// A program that tells that it was run.
fn trap(lab: &Lab) -> String {
    use std::os::unix::fs::PermissionsExt as _;
    let file = lab.at("trap.sh");
    let mark = lab.at("sprung");
    fs::write(&file, format!("#!/bin/sh\n: > '{}'\n", mark.display())).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    file.to_str().unwrap().to_owned()
}

#[test]
fn nothing_that_a_repositorys_configuration_names_is_run_by_the_hook_or_a_build() {
    let lab = Lab::new();
    let (server, clone) = founded(&lab);
    let old = clone.git(&["rev-parse", "HEAD"]);
    clone.cartridge(&cartridge("1.1.0"));
    let new = clone.commit("Publish");
    let trap = trap(&lab);
    let hooks = lab.at("hooks");
    fs::create_dir(&hooks).unwrap();
    for name in [
        "pre-receive",
        "post-index-change",
        "post-checkout",
        "reference-transaction",
        "fsmonitor-watchman",
    ] {
        fs::copy(&trap, hooks.join(name)).unwrap();
    }
    let attributes = lab.at("attributes");
    fs::write(&attributes, "* filter=evil diff=evil merge=evil\n").unwrap();
    for repository in [&server, &clone] {
        for (key, value) in [
            ("core.fsmonitor", trap.as_str()),
            ("core.sshCommand", &trap),
            ("core.pager", &trap),
            ("core.editor", &trap),
            ("core.gitProxy", &trap),
            ("core.askPass", &trap),
            ("core.alternateRefsCommand", &trap),
            ("core.hooksPath", hooks.to_str().unwrap()),
            ("core.attributesFile", attributes.to_str().unwrap()),
            ("filter.evil.clean", &trap),
            ("filter.evil.smudge", &trap),
            ("filter.evil.process", &trap),
            ("filter.evil.required", "true"),
            ("diff.evil.textconv", &trap),
            ("merge.evil.driver", &trap),
            ("gpg.program", &trap),
            ("credential.helper", &trap),
            ("uploadpack.packObjectsHook", &trap),
        ] {
            repository.git(&["config", key, value]);
        }
    }
    let out = judged(&clone.path, &old, &new, &[]);
    assert_eq!(out.status, 0, "{out:#?}");
    for args in [
        &[][..],
        &["--check"],
        &["--dry-run", "--base", &old],
        &["--dry-run", "--rev", &new],
    ] {
        let out = clone.build(args);
        assert!(out.status >= 0 && out.status != 2, "{args:?}: {out:#?}");
    }
    let out = clone.acx(&["check-history", ".", "--base", &old]);
    assert_eq!(out.status, 0, "{out:#?}");
    assert!(!lab.at("sprung").exists(), "something was run");
}

#[test]
fn variables_of_an_attacker_run_nothing_and_change_no_verdict() {
    let lab = Lab::new();
    let (_, clone) = founded(&lab);
    let old = clone.git(&["rev-parse", "HEAD"]);
    clone.put(NEXT, "bad");
    let bad = clone.commit("Bad");
    let trap = trap(&lab);
    let elsewhere = lab.bare("elsewhere.git", &[]);
    let objects = elsewhere.path.join("objects");
    let objects = objects.to_str().unwrap();
    let other = elsewhere.path.to_str().unwrap();
    let cases: &[&[(&str, &str)]] = &[
        &[
            ("GIT_CONFIG_COUNT", "1"),
            ("GIT_CONFIG_KEY_0", "acx.allowPolicyChange"),
            ("GIT_CONFIG_VALUE_0", "true"),
        ],
        &[
            ("GIT_CONFIG_COUNT", "1"),
            ("GIT_CONFIG_KEY_0", "core.fsmonitor"),
            ("GIT_CONFIG_VALUE_0", &trap),
        ],
        &[("GIT_CONFIG_PARAMETERS", "'core.fsmonitor'='/bin/false'")],
        &[
            ("GIT_SSH_COMMAND", &trap),
            ("GIT_EXTERNAL_DIFF", &trap),
            ("GIT_PAGER", &trap),
            ("GIT_ASKPASS", &trap),
        ],
        &[("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects)],
        &[("GIT_OBJECT_DIRECTORY", objects)],
        &[("GIT_WORK_TREE", other), ("GIT_INDEX_FILE", "/nonexistent")],
        &[
            ("GIT_REPLACE_REF_BASE", "refs/heads/"),
            ("GIT_GRAFT_FILE", "/nonexistent"),
            ("GIT_SHALLOW_FILE", "/nonexistent"),
        ],
    ];
    for env in cases {
        let out = judged(&clone.path, &old, &bad, env);
        assert_eq!(out.status, 1, "{env:?}: {out:#?}");
        assert!(
            out.stdout.contains("container-not-sqlite"),
            "{env:?}: {out:#?}"
        );
    }
    // Pointed at another repository or at a namespace of no branch, it lets nothing in.
    for env in [("GIT_DIR", other), ("GIT_NAMESPACE", "x")] {
        let out = judged(&clone.path, &old, &bad, &[env]);
        assert_ne!(out.status, 0, "{env:?}: {out:#?}");
    }
    // The policy is guarded whatever variables say.
    clone.git(&["reset", "-q", "--hard", &old]);
    clone.put(
        "acx-registry.toml",
        "[rules]\nhistory-publisher-key = \"off\"\n",
    );
    let new = clone.commit("Open the gate");
    let parameters = [("GIT_CONFIG_PARAMETERS", "'acx.allowpolicychange'='true'")];
    for env in [&[], &parameters[..]].iter().chain(cases) {
        let out = judged(&clone.path, &old, &new, env);
        assert_eq!(out.status, 1, "{env:?}: {out:#?}");
        assert!(out.stdout.contains("history-policy"), "{env:?}: {out:#?}");
    }
    assert!(!lab.at("sprung").exists(), "something was run");
}

#[test]
fn alternates_that_point_elsewhere_give_no_objects_another_content() {
    let lab = Lab::new();
    let (_, clone) = founded(&lab);
    let old = clone.git(&["rev-parse", "HEAD"]);
    clone.put(NEXT, "bad");
    let new = clone.commit("Bad");
    let id = clone.git(&["rev-parse", &format!("HEAD:{NEXT}")]);
    // Another store holds, under the bad blob's name, an object of other bytes.
    let evil = lab.bare("evil.git", &[]);
    let good = lab.at("good.acx");
    fs::write(&good, cartridge("1.1.0").build()).unwrap();
    let good = evil.git(&["hash-object", "-w", good.to_str().unwrap()]);
    let loose =
        |repository: &Path, id: &str| repository.join("objects").join(&id[..2]).join(&id[2..]);
    let forged = loose(&evil.path, &id);
    fs::create_dir_all(forged.parent().unwrap()).unwrap();
    fs::copy(loose(&evil.path, &good), &forged).unwrap();
    fs::remove_file(loose(&clone.path.join(".git"), &id)).unwrap();
    let list = clone.path.join(".git/objects/info/alternates");
    fs::create_dir_all(list.parent().unwrap()).unwrap();
    fs::write(&list, format!("{}\n", evil.path.join("objects").display())).unwrap();
    let out = judged(&clone.path, &old, &new, &[]);
    assert_eq!(
        out.status, 2,
        "what is not what its name says is not judged: {out:#?}"
    );
    // Alternates that name nothing, or themselves.
    for text in [
        "/nonexistent\n".to_owned(),
        format!("{}\n", clone.path.join(".git/objects").display()),
    ] {
        fs::write(&list, text).unwrap();
        let out = judged(&clone.path, &old, &new, &[]);
        assert_ne!(out.status, 0, "{out:#?}");
    }
}

#[test]
fn one_tree_in_many_commits_and_places_is_judged_or_given_up() {
    let lab = Lab::new();
    let (_, clone) = founded(&lab);
    let old = clone.git(&["rev-parse", "HEAD"]);
    for _ in 0..200 {
        clone.git(&["commit", "-q", "--allow-empty", "-m", "Again"]);
    }
    let new = clone.git(&["rev-parse", "HEAD"]);
    let out = judged(&clone.path, &old, &new, &[]);
    assert_eq!(out.status, 0, "{out:#?}");
    // Forty trees that hold the next one ten times each: ten to the fortieth files.
    let blob = clone.git(&["rev-parse", &format!("HEAD:{PUBLISHED}")]);
    let mut inner = tree(&clone, &[("100644", "x", &blob)]);
    for _ in 0..40 {
        let names: Vec<String> = (0..10).map(|n| n.to_string()).collect();
        let entries: Vec<_> = names
            .iter()
            .map(|n| ("40000", n.as_str(), inner.as_str()))
            .collect();
        inner = tree(&clone, &entries);
    }
    let folder = clone.git(&["rev-parse", "HEAD:cartridges"]);
    let new = commit_of(
        &clone,
        &tree(
            &clone,
            &[("40000", "cartridges", &folder), ("40000", "x", &inner)],
        ),
    );
    let out = judged(&clone.path, &old, &new, &[]);
    assert_ne!(out.status, 0, "{out:#?}");
}

#[test]
fn a_quarantine_lets_nothing_in_until_it_holds_everything() {
    let lab = Lab::new();
    let (server, clone) = founded(&lab);
    let old = server.git(&["rev-parse", "main"]);
    clone.cartridge(&cartridge("1.1.0"));
    let new = clone.commit("Publish");
    let quarantine = lab.at("quarantine");
    fs::create_dir(&quarantine).unwrap();
    let own = server.path.join("objects");
    let env = [
        ("GIT_OBJECT_DIRECTORY", quarantine.to_str().unwrap()),
        ("GIT_QUARANTINE_PATH", quarantine.to_str().unwrap()),
        ("GIT_ALTERNATE_OBJECT_DIRECTORIES", own.to_str().unwrap()),
    ];
    let objects = clone.git(&["rev-list", "--objects", &format!("{old}..{new}")]);
    let ids: Vec<&str> = objects.lines().map(|line| &line[..40]).collect();
    assert!(ids.len() > 5, "{ids:?}");
    let store = clone.path.join(".git/objects");
    for id in &ids {
        let out = judged(&server.path, &old, &new, &env);
        assert_eq!(out.status, 2, "{out:#?}");
        let said = format!("{}{}", out.stdout, out.stderr);
        assert!(said.contains("is missing"), "{out:#?}");
        fs::create_dir_all(quarantine.join(&id[..2])).unwrap();
        let name = format!("{}/{}", &id[..2], &id[2..]);
        fs::copy(store.join(&name), quarantine.join(&name)).unwrap();
    }
    let out = judged(&server.path, &old, &new, &env);
    assert_eq!(out.status, 0, "{out:#?}");
    // Each object in turn under the name of another: not believed.
    for pair in ids.windows(2) {
        let [this, other] = [pair[0], pair[1]].map(|id| format!("{}/{}", &id[..2], &id[2..]));
        fs::remove_file(quarantine.join(&this)).unwrap();
        fs::copy(store.join(&other), quarantine.join(&this)).unwrap();
        let out = judged(&server.path, &old, &new, &env);
        // A tree in the commit's place is no commit; the rest cannot be read.
        let status = if pair[0] == new { 1 } else { 2 };
        assert_eq!(out.status, status, "{pair:?}: {out:#?}");
        fs::copy(store.join(&this), quarantine.join(&this)).unwrap();
    }
}

#[test]
fn links_and_submodules_in_the_place_of_the_registrys_own_files_are_refused() {
    let lab = Lab::new();
    let (server, clone) = founded(&lab);
    let head = clone.git(&["rev-parse", "HEAD"]);
    let target = object(&clone, "blob", b"/etc/passwd");
    for path in [
        "trust-registry.json",
        "issuer-keys.json",
        "status.json",
        ".gitattributes",
        "cartridges/io.github.other",
        "graphs/io.github.acme",
        "cals",
    ] {
        for (mode, id) in [("120000", &target), ("160000", &head)] {
            let what = format!("{mode},{id},{path}");
            clone.git(&["update-index", "--add", "--cacheinfo", &what]);
            clone.git(&["commit", "-q", "-m", "Not a file"]);
            println!("{mode} {path}");
            refused(&server, &clone, &["main"], "error[registry-symlink]");
            clone.git(&["reset", "-q", "--hard", &head]);
        }
    }
}

#[test]
fn programs_that_a_push_brings_are_files_and_nothing_more() {
    let lab = Lab::new();
    let (server, clone) = founded(&lab);
    let trap = trap(&lab);
    for name in [
        "hooks/pre-receive",
        "hooks/post-receive",
        ".githooks/pre-commit",
    ] {
        clone.put(name, fs::read(&trap).unwrap());
        clone.git(&["add", "-A"]);
        clone.git(&["update-index", "--chmod=+x", name]);
    }
    clone.put(
        ".gitmodules",
        format!("[submodule \"x\"]\n\tpath = x\n\turl = ext::{trap}\n\tupdate = !{trap}\n"),
    );
    clone.cartridge(&cartridge("1.1.0"));
    clone.commit("Programs");
    let out = clone.try_git(&["push", "origin", "main"]);
    assert_eq!(out.status, 0, "{out:#?}");
    assert_eq!(clone.build(&["--dry-run"]).status, 0);
    assert_eq!(server.git(&["rev-list", "--count", "main"]), "2");
    assert!(!lab.at("sprung").exists(), "something was run");
}

#[test]
fn twenty_thousand_cartridges_and_four_hundred_folders_end_in_a_verdict() {
    let lab = Lab::new();
    let (_, clone) = founded(&lab);
    let old = clone.git(&["rev-parse", "HEAD"]);
    let bad = object(&clone, "blob", b"x");
    let version = tree(&clone, &[("100644", "cartridge.acx", &bad)]);
    let one = tree(&clone, &[("40000", "1.0.0", &version)]);
    let names: Vec<String> = (0..20_000).map(|n| format!("c{n:08}")).collect();
    let all: Vec<TreeLine<'_>> = names
        .iter()
        .map(|name| ("40000", name.as_str(), one.as_str()))
        .collect();
    let wide = tree(&clone, &all);
    let mut deep = tree(&clone, &[("100644", "x", &bad)]);
    for _ in 0..400 {
        deep = tree(&clone, &[("40000", "d", &deep)]);
    }
    let acme = clone.git(&["rev-parse", "HEAD:cartridges/io.github.acme"]);
    for (below, status, says) in [
        (&wide, 1, "container-not-sqlite"),
        (&deep, 2, "folders below each other"),
    ] {
        let publishers = [
            ("40000", "io.github.acme", acme.as_str()),
            ("40000", "io.github.wide", below),
        ];
        let cartridges = tree(&clone, &publishers);
        let new = commit_of(
            &clone,
            &tree(&clone, &[("40000", "cartridges", &cartridges)]),
        );
        let out = judged(&clone.path, &old, &new, &[]);
        assert_eq!(out.status, status, "{}", out.stderr);
        let said = format!("{}{}", out.stdout, out.stderr);
        assert!(
            said.contains(says) || said.contains("history-budget"),
            "{}",
            out.stderr
        );
    }
}
