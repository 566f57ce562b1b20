//! Where a rectangle of pixels lies on Earth: densified edges, split at the antimeridian.
//!
//! Longitudes are first unwrapped, so that neighbours along the edge never jump by 360 degrees; only then
//! is the ring cut into the worlds that it touches. Polygons run counter-clockwise and hold no NaN.

use domain::failure::Failure;
use gdal::spatial_ref::SpatialRef;
use serde_json::{Value, json};

use crate::crs;
use crate::failure::permanent;

/// Points on each edge, beside the corner that ends it.
const EDGE_POINTS: usize = 21;
/// Pieces smaller than this (square degrees) are leftovers of cutting.
const AREA_MIN: f64 = 1e-14;

type Point = (f64, f64);

/// A place on Earth.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Place {
    /// [west, south, east, north]; west above east crosses the antimeridian.
    pub(crate) bounds: [f64; 4],
    pub(crate) footprint: Value,
    /// Some of the edge has no place on Earth, so the outline is approximate.
    pub(crate) is_partial: bool,
}

/// The place of a rectangle given by its four corners, in order around it.
pub(crate) fn place(corners: [Point; 4], srs: &SpatialRef) -> Result<Place, Failure> {
    let outside = || {
        permanent(
            "bounds_outside_crs",
            &format!(
                "Its bounds are impossible for the CRS {}. Either the file names a wrong CRS (give the \
                 right one as input_crs) or its georeference is wrong.",
                crs::describe(srs).text()
            ),
        )
    };
    let plain = is_plain(srs);
    if !plain.is_empty() {
        let fits = corners
            .iter()
            .all(|(x, y)| x.abs() <= 361.0 && y.abs() <= 91.0);
        let width = span(&corners.map(|(x, _)| x));
        if !fits || width > 361.0 {
            return Err(outside());
        }
    }
    if plain == "wgs84" {
        let ring: Vec<Point> = corners
            .iter()
            .map(|(x, y)| (*x, y.clamp(-90.0, 90.0)))
            .collect();
        return Ok(finish(ring, false));
    }
    let to = crs::transform(srs, &crs::wgs84()?)?;
    let back = crs::transform(&crs::wgs84()?, srs)?;
    if !plausible(corners, &to, &back) {
        return Err(outside());
    }
    let edge = densify(corners);
    let found: Vec<Point> = crs::points(&to, &edge).into_iter().flatten().collect();
    let is_partial = found.len() < edge.len();
    if found.len() * 2 < edge.len() {
        let inside = crs::points(&to, &grid(corners, 21));
        let inside: Vec<Point> = inside.into_iter().flatten().collect();
        return Ok(finish(hull_box(&inside), true));
    }
    let mut ring = unwrap(&found);
    close_at_pole(&mut ring, corners, &back);
    Ok(finish(ring, is_partial))
}

/// The four corners of [min x, min y, max x, max y].
pub(crate) fn corners(bounds: [f64; 4]) -> [Point; 4] {
    let [left, bottom, right, top] = bounds;
    [(left, top), (left, bottom), (right, bottom), (right, top)]
}

/// `wgs84` for EPSG:4326 in degrees, `degrees` for other such systems, else nothing.
fn is_plain(srs: &SpatialRef) -> &'static str {
    let degrees = srs.is_geographic() && (srs.angular_units() - 1.0_f64.to_radians()).abs() < 1e-9;
    match srs.authority().as_deref() {
        Ok("EPSG:4326" | "OGC:CRS84") => "wgs84",
        _ if degrees => "degrees",
        _ => "",
    }
}

