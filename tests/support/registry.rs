//! A registry in a temporary folder, and runs of the built program in a scrubbed environment.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::cartridge::Builder;
use super::keys;
pub use super::trust::{TrustKey, trust_registry};

/// Seed byte of the key that signs the index.
pub const INDEX_SEED: u8 = 9;
/// A run that takes longer hangs.
const LONGEST_RUN: Duration = Duration::from_secs(120);

/// 1 September 2026 as `SOURCE_DATE_EPOCH`: within every window of the tests' keys.
pub const SEPTEMBER: &str = "1788220800";

/// Path → bytes (of a file) and time of change.
pub type Snapshot = BTreeMap<PathBuf, (Option<Vec<u8>>, SystemTime)>;

/// The key id of the key that signs the index.
pub fn index_keyid() -> String {
    keys::keyid(&keys::public(&keys::seed(INDEX_SEED)))
}

/// The codes of the errors of each rejected path.
pub fn rejected_codes(report: &Value) -> BTreeMap<String, Vec<String>> {
    let files = report["rejected"].as_array().expect("a list").iter();
    files
        .map(|file| {
            let findings = file["findings"].as_array().expect("a list").iter();
            (
                text(&file["path"]),
                findings.map(|f| text(&f["code"])).collect(),
            )
        })
        .collect()
}

/// (code, path) of each warning.
pub fn warning_codes(report: &Value) -> Vec<(String, String)> {
    let findings = report["warnings"].as_array().expect("a list").iter();
    findings
        .map(|f| (text(&f["code"]), text(&f["location"]["path"])))
        .collect()
}

/// The paths of the cartridges that an index lists.
pub fn listed(index: &Value) -> Vec<String> {
    let entries = index["cartridges"].as_array().expect("a list").iter();
    entries.map(|c| text(&c["path"])).collect()
}

