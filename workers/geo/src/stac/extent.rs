//! What a collection covers, and how it grows: never smaller, because others may have put items there.

use chrono::{DateTime, Utc};
use serde_json::{Map, Value, json};

use super::geometry::{Bbox, WORLD, around, is_bbox};
use super::{Collection, collection, stamp};

/// Space and time; nothing is known of what is missing.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Extent {
    /// [west, south, east, north]; west above east crosses the antimeridian.
    pub bbox: Option<[f64; 4]>,
    pub interval: Option<[DateTime<Utc>; 2]>,
}

impl Extent {
    /// What an item covers.
    #[must_use]
    pub fn of_item(item: &Value) -> Self {
        let time = |key: &str| {
            let text = item.get("properties")?.get(key)?.as_str()?;
            read_time(text)
        };
        let start = time("start_datetime").or_else(|| time("datetime"));
        let end = time("end_datetime").or_else(|| time("datetime"));
        Self {
            bbox: item.get("bbox").and_then(read_bbox),
            interval: start.zip(end).map(|(start, end)| [start, end]),
        }
    }

    /// The extent around both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let earliest =
            |[a, b]: [DateTime<Utc>; 2], [c, d]: [DateTime<Utc>; 2]| [a.min(c), b.max(d)];
        Self {
            bbox: both(self.bbox, other.bbox, around),
            interval: both(self.interval, other.interval, earliest),
        }
    }

    pub(super) fn to_json(self) -> Value {
        let bbox = self.bbox.filter(|&bbox| is_bbox(bbox)).unwrap_or(WORLD);
        let interval = match self.interval {
            Some(times) => json!(times.map(stamp)),
            None => json!([null, null]),
        };
        json!({"spatial": {"bbox": [bbox]}, "temporal": {"interval": [interval]}})
    }

    fn of_collection(collection: &Value) -> Self {
        let extent = collection.get("extent");
        let first = |space: &str, key: &str| extent?.get(space)?.get(key)?.get(0);
        let times = first("temporal", "interval");
        let time = |at: usize| times?.get(at)?.as_str().and_then(read_time);
        Self {
            bbox: first("spatial", "bbox").and_then(read_bbox),
            interval: time(0).zip(time(1)).map(|(start, end)| [start, end]),
        }
    }
}

/// A collection as it should be: a new one, or the old one grown by what `input` says. What others wrote
/// into it stays.
#[must_use]
pub fn widened(old: Option<&Value>, input: &Collection, base_url: Option<&str>) -> Value {
    let fresh = collection(input, base_url);
    let (Some(Value::Object(old)), Value::Object(fresh)) = (old, &fresh) else {
        return fresh;
    };
    let mut map = old.clone();
    for (key, value) in fresh {
        let said = match key.as_str() {
            "title" => input
                .title
                .as_deref()
                .is_some_and(|title| !title.is_empty()),
            "description" => input.description.is_some(),
            "extent" | "keywords" | "strata:extent_known" => false,
            key => key.starts_with("strata:") || input.extra.contains_key(key),
        };
        if said || !map.contains_key(key) {
            map.insert(key.clone(), value.clone());
        }
    }
    add_keywords(&mut map, &input.keywords);
    grow(&mut map, &Value::Object(old.clone()), input.extent);
    Value::Object(map)
}

fn grow(map: &mut Map<String, Value>, old: &Value, extent: Extent) {
    let known = old.get("strata:extent_known") != Some(&json!(false));
    let was = if known {
        Extent::of_collection(old)
    } else {
        Extent::default()
    };
    let now = was.and(extent);
    if now == was {
        return;
    }
    let mut grown = now.to_json();
    // An interval with one open end was written by somebody who knows more than we do.
    let times = old.get("extent").and_then(|extent| extent.get("temporal"));
    if let Some(times) = times.filter(|times| is_half_open(times)) {
        grown["temporal"] = times.clone();
    }
    map.insert("extent".to_owned(), grown);
    map.insert(
        "strata:extent_known".to_owned(),
        json!(known || now.bbox.is_some()),
    );
}

fn is_half_open(temporal: &Value) -> bool {
    let ends = |at: usize| {
        temporal
            .get("interval")?
            .get(0)?
            .get(at)
            .map(Value::is_null)
    };
    ends(0)
        .zip(ends(1))
        .is_some_and(|(start, end)| start != end)
}

fn add_keywords(map: &mut Map<String, Value>, keywords: &[String]) {
    if keywords.is_empty() {
        return;
    }
    let list = map.entry("keywords").or_insert_with(|| json!([]));
    if let Value::Array(list) = list {
        for keyword in keywords {
            if !list.iter().any(|known| known == keyword) {
                list.push(json!(keyword));
            }
        }
    }
}

fn both<T: Copy>(a: Option<T>, b: Option<T>, join: impl Fn(T, T) -> T) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(join(a, b)),
        (one, other) => one.or(other),
    }
}

fn read_bbox(value: &Value) -> Option<Bbox> {
    let numbers: Vec<f64> = value.as_array()?.iter().filter_map(Value::as_f64).collect();
    let bbox = match numbers.as_slice() {
        &[west, south, east, north] | &[west, south, _, east, north, _] => {
            [west, south, east, north]
        }
        _ => return None,
    };
    is_bbox(bbox).then_some(bbox)
}

fn read_time(text: &str) -> Option<DateTime<Utc>> {
    let time = DateTime::parse_from_rfc3339(text).ok()?;
    Some(time.with_timezone(&Utc))
}
