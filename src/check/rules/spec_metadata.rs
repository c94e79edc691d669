//! The package spec is this cartridge's own.

use crate::check::documents::{Engine, PACKAGE_SPEC, json_of};
use crate::check::{Check, Context, Place, Rule, Scope, Sink};
use crate::finding::{Family, Severity};
use crate::model::shorten;

/// The rule.
pub static RULE: Rule = Rule {
    code: "spec-metadata",
    family: Family::PackageSpec,
    level: Severity::Error,
    fixed: false,
    scope: Scope::Cartridge,
    summary: "The package spec describes another cartridge",
    what: "`cartridgeId`, `specVersion` and `embeddingEngine` of the package spec equal the metadata values `acx.cartridge_id`, `acx.spec_version` and `acx.embedding_engine`.",
    why: "A spec that names another cartridge was copied from it, and what it promises is not what was signed here.",
    example: "`\"cartridgeId\"` of a spec that was copied from an older export",
    fix: "Set the field to the value in the cartridge table, and sign the cartridge again.",
    since: "0.1.0",
    check: Check::Cartridge(check),
};

fn check(context: &Context<'_>, sink: &mut Sink<'_>) {
    let Some(spec) = json_of(&context.documents.package_spec) else {
        return;
    };
    for (field, key) in [
        ("cartridgeId", "acx.cartridge_id"),
        ("specVersion", "acx.spec_version"),
    ] {
        // A field of another type is for the schema to report, an absent value for `metadata-missing`.
        let Some(stated) = spec.get(field).and_then(|value| value.as_str()) else {
            continue;
        };
        let Some(actual) = context.cartridge.meta(key) else {
            continue;
        };
        if stated != actual {
            sink.report(
                Place::pointer("sqlar", PACKAGE_SPEC, format!("/{field}")),
                format!(
                    "`{field}` is not `{key}`: expected {:?}, found {:?}",
                    shorten(actual),
                    shorten(stated)
                ),
            );
        }
    }
    let stated = spec.get("embeddingEngine").and_then(Engine::of);
    if let (Some(stated), Some(actual)) = (stated, context.documents.embedding_engine())
        && stated != actual
    {
        sink.report(
            Place::pointer("sqlar", PACKAGE_SPEC, "/embeddingEngine"),
            format!(
                "`embeddingEngine` is not `acx.embedding_engine`: expected {actual}, found {stated}"
            ),
        );
    }
}
