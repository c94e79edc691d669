//! The pages of a workflow and of an Agent Graph.

use super::card::WORD;
use super::html::Html;
use super::page::{
    DESCRIPTION, LISTED, SENTENCE, artifact, artifact_type, badge, code, commands, each, grouped,
    intro, one_version, row, signature,
};
use super::picture::{self, Picture};
use super::{Document, Site};
use crate::document::{list, text};
use crate::model::{ArtifactType, Json, cut};
use crate::project::{Dependency, DocumentEntry};

/// The page of a document: the version to take and the history, or more of the history.
pub fn document(site: &Site, group: &Document, n: usize) -> Html {
    artifact(site, group, n, |h, entry| details(h, site, group, entry))
}

/// The page of one version of a document.
pub fn version(site: &Site, group: &Document, entry: &DocumentEntry) -> Html {
    one_version(site, group, entry, |h| details(h, site, group, entry))
}

fn details(h: &mut Html, site: &Site, group: &Document, entry: &DocumentEntry) {
    intro(h, site, group, entry);
    match group.kind {
        ArtifactType::AgentGraph => dependencies(h, site, entry),
        ArtifactType::Workflow | ArtifactType::Agent => {
            participants(h, entry);
            dependents(h, site, entry);
        }
    }
    commands(h, site, entry, "The document is what its key signed:");
    h.raw("</div><div>\n");
    signature(h, entry, |_| {});
    about(h, site, group.kind, entry);
    h.raw("</div></div>\n");
    if group.kind == ArtifactType::AgentGraph {
        graph(h, site, entry);
    }
}

/// A member of an entry, of its kind's own.
fn own<'e>(entry: &'e DocumentEntry, name: &str) -> &'e [Json] {
    let items = entry.own.get(name).and_then(Json::as_array);
    items.map_or(&[], Vec::as_slice)
}

/// A foreign text of a value.
fn short<'j>(value: &'j Json, name: &str) -> &'j str {
    value.get(name).and_then(Json::as_str).unwrap_or_default()
}

fn about(h: &mut Html, site: &Site, kind: ArtifactType, entry: &DocumentEntry) {
    h.raw("<section aria-labelledby=\"facts\"><h2 id=\"facts\">About</h2><dl>\n");
    row(h, "Licence", |h| {
        h.foreign(&cut(&entry.license, SENTENCE));
    });
    if !entry.tags.is_empty() {
        row(h, "Tags", |h| {
            each(h, "chips", &entry.tags, |h, tag| {
                h.foreign(&cut(tag, WORD));
            });
        });
    }
    let counts: &[(&str, &str)] = match kind {
        ArtifactType::AgentGraph => &[
            ("Actors", "actorCount"),
            ("Knowledge", "knowledgeCount"),
            ("Routes", "routeCount"),
            ("Loops", "loopCount"),
            ("Convergence points", "convergenceCount"),
        ],
        ArtifactType::Workflow | ArtifactType::Agent => {
            &[("Participants", "participantCount"), ("Nodes", "nodeCount")]
        }
    };
    for (label, name) in counts {
        if let Some(count) = entry.own.get(*name).and_then(Json::as_u64) {
            row(h, label, |h| {
                h.text(&grouped(count));
            });
        }
    }
    for (label, name) in [
        ("Needed capabilities", "capabilities"),
        ("Intents", "intents"),
    ] {
        let words = own(entry, name);
        if !words.is_empty() {
            row(h, label, |h| {
                each(h, "chips", words, |h, word| {
                    h.foreign(&cut(word.as_str().unwrap_or_default(), WORD));
                });
            });
        }
    }
    let parents = own(entry, "lineage");
    if !parents.is_empty() {
        row(h, "Made from", |h| {
            each(h, "plain", parents, |h, parent| {
                let kind = artifact_type(Some(short(parent, "artifactType")));
                let coordinate = ["publisherId", "id", "version"].map(|name| short(parent, name));
                link(h, site, kind, coordinate);
                h.raw(" ").foreign(&cut(short(parent, "relation"), WORD));
            });
        });
    }
    h.raw("</dl></section>\n");
}

