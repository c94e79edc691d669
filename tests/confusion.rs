//! Names that look alike, things in the places of files, and surroundings that fail in the middle of a run.
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
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use support::cartridge::Builder;
use support::keys;
use support::registry::{
    FINE, Output, SEPTEMBER, TempRegistry, fine, index_keyid, ledger_entry, listed, rejected_codes,
    with_fine,
};

/// Runs a line of shell in the registry; `$ACX` is the program, `$KEY` the signing key.
fn shell(registry: &TempRegistry, line: &str) -> Output {
    let out = Command::new("sh")
        .args(["-c", line])
        .current_dir(registry.root())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", registry.home())
        .env("SOURCE_DATE_EPOCH", SEPTEMBER)
        .env("ACX", env!("CARGO_BIN_EXE_acx"))
        .env("KEY", registry.key())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    Output {
        status: out.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&out.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&out.stderr).into_owned(),
    }
}

fn verifies(registry: &TempRegistry) {
    let out = registry.run_with(
        &["verify-index", "--keyid", &index_keyid()],
        &[("SOURCE_DATE_EPOCH", SEPTEMBER)],
    );
    assert_eq!(out.status, 0, "{out:#?}");
}

#[test]
fn names_that_only_look_like_anothers_are_refused() {
    for (publisher, id) in [
        ("io.github.Acme", "fine"),
        ("IO.GITHUB.ACME", "fine"),
        ("io.github.\u{430}cme", "fine"),
        ("io.github.acme\u{200d}", "fine"),
        ("io.github.ａcme", "fine"),
        ("io.github.acme", "Fine"),
        ("io.github.acme", "f\u{131}ne"),
        ("io.github.acme", "fine\u{301}"),
        ("io.github.acme", "fine\u{202e}"),
        ("io.github.acme", "fine."),
        ("io.github.acme", "fine "),
    ] {
        let registry = with_fine();
        let mut builder = fine();
        builder.set("acx.publisher_id", publisher);
        builder.set("acx.artifact_id", id);
        let path = registry.cartridge(&builder);
        let out = registry.build_index(&[]);
        assert_eq!(out.status, 1, "{path}: {out:#?}");
        let codes = rejected_codes(&out.json());
        let known = ["metadata-invalid", "registry-path", "registry-coordinate"];
        let said = &codes[&path];
        assert!(
            said.iter().any(|code| code == "registry-path"),
            "{path}: {said:?}"
        );
        assert!(
            said.iter().all(|code| known.contains(&code.as_str())),
            "{path}: {said:?}"
        );
        assert_eq!(listed(&registry.index().unwrap()), [FINE], "{path}");
    }
}

#[test]
fn two_dots_in_what_a_cartridge_says_lead_nowhere() {
    for (key, value) in [
        ("acx.publisher_id", ".."),
        ("acx.publisher_id", "../../escape"),
        ("acx.artifact_id", "../escape"),
        ("acx.artifact_id", ".."),
        ("acx.artifact_version", "../../../escape"),
        ("acx.artifact_version", "1.0.0/../../escape"),
    ] {
        let registry = with_fine();
        let mut builder = fine();
        builder.set(key, value);
        registry.put("c.acx", builder.build());
        let before = registry.snapshot();
        let out = registry.run(&["publish", "c.acx", "."]);
        assert_eq!(out.status, 1, "{key} {value}: {out:#?}");
        assert_eq!(registry.snapshot(), before, "{key} {value}");
        assert_eq!(
            fs::read_dir(registry.root().parent().unwrap())
                .unwrap()
                .count(),
            2
        );
    }
}

#[test]
fn an_index_with_a_second_name_elsewhere_is_replaced_and_the_other_stays() {
    let registry = with_fine();
    assert_eq!(registry.build_at(SEPTEMBER, &[]).status, 0);
    let other = registry.home().join("other.json");
    fs::hard_link(registry.at("index.json"), &other).unwrap();
    let was = fs::read(&other).unwrap();
    registry.ledger(&[ledger_entry(&fine(), "deprecated")]);
    assert_eq!(registry.build_at(SEPTEMBER, &[]).status, 0);
    assert_eq!(fs::read(&other).unwrap(), was);
    assert_ne!(registry.index_bytes(), was);
}

#[test]
fn a_link_where_the_index_goes_is_not_written_through() {
    let registry = with_fine();
    let outside = registry.home().join("victim");
    fs::write(&outside, "precious").unwrap();
    symlink(&outside, registry.at("index.json")).unwrap();
    let out = registry.build_at(SEPTEMBER, &["--new-chain"]);
    assert_eq!(out.status, 2, "{out:#?}");
    assert_eq!(fs::read_to_string(&outside).unwrap(), "precious");
}

