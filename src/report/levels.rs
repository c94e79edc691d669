//! Levels for people: what is proven, what is claimed, and how far.

use std::fmt::Write as _;

use super::escape;
use crate::model::{Json, cut};
use crate::project::{LevelClaim, Proofs};

/// Characters of a foreign text that are shown.
const SHOWN: usize = 400;

fn shown(text: &str) -> String {
    escape(&cut(text, SHOWN))
}

/// A level's number and tier; a hyphen for what is absent.
fn words(number: Option<&Json>, tier: Option<&str>) -> String {
    let number = number
        .filter(|value| !value.is_null())
        .map_or_else(|| "-".to_owned(), |value| shown(&value.to_string()));
    format!("{number} {}", tier.map_or_else(|| "-".to_owned(), shown))
}

/// The highest proven level and the highest claim of a cartridge, in one sentence without a full stop.
pub fn human_level(level: Option<&Json>, claim: &LevelClaim) -> String {
    let claimed = words(claim.acx_level.as_ref(), claim.career_tier.as_deref());
    let state = claim.verification_state.map(|state| state.as_str());
    let proven = level.map(|level| {
        let tier = level.get("careerTier").and_then(Json::as_str);
        (level.get("acxLevel"), words(level.get("acxLevel"), tier))
    });
    match (proven, state) {
        (Some((number, proven)), _) if number == claim.acx_level.as_ref() => {
            format!("level {proven}, proven")
        }
        (Some((_, proven)), Some(state)) => {
            format!("level {proven}, proven; claims {claimed} ({state})")
        }
        (Some((_, proven)), None) => format!("level {proven}, proven"),
        (None, Some(state)) => format!("no level is proven; claims {claimed} ({state})"),
        (None, None) => "no level is proven, and none is claimed".to_owned(),
    }
}

/// What a cartridge's credentials come to, line by line.
pub fn human_proofs(proofs: &Proofs) -> String {
    let level = human_level(proofs.level.as_ref(), &proofs.level_claim);
    let mut out = format!("  {level}\n");
    for credential in &proofs.credentials {
        let (name, state) = (shown(&credential.att_id), credential.state.as_str());
        let reason = shown(&credential.reason);
        let _ = writeln!(out, "  credential {name}: {state}: {reason}");
    }
    for capability in &proofs.capabilities {
        let (task, domain) = (shown(&capability.task_type), shown(&capability.domain));
        let state = capability.verification_state.as_str();
        let _ = writeln!(out, "  capability {task} ({domain}): {state}");
    }
    out
}
