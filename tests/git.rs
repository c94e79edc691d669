//! Registries in git: commits judged without a checkout, history held against a base, results committed and pushed.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::type_complexity
)]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use support::cartridge::Builder;
use support::git::{Lab, Repository};
use support::registry::{index_keyid, listed, predicate, rejected_codes, run_acx};

fn cartridge(id: &str, version: &str) -> Builder {
    Builder::valid("io.github.acme", id, version)
}

/// A registry with something of everything that a tree can hold.
fn mixed(work: &Repository<'_>) {
    work.put(
        "acx-registry.toml",
        "[registry]\nid = \"com.example.registry\"\n",
    );
    for version in ["1.0.0", "1.1.0", "1.2.0"] {
        work.cartridge(&cartridge("build-smith", version));
    }
    work.put(
        "cartridges/io.github.acme/build-smith/1.0.0/README.md",
        "# A card\n",
    );
    work.put(
        "cartridges/io.github.acme/build-smith/2.0.0/cartridge.acx",
        "no database",
    );
    work.put("misplaced.acx", cartridge("other", "1.0.0").build());
    work.put("notes.txt", format!("-----BEGIN {}-----\n", "PRIVATE KEY"));
    work.put(
        "templates/starter/manifest.json",
        r#"{"name":"Starter","packageVersion":"1.0.0"}"#,
    );
    work.put("templates/starter/README.md", "start\n");
    #[cfg(unix)]
    std::os::unix::fs::symlink("README.md", work.path.join("link")).unwrap();
    // More than `limits.file_bytes`.
    work.put("dump.sql", vec![b' '; (64 << 20) + 1]);
}

fn generated(folder: &std::path::Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in walkdir::WalkDir::new(folder).sort_by_file_name() {
        let entry = entry.unwrap();
        let path = entry.path().strip_prefix(folder).unwrap().to_str().unwrap();
        if entry.file_type().is_file()
            && (path == "index.json" || path.contains(".memories.lance/"))
        {
            files.push((path.to_owned(), fs::read(entry.path()).unwrap()));
        }
    }
    files
}

#[test]
fn a_commit_is_judged_as_its_checkout_is() {
    for kind in ["sha1", "sha256"] {
        let lab = Lab::new();
        let work = lab.work("work", &[&format!("--object-format={kind}")]);
        mixed(&work);
        work.git(&["add", "-A"]);
        let commit = if kind == "sha1" {
            "1".repeat(40)
        } else {
            "1".repeat(64)
        };
        work.git(&[
            "update-index",
            "--add",
            "--cacheinfo",
            &format!("160000,{commit},vendored"),
        ]);
        work.git(&["commit", "-q", "-m", "Everything"]);
        fs::create_dir_all(work.path.join("vendored")).unwrap();
        let from_folder = work.build(&[]);
        assert_eq!(from_folder.status, 1, "{from_folder:#?}");
        let codes = rejected_codes(&from_folder.json());
        assert_eq!(codes["vendored"], ["registry-symlink"]);
        assert_eq!(codes["dump.sql"], ["registry-file-too-large"]);
        let expected = generated(&work.path);
        assert!(expected.len() > 6);
        let report = |out: &support::registry::Output| {
            let mut json: Value = out.json();
            json.as_object_mut().unwrap().remove("wrote");
            json
        };
        // Loose objects, from the work tree and from elsewhere.
        let check = |work: &Repository<'_>, args: &[&str], out: &str| {
            let out = lab.at(out);
            let built = work.build(&[args, &["--out", out.to_str().unwrap()]].concat());
            assert_eq!(built.status, 1, "{built:#?}");
            assert_eq!(report(&built), report(&from_folder));
            assert!(generated(&out) == expected, "the same bytes from a commit");
        };
        check(&work, &["--rev", "HEAD"], "loose");
        // Packed, in a bare clone.
        let bare = lab.clone_of(&work.path, "bare.git", &["--bare"]);
        bare.git(&["repack", "-q", "-a", "-d"]);
        check(&bare, &["--rev", "main"], "packed");
        let elsewhere = lab.work("elsewhere", &[]);
        check(
            &elsewhere,
            &["--git-dir", bare.path.to_str().unwrap()],
            "git-dir",
        );
        // Objects borrowed from another repository.
        let borrower = lab.clone_of(&work.path, "borrower.git", &["--bare", "--shared"]);
        check(&borrower, &["--rev", "main"], "alternates");
        // A linked work tree.
        work.git(&[
            "worktree",
            "add",
            "-q",
            "-b",
            "linked",
            lab.at("linked").to_str().unwrap(),
        ]);
        let linked = Repository {
            lab: &lab,
            path: lab.at("linked"),
        };
        check(&linked, &["--rev", "HEAD"], "linked-commit");
        let from_linked = linked.build(&[]);
        assert_eq!(report(&from_linked), report(&from_folder));
        assert!(generated(&linked.path) == expected);
    }
}

