//! What a credential claims: a rating, the level and the tier that follow from it, and where it was measured.

use serde::Serialize;

use crate::model::{Json, json, shorten};

/// The first `result` of a credential.
const RESULT: &str = "/credentialSubject/result/0";
/// A rating is too uncertain from this sigma on.
const SIGMA: f64 = 1.5;
/// Games that a rating needs.
const GAMES: f64 = 30.0;
/// What three decimals of mu and sigma may lose: half of a thousandth, and three times that.
const SLACK: f64 = 0.002;
/// Characters of a text that is read as a number.
const LONGEST_NUMBER: usize = 64;

/// The claim of a credential, by its own word. Numbers are as in the document; a text that is exactly a JSON number
/// counts as that number, any other value as absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Claim {
    /// `acx:acxLevel`
    pub acx_level: Option<Json>,
    /// `acx:careerTier`
    pub career_tier: Option<String>,
    /// `acx:ratingMu`
    pub mu: Option<Json>,
    /// `acx:ratingSigma`
    pub sigma: Option<Json>,
    /// `acx:gamesPlayed`
    pub games: Option<Json>,
    /// `acx:cartridgeRomDigest`
    pub rom_digest: Option<String>,
}

/// On which tasks a level was measured, by the credential's own word.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Benchmark {
    /// `acx:benchmarkId`
    pub id: Option<String>,
    /// `acx:benchmarkVersion`
    pub version: Option<String>,
    /// `acx:benchmarkDigest`
    pub digest: Option<String>,
    /// `acx:heldOutSliceDigest`
    pub held_out_slice_digest: Option<String>,
}

fn member<'j>(document: &'j Json, name: &str) -> Option<&'j Json> {
    document.pointer(RESULT)?.get(name)
}

fn text(document: &Json, name: &str) -> Option<String> {
    Some(member(document, name)?.as_str()?.to_owned())
}

/// A number in the one form that the index writes: whole ones without a fraction.
fn number(document: &Json, name: &str) -> Option<Json> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let value = match member(document, name)? {
        Json::Number(number) => number.as_f64()?,
        Json::String(text)
            if text.len() <= LONGEST_NUMBER && !text.contains(char::is_whitespace) =>
        {
            json::parse(text.as_bytes()).ok()?.as_f64()?
        }
        _ => return None,
    };
    if value.fract() == 0.0 && value.abs() <= EXACT {
        Some(Json::from(value as i64))
    } else {
        serde_json::Number::from_f64(value).map(Json::Number)
    }
}

impl Claim {
    /// The claim of a document, whatever it is.
    pub(super) fn of(document: &Json) -> Self {
        Self {
            acx_level: number(document, "acx:acxLevel"),
            career_tier: text(document, "acx:careerTier"),
            mu: number(document, "acx:ratingMu"),
            sigma: number(document, "acx:ratingSigma"),
            games: number(document, "acx:gamesPlayed"),
            rom_digest: text(document, "acx:cartridgeRomDigest"),
        }
    }

    /// Whether the rating is certain enough, and level and tier follow from it.
    ///
    /// # Errors
    /// A sentence with the first member that says otherwise.
    pub(super) fn gate(&self) -> Result<(), String> {
        let value = |name: &str, number: &Option<Json>| {
            let value = number.as_ref().and_then(Json::as_f64);
            value.ok_or_else(|| format!("{name}: expected a number"))
        };
        let mu = value("acx:ratingMu", &self.mu)?;
        let sigma = value("acx:ratingSigma", &self.sigma)?;
        let games = value("acx:gamesPlayed", &self.games)?;
        let level = value("acx:acxLevel", &self.acx_level)?;
        if sigma <= 0.0 || sigma >= SIGMA {
            return Err(format!(
                "acx:ratingSigma: expected more than 0 and less than {SIGMA}, found {sigma}"
            ));
        }
        if games < GAMES || games.fract() != 0.0 {
            return Err(format!(
                "acx:gamesPlayed: expected an integer of at least {GAMES}, found {games}"
            ));
        }
        let (least, most) = levels_of(mu, sigma);
        if level.fract() != 0.0 || !(least..=most).contains(&level) {
            return Err(format!(
                "acx:acxLevel: expected {most}, which is mu - 3 sigma of {mu} and {sigma}, rounded, found {level}"
            ));
        }
        let expected = tier(level);
        if self.career_tier.as_deref() != Some(expected) {
            let found = shorten(self.career_tier.as_deref().unwrap_or_default());
            return Err(format!(
                "acx:careerTier: expected {expected:?}, the tier of level {level}, found {found:?}"
            ));
        }
        Ok(())
    }
}

