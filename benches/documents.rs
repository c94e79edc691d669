//! What it takes to judge documents, per byte and per node: `cargo bench --bench documents`.
//!
//! Each line sets a large input beside a small one of the same make, both judged in this process, by turns; the median
//! counts. A ratio of one says that the cost grows with the input and no faster.
//!
//! - A thousand workflows against ten of the same sizes, per byte.
//! - The longest chain of nodes that a document holds (1 MiB), listed backwards, against a short one, per node; a pass that
//!   asks every node again until nothing changes would take the square.
//! - A chain of 100,000 nodes is larger than a document may be: how long its refusal takes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark fails and prints as a test does"
)]

use std::time::Instant;

use acx_registry::document::{self, Kind, MAX_BYTES, Settings};
use acx_registry::model::Timestamp;
use acx_registry::policy::{Policy, TrustRegistry};
use serde_json::{Value, json};

#[path = "../tests/support/mod.rs"]
mod support;

use support::cartridge::PUBLISHER_SEED;
use support::signed::{Document, workflow};

const PUBLISHER: &str = "io.github.acme";
const TURNS: usize = 7;
/// Nodes of documents of a usual size, up to about 60 KiB.
const SIZES: [usize; 10] = [2, 8, 20, 50, 100, 200, 300, 400, 500, 600];

/// A workflow whose nodes are a chain, the last one listed first.
fn chain(id: &str, nodes: usize) -> Vec<u8> {
    let name = |n: usize| format!("n{n:x}");
    let mut value = workflow(PUBLISHER, id, "1.0.0", PUBLISHER_SEED).value;
    let last = json!({"id": name(nodes), "type": "event", "event": "end"});
    let rest = (0..nodes)
        .rev()
        .map(|n| json!({"id": name(n), "type": "event", "event": "handoff"}));
    value["nodes"] = std::iter::once(last).chain(rest).collect();
    let edges = (0..nodes).rev();
    value["edges"] = edges
        .map(|n| json!({"from": name(n), "to": name(n + 1)}))
        .collect::<Value>();
    value["start"] = name(0).into();
    let signed = Document::signed(value, PUBLISHER, PUBLISHER_SEED);
    serde_json::to_vec(&signed.value).unwrap()
}

/// Seconds that judging these takes, one after the other; each must be accepted, or none.
fn judge(documents: &[Vec<u8>], accepted: bool) -> f64 {
    let (policy, trust) = (Policy::default(), TrustRegistry::default());
    let now = Timestamp::try_from("2026-09-01T00:00:00Z").unwrap();
    let settings = Settings {
        policy: &policy,
        trust: &trust,
        now: &now,
        publication: true,
    };
    let start = Instant::now();
    for bytes in documents {
        let judgement = document::judge(Kind::Workflow, "a.cal.json", None, bytes, settings);
        let found = &judgement.findings;
        assert_eq!(judgement.accepted.is_some(), accepted, "{found:?}");
    }
    start.elapsed().as_secs_f64()
}

/// The medians of both, measured by turns; the small one as often as the large one is larger, at most a hundred times.
fn by_turns(small: &[Vec<u8>], large: &[Vec<u8>]) -> [f64; 2] {
    let bytes = |documents: &[Vec<u8>]| documents.iter().map(Vec::len).sum::<usize>();
    let times = (bytes(large) / bytes(small)).clamp(1, 100);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        let each = (0..times).map(|_| judge(small, true)).sum::<f64>();
        ours.push(each / times as f64);
        theirs.push(judge(large, true));
    }
    [ours, theirs].map(|mut all| {
        all.sort_by(f64::total_cmp);
        all[TURNS / 2]
    })
}

fn line(what: &str, unit: &str, units: [usize; 2], seconds: [f64; 2]) {
    let per = [0, 1].map(|n| seconds[n] * 1e9 / units[n] as f64);
    let ratio = per[1] / per[0];
    println!(
        "{what:<44} {:>9.1} {:>9.1} ns/{unit:<5} {ratio:>6.2}",
        per[0], per[1]
    );
}

fn main() {
    println!(
        "{:<44} {:>9} {:>9} {:<8} {:>6}",
        "", "small", "large", "", "ratio"
    );
    let many = |count: usize| -> Vec<Vec<u8>> {
        let each = (0..count).map(|n| chain(&format!("flow{n}"), SIZES[n % SIZES.len()]));
        each.collect()
    };
    let (ten, thousand) = (many(10), many(1000));
    let bytes = [&ten, &thousand].map(|all| all.iter().map(Vec::len).sum::<usize>());
    let seconds = by_turns(&ten, &thousand);
    line("10 and 1,000 documents", "byte", bytes, seconds);

    // About 76 bytes a node with its edge.
    let (short, long) = (100, 13_000);
    let documents = [short, long].map(|nodes| [chain("chain", nodes)]);
    assert!(documents[1][0].len() < MAX_BYTES && documents[1][0].len() > MAX_BYTES / 10 * 8);
    let seconds = by_turns(&documents[0], &documents[1]);
    let what = format!("chains of {short} and {long} nodes, backwards");
    line(&what, "node", [short, long], seconds);

    let huge = [chain("huge", 100_000)];
    let refused = judge(&huge, false);
    println!(
        "a chain of 100,000 nodes, {} bytes: refused in {:.3} ms",
        huge[0].len(),
        refused * 1e3
    );
}
