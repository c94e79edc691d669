//! The workflows of a registry on GitHub, run as Actions runs them: each job's steps with bash, against bare
//! repositories. What only GitHub has (checkout, code scanning) is played; an expression that is not known here is an
//! error.
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

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use support::cartridge::Builder;
use support::git::{Lab, Repository, git_in};
use support::registry::{SEPTEMBER, listed, run_acx};

/// The one branch that is published; not the name that everybody expects.
const TRUNK: &str = "trunk";
const REPOSITORY: &str = "example-org/agents";
const TOOL: &str = "example-org/acx-registry@0123456789abcdef0123456789abcdef01234567";
const TOKEN: &str = "a-token-that-is-no-token";
/// The step of the action that is tested by itself, since it compiles or downloads.
const INSTALL: &str = "Install acx";

/// The actions that may be used: repository and path, commit, version.
const PINS: &[(&str, &str, &str)] = &[
    (
        "actions/checkout",
        "3d3c42e5aac5ba805825da76410c181273ba90b1",
        "v7.0.1",
    ),
    (
        "actions/upload-artifact",
        "043fb46d1a93c77aae656e7c1c64a875d1fc6a0a",
        "v7.0.1",
    ),
    (
        "actions/download-artifact",
        "3e5f45b2cfb9172054b4087a40e8e0b5a5461e7c",
        "v8.0.1",
    ),
    (
        "github/codeql-action/upload-sarif",
        "ff2f1c621b7f889edc0d3c761ac2e6a3f8cdb0dd",
        "v4.37.7",
    ),
    (
        "actions/attest-build-provenance",
        "0f67c3f4856b2e3261c31976d6725780e5e4c373",
        "v4.1.1",
    ),
    (
        "Swatinem/rust-cache",
        "6323deb102c322ba6fcbdcafc7e3dddab59af2b6",
        "v2.9.2",
    ),
];

fn project(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn yaml(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_saphyr::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Every workflow of this repository and of the template, and the action.
fn all_files() -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = [".github/workflows", "registry-template/.github/workflows"]
        .iter()
        .flat_map(|folder| fs::read_dir(project(folder)).unwrap())
        .map(|entry| entry.unwrap().path())
        .collect();
    files.push(project(".github/actions/build-index/action.yml"));
    files.sort();
    files
}

fn cartridge(id: &str, version: &str) -> Builder {
    Builder::valid("io.github.acme", id, version)
}

/// A cartridge that is not what was signed.
fn tampered(id: &str) -> Builder {
    let mut builder = cartridge(id, "1.0.0");
    builder.after_sign(|db| {
        db.execute_batch("UPDATE cartridge SET value = value || '!' WHERE key = 'acx.created_at'")
            .unwrap();
    });
    builder
}

fn place(id: &str, version: &str) -> String {
    cartridge(id, version).path()
}

/// A registry that `init` founded, with one published cartridge, on a server.
struct Hub {
    lab: Lab,
    key: String,
    keyid: String,
}

impl Hub {
    fn new() -> Self {
        let lab = Lab::new();
        fs::create_dir(lab.at("runner-home")).unwrap();
        let keys = lab.at("keys");
        let env = [
            ("SOURCE_DATE_EPOCH", SEPTEMBER),
            ("ACX_KEY_DIR", keys.to_str().unwrap()),
        ];
        let (path, keyid) = {
            let server = lab.bare("server.git", &["-b", TRUNK]);
            let seed = lab.work("seed", &["-b", TRUNK]);
            let init = [
                "init",
                ".",
                "--registry-id",
                "com.example.agents",
                "--tool",
                TOOL,
                "--format",
                "json",
            ];
            let out = run_acx(&init, &seed.path, &lab.home(), &env);
            assert_eq!(out.status, 0, "{out:#?}");
            let keyid = out.json()["keyid"].as_str().unwrap().to_owned();
            seed.cartridge(&cartridge("base", "1.0.0"));
            let out = run_acx(&["build-index", "."], &seed.path, &lab.home(), &env);
            assert_eq!(out.status, 0, "{out:#?}");
            seed.commit("Found the registry");
            seed.git(&["push", "-q", server.path.to_str().unwrap(), TRUNK]);
            (keys.join("com.example.agents.pem"), keyid)
        };
        let key = fs::read_to_string(path).unwrap();
        Self { lab, key, keyid }
    }

    fn server(&self) -> Repository<'_> {
        Repository {
            lab: &self.lab,
            path: self.lab.at("server.git"),
        }
    }

    fn clone(&self, name: &str) -> Repository<'_> {
        self.lab.clone_of(&self.lab.at("server.git"), name, &[])
    }

    /// Pushes a commit of one cartridge to the trunk; its id.
    fn publish(&self, clone: &str, builders: &[Builder]) -> String {
        let clone = self.clone(clone);
        for builder in builders {
            clone.cartridge(builder);
        }
        let commit = clone.commit("Publish");
        clone.git(&["push", "-q", "origin", TRUNK]);
        commit
    }

    /// The trunk's index holds by the registry's key, and lists these.
    fn verified(&self, name: &str, paths: &[String]) {
        let clone = self.clone(name);
        assert_eq!(listed(&self.server().index(TRUNK)), paths);
        for args in [
            &["verify-index", "--keyid", &self.keyid][..],
            &["build-index", "--check"],
        ] {
            let out = clone.acx(args);
            // A build finds again what it left out.
            let wanted = u8::from(args[0] == "build-index" && name.ends_with("-partly"));
            assert_eq!(out.status, i32::from(wanted), "{args:?}: {out:#?}");
        }
    }
}

/// What started a workflow.
#[derive(Clone)]
struct Event {
    name: &'static str,
    payload: Value,
    reference: String,
    sha: String,
    head_ref: String,
}

/// A pull request as GitHub has it: a branch, and a merge of it into the target.
struct PullRequest {
    base: String,
    title: String,
    head_ref: String,
    head_repository: String,
}

impl PullRequest {
    fn new(base: &str) -> Self {
        Self {
            base: base.to_owned(),
            title: "Publish".to_owned(),
            head_ref: "publish".to_owned(),
            head_repository: "stranger/agents".to_owned(),
        }
    }

    /// The event, after GitHub has merged the clone's HEAD into the trunk as it is now.
    fn opened(&self, hub: &Hub, clone: &Repository<'_>) -> Event {
        clone.git(&["push", "-q", "-f", "origin", "HEAD:refs/pull/1/head"]);
        let name = format!("merge-{}", fs::read_dir(hub.lab.at("")).unwrap().count());
        let merger = hub.clone(&name);
        merger.git(&["fetch", "-q", "origin", "refs/pull/1/head"]);
        merger.git(&["merge", "-q", "--no-ff", "-m", &self.title, "FETCH_HEAD"]);
        merger.git(&["push", "-q", "-f", "origin", "HEAD:refs/pull/1/merge"]);
        Event {
            name: "pull_request",
            payload: json!({
                "action": "opened",
                "number": 1,
                "pull_request": {
                    "number": 1,
                    "title": self.title,
                    "body": self.title,
                    "base": {"ref": TRUNK, "sha": self.base},
                    "head": {"ref": self.head_ref, "repo": {"full_name": self.head_repository}},
                },
                "repository": {"default_branch": TRUNK, "full_name": REPOSITORY},
            }),
            reference: "refs/pull/1/merge".to_owned(),
            sha: merger.git(&["rev-parse", "HEAD"]),
            head_ref: self.head_ref.clone(),
        }
    }
}

fn on_branch(name: &'static str, branch: &str, sha: &str) -> Event {
    Event {
        name,
        payload: json!({
            "ref": format!("refs/heads/{branch}"),
            "repository": {"default_branch": TRUNK, "full_name": REPOSITORY},
        }),
        reference: format!("refs/heads/{branch}"),
        sha: sha.to_owned(),
        head_ref: String::new(),
    }
}