#[test]
fn a_registry_in_a_folder_of_the_repository_is_found() {
    let lab = Lab::new();
    let work = lab.work("work", &[]);
    let builder = cartridge("build-smith", "1.0.0");
    work.put(&format!("registry/{}", builder.path()), builder.build());
    work.put("docs/README.md", "elsewhere");
    work.commit("A registry in a folder");
    assert_eq!(work.build(&[]).status, 0);
    let bare = lab.clone_of(&work.path, "bare.git", &["--bare"]);
    let out = lab.at("out");
    let built = bare.build(&["--rev", "main", "--out", out.to_str().unwrap()]);
    assert_eq!(built.status, 0, "{built:#?}");
    assert!(generated(&out) == generated(&work.path.join("registry")));
    // And committed there.
    let built = bare.build(&["--commit"]);
    assert_eq!(built.status, 0, "{built:#?}");
    assert!(
        bare.files("main")
            .contains(&"registry/index.json".to_owned())
    );
    assert_eq!(
        bare.show("main", "registry/index.json"),
        fs::read(work.path.join("registry/index.json")).unwrap()
    );
}

#[test]
fn a_revision_that_cannot_be_judged_is_an_error() {
    let lab = Lab::new();
    let work = lab.work("work", &[]);
    work.cartridge(&cartridge("build-smith", "1.0.0"));
    work.commit("One");
    for args in [
        &["--rev", "nothing"][..],
        &["--rev", "HEAD^{tree}"],
        &["--base", "nothing"],
    ] {
        let out = work.build(args);
        assert_eq!(out.status, 2, "{out:#?}");
        assert!(!work.path.join("index.json").exists());
    }
    let bare = lab.clone_of(&work.path, "bare.git", &["--bare"]);
    let out = bare.build(&["--rev", "main"]);
    assert_eq!(out.status, 2);
    assert!(
        out.stderr.contains("--commit") && out.stderr.contains("--out"),
        "{out:#?}"
    );
    // A broken object is no cartridge and no absence of one.
    let id = work.git(&[
        "rev-parse",
        &format!("HEAD:{}", cartridge("build-smith", "1.0.0").path()),
    ]);
    let file = work.path.join(".git/objects").join(&id[..2]).join(&id[2..]);
    fs::remove_file(&file).unwrap();
    let out = work.build(&["--rev", "HEAD"]);
    assert_eq!(out.status, 2, "{out:#?}");
    assert_eq!(out.json()["counts"]["unverifiable"], 1);
    // Another object's bytes under its name.
    let other = work.git(&["hash-object", "-w", "--stdin"]);
    let other = work
        .path
        .join(".git/objects")
        .join(&other[..2])
        .join(&other[2..]);
    fs::copy(other, &file).unwrap();
    let out = work.build(&["--rev", "HEAD"]);
    assert_eq!(out.status, 2, "{out:#?}");
}

