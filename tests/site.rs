//! `acx site`: the pages of a registry's index, whatever the index says, and how they get into a folder.
//!
//! What a reader sees is looked at in Chromium, by `tests/browser/`, which needs `chromium`, `node` and `npm`.
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
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use acx_registry::attest::PrivateKey;
use acx_registry::model::Timestamp;
use acx_registry::publish::KeySource;
use acx_registry::publish::{self, Content, SignedIndex, Signing};
use acx_registry::site::{self, Site};
use serde_json::{Value, json};
use support::cartridge::{Builder, PUBLISHER_SEED};
use support::levels;
use support::registry::{INDEX_SEED, SEPTEMBER, TempRegistry, index_keyid, ledger_entry};
use support::signed::{graph, workflow};
use support::{keys, registry::run_acx};

/// An entry of an index, as a build writes it, but for what is changed.
fn entry(publisher: &str, id: &str, version: &str, edit: impl FnOnce(&mut Value)) -> Value {
    let digest = |seed: &str| {
        format!(
            "sha256:{}",
            keys::sha256(format!("{seed} {publisher} {id} {version}").as_bytes())
                .trim_start_matches("sha256:")
        )
    };
    let mut entry = json!({
        "id": id, "slug": format!("{publisher}__{id}"),
        "path": format!("cartridges/{publisher}/{id}/{version}/cartridge.acx"),
        "name": id, "publisher": publisher, "role": "qa_engineer", "provider": "custom", "model": null,
        "version": version, "description": format!("What {id} does."), "license": "Apache-2.0",
        "authors": [{"name": "Ada"}], "tags": [], "homepage": null, "trust": "portable",
        "trustStatus": "warning", "specClean": true, "romHash": digest("rom"), "digest": digest("rom"),
        "bytes": 90_112, "capabilities": [], "level": null,
        "levelClaim": {"acxLevel": null, "careerTier": null, "verificationState": null},
        "registryStatus": {
            "status": "active", "reason": null, "recordedAt": null, "successor": null, "advisory": null,
        },
        "latest": false, "keyid": index_keyid(), "signedAt": "2026-07-01T00:00:00Z",
        "sha256": digest("file"), "memories": null,
    });
    edit(&mut entry);
    entry
}

fn capability(task: &str) -> Value {
    json!({
        "taskType": task, "stack": ["pkg:cargo/serde"], "domain": "backend", "claimedVerified": true,
        "verified": false, "verificationState": "unresolved",
    })
}

fn template(id: &str) -> Value {
    json!({
        "id": id, "version": null, "name": id, "description": "A starting point.", "license": "Apache-2.0",
        "tags": ["template"], "publisher": "local.registry", "path": format!("templates/{id}/manifest.json"),
        "fileCount": 1, "files": ["manifest.json"], "signed": false, "trust": "unsigned",
        "trustStatus": "warning",
    })
}

/// An entry of a workflow, or of an Agent Graph that pins workflows, as a build writes it, but for what is changed.
fn document(
    publisher: &str,
    id: &str,
    version: &str,
    pinned: Option<&[&Value]>,
    edit: impl FnOnce(&mut Value),
) -> Value {
    let mut entry = entry(publisher, id, version, |_| {});
    for name in [
        "slug",
        "role",
        "provider",
        "model",
        "authors",
        "homepage",
        "specClean",
        "romHash",
        "bytes",
        "capabilities",
        "level",
        "levelClaim",
        "memories",
    ] {
        entry.as_object_mut().unwrap().remove(name);
    }
    let place = match pinned {
        None => format!("cals/{publisher}/{id}/{version}.cal.json"),
        Some(_) => format!("graphs/{publisher}/{id}/{version}.agent-graph.json"),
    };
    let own = match pinned {
        None => json!({
            "participants": [{"alias": "builder", "bind": "slot", "role": "backend_dev", "romDigest": null}],
            "participantCount": 1, "nodeCount": 2, "capabilities": ["debug"],
        }),
        Some(pinned) => {
            let loops = pinned.iter().enumerate().map(|(n, workflow)| {
                json!({
                    "id": format!("loop{n}"), "kind": "acx-workflow",
                    "workflowPublisherId": workflow["publisher"], "workflowId": workflow["id"],
                    "workflowVersion": workflow["version"], "digest": workflow["digest"],
                })
            });
            let resolved = pinned.iter().enumerate().map(|(n, workflow)| {
                json!({
                    "loopId": format!("loop{n}"), "artifactType": "workflow",
                    "publisherId": workflow["publisher"], "id": workflow["id"],
                    "version": workflow["version"], "digest": workflow["digest"],
                    "status": "resolved", "path": workflow["path"], "registryStatus": "active",
                })
            });
            json!({
                "actorCount": 2, "knowledgeCount": 1, "routeCount": 1, "loopCount": pinned.len(),
                "convergenceCount": 0, "intents": ["request"],
                "actors": [
                    {"id": "lead", "name": "Lead", "kind": "human"},
                    {"id": "maker", "name": "maker", "kind": "agent"},
                ],
                "knowledge": [{"id": "brief", "name": "Brief", "kind": "intent", "stewards": ["lead"]}],
                "loops": loops.collect::<Value>(), "dependencies": resolved.collect::<Value>(),
                "dependenciesResolved": true,
            })
        }
    };
    entry["path"] = place.into();
    entry["lineage"] = json!([]);
    entry["publishable"] = true.into();
    entry["signed"] = true.into();
    let members = entry.as_object_mut().unwrap();
    members.extend(own.as_object().unwrap().clone());
    edit(&mut entry);
    entry
}

/// The bytes of an index of these entries, of whatever kind, signed as a hostile registry can sign whatever it likes.
fn signed(entries: Vec<Value>, templates: Vec<Value>) -> Vec<u8> {
    let of_kind = |kind: &str| -> Value {
        let of = |entry: &Value| {
            let path = entry["path"].as_str().unwrap().to_owned();
            let other = !path.starts_with("cals/") && !path.starts_with("graphs/");
            path.starts_with(kind) || (other && kind == "cartridges/")
        };
        entries.iter().filter(|e| of(e)).cloned().collect()
    };
    let content = Content::new(
        "2026-07-01T00:00:00Z".to_owned(),
        acx_registry::project::Entries {
            cartridges: serde_json::from_value(of_kind("cartridges/")).unwrap(),
            workflows: serde_json::from_value(of_kind("cals/")).unwrap(),
            agent_graphs: serde_json::from_value(of_kind("graphs/")).unwrap(),
        },
        serde_json::from_value(json!(templates)).unwrap(),
    );
    let signing = Signing {
        registry_id: "org.example.registry".to_owned(),
        sequence: 7,
        previous_digest: Some(content.digest()),
        signed_at: Timestamp::try_from("2026-08-01T00:00:00Z").unwrap(),
        expires: None,
        retired: Vec::new(),
    };
    let key = PrivateKey::from_seed(&keys::seed(INDEX_SEED)).unwrap();
    publish::render(&content, &publish::sign(&content, &signing, &key)).unwrap()
}