/// A version of an artifact, linked where it is listed.
fn link(h: &mut Html, site: &Site, kind: ArtifactType, coordinate: [&str; 3]) {
    let [publisher, id, version] = coordinate.map(|part| cut(part, WORD * 2));
    let label = format!("{publisher}/{id} {version}");
    match site.page_of(kind, coordinate) {
        Some(page) => {
            h.open("a", &[("href", &format!("../../{page}"))])
                .foreign(&label)
                .close("a");
        }
        None => {
            h.foreign(&label);
        }
    }
}

fn coordinate(pinned: &Dependency) -> [&str; 3] {
    [&pinned.publisher_id, &pinned.id, &pinned.version]
}

/// The workflows that a graph pins.
fn dependencies(h: &mut Html, site: &Site, entry: &DocumentEntry) {
    let pinned = entry.dependencies.as_deref().unwrap_or_default();
    h.raw("<section aria-labelledby=\"dependencies\"><h2 id=\"dependencies\">Workflows that it pins</h2>\n");
    if pinned.is_empty() {
        h.raw("<p class=\"empty\">None.</p></section>\n");
        return;
    }
    each(h, "claims", pinned, |h, one| {
        link(h, site, ArtifactType::Workflow, coordinate(one));
        h.raw(" ");
        badge(h, &cut(&one.registry_status, WORD));
        h.raw("<br><span class=\"meaning\">in the loop <bdi>")
            .text(&cut(&one.loop_id, WORD * 2))
            .raw("</bdi>, ")
            .foreign(&cut(&one.status, WORD))
            .raw(", digest</span> ");
        code(h, &cut(&one.digest, WORD));
    });
    h.raw("</section>\n");
}

/// The graphs that pin a workflow as it is.
fn dependents(h: &mut Html, site: &Site, entry: &DocumentEntry) {
    let key = [
        entry.publisher.clone(),
        entry.id.clone(),
        entry.version.clone(),
        entry.digest.to_string(),
    ];
    let graphs = site.dependents.get(&key).map_or(&[][..], Vec::as_slice);
    h.raw("<section aria-labelledby=\"dependents\"><h2 id=\"dependents\">Agent Graphs that pin it</h2>\n");
    if graphs.is_empty() {
        h.raw("<p class=\"empty\">None in this registry.</p></section>\n");
        return;
    }
    each(h, "claims", graphs, |h, (group, version)| {
        let found = site
            .graphs
            .get(*group)
            .and_then(|g| g.versions.get(*version));
        if let Some(graph) = found {
            let coordinate = [&*graph.publisher, &*graph.id, &*graph.version];
            link(h, site, ArtifactType::AgentGraph, coordinate);
            h.raw(" ");
            badge(h, &graph.registry_status.status);
        }
    });
    h.raw("</section>\n");
}

fn participants(h: &mut Html, entry: &DocumentEntry) {
    h.raw("<section aria-labelledby=\"participants\"><h2 id=\"participants\">Participants</h2>\n");
    each(h, "claims", own(entry, "participants"), |h, one| {
        h.raw("<strong>")
            .foreign(&cut(short(one, "alias"), WORD * 2))
            .raw("</strong> <span class=\"domain\">")
            .foreign(&cut(short(one, "bind"), WORD))
            .raw(" ")
            .foreign(&cut(short(one, "role"), WORD * 2))
            .raw("</span>");
        let rom = short(one, "romDigest");
        if !rom.is_empty() {
            h.raw("<br>");
            code(h, &cut(rom, WORD));
        }
    });
    h.raw("</section>\n");
}