/// One step that was run.
#[derive(Debug)]
struct Step {
    name: String,
    /// None: its condition did not hold.
    status: Option<i32>,
    log: String,
}

/// A job that was run.
#[derive(Debug)]
struct Job {
    steps: Vec<Step>,
    ok: bool,
    outputs: BTreeMap<String, String>,
    summary: String,
    workspace: PathBuf,
    temp: PathBuf,
}

impl Job {
    fn step(&self, name: &str) -> &Step {
        let found = self.steps.iter().find(|step| step.name == name);
        found.unwrap_or_else(|| panic!("no step {name}: {self:#?}"))
    }

    fn log(&self) -> String {
        self.steps.iter().map(|step| step.log.as_str()).collect()
    }

    /// The lines that a runner takes for commands: it trims what stands before `::`, and finds `##[` anywhere.
    fn commands(&self) -> Vec<String> {
        let log = self.log();
        let is_command = |line: &&str| line.trim_start().starts_with("::") || line.contains("##[");
        log.lines().filter(is_command).map(str::to_owned).collect()
    }
}

/// A runner of one job.
struct Runner<'a> {
    hub: &'a Hub,
    event: Event,
    keyid: String,
    /// Happens after the checkout.
    meanwhile: Option<&'a dyn Fn()>,
    folder: PathBuf,
    inputs: BTreeMap<String, String>,
    /// The job's place in its matrix, and its value there.
    share: Option<(usize, String)>,
}

impl<'a> Runner<'a> {
    fn new(hub: &'a Hub, event: &Event) -> Self {
        let count = fs::read_dir(hub.lab.at("")).unwrap().count();
        let folder = hub.lab.at(&format!("runner-{count}"));
        fs::create_dir(&folder).unwrap();
        for name in ["temp", "files", "bin"] {
            fs::create_dir(folder.join(name)).unwrap();
        }
        // The git that is there, which also notes what a push would send along.
        let paths = std::env::var_os("PATH").unwrap();
        let mut gits = std::env::split_paths(&paths).map(|path| path.join("git"));
        let git = gits.find(|git| git.is_file()).unwrap();
        let (git, header) = (git.display(), folder.join("files/header"));
        let text = format!(
            "#!/bin/sh\ncase \" $* \" in *' push '*)\n'{git}' config --get http.https://github.example/.extraheader \
             >>'{}' ;;\nesac\nexec '{git}' \"$@\"\n",
            header.display()
        );
        fs::write(folder.join("bin/git"), text).unwrap();
        fs::set_permissions(folder.join("bin/git"), fs::Permissions::from_mode(0o755)).unwrap();
        Self {
            hub,
            event: event.clone(),
            keyid: String::new(),
            meanwhile: None,
            folder,
            inputs: BTreeMap::new(),
            share: None,
        }
    }

    fn workspace(&self) -> PathBuf {
        self.folder.join("workspace")
    }

    /// The value of an expression.
    fn expression(&self, text: &str) -> String {
        if let Some(input) = text.strip_prefix("inputs.") {
            let known = self.inputs.get(input);
            return known.unwrap_or_else(|| panic!("no input {input}")).clone();
        }
        let event = &self.event.payload;
        match text {
            "github.event.pull_request.base.sha" => event["pull_request"]["base"]["sha"]
                .as_str()
                .unwrap()
                .to_owned(),
            "github.token" => TOKEN.to_owned(),
            "runner.temp" => self.folder.join("temp").to_str().unwrap().to_owned(),
            "secrets.ACX_INDEX_KEY" => {
                assert_ne!(self.event.name, "pull_request", "a fork's gets no secret");
                self.hub.key.clone()
            }
            "matrix.share" => self.share.as_ref().unwrap().1.clone(),
            "strategy.job-index" => self.share.as_ref().unwrap().0.to_string(),
            "vars.ACX_INDEX_KEYID" => self.keyid.clone(),
            other => panic!("unknown expression: {other}"),
        }
    }