#[test]
fn a_tree_that_spells_endless_files_is_given_up() {
    let lab = Lab::new();
    let work = lab.work("work", &[]);
    work.cartridge(&cartridge("build-smith", "1.0.0"));
    work.commit("One");
    // Twelve levels of ten names for the level below: 10^12 files in 13 objects.
    let mut id = work.git(&["rev-parse", "HEAD:cartridges"]);
    for _ in 0..12 {
        let lines: String = (0..10)
            .map(|n| format!("040000 tree {id}\t{n}\n"))
            .collect();
        let mut child = Command::new("git")
            .arg("-C")
            .arg(&work.path)
            .arg("mktree")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Write::write_all(child.stdin.as_mut().unwrap(), lines.as_bytes()).unwrap();
        let out = child.wait_with_output().unwrap();
        id = String::from_utf8(out.stdout).unwrap().trim().to_owned();
    }
    let commit = work.git(&["commit-tree", "-m", "Endless", &id]);
    let out = work.build(&["--rev", &commit, "--check"]);
    assert_eq!(out.status, 2, "{out:#?}");
    assert!(out.stderr.contains("places"), "{out:#?}");
}

#[test]
fn line_ends_and_pointers_are_told_from_other_damage() {
    let lab = Lab::new();
    let work = lab.work("work", &[]);
    let mut builder = cartridge("build-smith", "1.0.0");
    builder.file("rom/knowledge/LINES.md", "one\ntwo\nthree\n");
    let path = builder.path();
    work.cartridge(&builder);
    work.cartridge(&cartridge("other", "1.0.0"));
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 98304\n";
    work.put(
        "cartridges/io.github.acme/pointer/1.0.0/cartridge.acx",
        pointer,
    );
    work.commit("Plain");
    let built = work.build(&[]);
    assert_eq!(
        rejected_codes(&built.json())
            .into_iter()
            .collect::<Vec<_>>(),
        [(
            "cartridges/io.github.acme/pointer/1.0.0/cartridge.acx".to_owned(),
            vec!["container-lfs-pointer".to_owned()]
        )]
    );
    // Converted on the way out.
    work.put(
        ".gitattributes",
        "build-smith/**/*.acx text eol=crlf\n*/*/build-smith/*/*.acx text eol=crlf\n",
    );
    work.git(&["add", ".gitattributes"]);
    fs::remove_file(work.path.join(&path)).unwrap();
    work.git(&["checkout", "-q", "--", &path]);
    let built = work.build(&["--dry-run"]).json();
    assert_eq!(rejected_codes(&built)[&path], ["registry-line-endings"]);
    assert_eq!(rejected_codes(&built).len(), 2);
    // Converted on the way in: the work tree is sound, and what others get is not.
    let mut crlf = cartridge("crlf", "1.0.0");
    crlf.file("rom/knowledge/LINES.md", "one\r\ntwo\r\nthree\r\n");
    crlf.entry("rom/knowledge/LINES.md").form = support::cartridge::Form::Stored;
    work.put(".gitattributes", "*/*/crlf/*/*.acx text\n");
    let path = work.cartridge(&crlf);
    work.git(&["add", "-A"]);
    let built = work.build(&["--dry-run"]).json();
    assert_eq!(rejected_codes(&built)[&path], ["registry-line-endings"]);
}

#[test]
fn history_is_held_against_a_base() {
    let lab = Lab::new();
    let work = lab.work("work", &[]);
    let one = work.cartridge(&cartridge("build-smith", "1.0.0"));
    let two = work.cartridge(&cartridge("other", "1.0.0"));
    work.commit("Base");
    work.git(&["checkout", "-q", "-b", "topic"]);
    // The base moves on: what it gained is not missing here.
    work.git(&["checkout", "-q", "main"]);
    work.cartridge(&cartridge("build-smith", "1.1.0"));
    work.commit("More");
    work.git(&["checkout", "-q", "topic"]);
    work.cartridge(&cartridge("build-smith", "1.2.0"));
    work.commit("Publish");
    let check = |more: &[&str]| {
        work.acx(
            &[
                &["check-history", "--base", "main", "--format", "json"],
                more,
            ]
            .concat(),
        )
    };
    assert_eq!(check(&[]).status, 0, "{:#?}", check(&[]));
    assert_eq!(work.build(&["--base", "main", "--dry-run"]).status, 0);

    let mut other = cartridge("build-smith", "1.0.0");
    other.file("rom/knowledge/MORE.md", "more");
    work.put(&one, other.build());
    work.git(&["rm", "-q", &two]);
    work.commit("Change and delete");
    let out = check(&[]);
    assert_eq!(out.status, 1);
    let codes = rejected_codes(&out.json());
    assert_eq!(codes[&one], ["history-changed"]);
    assert_eq!(codes[&two], ["history-removed"]);
    assert_eq!(codes.len(), 2);
    let built = work.build(&["--base", "main", "--dry-run"]);
    assert_eq!(built.status, 1);
    assert_eq!(rejected_codes(&built.json()), codes);
    // Restored: the commit between is still there.
    work.git(&["checkout", "-q", "main", "--", &one, &two]);
    work.commit("Restore");
    assert_eq!(rejected_codes(&check(&[]).json()), codes);
    assert_eq!(check(&["--head", "topic~2"]).status, 0);
    // Judged by the policy of the base.
    work.git(&["checkout", "-q", "-B", "topic", "main"]);
    work.put("acx-registry.toml", "[limits]\nfile_bytes = 1024\n");
    work.commit("A policy that lets nothing in");
    assert_eq!(work.build(&["--base", "main", "--dry-run"]).status, 0);
    assert_eq!(work.build(&["--dry-run"]).status, 1);
}

