//! Boxes and cells on the plane of longitude and latitude, in degrees.
//!
//! Edges of cells are straight lines on that plane, as in the H3 library itself. Longitudes of a cell
//! run on past 180 instead of jumping, so a cell is always one piece; a box is then tried at three
//! places, a turn apart.

use h3o::{CellIndex, LatLng};

/// [west, south, east, north] with `east` never below `west`: past 180 across the antimeridian.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Area {
    pub west: f64,
    pub south: f64,
    pub east: f64,
    pub north: f64,
}

const TURN: f64 = 360.0;

impl Area {
    pub(super) fn is_all_around(&self) -> bool {
        self.east - self.west >= TURN
    }

    fn has(&self, [lng, lat]: [f64; 2]) -> bool {
        (self.south..=self.north).contains(&lat) && (self.west..=self.east).contains(&lng)
    }

    /// The box and itself a turn to the west and to the east; one that goes all around has no end.
    fn copies(self) -> impl Iterator<Item = Self> {
        let (room, count) = if self.is_all_around() {
            (10.0 * TURN, 1)
        } else {
            (0.0, 3)
        };
        let shifts = [-TURN, 0.0, TURN].into_iter().take(count);
        shifts.map(move |shift| Self {
            west: self.west + shift - room,
            east: self.east + shift + room,
            ..self
        })
    }

    pub(super) fn has_point(self, point: LatLng) -> bool {
        self.copies()
            .any(|copy| copy.has([point.lng(), point.lat()]))
    }

    /// Whether the box holds all of a shape; what has straight edges is inside if its corners are.
    pub(super) fn holds(self, ring: &[[f64; 2]]) -> bool {
        self.copies()
            .any(|copy| ring.iter().all(|&corner| copy.has(corner)))
    }

    /// Whether the box and a shape have at least a point in common.
    pub(super) fn touches(self, ring: &[[f64; 2]]) -> bool {
        self.copies().any(|copy| copy.touches_once(ring))
    }

    fn touches_once(&self, ring: &[[f64; 2]]) -> bool {
        edges(ring).any(|(from, to)| self.meets(from, to)) || inside(ring, [self.west, self.south])
    }

    /// Cuts the line by the four sides in turn; something left means that it passes through.
    fn meets(&self, from: [f64; 2], to: [f64; 2]) -> bool {
        let (dx, dy) = (to[0] - from[0], to[1] - from[1]);
        let (mut first, mut last) = (0.0_f64, 1.0_f64);
        for (step, room) in [
            (-dx, from[0] - self.west),
            (dx, self.east - from[0]),
            (-dy, from[1] - self.south),
            (dy, self.north - from[1]),
        ] {
            if step == 0.0 {
                if room < 0.0 {
                    return false;
                }
            } else if step < 0.0 {
                first = first.max(room / step);
            } else {
                last = last.min(room / step);
            }
        }
        first <= last
    }

    /// How a circle on the globe lies to the box.
    pub(super) fn relation(self, center: LatLng, radius: f64) -> Relation {
        let (south, north) = (center.lat() - radius, center.lat() + radius);
        let around = half_width(center.lat(), radius);
        // A circle around a pole has every longitude.
        let (west, east) = match around {
            Some(half) => (center.lng() - half, center.lng() + half),
            None => (center.lng() - TURN / 2.0, center.lng() + TURN / 2.0),
        };
        if north < self.south || south > self.north {
            return Relation::Apart;
        }
        let tall = self.south <= south.max(-90.0) && north.min(90.0) <= self.north;
        let mut relation = Relation::Apart;
        for copy in self.copies() {
            if copy.west <= west
                && east <= copy.east
                && tall
                && (around.is_some() || self.is_all_around())
            {
                return Relation::Within;
            }
            if west <= copy.east && copy.west <= east {
                relation = Relation::Mixed;
            }
        }
        relation
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    Apart,
    Mixed,
    Within,
}

/// The corners of a cell as [longitude, latitude]. The cell on a pole gets two corners more, at the
/// pole: on this plane the pole is a line.
pub(super) fn ring(cell: CellIndex) -> Vec<[f64; 2]> {
    let boundary = cell.boundary();
    let mut ring: Vec<[f64; 2]> = Vec::with_capacity(boundary.len() + 3);
    for corner in boundary.iter() {
        let lng = match ring.last() {
            Some(&[before, _]) => near(corner.lng(), before),
            None => corner.lng(),
        };
        ring.push([lng, corner.lat()]);
    }
    if let (Some(&[start, lat]), Some(&[end, _])) = (ring.first(), ring.last()) {
        let closing = near(start, end);
        if (closing - start).abs() > TURN / 2.0 {
            let pole = 90.0_f64.copysign(lat);
            ring.extend([[closing, lat], [closing, pole], [start, pole]]);
        }
    }
    ring
}

/// The distance of a cell's farthest corner from its centre, in degrees.
pub(super) fn reach(cell: CellIndex) -> f64 {
    let center = LatLng::from(cell);
    let corners = cell.boundary();
    let far = corners.iter().map(|corner| center.distance_rads(*corner));
    far.fold(0.0, f64::max).to_degrees()
}

/// How far a circle reaches to the east of its centre; nothing if it holds a pole.
fn half_width(lat: f64, radius: f64) -> Option<f64> {
    if lat.abs() + radius >= 90.0 {
        return None;
    }
    let ratio = radius.to_radians().sin() / lat.to_radians().cos();
    Some(ratio.min(1.0).asin().to_degrees())
}

/// The same meridian, counted so that it lies nearest to another.
fn near(lng: f64, other: f64) -> f64 {
    lng + TURN * ((other - lng) / TURN).round()
}

fn edges(ring: &[[f64; 2]]) -> impl Iterator<Item = ([f64; 2], [f64; 2])> + '_ {
    let ends = ring.iter().skip(1).chain(ring.first());
    ring.iter().copied().zip(ends.copied())
}

fn inside(ring: &[[f64; 2]], [x, y]: [f64; 2]) -> bool {
    edges(ring).fold(false, |inside, (a, b)| {
        let crosses = (a[1] > y) != (b[1] > y);
        inside ^ (crosses && x < (b[0] - a[0]) * (y - a[1]) / (b[1] - a[1]) + a[0])
    })
}