/// Whether at least one point of the rectangle has a place, and comes back from it to where it was.
fn plausible(
    corners: [Point; 4],
    to: &gdal::spatial_ref::CoordTransform,
    back: &gdal::spatial_ref::CoordTransform,
) -> bool {
    let points = grid(corners, 5);
    let size = span(&corners.map(|(x, _)| x)).max(span(&corners.map(|(_, y)| y)));
    crs::points(to, &points)
        .iter()
        .zip(&points)
        .any(|(there, here)| {
            let Some(there) = there.filter(|(_, y)| y.abs() <= 90.0001) else {
                return false;
            };
            let again = crs::points(back, &[there]);
            let Some(Some(again)) = again.first() else {
                return false;
            };
            let tolerance = (size * 0.01)
                .max(here.0.abs().max(here.1.abs()) * 1e-6)
                .max(1e-6);
            let turn = (again.0 - here.0).abs();
            // A whole turn is the same place.
            let turn = turn
                .min((turn - 360.0).abs())
                .min((turn - 40_075_016.685_578).abs());
            turn <= tolerance && (again.1 - here.1).abs() <= tolerance
        })
}

fn densify(corners: [Point; 4]) -> Vec<Point> {
    let mut edge = Vec::with_capacity(4 * EDGE_POINTS);
    for (index, from) in corners.iter().enumerate() {
        let to = corners[(index + 1) % 4];
        for step in 0..EDGE_POINTS {
            edge.push(between(*from, to, ratio(step, EDGE_POINTS)));
        }
    }
    edge
}

fn grid(corners: [Point; 4], count: usize) -> Vec<Point> {
    let mut points = Vec::with_capacity(count * count);
    for row in 0..count {
        let left = between(corners[0], corners[1], ratio(row, count - 1));
        let right = between(corners[3], corners[2], ratio(row, count - 1));
        points.extend((0..count).map(|step| between(left, right, ratio(step, count - 1))));
    }
    points
}

fn between(from: Point, to: Point, share: f64) -> Point {
    (
        from.0 + (to.0 - from.0) * share,
        from.1 + (to.1 - from.1) * share,
    )
}

#[expect(clippy::cast_precision_loss, reason = "counts of a few points")]
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

fn span(values: &[f64]) -> f64 {
    let highest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
    highest - lowest
}

/// Longitudes without jumps: each within half a turn of the one before.
fn unwrap(points: &[Point]) -> Vec<Point> {
    let mut ring: Vec<Point> = Vec::with_capacity(points.len() + 3);
    for &(x, y) in points {
        let before = ring.last().map_or(x, |(before, _)| *before);
        ring.push((x - 360.0 * ((x - before) / 360.0).round(), y));
    }
    ring
}

/// A ring that does not come back to its first longitude runs around a pole: the pole is part of it.
fn close_at_pole(
    ring: &mut Vec<Point>,
    corners: [Point; 4],
    back: &gdal::spatial_ref::CoordTransform,
) {
    let (Some(first), Some(last)) = (ring.first().copied(), ring.last().copied()) else {
        return;
    };
    let turn = first.0 + 360.0 * ((last.0 - first.0) / 360.0).round();
    if (turn - first.0).abs() < 1.0 {
        return;
    }
    let holds = |latitude: f64| {
        crs::points(back, &[(0.0, latitude)])
            .first()
            .copied()
            .flatten()
            .is_some_and(|pole| contains(&corners, pole))
    };
    let pole = if holds(90.0) {
        90.0
    } else if holds(-90.0) {
        -90.0
    } else {
        90.0_f64.copysign(ring.iter().map(|(_, y)| *y).sum())
    };
    ring.push((turn, first.1));
    ring.push((turn, pole));
    ring.push((first.0, pole));
}

/// Whether a point lies in the ring, by counting crossings.
fn contains(ring: &[Point], point: Point) -> bool {
    let mut inside = false;
    for (index, a) in ring.iter().enumerate() {
        let b = ring[(index + 1) % ring.len()];
        let crosses = (a.1 > point.1) != (b.1 > point.1);
        if crosses && point.0 < (b.0 - a.0) * (point.1 - a.1) / (b.1 - a.1) + a.0 {
            inside = !inside;
        }
    }
    inside
}

/// A box around points, across the antimeridian when that is smaller.
fn hull_box(points: &[Point]) -> Vec<Point> {
    let ys: Vec<f64> = points.iter().map(|(_, y)| *y).collect();
    let south = ys.iter().copied().fold(f64::INFINITY, f64::min);
    let north = ys.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let plain: Vec<f64> = points.iter().map(|(x, _)| *x).collect();
    let turned: Vec<f64> = plain.iter().map(|x| x.rem_euclid(360.0)).collect();
    let xs = if span(&turned) < span(&plain) {
        turned
    } else {
        plain
    };
    let west = xs.iter().copied().fold(f64::INFINITY, f64::min);
    let east = xs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    corners([west, south, east, north]).to_vec()
}