#[test]
fn a_shallow_clone_without_the_base_is_an_error_with_advice() {
    let lab = Lab::new();
    let work = lab.work("work", &[]);
    work.cartridge(&cartridge("build-smith", "1.0.0"));
    let base = work.commit("Base");
    for version in ["1.1.0", "1.2.0"] {
        work.cartridge(&cartridge("build-smith", version));
        work.commit(version);
    }
    let url = format!("file://{}", work.path.display());
    let shallow = lab.clone_of(std::path::Path::new(&url), "shallow", &["--depth", "1"]);
    for args in [
        &["check-history", "--base", &base][..],
        &["build-index", "--dry-run", "--base", &base],
    ] {
        let out = shallow.acx(args);
        assert_eq!(out.status, 2, "{out:#?}");
        assert!(out.stderr.contains("git fetch --unshallow"), "{out:#?}");
    }
    shallow.git(&["fetch", "-q", "--unshallow"]);
    assert_eq!(shallow.acx(&["check-history", "--base", &base]).status, 0);
}

#[test]
fn a_build_commits_exactly_what_it_generates() {
    let lab = Lab::new();
    let work = lab.work("work", &[]);
    work.put(
        "acx-registry.toml",
        "[registry]\nid = \"com.example.registry\"\n",
    );
    work.cartridge(&cartridge("build-smith", "1.0.0"));
    work.put("README.md", "one\n");
    work.commit("Publish");
    // What does not count may be in the making.
    work.put("README.md", "two\n");
    work.put("draft.txt", "not yet\n");
    let out = work.build(&[
        "--commit",
        "--message",
        "Index, please",
        "--author",
        "Robot <robot@example.com>",
        "--trailer",
        "Built-By: acx",
    ]);
    assert_eq!(out.status, 0, "{out:#?}");
    assert_eq!(
        work.git(&["log", "-1", "--format=%an <%ae>%n%B"]),
        "Robot <robot@example.com>\nIndex, please\n\nBuilt-By: acx"
    );
    let changed = work.git(&["diff", "--name-only", "HEAD~1", "HEAD"]);
    assert!(
        changed
            .lines()
            .all(|l| l == "index.json" || l.contains("cartridge.memories.lance/")),
        "{changed}"
    );
    assert_eq!(changed.lines().count(), 3);
    assert_eq!(
        work.git(&["status", "--porcelain"]),
        " M README.md\n?? draft.txt"
    );
    let verified = work.acx(&["verify-index", "--keyid", &index_keyid()]);
    assert_eq!(verified.status, 0, "{verified:#?}");
    // Nothing to commit is fine.
    let head = work.git(&["rev-parse", "HEAD"]);
    assert_eq!(work.build(&["--commit"]).status, 0);
    assert_eq!(work.git(&["rev-parse", "HEAD"]), head);

    // What counts and is not in HEAD, what is staged, and what is generated and dirty: refused, and nothing changes.
    let refused = |says: &str| {
        let before = (
            work.git(&["rev-parse", "HEAD"]),
            work.git(&["status", "--porcelain"]),
        );
        let out = work.build(&["--commit"]);
        assert_eq!(out.status, 2, "{out:#?}");
        assert!(out.stderr.contains(says), "{says}: {out:#?}");
        assert_eq!(
            (
                work.git(&["rev-parse", "HEAD"]),
                work.git(&["status", "--porcelain"])
            ),
            before
        );
    };
    let new = work.cartridge(&cartridge("build-smith", "1.1.0"));
    refused("is not what HEAD has");
    fs::remove_file(work.path.join(&new)).unwrap();
    work.put(
        "acx-registry.toml",
        "[registry]\nid = \"com.example.other\"\n",
    );
    refused("acx-registry.toml is not what HEAD has");
    work.git(&["checkout", "-q", "--", "acx-registry.toml"]);
    work.put("index.json", "{}");
    refused("index.json is generated and differs from HEAD");
    work.git(&["checkout", "-q", "--", "index.json"]);
    work.git(&["add", "README.md"]);
    refused("README.md is staged");
}

