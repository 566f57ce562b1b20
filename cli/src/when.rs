//! Moments as people type them: a position of the log, a time, or how long ago.

use std::str::FromStr;

use chrono::{DateTime, NaiveDate, NaiveTime, TimeDelta, Utc};
use projections::archive::Cutoff;
use projections::replay::Since;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Fields of a [`Moment`].
pub(crate) const MOMENT: &str = "position recordedAt";

/// A moment that somebody means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    Pos(i64),
    Time(DateTime<Utc>),
    Ago(TimeDelta),
}

/// A moment as the API answers it.
#[derive(Debug, Clone, Copy, Deserialize, Serialize)]
#[serde(rename_all(deserialize = "camelCase"))]
pub(crate) struct Moment {
    position: i64,
    recorded_at: DateTime<Utc>,
}

impl FromStr for When {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(pos) = text.parse::<i64>() {
            return match pos {
                1.. => Ok(Self::Pos(pos)),
                _ => Err("positions begin with 1".to_owned()),
            };
        }
        if let Ok(time) = DateTime::parse_from_rfc3339(text) {
            return Ok(Self::Time(time.to_utc()));
        }
        if let Ok(day) = text.parse::<NaiveDate>() {
            return Ok(Self::Time(day.and_time(NaiveTime::MIN).and_utc()));
        }
        ago(text).map(Self::Ago).ok_or_else(|| {
            format!(
                "`{text}` is no moment; write a position such as 4711, a time such as \
                 2026-11-18T14:00:00Z, or how long ago, such as 2h or 15m"
            )
        })
    }
}

/// A number with s, m, h, d or w behind it.
fn ago(text: &str) -> Option<TimeDelta> {
    let unit = text.chars().last()?;
    let number: i64 = text.strip_suffix(unit)?.parse().ok()?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        'w' => 604_800,
        _ => return None,
    };
    // No more than a hundred years: nothing is older.
    let seconds = number.checked_mul(seconds)?;
    (0..=3_153_600_000)
        .contains(&seconds)
        .then(|| TimeDelta::seconds(seconds))
}

impl When {
    /// What is older than it.
    pub(crate) fn cutoff(self) -> Cutoff {
        match self {
            Self::Pos(pos) => Cutoff::Pos(pos),
            Self::Time(at) => Cutoff::Time(at),
            Self::Ago(delta) => Cutoff::Time(now() - delta),
        }
    }

    /// From where on the log is meant.
    pub(crate) fn since(self) -> Since {
        match self {
            Self::Pos(pos) => Since::Pos(pos),
            Self::Time(at) => Since::Time(at),
            Self::Ago(delta) => Since::Time(now() - delta),
        }
    }

    /// The input of the API.
    pub(crate) fn input(self) -> Value {
        match self {
            Self::Pos(pos) => json!({ "pos": pos }),
            Self::Time(at) => json!({ "time": at }),
            Self::Ago(delta) => json!({ "time": now() - delta }),
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "how long ago is said by the clock of whoever says it"
)]
pub(crate) fn now() -> DateTime<Utc> {
    Utc::now()
}

impl std::fmt::Display for When {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Pos(pos) => write!(f, "{pos}"),
            Self::Time(at) => write!(f, "{}", at.to_rfc3339()),
            Self::Ago(delta) => write!(f, "{}s", delta.num_seconds()),
        }
    }
}

impl std::fmt::Display for Moment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let at = self.recorded_at.format("%Y-%m-%d %H:%M:%S%.3f UTC");
        write!(f, "position {}, recorded at {at}", self.position)
    }
}

impl Moment {
    pub(crate) fn position(self) -> i64 {
        self.position
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_positions_times_days_and_durations() {
        let time = |text: &str| When::Time(text.parse().unwrap());
        for (text, wanted) in [
            ("4711", When::Pos(4711)),
            ("2026-11-18T14:00:00+02:00", time("2026-11-18T12:00:00Z")),
            ("2026-11-18", time("2026-11-18T00:00:00Z")),
            ("2h", When::Ago(TimeDelta::hours(2))),
            ("90s", When::Ago(TimeDelta::seconds(90))),
            ("0m", When::Ago(TimeDelta::zero())),
        ] {
            assert_eq!(text.parse(), Ok(wanted), "{text}");
        }
        for bad in [
            "",
            "0",
            "-3",
            "h",
            "-2h",
            "2y",
            "yesterday",
            "9e9d",
            "99999999w",
            "ä",
        ] {
            assert!(bad.parse::<When>().is_err(), "{bad}");
        }
    }
}
