//! Boxes as `GeoJSON`, and the box around two boxes.

use serde_json::{Value, json};

/// [west, south, east, north]; west above east crosses the antimeridian.
pub(super) type Bbox = [f64; 4];

pub(super) const WORLD: Bbox = [-180.0, -90.0, 180.0, 90.0];

pub(super) fn is_bbox(bbox: Bbox) -> bool {
    let [west, south, east, north] = bbox;
    bbox.iter().all(|number| number.is_finite())
        && south <= north
        && [west, east]
            .iter()
            .all(|lng| (-180.0..=180.0).contains(lng))
        && [south, north]
            .iter()
            .all(|lat| (-90.0..=90.0).contains(lat))
}

/// A box as a shape: in two parts across the antimeridian, and without empty areas when it is flat.
pub(super) fn shape(bbox: Bbox) -> Value {
    let [west, south, east, north] = bbox;
    if west > east {
        let parts = [[west, south, 180.0, north], [-180.0, south, east, north]];
        return json!({"type": "MultiPolygon", "coordinates": parts.map(|part| [ring(part)])});
    }
    let flat = [east - west, north - south].map(|side| side <= 0.0);
    match flat {
        [true, true] => json!({"type": "Point", "coordinates": [west, south]}),
        [false, false] => json!({"type": "Polygon", "coordinates": [ring(bbox)]}),
        _ => json!({"type": "LineString", "coordinates": [[west, south], [east, north]]}),
    }
}

/// The smallest box around both, across the antimeridian if that is shorter.
pub(super) fn around(a: Bbox, b: Bbox) -> Bbox {
    let [a_west, a_east] = unrolled(a);
    let [b_west, b_east] = unrolled(b);
    let candidates = [-360.0, 0.0, 360.0].map(|turn| {
        let west = a_west.min(b_west + turn);
        [west, a_east.max(b_east + turn)]
    });
    let width = |[west, east]: &[f64; 2]| east - west;
    let shortest = candidates
        .into_iter()
        .min_by(|x, y| width(x).total_cmp(&width(y)));
    let [west, east] = match shortest {
        Some(found) if width(&found) < 360.0 => found,
        _ => [WORLD[0], WORLD[2]],
    };
    [rolled(west), a[1].min(b[1]), rolled(east), a[3].max(b[3])]
}

fn unrolled([west, _, east, _]: Bbox) -> [f64; 2] {
    [west, if west > east { east + 360.0 } else { east }]
}

fn rolled(lng: f64) -> f64 {
    if lng > 180.0 {
        lng - 360.0
    } else if lng < -180.0 {
        lng + 360.0
    } else {
        lng
    }
}

/// Counter-clockwise, as RFC 7946 wants it.
fn ring([west, south, east, north]: Bbox) -> [[f64; 2]; 5] {
    [
        [west, south],
        [east, south],
        [east, north],
        [west, north],
        [west, south],
    ]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Bbox, WORLD, around, shape};

    fn has(bbox: Bbox, lng: f64) -> bool {
        let [west, _, east, _] = bbox;
        if west > east {
            lng >= west || lng <= east
        } else {
            (west..=east).contains(&lng)
        }
    }

    proptest! {
        #[test]
        fn a_box_around_two_has_what_each_has(
            a in (-180.0..=180.0, -180.0..=180.0), b in (-180.0..=180.0, -180.0..=180.0),
            lng in -180.0..=180.0,
        ) {
            let [a, b] = [a, b].map(|(west, east)| [west, 0.0, east, 1.0]);
            let both = around(a, b);
            // What is rolled back by a turn may be off in the last digit.
            let near = [0.0, 1e-9, -1e-9].iter().any(|off| has(both, lng + off));
            prop_assert!(near || !(has(a, lng) || has(b, lng)));
            prop_assert!(super::is_bbox(both));
        }
    }

    #[test]
    fn boxes_join_the_short_way_round() {
        let east = [170.0, -10.0, 175.0, 0.0];
        let west = [-175.0, 0.0, -170.0, 10.0];
        assert_eq!(around(east, west), [170.0, -10.0, -170.0, 10.0]);
        assert_eq!(around(WORLD, west), WORLD);
        assert_eq!(
            around([170.0, 0.0, -170.0, 1.0], [-20.0, 0.0, -10.0, 1.0]),
            [170.0, 0.0, -10.0, 1.0]
        );
    }

    #[test]
    fn a_flat_box_has_no_empty_area() {
        assert_eq!(shape([1.0, 2.0, 1.0, 2.0])["type"], "Point");
        assert_eq!(shape([1.0, 2.0, 3.0, 2.0])["type"], "LineString");
        assert_eq!(shape([1.0, 2.0, 3.0, 4.0])["type"], "Polygon");
        let split = shape([179.0, 0.0, -179.0, 1.0]);
        assert_eq!(split["type"], "MultiPolygon");
        assert_eq!(split["coordinates"][1][0][0][0], -180.0);
    }
}