fn index(entries: Vec<Value>, templates: Vec<Value>) -> SignedIndex {
    publish::read(&signed(entries, templates)).unwrap()
}

type Pages = BTreeMap<String, Vec<u8>>;

fn pages(index: &SignedIndex, source: KeySource) -> Pages {
    let site = Site::new(index, source).unwrap();
    let files = site.files();
    let pages: Pages = files.iter().map(|f| (f.path.clone(), f.bytes())).collect();
    assert_eq!(pages.len(), files.len(), "a path twice");
    pages
}

fn text<'a>(pages: &'a Pages, path: &str) -> &'a str {
    std::str::from_utf8(pages.get(path).unwrap_or_else(|| panic!("{path}"))).unwrap()
}

/// A registry that shows everything there is to see: for the tests, and for the eyes.
fn varied() -> (Vec<Value>, Vec<Value>) {
    let mut entries = vec![
        entry("com.example.ada", "build-smith", "2.0.0-rc.1", |e| {
            e["name"] = json!("Build Smith");
        }),
        entry("com.example.ada", "build-smith", "1.1.0", |e| {
            e["name"] = json!("Build Smith");
            e["latest"] = json!(true);
            e["trust"] = json!("trusted");
            e["trustStatus"] = json!("verified");
            e["description"] = json!(
                "Keeps builds short and green: finds what a change really needs to be built again, splits slow tests, and says why a cache was missed.\n\nWorks with Make, Bazel and Cargo."
            );
            e["tags"] = json!(["builds", "caching", "ci"]);
            e["homepage"] = json!("https://example.com/build-smith");
            e["authors"] = json!([{"name": "Ada Lovelace", "url": "https://example.com/ada"}, {"name": "Grace"}]);
            e["capabilities"] = json!([
                capability("build-dag"),
                capability("implement-feature"),
                capability("debug"),
                capability("review"),
                capability("write-tests"),
            ]);
            e["levelClaim"] =
                json!({"acxLevel": 4, "careerTier": "senior", "verificationState": "unresolved"});
            e["memories"] = json!({
                "path": "cartridges/com.example.ada/build-smith/1.1.0/cartridge.memories.lance", "rows": 1204,
                "schema": "acx.lance-memory/1", "engine": "local-hash-128",
                "digest": format!("sha256:{}", "ab".repeat(32)),
            });
        }),
        entry("com.example.ada", "build-smith", "1.0.0", |e| {
            e["registryStatus"] = json!({
                "status": "withdrawn", "reason": "It leaked a path of the build host.",
                "recordedAt": "2026-07-20T00:00:00Z",
                "successor": {"artifactType": "agent", "publisherId": "com.example.ada", "id": "build-smith",
                    "version": "1.1.0", "digest": format!("sha256:{}", "cd".repeat(32))},
                "advisory": "https://example.com/advisories/1",
            });
        }),
        entry("com.example.docs", "scribe", "0.3.0", |e| {
            e["name"] = json!("Scribe");
            e["latest"] = json!(true);
            e["description"] =
                json!("A portable technical writer who keeps READMEs and error messages short.");
            e["tags"] = json!(["documentation"]);
            e["capabilities"] = json!([capability("write-docs")]);
        }),
        entry("com.example.docs", "old-scribe", "0.1.0", |e| {
            e["name"] = json!("Old Scribe");
            e["latest"] = json!(true);
            e["registryStatus"]["status"] = json!("deprecated");
            e["registryStatus"]["reason"] = json!("Scribe does more with less.");
            e["tags"] = json!(["documentation"]);
            e["capabilities"] = json!([capability("write-docs")]);
        }),
        entry("org.example.ops", "night-watch", "3.2.1", |e| {
            e["name"] = json!("Night Watch");
            e["latest"] = json!(true);
            e["trust"] = json!("trusted");
            e["trustStatus"] = json!("verified");
            e["registryStatus"]["status"] = json!("superseded");
            e["description"] = json!(
                "Reads alerts at night, groups those that have one cause, and wakes somebody only when it must."
            );
            e["tags"] = json!(["incident", "on-call"]);
            e["capabilities"] = json!([capability("triage-incident"), capability("debug")]);
        }),
    ];
    let works = [
        "lint", "port", "review", "release", "migrate", "trace", "triage", "index",
    ];
    let things = [
        "api", "cart", "docs", "graph", "mail", "queue", "schema", "shop", "table", "theme",
        "token", "trial", "wheel", "work", "yard", "zone",
    ];
    for (n, (work, thing)) in works
        .iter()
        .flat_map(|w| things.iter().map(move |t| (w, t)))
        .enumerate()
    {
        entries.push(entry(
            &format!("io.github.team{}", n % 9),
            &format!("{work}-{thing}"),
            &format!("1.{n}.0"),
            |e| {
                e["latest"] = json!(true);
                e["name"] = json!(format!("{} {}", work, thing));
                e["tags"] = json!([work, thing]);
                e["description"] = json!(format!(
                    "Helps a team to {work} its {thing} and remembers what went wrong before."
                ));
                e["capabilities"] =
                    json!([capability(if n % 2 == 0 { "review" } else { "debug" })]);
                if n % 3 == 0 {
                    e["trust"] = json!("trusted");
                    e["trustStatus"] = json!("verified");
                }
            },
        ));
    }
    entries.push(entry("net.example.hostile", "hostile", "1.0.0", |e| {
        e["latest"] = json!(true);
        e["name"] = json!("</script><script>self.pwned=1</script><img src=x onerror=self.pwned=1>");
        e["description"] = json!("<b>bold</b>\u{202e}evil\u{1b}[31m\n::error::boo & \"quoted\"");
        e["tags"] = json!(["<i>tag</i>", "javascript:alert(1)"]);
        e["homepage"] = json!("javascript:alert(1)");
        e["authors"] = json!([{"name": "x", "url": "JaVaScRiPt:alert(1)"}]);
        e["capabilities"] = json!([capability("'\"><svg onload=self.pwned=1>")]);
    }));
    entries.extend(with_documents());
    (entries, vec![template("starter")])
}

/// Every link of every page, as (page, attribute, address).
fn links(pages: &Pages) -> Vec<(String, String)> {
    let mut links = Vec::new();
    for (path, bytes) in pages.iter().filter(|(path, _)| path.ends_with(".html")) {
        let text = std::str::from_utf8(bytes).unwrap();
        for attribute in [" href=\"", " src=\""] {
            for part in text.split(attribute).skip(1) {
                let address = part.split('"').next().unwrap();
                links.push((path.clone(), address.replace("&amp;", "&")));
            }
        }
    }
    links
}

#[test]
fn the_same_index_gives_the_same_bytes() {
    let (mut entries, templates) = varied();
    let first = pages(
        &index(entries.clone(), templates.clone()),
        KeySource::Consumer,
    );
    assert_eq!(
        first,
        pages(
            &index(entries.clone(), templates.clone()),
            KeySource::Consumer
        )
    );
    // Nor does the order matter in which a hostile index lists them, but for its digest.
    entries.reverse();
    let other = pages(&index(entries, templates), KeySource::Consumer);
    assert_eq!(first["index.html"], other["index.html"]);
    assert_eq!(first["assets/data-1.js"], other["assets/data-1.js"]);
    assert!(first.keys().eq(other.keys()));
}