    fn resolve(&self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${{") {
            let (expression, after) = after.split_once("}}").expect("a closed expression");
            out.push_str(before);
            out.push_str(&self.expression(expression.trim()));
            rest = after;
        }
        out + rest
    }

    fn resolve_all(&self, map: &Value) -> BTreeMap<String, String> {
        let entries = map.as_object().into_iter().flatten();
        entries
            .map(|(key, value)| {
                let text = match value {
                    Value::String(text) => self.resolve(text),
                    Value::Bool(_) | Value::Number(_) => value.to_string(),
                    other => panic!("{key}: {other}"),
                };
                (key.clone(), text)
            })
            .collect()
    }

    /// Whether a condition holds.
    fn holds(&self, condition: &Value, ok: bool) -> bool {
        let Some(text) = condition.as_str() else {
            assert!(condition.is_null(), "{condition}");
            return ok;
        };
        let event = &self.event.payload;
        match text {
            "${{ !cancelled() }}" => true,
            "${{ github.ref == format('refs/heads/{0}', github.event.repository.default_branch) }}" =>
            {
                let default = event["repository"]["default_branch"].as_str().unwrap();
                self.event.reference == format!("refs/heads/{default}")
            }
            "${{ !cancelled() && github.event.pull_request.head.repo.full_name == github.repository }}" => {
                event["pull_request"]["head"]["repo"]["full_name"] == REPOSITORY
            }
            other => panic!("unknown condition: {other}"),
        }
    }

    /// Runs the only job of a workflow of the registry, as the event's commit has it; none where it is skipped.
    fn run(self, workflow: &str) -> Option<Job> {
        self.run_job(workflow, None)
    }

    /// As [`Runner::run`], one of several jobs.
    fn run_job(mut self, workflow: &str, name: Option<&str>) -> Option<Job> {
        let server = self.hub.server();
        let path = format!(".github/workflows/{workflow}");
        let text = String::from_utf8(server.show(&self.event.sha, &path)).unwrap();
        let workflow: Value = serde_saphyr::from_str(&text).unwrap();
        assert!(
            workflow["on"].get(self.event.name).is_some(),
            "not started by {}",
            self.event.name
        );
        let jobs = workflow["jobs"].as_object().unwrap();
        assert!(name.is_some() || jobs.len() == 1);
        let job = match name {
            Some(name) => &jobs[name],
            None => jobs.values().next().unwrap(),
        };
        if let Some((at, share)) = &self.share {
            assert_eq!(job["strategy"]["matrix"]["share"][at], share.as_str());
        }
        if !self.holds(&job["if"], true) {
            return None;
        }
        assert_eq!(
            (&workflow["env"], &job["env"]),
            (&Value::Null, &Value::Null)
        );
        let mut done = Job {
            steps: Vec::new(),
            ok: true,
            outputs: BTreeMap::new(),
            summary: String::new(),
            workspace: self.workspace(),
            temp: self.folder.join("temp"),
        };
        for step in job["steps"].as_array().unwrap() {
            let name = step["name"].as_str().unwrap().to_owned();
            if !self.holds(&step["if"], done.ok) {
                done.steps.push(Step {
                    name,
                    status: None,
                    log: String::new(),
                });
                continue;
            }
            let before = done.steps.len();
            match step["uses"].as_str() {
                None => {
                    let env = self.resolve_all(&step["env"]);
                    self.script(&name, step, &env, None, &mut done);
                }
                Some(uses) => {
                    let with = self.resolve_all(&step["with"]);
                    let (action, _) = uses.split_once('@').unwrap();
                    self.action(&name, action, with, &mut done);
                }
            }
            let failed = done.steps[before..].iter().any(|s| s.status != Some(0));
            done.ok &= !failed || step["continue-on-error"] == true;
        }
        Some(done)
    }

    fn action(&mut self, name: &str, action: &str, with: BTreeMap<String, String>, done: &mut Job) {
        let mut played = |status: i32| {
            done.steps.push(Step {
                name: name.to_owned(),
                status: Some(status),
                log: String::new(),
            });
        };
        match action {
            "actions/checkout" => {
                let expected = [("fetch-depth", "0"), ("persist-credentials", "false")]
                    .map(|(k, v)| (k.to_owned(), v.to_owned()));
                assert_eq!(with, expected.into());
                self.checkout();
                played(0);
                if let Some(meanwhile) = self.meanwhile {
                    meanwhile();
                }
            }
            "actions/upload-artifact" => {
                let kept = self.hub.lab.at("artifacts").join(&with["name"]);
                fs::create_dir_all(&kept).unwrap();
                let file = Path::new(&with["path"]);
                fs::copy(file, kept.join(file.file_name().unwrap())).unwrap();
                played(0);
            }
            "actions/download-artifact" => {
                let (pattern, to) = (with["pattern"].strip_suffix('*').unwrap(), &with["path"]);
                assert_eq!(with["merge-multiple"], "true");
                fs::create_dir(to).unwrap();
                for artifact in fs::read_dir(self.hub.lab.at("artifacts")).unwrap() {
                    let artifact = artifact.unwrap();
                    if artifact.file_name().to_str().unwrap().starts_with(pattern) {
                        for file in fs::read_dir(artifact.path()).unwrap() {
                            let file = file.unwrap();
                            fs::copy(file.path(), Path::new(to).join(file.file_name())).unwrap();
                        }
                    }
                }
                played(0);
            }
            "github/codeql-action/upload-sarif" => {
                let sarif: Value =
                    serde_json::from_slice(&fs::read(&with["sarif_file"]).unwrap()).unwrap();
                assert_eq!(sarif["version"], "2.1.0");
                // Without the feature it fails, and that is nobody's fault.
                played(1);
            }
            "example-org/acx-registry/.github/actions/build-index" => {
                self.own_action(with, done);
            }
            other => panic!("unknown action: {other}"),
        }
    }

    /// This repository's action: its steps with the inputs that it declares.
    fn own_action(&mut self, with: BTreeMap<String, String>, done: &mut Job) {
        let action = yaml(&project(".github/actions/build-index/action.yml"));
        let declared = action["inputs"].as_object().unwrap();
        self.inputs = declared
            .iter()
            .map(|(name, input)| (name.clone(), input["default"].as_str().unwrap().to_owned()))
            .collect();
        for (name, value) in with {
            assert!(self.inputs.insert(name.clone(), value).is_some(), "{name}");
        }
        let steps = action["runs"]["steps"].as_array().unwrap();
        assert_eq!(
            steps.iter().map(|s| s["name"].clone()).collect::<Vec<_>>(),
            [INSTALL, "Run acx"]
        );
        let folder = project(".github/actions/build-index");
        for step in steps {
            let name = step["name"].as_str().unwrap();
            let env = self.resolve_all(&step["env"]);
            if name == INSTALL {
                eprintln!("not run here, but by a test of its own: {name}; acx is on the PATH");
                continue;
            }
            self.script(name, step, &env, Some(&folder), done);
        }
        let outputs = action["outputs"].as_object().unwrap();
        for (name, output) in outputs {
            assert_eq!(
                output["value"],
                format!("${{{{ steps.run.outputs.{name} }}}}")
            );
            // Where acx could not do its work, there is nothing to tell.
            let failed = done.steps.last().unwrap().status == Some(2);
            assert!(
                failed || self.share.is_some() || done.outputs.contains_key(name),
                "{name}: {done:#?}"
            );
        }
    }

    /// What actions/checkout leaves: the commit, on its branch where there is one.
    fn checkout(&self) {
        let workspace = self.workspace();
        let home = self.hub.lab.at("runner-home");
        let server = self.hub.server().path;
        let git = |args: &[&str]| {
            let out = git_in(&workspace, &home, args);
            assert_eq!(out.status, 0, "{args:?}: {out:#?}");
        };
        fs::create_dir(&workspace).unwrap();
        git(&["init", "-q"]);
        git(&["remote", "add", "origin", server.to_str().unwrap()]);
        git(&[
            "fetch",
            "-q",
            "origin",
            "+refs/heads/*:refs/remotes/origin/*",
        ]);
        git(&["fetch", "-q", "origin", &self.event.sha]);
        match self.event.reference.strip_prefix("refs/heads/") {
            Some(branch) => git(&["checkout", "-q", "-B", branch, &self.event.sha]),
            None => git(&["checkout", "-q", "--detach", &self.event.sha]),
        }
    }

    /// Runs a `run:` step.
    fn script(
        &self,
        name: &str,
        step: &Value,
        env: &BTreeMap<String, String>,
        action: Option<&Path>,
        done: &mut Job,
    ) {
        assert_eq!(step["shell"], "bash", "{name}");
        let text = step["run"].as_str().unwrap();
        assert!(!text.contains("${{"), "{name}: an expression in a script");
        let files = self.folder.join("files");
        let file = |name: &str| files.join(format!("{name}-{}", done.steps.len()));
        fs::write(file("script"), text).unwrap();
        fs::write(file("event"), self.event.payload.to_string()).unwrap();
        for name in ["output", "summary", "path", "env"] {
            fs::write(file(name), "").unwrap();
        }
        let log = fs::File::create(file("log")).unwrap();
        let mut command = Command::new("bash");
        command
            .args(["--noprofile", "--norc", "-eo", "pipefail"])
            .arg(file("script"))
            .current_dir(self.workspace())
            .env_clear()
            .envs(self.environment())
            .env("GITHUB_EVENT_PATH", file("event"))
            .env("GITHUB_OUTPUT", file("output"))
            .env("GITHUB_STEP_SUMMARY", file("summary"))
            .env("GITHUB_PATH", file("path"))
            .env("GITHUB_ENV", file("env"))
            .envs(env)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log);
        if let Some(action) = action {
            command.env("GITHUB_ACTION_PATH", action);
        }
        let status = command.status().unwrap().code().unwrap_or(-1);
        let read =
            |name: &str| String::from_utf8_lossy(&fs::read(file(name)).unwrap()).into_owned();
        for line in read("output").lines() {
            let (key, value) = line.split_once('=').expect("a plain output");
            done.outputs.insert(key.to_owned(), value.to_owned());
        }
        done.summary.push_str(&read("summary"));
        assert_eq!(read("env"), "");
        done.steps.push(Step {
            name: name.to_owned(),
            status: Some(status),
            log: read("log"),
        });
    }

    /// What Actions sets for every step.
    fn environment(&self) -> Vec<(&'static str, String)> {
        let text = |path: PathBuf| path.to_str().unwrap().to_owned();
        let bin = Path::new(env!("CARGO_BIN_EXE_acx")).parent().unwrap();
        let path = std::env::var("PATH").unwrap();
        let branch = self.event.reference.trim_start_matches("refs/heads/");
        vec![
            (
                "PATH",
                format!(
                    "{}:{}:{path}",
                    self.folder.join("bin").display(),
                    bin.display()
                ),
            ),
            ("HOME", text(self.hub.lab.at("runner-home"))),
            ("LANG", "C.UTF-8".to_owned()),
            ("SOURCE_DATE_EPOCH", SEPTEMBER.to_owned()),
            ("CI", "true".to_owned()),
            ("GITHUB_ACTIONS", "true".to_owned()),
            ("GITHUB_ACTOR", "$(touch pwned)".to_owned()),
            ("GITHUB_EVENT_NAME", self.event.name.to_owned()),
            ("GITHUB_REF", self.event.reference.clone()),
            ("GITHUB_REF_NAME", branch.to_owned()),
            ("GITHUB_HEAD_REF", self.event.head_ref.clone()),
            ("GITHUB_REPOSITORY", REPOSITORY.to_owned()),
            ("GITHUB_RUN_ID", "17".to_owned()),
            ("GITHUB_SERVER_URL", "https://github.example".to_owned()),
            ("GITHUB_SHA", self.event.sha.clone()),
            ("GITHUB_WORKSPACE", text(self.workspace())),
            ("RUNNER_ARCH", "X64".to_owned()),
            ("RUNNER_OS", "Linux".to_owned()),
            ("RUNNER_TEMP", text(self.folder.join("temp"))),
        ]
    }
}

