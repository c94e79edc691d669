//! An Agent Graph as a picture: inline SVG without a script, a style or an id, of bounded size, the same for the same
//! graph. Its texts are written by [`Html`] as those of the page are.

use std::collections::BTreeMap;

use super::html::Html;
use crate::document::{list, text, texts};
use crate::model::{Json, cut};
use crate::project::DocumentEntry;

/// Nodes of a picture.
pub const NODES: usize = 80;
/// Lines of a picture.
pub const EDGES: usize = 400;

/// Letters of a node's name; the rest is cut off by its box.
const LETTERS: usize = 24;
/// Room for the routes at the left.
const MARGIN: usize = 90;
const TOP: usize = 34;
const WIDTH: usize = 190;
const HEIGHT: usize = 36;
const GAP: usize = 90;
const STEP: usize = 50;

/// Actors, knowledge, loops, workflows.
const COLUMNS: [&str; 4] = ["Actors", "Knowledge", "Loops", "Workflows"];

/// One box.
struct Node {
    column: usize,
    /// From the top of its column.
    place: usize,
    label: String,
    kind: String,
    href: Option<String>,
}

impl Node {
    fn x(&self) -> usize {
        MARGIN + self.column * (WIDTH + GAP)
    }

    fn y(&self) -> usize {
        TOP + self.place * STEP
    }

    fn middle(&self) -> usize {
        self.y() + HEIGHT / 2
    }
}

/// One line, between the places of two nodes.
struct Edge {
    from: usize,
    to: usize,
    class: &'static str,
}

/// A graph, laid out.
#[derive(Default)]
pub struct Picture {
    nodes: Vec<Node>,
    edges: Vec<Edge>,
}

impl Picture {
    /// The picture of a graph: of its entry, and of its routes where its content is at hand. `page` gives the page of a
    /// workflow.
    ///
    /// # Errors
    /// How many nodes and lines there are where they are too many; lines are counted until they are.
    pub fn of(
        entry: &DocumentEntry,
        content: Option<&Json>,
        page: impl Fn([&str; 3]) -> Option<String>,
    ) -> Result<Self, (usize, usize)> {
        let own = |name: &str| {
            let items = entry.own.get(name).and_then(Json::as_array);
            items.map_or(&[][..], Vec::as_slice)
        };
        let pinned = entry.dependencies.as_deref().unwrap_or_default();
        let [actors, knowledge, loops] = ["actors", "knowledge", "loops"].map(own);
        let all = actors.len() + knowledge.len() + loops.len();
        if all > NODES || all + pinned.len() > NODES * 2 {
            return Err((all + pinned.len(), 0));
        }
        let mut picture = Self::default();
        let [actor, known, looped] = [(0, actors), (1, knowledge), (2, loops)]
            .map(|(column, items)| picture.column(column, items));
        let mut workflows = BTreeMap::new();
        for one in pinned {
            let key = [&*one.publisher_id, &*one.id, &*one.version];
            let at = match workflows.get(&key) {
                Some(at) => *at,
                None => {
                    let place = workflows.len();
                    let at = picture.node(3, place, &one.id, &one.version, page(key));
                    workflows.insert(key, at);
                    at
                }
            };
            if let Some(from) = looped.get(one.loop_id.as_str()) {
                picture.edge(*from, at, "pin");
            }
        }
        if picture.nodes.len() > NODES {
            return Err((picture.nodes.len(), picture.edges.len()));
        }
        for item in knowledge {
            let to = known.get(text(item, "id"));
            let stewards = texts(item, "stewards").filter_map(|steward| actor.get(steward));
            picture.edges(stewards.zip(to.into_iter().cycle()), "steward")?;
        }
        let Some(content) = content else {
            return Ok(picture);
        };
        for item in list(content, "loops") {
            let at = looped.get(text(item, "id"));
            for (name, class) in [("imports", "import"), ("exports", "export")] {
                let carried = texts(item, name).filter_map(|id| known.get(id));
                picture.edges(carried.zip(at.into_iter().cycle()), class)?;
            }
        }
        for route in list(content, "routes") {
            let from = actor.get(text(route, "from"));
            let class = match text(route, "obligation") {
                "must" => "route must",
                _ => "route",
            };
            let to = texts(route, "to").filter_map(|id| actor.get(id));
            picture.edges(from.into_iter().cycle().zip(to), class)?;
        }
        Ok(picture)
    }