#[test]
fn every_link_leads_to_a_file_of_the_site_or_to_the_web() {
    let (entries, templates) = varied();
    let pages = pages(&index(entries, templates), KeySource::Consumer);
    let mut inside = 0;
    let mut outside = BTreeSet::new();
    for (page, address) in links(&pages) {
        if address.starts_with("https://") {
            outside.insert(address);
            continue;
        }
        assert!(
            !address.contains(':') && !address.starts_with('/'),
            "{page}: {address}"
        );
        let (file, fragment) = address.split_once('#').unwrap_or((&address, ""));
        let mut at: Vec<&str> = page.split('/').collect();
        if !file.is_empty() {
            at.pop();
            for part in file.split('/') {
                match part {
                    ".." => assert!(at.pop().is_some(), "{page}: {address} leaves the site"),
                    part => at.push(part),
                }
            }
        }
        let target = text(&pages, &at.join("/"));
        if !fragment.is_empty() && !fragment.contains('=') {
            assert!(
                target.contains(&format!(" id=\"{fragment}\"")),
                "{page}: {address}"
            );
        }
        inside += 1;
    }
    assert!(inside > 1000, "{inside}");
    let expected = [
        "https://example.com/ada",
        "https://example.com/advisories/1",
        "https://example.com/build-smith",
    ];
    assert!(outside.iter().eq(expected.iter()), "{outside:?}");
}

#[test]
fn the_pages_show_what_the_index_says() {
    let (entries, templates) = varied();
    let entry = entries[1].clone();
    let pages = pages(&index(entries, templates), KeySource::Consumer);
    let page = text(
        &pages,
        "cartridges/build-smith__com.example.ada/v-1.1.0.html",
    );
    // The coordinate's own page shows the latest, which is not the newest.
    let latest = text(&pages, "cartridges/build-smith__com.example.ada/index.html");
    let path = entry["path"].as_str().unwrap();
    let hex = entry["sha256"]
        .as_str()
        .unwrap()
        .trim_start_matches("sha256:");
    for part in [
        entry["digest"].as_str().unwrap(),
        entry["sha256"].as_str().unwrap(),
        entry["keyid"].as_str().unwrap(),
        "2026-07-01T00:00:00Z",
        "90,112 bytes",
        "<bdi>Ada Lovelace</bdi> <a href=\"https://example.com/ada\" rel=\"external nofollow noopener noreferrer\">",
        "Works with Make, Bazel and Cargo.",
        "Capabilities <span class=\"badge claim\">unproven claims</span>",
        "<span class=\"badge claim\">unproven</span> claims level 4 <bdi>senior</bdi>",
        "1,204 records",
        "as active and proven for this publisher",
        &format!("acx verify-index --keyid {} .", index_keyid()),
        &format!("acx verify {path}<"),
        &format!("echo &#39;{hex}  {path}&#39; | sha256sum -c"),
        "href=\"v-2.0.0-rc.1.html\"",
        "href=\"v-1.0.0.html\"",
    ] {
        assert!(page.contains(part), "{part} in {page}");
        assert!(latest.contains(part), "{part} in {latest}");
    }
    let withdrawn = text(
        &pages,
        "cartridges/build-smith__com.example.ada/v-1.0.0.html",
    );
    for part in [
        "This version is withdrawn. Do not use it.",
        "It leaked a path of the build host.",
        "<a href=\"../../cartridges/build-smith__com.example.ada/v-1.1.0.html\"><bdi>com.example.ada/build-smith 1.1.0</bdi>",
        "<a href=\"https://example.com/advisories/1\"",
    ] {
        assert!(withdrawn.contains(part), "{part} in {withdrawn}");
    }
    let about = text(&pages, "registry.html");
    for part in [
        "<bdi>org.example.registry</bdi>",
        "<dd>7 <span",
        "held against a given key",
        "2026-08-01T00:00:00Z",
        "--min-sequence 7",
        "<dt>Cartridge versions</dt><dd>135</dd>",
        "<dt>Templates</dt><dd>1</dd>",
    ] {
        assert!(about.contains(part), "{part} in {about}");
    }
    // Sixty cards a page, each cartridge once.
    let cards = |page: &str| text(&pages, page).matches("<article").count();
    assert_eq!(
        [
            cards("index.html"),
            cards("page-2.html"),
            cards("page-3.html")
        ],
        [60, 60, 17]
    );
    assert!(!pages.contains_key("page-4.html"));
}

#[test]
fn who_vouches_is_on_every_page() {
    let index = index(vec![entry("a.b", "c", "1.0.0", |_| {})], Vec::new());
    for (source, says) in [
        (KeySource::Consumer, None),
        (
            KeySource::OwnPolicy,
            Some("<strong>Self-attested.</strong>"),
        ),
        (
            KeySource::Nobody,
            Some("<strong>Nobody vouches for this index.</strong>"),
        ),
    ] {
        let pages = pages(&index, source);
        let html = pages.keys().filter(|path| path.ends_with(".html"));
        for path in html {
            for known in [
                "<strong>Self-attested.</strong>",
                "<strong>Nobody vouches for this index.</strong>",
            ] {
                assert_eq!(
                    text(&pages, path).contains(known),
                    says == Some(known),
                    "{path}"
                );
            }
        }
    }
}

/// The document pages of a registry with two workflows and two versions of a graph that pins both.
fn with_documents() -> Vec<Value> {
    let build = document("com.example.ada", "deliver", "1.0.0", None, |e| {
        e["latest"] = true.into();
        e["name"] = "Deliver".into();
    });
    let study = document("org.example.grace", "study", "0.1.0", None, |e| {
        e["registryStatus"]["status"] = "deprecated".into();
        e["latest"] = true.into();
    });
    let pinned = [&build, &study, &build];
    let old = document("com.example.ada", "team", "1.0.0", Some(&pinned), |_| {});
    let new = document("com.example.ada", "team", "1.1.0", Some(&[&build]), |e| {
        e["latest"] = true.into();
        e["name"] = "Team of stewards".into();
        e["lineage"] = json!([{
            "artifactType": "agent-graph", "publisherId": "com.example.ada", "id": "team", "version": "1.0.0",
            "digest": old["digest"], "relation": "supersedes", "source": null,
        }]);
    });
    vec![build, study, old, new]
}