/// A contributor's clone, and the trunk's commit that it starts from.
fn contributor(hub: &Hub) -> (Repository<'_>, String) {
    let clone = hub.clone("contributor");
    let base = clone.git(&["rev-parse", "HEAD"]);
    clone.git(&["checkout", "-q", "-b", "publish"]);
    (clone, base)
}

fn judge(hub: &Hub, request: &PullRequest, clone: &Repository<'_>) -> Job {
    let event = request.opened(hub, clone);
    let before = hub.server().state();
    let job = Runner::new(hub, &event).run("pull-request.yml").unwrap();
    assert_eq!(hub.server().state(), before, "nothing is written back");
    job
}

#[test]
fn a_pull_request_is_accepted() {
    let hub = Hub::new();
    let (clone, base) = contributor(&hub);
    clone.cartridge(&cartridge("alpha", "1.0.0"));
    clone.commit("Publish");
    let mut request = PullRequest::new(&base);
    let job = judge(&hub, &request, &clone);
    assert!(job.ok, "{job:#?}");
    assert_eq!(job.outputs["accepted"], "2");
    assert_eq!(job.outputs["rejected"], "0");
    assert_eq!(job.outputs["commit"], "");
    assert!(
        job.summary.contains("com.example.agents"),
        "{}",
        job.summary
    );
    assert_eq!(job.commands(), Vec::<String>::new());
    // A fork has no right to upload; the repository's own branches do, and without the feature nothing comes of it.
    let upload = "Show the findings as code scanning alerts";
    assert_eq!(job.step(upload).status, None);
    request.head_repository = REPOSITORY.to_owned();
    let job = judge(&hub, &request, &clone);
    assert!(job.ok, "{job:#?}");
    assert_eq!(job.step(upload).status, Some(1));
    assert!(job.temp.join("acx.sarif").is_file());
}

#[test]
fn a_pull_request_is_judged_against_what_the_trunk_is_by_then() {
    let hub = Hub::new();
    let (clone, base) = contributor(&hub);
    clone.cartridge(&cartridge("alpha", "1.0.0"));
    clone.commit("Publish");
    // Others publish, and the registry writes its index: to the pull request that is no change of index.json.
    let pushed = hub.publish("other", &[cartridge("beta", "1.0.0")]);
    let published = Runner::new(&hub, &on_branch("push", TRUNK, &pushed)).run("publish.yml");
    assert!(published.unwrap().ok);
    assert_ne!(hub.server().git(&["rev-parse", TRUNK]), pushed);
    let job = judge(&hub, &PullRequest::new(&base), &clone);
    assert!(job.ok, "{job:#?}");
    assert_eq!(job.outputs["accepted"], "3");
}

#[test]
fn a_pull_request_with_a_tampered_cartridge_is_refused() {
    let hub = Hub::new();
    let (clone, base) = contributor(&hub);
    clone.cartridge(&cartridge("alpha", "1.0.0"));
    let path = clone.cartridge(&tampered("beta"));
    // Its own policy does not count.
    let policy = fs::read_to_string(clone.path.join("acx-registry.toml")).unwrap();
    clone.put(
        "acx-registry.toml",
        policy
            .replace("#[limits]", "[limits]")
            .replace("#file_bytes = 67_108_864", "file_bytes = 1"),
    );
    clone.commit("Publish");
    let mut request = PullRequest::new(&base);
    request.head_repository = REPOSITORY.to_owned();
    let job = judge(&hub, &request, &clone);
    assert!(!job.ok, "{job:#?}");
    assert_eq!(job.step("Run acx").status, Some(1));
    assert_eq!(job.outputs["accepted"], "2");
    assert_eq!(job.outputs["rejected"], "1");
    let commands = job.commands();
    assert!(
        !commands.is_empty() && commands.iter().all(|c| c.contains(&path)),
        "{commands:?}"
    );
    assert!(
        commands[0].starts_with(&format!("::error file={path},title=")),
        "{commands:?}"
    );
    assert!(job.summary.contains(&path), "{}", job.summary);
    let sarif = fs::read_to_string(job.temp.join("acx.sarif")).unwrap();
    assert!(sarif.contains(&path), "{sarif}");
}

#[test]
fn a_pull_request_that_changes_a_published_version_is_refused() {
    let hub = Hub::new();
    let (clone, base) = contributor(&hub);
    let mut changed = cartridge("base", "1.0.0");
    changed.file("rom/knowledge/MORE.md", "more");
    let path = clone.cartridge(&changed);
    clone.commit("Correct it");
    let job = judge(&hub, &PullRequest::new(&base), &clone);
    assert!(!job.ok, "{job:#?}");
    let commands = job.commands();
    let wanted = format!("::error file={path},title=history-");
    assert!(
        commands.iter().any(|c| c.starts_with(&wanted)),
        "{commands:?}"
    );
    // A correction is a new version.
    clone.git(&["checkout", "-q", &base]);
    clone.git(&["checkout", "-q", "-b", "again"]);
    clone.cartridge(&cartridge("base", "1.1.0"));
    clone.commit("Publish a correction");
    let job = judge(&hub, &PullRequest::new(&base), &clone);
    assert!(job.ok, "{job:#?}");
}

#[test]
fn a_pull_request_leaves_generated_files_alone_and_is_told_how() {
    let hub = Hub::new();
    let (clone, base) = contributor(&hub);
    clone.cartridge(&cartridge("alpha", "1.0.0"));
    clone.commit("Publish");
    let index = fs::read_to_string(clone.path.join("index.json")).unwrap();
    clone.put("index.json", index + "\n");
    let old = "cartridges/io.github.acme/base/1.0.0/cartridge.memories.lance";
    let new = "cartridges/io.github.acme/alpha/1.0.0/cartridge.memories.lance";
    assert!(clone.path.join(old).is_dir());
    fs::remove_dir_all(clone.path.join(old)).unwrap();
    clone.put(
        &format!("{new}/data/$(touch pwned)\n::error title=pwned::x"),
        "x",
    );
    clone.put("registry/index.json", "{}");
    let shard = format!("index/io.github.acme/{}.json", "a".repeat(64));
    clone.put(&shard, "{}");
    clone.commit("Build it myself");
    let request = PullRequest::new(&base);
    let job = judge(&hub, &request, &clone);
    assert!(!job.ok, "{job:#?}");
    let log = job.log();
    let restore = "git restore --source=";
    let line = log
        .lines()
        .find(|l| l.contains(restore))
        .unwrap_or_else(|| panic!("{log}"));
    let expected = format!(
        "  git restore --source={base} --staged --worktree -- index.json registry/index.json 'index/*/*.json' '*.lance' '*.lance/*'"
    );
    assert_eq!(line, expected);
    let commands = job.commands();
    let own: Vec<&String> = commands
        .iter()
        .filter(|c| c.contains("title=Generated files::"))
        .collect();
    assert_eq!(own.len(), 1, "{commands:?}");
    assert!(own[0].starts_with("::error "));
    assert!(log.contains("generated: index.json\n"), "{log}");
    assert!(log.contains(&format!("generated: {shard}\n")), "{log}");
    assert!(
        log.contains("data/?(touch pwned)??error title?pwned??x\n")
            || log.contains("data/??touch pwned????error title?pwned??x\n"),
        "{log}"
    );

    // Whoever does as told is let in.
    for command in log.lines().filter(|l| l.starts_with("  git ")) {
        let out = Command::new("bash")
            .args(["-euc", command])
            .current_dir(&clone.path)
            .env("HOME", hub.lab.home())
            .output()
            .unwrap();
        assert!(out.status.success(), "{command}: {out:?}");
    }
    let job = judge(&hub, &request, &clone);
    assert!(job.ok, "{job:#?}");
    assert!(!job.log().contains(restore));
}