impl Benchmark {
    pub(super) fn of(document: &Json) -> Self {
        Self {
            id: text(document, "acx:benchmarkId"),
            version: text(document, "acx:benchmarkVersion"),
            digest: text(document, "acx:benchmarkDigest"),
            held_out_slice_digest: text(document, "acx:heldOutSliceDigest"),
        }
    }
}

/// The lowest and the highest level that a rating may have been rounded to; mostly they are one.
fn levels_of(mu: f64, sigma: f64) -> (f64, f64) {
    let low = mu - 3.0 * sigma;
    // Far less than a thousandth, and more than a double loses here.
    let slack = SLACK + 1e-9;
    let level = |value: f64| (value + 0.5).floor().max(0.0);
    (level(low - slack), level(low + slack))
}

/// The ladder's word for a level.
pub fn tier(level: f64) -> &'static str {
    const LADDER: &[(f64, &str)] = &[
        (35.0, "legend"),
        (30.0, "distinguished"),
        (25.0, "principal"),
        (20.0, "staff"),
        (15.0, "senior"),
        (10.0, "mid"),
        (5.0, "junior"),
    ];
    let rung = LADDER.iter().find(|(least, _)| level >= *least);
    rung.map_or("intern", |(_, word)| word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ladder() {
        let words: Vec<&str> = [0, 4, 5, 9, 10, 14, 15, 19, 20, 24, 25, 29, 30, 34, 35, 99]
            .map(|level| tier(f64::from(level)))
            .into();
        assert_eq!(
            words,
            [
                "intern",
                "intern",
                "junior",
                "junior",
                "mid",
                "mid",
                "senior",
                "senior",
                "staff",
                "staff",
                "principal",
                "principal",
                "distinguished",
                "distinguished",
                "legend",
                "legend"
            ]
        );
    }

    #[test]
    fn levels_are_rounded_half_up_with_slack() {
        assert_eq!(levels_of(30.1, 1.2), (26.0, 27.0));
        assert_eq!(levels_of(27.499, 1.0), (24.0, 25.0));
        assert_eq!(levels_of(28.498, 1.0), (25.0, 26.0));
        assert_eq!(levels_of(28.497, 1.0), (25.0, 25.0));
        assert_eq!(levels_of(28.502, 1.0), (25.0, 26.0));
        assert_eq!(levels_of(28.503, 1.0), (26.0, 26.0));
        assert_eq!(levels_of(1.0, 1.4), (0.0, 0.0));
        assert_eq!(levels_of(-1e300, 1.0), (0.0, 0.0));
    }

    #[test]
    fn numbers_and_texts_that_are_numbers() {
        let of = |value: Json| {
            let document = serde_json::json!({"credentialSubject": {"result": [{"n": value}]}});
            number(&document, "n").map(|n| n.to_string())
        };
        for (given, expected) in [
            (serde_json::json!(26), Some("26")),
            (serde_json::json!(26.0), Some("26")),
            (serde_json::json!(-0.0), Some("0")),
            (serde_json::json!("1.25"), Some("1.25")),
            (serde_json::json!("26"), Some("26")),
            (serde_json::json!(" 26"), None),
            (serde_json::json!("+26"), None),
            (serde_json::json!("026"), None),
            (serde_json::json!("0x1a"), None),
            (serde_json::json!("Infinity"), None),
            (serde_json::json!("NaN"), None),
            (serde_json::json!("low"), None),
            (serde_json::json!("null"), None),
            (serde_json::json!("1e999"), None),
            (serde_json::json!(""), None),
            (serde_json::json!(true), None),
            (serde_json::json!([26]), None),
        ] {
            assert_eq!(of(given.clone()).as_deref(), expected, "{given}");
        }
        assert_eq!(of(Json::String("1".repeat(1 << 20))), None);
    }
}