#[test]
fn workflows_and_graphs_have_pages_that_lead_to_each_other() {
    let entries = with_documents();
    let pages = pages(&index(entries.clone(), Vec::new()), KeySource::Consumer);
    let list = text(&pages, "index.html");
    assert!(
        list.contains("0 cartridges in 0 versions, 2 workflows, 1 Agent Graph."),
        "{list}"
    );
    for href in [
        "workflows/deliver__com.example.ada/index.html",
        "workflows/study__org.example.grace/index.html",
        "graphs/team__com.example.ada/index.html",
    ] {
        assert!(list.contains(&format!("<a href=\"{href}\">")), "{href}");
        assert!(pages.contains_key(href), "{href}");
    }
    assert_eq!(
        list.matches("<span class=\"badge kind\">workflow</span>")
            .count(),
        2
    );
    assert_eq!(
        list.matches("<span class=\"badge kind\">agent-graph</span>")
            .count(),
        1
    );
    let data = text(&pages, "assets/data-1.js");
    assert!(
        data.contains("[\"workflow\",\"workflows/deliver__com.example.ada/index.html\""),
        "{data}"
    );
    assert!(
        data.contains("[\"agent-graph\",\"graphs/team__com.example.ada/index.html\""),
        "{data}"
    );

    let old = text(&pages, "graphs/team__com.example.ada/v-1.0.0.html");
    let (build, study, team) = (&entries[0], &entries[1], &entries[2]);
    for shown in [
        team["digest"].as_str().unwrap(),
        team["sha256"].as_str().unwrap(),
        team["keyid"].as_str().unwrap(),
        "2026-07-01T00:00:00Z",
        build["digest"].as_str().unwrap(),
        study["digest"].as_str().unwrap(),
        "<a href=\"../../workflows/deliver__com.example.ada/v-1.0.0.html\">",
        "<a href=\"../../workflows/study__org.example.grace/v-0.1.0.html\">",
        "The latest version is <a href=\"v-1.1.0.html\">",
        "stewarded by <bdi>lead</bdi>",
        "acx verify graphs/com.example.ada/team/1.0.0.agent-graph.json",
    ] {
        assert!(old.contains(shown), "{shown}\n{old}");
    }
    // Two actors, one module, three loops, and each workflow once: eight boxes; three pins and one steward.
    assert_eq!(old.matches("<rect ").count(), 8, "{old}");
    assert_eq!(old.matches("<path class=\"pin\"").count(), 3);
    assert_eq!(old.matches("<path class=\"steward\"").count(), 1);
    // Its routes are in the document, which is not at hand.
    assert_eq!(old.matches("<path class=\"route").count(), 0);
    assert!(old.contains("which was not beside the index when this page was made"));

    let new = text(&pages, "graphs/team__com.example.ada/index.html");
    assert!(
        new.contains("<a href=\"../../graphs/team__com.example.ada/v-1.0.0.html\">"),
        "{new}"
    );
    let flow = text(&pages, "workflows/deliver__com.example.ada/v-1.0.0.html");
    for version in ["1.0.0", "1.1.0"] {
        let href = format!("<a href=\"../../graphs/team__com.example.ada/v-{version}.html\">");
        assert_eq!(flow.matches(&href).count(), 1, "{flow}");
    }
    let other = text(&pages, "workflows/study__org.example.grace/index.html");
    assert!(other.contains("Agent Graphs that pin it") && !other.contains("v-1.1.0.html"));
    assert!(other.contains("This version is deprecated."));
    let mut reversed = entries;
    reversed.reverse();
    let again = pages_of(reversed);
    for path in pages
        .keys()
        .filter(|p| p.starts_with("graphs/") && p.contains("v-"))
    {
        let picture = |pages: &Pages| {
            let page = text(pages, path);
            let from = page.find("<svg").unwrap();
            page[from..page.rfind("</svg>").unwrap()].to_owned()
        };
        assert_eq!(picture(&pages), picture(&again), "{path}");
    }
}

fn pages_of(entries: Vec<Value>) -> Pages {
    pages(&index(entries, Vec::new()), KeySource::Consumer)
}

#[test]
fn a_graph_that_is_too_large_to_draw_says_so_and_lists() {
    let flow = document("a.b", "flow", "1.0.0", None, |_| {});
    let team = |actors: usize, stewards: usize| {
        let team = document("a.b", "team", "1.0.0", Some(&[&flow]), |e| {
            let name = |n: usize| format!("actor{n}");
            e["actors"] = (0..actors)
                .map(|n| json!({"id": name(n), "name": name(n), "kind": "agent"}))
                .collect();
            let all: Vec<String> = (0..actors).map(name).collect();
            e["knowledge"] = (0..stewards)
                .map(|n| json!({"id": format!("k{n}"), "name": "k", "kind": "risk", "stewards": all}))
                .collect();
        });
        let pages = pages_of(vec![flow.clone(), team]);
        text(&pages, "graphs/team__a.b/index.html").to_owned()
    };
    // With the loop and the workflow.
    let drawn = team(70, 5);
    assert_eq!(drawn.matches("<rect ").count(), 77);
    assert!(!drawn.contains("Not drawn"));
    for (actors, stewards, says) in [
        (79, 0, "Not drawn: it has 81 nodes and 1 or more lines"),
        (60, 10, "Not drawn: it has 72 nodes and 401 or more lines"),
        (
            20_000,
            0,
            "Not drawn: it has 20,002 nodes and 0 or more lines",
        ),
    ] {
        let page = team(actors, stewards);
        assert!(
            page.contains(says),
            "{says}: {:.2000}",
            &page[page.find("Not drawn").unwrap()..]
        );
        assert!(!page.contains("<svg"));
        assert!(
            page.contains("actor50") && page.len() < 100_000,
            "{}",
            page.len()
        );
    }
}

#[test]
fn a_documents_own_content_is_shown_where_it_is_beside_the_index() {
    let registry = TempRegistry::new();
    let flow = workflow("io.github.acme", "deliver", "1.0.0", PUBLISHER_SEED);
    let team = graph("io.github.acme", "team", "1.0.0", PUBLISHER_SEED, &[&flow]).changed(
        PUBLISHER_SEED,
        |value| {
            value["routes"][0]["purpose"] = "Asks <script>alert(1)</script> for it.".into();
            value["routes"][0]["obligation"] = "must".into();
            value["routes"][0]["intent"] = "direct".into();
            value["actors"][0]["name"] = "</text></svg><script>alert(1)</script>".into();
        },
    );
    for document in [&flow, &team] {
        registry.put(&document.path(), document.bytes());
    }
    assert_eq!(registry.build_at(SEPTEMBER, &[]).status, 0);
    let (output, out) = site_of(&registry, &["--keyid", &index_keyid()]);
    assert_eq!(output.status, 0, "{output:#?}");
    let first = tree(&out);
    let page = text(&first, "graphs/team__io.github.acme/v-1.0.0.html");
    assert_eq!(
        page.matches("<path class=\"route must\"").count(),
        1,
        "{page}"
    );
    assert_eq!(page.matches("<path class=\"import\"").count(), 1);
    assert!(
        page.contains("<bdi>lead</bdi> → <bdi>builder</bdi>"),
        "{page}"
    );
    assert!(page.contains("&lt;/text&gt;&lt;/svg&gt;"), "{page}");
    assert_eq!(page.matches("<script").count(), 1);
    assert_eq!(markup(page), (0, 0));
    assert_eq!(page.matches("</svg>").count(), page.matches("<svg").count());
    // The same again.
    let (output, _) = site_of(&registry, &["--keyid", &index_keyid()]);
    assert_eq!(output.status, 0, "{output:#?}");
    assert_eq!(tree(&out), first);
    // A document that is not what the index lists is not shown at all.
    let other = team.changed(PUBLISHER_SEED, |value| {
        value["routes"][0]["to"] = json!(["lead"])
    });
    registry.put(&team.path(), other.bytes());
    let (output, _) = site_of(&registry, &["--keyid", &index_keyid()]);
    assert_eq!(output.status, 1, "{output:#?}");
    assert_eq!(tree(&out), first);
}