#[test]
fn a_bare_repository_is_committed_to_and_moves_only_from_what_was_judged() {
    let lab = Lab::new();
    let work = lab.work("work", &[]);
    work.cartridge(&cartridge("build-smith", "1.0.0"));
    work.commit("Publish");
    let bare = lab.clone_of(&work.path, "bare.git", &["--bare"]);
    let out = bare.build(&["--commit"]);
    assert_eq!(out.status, 0, "{out:#?}");
    assert_eq!(
        bare.git(&["log", "--format=%s", "main"]),
        "Update the index of local.registry\nPublish"
    );
    assert_eq!(bare.git(&["fsck", "--strict"]), "");
    assert_eq!(listed(&bare.index("main")).len(), 1);
    let head = bare.git(&["rev-parse", "main"]);
    assert_eq!(bare.build(&["--commit", "--rev", "main"]).status, 0);
    assert_eq!(bare.git(&["rev-parse", "main"]), head);
    assert_eq!(bare.build(&["--commit", "--rev", &head]).status, 2);
    // Without a word about a commit, it is the default branch's.
    assert_eq!(bare.build(&["--check"]).status, 0);
}

#[test]
fn what_stands_in_a_datasets_place_makes_way() {
    let lab = Lab::new();
    let work = lab.work("work", &[]);
    let path = work.cartridge(&cartridge("build-smith", "1.0.0"));
    let dataset = path.replace("cartridge.acx", "cartridge.memories.lance");
    work.put(&dataset, "a file");
    work.put(
        &format!("{}/data/stray", dataset.replace("1.0.0", "2.0.0")),
        "stray",
    );
    work.commit("In the way");
    let bare = lab.clone_of(&work.path, "bare.git", &["--bare"]);
    let out = bare.build(&["--commit"]);
    assert_eq!(out.status, 0, "{out:#?}");
    assert_eq!(bare.git(&["fsck", "--strict", "--no-dangling"]), "");
    let files = bare.files("main");
    assert!(
        files
            .iter()
            .any(|f| f.starts_with(&format!("{dataset}/data/"))),
        "{files:?}"
    );
    assert!(!files.iter().any(|f| f.contains("2.0.0")), "{files:?}");
    let out = work.build(&["--commit"]);
    assert_eq!(out.status, 0, "{out:#?}");
    assert_eq!(
        work.git(&["rev-parse", "HEAD^{tree}"]),
        bare.git(&["rev-parse", "main^{tree}"])
    );
    assert_eq!(work.git(&["status", "--porcelain"]), "");
}