#[test]
fn a_datasets_file_with_a_second_name_elsewhere_is_replaced_and_the_other_stays() {
    let registry = with_fine();
    assert_eq!(registry.build_at(SEPTEMBER, &[]).status, 0);
    let dataset = registry.at(&FINE.replace(".acx", ".memories.lance"));
    let files: Vec<_> = walkdir::WalkDir::new(&dataset)
        .into_iter()
        .map(|entry| entry.unwrap().into_path())
        .filter(|path| path.is_file())
        .collect();
    assert!(files.len() > 1, "{files:?}");
    for file in &files {
        let good = fs::read(file).unwrap();
        let outside = registry.home().join("victim");
        fs::write(&outside, "precious").unwrap();
        fs::remove_file(file).unwrap();
        fs::hard_link(&outside, file).unwrap();
        assert_eq!(registry.build_at(SEPTEMBER, &[]).status, 0);
        assert_eq!(fs::read(file).unwrap(), good, "{}", file.display());
        assert_eq!(fs::read_to_string(&outside).unwrap(), "precious");
        fs::remove_file(&outside).unwrap();
    }
}

#[test]
fn folders_that_are_links_to_elsewhere_are_neither_read_nor_written() {
    let publisher = "cartridges/io.github.acme";
    for (place, status) in [
        ("cartridges", 1),
        (publisher, 1),
        ("cartridges/io.github.acme/fine", 1),
        ("cartridges/io.github.acme/fine/1.0.0", 1),
        ("cals", 1),
        ("graphs", 1),
        ("index", 2),
    ] {
        let registry = with_fine();
        registry.policy("[index]\nshards = true\n");
        let outside = registry.home().join("outside");
        if registry.at(place).exists() {
            fs::rename(registry.at(place), &outside).unwrap();
        } else {
            fs::create_dir(&outside).unwrap();
        }
        symlink(&outside, registry.at(place)).unwrap();
        let files = || walkdir::WalkDir::new(&outside).into_iter().count();
        let before = files();
        let out = registry.build_at(SEPTEMBER, &[]);
        assert_eq!(out.status, status, "{place}: {out:#?}");
        if status == 1 {
            let codes = rejected_codes(&out.json());
            assert_eq!(codes[place], ["registry-symlink"], "{place}");
        }
        assert_eq!(files(), before, "{place}");
    }
}

#[test]
fn pipes_and_devices_are_neither_waited_for_nor_read() {
    let registry = with_fine();
    assert_eq!(shell(&registry, "mkfifo pipe.acx pipe.cal.json").status, 0);
    for file in ["pipe.acx", "pipe.cal.json", "/dev/zero", "/dev/stdin", "."] {
        for command in ["check", "verify", "inspect", "spec", "level"] {
            let out = registry.run(&[command, file]);
            assert!(matches!(out.status, 1 | 2), "{command} {file}: {out:#?}");
        }
    }
}

#[test]
fn a_full_disk_leaves_the_index_as_it_was() {
    let registry = with_fine();
    let place = registry.home().join("small");
    fs::create_dir(&place).unwrap();
    let mount = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=512k", "tmpfs"])
        .arg(&place)
        .output();
    if !mount.is_ok_and(|out| out.status.success()) {
        println!("SKIPPED: NOT ROOT, OR NO TMPFS: A FULL DISK WAS NOT TRIED");
        return;
    }
    let unmount = Unmount(&place);
    let root = place.to_str().unwrap();
    support::registry::copy_tree(&registry.root(), &place);
    let key = registry.key();
    let build = || {
        registry.run_with(
            &["build-index", root, "--key", &key],
            &[("SOURCE_DATE_EPOCH", SEPTEMBER)],
        )
    };
    assert_eq!(build().status, 0);
    let index = fs::read(place.join("index.json")).unwrap();
    fs::write(
        place.join("cartridges/README.md"),
        "what follows takes the rest of the disk",
    )
    .unwrap();
    let mut next = fine();
    next.set("acx.artifact_version", "1.1.0");
    let file = place.join(next.path());
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, next.build()).unwrap();
    // All that is left, to the last byte.
    let filler = place.join("filler");
    let _ = fs::write(&filler, vec![1; 512 << 10]);
    let out = build();
    assert_eq!(out.status, 2, "{out:#?}");
    assert!(out.stderr.contains("o space left"), "{out:#?}");
    assert_eq!(fs::read(place.join("index.json")).unwrap(), index);
    fs::remove_file(&filler).unwrap();
    let out = build();
    assert_eq!(out.status, 0, "{out:#?}");
    drop(unmount);
}

struct Unmount<'a>(&'a Path);

impl Drop for Unmount<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}

#[test]
fn the_clock_at_its_ends_signs_what_it_says_and_breaks_nothing() {
    for (epoch, signed) in [
        ("0", "1970-01-01T00:00:00.000Z"),
        ("4102444800", "2100-01-01T00:00:00.000Z"),
    ] {
        let registry = with_fine();
        let out = registry.build_at(epoch, &[]);
        assert_eq!(out.status, 0, "{epoch}: {out:#?}");
        assert_eq!(registry.index().unwrap()["integrity"]["signedAt"], signed);
    }
    for epoch in ["-99999999999999", "99999999999999999999", "1e9", ""] {
        let registry = with_fine();
        assert_eq!(registry.build_at(epoch, &[]).status, 2, "{epoch}");
        assert!(registry.index().is_none());
    }
}