#[test]
fn a_level_is_shown_with_its_evidence_and_a_forged_one_is_never_verified() {
    let registry = TempRegistry::new();
    let keys = levels::issuer_keys(&[levels::signed_list(&[9])]);
    registry.put("issuer-keys.json", keys.to_string());
    let mut builder = levels::cartridge("fine");
    // The signed package spec counts them.
    builder
        .attestations
        .push(levels::attestation("forged", "{}"));
    let rom = builder.manifest_hash();
    let mut proven = levels::credential(&rom);
    levels::sign(&mut proven, levels::ISSUER_SEED);
    let mut forged = proven.clone();
    forged["id"] = "urn:forged".into();
    forged["credentialSubject"]["result"][0]["acx:acxLevel"] = 45.into();
    forged["credentialSubject"]["result"][0]["acx:careerTier"] = "legend".into();
    builder.attestations = vec![
        levels::attestation("forged", &forged.to_string()),
        levels::attestation("level-1", &proven.to_string()),
    ];
    registry.cartridge(&builder);
    assert_eq!(registry.build_at(SEPTEMBER, &[]).status, 0);
    let (output, out) = site_of(&registry, &["--keyid", &index_keyid()]);
    assert_eq!(output.status, 0, "{output:#?}");
    let page = "cartridges/fine__io.github.acme/v-1.0.0.html";
    let shown = tree(&out);
    let html = text(&shown, page);
    for says in [
        "<span class=\"badge trusted\">proven</span> level 26 <bdi>principal</bdi>",
        "<span class=\"badge withdrawn\">invalid</span> claims level 45 <bdi>legend</bdi>",
        "<strong>level 26 <bdi>principal</bdi></strong> <span class=\"badge trusted\">verified</span>",
        "<strong>level 45 <bdi>legend</bdi></strong> <span class=\"badge withdrawn\">invalid</span>",
        "urn:uuid:00000000-0000-4000-8000-000000000001",
        "urn:forged",
        levels::ISSUER,
        levels::METHOD,
        levels::LIST,
        "not revoked",
    ] {
        assert!(html.contains(says), "{says}\n{html}");
    }
    assert_eq!(html.matches(">verified<").count(), 1, "{html}");
    // With other keys than the index's there is no evidence that agrees with it, and none is shown.
    let empty = registry.home().join("none.json");
    fs::write(&empty, levels::issuer_keys(&[]).to_string()).unwrap();
    let more = [
        "--keyid",
        &index_keyid(),
        "--issuer-keys",
        empty.to_str().unwrap(),
    ];
    let (output, _) = site_of(&registry, &more);
    assert_eq!(output.status, 0, "{output:#?}");
    let html = tree(&out);
    assert!(!text(&html, page).contains("Level credentials"));
    assert!(text(&html, page).contains("The credentials of this level are not shown"));
    // The keys are the ones that the policy pins, as for a build.
    let pin = keys::sha256(&fs::read(registry.at("issuer-keys.json")).unwrap());
    registry.policy(&format!("[levels]\nissuer_keys_sha256 = \"{pin}\"\n"));
    assert_eq!(site_of(&registry, &["--keyid", &index_keyid()]).0.status, 0);
    let before = tree(&out);
    let (output, _) = site_of(&registry, &more);
    assert_eq!(output.status, 2, "{output:#?}");
    assert!(output.stderr.contains("issuer_keys_sha256"), "{output:#?}");
    assert_eq!(tree(&out), before);
    // Without any cartridge at hand the page says what the index says.
    fs::remove_dir_all(registry.at("cartridges/io.github.acme/fine")).unwrap();
    let (output, _) = site_of(&registry, &["--keyid", &index_keyid()]);
    assert_eq!(output.status, 0, "{output:#?}");
    let html = tree(&out);
    let html = text(&html, page);
    assert!(
        html.contains("proven</span> level 26") && !html.contains("urn:forged"),
        "{html}"
    );
}

/// The texts that a stranger would like to have run, wherever an index lets one write any text.
#[test]
fn no_text_becomes_anything_else() {
    let megabyte = "<script>".repeat((1 << 20) / 8);
    for text in [
        "</script><script>alert(1)</script>",
        "</title><img src=x onerror=alert(1)>",
        "a\n::error::b\r\n::set-output name=x::y",
        "\u{1b}[31m\u{7}\0",
        "\u{202e}\u{2066}\u{200b}\u{feff}",
        "\u{2028}\u{2029}*/]);alert(1)//",
        "\" onmouseover=\"alert(1)",
        "' onmouseover='alert(1)",
        "--><!--",
        "]]>",
        "javascript:alert(1)",
        "JAVASCRIPT:alert(1)//https://example.com",
        "data:text/html,<script>alert(1)</script>",
        "https://example.com/\"><script>alert(1)</script>",
        "../../../../etc/passwd",
        &megabyte,
    ] {
        let hostile = entry("a.b", "c", "1.0.0", |e| {
            for field in [
                "slug",
                "name",
                "role",
                "provider",
                "model",
                "description",
                "license",
                "homepage",
            ] {
                e[field] = json!(text);
            }
            e["authors"] = json!([{"name": text, "url": text}]);
            e["tags"] = json!([text, text]);
            e["capabilities"] = json!([capability(text)]);
            e["capabilities"][0]["domain"] = json!(text);
            e["capabilities"][0]["stack"] = json!([text]);
            e["levelClaim"]["careerTier"] = json!(text);
            e["memories"] = json!({
                "path": "cartridges/a.b/c/1.0.0/cartridge.memories.lance", "rows": 1, "schema": "acx.lance-memory/1", "engine": text,
                "digest": format!("sha256:{}", "ab".repeat(32)),
            });
            e["registryStatus"] = json!({
                "status": "withdrawn", "reason": text, "recordedAt": "2026-07-20T00:00:00Z", "advisory": text,
                "successor": {"publisherId": text, "id": text, "version": text},
            });
        });
        let mut flow = document("a.b", "flow", "1.0.0", None, |_| {});
        let mut team = document("a.b", "team", "1.0.0", Some(&[&flow]), |_| {});
        for shown in [&mut flow, &mut team] {
            for field in ["name", "description", "license"] {
                shown[field] = json!(text);
            }
            shown["tags"] = json!([text]);
            shown["registryStatus"] = hostile["registryStatus"].clone();
        }
        // Whatever else they have is of a form that an index is held to when it is read.
        flow["participants"][0]["role"] = json!(text);
        flow["capabilities"] = json!([text]);
        for list in ["actors", "knowledge"] {
            team[list][0]["name"] = json!(text);
        }
        let mut start = template("t");
        for field in [
            "version",
            "name",
            "description",
            "license",
            "publisher",
            "path",
        ] {
            start[field] = json!(text);
        }
        start["files"] = json!([text]);
        start["tags"] = json!([text]);
        let pages = pages(
            &index(vec![hostile, flow, team], vec![start]),
            KeySource::Nobody,
        );
        assert!(pages.contains_key("graphs/team__a.b/v-1.0.0.html"));
        let shown: String = text.chars().take(40).collect();
        for (path, bytes) in &pages {
            let page = std::str::from_utf8(bytes).unwrap();
            assert!(
                page.len() < 600_000,
                "{shown:?}: {path} has {} bytes",
                page.len()
            );
            for c in page.chars() {
                let harmless = c == '\n'
                    || !(c.is_control()
                        || "\u{202e}\u{2066}\u{200b}\u{feff}\u{2028}\u{2029}".contains(c));
                assert!(harmless, "{shown:?}: {path} has {c:?}");
            }
            for line in page.lines() {
                assert!(!line.starts_with("::"), "{shown:?}: {path}: {line}");
            }
            if path.starts_with("assets/data") {
                assert!(!page.contains('<'), "{shown:?}: {path}");
                let rows = page
                    .strip_prefix("acxData(")
                    .unwrap()
                    .strip_suffix(");\n")
                    .unwrap();
                let rows: Value = serde_json::from_str(rows).unwrap();
                assert_eq!(rows.as_array().unwrap().len(), 4);
            }
            if path.ends_with(".html") {
                assert_eq!(page.matches("<script").count(), 1, "{shown:?}: {path}");
                assert_eq!(page.matches("<img").count(), 0, "{shown:?}: {path}");
                assert_eq!(page.matches("</title>").count(), 1, "{shown:?}: {path}");
                assert!(
                    !page.contains(" style=") && !page.contains("<style"),
                    "{path}"
                );
                assert_eq!(markup(page), (0, 0), "{shown:?}: {path}");
                assert!(page.contains("default-src &#39;none&#39;; script-src &#39;self&#39;; style-src &#39;self&#39;;"));
            }
        }
        for (page, address) in links(&pages) {
            let scheme = address.split(['/', '?', '#']).next().unwrap();
            assert!(
                !scheme.contains(':') || scheme == "https:",
                "{page}: {address}"
            );
        }
    }
}