/// What a graph is made of, as a picture and as lists.
fn graph(h: &mut Html, site: &Site, entry: &DocumentEntry) {
    let content = site.content(entry);
    h.raw("<section aria-labelledby=\"picture\"><h2 id=\"picture\">The graph</h2>\n");
    let workflow = |coordinate: [&str; 3]| {
        let page = site.page_of(ArtifactType::Workflow, coordinate)?;
        Some(format!("../../{page}"))
    };
    match Picture::of(entry, content.as_ref(), workflow) {
        Ok(picture) => {
            h.raw("<p class=\"meaning\">Actors steward knowledge; routes lead from actor to actor, heavy where they must be followed; loops run the workflows that they pin.</p>");
            picture.draw(h);
        }
        Err((nodes, edges)) => {
            h.raw("<p class=\"meaning\">Not drawn: it has ")
                .text(&grouped(nodes as u64))
                .raw(" nodes and ")
                .text(&grouped(edges as u64))
                .raw(" or more lines, and a picture has at most ")
                .text(&picture::NODES.to_string())
                .raw(" and ")
                .text(&picture::EDGES.to_string())
                .raw(". The lists below name them.</p>");
        }
    }
    h.raw("</section>\n");
    for (id, title, name, kind) in [
        ("actors", "Actors", "actors", "kind"),
        ("knowledge", "Knowledge", "knowledge", "kind"),
        ("loops", "Loops", "loops", "kind"),
    ] {
        section(h, id, title, own(entry, name), |h, one| {
            described(h, one, short(one, kind));
            let stewards = own_texts(one, "stewards");
            if !stewards.is_empty() {
                h.raw("<br><span class=\"meaning\">stewarded by <bdi>")
                    .text(&stewards)
                    .raw("</bdi></span>");
            }
        });
    }
    match &content {
        None => {
            h.raw("<section aria-labelledby=\"routes\"><h2 id=\"routes\">Routes</h2>\n<p class=\"empty\">They stand in the document, which was not beside the index when this page was made.</p></section>\n");
        }
        Some(content) => {
            section(
                h,
                "routes",
                "Routes",
                list(content, "routes"),
                |h, route| {
                    let kind = format!("{}, {}", text(route, "intent"), text(route, "obligation"));
                    described(h, route, &kind);
                    h.raw("<br><bdi>")
                        .text(&cut(text(route, "from"), WORD * 2))
                        .raw("</bdi> → <bdi>")
                        .text(&own_texts(route, "to"))
                        .raw("</bdi><br><span class=\"meaning\">carries <bdi>")
                        .text(&own_texts(route, "carries"))
                        .raw("</bdi></span>");
                },
            );
            let points = list(content, "convergence");
            if !points.is_empty() {
                section(h, "convergence", "Convergence", points, |h, point| {
                    described(h, point, "");
                    h.raw("<br><span class=\"meaning\">")
                        .foreign(&cut(text(point, "description"), SENTENCE))
                        .raw("</span>");
                });
            }
        }
    }
}

/// The texts of a list in one line, cut.
fn own_texts(value: &Json, name: &str) -> String {
    let texts = list(value, name).iter().filter_map(Json::as_str);
    let texts: Vec<String> = texts.take(LISTED).map(|t| cut(t, WORD)).collect();
    cut(&texts.join(", "), DESCRIPTION)
}

fn described(h: &mut Html, one: &Json, kind: &str) {
    let (id, name) = (short(one, "id"), short(one, "name"));
    h.raw("<strong>")
        .foreign(&cut(id, WORD * 2))
        .raw("</strong> ");
    if !name.is_empty() && name != id {
        h.foreign(&cut(name, WORD * 2)).raw(" ");
    }
    h.raw("<span class=\"domain\">")
        .foreign(&cut(kind, WORD * 2))
        .raw("</span>");
}

fn section(
    h: &mut Html,
    id: &'static str,
    title: &'static str,
    items: &[Json],
    item: impl Fn(&mut Html, &Json),
) {
    h.open("section", &[("aria-labelledby", id)])
        .element("h2", &[("id", id)], title)
        .raw("\n");
    if items.is_empty() {
        h.raw("<p class=\"empty\">None.</p>");
    } else {
        each(h, "claims", items, item);
    }
    h.raw("</section>\n");
}