#[test]
fn post_receive_keeps_the_index_up_to_date() {
    let lab = Lab::new();
    let server = lab.bare("server.git", &[]);
    let key = lab.key();
    server.hook("pre-receive", "");
    server.hook("post-receive", &format!("--key '{key}'"));
    let clone = lab.clone_of(&server.path, "clone", &[]);
    for (n, version) in ["1.0.0", "1.1.0", "1.2.0"].into_iter().enumerate() {
        clone.cartridge(&cartridge("build-smith", version));
        clone.commit(version);
        let out = clone.try_git(&["push", "origin", "main"]);
        assert_eq!(out.status, 0, "{out:#?}");
        let index = server.index("main");
        assert_eq!(listed(&index).len(), n + 1);
        assert_eq!(predicate(&index)["sequence"], n + 1);
        clone.git(&["pull", "-q", "--ff-only", "origin", "main"]);
        let out = clone.acx(&["verify-index", "--keyid", &index_keyid()]);
        assert_eq!(out.status, 0, "{out:#?}");
    }
    assert_eq!(server.git(&["fsck", "--strict", "--no-dangling"]), "");
}

#[test]
fn two_clones_that_build_and_push_at_once_lose_nothing() {
    const ROUNDS: usize = 20;
    let lab = Lab::new();
    let server = lab.bare("server.git", &[]);
    server.hook("pre-receive", "--budget 60");
    let first = lab.clone_of(&server.path, "first", &[]);
    first.cartridge(&cartridge("base", "1.0.0"));
    first.commit("Found the registry");
    let out = first.build(&["--push", "origin"]);
    assert_eq!(out.status, 0, "{out:#?}");
    let second = lab.clone_of(&server.path, "second", &[]);
    for round in 0..ROUNDS {
        std::thread::scope(|scope| {
            for (clone, id) in [(&first, "alpha"), (&second, "beta")] {
                scope.spawn(move || {
                    clone.cartridge(&cartridge(id, &format!("1.0.{round}")));
                    clone.commit(&format!("Publish {id} {round}"));
                    let out = clone.build(&["--push", "origin"]);
                    assert_eq!(out.status, 0, "round {round}: {out:#?}");
                });
            }
        });
        let index = server.index("main");
        assert_eq!(listed(&index).len(), 1 + 2 * (round + 1), "round {round}");
    }
    // Every commit's index holds and goes on from the one before it.
    let commits = server.git(&["rev-list", "--reverse", "--first-parent", "main"]);
    let mut last: Option<(u64, Value)> = None;
    let mut sequences = BTreeSet::new();
    let probe = lab.at("probe");
    for commit in commits.lines() {
        if !server.files(commit).contains(&"index.json".to_owned()) {
            continue;
        }
        let index = server.index(commit);
        let says = predicate(&index);
        let sequence = says["sequence"].as_u64().unwrap();
        let digest = index["integrity"]["digest"].clone();
        if last.as_ref().is_some_and(|(s, _)| *s == sequence) {
            continue;
        }
        if let Some((before, old)) = &last {
            assert_eq!(sequence, before + 1, "{commit}");
            assert_eq!(says["previousDigest"], *old, "{commit}");
        }
        assert!(sequences.insert(sequence));
        last = Some((sequence, digest));
        fs::create_dir_all(&probe).unwrap();
        fs::write(probe.join("index.json"), server.show(commit, "index.json")).unwrap();
        let file = probe.join("index.json");
        let out = run_acx(
            &[
                "verify-index",
                file.to_str().unwrap(),
                "--keyid",
                &index_keyid(),
            ],
            &probe,
            &lab.home(),
            &[],
        );
        assert_eq!(out.status, 0, "{commit}: {out:#?}");
    }
    assert!(sequences.len() > ROUNDS, "{}", sequences.len());
    assert_eq!(server.git(&["fsck", "--strict", "--no-dangling"]), "");
}

