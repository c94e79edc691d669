//! One report, many faces: each format of a fixture as it stands in `tests/snapshots`, valid by its own schema, with the
//! same exit status, and neutral whatever a stranger calls their files.
//!
//! After a wanted change, `ACX_BLESS=1 cargo test --test reports` writes the snapshots anew.
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
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use acx_registry::check;
use acx_registry::finding::{Finding, Location, Severity};
use acx_registry::model::{Digest, Trust};
use acx_registry::report::{
    self, Accepted, BuildReport, FileReport, FilesReport, Format, Rejected, Report, SUMMARY_BYTES,
    Style, Unverifiable, Verdict,
};
use serde_json::{Value, json};
use support::cartridge::Builder;
use support::registry::TempRegistry;

const FORMATS: [(Format, &str); 6] = [
    (Format::Human, "txt"),
    (Format::Json, "json"),
    (Format::Github, "github"),
    (Format::Sarif, "sarif"),
    (Format::Junit, "xml"),
    (Format::Markdown, "md"),
];

fn finding(code: &str, severity: Severity, message: &str, location: Location) -> Finding {
    let rule = check::rule(code).unwrap();
    Finding {
        code: rule.code,
        family: rule.family,
        severity,
        message: message.to_owned(),
        help: rule.fix.to_owned(),
        location,
    }
}

fn at(path: &str) -> Location {
    Location {
        path: path.to_owned(),
        ..Location::default()
    }
}

fn digest() -> Digest {
    Digest::of(b"content")
}

fn fixture() -> BuildReport {
    let path = |id: &str| format!("cartridges/io.github.acme/{id}/1.0.0/cartridge.acx");
    let mut report = BuildReport::new("com.example.agents".to_owned());
    for (id, trust) in [("fine", Trust::Portable), ("warned", Trust::Trusted)] {
        report.accepted.push(Accepted {
            path: path(id),
            publisher: "io.github.acme".to_owned(),
            id: id.to_owned(),
            version: "1.0.0".to_owned(),
            trust,
            digest: digest(),
        });
    }
    let bad = path("bad");
    report.rejected.push(Rejected {
        path: bad.clone(),
        findings: vec![
            finding(
                "integrity-manifest",
                Severity::Error,
                "expected sha256:00 for the content, found sha256:11",
                Location {
                    table: Some("sqlar"),
                    row: Some("skills/pdf tools/SKILL.md".to_owned()),
                    pointer: Some("/a~1b".to_owned()),
                    ..at(&bad)
                },
            ),
            finding("signature-absent", Severity::Error, "no envelope", at(&bad)),
        ],
    });
    report.unverifiable.push(Unverifiable {
        path: path("broken"),
        reason: "cannot be read: Input/output error".to_owned(),
    });
    report.warnings.push(finding(
        "spec-count",
        Severity::Warning,
        "the role `memory-baseline`: expected 3, found 9",
        at(&path("warned")),
    ));
    report.warnings.push(finding(
        "registry-template",
        Severity::Warning,
        "there is no manifest.json",
        at("templates/team/manifest.json"),
    ));
    report
        .differences
        .push("the index's generatedAt".to_owned());
    report.counts.cartridges = 4;
    report.counts.accepted = 2;
    report.counts.rejected = 1;
    report.counts.unverifiable = 1;
    report.counts.warnings = 2;
    report.changes.added.push(path("fine"));
    report.changes.changed.push(path("warned"));
    report.changes.removed.push(path("gone"));
    report.wrote.push("index.json".to_owned());
    report.outcome = "index.json was left as it is: not everything could be judged".to_owned();
    report
}

fn style() -> Style {
    Style {
        root: "registry/".to_owned(),
        elapsed: Some(Duration::from_millis(1234)),
        ..Style::default()
    }
}