#[test]
fn hostile_names_do_nothing() {
    let hub = Hub::new();
    let (clone, base) = contributor(&hub);
    let hostile = "$(touch pwned)`touch pwned`\n::error title=pwned::x\n ::stop-commands::pwned\n##[error]pwned %0A::add-mask::cartridge\u{1b}[31m";
    let name = hostile.replace('/', "");
    clone.put(&format!("notes/{name}.txt"), "x");
    clone.put(
        &format!("cartridges/io.github.acme/{name}/1.0.0/cartridge.acx"),
        "no database",
    );
    clone.put(&format!("templates/{name}/manifest.json"), "{");
    clone.put(&format!("cartridges/{name}.lance/x"), "x");
    // Settings that a build from source must not read are data here.
    clone.put(
        ".cargo/config.toml",
        "[build]\nrustc-wrapper = \"./pwned.sh\"\n",
    );
    clone.put(
        ".gitattributes",
        "*.acx filter=pwned diff=pwned\n* text eol=crlf\n",
    );
    clone.cartridge(&cartridge("alpha", "1.0.0"));
    clone.commit(hostile);
    let mut request = PullRequest::new(&base);
    request.title = hostile.to_owned();
    request.head_ref = "$(touch${IFS}pwned)".to_owned();
    request.head_repository = REPOSITORY.to_owned();
    let job = judge(&hub, &request, &clone);
    assert!(!job.ok, "{job:#?}");
    assert_eq!(job.step("Run acx").status, Some(1), "{job:#?}");
    for command in job.commands() {
        let allowed = command.starts_with("::error file=cartridges/")
            || command.starts_with("::error file=templates/")
            || command.starts_with("::warning file=")
            || command.starts_with("::error title=Generated files::");
        assert!(allowed && !command.contains("##["), "{command}");
    }
    // And the same names where they have reached the trunk, with a branch of such a name.
    clone.git(&["push", "-q", "origin", &format!("HEAD:refs/heads/{TRUNK}")]);
    let head = clone.git(&["rev-parse", "HEAD"]);
    clone.git(&[
        "push",
        "-q",
        "origin",
        "HEAD:refs/heads/$(touch${IFS}pwned)",
    ]);
    let elsewhere = Runner::new(&hub, &on_branch("push", "$(touch${IFS}pwned)", &head));
    assert!(elsewhere.run("publish.yml").is_none());
    let job = Runner::new(&hub, &on_branch("push", TRUNK, &head))
        .run("publish.yml")
        .unwrap();
    assert!(!job.ok, "{job:#?}");
    for command in job.commands() {
        assert!(
            !command.contains("##[") && !command.trim_start().starts_with("::stop"),
            "{command}"
        );
    }
    for entry in walkdir::WalkDir::new(hub.lab.at("")) {
        let entry = entry.unwrap();
        assert_ne!(entry.file_name(), "pwned", "{}", entry.path().display());
    }
}

#[test]
fn a_push_publishes() {
    let hub = Hub::new();
    let commit = hub.publish("maintainer", &[cartridge("alpha", "1.0.0")]);
    let runner = Runner::new(&hub, &on_branch("push", TRUNK, &commit));
    let header = runner.folder.join("files/header");
    let job = runner.run("publish.yml").unwrap();
    assert!(job.ok, "{job:#?}");
    assert_eq!(job.outputs["changed"], "true");
    let tip = hub.server().git(&["rev-parse", TRUNK]);
    assert_eq!(job.outputs["commit"], tip);
    hub.verified("reader", &[place("alpha", "1.0.0"), place("base", "1.0.0")]);
    let said = hub
        .server()
        .git(&["log", "-1", "--format=%an <%ae>%n%P%n%B", TRUNK]);
    assert!(said.starts_with(&format!(
        "github-actions[bot] <41898282+github-actions[bot]@users.noreply.github.com>\n{commit}\n"
    )));
    assert!(
        said.ends_with("Workflow-run: https://github.example/example-org/agents/actions/runs/17"),
        "{said}"
    );
    let keyid = hub.keyid.replace(':', "&#58;");
    assert!(job.summary.contains(&keyid), "{}", job.summary);

    // Neither key nor token is left anywhere, and the runner is told what to hide.
    let basic = support_base64(&format!("x-access-token:{TOKEN}"));
    assert_eq!(job.commands(), [format!("::add-mask::{basic}")]);
    assert_eq!(
        fs::read_to_string(header).unwrap(),
        format!("AUTHORIZATION: basic {basic}\n"),
        "git pushes with the token"
    );
    let secret = hub.key.lines().nth(1).unwrap();
    for (place, text) in [
        (
            "log",
            job.log().replace(&format!("::add-mask::{basic}"), ""),
        ),
        ("summary", job.summary.clone()),
    ] {
        assert!(
            !text.contains(&basic) && !text.contains(TOKEN) && !text.contains(secret),
            "{place}"
        );
    }
    for folder in [&job.workspace, &job.temp, &hub.lab.at("runner-home")] {
        for entry in walkdir::WalkDir::new(folder) {
            let entry = entry.unwrap();
            if entry.file_type().is_file() {
                let bytes = fs::read(entry.path()).unwrap();
                for word in [&basic, TOKEN, secret] {
                    let found = bytes.windows(word.len()).any(|w| w == word.as_bytes());
                    assert!(!found, "{}", entry.path().display());
                }
            }
        }
    }

    // Run once more, there is nothing to do.
    let job = Runner::new(&hub, &on_branch("push", TRUNK, &tip))
        .run("publish.yml")
        .unwrap();
    assert!(job.ok, "{job:#?}");
    assert_eq!(
        [&job.outputs["changed"], &job.outputs["commit"]],
        ["false", ""]
    );
    assert_eq!(hub.server().git(&["rev-parse", TRUNK]), tip);
}

#[test]
fn a_rebuild_runs_on_several_runners() {
    let hub = Hub::new();
    let new: Vec<Builder> = (1..4)
        .map(|n| cartridge("tool", &format!("1.{n}.0")))
        .collect();
    let pushed = hub.publish("publisher", &new);
    let event = on_branch("workflow_dispatch", TRUNK, &pushed);
    for at in 0..4 {
        let mut runner = Runner::new(&hub, &event);
        runner.share = Some((at, format!("{}/4", at + 1)));
        let job = runner.run_job("rebuild.yml", Some("judge")).unwrap();
        assert!(job.ok, "{job:#?}");
    }
    let job = Runner::new(&hub, &event)
        .run_job("rebuild.yml", Some("publish"))
        .unwrap();
    assert!(job.ok, "{job:#?}");
    assert_eq!(job.outputs["accepted"], "4");
    let paths = [
        place("base", "1.0.0"),
        place("tool", "1.3.0"),
        place("tool", "1.2.0"),
        place("tool", "1.1.0"),
    ];
    hub.verified("consumer", &paths);
    // Without one of the parts, nothing is published.
    fs::remove_dir_all(hub.lab.at("artifacts").join("part-2")).unwrap();
    let job = Runner::new(&hub, &event)
        .run_job("rebuild.yml", Some("publish"))
        .unwrap();
    assert_eq!(job.step("Run acx").status, Some(2));
    assert!(job.log().contains("these are missing: 3"), "{job:#?}");
}

