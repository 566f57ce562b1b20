//! Rasters too large for one task, cut into tiles on paper. Pure.
//!
//! A scheme is the handful of numbers that it was planned with; its tiles are computed, never stored:
//! a million of them would be a file of hundreds of megabytes that every batch had to read.
//! Always holds: the tiles cover the raster, begin at multiples of [`ALIGNMENT`], and neighbours share
//! exactly `overlap` pixels.

use std::ops::Range;

use domain::failure::{Failure, FailureClass};
use serde::{Deserialize, Serialize};

/// Block of our rasters: tiles that begin on it read whole blocks.
pub const ALIGNMENT: u64 = 512;
/// Most tiles of one raster.
pub const TILES_MAX: u64 = 1_000_000;
/// Most batches: the largest index that `raster.process_tile_batch` takes, and one.
pub const BATCHES_MAX: u64 = 100_001;

/// How a raster is cut. Reads back only as what [`plan`] would have made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Request", into = "Request")]
pub struct Scheme {
    request: Request,
    /// From one tile's beginning to the next.
    stride: u64,
    rows: u64,
    cols: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Request {
    width: u64,
    height: u64,
    tile_size: u64,
    overlap: u64,
    tiles_per_batch: u64,
    transform: [f64; 6],
}

/// One tile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tile {
    pub row: u64,
    pub col: u64,
    /// `r0001_c0002`: sorts like the grid, safe in file names and ids.
    pub tile_id: String,
    /// [x, y, width, height] in pixels of the source.
    pub pixel_bounds: [u64; 4],
    /// [min x, min y, max x, max y] in the CRS of the source.
    pub geo_bounds: [f64; 4],
}

/// Cuts a raster of `width` x `height` pixels into tiles of at most `tile_size`.
///
/// With an `overlap` that is no multiple of [`ALIGNMENT`] the tiles are a little smaller than asked, so
/// that they stay aligned and still share all of it.
pub fn plan(
    width: u64,
    height: u64,
    tile_size: u64,
    overlap: u64,
    tiles_per_batch: u64,
    transform: [f64; 6],
) -> Result<Scheme, Failure> {
    let request = Request {
        width,
        height,
        tile_size,
        overlap,
        tiles_per_batch,
        transform,
    };
    Scheme::of(request)
}

impl TryFrom<Request> for Scheme {
    type Error = String;

    fn try_from(request: Request) -> Result<Self, String> {
        Self::of(request).map_err(|failure| failure.message)
    }
}

impl From<Scheme> for Request {
    fn from(scheme: Scheme) -> Self {
        scheme.request
    }
}

impl Scheme {
    fn of(request: Request) -> Result<Self, Failure> {
        let refused =
            |message: &str| Failure::new(FailureClass::Contract, "tiling_scheme", message);
        // Far above any raster, far below what the sums here could not hold.
        let edge_max = u64::from(u32::MAX);
        if !(1..=edge_max).contains(&request.width) || !(1..=edge_max).contains(&request.height) {
            return Err(refused(
                "the raster has no pixels, or too many along one edge",
            ));
        }
        let aligned = request.tile_size.is_multiple_of(ALIGNMENT);
        if request.tile_size == 0 || !aligned || request.tile_size > edge_max {
            return Err(refused("`tile_size` must be a multiple of 512"));
        }
        let step = request.tile_size.saturating_sub(request.overlap);
        let stride = step - step % ALIGNMENT;
        if stride == 0 || request.overlap > request.tile_size / 2 {
            return Err(refused(
                "`tile_overlap` may be at most half of `tile_size`, and must leave 512 pixels of it",
            ));
        }
        if request.tiles_per_batch == 0 {
            return Err(refused("a batch needs at least one tile"));
        }
        if !request.transform.iter().all(|number| number.is_finite()) {
            return Err(refused("the raster has no usable position"));
        }
        let tile = stride + request.overlap;
        let along = |edge: u64| 1 + edge.saturating_sub(tile).div_ceil(stride);
        let scheme = Self {
            stride,
            rows: along(request.height),
            cols: along(request.width),
            request,
        };
        for (count, max, what) in [
            (scheme.tile_count(), TILES_MAX, "tiles"),
            (scheme.batch_count(), BATCHES_MAX, "batches"),
        ] {
            if count > max {
                let message = format!("{count} {what} are more than {max}: take larger ones");
                return Err(Failure::new(
                    FailureClass::Permanent,
                    "too_many_tiles",
                    &message,
                ));
            }
        }
        Ok(scheme)
    }

    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    #[must_use]
    pub fn cols(&self) -> u64 {
        self.cols
    }