#[test]
fn a_change_of_the_same_file_by_two_is_left_to_people() {
    let lab = Lab::new();
    let server = lab.bare("server.git", &[]);
    let first = lab.clone_of(&server.path, "first", &[]);
    first.cartridge(&cartridge("base", "1.0.0"));
    first.put("README.md", "one\n");
    first.commit("Found the registry");
    assert_eq!(first.build(&["--push", "origin"]).status, 0);
    let second = lab.clone_of(&server.path, "second", &[]);
    first.put("README.md", "first\n");
    first.commit("First");
    assert_eq!(first.build(&["--push", "origin"]).status, 0);
    second.put("README.md", "second\n");
    second.commit("Second");
    let head = second.git(&["rev-parse", "HEAD"]);
    let out = second.build(&["--push", "origin"]);
    assert_eq!(out.status, 2, "{out:#?}");
    assert!(
        out.stderr
            .contains("README.md was changed here and by somebody"),
        "{out:#?}"
    );
    assert_eq!(second.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(server.show("main", "README.md"), b"first\n");
    // A remote that is not there.
    let out = second.build(&["--push", "nowhere"]);
    assert_eq!(out.status, 2, "{out:#?}");
}

#[test]
fn a_push_over_the_network_meets_the_hook() {
    let lab = Lab::new();
    let server = lab.bare("server.git", &[]);
    server.hook("pre-receive", "");
    fs::write(server.path.join("git-daemon-export-ok"), "").unwrap();
    // A free port: taken from the system, given back, and taken again by the daemon.
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let mut daemon = Command::new("git")
        .args([
            "daemon",
            "--listen=127.0.0.1",
            "--reuseaddr",
            "--enable=receive-pack",
        ])
        .arg(format!("--port={port}"))
        .arg(format!("--base-path={}", lab.at("").display()))
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", lab.home())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("git daemon starts");
    let up = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(25));
        TcpStream::connect(("127.0.0.1", port)).is_ok()
    });
    assert!(up, "git daemon listens");
    let clone = lab.work("clone", &[]);
    clone.git(&[
        "remote",
        "add",
        "origin",
        &format!("git://127.0.0.1:{port}/server.git"),
    ]);
    let path = clone.cartridge(&cartridge("build-smith", "1.0.0"));
    clone.commit("Publish");
    let good = clone.try_git(&["push", "origin", "main"]);
    clone.put(&path.replace("1.0.0", "1.1.0"), "bad");
    clone.commit("Bad");
    let bad = clone.try_git(&["push", "origin", "main"]);
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    assert_eq!(good.status, 0, "{good:#?}");
    assert_ne!(bad.status, 0);
    assert!(
        bad.stderr.contains("remote:   error[container-not-sqlite]"),
        "{bad:#?}"
    );
    assert_eq!(server.git(&["rev-list", "--count", "main"]), "1");
}

#[test]
fn two_builds_in_one_checkout_take_turns() {
    let lab = Lab::new();
    let work = lab.work("work", &[]);
    for n in 0..20 {
        work.cartridge(&cartridge("build-smith", &format!("1.0.{n}")));
    }
    work.commit("Twenty");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let out = work.build(&["--resign"]);
                assert_eq!(out.status, 0, "{out:#?}");
            });
        }
    });
    // Each went on from the one before it.
    let index: Value =
        serde_json::from_slice(&fs::read(work.path.join("index.json")).unwrap()).unwrap();
    assert_eq!(predicate(&index)["sequence"], 4);
}

#[test]
fn a_lock_is_waited_for_and_a_dead_builds_lock_is_not() {
    let lab = Lab::new();
    let work = lab.work("work", &[]);
    work.cartridge(&cartridge("build-smith", "1.0.0"));
    work.commit("One");
    let file = work.path.join(".git/acx/lock");
    // What a killed build leaves: the file, which nobody holds.
    work.put(".git/acx/lock", "4711");
    assert_eq!(work.build(&[]).status, 0);
    let held = fs::File::open(&file).unwrap();
    held.lock().unwrap();
    let key = lab.key();
    let mut child = Command::new(env!("CARGO_BIN_EXE_acx"))
        .args(["build-index", "--resign", "--key", &key])
        .current_dir(&work.path)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(700));
    assert!(child.try_wait().unwrap().is_none(), "it waits");
    let sequence = || {
        let index: Value =
            serde_json::from_slice(&fs::read(work.path.join("index.json")).unwrap()).unwrap();
        predicate(&index)["sequence"].as_u64().unwrap()
    };
    assert_eq!(sequence(), 1);
    // Reading takes no lock.
    assert_eq!(work.build(&["--check"]).status, 0);
    drop(held);
    assert!(child.wait().unwrap().success());
    assert_eq!(sequence(), 2);
}
