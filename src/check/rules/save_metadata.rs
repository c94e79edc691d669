//! A public cartridge does not say which code base it learned from.

use crate::check::{Check, Context, Place, Rule, Scope, Sink};
use crate::finding::{Family, Severity};
use crate::model::shorten;

const KEY: &str = "acx.save_codebase_fingerprint";

/// The rule.
pub static RULE: Rule = Rule {
    code: "save-metadata",
    family: Family::SaveZone,
    level: Severity::Error,
    fixed: false,
    scope: Scope::Public,
    summary: "A public cartridge carries a codebase fingerprint in its metadata",
    what: "`acx.save_codebase_fingerprint` is absent or empty.",
    why: "The value ties a cartridge to one installation's code base, and says that it was used there.",
    example: "`acx.save_codebase_fingerprint` = `cbf1_…`",
    fix: "Strip the cartridge to its ROM zone before publishing it; the signature stays valid.",
    since: "0.1.0",
    check: Check::Cartridge(check),
};

fn check(context: &Context<'_>, sink: &mut Sink<'_>) {
    if let Some(value) = context
        .cartridge
        .meta(KEY)
        .filter(|value| !value.is_empty())
    {
        sink.report(
            Place::row("cartridge", KEY),
            format!(
                "expected no `{KEY}` in a public cartridge, found {:?}",
                shorten(value)
            ),
        );
    }
}
