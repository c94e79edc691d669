//! The Lance descriptor is for the cartridge's own engine.

use crate::check::documents::{Engine, LANCE_DESCRIPTOR, json_of};
use crate::check::{Check, Context, Place, Rule, Scope, Sink};
use crate::finding::{Family, Severity};
use crate::model::{Json, shorten};

/// The place of the column `vector`.
const VECTOR: &str = "/columns/13/type";

/// The rule.
pub static RULE: Rule = Rule {
    code: "lance-engine",
    family: Family::Lance,
    level: Severity::Error,
    fixed: false,
    scope: Scope::Cartridge,
    summary: "The Lance descriptor is for another engine",
    what: "`embeddingEngine` of the descriptor is `acx.embedding_engine`, and the column `vector` has the engine's dimension.",
    why: "Vectors of another engine or length cannot be compared with a query's.",
    example: "`fixed_size_list<float32, 64>` for an engine of dimension 128",
    fix: "Write the descriptor for the cartridge's own engine, and sign the cartridge again.",
    since: "0.1.0",
    check: Check::Cartridge(check),
};

fn check(context: &Context<'_>, sink: &mut Sink<'_>) {
    let Some(descriptor) = json_of(&context.documents.lance_descriptor) else {
        return;
    };
    let Some(engine) = context.documents.embedding_engine() else {
        return;
    };
    if let Some(stated) = descriptor.get("embeddingEngine").and_then(Engine::of)
        && stated != engine
    {
        sink.report(
            Place::pointer("sqlar", LANCE_DESCRIPTOR, "/embeddingEngine"),
            format!(
                "`embeddingEngine` is not `acx.embedding_engine`: expected {engine}, found {stated}"
            ),
        );
    }
    // A type of another form is for the schema to report.
    let stated = descriptor.pointer(VECTOR).and_then(Json::as_str);
    let dim: Option<u32> = stated.and_then(|text| {
        text.strip_prefix("fixed_size_list<float32, ")?
            .strip_suffix('>')?
            .parse()
            .ok()
    });
    if let (Some(stated), Some(dim)) = (stated, dim)
        && engine.dim != dim
    {
        let expected = engine.dim;
        sink.report(
            Place::pointer("sqlar", LANCE_DESCRIPTOR, VECTOR),
            format!(
                "expected the engine's dimension {expected}, found {:?}",
                shorten(stated)
            ),
        );
    }
}
