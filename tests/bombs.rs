//! Files made to take time or memory: each is judged within two seconds of processor time and 256 MiB, and by its code.
//!
//! `ACX_BOMBS_PROGRAM` names another build of the program to hold to the limits, a release for instance; a build
//! without optimization gets ten times the time. `--nocapture` prints what each took.
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

use std::process::Command;

use serde_json::{Value, json};
use support::cartridge::Builder;
use support::documents::Document;
use support::signed::{graph, workflow};

const SECONDS: f64 = 2.0;
const MEBIBYTES: f64 = 256.0;

/// Runs the program named first and prints its status, processor time and peak memory after its output.
const MEASURE: &str = "import resource,subprocess,sys\n\
    p=subprocess.run(sys.argv[1:],stdin=subprocess.DEVNULL,stdout=subprocess.PIPE)\n\
    u=resource.getrusage(resource.RUSAGE_CHILDREN)\n\
    sys.stdout.buffer.write(p.stdout)\n\
    print(f'\\n{p.returncode} {u.ru_utime+u.ru_stime} {u.ru_maxrss/1024}')\n";

/// The file is rejected with this code, within the limits.
fn defused(name: &str, bytes: &[u8], code: &str) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(name);
    std::fs::write(&file, bytes).unwrap();
    let given = std::env::var("ACX_BOMBS_PROGRAM").ok();
    let slow = cfg!(debug_assertions) && given.is_none();
    let program = given.unwrap_or_else(|| env!("CARGO_BIN_EXE_acx").to_owned());
    let out = Command::new("python3")
        .args(["-c", MEASURE, &program, "check", "--format", "json"])
        .arg(&file)
        .env("HOME", folder.path())
        .output()
        .expect("python3 measures");
    let text = String::from_utf8(out.stdout).unwrap();
    let (report, usage) = text.trim_end().rsplit_once('\n').expect("a line of usage");
    let usage: Vec<f64> = usage.split(' ').map(|n| n.parse().unwrap()).collect();
    let report: Value = serde_json::from_str(report).unwrap_or(Value::Null);
    let codes: Vec<&str> = report["files"][0]["findings"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|f| f["severity"] == "error")
        .map(|f| f["code"].as_str().unwrap())
        .collect();
    let shown = if codes.is_empty() {
        "accepted"
    } else {
        codes[0]
    };
    let case = std::thread::current().name().unwrap_or_default().to_owned();
    println!(
        "| {case} | {shown} | {:.2} s | {:.0} MiB |",
        usage[1], usage[2]
    );
    assert_eq!((usage[0], shown), (1.0, code), "{codes:?}");
    let seconds = if slow { SECONDS * 10.0 } else { SECONDS };
    assert!(usage[1] <= seconds, "{} s of processor time", usage[1]);
    assert!(usage[2] <= MEBIBYTES, "{} MiB", usage[2]);
}

fn bent(bend: impl FnOnce(&mut Builder)) -> Vec<u8> {
    let mut builder = Builder::valid("io.github.acme", "build-smith", "1.0.0");
    bend(&mut builder);
    builder.build()
}

/// A cartridge whose package spec is this text.
fn spec(text: &str) -> Vec<u8> {
    bent(|b| b.spec = Document::text(text))
}

#[test]
fn json_that_is_a_million_deep() {
    defused("c.acx", &spec(&"[".repeat(1_000_000)), "spec-json");
}

#[test]
fn a_number_of_a_million_digits() {
    defused(
        "c.acx",
        &spec(&format!("{{\"a\":{}}}", "9".repeat(1_000_000))),
        "spec-json",
    );
}

#[test]
fn a_million_names_in_an_object() {
    let names: Vec<String> = (0..1_000_000).map(|n| format!("\"{n}\":0")).collect();
    defused(
        "c.acx",
        &spec(&format!("{{{}}}", names.join(","))),
        "spec-json",
    );
}

#[test]
fn one_name_a_hundred_thousand_times() {
    let text = format!("{{{}}}", vec!["\"a\":0"; 100_000].join(","));
    defused("c.acx", &spec(&text), "spec-json");
}

#[test]
fn a_text_of_a_mebibyte_and_more() {
    defused(
        "c.acx",
        &bent(|b| b.set("acx.description", &"a".repeat((1 << 20) + 1))),
        "container-limit",
    );
}