fn support_base64(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}

#[test]
fn a_push_that_loses_a_race_still_publishes() {
    let hub = Hub::new();
    let commit = hub.publish("maintainer", &[cartridge("alpha", "1.0.0")]);
    let faster = || {
        hub.publish("faster", &[cartridge("beta", "1.0.0")]);
    };
    let mut runner = Runner::new(&hub, &on_branch("push", TRUNK, &commit));
    runner.meanwhile = Some(&faster);
    let job = runner.run("publish.yml").unwrap();
    assert!(job.ok, "{job:#?}");
    let all = ["alpha", "base", "beta"].map(|id| place(id, "1.0.0"));
    hub.verified("reader", &all);
    let history = hub.server().git(&["rev-list", TRUNK]);
    assert!(history.contains(&commit), "nobody's commit is lost");
    assert_eq!(history.lines().count(), 4, "{history}");
}

#[test]
fn a_push_with_one_bad_cartridge_publishes_the_others_and_fails() {
    let hub = Hub::new();
    let commit = hub.publish(
        "maintainer",
        &[cartridge("alpha", "1.0.0"), tampered("beta")],
    );
    let job = Runner::new(&hub, &on_branch("push", TRUNK, &commit))
        .run("publish.yml")
        .unwrap();
    assert!(!job.ok, "{job:#?}");
    assert_eq!(job.step("Run acx").status, Some(1));
    assert_eq!(job.outputs["rejected"], "1");
    assert_eq!(
        job.outputs["commit"],
        hub.server().git(&["rev-parse", TRUNK])
    );
    hub.verified(
        "reader-partly",
        &[place("alpha", "1.0.0"), place("base", "1.0.0")],
    );
    let commands = job.commands();
    let bad = place("beta", "1.0.0");
    assert!(
        commands
            .iter()
            .any(|c| c.starts_with(&format!("::error file={bad},"))),
        "{commands:?}"
    );
    assert!(job.summary.contains(&bad), "{}", job.summary);
}

#[test]
fn a_push_without_the_secret_says_so_and_publishes_nothing() {
    let mut hub = Hub::new();
    hub.key.clear();
    let commit = hub.publish("maintainer", &[cartridge("alpha", "1.0.0")]);
    let event = on_branch("push", TRUNK, &commit);
    let before = hub.server().state();
    let folder = project(".github/actions/build-index");
    let runner = Runner::new(&hub, &event);
    runner.checkout();
    let mut job = empty(&runner);
    let env = inputs(&[("MODE", "build"), ("PUSH", "origin"), ("TOKEN", TOKEN)]);
    runner.script("Run acx", &run_step(), &env, Some(&folder), &mut job);
    assert_eq!(job.steps[0].status, Some(2));
    assert_eq!(hub.server().state(), before);
    let commands = job.commands();
    assert_eq!(commands.len(), 1, "{commands:?}");
    assert!(commands[0].contains("index-key is empty"), "{commands:?}");
}

fn empty(runner: &Runner<'_>) -> Job {
    Job {
        steps: Vec::new(),
        ok: true,
        outputs: BTreeMap::new(),
        summary: String::new(),
        workspace: runner.workspace(),
        temp: runner.folder.join("temp"),
    }
}

fn run_step() -> Value {
    let action = yaml(&project(".github/actions/build-index/action.yml"));
    action["runs"]["steps"][1].clone()
}

/// The variables of the action's second step, with these values in place of the inputs' defaults.
fn inputs(given: &[(&str, &str)]) -> BTreeMap<String, String> {
    let mut env: BTreeMap<String, String> = run_step()["env"]
        .as_object()
        .unwrap()
        .keys()
        .map(|name| (name.clone(), String::new()))
        .collect();
    for (name, value) in [
        ("REGISTRY", "."),
        ("MODE", "check"),
        ("ON_REJECT", "exclude"),
    ]
    .iter()
    .chain(given)
    {
        assert!(
            env.insert((*name).to_owned(), (*value).to_owned())
                .is_some(),
            "{name}"
        );
    }
    env
}

#[test]
fn the_action_refuses_inputs_that_it_does_not_know() {
    let hub = Hub::new();
    let head = hub.server().git(&["rev-parse", TRUNK]);
    let runner = Runner::new(&hub, &on_branch("push", TRUNK, &head));
    runner.checkout();
    let folder = project(".github/actions/build-index");
    for (given, part) in [
        (&[("MODE", "publish")][..], "input mode"),
        (&[("MODE", "")], "input mode"),
        (&[("ON_REJECT", "ignore")], "input on-reject"),
        (&[("BASE", "nothing")], "input base names no commit"),
        (&[("BASE", "--all")], "input base names no commit"),
        (&[("PUSH", "origin")], "input push"),
        (&[("MODE", "build"), ("BASE", "HEAD")], "input base belongs"),
        (&[("MODE", "share")], "needs the inputs share and part"),
        (&[("MODE", "share"), ("PUSH", "x")], "belong to other modes"),
        (&[("SHARE", "1/2")], "belong to the mode share"),
        (&[("PARTS", "x")], "belongs to the mode build"),
        (
            &[("MODE", "build"), ("PARTS", "no"), ("ACX_INDEX_KEY", "x")],
            "holds no parts",
        ),
    ] {
        let mut job = empty(&runner);
        runner.script(
            "Run acx",
            &run_step(),
            &inputs(given),
            Some(&folder),
            &mut job,
        );
        assert_eq!(job.steps[0].status, Some(2), "{given:?}: {job:#?}");
        let commands = job.commands();
        assert!(
            commands.len() == 1 && commands[0].contains(part),
            "{given:?}: {commands:?}"
        );
    }
    // A base that has nothing to do with what is judged is no base.
    let stray = {
        let other = hub.lab.work("stray", &[]);
        other.put("x", "x");
        let commit = other.commit("Elsewhere");
        let out = git_in(
            &runner.workspace(),
            &hub.lab.home(),
            &["fetch", "-q", other.path.to_str().unwrap()],
        );
        assert_eq!(out.status, 0, "{out:#?}");
        commit
    };
    let mut job = empty(&runner);
    let env = inputs(&[("BASE", &stray)]);
    runner.script("Run acx", &run_step(), &env, Some(&folder), &mut job);
    assert_eq!(job.steps[0].status, Some(2), "{job:#?}");
    assert!(
        job.commands()[0].contains("no history in common"),
        "{job:#?}"
    );
    // "fail" leaves every file as it is.
    Repository {
        lab: &hub.lab,
        path: runner.workspace(),
    }
    .cartridge(&tampered("beta"));
    let before = fs::read(runner.workspace().join("index.json")).unwrap();
    let mut job = empty(&runner);
    let env = inputs(&[
        ("MODE", "build"),
        ("ON_REJECT", "fail"),
        ("ACX_INDEX_KEY", &hub.key),
    ]);
    runner.script("Run acx", &run_step(), &env, Some(&folder), &mut job);
    assert_eq!(job.steps[0].status, Some(1), "{job:#?}");
    assert_eq!(
        fs::read(runner.workspace().join("index.json")).unwrap(),
        before
    );
}

