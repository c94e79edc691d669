//! The text of an index, entry by entry: what `serde_json` writes with two spaces, made by all threads at hand, and never
//! whole in memory.

use std::collections::{BTreeSet, HashSet};
use std::io::{self, Write};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::ser::Formatter;
use serde_json::value::RawValue;

use super::index::Content;
use super::layout::Part;
use super::sign::Integrity;
use crate::project::IndexEntry;

/// Entries that are made at once.
pub(super) const BATCH: usize = 1_024;

/// Takes a text piece by piece.
pub(super) type Each<'e> = dyn FnMut(&[u8]) -> io::Result<()> + 'e;

/// Gives the text of an index, but for `integrity` and what follows.
pub(super) fn content(content: &Content, each: &mut Each<'_>) -> io::Result<()> {
    let Content {
        schema_version,
        generated_at,
        artifact_count,
        count,
        cartridges,
        workflow_count,
        workflows,
        agent_graph_count,
        agent_graphs,
        template_count,
        templates,
    } = content;
    each(b"{")?;
    member(each, "\n", "schemaVersion", schema_version)?;
    member(each, ",\n", "generatedAt", generated_at)?;
    member(each, ",\n", "artifactCount", artifact_count)?;
    member(each, ",\n", "count", count)?;
    list(each, "cartridges", cartridges)?;
    member(each, ",\n", "workflowCount", workflow_count)?;
    list(each, "workflows", workflows)?;
    member(each, ",\n", "agentGraphCount", agent_graph_count)?;
    list(each, "agentGraphs", agent_graphs)?;
    member(each, ",\n", "templateCount", template_count)?;
    list(each, "templates", templates)
}

/// Gives the rest of the text.
pub(super) fn integrity(integrity: &Integrity, each: &mut Each<'_>) -> io::Result<()> {
    member(each, ",\n", "integrity", integrity)?;
    each(b"\n}\n")
}

/// An entry as it stands in a list of an index.
fn entry(entry: &impl Serialize) -> io::Result<Vec<u8>> {
    nested(entry, 2)
}

/// What the text of another index, or of a shard, lists otherwise: paths that are new in the part, paths whose entries are
/// others, and paths that are gone; each sorted. Entries whose texts are equal are not looked into. `None` for what is
/// neither.
pub(super) fn changes(part: Part<'_>, other: &[u8]) -> Option<[Vec<String>; 3]> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Other<'a> {
        #[serde(borrow)]
        cartridges: Vec<&'a RawValue>,
        #[serde(borrow)]
        workflows: Vec<&'a RawValue>,
        #[serde(borrow)]
        agent_graphs: Vec<&'a RawValue>,
    }
    #[derive(Deserialize)]
    struct Place {
        path: String,
    }
    let other: Other<'_> = serde_json::from_slice(other).ok()?;
    let lists = [&other.cartridges, &other.workflows, &other.agent_graphs];
    let mut left: HashSet<&str> = lists.into_iter().flatten().map(|raw| raw.get()).collect();
    let mut here = BTreeSet::new();
    differing(part.cartridges, &mut left, &mut here)?;
    differing(part.workflows, &mut left, &mut here)?;
    differing(part.agent_graphs, &mut left, &mut here)?;
    let there = left
        .into_iter()
        .map(|text| serde_json::from_str(text).map(|place: Place| place.path))
        .collect::<Result<BTreeSet<String>, _>>()
        .ok()?;
    let paths = |set: &mut dyn Iterator<Item = &String>| set.cloned().collect();
    Some([
        paths(&mut here.difference(&there)),
        paths(&mut here.intersection(&there)),
        paths(&mut there.difference(&here)),
    ])
}

/// Takes the entries' texts out of `left`; the paths of those that are not there go into `here`.
fn differing<T: Serialize + IndexEntry + Sync>(
    items: &[T],
    left: &mut HashSet<&str>,
    here: &mut BTreeSet<String>,
) -> Option<()> {
    for batch in items.chunks(BATCH) {
        let texts: Vec<Vec<u8>> = batch.par_iter().map(entry).collect::<Result<_, _>>().ok()?;
        for (item, text) in batch.iter().zip(texts) {
            if !left.remove(std::str::from_utf8(&text).ok()?) {
                here.insert(item.head().path.to_owned());
            }
        }
    }
    Some(())
}

fn member(each: &mut Each<'_>, before: &str, name: &str, value: &impl Serialize) -> io::Result<()> {
    each(format!("{before}  \"{name}\": ").as_bytes())?;
    each(&nested(value, 1)?)
}

fn list<T: Serialize + Sync>(each: &mut Each<'_>, name: &str, items: &[T]) -> io::Result<()> {
    each(format!(",\n  \"{name}\": [").as_bytes())?;
    let mut before: &[u8] = b"\n    ";
    for batch in items.chunks(BATCH) {
        let texts: Vec<Vec<u8>> = batch.par_iter().map(entry).collect::<io::Result<_>>()?;
        for text in texts {
            each(before)?;
            each(&text)?;
            before = b",\n    ";
        }
    }
    each(if items.is_empty() { b"]" } else { b"\n  ]" })
}

fn nested(value: &impl Serialize, depth: usize) -> io::Result<Vec<u8>> {
    let mut out = Vec::with_capacity(2_048);
    let formatter = Indented {
        depth,
        filled: false,
    };
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, formatter);
    value.serialize(&mut serializer)?;
    Ok(out)
}

/// What `serde_json::ser::PrettyFormatter` writes, for a value that does not stand at the left edge.
struct Indented {
    depth: usize,
    filled: bool,
}

impl Indented {
    fn line<W: Write + ?Sized>(&self, writer: &mut W, before: &[u8]) -> io::Result<()> {
        writer.write_all(before)?;
        (0..self.depth).try_for_each(|_| writer.write_all(b"  "))
    }

    fn open<W: Write + ?Sized>(&mut self, writer: &mut W, sign: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.filled = false;
        writer.write_all(sign)
    }

    fn close<W: Write + ?Sized>(&mut self, writer: &mut W, sign: &[u8]) -> io::Result<()> {
        self.depth = self.depth.saturating_sub(1);
        if self.filled {
            self.line(writer, b"\n")?;
        }
        writer.write_all(sign)
    }

    fn next<W: Write + ?Sized>(&self, writer: &mut W, first: bool) -> io::Result<()> {
        self.line(writer, if first { b"\n" } else { b",\n" })
    }
}

impl Formatter for Indented {
    fn begin_array<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open(writer, b"[")
    }
    fn end_array<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b"]")
    }
    fn begin_array_value<W: Write + ?Sized>(&mut self, w: &mut W, first: bool) -> io::Result<()> {
        self.next(w, first)
    }
    fn end_array_value<W: Write + ?Sized>(&mut self, _: &mut W) -> io::Result<()> {
        self.filled = true;
        Ok(())
    }
    fn begin_object<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open(writer, b"{")
    }
    fn end_object<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b"}")
    }
    fn begin_object_key<W: Write + ?Sized>(&mut self, w: &mut W, first: bool) -> io::Result<()> {
        self.next(w, first)
    }
    fn begin_object_value<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
    fn end_object_value<W: Write + ?Sized>(&mut self, _: &mut W) -> io::Result<()> {
        self.filled = true;
        Ok(())
    }
}
