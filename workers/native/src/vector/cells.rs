//! Values of fields as cells of a table.

use gdal_sys::OGRFieldType;
use geo::vector::{Cell, ColumnKind};
use serde_json::{Value, json};

use crate::ffi::feature::{Feature, Moment};

/// Days from 1970-01-01 to 2000-01-01.
const DAYS_TO_2000: i64 = 10_957;
const MICROS_PER_DAY: i64 = 86_400_000_000;
/// PostgreSQL knows no earlier and no later years.
const YEARS: std::ops::RangeInclusive<i32> = -4712..=294_275;

/// A field of the source that becomes a column.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source {
    pub(super) index: i32,
    pub(super) field: OGRFieldType::Type,
    pub(super) kind: ColumnKind,
}

/// The value of a field as its column wants it.
pub(super) fn cell(feature: &Feature, source: Source) -> Cell {
    let Source { index, field, kind } = source;
    if !feature.has(index) {
        return Cell::Null;
    }
    match kind {
        ColumnKind::Integer => Cell::Integer(feature.integer(index)),
        ColumnKind::BigInt => Cell::BigInt(feature.big_integer(index)),
        ColumnKind::Real => Cell::Real(feature.real(index)),
        ColumnKind::Text => Cell::Text(feature.text(index).0),
        ColumnKind::Boolean => Cell::Boolean(feature.integer(index) != 0),
        ColumnKind::Date => feature
            .moment(index)
            .and_then(date)
            .map_or(Cell::Null, Cell::Date),
        ColumnKind::Time => feature
            .moment(index)
            .and_then(time)
            .map_or(Cell::Null, Cell::Time),
        ColumnKind::DateTime => {
            let moment = feature.moment(index);
            moment.and_then(datetime).map_or(Cell::Null, Cell::DateTime)
        }
        ColumnKind::Binary => Cell::Binary(feature.bytes(index)),
        ColumnKind::Json => Cell::Json(json(feature, index, field).to_string()),
    }
}

/// Lists as arrays, JSON as it is, and everything else as text.
fn json(feature: &Feature, index: i32, field: OGRFieldType::Type) -> Value {
    let found = match field {
        OGRFieldType::OFTIntegerList => json!(feature.integers(index)),
        OGRFieldType::OFTInteger64List => json!(feature.big_integers(index)),
        OGRFieldType::OFTRealList => json!(feature.reals(index)),
        OGRFieldType::OFTStringList => json!(feature.texts(index)),
        _ => {
            let text = feature.text(index).0;
            serde_json::from_str(&text).unwrap_or(Value::String(text))
        }
    };
    without_zeros(found)
}

/// PostgreSQL stores no zero characters, not even escaped ones.
fn without_zeros(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(text.replace('\0', "")),
        Value::Array(values) => values.into_iter().map(without_zeros).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(key, value)| (key.replace('\0', ""), without_zeros(value)))
            .collect(),
        other => other,
    }
}

fn date(moment: Moment) -> Option<i32> {
    i32::try_from(days(moment)?).ok()
}

/// Days since 2000-01-01; nothing for what is no day of the calendar.
fn days(moment: Moment) -> Option<i64> {
    let Moment {
        year, month, day, ..
    } = moment;
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 => 28 + i32::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !YEARS.contains(&year) || !(1..=last).contains(&day) {
        return None;
    }
    // Years begin in March here, so that the leap day is the last of one.
    let (year, month, day) = (i64::from(year), i64::from(month), i64::from(day));
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    Some(era * 146_097 + day_of_era - 719_468 - DAYS_TO_2000)
}

/// Microseconds since midnight. OGR keeps seconds with about as many digits as milliseconds need.
fn time(moment: Moment) -> Option<i64> {
    let Moment {
        hour,
        minute,
        second,
        ..
    } = moment;
    let fits =
        (0..=24).contains(&hour) && (0..60).contains(&minute) && (0.0..61.0).contains(&second);
    if !fits {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "at most 61,000")]
    let millis = (f64::from(second) * 1000.0).round() as i64;
    let micros = (i64::from(hour) * 3600 + i64::from(minute) * 60) * 1_000_000 + millis * 1000;
    (micros <= MICROS_PER_DAY).then_some(micros)
}

/// Microseconds since 2000-01-01 UTC. Without a zone it is taken as UTC.
fn datetime(moment: Moment) -> Option<i64> {
    let local = days(moment)? * MICROS_PER_DAY + time(moment)?;
    let quarters = if moment.zone > 1 {
        i64::from(moment.zone) - 100
    } else {
        0
    };
    Some(local - quarters * 15 * 60 * 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(year: i32, month: i32, day: i32) -> Moment {
        Moment {
            year,
            month,
            day,
            ..Moment::default()
        }
    }

    #[test]
    fn days_count_from_2000() {
        for (moment, expected) in [
            (at(2000, 1, 1), Some(0)),
            (at(1970, 1, 1), Some(-10_957)),
            (at(2000, 2, 29), Some(59)),
            (at(2024, 12, 31), Some(9131)),
            (at(1900, 2, 29), None),
            (at(2024, 13, 1), None),
            (at(0, 0, 0), None),
        ] {
            assert_eq!(days(moment), expected);
        }
    }

    #[test]
    fn a_zone_is_taken_into_account() {
        let moment = Moment {
            hour: 1,
            minute: 30,
            second: 59.999,
            zone: 104,
            ..at(2000, 1, 1)
        };
        assert_eq!(datetime(moment), Some(30 * 60 * 1_000_000 + 59_999_000));
        assert_eq!(
            datetime(Moment { zone: 0, ..moment }),
            Some(90 * 60 * 1_000_000 + 59_999_000)
        );
    }
}