#[test]
fn an_audit_passes_until_a_byte_changes() {
    let hub = Hub::new();
    let audit = |keyid: &str| {
        let head = hub.server().git(&["rev-parse", TRUNK]);
        let mut runner = Runner::new(&hub, &on_branch("schedule", TRUNK, &head));
        runner.keyid = keyid.to_owned();
        runner.run("audit.yml").unwrap()
    };
    for keyid in ["", &hub.keyid] {
        let job = audit(keyid);
        assert!(job.ok, "{job:#?}");
        assert_eq!(job.steps.iter().filter(|s| s.status == Some(0)).count(), 3);
    }
    let job = audit(&support::registry::index_keyid());
    assert!(!job.ok, "signed by another key than the one that is known");
    assert_eq!(job.step("Verify the index").status, Some(1), "{job:#?}");
    assert_eq!(
        audit("; touch pwned").step("Verify the index").status,
        Some(2)
    );

    let clone = hub.clone("intruder");
    let dataset = clone
        .files("HEAD")
        .into_iter()
        .find(|path| path.contains(".lance/data/"))
        .unwrap();
    for path in ["index.json", &dataset] {
        let good = fs::read(clone.path.join(path)).unwrap();
        let mut bad = good.clone();
        let at = bad.len() / 2;
        bad[at] ^= 1;
        clone.put(path, bad);
        clone.commit("Change a byte");
        clone.git(&["push", "-q", "origin", TRUNK]);
        let job = audit(&hub.keyid);
        assert!(!job.ok, "{path}: {job:#?}");
        // Both look, whatever the other says.
        for name in ["Run acx", "Verify the index"] {
            let status = job.step(name).status;
            assert!(status.is_some_and(|s| s != 0), "{path}: {name}: {job:#?}");
        }
        assert!(!job.commands().is_empty(), "{path}: {job:#?}");
        clone.put(path, good);
        clone.commit("Restore it");
        clone.git(&["push", "-q", "origin", TRUNK]);
        assert!(audit(&hub.keyid).ok);
    }
}

/// Runs the action's first step; the exit status, the log, and what is put onto the PATH.
struct Installing {
    folder: tempfile::TempDir,
    action: PathBuf,
}

impl Installing {
    /// The action where a runner keeps it, with a Cargo.toml and programs that only say what they were asked.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("_actions/example-org/acx-registry/0123");
        let action = root.join(".github/actions/build-index");
        for name in [
            &action,
            &folder.path().join("temp"),
            &folder.path().join("bin"),
            &folder.path().join("checkout/.cargo"),
        ] {
            fs::create_dir_all(name).unwrap();
        }
        for name in ["install.sh", "run.sh"] {
            fs::copy(
                project(".github/actions/build-index").join(name),
                action.join(name),
            )
            .unwrap();
        }
        fs::copy(project("Cargo.toml"), root.join("Cargo.toml")).unwrap();
        fs::write(
            folder.path().join("checkout/.cargo/config.toml"),
            "[build]\nrustc-wrapper = \"/bin/false\"\n",
        )
        .unwrap();
        Self { folder, action }
    }

    fn program(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn run(&self, given: &[(&str, &str)]) -> (i32, String, String) {
        let at = |path: &str| self.folder.path().join(path);
        fs::write(at("path"), "").unwrap();
        let step =
            yaml(&project(".github/actions/build-index/action.yml"))["runs"]["steps"][0].clone();
        assert_eq!(step["name"], INSTALL);
        let names: Vec<&String> = step["env"].as_object().unwrap().keys().collect();
        assert_eq!(names, ["VERSION", "SHA256"]);
        let path = std::env::var("PATH").unwrap();
        let output = Command::new("bash")
            .args([
                "--noprofile",
                "--norc",
                "-eo",
                "pipefail",
                "-c",
                step["run"].as_str().unwrap(),
            ])
            .current_dir(at("checkout"))
            .env_clear()
            .env("PATH", format!("{}:{path}", at("bin").display()))
            .env("GITHUB_ACTION_PATH", &self.action)
            .env("GITHUB_PATH", at("path"))
            .env(
                "GITHUB_SERVER_URL",
                format!("file://{}", at("server").display()),
            )
            .env("RUNNER_TEMP", at("temp"))
            .env("RUNNER_OS", "Linux")
            .env("RUNNER_ARCH", "X64")
            .env("VERSION", "")
            .env("SHA256", "")
            .envs(given.iter().copied())
            .output()
            .unwrap();
        let log = [output.stdout, output.stderr]
            .map(|b| String::from_utf8(b).unwrap())
            .concat();
        (
            output.status.code().unwrap(),
            log,
            fs::read_to_string(at("path")).unwrap(),
        )
    }
}

#[test]
fn the_action_builds_its_own_commit_out_of_reach_of_the_checkout() {
    let here = Installing::new();
    here.program("bin/rustup", "#!/bin/sh\necho \"rustup $*\"\n");
    here.program(
        "bin/cargo",
        "#!/bin/sh\necho \"cargo in $(pwd): $*\"\n[ -n \"$CARGO_TARGET_DIR\" ] && mkdir -p \"$RUNNER_TEMP/acx/bin\"\n\
         printf '#!/bin/sh\\necho the built one\\n' >\"$RUNNER_TEMP/acx/bin/acx\"\nchmod 755 \"$RUNNER_TEMP/acx/bin/acx\"\n",
    );
    let (status, log, path) = here.run(&[]);
    assert_eq!(status, 0, "{log}");
    let rust = env!("CARGO_PKG_RUST_VERSION");
    let root = here.action.join("../../..").canonicalize().unwrap();
    let temp = here.folder.path().join("temp/acx");
    assert!(
        log.contains(&format!(
            "rustup toolchain install {rust} --profile minimal"
        )),
        "{log}"
    );
    let cargo = format!(
        "cargo in {}: +{rust} install --locked --bin acx --path {} --root {}\n",
        root.display(),
        root.display(),
        temp.display()
    );
    assert!(log.contains(&cargo), "{log}");
    assert!(log.ends_with("the built one\n"), "{log}");
    assert_eq!(path, format!("{}\n", temp.join("bin").display()));
    // A hash without a version is a mistake, and no reason to build something.
    let (status, log, path) = here.run(&[("SHA256", &"0".repeat(64))]);
    assert_eq!((status, path.as_str()), (2, ""), "{log}");
    here.program("bin/cargo", "#!/bin/sh\nexit 101\n");
    let (status, log, path) = here.run(&[]);
    assert_eq!((status, path.as_str()), (101, ""), "{log}");
}

#[test]
fn a_release_is_used_if_its_checksum_is_the_one_given() {
    let here = Installing::new();
    for name in ["rustup", "cargo"] {
        here.program(
            &format!("bin/{name}"),
            "#!/bin/sh\necho nothing is built >&2\nexit 99\n",
        );
    }
    let release = "server/example-org/acx-registry/releases/download/v1.2.3";
    let program = "#!/bin/sh\necho the released one\n";
    for arch in ["x86_64", "aarch64"] {
        let file = format!("{release}/acx-v1.2.3-{arch}-unknown-linux-musl");
        here.program(&file, &format!("{program}# {arch}\n"));
    }
    let sum = |arch: &str| {
        let sum = support::keys::sha256(format!("{program}# {arch}\n").as_bytes());
        sum.trim_start_matches("sha256:").to_owned()
    };
    let installed = here.folder.path().join("temp/acx/bin/acx");
    let wrong = "0".repeat(64);
    let upper = sum("x86_64").to_uppercase();
    for given in [
        &[("VERSION", "v1.2.3")][..],
        &[("VERSION", "v1.2.3"), ("SHA256", &wrong)],
        &[("VERSION", "v1.2.3"), ("SHA256", &upper)],
        &[("VERSION", "v1.2.3"), ("SHA256", &sum("aarch64"))],
        &[("VERSION", "v1.2.4"), ("SHA256", &sum("x86_64"))],
        &[("VERSION", "1.2.3"), ("SHA256", &sum("x86_64"))],
        &[("VERSION", "../v1.2.3"), ("SHA256", &sum("x86_64"))],
        &[
            ("VERSION", "v1.2.3"),
            ("SHA256", &sum("x86_64")),
            ("RUNNER_OS", "Windows"),
        ],
        &[
            ("VERSION", "v1.2.3"),
            ("SHA256", &sum("x86_64")),
            ("RUNNER_ARCH", "ARM"),
        ],
        &[
            ("VERSION", "v1.2.3"),
            ("SHA256", &sum("x86_64")),
            ("GITHUB_ACTION_PATH", "/nowhere"),
        ],
    ] {
        let (status, log, path) = here.run(given);
        assert!(status != 0, "{given:?}: {log}");
        assert_eq!(path, "", "{given:?}");
        assert!(
            !installed.exists() && !log.contains("released one"),
            "{given:?}: {log}"
        );
        if !given.contains(&("GITHUB_ACTION_PATH", "/nowhere")) {
            assert_eq!(
                log.matches("::error title=acx::").count(),
                1,
                "{given:?}: {log}"
            );
        }
    }
    for (machine, arch) in [("X64", "x86_64"), ("ARM64", "aarch64")] {
        let (status, log, path) = here.run(&[
            ("VERSION", "v1.2.3"),
            ("SHA256", &sum(arch)),
            ("RUNNER_ARCH", machine),
        ]);
        assert_eq!(status, 0, "{log}");
        assert_eq!(log, "the released one\n");
        assert_eq!(path, format!("{}\n", installed.parent().unwrap().display()));
        fs::remove_file(&installed).unwrap();
    }
}