/// Attributes that run a script, and those that are not quoted: (0, 0) in a good page.
fn markup(page: &str) -> (usize, usize) {
    let mut found = (0, 0);
    for tag in page.split('<').skip(1) {
        let tag = tag.split('>').next().unwrap();
        // What is between quotes is a value.
        let outside: Vec<&str> = tag.split('"').step_by(2).collect();
        found.0 += outside
            .iter()
            .filter(|part| part.trim_start().starts_with("on"))
            .count();
        found.1 += outside
            .iter()
            .filter(|part| part.contains('=') && !part.ends_with('='))
            .count();
    }
    found
}

#[test]
fn file_names_are_safe_and_differ_without_case() {
    let long = format!("{}example", "a.".repeat(120));
    let alike = format!("{}ex-ample", "a.".repeat(120));
    let entries = vec![
        entry("con.aux", "nul", "1.0.0", |_| {}),
        entry("con.aux", "com1", "1.0.0", |_| {}),
        entry(&long, "a", "1.0.0", |_| {}),
        entry(&alike, "a", "1.0.0", |_| {}),
        entry("a.b", "c", "1.0.0-rc", |_| {}),
        entry("a.b", "c", "1.0.0-RC", |_| {}),
        entry("a.b", "c", "1.0.0-Rc+x.y", |_| {}),
        entry("a.b", "c", &format!("1.0.0-{}", "A".repeat(120)), |_| {}),
        entry("a.b", "c", &format!("1.0.0-{}", "a".repeat(120)), |_| {}),
    ];
    let templates = vec![
        template("a.b"),
        template("a_b"),
        template("a..b"),
        template("con"),
        template("a."),
    ];
    let pages = pages(&index(entries, templates), KeySource::Consumer);
    let folded: BTreeSet<String> = pages.keys().map(|path| path.to_lowercase()).collect();
    assert_eq!(folded.len(), pages.len());
    for path in pages.keys() {
        assert!(path.len() < 200, "{path}");
        for part in path.split('/') {
            let fine = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b);
            assert!(
                part.bytes().all(fine) && !part.contains("..") && !part.ends_with('.'),
                "{path}"
            );
            let stem = part.split('.').next().unwrap();
            let devices = ["con", "nul", "aux", "prn", "com1", "lpt1"];
            assert!(!devices.contains(&stem), "{path}");
        }
    }
}

#[test]
fn an_index_that_no_build_writes_is_refused() {
    let twice = vec![
        entry("a.b", "c", "1.0.0", |_| {}),
        entry("a.b", "c", "1.0.0", |_| {}),
    ];
    let astray = vec![entry("a.b", "c", "1.0.0", |e| {
        e["path"] = json!("cartridges/a.b/c/';reboot;'/cartridge.acx")
    })];
    for (index, says) in [
        (
            index(twice, Vec::new()),
            "cartridges/a.b/c/1.0.0/cartridge.acx is listed twice",
        ),
        (
            index(astray, Vec::new()),
            "expected the path \"cartridges/a.b/c/1.0.0/cartridge.acx\", found",
        ),
        (
            index(Vec::new(), vec![template("a"), template("a")]),
            "the template a is listed twice",
        ),
    ] {
        let error = Site::new(&index, KeySource::Consumer)
            .unwrap_err()
            .to_string();
        assert!(error.contains(says), "{error}");
    }
}

/// No page grows with the registry, whichever way it is large.
#[test]
fn a_hundred_thousand_entries_have_pages_of_a_bounded_size() {
    let mut entries = Vec::new();
    for n in 0..60_000 {
        entries.push(entry(
            &format!("io.github.team{}", n % 500),
            &format!("agent-{n}"),
            "1.0.0",
            |e| {
                e["latest"] = json!(true);
            },
        ));
    }
    for n in 0..40_000 {
        entries.push(entry(
            "io.github.busy",
            "agent",
            &format!("1.{n}.0"),
            |_| {},
        ));
    }
    // Read with one entry and given the others: what a signature covers is not this test's concern.
    let mut index = index(vec![entries[0].clone()], Vec::new());
    index.content["cartridges"] = json!(entries);
    let site = Site::new(&index, KeySource::Consumer).unwrap();
    let files = site.files();
    let count = |start: &str| files.iter().filter(|f| f.path.starts_with(start)).count();
    assert_eq!(count("cartridges/"), 60_000 * 2 + 40_000 + 100);
    assert_eq!(count("page-") + count("index.html"), 1001);
    assert_eq!(count("assets/data-"), 31);
    for file in files
        .iter()
        .filter(|f| {
            f.path.starts_with("assets") || f.path.contains("busy") || !f.path.contains('/')
        })
        .step_by(97)
    {
        let bytes = file.bytes().len();
        assert!(bytes < 800_000, "{}: {bytes}", file.path);
    }
    let front = files
        .iter()
        .find(|f| f.path == "index.html")
        .unwrap()
        .bytes();
    assert!(front.len() < 100_000, "{}", front.len());
    let known = files
        .iter()
        .find(|f| f.path.ends_with("versions-100.html"))
        .unwrap();
    assert!(
        String::from_utf8(known.bytes())
            .unwrap()
            .contains("href=\"v-1.0.0.html\"")
    );
}

