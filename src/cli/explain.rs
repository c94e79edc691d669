//! `acx explain`

use std::fmt::Write as _;

use acx_registry::author::scrub;
use acx_registry::check::{RULES, Rule, Scope, rule};
use acx_registry::finding::{Family, Severity};
use acx_registry::model::nearest;
use serde_json::json;

use super::{Failure, Format, Global, output};

/// Explain a finding's code
#[derive(clap::Args)]
pub struct Args {
    /// The code, such as `integrity-stowaway`
    #[arg(required_unless_present_any = ["list", "table"])]
    code: Option<String>,
    /// List every code
    #[arg(long, conflicts_with = "code")]
    list: bool,
    /// Print every rule in full as Markdown tables: docs/rules.md
    #[arg(long, conflicts_with_all = ["code", "list"])]
    table: bool,
}

pub fn run(args: Args, global: Global) -> Result<u8, Failure> {
    match args.code {
        None if args.table => output::print(&table()),
        None => match global.format {
            Format::Human => output::print(&list()),
            Format::Json => output::json(&RULES.iter().map(|r| value(r)).collect::<Vec<_>>())?,
        },
        Some(code) if let Some((id, what)) = scrub::rules().find(|(id, _)| *id == code) => {
            match global.format {
                Format::Human => output::print(&format!(
                    "{id}: {what}\n\na rule of the scrub gate: `acx export` writes nothing while a package has one\n\nFix:     \
                     Remove it, and revoke it if it is real. What is no secret is allowed in scrub-allow.toml in the package \
                     folder, by rule and file, with a reason.\n"
                )),
                Format::Json => {
                    output::json(&json!({"code": id, "scope": "scrub", "summary": what}))?
                }
            }
        }
        Some(code) => {
            let rule = rule(&code).ok_or_else(|| {
                let meant = nearest(&code, RULES.iter().map(|r| r.code))
                    .map(|near| format!("did you mean `{near}`? "))
                    .unwrap_or_default();
                Failure(format!(
                    "no rule has the code {code:?}; {meant}`acx explain --list` lists all"
                ))
            })?;
            match global.format {
                Format::Human => output::print(&human(rule)),
                Format::Json => output::json(&value(rule))?,
            }
        }
    }
    Ok(0)
}

fn level(rule: &Rule) -> &'static str {
    match rule.level {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

fn scope(rule: &Rule) -> &'static str {
    match rule.scope {
        Scope::Cartridge => "cartridge",
        Scope::Public => "public",
        Scope::Registry => "registry",
    }
}

fn list() -> String {
    let mut out = String::new();
    for rule in RULES {
        let _ = writeln!(out, "{:<26} {:<8} {}", rule.code, level(rule), rule.summary);
    }
    out
}

/// All rules as a page of Markdown, by family.
fn table() -> String {
    let mut families: Vec<Family> = RULES.iter().map(|rule| rule.family).collect();
    families.sort_unstable();
    families.dedup();
    let mut out = String::from(
        "# Rules\n\n\
         What a cartridge and a registry are held to, and what to do about a finding. `acx explain CODE` prints one rule in \
         full. A policy may lower or waive a rule, unless it is marked *fixed*.\n",
    );
    for family in families {
        let _ = writeln!(
            out,
            "\n## {}\n\n| code | level | what is checked | why | for example | what to do |\n| --- | --- | --- | --- | --- | --- |",
            family.as_str()
        );
        for rule in RULES.iter().filter(|rule| rule.family == family) {
            let fixed = if rule.fixed { ", fixed" } else { "" };
            let _ = writeln!(
                out,
                "| `{}` | {}{fixed} | {} | {} | {} | {} |",
                rule.code,
                level(rule),
                cell(rule.what),
                cell(rule.why),
                cell(rule.example),
                cell(rule.fix)
            );
        }
    }
    out
}

/// A text of ours in a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn human(rule: &Rule) -> String {
    let fixed = if rule.fixed {
        ", which no policy can lower or waive"
    } else {
        ""
    };
    format!(
        "{code}: {summary}\n\n{level}{fixed}; family {family}; scope {scope}; since {since}\n\nWhat:    {what}\nWhy:     {why}\nExample: {example}\nFix:     {fix}\n",
        code = rule.code,
        summary = rule.summary,
        level = level(rule),
        family = rule.family.as_str(),
        scope = scope(rule),
        since = rule.since,
        what = rule.what,
        why = rule.why,
        example = rule.example,
        fix = rule.fix,
    )
}

fn value(rule: &Rule) -> serde_json::Value {
    json!({
        "code": rule.code,
        "family": rule.family,
        "level": rule.level,
        "fixed": rule.fixed,
        "scope": scope(rule),
        "summary": rule.summary,
        "what": rule.what,
        "why": rule.why,
        "example": rule.example,
        "fix": rule.fix,
        "since": rule.since,
    })
}