    /// A column of nodes, and where each id's is.
    fn column<'j>(&mut self, column: usize, items: &'j [Json]) -> BTreeMap<&'j str, usize> {
        let mut places = BTreeMap::new();
        for (place, item) in items.iter().enumerate() {
            let (id, name) = (text(item, "id"), text(item, "name"));
            let label = if name.is_empty() { id } else { name };
            let at = self.node(column, place, label, text(item, "kind"), None);
            places.entry(id).or_insert(at);
        }
        places
    }

    fn node(
        &mut self,
        column: usize,
        place: usize,
        label: &str,
        kind: &str,
        href: Option<String>,
    ) -> usize {
        self.nodes.push(Node {
            column,
            place,
            label: cut(label, LETTERS),
            kind: cut(kind, LETTERS),
            href,
        });
        self.nodes.len() - 1
    }

    fn edge(&mut self, from: usize, to: usize, class: &'static str) {
        self.edges.push(Edge { from, to, class });
    }

    fn edges<'a>(
        &mut self,
        edges: impl Iterator<Item = (&'a usize, &'a usize)>,
        class: &'static str,
    ) -> Result<(), (usize, usize)> {
        for (from, to) in edges {
            if self.edges.len() >= EDGES {
                return Err((self.nodes.len(), self.edges.len() + 1));
            }
            self.edge(*from, *to, class);
        }
        Ok(())
    }

    /// Writes it.
    pub fn draw(&self, h: &mut Html) {
        let last = self.nodes.iter().map(|node| node.column).max();
        let rows = self.nodes.iter().map(|node| node.place + 1).max();
        let width = MARGIN + last.map_or(0, |column| column * (WIDTH + GAP)) + WIDTH + 10;
        let height = TOP + rows.unwrap_or_default() * STEP;
        h.raw("<div class=\"scroll\" role=\"region\" aria-label=\"Picture of the graph\" tabindex=\"0\">");
        let (wide, high) = (width.to_string(), height.to_string());
        let view = format!("0 0 {width} {height}");
        h.open(
            "svg",
            &[
                ("class", "graph"),
                ("viewBox", &view),
                ("width", &wide),
                ("height", &high),
                ("role", "group"),
                ("aria-label", "The graph, whose parts the lists below name"),
            ],
        );
        for (column, title) in COLUMNS.into_iter().enumerate() {
            if self.nodes.iter().any(|node| node.column == column) {
                let x = (MARGIN + column * (WIDTH + GAP)).to_string();
                let place = [("class", "heading"), ("x", &x), ("y", "18")];
                h.element("text", &place, title);
            }
        }
        h.raw("\n");
        for edge in &self.edges {
            if let (Some(from), Some(to)) = (self.nodes.get(edge.from), self.nodes.get(edge.to)) {
                line(h, from, to, edge.class);
            }
        }
        for node in &self.nodes {
            boxed(h, node);
        }
        h.raw("</svg></div>\n");
    }
}

/// A line: a curve from one column to a later one, or at the left of the column that both are in, with a head.
fn line(h: &mut Html, from: &Node, to: &Node, class: &str) {
    let (y1, y2) = (from.middle(), to.middle());
    let (path, head) = if from.column == to.column {
        let (x, bend) = (from.x(), 20 + y1.abs_diff(y2).min(240) / 4);
        let left = x - bend;
        let head = format!("{x},{y2} {0},{1} {0},{2}", x - 8, y2 - 4, y2 + 4);
        (
            format!("M{x} {y1}C{left} {y1} {left} {y2} {x} {y2}"),
            Some(head),
        )
    } else {
        let (x1, x2) = (from.x() + WIDTH, to.x());
        let half = GAP / 2;
        let (c1, c2) = (x1 + half, x2 - half);
        (format!("M{x1} {y1}C{c1} {y1} {c2} {y2} {x2} {y2}"), None)
    };
    h.open("path", &[("class", class), ("d", &path)])
        .close("path");
    if let Some(points) = head {
        h.open("polygon", &[("class", class), ("points", &points)])
            .close("polygon");
    }
    h.raw("\n");
}

/// A node: an inner picture cuts off what does not fit.
fn boxed(h: &mut Html, node: &Node) {
    if let Some(href) = &node.href {
        let name = format!("{} {}", node.label, node.kind);
        h.open("a", &[("href", href), ("aria-label", &name)]);
    }
    let [x, y, width, height] = [node.x(), node.y(), WIDTH, HEIGHT].map(|n| n.to_string());
    h.open(
        "svg",
        &[("x", &x), ("y", &y), ("width", &width), ("height", &height)],
    );
    h.open(
        "rect",
        &[("width", &width), ("height", &height), ("rx", "6")],
    )
    .close("rect");
    h.element("text", &[("x", "10"), ("y", "15")], &node.label)
        .raw(" ");
    let small = [("class", "kind"), ("x", "10"), ("y", "29")];
    h.element("text", &small, &node.kind).close("svg");
    if node.href.is_some() {
        h.close("a");
    }
    h.raw("\n");
}