/// The predicate that the index's signature covers.
pub fn predicate(index: &Value) -> Value {
    let payload = text(&index["integrity"]["envelope"]["payload"]);
    let payload = STANDARD.decode(payload).expect("base64");
    let statement: Value = serde_json::from_slice(&payload).expect("a statement");
    statement["predicate"].clone()
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

/// What a run of the program gave.
#[derive(Debug)]
pub struct Output {
    /// The exit status; −1 where a signal ended it.
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Output {
    /// The JSON on stdout.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|e| panic!("stdout is no JSON ({e}): {self:#?}"))
    }
}

/// Runs the built `acx` in `folder`, with `home` as the home folder and nothing else of this process's environment
/// but PATH. `env` adds to that.
///
/// # Panics
/// Where the program cannot be started or hangs.
pub fn run_acx(args: &[&str], folder: &Path, home: &Path, env: &[(&str, &str)]) -> Output {
    // Files, not pipes: a program that prints much cannot block on them, and a hanging one can be stopped.
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let [out, err] = ["out", "err"].map(|name| scratch.path().join(name));
    let file = |path: &Path| File::create(path).expect("a temporary file");
    let mut child = Command::new(env!("CARGO_BIN_EXE_acx"))
        .args(args)
        .current_dir(folder)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home)
        .envs(env.iter().copied())
        .stdin(Stdio::null())
        .stdout(file(&out))
        .stderr(file(&err))
        .spawn()
        .expect("the program starts");
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("the program can be waited for") {
            break status;
        }
        if start.elapsed() > LONGEST_RUN {
            child.kill().expect("the program can be stopped");
            panic!("acx {args:?} ran for {LONGEST_RUN:?}");
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let text = |path: &Path| {
        String::from_utf8_lossy(&fs::read(path).expect("the output is there")).into_owned()
    };
    Output {
        status: status.code().unwrap_or(-1),
        stdout: text(&out),
        stderr: text(&err),
    }
}

/// How a ledger entry or successor names a cartridge.
pub fn artifact(builder: &Builder) -> Value {
    json!({
        "artifactType": "agent",
        "publisherId": builder.publisher(),
        "id": builder.meta["acx.artifact_id"],
        "version": builder.meta["acx.artifact_version"],
        "digest": builder.manifest_hash(),
    })
}

/// A ledger entry about a cartridge; add `successor` or `advisory` to it where it needs one.
pub fn ledger_entry(builder: &Builder, status: &str) -> Value {
    json!({
        "artifact": artifact(builder),
        "status": status,
        "reason": "Set so by a test of the registry.",
        "recordedAt": "2026-08-01T00:00:00Z",
    })
}

/// A registry in a temporary folder, gone with the value.
pub struct TempRegistry {
    folder: TempDir,
}

impl TempRegistry {
    /// An empty registry: a root with an empty `cartridges/`.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let new = Self { folder };
        fs::create_dir_all(new.root().join("cartridges")).expect("a new folder");
        fs::create_dir_all(new.home()).expect("a new folder");
        new
    }

    /// A writable copy of a registry elsewhere.
    pub fn copy_of(source: &Path) -> Self {
        let new = Self::new();
        copy_tree(source, &new.root());
        new
    }

    pub fn root(&self) -> PathBuf {
        self.folder.path().join("registry")
    }

    /// The home folder of the runs, outside the registry.
    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    pub fn at(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    pub fn put(&self, path: &str, bytes: impl AsRef<[u8]>) -> &Self {
        let path = self.at(path);
        fs::create_dir_all(path.parent().expect("a file has a folder")).expect("a new folder");
        fs::write(path, bytes).expect("a new file");
        self
    }

    /// Puts the cartridge where its metadata says, and returns that path.
    pub fn cartridge(&self, builder: &Builder) -> String {
        let path = builder.path();
        self.put(&path, builder.build());
        path
    }

    pub fn policy(&self, toml: &str) -> &Self {
        self.put("acx-registry.toml", toml)
    }

    pub fn trust(&self, trusted: &[TrustKey]) -> &Self {
        self.put("trust-registry.json", pretty(&trust_registry(trusted)))
    }

    pub fn ledger(&self, entries: &[Value]) -> &Self {
        let ledger = json!({
            "schemaVersion": "acx.registry-status/1",
            "updatedAt": "2026-08-01T00:00:00Z",
            "entries": entries,
        });
        self.put("status.json", pretty(&ledger))
    }

    /// The path of a throwaway signing key outside the registry, mode 0600.
    pub fn key(&self) -> String {
        let path = self.folder.path().join("signing.key");
        keys::write_private(&path, &keys::seed(INDEX_SEED));
        path.to_str().expect("a UTF-8 path").to_owned()
    }

    /// Runs `acx` in the registry's root.
    pub fn run(&self, args: &[&str]) -> Output {
        self.run_with(args, &[])
    }

    /// Runs `acx` in the registry's root with more environment.
    pub fn run_with(&self, args: &[&str], env: &[(&str, &str)]) -> Output {
        run_acx(args, &self.root(), &self.home(), env)
    }

    /// Runs `acx build-index` with the throwaway key and JSON output.
    pub fn build_index(&self, more: &[&str]) -> Output {
        let key = self.key();
        let args = [&["build-index", "--key", &key, "--format", "json"], more].concat();
        self.run(&args)
    }

    /// As [`TempRegistry::build_index`], at a time in seconds since 1970.
    pub fn build_at(&self, epoch: &str, more: &[&str]) -> Output {
        let key = self.key();
        let args = [&["build-index", "--key", &key, "--format", "json"], more].concat();
        self.run_with(&args, &[("SOURCE_DATE_EPOCH", epoch)])
    }

    /// The bytes of the index.
    pub fn index_bytes(&self) -> Vec<u8> {
        fs::read(self.at("index.json")).expect("an index was written")
    }

    pub fn remove(&self, path: &str) -> &Self {
        fs::remove_file(self.at(path)).expect("the file was there");
        self
    }

    /// Every file and folder of the registry with its bytes and its time of change.
    pub fn snapshot(&self) -> Snapshot {
        let mut out = Snapshot::new();
        for entry in walkdir::WalkDir::new(self.root()) {
            let entry = entry.expect("the tree can be walked");
            let metadata = entry.metadata().expect("metadata");
            let bytes = metadata
                .is_file()
                .then(|| fs::read(entry.path()).expect("a readable file"));
            let time = metadata.modified().expect("a time of change");
            out.insert(entry.into_path(), (bytes, time));
        }
        out
    }

    /// A JSON file of the registry.
    pub fn json(&self, path: &str) -> Value {
        read_json(&self.at(path))
    }

    /// The index, if one was written.
    pub fn index(&self) -> Option<Value> {
        self.at("index.json")
            .exists()
            .then(|| self.json("index.json"))
    }
}

fn pretty(value: &Value) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(value).expect("a JSON value prints");
    text.push(b'\n');
    text
}

/// Reads a JSON file.
pub fn read_json(path: &Path) -> Value {
    let bytes = fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_slice(&bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Copies files and folders by content, so that the copies can be written to whatever the mode of the originals.
pub fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a new folder");
    for entry in fs::read_dir(from).unwrap_or_else(|e| panic!("{}: {e}", from.display())) {
        let entry = entry.expect("a folder entry");
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type().expect("a file type").is_dir() {
            copy_tree(&source, &target);
        } else {
            fs::write(&target, fs::read(&source).expect("a readable file")).expect("a new file");
        }
    }
}

/// The folder of shared reference data named `name`, or `None` after saying so loudly. In CI its absence is a failure.
pub fn shared(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../shared")
        .join(name);
    if path.is_dir() {
        return Some(path);
    }
    assert!(
        std::env::var_os("CI").is_none(),
        "{} is absent, and CI is set",
        path.display()
    );
    eprintln!("SKIPPED: {} IS ABSENT, NOTHING WAS TESTED", path.display());
    None
}

/// The path of [`fine`].
pub const FINE: &str = "cartridges/io.github.acme/fine/1.0.0/cartridge.acx";

/// A sound cartridge.
pub fn fine() -> Builder {
    Builder::valid("io.github.acme", "fine", "1.0.0")
}

/// A registry of [`fine`] alone.
pub fn with_fine() -> TempRegistry {
    let registry = TempRegistry::new();
    registry.cartridge(&fine());
    registry
}
