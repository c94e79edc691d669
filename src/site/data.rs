//! The search data: a script that hands over a list, since a page that was opened from a file may not fetch anything.
//!
//! Every text is escaped as on the pages, and what could end a script or a line of it is spelled as an escape.

use serde_json::json;

use super::card::cards;
use super::{SEARCHED, Site};
use crate::model::Json;
use crate::report::escape;

/// The file of search data of this number, from 1.
pub fn script(site: &Site, n: usize) -> Vec<u8> {
    let mut out = "acxData([\n".to_owned();
    for (at, card) in cards(site, (n - 1) * SEARCHED, SEARCHED).enumerate() {
        if at > 0 {
            out.push_str(",\n");
        }
        let list = |words: &[String]| words.iter().map(|w| escape(w)).collect::<Vec<_>>();
        let row = json!([
            card.kind,
            card.href,
            escape(&card.publisher),
            escape(&card.id),
            escape(&card.name),
            escape(&card.version),
            card.trust,
            escape(&card.status),
            escape(&card.description),
            list(&card.capabilities),
            list(&card.tags),
            card.keyid,
            card.versions,
        ]);
        out.push_str(&spelled(&row));
    }
    out.push_str("\n]);\n");
    out.into_bytes()
}

fn spelled(row: &Json) -> String {
    row.to_string()
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
}