/// Bounds and `GeoJSON` of an unwrapped ring.
fn finish(mut ring: Vec<Point>, is_partial: bool) -> Place {
    for point in &mut ring {
        point.1 = point.1.clamp(-90.0, 90.0);
    }
    let xs: Vec<f64> = ring.iter().map(|(x, _)| *x).collect();
    let ys: Vec<f64> = ring.iter().map(|(_, y)| *y).collect();
    let west = xs.iter().copied().fold(f64::INFINITY, f64::min);
    let east = xs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let south = ys.iter().copied().fold(f64::INFINITY, f64::min);
    let north = ys.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (west_shown, east_shown) = turn_back(west, east);
    let mut pieces = Vec::new();
    let mut world = ((west + 180.0) / 360.0).floor();
    while world * 360.0 - 180.0 < east {
        let start = world * 360.0 - 180.0;
        let cut = half(&half(&ring, start, 1.0), start + 360.0, -1.0);
        let moved: Vec<Point> = cut.iter().map(|(x, y)| (x - world * 360.0, *y)).collect();
        if area(&moved).abs() > AREA_MIN {
            pieces.push(moved);
        }
        world += 1.0;
    }
    if pieces.is_empty() {
        pieces.push(ring);
    }
    let mut polygons: Vec<Value> = pieces
        .into_iter()
        .map(|piece| json!([closed(piece)]))
        .collect();
    let footprint = if polygons.len() == 1 {
        json!({"type": "Polygon", "coordinates": polygons.remove(0)})
    } else {
        json!({"type": "MultiPolygon", "coordinates": polygons})
    };
    Place {
        bounds: [west_shown, south, east_shown, north],
        footprint,
        is_partial,
    }
}

/// West and east within -180 and 180.
fn turn_back(west: f64, east: f64) -> (f64, f64) {
    if east - west >= 360.0 - 1e-9 {
        return (-180.0, 180.0);
    }
    if west >= -180.0 && east <= 180.0 {
        return (west, east);
    }
    let into = |x: f64| (x + 180.0).rem_euclid(360.0) - 180.0;
    let east = into(east);
    // An edge on the antimeridian belongs to the side that the area is on.
    (into(west), if east <= -180.0 { 180.0 } else { east })
}

/// What lies right (`side` 1) or left (`side` -1) of a meridian.
fn half(ring: &[Point], meridian: f64, side: f64) -> Vec<Point> {
    let mut kept = Vec::with_capacity(ring.len() + 2);
    for (index, &a) in ring.iter().enumerate() {
        let b = ring[(index + 1) % ring.len()];
        let (a_in, b_in) = (
            (a.0 - meridian) * side >= 0.0,
            (b.0 - meridian) * side >= 0.0,
        );
        if a_in {
            kept.push(a);
        }
        if a_in != b_in {
            let share = (meridian - a.0) / (b.0 - a.0);
            kept.push((meridian, a.1 + (b.1 - a.1) * share));
        }
    }
    kept
}

fn area(ring: &[Point]) -> f64 {
    let pairs = ring.iter().enumerate().map(|(index, a)| {
        let b = ring[(index + 1) % ring.len()];
        a.0 * b.1 - b.0 * a.1
    });
    pairs.sum::<f64>() / 2.0
}

/// Counter-clockwise, without repeated points, first point again at the end.
fn closed(mut ring: Vec<Point>) -> Vec<[f64; 2]> {
    if area(&ring) < 0.0 {
        ring.reverse();
    }
    ring.dedup();
    if ring.len() > 1 && ring.first() == ring.last() {
        ring.pop();
    }
    let mut ring: Vec<[f64; 2]> = ring.into_iter().map(|(x, y)| [x, y]).collect();
    ring.extend(ring.first().copied());
    ring
}