#[test]
fn a_file_that_changes_while_it_is_read_is_listed_as_what_was_judged() {
    let registry = with_fine();
    let good = fs::read(registry.at(FINE)).unwrap();
    let mut bad = good.clone();
    let middle = bad.len() / 2;
    bad[middle..].reverse();
    let digest = keys::sha256(&good);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                fs::write(registry.at(FINE), &bad).unwrap();
                fs::write(registry.at(FINE), &good).unwrap();
            }
        });
        for _ in 0..20 {
            let _ = fs::remove_file(registry.at("index.json"));
            let out = registry.build_at(SEPTEMBER, &["--allow-shrink"]);
            assert!((0..=2).contains(&out.status), "{out:#?}");
            for entry in registry
                .index()
                .iter()
                .flat_map(|i| i["cartridges"].as_array().unwrap())
            {
                assert_eq!(entry["sha256"], digest.as_str());
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn the_users_mask_neither_opens_nor_breaks_what_is_written() {
    for mask in ["0000", "0077", "0777"] {
        let registry = with_fine();
        let line =
            format!("umask {mask}; $ACX build-index --key $KEY && $ACX key generate mine.txt");
        let out = shell(&registry, &line);
        assert_eq!(out.status, 0, "{mask}: {out:#?}");
        let mode = |path: &str| fs::metadata(registry.at(path)).unwrap().mode() & 0o777;
        assert_eq!(mode("index.json") & 0o022, 0, "{mask}");
        assert_eq!(mode("mine.txt") & 0o077, 0, "{mask}");
    }
}

#[test]
fn without_a_home_no_key_is_made_and_nothing_written() {
    let registry = with_fine();
    let out = shell(&registry, "unset HOME; exec $ACX build-index");
    assert_eq!(out.status, 2, "{out:#?}");
    assert!(registry.index().is_none());
}

#[test]
fn a_closed_output_is_no_crash_and_no_half_index() {
    for line in [
        "$ACX build-index --key $KEY >&-",
        "$ACX build-index --key $KEY >&- 2>&-",
        "$ACX build-index --key $KEY -v | true",
        "$ACX build-index --key $KEY -v 2>&1 | true",
    ] {
        let registry = with_fine();
        let out = shell(&registry, line);
        assert!((0..=2).contains(&out.status), "{line}: {out:#?}");
        assert!(!out.stderr.contains("panicked"), "{line}: {out:#?}");
        verifies(&registry);
    }
}

#[test]
fn few_open_files_are_enough() {
    let registry = TempRegistry::new();
    for n in 0..60 {
        registry.cartridge(&Builder::valid("io.github.acme", &format!("a{n}"), "1.0.0"));
    }
    let out = shell(
        &registry,
        "ulimit -n 64; exec $ACX build-index --jobs 16 --key $KEY",
    );
    assert_eq!(out.status, 0, "{out:#?}");
    assert_eq!(registry.index().unwrap()["count"], 60);
}

#[test]
fn a_run_that_is_told_to_stop_leaves_an_index_that_verifies() {
    let registry = TempRegistry::new();
    for n in 0..10 {
        registry.cartridge(&Builder::valid("io.github.acme", &format!("a{n}"), "1.0.0"));
    }
    assert_eq!(registry.build_at(SEPTEMBER, &[]).status, 0);
    let key = registry.key();
    for round in 0..30_u64 {
        let mut child = Command::new(env!("CARGO_BIN_EXE_acx"))
            .args(["build-index", "--resign", "--key", &key])
            .current_dir(registry.root())
            .env_clear()
            .env("SOURCE_DATE_EPOCH", SEPTEMBER)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(round * 7));
        let signal = if round % 2 == 0 { "-INT" } else { "-TERM" };
        let _ = Command::new("kill")
            .args([signal, &child.id().to_string()])
            .stderr(Stdio::null())
            .status();
        child.wait().unwrap();
        verifies(&registry);
    }
}

#[test]
fn a_registry_that_may_not_be_written_stays_as_it_is() {
    let registry = with_fine();
    let place = registry.root();
    let mount = |args: &[&str]| {
        let out = Command::new("mount").args(args).arg(&place).output();
        out.is_ok_and(|out| out.status.success())
    };
    let root = place.to_str().unwrap();
    if !mount(&["--bind", root]) {
        println!("SKIPPED: NOT ROOT: A READ-ONLY DISK WAS NOT TRIED");
        return;
    }
    let _unmount = Unmount(&place);
    assert!(mount(&["-o", "remount,ro,bind"]));
    let out = registry.build_at(SEPTEMBER, &[]);
    assert_eq!(out.status, 2, "{out:#?}");
    assert!(registry.index().is_none());
    let out = registry.build_at(SEPTEMBER, &["--dry-run"]);
    assert_eq!(out.status, 0, "{out:#?}");
    let mode = fs::metadata(registry.at(FINE))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o111, 0);
}