#[test]
fn a_release_is_of_the_version_in_cargo_toml_and_names_its_checksums() {
    let release = yaml(&project(".github/workflows/release.yml"));
    let run = |job: &str, name: &str, folder: &Path, tag: &str| {
        let steps = release["jobs"][job]["steps"].as_array().unwrap();
        let step = steps.iter().find(|step| step["name"] == name).expect(name);
        let output = Command::new("bash")
            .args(["--noprofile", "--norc", "-eo", "pipefail", "-c"])
            .arg(step["run"].as_str().unwrap())
            .current_dir(folder.join(step["working-directory"].as_str().unwrap_or(".")))
            .env("GITHUB_REF_NAME", tag)
            .output()
            .unwrap();
        (
            output.status.code().unwrap(),
            String::from_utf8(output.stdout).unwrap(),
        )
    };
    let name = "Hold the tag against Cargo.toml";
    let version = env!("CARGO_PKG_VERSION");
    let tag = format!("v{version}");
    assert_eq!(run("build", name, &project(""), &tag), (0, String::new()));
    for wrong in [version, "v9.9.9", "v$(touch pwned)", "v"] {
        let (status, log) = run("build", name, &project(""), wrong);
        assert_eq!(status, 1, "{wrong}");
        assert_eq!(
            log,
            format!(
                "::error::The tag does not name the version of Cargo.toml, which is {version}.\n"
            )
        );
    }

    let folder = tempfile::tempdir().unwrap();
    let dist = folder.path().join("dist");
    fs::create_dir(&dist).unwrap();
    let name = "Write the checksums";
    fs::write(dist.join("acx-v1.2.3-x86_64-unknown-linux-musl"), "x").unwrap();
    assert_eq!(
        run("publish", name, folder.path(), &tag).0,
        1,
        "one is missing"
    );
    fs::write(dist.join("acx-v1.2.3-aarch64-unknown-linux-musl"), "a").unwrap();
    assert_eq!(run("publish", name, folder.path(), &tag).0, 0);
    let sums = fs::read_to_string(dist.join("SHA256SUMS")).unwrap();
    let line = |text: &str, arch: &str| {
        let sum = support::keys::sha256(text.as_bytes());
        let sum = sum.trim_start_matches("sha256:");
        format!("{sum}  acx-v1.2.3-{arch}-unknown-linux-musl\n")
    };
    assert_eq!(sums, line("a", "aarch64") + &line("x", "x86_64"));
}

#[test]
fn every_action_is_pinned_and_every_job_bounded() {
    let mut used = BTreeSet::new();
    for file in all_files() {
        let shown = file.display();
        assert_eq!(file.extension().unwrap(), "yml", "{shown}");
        let text = fs::read_to_string(&file).unwrap();
        assert!(!text.contains("pull_request_target"), "{shown}");
        for line in text
            .lines()
            .filter(|l| l.trim_start().trim_start_matches("- ").starts_with("uses:"))
        {
            let place = line.split_once("uses:").unwrap().1.trim();
            if place.starts_with("OWNER/REPO/") {
                let zeros = "0".repeat(40);
                let own =
                    format!("OWNER/REPO/.github/actions/build-index@{zeros} # by acx init --tool");
                assert_eq!(place, own, "{shown}");
                continue;
            }
            let (action, pin) = place.split_once('@').unwrap();
            let found = PINS.iter().find(|(name, ..)| *name == action);
            let (name, sha, version) = found.unwrap_or_else(|| panic!("{shown}: {action}"));
            assert_eq!(pin, format!("{sha} # {version}"), "{shown}");
            used.insert(*name);
        }
        let value = yaml(&file);
        let Some(jobs) = value["jobs"].as_object() else {
            // The action: nothing of others within.
            assert!(
                value["runs"]["steps"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .all(|s| s.get("uses").is_none())
            );
            continue;
        };
        assert_eq!(value["permissions"], json!({}), "{shown}");
        for (name, job) in jobs {
            let minutes = job["timeout-minutes"].as_u64();
            assert!(minutes.is_some_and(|m| m <= 90), "{shown}: {name}");
            let permissions = job["permissions"].as_object();
            assert!(
                permissions.is_some_and(|p| !p.is_empty()),
                "{shown}: {name}"
            );
        }
        // Scripts get what strangers choose as variables, never as text; and in parsed and written form alike.
        for step in jobs
            .values()
            .flat_map(|job| job["steps"].as_array().unwrap())
        {
            let script = step["run"].as_str().unwrap_or_default();
            assert!(!script.contains("${{"), "{shown}: {script}");
        }
    }
    assert_eq!(
        used,
        PINS.iter().map(|(name, ..)| *name).collect::<BTreeSet<_>>()
    );
}

#[test]
fn each_workflow_may_do_what_it_must_and_no_more() {
    let permissions = |name: &str| {
        let value = yaml(&project("registry-template/.github/workflows").join(name));
        let jobs = value["jobs"].as_object().unwrap().values();
        let each: Vec<Value> = jobs.map(|job| job["permissions"].clone()).collect();
        match each.as_slice() {
            [one] => one.clone(),
            _ => each.into(),
        }
    };
    assert_eq!(
        permissions("pull-request.yml"),
        json!({"contents": "read", "actions": "read", "security-events": "write"})
    );
    assert_eq!(permissions("publish.yml"), json!({"contents": "write"}));
    assert_eq!(permissions("audit.yml"), json!({"contents": "read"}));
    assert_eq!(
        permissions("rebuild.yml"),
        json!([{"contents": "read"}, {"contents": "write"}])
    );
    // The key is named once, where it is used; a build is never stopped half-way.
    for name in ["pull-request.yml", "audit.yml"] {
        let text =
            fs::read_to_string(project("registry-template/.github/workflows").join(name)).unwrap();
        assert!(!text.contains("secrets."), "{name}");
    }
    let publish = yaml(&project("registry-template/.github/workflows/publish.yml"));
    let rebuild = yaml(&project("registry-template/.github/workflows/rebuild.yml"));
    for value in [&publish, &rebuild] {
        assert_eq!(value["concurrency"]["cancel-in-progress"], false);
        assert_eq!(value.to_string().matches("secrets.").count(), 1);
        let publish = &value["jobs"]["publish"];
        assert!(publish.to_string().contains("secrets."));
        assert_eq!(publish["environment"], "acx-index");
    }
    assert_eq!(publish["concurrency"], rebuild["concurrency"]);
}