    #[must_use]
    pub fn tile_count(&self) -> u64 {
        self.rows.saturating_mul(self.cols)
    }

    #[must_use]
    pub fn batch_count(&self) -> u64 {
        self.tile_count().div_ceil(self.request.tiles_per_batch)
    }

    /// As it was asked for; the tiles may be a little smaller, see [`plan`].
    #[must_use]
    pub fn tile_size(&self) -> u64 {
        self.request.tile_size
    }

    #[must_use]
    pub fn overlap(&self) -> u64 {
        self.request.overlap
    }

    /// [height, width] of the source in pixels.
    #[must_use]
    pub fn source_shape(&self) -> [u64; 2] {
        [self.request.height, self.request.width]
    }

    /// [min x, min y, max x, max y] of the source in its CRS.
    #[must_use]
    pub fn source_bounds(&self) -> [f64; 4] {
        self.geo_bounds([0, 0, self.request.width, self.request.height])
    }

    /// A tile by its number, counted row by row.
    #[must_use]
    pub fn tile(&self, index: u64) -> Option<Tile> {
        if index >= self.tile_count() {
            return None;
        }
        let (row, col) = (index / self.cols, index % self.cols);
        let full = self.stride + self.request.overlap;
        let (x, y) = (col * self.stride, row * self.stride);
        let w = full.min(self.request.width - x);
        let h = full.min(self.request.height - y);
        Some(Tile {
            row,
            col,
            tile_id: format!("r{row:04}_c{col:04}"),
            pixel_bounds: [x, y, w, h],
            geo_bounds: self.geo_bounds([x, y, w, h]),
        })
    }

    /// All tiles, row by row.
    pub fn tiles(&self) -> impl Iterator<Item = Tile> + '_ {
        (0..self.tile_count()).filter_map(|index| self.tile(index))
    }

    /// The tiles of a batch; nothing if there is no such batch.
    #[must_use]
    pub fn batch(&self, index: u64) -> Option<Vec<Tile>> {
        if index >= self.batch_count() {
            return None;
        }
        Some(self.numbers(index).filter_map(|at| self.tile(at)).collect())
    }

    fn numbers(&self, batch: u64) -> Range<u64> {
        let first = batch * self.request.tiles_per_batch;
        first..(first + self.request.tiles_per_batch).min(self.tile_count())
    }

    /// All four corners count: a rotated raster has its extremes anywhere.
    fn geo_bounds(&self, [x, y, w, h]: [u64; 4]) -> [f64; 4] {
        let [x0, dx, rx, y0, ry, dy] = self.request.transform;
        let mut bounds = [
            f64::INFINITY,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NEG_INFINITY,
        ];
        for (px, py) in [(x, y), (x + w, y), (x, y + h), (x + w, y + h)] {
            let (px, py) = (exact(px), exact(py));
            let at = [x0 + dx * px + rx * py, y0 + ry * px + dy * py];
            bounds = [
                bounds[0].min(at[0]),
                bounds[1].min(at[1]),
                bounds[2].max(at[0]),
                bounds[3].max(at[1]),
            ];
        }
        bounds
    }
}

