//! The cells of one resolution that belong to a box.

use domain::failure::{Failure, FailureClass};
use h3o::{CellIndex, LatLng, Resolution};

use super::shape::{Area, Relation, reach, ring};
use super::{of_number, too_many};
use crate::names::cut;

/// Which cells at the edge of a box belong to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Containment {
    /// All that touch it, so that nothing of the box is missed.
    Covers,
    /// Only those that lie inside as a whole.
    Contains,
    /// Those whose centre lies inside, so that boxes side by side share no cell.
    Centroid,
}

/// Children stick out of their parents, and so do theirs: all of them lie within 1.06 times the reach of
/// an even grid. Twice that leaves room for the grid's distortion.
const REACH: f64 = 2.0;
/// How much larger the largest cell is than the average of its resolution, and something on top.
const UNEVEN: f64 = 1.5;

impl Containment {
    /// Reads `covers`, `contains` or `centroid`.
    pub fn parse(name: &str) -> Result<Self, Failure> {
        match name {
            "covers" => Ok(Self::Covers),
            "contains" => Ok(Self::Contains),
            "centroid" => Ok(Self::Centroid),
            other => {
                let message = format!("`{}` is no containment of H3 cells", cut(other));
                Err(Failure::new(
                    FailureClass::Contract,
                    "h3_containment",
                    &message,
                ))
            }
        }
    }
}

/// The cells of `bounds` ([west, south, east, north]; west above east crosses the antimeridian), in
/// ascending order.
///
/// More than `cells_max` are refused: by the area before the first cell is made, and exactly while
/// they are counted. This computes without a pause: call it where blocking is allowed.
pub fn cover(
    bounds: [f64; 4],
    resolution: u8,
    containment: &str,
    cells_max: u64,
) -> Result<Vec<u64>, Failure> {
    let containment = Containment::parse(containment)?;
    let target = of_number(resolution)?;
    let area = area(bounds)?;
    let expected = share(area) * float(target.cell_count());
    let exact = area.is_all_around() && area.south <= -90.0 && area.north >= 90.0;
    if expected > float(cells_max) * if exact { 1.0 } else { UNEVEN } {
        return Err(too_many(estimate(bounds, resolution)?, cells_max));
    }
    let mut search = Search {
        area,
        containment,
        target,
        cells_max,
        looked: 0,
        found: Vec::new(),
    };
    for base in CellIndex::base_cells() {
        search.descend(base)?;
    }
    Ok(search.found)
}

/// About how many cells a box has, by its area; exact for the whole world.
pub fn estimate(bounds: [f64; 4], resolution: u8) -> Result<u64, Failure> {
    let count = of_number(resolution)?.cell_count();
    // In millionths of a millionth: whole numbers, where a float would lose the exact count.
    let parts = (share(area(bounds)?) * 1e12).round();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of at most one, times 1e12"
    )]
    let product = u128::from(count) * (parts as u128);
    Ok(u64::try_from(product / 1_000_000_000_000).unwrap_or(u64::MAX))
}

struct Search {
    area: Area,
    containment: Containment,
    target: Resolution,
    cells_max: u64,
    looked: u64,
    found: Vec<u64>,
}

impl Search {
    fn descend(&mut self, cell: CellIndex) -> Result<(), Failure> {
        self.looked += 1;
        // A hair-thin box at a fine resolution has few cells and a long edge to walk along.
        if self.looked > self.cells_max.saturating_mul(8).saturating_add(1_000_000) {
            return Err(too_many(self.looked, self.cells_max));
        }
        if cell.resolution() == self.target {
            if self.belongs(cell) {
                self.room_for(1)?;
                self.found.push(cell.into());
            }
            return Ok(());
        }
        let relation = self.area.relation(LatLng::from(cell), REACH * reach(cell));
        match (relation, cell.resolution().succ()) {
            (Relation::Apart, _) | (Relation::Mixed, None) => {}
            (Relation::Within, _) => {
                self.room_for(cell.children_count(self.target))?;
                self.found.extend(cell.children(self.target).map(u64::from));
            }
            (Relation::Mixed, Some(finer)) => {
                for child in cell.children(finer) {
                    self.descend(child)?;
                }
            }
        }
        Ok(())
    }

    fn belongs(&self, cell: CellIndex) -> bool {
        match self.containment {
            Containment::Centroid => self.area.has_point(cell.into()),
            Containment::Contains => self.area.holds(&ring(cell)),
            Containment::Covers => self.area.touches(&ring(cell)),
        }
    }

    fn room_for(&self, more: u64) -> Result<(), Failure> {
        let count = u64::try_from(self.found.len()).unwrap_or(u64::MAX);
        let count = count.saturating_add(more);
        if count > self.cells_max {
            return Err(too_many(count, self.cells_max));
        }
        Ok(())
    }
}

fn area([west, south, east, north]: [f64; 4]) -> Result<Area, Failure> {
    let on_globe = [west, east]
        .iter()
        .all(|lng| (-180.0..=180.0).contains(lng))
        && [south, north]
            .iter()
            .all(|lat| (-90.0..=90.0).contains(lat));
    if !on_globe || south > north {
        let message = format!(
            "[{west}, {south}, {east}, {north}] is no [west, south, east, north] in degrees"
        );
        return Err(Failure::new(FailureClass::Contract, "bounds", &message));
    }
    let east = if west > east { east + 360.0 } else { east };
    Ok(Area {
        west,
        south,
        east,
        north,
    })
}

/// Of the globe's surface.
fn share(area: Area) -> f64 {
    let height = (area.north.to_radians().sin() - area.south.to_radians().sin()) / 2.0;
    height * (area.east - area.west).min(360.0) / 360.0
}

/// Counts of cells are below 2^53.
#[expect(clippy::cast_precision_loss, reason = "for comparisons of estimates")]
fn float(count: u64) -> f64 {
    count as f64
}
