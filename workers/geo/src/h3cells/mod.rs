//! H3 cells: which ones belong to a box, their descendants, and tables of them.
//!
//! The cells of a box are found by descending from the 122 base cells and leaving out whole subtrees,
//! so poles, the antimeridian and the whole world are no special cases, and the work follows the edge
//! of the box, not its area.

mod cover;
mod fill;
mod key;
mod shape;
#[cfg(test)]
mod tests;

use domain::failure::{Failure, FailureClass};
use h3o::{CellIndex, Resolution};

pub use cover::{Containment, cover, estimate};
pub use fill::{Filled, Level, cells_of, fill};

/// How many cells the whole world has at a resolution.
pub fn world_count(resolution: u8) -> Result<u64, Failure> {
    Ok(of_number(resolution)?.cell_count())
}

/// How many descendants `cells` have at `resolution`; refused above `cells_max`, before any is made.
pub fn descendants_count(cells: &[u64], resolution: u8, cells_max: u64) -> Result<u64, Failure> {
    let resolution = of_number(resolution)?;
    let mut count: u64 = 0;
    for &cell in cells {
        count = count.saturating_add(index(cell)?.children_count(resolution));
    }
    if count > cells_max {
        return Err(too_many(count, cells_max));
    }
    Ok(count)
}

/// The descendants of `cells` at `resolution`, made one by one: no list of them exists. What is no cell,
/// or is finer already, has none.
pub fn descendants(
    cells: &[u64],
    resolution: u8,
) -> Result<impl Iterator<Item = u64> + Send + '_, Failure> {
    let resolution = of_number(resolution)?;
    let indices = cells
        .iter()
        .filter_map(|&cell| CellIndex::try_from(cell).ok());
    Ok(indices.flat_map(move |cell| cell.children(resolution).map(u64::from)))
}

fn of_number(resolution: u8) -> Result<Resolution, Failure> {
    Resolution::try_from(resolution).map_err(|_| {
        let message = format!("H3 has resolutions 0 to 15, not {resolution}");
        Failure::new(FailureClass::Contract, "h3_resolution", &message)
    })
}

fn index(cell: u64) -> Result<CellIndex, Failure> {
    CellIndex::try_from(cell).map_err(|error| {
        let message = format!("{cell} is no H3 cell: {error}");
        Failure::new(FailureClass::Permanent, "h3_cell", &message)
    })
}

fn too_many(count: u64, cells_max: u64) -> Failure {
    let message = format!(
        "this needs about {count} cells or more, above {cells_max}: take a coarser resolution, a smaller \
         area, or a larger `cells_max`"
    );
    Failure::new(FailureClass::Permanent, "too_many_cells", &message)
}