#[test]
fn script_and_style_are_small() {
    let pages = pages(&index(Vec::new(), Vec::new()), KeySource::Consumer);
    let bytes = pages["assets/site.css"].len() + pages["assets/site.js"].len();
    assert!(bytes < 40_000, "{bytes}");
    assert!(text(&pages, "index.html").contains("Nothing is listed yet."));
}

/// A registry that was built, its policy naming the key where `pinned`.
fn built(pinned: bool) -> TempRegistry {
    let registry = TempRegistry::new();
    if pinned {
        registry.policy(&format!("[index]\nkeys = [\"{}\"]\n", index_keyid()));
    }
    let old = Builder::valid("io.github.acme", "fine", "1.0.0");
    registry.ledger(&[ledger_entry(&old, "deprecated")]);
    registry.cartridge(&old);
    registry.cartridge(&Builder::valid("io.github.acme", "fine", "1.1.0").with_memories(3));
    registry.cartridge(&Builder::valid("io.github.acme", "other", "1.0.0"));
    assert_eq!(registry.build_at(SEPTEMBER, &[]).status, 0);
    registry
}

fn site_of(registry: &TempRegistry, more: &[&str]) -> (support::registry::Output, PathBuf) {
    let out = registry.home().join("site");
    let args = ["site", "--format", "json", "--out", out.to_str().unwrap()];
    let output = registry.run_with(&[&args, more].concat(), &[("SOURCE_DATE_EPOCH", SEPTEMBER)]);
    (output, out)
}

/// What is in a folder, links not followed.
fn tree(folder: &Path) -> Pages {
    let mut found = Pages::new();
    for entry in walkdir::WalkDir::new(folder) {
        let entry = entry.unwrap();
        if entry.file_type().is_file() {
            let path = entry.path().strip_prefix(folder).unwrap();
            found.insert(
                path.to_str().unwrap().to_owned(),
                fs::read(entry.path()).unwrap(),
            );
        }
    }
    found
}

/// Nothing that was written first and then renamed is left over.
fn leftovers(registry: &TempRegistry) -> Vec<String> {
    let names = fs::read_dir(registry.home())
        .unwrap()
        .map(|e| e.unwrap().file_name());
    let names = names.map(|n| n.to_string_lossy().into_owned());
    names.filter(|n| n.starts_with(".acx-tmp-")).collect()
}

#[test]
fn a_registrys_site_is_written_and_replaced_whole() {
    let registry = built(false);
    let keyid = index_keyid();
    let (output, out) = site_of(&registry, &["--keyid", &keyid]);
    assert_eq!(output.status, 0, "{output:#?}");
    let report = output.json();
    assert_eq!(report["keySource"], "given");
    assert_eq!(report["sequence"], 1);
    let first = tree(&out);
    assert_eq!(report["files"], first.len());
    assert_eq!(report["bytes"], first.values().map(Vec::len).sum::<usize>());
    let index = publish::read(&registry.index_bytes()).unwrap();
    assert_eq!(first, pages(&index, KeySource::Consumer));
    let old = text(&first, "cartridges/fine__io.github.acme/v-1.0.0.html");
    assert!(
        old.contains("This version is deprecated.")
            && old.contains("Set so by a test of the registry."),
        "{old}"
    );
    assert!(first.contains_key("cartridges/other__io.github.acme/index.html"));

    // A cartridge that is gone takes its pages with it.
    fs::remove_dir_all(registry.at("cartridges/io.github.acme/other")).unwrap();
    registry.build_at(SEPTEMBER, &[]);
    let (output, _) = site_of(&registry, &["--keyid", &keyid]);
    assert_eq!(output.status, 0, "{output:#?}");
    let second = tree(&out);
    assert!(
        !second.keys().any(|path| path.contains("other")),
        "{:?}",
        second.keys()
    );
    assert_eq!(leftovers(&registry), Vec::<String>::new());
    // An empty folder is a place too.
    fs::remove_dir_all(&out).unwrap();
    fs::create_dir(&out).unwrap();
    assert_eq!(site_of(&registry, &["--keyid", &keyid]).0.status, 0);
    assert_eq!(tree(&out), second);
}

#[test]
fn an_index_that_does_not_verify_has_no_site() {
    let registry = built(false);
    let keyid = index_keyid();
    assert_eq!(site_of(&registry, &["--keyid", &keyid]).0.status, 0);
    let before = tree(&registry.home().join("site"));
    let other = keys::keyid(&keys::public(&keys::seed(99)));
    let refused = |more: &[&str], says: &str| {
        let (output, out) = site_of(&registry, more);
        assert_eq!(output.status, 1, "{output:#?}");
        let report = output.json();
        assert_eq!(report["out"], Value::Null);
        assert!(report["problems"].to_string().contains(says), "{report}");
        assert_eq!(tree(&out), before);
        assert_eq!(leftovers(&registry), Vec::<String>::new());
    };
    refused(&["--keyid", &other], "expected the signer");
    refused(
        &["--keyid", &keyid, "--min-sequence", "9"],
        "an old index is served again",
    );
    let cartridge = "cartridges/io.github.acme/fine/1.0.0/cartridge.acx";
    let bytes = fs::read(registry.at(cartridge)).unwrap();
    registry.put(cartridge, b"another");
    refused(&["--keyid", &keyid], "expected sha256");
    // Having no key to hold it against makes nothing else good.
    refused(&[], "expected sha256");
    registry.put(cartridge, bytes);
    let index = String::from_utf8(registry.index_bytes()).unwrap();
    registry.put(
        "index.json",
        index.replace("\"latest\": false", "\"latest\": true"),
    );
    refused(&["--keyid", &keyid], "signature does not hold");
    refused(&[], "signature does not hold");
}

#[test]
fn keys_that_cannot_be_read_stop_a_site_and_leave_the_old_one() {
    let registry = built(false);
    let keyid = index_keyid();
    assert_eq!(site_of(&registry, &["--keyid", &keyid]).0.status, 0);
    let before = tree(&registry.home().join("site"));
    for file in ["issuer-keys.json", "trust-registry.json"] {
        registry.put(file, "{");
        let (output, out) = site_of(&registry, &["--keyid", &keyid]);
        assert_eq!(output.status, 2, "{file}: {output:#?}");
        assert!(output.stderr.contains(file), "{file}: {output:#?}");
        assert_eq!(tree(&out), before, "{file}");
        assert_eq!(leftovers(&registry), Vec::<String>::new());
        fs::remove_file(registry.at(file)).unwrap();
    }
}

