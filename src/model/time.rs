//! RFC 3339 times with capital `T` and `Z`.

use super::Malformed;

/// A point in time with its text as written. Compares by the point, then by the text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Timestamp {
    instant: jiff::Timestamp,
    text: String,
}

impl Timestamp {
    /// The time as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Seconds since 1970-01-01T00:00:00Z, rounded down, and the nanoseconds within that second.
    pub fn unix(&self) -> (i64, u32) {
        let nanos = self.instant.as_nanosecond();
        let second = i64::try_from(nanos.div_euclid(1_000_000_000)).unwrap_or(i64::MAX);
        (
            second,
            u32::try_from(nanos.rem_euclid(1_000_000_000)).unwrap_or_default(),
        )
    }

    /// The time `seconds` after 1970-01-01T00:00:00Z.
    ///
    /// # Errors
    /// [`Malformed`] for a time outside the years −9999 to 9999.
    pub fn from_unix(seconds: i64) -> Result<Self, Malformed> {
        let instant = jiff::Timestamp::from_second(seconds).map_err(|_| {
            Malformed::new(
                "seconds since 1970 within the year 9999",
                &seconds.to_string(),
            )
        })?;
        Ok(Self::from(instant))
    }

    /// The same point in time, written in UTC with milliseconds: `2026-07-19T08:54:36.000Z`.
    pub fn to_millis(&self) -> Self {
        Self::from(self.instant)
    }

    /// Whether this point in time is before the other.
    pub fn is_before(&self, other: &Self) -> bool {
        self.instant < other.instant
    }
}

impl From<jiff::Timestamp> for Timestamp {
    fn from(instant: jiff::Timestamp) -> Self {
        Self {
            instant,
            text: format!("{instant:.3}"),
        }
    }
}

impl Ord for Timestamp {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.instant
            .cmp(&other.instant)
            .then_with(|| self.text.cmp(&other.text))
    }
}

impl PartialOrd for Timestamp {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// `YYYY-MM-DDThh:mm:ss`, an optional fraction of at most nine digits, and `Z` or `±hh:mm`.
fn has_form(text: &str) -> bool {
    let (Some(head), Some(mut rest)) = (text.get(..19), text.get(19..)) else {
        return false;
    };
    let head_ok = head
        .bytes()
        .zip(*b"dddd-dd-ddTdd:dd:dd")
        .all(|(b, form)| match form {
            b'd' => b.is_ascii_digit(),
            exact => b == exact,
        });
    if let Some(fraction) = rest.strip_prefix('.') {
        let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 || digits > 9 {
            return false;
        }
        rest = fraction.get(digits..).unwrap_or_default();
    }
    let zone_ok = match rest.as_bytes() {
        b"Z" => true,
        [b'+' | b'-', h1, h2, b':', m1, m2] => [h1, h2, m1, m2].iter().all(|b| b.is_ascii_digit()),
        _ => false,
    };
    head_ok && zone_ok
}

impl TryFrom<&str> for Timestamp {
    type Error = Malformed;
    fn try_from(text: &str) -> Result<Self, Malformed> {
        let malformed = || Malformed::new("an RFC 3339 time such as `2026-07-01T00:00:00Z`", text);
        if !has_form(text) {
            return Err(malformed());
        }
        let instant: jiff::Timestamp = text.parse().map_err(|_| malformed())?;
        Ok(Self {
            instant,
            text: text.to_owned(),
        })
    }
}

super::text_traits!(Timestamp);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        for good in [
            "2026-07-01T00:00:00Z",
            "2026-07-01T00:00:00.123456789Z",
            "2024-02-29T23:59:59+05:30",
            "0001-01-01T00:00:00Z",
        ] {
            assert!(Timestamp::try_from(good).is_ok(), "{good}");
        }
        for bad in [
            "2026-07-01t00:00:00Z",
            "2026-07-01T00:00:00z",
            "2026-02-30T00:00:00Z",
            "2026-07-01T24:00:00Z",
            "",
            "2026-07-01T00:00:00",
            "2026-07-01 00:00:00Z",
            "2026-07-01T00:00:00.Z",
            "2026-7-1T00:00:00Z",
            "２０26-07-01T00:00:00Z",
        ] {
            assert!(Timestamp::try_from(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn points_in_time() -> Result<(), Malformed> {
        let a = Timestamp::try_from("2026-07-01T02:00:00+02:00")?;
        let b = Timestamp::try_from("2026-07-01T00:00:00.5Z")?;
        assert!(a.is_before(&b));
        assert_eq!(a.to_millis().as_str(), "2026-07-01T00:00:00.000Z");
        assert_eq!(b.unix(), (1_782_864_000, 500_000_000));
        assert_eq!(
            Timestamp::from_unix(0)?.as_str(),
            "1970-01-01T00:00:00.000Z"
        );
        Ok(())
    }
}
