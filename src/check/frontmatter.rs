//! The YAML frontmatter of a SKILL.md.

use serde_saphyr::options::MergeKeyPolicy;

use crate::model::{Json, shorten};

/// Bytes of frontmatter that are read.
const BYTES: usize = 16 << 10;

/// The fields of a SKILL.md, or a sentence where there are none that can be read.
pub type Frontmatter = Result<Json, String>;

/// The frontmatter of a SKILL.md.
///
/// # Errors
/// A sentence where there is none that can be read.
pub(crate) fn read(data: &[u8]) -> Frontmatter {
    text(data).and_then(parse)
}

/// The text between the first line `---` and the next.
fn text(data: &[u8]) -> Result<&str, String> {
    let head = data.get(..BYTES).unwrap_or(data);
    // The cut may fall within a character of the body.
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(e) if e.error_len().is_none() => head
            .utf8_chunks()
            .next()
            .map(|c| c.valid())
            .unwrap_or_default(),
        Err(_) => return Err("expected UTF-8 text".to_owned()),
    };
    let mut end = 0;
    let mut start = None;
    for line in text.split_inclusive('\n') {
        let marker = line.trim_end() == "---";
        match start {
            None if marker => start = Some(line.len()),
            None => break,
            Some(start) if marker => return Ok(text.get(start..end).unwrap_or_default()),
            Some(_) => {}
        }
        end += line.len();
    }
    Err(format!(
        "expected YAML frontmatter of at most {BYTES} bytes between two lines `---` at the start, found none"
    ))
}

fn parse(yaml: &str) -> Result<Json, String> {
    // The text is a stranger's: no aliases that multiply, no depth, no merge keys. Six fields need few nodes.
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_aliases: 0,
            max_anchors: 0,
            max_depth: 8,
            max_documents: 1,
            max_events: 2_048,
            max_nodes: 1_024,
            max_total_scalar_bytes: BYTES,
            max_merge_keys: 0,
            max_inclusion_depth: 0,
            flow_nesting_limit: 8,
        },
        merge_keys: MergeKeyPolicy::Error,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options::<Json>(yaml, options).map_err(|e| {
        format!(
            "the frontmatter is not YAML of the form that skills use: {}",
            shorten(&e.to_string())
        )
    })
}