#[test]
fn with_no_key_of_the_readers_the_site_says_whose_word_it_is() {
    let registry = built(true);
    let (output, out) = site_of(&registry, &[]);
    assert_eq!(output.status, 0, "{output:#?}");
    assert_eq!(output.json()["keySource"], "self-attested");
    assert!(text(&tree(&out), "index.html").contains("Self-attested."));

    let registry = built(false);
    let (output, out) = site_of(&registry, &[]);
    assert_eq!(output.status, 1, "{output:#?}");
    assert_eq!(output.json()["keySource"], "none");
    assert!(output.stderr.contains("anyone can sign"), "{output:#?}");
    assert!(text(&tree(&out), "index.html").contains("Nobody vouches for this index."));
}

#[test]
fn a_folder_that_is_not_a_site_is_left_alone() {
    let registry = built(true);
    let out = registry.home().join("site");
    let refused = |says: &str| {
        let before = tree(&out);
        let (output, _) = site_of(&registry, &[]);
        assert_eq!(output.status, 2, "{output:#?}");
        assert!(output.stderr.contains(says), "{says}: {output:#?}");
        assert_eq!(tree(&out), before);
        assert_eq!(leftovers(&registry), Vec::<String>::new());
    };
    fs::create_dir(&out).unwrap();
    fs::write(out.join("thesis.txt"), "years of work").unwrap();
    refused("not empty, and no site that acx wrote");
    fs::write(out.join(".acx-site"), "mine").unwrap();
    refused("not empty, and no site that acx wrote");
    fs::remove_dir_all(&out).unwrap();
    assert_eq!(site_of(&registry, &[]).0.status, 0);
    fs::write(out.join("CNAME"), "example.com").unwrap();
    refused("it holds \"CNAME\"");
    fs::remove_dir_all(&out).unwrap();
    fs::write(&out, "a file").unwrap();
    refused("it is a file");
    fs::remove_file(&out).unwrap();
    let elsewhere = registry.home().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, &out).unwrap();
    refused("symbolic link");
    assert!(fs::read_dir(&elsewhere).unwrap().next().is_none());
    // The registry itself is no place either.
    let root = registry.root();
    let output = registry.run(&["site", "--out", root.to_str().unwrap()]);
    assert_eq!(output.status, 2, "{output:#?}");
}

/// A run that fails or is killed in the middle leaves the site that was there.
#[test]
fn a_killed_run_leaves_the_old_site() {
    let (entries, templates) = varied();
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("registry");
    fs::create_dir(&folder).unwrap();
    fs::write(
        folder.join("index.json"),
        signed(entries.clone(), templates),
    )
    .unwrap();
    let keyid = index_keyid();
    let out = home.path().join("out");
    let args = [
        "site",
        folder.to_str().unwrap(),
        "--out",
        out.to_str().unwrap(),
        "--keyid",
        &keyid,
    ];
    assert_eq!(run_acx(&args, home.path(), home.path(), &[]).status, 0);
    let old = tree(&out);
    let many = (0..4000)
        .map(|n| entry("a.b", &format!("c{n}"), "1.0.0", |_| {}))
        .collect();
    fs::write(folder.join("index.json"), signed(many, Vec::new())).unwrap();
    let mut killed = 0;
    for wait in 0..40 {
        let mut child = Command::new(env!("CARGO_BIN_EXE_acx"))
            .args(args)
            .spawn()
            .unwrap();
        let begun = || {
            fs::read_dir(home.path()).unwrap().any(|e| {
                let name = e.unwrap().file_name();
                name.to_string_lossy().starts_with(".acx-tmp-")
            })
        };
        while !begun() && child.try_wait().unwrap().is_none() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        std::thread::sleep(std::time::Duration::from_millis(wait * 7 % 60));
        child.kill().unwrap();
        let _ = child.wait().unwrap();
        if tree(&out) != old {
            break;
        }
        killed += 1;
        for entry in fs::read_dir(home.path()).unwrap() {
            let entry = entry.unwrap();
            if entry.file_name().to_string_lossy().starts_with(".acx-tmp-") {
                fs::remove_dir_all(entry.path()).unwrap();
            }
        }
        if killed == 8 {
            break;
        }
    }
    assert!(killed > 0, "every run was done before it was killed");
    assert_eq!(run_acx(&args, home.path(), home.path(), &[]).status, 0);
    let new = tree(&out);
    assert!(
        new.contains_key("cartridges/c3999__a.b/index.html") && !new.contains_key("page-99.html")
    );
    assert_eq!(site::MARKER, ".acx-site");
}

/// The site in a browser. Under CI it must run; elsewhere it says what it lacks.
#[test]
fn chromium_shows_it_and_a_keyboard_is_enough() {
    let browser = std::env::var("ACX_CHROMIUM").unwrap_or_else(|_| "/usr/bin/chromium".to_owned());
    let has = |program: &str| {
        Command::new(program)
            .arg("--version")
            .output()
            .is_ok_and(|o| o.status.success())
    };
    let lacking: Vec<&str> = [browser.as_str(), "node", "npm"]
        .into_iter()
        .filter(|p| !has(p))
        .collect();
    if !lacking.is_empty() {
        let ci = std::env::var_os("CI").is_some_and(|v| !v.is_empty() && v != "false" && v != "0");
        assert!(
            !ci,
            "the site cannot be looked at in a browser: {lacking:?} missing"
        );
        eprintln!("NOT RUN: the site was not looked at in a browser, since {lacking:?} is missing");
        return;
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("browser");
    fs::create_dir_all(&folder).unwrap();
    for name in ["package.json", "package-lock.json", "site.mjs"] {
        fs::copy(source.join(name), folder.join(name)).unwrap();
    }
    let lock = fs::read(folder.join("package-lock.json")).unwrap();
    if fs::read(folder.join("installed")).ok() != Some(lock.clone()) {
        let npm = Command::new("npm")
            .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
            .current_dir(&folder)
            .output()
            .unwrap();
        assert!(
            npm.status.success(),
            "npm ci: {}",
            String::from_utf8_lossy(&npm.stderr)
        );
        fs::write(folder.join("installed"), lock).unwrap();
    }
    let (entries, templates) = varied();
    let registry = folder.join("registry");
    fs::create_dir_all(&registry).unwrap();
    fs::write(registry.join("index.json"), signed(entries, templates)).unwrap();
    let policy = format!(
        "[registry]\nid = \"org.example.registry\"\n\n[index]\nkeys = [\"{}\"]\n",
        index_keyid()
    );
    fs::write(registry.join("acx-registry.toml"), policy).unwrap();
    let out = folder.join("site");
    let args = [
        "site",
        registry.to_str().unwrap(),
        "--out",
        out.to_str().unwrap(),
    ];
    let output = run_acx(&args, &folder, &folder, &[]);
    assert_eq!(output.status, 0, "{output:#?}");
    let node = Command::new("node")
        .arg("site.mjs")
        .arg(&out)
        .env("ACX_CHROMIUM", &browser)
        .current_dir(&folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&node.stdout);
    assert!(
        node.status.success(),
        "{said}\n{}",
        String::from_utf8_lossy(&node.stderr)
    );
    assert!(said.contains("all seen"), "{said}");
}