fn render(report: &BuildReport, format: Format) -> String {
    report::render(&Report::Build(report), format, &style()).unwrap()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn held_to_snapshot(name: &str, text: &str) {
    let file = root().join("tests/snapshots").join(name);
    if std::env::var_os("ACX_BLESS").is_some() {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
    }
    let kept = fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(text, kept, "{name} differs; ACX_BLESS=1 writes it anew");
}

#[test]
fn every_format_is_as_it_was() {
    let report = fixture();
    for (format, end) in FORMATS {
        held_to_snapshot(&format!("build.{end}"), &render(&report, format));
    }
    let narrow = Style {
        colour: true,
        width: Some(60),
        ..style()
    };
    let text = report::render(&Report::Build(&report), Format::Human, &narrow).unwrap();
    held_to_snapshot("build.narrow", &text);
    held_to_snapshot("build.push", &report::human_push(&report, 40));
    let files = FilesReport::new(vec![
        FileReport {
            path: "a.acx".to_owned(),
            verdict: Verdict::Accept,
            trust: Some("portable"),
            status: "warning",
            clean: true,
            findings: Vec::new(),
            levels: None,
            summary: "signed by a key that no registry vouches for".to_owned(),
        },
        FileReport {
            findings: report.rejected[0].findings.clone(),
            ..FileReport::unverifiable("b.acx".to_owned(), "not read".to_owned())
        },
    ]);
    for (format, end) in FORMATS {
        let text = report::render(&Report::Files(&files), format, &Style::default()).unwrap();
        held_to_snapshot(&format!("files.{end}"), &text);
    }
}

fn validator(file: &Path) -> jsonschema::Validator {
    // One pattern of SARIF's schema, as it is published, has a bracket that a strict engine takes for a mistake.
    let text = fs::read_to_string(file).unwrap().replace(
        "^[a-zA-Z]{2}|^[a-zA-Z]{2}-[a-zA-Z]{2}]?$",
        "^[a-zA-Z]{2}(-[a-zA-Z]{2})?$",
    );
    let schema: Value = serde_json::from_str(&text).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

fn valid(schema: &jsonschema::Validator, text: &str) -> Value {
    let document: Value = serde_json::from_str(text).unwrap();
    let defects: Vec<String> = schema
        .iter_errors(&document)
        .map(|e| format!("{}: {e}", e.instance_path()))
        .collect();
    assert!(defects.is_empty(), "{defects:#?}\n{text}");
    document
}

/// The schema that the standard's makers publish, as a crate of the tests brings it.
fn sarif_schema() -> jsonschema::Validator {
    // The packages of other platforms are not there.
    let about = Command::new("rustc").arg("-vV").output().unwrap();
    let about = String::from_utf8(about.stdout).unwrap();
    let host = about
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .expect("rustc's host");
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--offline"])
        .args(["--filter-platform", host])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let package = metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .find(|package| package["name"] == "serde-sarif")
        .expect("serde-sarif among the packages");
    let manifest = PathBuf::from(package["manifest_path"].as_str().unwrap());
    validator(&manifest.with_file_name("src").join("schema.json"))
}

/// Texts that would do something wherever they are taken for more than text.
fn hostile() -> Vec<String> {
    vec![
        "x\n::error::owned".to_owned(),
        "x\r\n::stop-commands::t".to_owned(),
        "%0A::error::owned,file=a:b".to_owned(),
        "##[error]owned".to_owned(),
        "\u{1b}[31m\u{1b}]0;owned\u{7}\u{9b}2J".to_owned(),
        "\u{202e}gpj\u{2066}\u{200b}\u{feff}".to_owned(),
        "</script><script>alert(1)</script>".to_owned(),
        "]]><!-- <a href='x'>&amp;&#x0;".to_owned(),
        "| a | b |\n|---|`<b>`@team #1 https://a.example".to_owned(),
        "\u{fffe}\u{ffff}\u{1fffe}\0".to_owned(),
        format!("{}\"\\", "n".repeat(1 << 20)),
    ]
}

fn hostile_report() -> BuildReport {
    let mut report = fixture();
    for text in hostile() {
        report.rejected.push(Rejected {
            path: text.clone(),
            findings: vec![finding(
                "integrity-manifest",
                Severity::Error,
                &text,
                Location {
                    path: text.clone(),
                    table: Some("sqlar"),
                    row: Some(text.clone()),
                    pointer: Some(text.clone()),
                },
            )],
        });
        report.unverifiable.push(Unverifiable {
            path: format!("u{text}"),
            reason: text.clone(),
        });
        report
            .warnings
            .push(finding("spec-count", Severity::Warning, &text, at(&text)));
        report.changes.added.push(text.clone());
        report.wrote.push(text.clone());
        report.differences.push(text.clone());
        report.outcome = text.clone();
    }
    report.registry = hostile().concat();
    report
}

#[test]
fn hostile_texts_are_neutral_in_every_format() {
    let report = hostile_report();
    let schema = sarif_schema();
    let own = validator(&root().join("schemas/report.schema.json"));
    for (format, end) in FORMATS {
        let text = render(&report, format);
        for c in text.chars() {
            let hidden = (c.is_control() && c != '\n')
                || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
            assert!(!hidden, "{end}: {c:?}");
        }
        assert!(!text.contains("##["), "{end}");
        let commands: Vec<&str> = text
            .lines()
            .filter(|line| line.trim_start().starts_with("::"))
            .collect();
        if format == Format::Github {
            // Ten of each kind, and the one that counts the rest.
            assert_eq!(commands.len(), 21, "{commands:#?}");
            for line in commands {
                let known = [
                    "::error file=",
                    "::error title=",
                    "::warning file=",
                    "::notice title=",
                ];
                assert!(known.iter().any(|start| line.starts_with(start)), "{line}");
                assert!(line.len() < 16_384, "{} bytes", line.len());
                let (properties, _) = line[2..].split_once("::").unwrap();
                assert!(properties.matches(',').count() <= 1, "{properties}");
                assert!(properties.matches(':').count() == 0, "{properties}");
            }
        } else {
            assert!(commands.is_empty(), "{end}: {commands:?}");
        }
        match format {
            Format::Json => {
                let document = valid(&own, &text);
                let paths: Vec<&str> = document["rejected"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .skip(1)
                    .map(|one| one["path"].as_str().unwrap())
                    .collect();
                assert_eq!(paths, hostile());
            }
            Format::Sarif => {
                valid(&schema, &text);
            }
            Format::Junit | Format::Markdown => {
                assert!(!text.contains("<script"), "{end}");
                assert!(!text.contains("<a "), "{end}");
            }
            Format::Human | Format::Github => {}
        }
        if format == Format::Markdown {
            // What is left outside of code are our own words.
            for line in text.lines() {
                let mut rest = line;
                let mut own = String::new();
                while let Some((before, after)) = rest.split_once("<code>") {
                    own.push_str(before);
                    rest = after.split_once("</code>").expect("code that ends").1;
                }
                own.push_str(rest);
                assert!(
                    !own.contains(['@', '`', '[', 'h']) || !own.contains("http"),
                    "{own}"
                );
                assert!(!own.contains('@') && !own.contains('`'), "{own}");
            }
        }
    }
    let pushed = report::human_push(&report, 40);
    assert!(pushed.lines().count() <= 40, "{pushed}");
}

#[test]
fn the_worst_that_is_said_of_a_path_is_shown() {
    let mut report = fixture();
    let path = report.unverifiable[0].path.clone();
    let warning = finding("spec-count", Severity::Warning, "a count", at(&path));
    report.warnings.push(warning);
    let text = render(&report, Format::Human);
    let line = format!(
        "UNVERIFIABLE  {path}  (cannot be read: Input/output error)\n  warning[spec-count]: a count\n"
    );
    assert!(text.contains(&line), "{text}");
}

#[test]
fn a_summary_stays_within_its_bound_and_counts_the_rest() {
    let mut report = fixture();
    for n in 0..20_000 {
        let path = format!("cartridges/io.github.acme/a{n}/1.0.0/cartridge.acx");
        report.rejected.push(Rejected {
            path: path.clone(),
            findings: vec![finding(
                "integrity-manifest",
                Severity::Error,
                &"m".repeat(300),
                at(&path),
            )],
        });
    }
    let text = render(&report, Format::Markdown);
    assert!(text.len() <= SUMMARY_BYTES, "{}", text.len());
    assert!(text.len() > SUMMARY_BYTES / 2);
    assert!(
        text.contains("more lines do not fit here"),
        "{}",
        &text[text.len() - 200..]
    );
    for most in [0, 99, 100, 1000] {
        let text = report::summary(&Report::Build(&report), &style(), most);
        assert!(text.len() <= most, "{most}: {}", text.len());
    }
}

#[test]
fn json_and_sarif_are_valid_by_their_schemas() {
    let own = validator(&root().join("schemas/report.schema.json"));
    valid(&own, &render(&fixture(), Format::Json));
    let sarif = valid(&sarif_schema(), &render(&fixture(), Format::Sarif));
    let run = &sarif["runs"][0];
    assert_eq!(run["invocations"][0]["executionSuccessful"], false);
    assert_eq!(run["results"].as_array().unwrap().len(), 4);
    let first = &run["results"][0];
    assert_eq!(first["ruleId"], "integrity-manifest");
    let at = first["ruleIndex"].as_u64().unwrap() as usize;
    assert_eq!(
        run["tool"]["driver"]["rules"][at]["id"],
        "integrity-manifest"
    );
    assert_eq!(
        first["locations"][0]["physicalLocation"]["artifactLocation"],
        json!({"uri": "registry/cartridges/io.github.acme/bad/1.0.0/cartridge.acx", "uriBaseId": "%SRCROOT%"})
    );
    // The same defect has the same fingerprint whatever the words are, and another place has another.
    let mut other = fixture();
    other.rejected[0].findings[0].message = "said otherwise".to_owned();
    other.rejected[0].findings[1].location.row = Some("elsewhere".to_owned());
    let other: Value = serde_json::from_str(&render(&other, Format::Sarif)).unwrap();
    let print = |log: &Value, at: usize| {
        log["runs"][0]["results"][at]["partialFingerprints"]["acxFinding/v1"].clone()
    };
    assert_eq!(print(&sarif, 0), print(&other, 0));
    assert_ne!(print(&sarif, 1), print(&other, 1));
}

#[test]
fn junit_is_valid_by_its_schema() {
    let python = match support::python::python() {
        Ok(python) => python,
        Err(why) if std::env::var_os("CI").is_some() => panic!("{why}"),
        Err(why) => {
            eprintln!("SKIPPED: JUnit reports are not validated: {why}");
            return;
        }
    };
    let folder = tempfile::tempdir().unwrap();
    for (name, report) in [("fixture", fixture()), ("hostile", hostile_report())] {
        let file = folder.path().join(format!("{name}.xml"));
        fs::write(&file, render(&report, Format::Junit)).unwrap();
        let output = Command::new(&python)
            .args([
                "-c",
                "import sys, xmlschema; xmlschema.XMLSchema(sys.argv[1]).validate(sys.argv[2])",
            ])
            .arg(root().join("tests/junit.xsd"))
            .arg(&file)
            .output()
            .unwrap();
        assert!(output.status.success(), "{name}: {output:?}");
    }
}

fn mixed() -> TempRegistry {
    let registry = TempRegistry::new();
    registry.cartridge(&Builder::valid("io.github.acme", "fine", "1.0.0"));
    registry.put("cartridges/io.github.acme/bad/1.0.0/cartridge.acx", "bad");
    registry
}

#[test]
fn the_exit_status_is_the_same_in_all_formats() {
    let registry = mixed();
    let fine = registry
        .root()
        .join("cartridges/io.github.acme/fine/1.0.0/cartridge.acx");
    let bad = registry
        .root()
        .join("cartridges/io.github.acme/bad/1.0.0/cartridge.acx");
    let (fine, bad) = (fine.to_str().unwrap(), bad.to_str().unwrap());
    for format in ["human", "json", "github", "sarif", "junit"] {
        for (args, status) in [
            (vec!["build-index", "--dry-run"], 1),
            (vec!["build-index", "/nowhere"], 2),
            (vec!["check", fine], 0),
            (vec!["check", fine, bad], 1),
            (vec!["check", fine, bad, "/nowhere/x.acx"], 2),
            (vec!["verify", fine], 0),
            (vec!["verify", bad], 1),
        ] {
            let mut args = args;
            args.extend(["--format", format]);
            assert_eq!(registry.run(&args).status, status, "{args:?}");
        }
        let out = registry.run(&["key", "show", "--format", format]);
        if !matches!(format, "human" | "json") {
            assert_eq!(out.status, 2, "{out:#?}");
            assert!(out.stderr.contains("expected human or json"), "{out:#?}");
        }
    }
}

#[test]
fn reports_are_written_beside_what_is_printed() {
    let registry = mixed();
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let files: Vec<String> = [
        "a.sarif",
        "b.json",
        "c.xml",
        "d.md",
        "e.txt",
        "f.sarif.json",
    ]
    .iter()
    .map(|name| place(name))
    .collect();
    let mut args = vec!["build-index", "--dry-run", "--format", "json"];
    for file in &files {
        args.extend(["--report", file]);
    }
    let out = registry.run(&args);
    assert_eq!(out.status, 1, "{out:#?}");
    let read = |file: &String| fs::read_to_string(file).unwrap();
    assert_eq!(read(&files[1]), out.stdout);
    let schema = sarif_schema();
    valid(&schema, &read(&files[0]));
    valid(&schema, &read(&files[5]));
    assert!(read(&files[2]).starts_with("<?xml"), "{}", read(&files[2]));
    assert!(read(&files[3]).starts_with("## acx"), "{}", read(&files[3]));
    assert!(
        read(&files[4]).starts_with("REJECT "),
        "{}",
        read(&files[4])
    );
    let out = registry.run(&["build-index", "--dry-run", "--report", &place("x.html")]);
    assert_eq!(out.status, 2, "{out:#?}");
    assert!(out.stderr.contains(".sarif, .json, .xml"), "{out:#?}");
    let lost = place("no folder/x.json");
    let out = registry.run(&["build-index", "--dry-run", "--report", &lost]);
    assert_eq!(out.status, 2, "{out:#?}");
    assert!(out.stderr.contains("--report"), "{out:#?}");
}

#[test]
fn a_step_of_a_workflow_gets_its_summary_and_its_outputs() {
    let registry = mixed();
    let folder = tempfile::tempdir().unwrap();
    let summary = folder.path().join("summary");
    let outputs = folder.path().join("outputs");
    fs::write(&summary, "before\n").unwrap();
    let env = [
        ("GITHUB_STEP_SUMMARY", summary.to_str().unwrap()),
        ("GITHUB_OUTPUT", outputs.to_str().unwrap()),
    ];
    let out = registry.run_with(&["build-index", "--format", "github"], &env);
    assert_eq!(out.status, 1, "{out:#?}");
    let text = fs::read_to_string(&summary).unwrap();
    assert!(text.starts_with("before\n## acx"), "{text}");
    for part in ["### Rejected", "### Added", "container-not-sqlite"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let id = text.split("key ").nth(1).unwrap();
    assert!(id.starts_with("ed25519"), "{text}");
    assert_eq!(
        fs::read_to_string(&outputs).unwrap(),
        "accepted=1\nrejected=1\nunverifiable=0\nwarnings=0\ntemplates=0\nchanged=true\ncommit=\n"
    );
    fs::write(&outputs, "").unwrap();
    registry.run_with(&["build-index"], &env);
    let again = fs::read_to_string(&outputs).unwrap();
    assert!(again.contains("changed=false\n"), "{again}");
    // A step's summary has a bound that its commands share.
    fs::write(&summary, vec![b'x'; SUMMARY_BYTES - 10]).unwrap();
    registry.run_with(&["build-index"], &env);
    assert!(fs::metadata(&summary).unwrap().len() <= SUMMARY_BYTES as u64);
}

#[test]
fn verbose_runs_name_each_file_and_the_slowest() {
    let registry = mixed();
    let quiet = registry.run(&["build-index", "--dry-run"]);
    let once = registry.run(&["build-index", "--dry-run", "-v"]);
    let twice = registry.run(&["build-index", "--dry-run", "-vv"]);
    assert_eq!(quiet.stdout, once.stdout);
    assert_eq!(quiet.stdout, twice.stdout);
    let lines = |text: &str, word: &str| {
        text.lines()
            .filter(|line| line.starts_with(word) && line.contains(" ms  cartridges/"))
            .count()
    };
    assert_eq!(
        lines(&quiet.stderr, "accept") + lines(&quiet.stderr, "REJECT"),
        0
    );
    assert_eq!(lines(&once.stderr, "accept"), 1, "{once:#?}");
    assert_eq!(lines(&once.stderr, "REJECT"), 1, "{once:#?}");
    assert!(!once.stderr.contains("slowest"), "{once:#?}");
    let (_, slowest) = twice.stderr.split_once("slowest files:\n").unwrap();
    assert_eq!(lines(slowest, " "), 2, "{twice:#?}");
    assert!(
        !twice.stderr.contains('\u{1b}'),
        "no bar without a terminal"
    );
}

/// What a terminal of so many columns is shown of a build.
#[cfg(target_os = "linux")]
fn on_a_terminal(registry: &TempRegistry, columns: u16, variables: &str, more: &str) -> String {
    let command = format!(
        "stty rows 24 cols {columns}; env {variables} {} build-index --dry-run {more}",
        env!("CARGO_BIN_EXE_acx")
    );
    let output = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .current_dir(registry.root())
        .env("TERM", "xterm")
        .env("HOME", registry.home())
        .env_remove("NO_COLOR")
        .env_remove("GITHUB_STEP_SUMMARY")
        .env_remove("GITHUB_OUTPUT")
        .stdin(std::process::Stdio::null())
        .output()
        .expect("util-linux's script");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
#[cfg(target_os = "linux")]
fn a_terminal_gets_colours_its_own_width_and_a_bar() {
    let registry = mixed();
    let text = on_a_terminal(&registry, 60, "X=1", "");
    assert!(text.contains("\u{1b}[1;31mREJECT"), "{text}");
    assert!(text.contains("/2 artifacts"), "{text}");
    for line in text.lines().filter(|line| line.contains("fix:")) {
        let shown = line.replace("\u{1b}[36m", "").replace("\u{1b}[0m", "");
        assert!(shown.trim_end().chars().count() <= 60, "{line}");
    }
    let plain = on_a_terminal(&registry, 60, "NO_COLOR=1", "--no-progress");
    assert!(!plain.contains('\u{1b}'), "{plain}");
    assert!(!plain.contains("/2 cartridges"), "{plain}");
    let quiet = on_a_terminal(&registry, 60, "X=1", "--quiet");
    assert!(!quiet.contains("/2 cartridges"), "{quiet}");
    let dumb = on_a_terminal(&registry, 60, "TERM=dumb", "");
    assert!(!dumb.contains('\u{1b}'), "{dumb}");
}

#[test]
fn a_report_never_takes_the_place_of_a_registrys_files_or_outlives_its_run() {
    let registry = mixed();
    registry.build_index(&[]);
    let index = registry.index_bytes();
    for file in [
        "index.json",
        "INDEX.json",
        "./trust-registry.json",
        "x/status.json",
        "cartridges/a.md",
        ".git/a.json",
        "a/b.lance/x.txt",
    ] {
        let out = registry.run(&["build-index", "--dry-run", "--report", file]);
        assert_eq!(out.status, 2, "{file}: {out:#?}");
        assert!(out.stderr.contains("own files"), "{file}: {out:#?}");
    }
    assert_eq!(registry.index_bytes(), index);

    // What could not be written is known before anything is done.
    registry.cartridge(&Builder::valid("io.github.acme", "other", "1.0.0"));
    let out = registry.run(&["build-index", "--report", "/nowhere/x.md"]);
    assert_eq!(out.status, 2, "{out:#?}");
    assert_eq!(registry.index_bytes(), index);

    // A run that fails leaves no report of an earlier one, and says so in the job.
    let folder = tempfile::tempdir().unwrap();
    let old = folder.path().join("old.xml");
    fs::write(&old, "<testsuites/>").unwrap();
    registry.put("index.json", "{}");
    let out = registry.run(&[
        "build-index",
        "--format",
        "github",
        "--report",
        old.to_str().unwrap(),
    ]);
    assert_eq!(out.status, 2, "{out:#?}");
    assert!(!old.exists());
    assert!(out.stdout.starts_with("::error title=acx::"), "{out:#?}");
    assert_eq!(out.stdout.lines().count(), 1, "{out:#?}");
}