/// Edges are at most `u32::MAX`, which a float holds exactly.
fn exact(pixels: u64) -> f64 {
    u32::try_from(pixels).map_or(f64::INFINITY, f64::from)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{ALIGNMENT, Scheme, exact, plan};

    const NORTH_UP: [f64; 6] = [1000.0, 10.0, 0.0, 5000.0, 0.0, -10.0];

    proptest! {
        #[test]
        fn tiles_cover_the_raster_and_neighbours_share_the_overlap(
            width in 1_u64..60_000,
            height in 1_u64..60_000,
            blocks in 1_u64..20,
            share in 0.0..=1.0,
            per_batch in 1_u64..100,
        ) {
            let tile_size = blocks * ALIGNMENT;
            let overlap_max = (tile_size / 2).min(tile_size - ALIGNMENT);
            let overlap = (0..=overlap_max).rfind(|&pixels| share * exact(overlap_max) >= exact(pixels));
            let overlap = overlap.unwrap();
            let scheme = plan(width, height, tile_size, overlap, per_batch, NORTH_UP).unwrap();
            let at = |row: u64, col: u64| scheme.tile(row * scheme.cols() + col).unwrap();
            for (edge, count, axis) in [(width, scheme.cols(), 0), (height, scheme.rows(), 1)] {
                let mut reached = 0;
                for index in 0..count {
                    let tile = if axis == 0 { at(0, index) } else { at(index, 0) };
                    let (start, size) = (tile.pixel_bounds[axis], tile.pixel_bounds[axis + 2]);
                    prop_assert_eq!(start % ALIGNMENT, 0);
                    prop_assert!(size >= 1 && size <= tile_size);
                    if index > 0 {
                        prop_assert_eq!(reached - start, overlap);
                        prop_assert!(size > overlap);
                    }
                    reached = start + size;
                }
                prop_assert_eq!(reached, edge);
            }
            let batched: Vec<_> = (0..scheme.batch_count())
                .flat_map(|batch| scheme.batch(batch).unwrap())
                .map(|tile| tile.tile_id)
                .collect();
            let all: Vec<_> = scheme.tiles().map(|tile| tile.tile_id).collect();
            prop_assert_eq!(batched, all);
            prop_assert!(scheme.batch(scheme.batch_count()).is_none());
        }
    }

    #[test]
    fn a_raster_smaller_than_a_tile_is_one_tile() {
        let scheme = plan(100, 50, 8_192, 512, 16, NORTH_UP).unwrap();
        let tile = scheme.tile(0).unwrap();
        assert_eq!(scheme.tile_count(), 1);
        assert_eq!(tile.pixel_bounds, [0, 0, 100, 50]);
        assert_eq!(tile.geo_bounds, [1000.0, 4500.0, 2000.0, 5000.0]);
        assert_eq!(scheme.source_bounds(), tile.geo_bounds);
    }

    #[test]
    fn bounds_of_a_rotated_raster_hold_all_corners() {
        let turned = [0.0, 1.0, 1.0, 0.0, -1.0, 1.0];
        let scheme = plan(10, 10, 512, 0, 1, turned).unwrap();
        assert_eq!(scheme.source_bounds(), [0.0, -10.0, 20.0, 10.0]);
    }

    #[test]
    fn what_cannot_be_cut_is_refused() {
        let million = 1_000_000_000;
        for (plan, code) in [
            (plan(0, 1, 512, 0, 1, NORTH_UP), "tiling_scheme"),
            (plan(1, 1, 500, 0, 1, NORTH_UP), "tiling_scheme"),
            (plan(1, 1, 512, 512, 1, NORTH_UP), "tiling_scheme"),
            (plan(1, 1, 512, 1, 1, NORTH_UP), "tiling_scheme"),
            (plan(1, 1, 512, 0, 0, NORTH_UP), "tiling_scheme"),
            (plan(1, 1, 512, 0, 1, [f64::NAN; 6]), "tiling_scheme"),
            (
                plan(million, million, 512, 0, 100, NORTH_UP),
                "too_many_tiles",
            ),
            (
                plan(512 * 200_000, 512, 512, 0, 1, NORTH_UP),
                "too_many_tiles",
            ),
        ] {
            assert_eq!(plan.unwrap_err().code, code);
        }
    }

    #[test]
    fn a_scheme_is_read_back_as_it_was_or_not_at_all() {
        let scheme = plan(30_000, 20_000, 8_192, 512, 16, NORTH_UP).unwrap();
        let stored = serde_json::to_string(&scheme).unwrap();
        assert_eq!(serde_json::from_str::<Scheme>(&stored).unwrap(), scheme);
        let spoilt = stored.replace("8192", "8000");
        assert!(serde_json::from_str::<Scheme>(&spoilt).is_err());
    }
}