#[test]
fn a_version_of_enormous_numbers() {
    let version = format!("{}.0.0", "9".repeat(100_000));
    defused(
        "c.acx",
        &bent(|b| b.set("acx.artifact_version", &version)),
        "metadata-invalid",
    );
}

#[test]
fn a_version_of_a_hundred_thousand_parts() {
    let version = format!("1.0.0-{}", vec!["a"; 100_000].join("."));
    defused(
        "c.acx",
        &bent(|b| b.set("acx.artifact_version", &version)),
        "metadata-invalid",
    );
}

#[test]
fn a_name_of_combining_marks_bidi_and_joiners() {
    let name = format!("a{}\u{202e}\u{200d}", "\u{301}".repeat(100_000));
    defused(
        "c.acx",
        &bent(|b| b.set("acx.agent_name", &name)),
        "metadata-invalid",
    );
}

#[test]
fn a_date_after_the_end_of_time() {
    defused(
        "c.acx",
        &bent(|b| b.set("acx.created_at", "99999-12-31T23:59:59Z")),
        "metadata-invalid",
    );
}

#[test]
fn a_view_that_never_ends() {
    let view = "CREATE VIEW v AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT x FROM c";
    defused("c.acx", &bent(|b| b.sql(view)), "container-schema-object");
}

#[test]
fn views_that_multiply() {
    let views: Vec<String> = (1..40)
        .map(|n| {
            format!(
                "CREATE VIEW v{n} AS SELECT a.x FROM v{m} a, v{m} b",
                m = n - 1
            )
        })
        .collect();
    let sql = format!("CREATE VIEW v0 AS SELECT 1 AS x; {}", views.join(";"));
    defused("c.acx", &bent(|b| b.sql(&sql)), "container-schema-object");
}

/// Sends the right child of every interior page of a kind (2 of an index, 5 of a table) to the page itself.
fn circles(kind: u8) -> Vec<u8> {
    bent(|b| {
        *b = b.clone().with_memories(200);
        b.after_write(move |bytes| {
            let mut sent = 0;
            for page in 1..bytes.len() / 1024 {
                let at = page * 1024;
                if bytes[at] == kind {
                    let number = u32::try_from(page + 1).unwrap().to_be_bytes();
                    bytes[at + 8..at + 12].copy_from_slice(&number);
                    sent += 1;
                }
            }
            assert!(sent > 0, "no interior page");
        });
    })
}

#[test]
fn a_page_that_is_its_own_child() {
    defused("c.acx", &circles(5), "container-corrupt");
}

#[test]
fn a_page_of_an_index_that_is_its_own_child() {
    defused("c.acx", &circles(2), "container-corrupt");
}

#[test]
fn overflow_pages_that_go_round() {
    let bytes = bent(|b| {
        b.file(
            "rom/knowledge/BIG.bin",
            (0..60_000_u32)
                .flat_map(u32::to_le_bytes)
                .collect::<Vec<u8>>(),
        )
        .form = support::cartridge::Form::Stored;
        b.after_write(|bytes| {
            // Every page that begins with the number of the next one: back to itself.
            for page in 2..bytes.len() / 1024 {
                let at = page * 1024;
                let next = u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
                if next as usize == page + 2 {
                    let number = u32::try_from(page + 1).unwrap().to_be_bytes();
                    bytes[at..at + 4].copy_from_slice(&number);
                }
            }
        });
    });
    defused("c.acx", &bytes, "container-corrupt");
}

#[test]
fn an_archive_file_that_inflates_a_thousandfold() {
    let bytes = bent(|b| {
        b.file("rom/knowledge/ZERO.bin", vec![0; (16 << 20) + 1]);
    });
    defused("c.acx", &bytes, "container-limit");
}

#[test]
fn a_million_tiny_rows() {
    let rows = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c WHERE x < 1000000)
        INSERT INTO sqlar SELECT 'rom/' || x, 420, 0, 0, x'' FROM c";
    defused("c.acx", &bent(|b| b.sql(rows)), "container-limit");
}

#[test]
fn a_document_a_hundred_thousand_deep() {
    let text = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    defused("w.cal.json", text.as_bytes(), "document-json");
}

#[test]
fn a_document_that_is_too_large() {
    let text = format!("{{\"a\":\"{}\"}}", "a".repeat(1 << 20));
    defused("w.cal.json", text.as_bytes(), "document-json");
}

