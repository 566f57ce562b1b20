//! Rasters: looked at, turned into cloud-optimised `GeoTIFF`s, shown small.

mod check;
mod cog;
mod count;
mod kind;
mod look;
mod open;
mod pass;
mod thumbnail;
mod warp;
mod workplace;

#[cfg(test)]
pub(crate) mod tests;

use domain::failure::Failure;
use geo::raster::Raster;
use serde::{Deserialize, Serialize};

pub(crate) use open::{prepare, readable};
pub(crate) use pass::share;

pub use cog::{CogSource, create_cog};
pub use look::look;
pub use thumbnail::thumbnail;

/// Formats that are opened, whatever a file is called. VRT is not among them: it can point anywhere.
pub const DRIVERS: &[&str] = &[
    "GTiff",
    "PNG",
    "JPEG",
    "JP2OpenJPEG",
    "HFA",
    "AAIGrid",
    "SRTMHGT",
];

/// How to look at a raster.
#[derive(Debug, Clone)]
pub struct LookOptions {
    /// Wins over the CRS of the file.
    pub input_crs: Option<String>,
    /// What the pixels mean; nothing to find out.
    pub raster_type: Option<String>,
    /// Uncompressed size that is refused before anything is read.
    pub pixel_bytes_max: u64,
    /// Reads every block, which alone proves that the file is whole.
    pub read_all: bool,
    pub stats: bool,
}

/// How to make a cloud-optimised GeoTIFF.
#[derive(Debug, Clone)]
pub struct CogOptions {
    pub raster_type: String,
    /// `visualization`, `analysis` or `archive`.
    pub tier: String,
    pub input_crs: Option<String>,
    pub target_crs: Option<String>,
    pub threads: u32,
    pub pixel_bytes_max: u64,
}

/// What was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CogMade {
    /// `ZSTD`, `DEFLATE`, `JPEG` or `WEBP`.
    pub compression: String,
    /// Factors, such as [2, 4, 8].
    pub overviews: Vec<u64>,
    pub size_bytes: u64,
    /// The result, looked at with statistics.
    pub raster: Raster,
}

/// [min x, min y, max x, max y] in a CRS as [west, south, east, north]; west above east crosses the
/// antimeridian.
pub fn bounds_to_4326(bounds: [f64; 4], crs: &str) -> Result<[f64; 4], Failure> {
    open::prepare();
    if bounds.iter().any(|value| !value.is_finite()) {
        return Err(crate::failure::permanent(
            "bounds_outside_crs",
            "Bounds must be finite numbers.",
        ));
    }
    let srs = crate::crs::parse(crs)?;
    let place = crate::footprint::place(crate::footprint::corners(bounds), &srs)?;
    Ok(place.bounds)
}
