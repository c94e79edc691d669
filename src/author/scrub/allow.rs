//! `scrub-allow.toml`: what the scrub gate lets pass, and why.
//!
//! An allowance names a rule and a file and gives a reason. One that allows nothing is an error: it would wait for the
//! next secret.

use serde::Deserialize;

use super::{Hit, rules};
use crate::author::package::{ALLOWANCES, Package, Problem};
use crate::model::{nearest, shorten};

/// Characters of a reason.
const REASON: std::ops::RangeInclusive<usize> = 10..=1_000;
/// Bytes of the file.
const BYTES: usize = 256 << 10;
/// Allowances of one package.
const MOST: usize = 500;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    allow: Vec<Allowance>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Allowance {
    rule: String,
    file: String,
    reason: String,
    /// As the report shows it; without it every hit of the rule in the file is allowed.
    sample: Option<String>,
    /// As the report shows it.
    field: Option<String>,
}

impl Allowance {
    fn covers(&self, hit: &Hit) -> bool {
        self.rule == hit.rule
            && self.file == hit.file
            && self
                .sample
                .as_ref()
                .is_none_or(|sample| *sample == hit.sample)
            && self.field.as_ref().is_none_or(|field| *field == hit.field)
    }
}

/// Takes out what the package's allowances cover; how many that were.
///
/// # Errors
/// [`Problem`] for every allowance that is not of its form, has no reason, or allows nothing.
pub(crate) fn apply(package: &Package, hits: &mut Vec<Hit>) -> Result<usize, Vec<Problem>> {
    let Some(data) = package.file(ALLOWANCES) else {
        return Ok(0);
    };
    let whole = |message: String| vec![Problem::new(ALLOWANCES, "", message)];
    let text = std::str::from_utf8(data)
        .ok()
        .filter(|text| text.len() <= BYTES)
        .ok_or_else(|| whole(format!("expected UTF-8 text of at most {BYTES} bytes")))?;
    let file: File = toml::from_str(text).map_err(|e| {
        whole(format!(
            "expected [[allow]] tables of rule, file, reason, and optionally sample and field: {}",
            shorten(e.message())
        ))
    })?;
    if file.allow.len() > MOST {
        return Err(whole(format!(
            "expected at most {MOST} allowances, found {}",
            file.allow.len()
        )));
    }
    let mut problems = Vec::new();
    for (at, allowance) in file.allow.iter().enumerate() {
        let mut problem = |field: &str, message: String| {
            problems.push(Problem::new(
                ALLOWANCES,
                format!("/allow/{at}/{field}"),
                message,
            ));
        };
        if !rules::all().any(|(id, _)| id == allowance.rule) {
            let near = nearest(&allowance.rule, rules::all().map(|(id, _)| id))
                .map_or_else(String::new, |near| format!("; is {near:?} meant?"));
            problem(
                "rule",
                format!("there is no rule {:?}{near}", shorten(&allowance.rule)),
            );
        } else if !hits.iter().any(|hit| allowance.covers(hit)) {
            let message = format!(
                "allows nothing: no hit of {} in {:?} is of this form; remove the allowance",
                allowance.rule,
                shorten(&allowance.file)
            );
            problem("file", message);
        }
        if !REASON.contains(&allowance.reason.trim().chars().count()) {
            problem(
                "reason",
                "expected a reason of 10 to 1000 characters".to_owned(),
            );
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let before = hits.len();
    hits.retain(|hit| !file.allow.iter().any(|allowance| allowance.covers(hit)));
    Ok(before - hits.len())
}