#[test]
fn a_workflow_of_as_many_nodes_as_fit() {
    let document = workflow("io.github.acme", "flow", "1.0.0", 7).changed(7, |value| {
        let nodes: Vec<Value> = (0..9_000)
            .map(|n| json!({"id": format!("n{n}"), "type": "event", "event": "end"}))
            .collect();
        let edges: Vec<Value> = (1..9_000)
            .map(|n| json!({"from": format!("n{}", n - 1), "to": format!("n{n}")}))
            .collect();
        value["start"] = "n0".into();
        value["nodes"] = nodes.into();
        value["edges"] = edges.into();
    });
    let text = serde_json::to_vec(&document.value).unwrap();
    assert!(text.len() < 1 << 20, "{}", text.len());
    defused("w.cal.json", &text, "document-graph");
}

#[test]
fn a_condition_of_hundreds_of_thousands_of_wrong_ones() {
    let whole = json!({"any": vec![json!(0); 500_000]});
    let empty = json!({"all": vec![json!({}); 340_000]});
    let fields =
        json!({"var": 1, "op": 2, "value": 3, "all": 4, "any": 5, "not": 6, "racAvailable": 7});
    let fields = json!({"not": {"any": vec![fields; 11_000]}});
    for when in [whole, empty, fields] {
        let document = workflow("io.github.acme", "flow", "1.0.0", 7).changed(7, |value| {
            value["edges"][0]["when"] = when;
        });
        let text = serde_json::to_vec(&document.value).unwrap();
        assert!(text.len() < 1 << 20, "{}", text.len());
        defused("w.cal.json", &text, "document-schema");
    }
}

#[test]
fn a_graph_of_a_hundred_thousand_nodes() {
    let document = graph("io.github.acme", "team", "1.0.0", 7, &[]).changed(7, |value| {
        value["actors"] = (0..100_000)
            .map(|n| json!({"id": format!("a{n}")}))
            .collect();
    });
    defused(
        "g.agent-graph.json",
        &serde_json::to_vec(&document.value).unwrap(),
        "document-json",
    );
}

#[test]
fn a_mebibyte_of_documents_a_hundred_deep() {
    let one = format!("{}{}", "[".repeat(98), "]".repeat(98));
    let text = format!("{{\"a\":[{}]}}", vec![one; 5_000].join(","));
    assert!(text.len() < 1 << 20);
    defused("w.cal.json", text.as_bytes(), "document-unsigned");
}

#[test]
fn two_hundred_thousand_records_in_the_memory() {
    let rows = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c WHERE x < 200000)
        INSERT INTO memory SELECT 'bomb-' || x, 'rom', 'a', NULL, '{}', 'o', 't' FROM c";
    defused("c.acx", &bent(|b| b.sql(rows)), "container-limit");
}

#[test]
fn a_knowledge_file_that_would_trap_a_backtracking_expression() {
    let text = format!("{}!", "a".repeat(1 << 20));
    let bytes = bent(|b| {
        b.file("rom/knowledge/TRAP.md", text.clone());
        b.after_sign(|db| {
            db.execute_batch("DELETE FROM objects WHERE source_ref = 'rom/knowledge/TRAP.md'")
                .unwrap();
        });
    });
    defused("c.acx", &bytes, "integrity-manifest");
}

/// Files that come to as much as is accepted, each of this text over and over.
fn filled(text: &str) -> Vec<u8> {
    const EACH: usize = 15 << 20;
    bent(|b| {
        for n in 0..8 {
            let content = format!("{n}{}", text.repeat(EACH / text.len()));
            b.file(&format!("rom/knowledge/{n}.md"), content);
        }
        b.after_sign(|db| {
            db.execute_batch("DELETE FROM objects WHERE source_ref = 'rom/knowledge/0.md'")
                .unwrap();
        });
    })
}

#[test]
fn as_much_as_is_accepted_of_nothing() {
    defused("c.acx", &filled("\0"), "integrity-manifest");
}

#[test]
fn as_much_as_is_accepted_of_what_begins_like_secrets() {
    for text in [
        "AKIA",
        "-----BEGIN ",
        "ghp_",
        "eyJ",
        "a@",
        "/home/",
        "password=\"",
        "://a:",
        "\u{200d}\u{301}",
        "10.",
    ] {
        println!("{text}");
        defused("c.acx", &filled(text), "integrity-manifest");
    }
}
