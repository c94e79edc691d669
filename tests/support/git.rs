//! Real git repositories: run by the `git` program, away from the user's own configuration.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::cartridge::Builder;
use super::registry::{Output, TempRegistry, run_acx};

/// Runs git in a folder with nothing of this process's environment but PATH.
pub fn git_in(folder: &Path, home: &Path, args: &[&str]) -> Output {
    let output = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(args)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .expect("git starts");
    Output {
        status: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// A folder for repositories, with a home folder whose git configuration names a user.
pub struct Lab {
    folder: TempDir,
}

impl Lab {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let lab = Self { folder };
        fs::create_dir_all(lab.home()).expect("a new folder");
        fs::write(
            lab.home().join(".gitconfig"),
            "[user]\n\tname = Ada\n\temail = ada@example.com\n[init]\n\tdefaultBranch = main\n[core]\n\tautocrlf = false\n\
             [protocol \"file\"]\n\tallow = always\n[gc]\n\tauto = 0\n[receive]\n\tautogc = false\n",
        )
        .expect("a new file");
        let key = lab.at("signing.key");
        super::keys::write_private(&key, &super::keys::seed(super::registry::INDEX_SEED));
        lab
    }

    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The throwaway key that signs indexes.
    pub fn key(&self) -> String {
        let path = self.at("signing.key");
        path.to_str().expect("a UTF-8 path").to_owned()
    }

    /// A bare repository.
    pub fn bare(&self, name: &str, more: &[&str]) -> Repository<'_> {
        let path = self.at(name);
        let text = path.to_str().expect("a UTF-8 path");
        let args = [&["init", "-q", "--bare"], more, &[text]].concat();
        let out = git_in(self.folder.path(), &self.home(), &args);
        assert_eq!(out.status, 0, "{out:#?}");
        Repository { lab: self, path }
    }

    /// A repository with a work tree.
    pub fn work(&self, name: &str, more: &[&str]) -> Repository<'_> {
        let path = self.at(name);
        let text = path.to_str().expect("a UTF-8 path");
        let args = [&["init", "-q"], more, &[text]].concat();
        let out = git_in(self.folder.path(), &self.home(), &args);
        assert_eq!(out.status, 0, "{out:#?}");
        Repository { lab: self, path }
    }

    /// A clone.
    pub fn clone_of(&self, source: &Path, name: &str, more: &[&str]) -> Repository<'_> {
        let path = self.at(name);
        let (from, to) = (
            source.to_str().expect("a UTF-8 path"),
            path.to_str().expect("a UTF-8 path"),
        );
        let args = [&["clone", "-q"], more, &[from, to]].concat();
        let out = git_in(self.folder.path(), &self.home(), &args);
        assert_eq!(out.status, 0, "{out:#?}");
        Repository { lab: self, path }
    }
}

/// One repository.
pub struct Repository<'a> {
    pub lab: &'a Lab,
    pub path: PathBuf,
}

impl Repository<'_> {
    /// Runs git; whatever comes of it.
    pub fn try_git(&self, args: &[&str]) -> Output {
        git_in(&self.path, &self.lab.home(), args)
    }

    /// Runs git, which must succeed; its standard output without the last line end.
    pub fn git(&self, args: &[&str]) -> String {
        let out = self.try_git(args);
        assert_eq!(out.status, 0, "git {args:?}: {out:#?}");
        out.stdout.trim_end().to_owned()
    }

    pub fn acx(&self, args: &[&str]) -> Output {
        run_acx(args, &self.path, &self.lab.home(), &[])
    }

    /// `acx build-index` with the throwaway key and JSON output, at a fixed time.
    pub fn build(&self, more: &[&str]) -> Output {
        let key = self.lab.key();
        let args = [&["build-index", "--key", &key, "--format", "json"], more].concat();
        run_acx(
            &args,
            &self.path,
            &self.lab.home(),
            &[("SOURCE_DATE_EPOCH", super::registry::SEPTEMBER)],
        )
    }

    pub fn put(&self, path: &str, bytes: impl AsRef<[u8]>) -> &Self {
        let path = self.path.join(path);
        fs::create_dir_all(path.parent().expect("a file has a folder")).expect("a new folder");
        fs::write(path, bytes).expect("a new file");
        self
    }

    /// Puts a cartridge where its metadata says, and gives that path.
    pub fn cartridge(&self, builder: &Builder) -> String {
        let path = builder.path();
        self.put(&path, builder.build());
        path
    }

    /// Stages everything and commits it; the commit's id.
    pub fn commit(&self, message: &str) -> String {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Makes `acx NAME ARGS` the hook of that name.
    pub fn hook(&self, name: &str, args: &str) {
        let program = env!("CARGO_BIN_EXE_acx");
        let path = self.path.join("hooks").join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a new folder");
        fs::write(
            &path,
            format!("#!/bin/sh\nexec '{program}' {name} {args}\n"),
        )
        .expect("a hook");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a mode");
        }
    }

    /// Every reference and its object, and every object's id.
    pub fn state(&self) -> (String, String) {
        let refs = self.git(&["for-each-ref"]);
        let objects = self.git(&[
            "cat-file",
            "--batch-all-objects",
            "--batch-check",
            "--unordered",
        ]);
        let mut objects: Vec<&str> = objects.lines().collect();
        objects.sort_unstable();
        (refs, objects.join("\n"))
    }

    /// The files of a commit, or of a branch.
    pub fn files(&self, rev: &str) -> Vec<String> {
        self.git(&["ls-tree", "-r", "--name-only", rev])
            .lines()
            .map(str::to_owned)
            .collect()
    }

    /// The bytes of a file of a commit.
    pub fn show(&self, rev: &str, path: &str) -> Vec<u8> {
        let output = Command::new("git")
            .arg("-C")
            .arg(&self.path)
            .args(["cat-file", "blob", &format!("{rev}:{path}")])
            .output()
            .expect("git starts");
        assert!(output.status.success(), "{rev}:{path}");
        output.stdout
    }

    pub fn index(&self, rev: &str) -> serde_json::Value {
        serde_json::from_slice(&self.show(rev, "index.json")).expect("an index")
    }
}

/// A registry's files, copied into a repository's work tree.
pub fn copy_registry(registry: &TempRegistry, into: &Repository<'_>) {
    super::registry::copy_tree(&registry.root(), &into.path);
}
