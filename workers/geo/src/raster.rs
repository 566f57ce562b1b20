//! What is known of a raster: found by GDAL, read by whoever registers it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A coordinate reference system.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Crs {
    /// `EPSG:32633`, if it has one.
    pub code: Option<String>,
    pub name: String,
    /// For those without a code.
    pub wkt2: Option<String>,
    pub projjson: Option<Value>,
}

impl Crs {
    /// The code, or the whole definition: whatever another program can read.
    #[must_use]
    pub fn text(&self) -> &str {
        let whole = self.code.as_deref().or(self.wkt2.as_deref());
        whole.unwrap_or(&self.name)
    }
}

/// One band.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Band {
    /// `uint8`, `int16`, `float32`, ... as STAC names them.
    pub dtype: String,
    /// Never NaN here: that is `nodata_is_nan`, because JSON has no NaN.
    pub nodata: Option<f64>,
    pub nodata_is_nan: bool,
    /// `red`, `green`, `blue`, `alpha`, `gray`, `palette` or `undefined`.
    pub color: String,
    pub description: Option<String>,
    pub stats: Option<Stats>,
}

/// Numbers of the pixels of a band that have data.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Stats {
    pub minimum: f64,
    pub maximum: f64,
    pub mean: f64,
    pub stddev: f64,
    pub valid_percent: f64,
}

/// What the pixels mean, and why we think so.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Kind {
    /// `rgb`, `rgba`, `dem`, `categorical`, `multispectral` or `continuous`.
    #[serde(rename = "type")]
    pub name: String,
    pub confidence: f64,
    pub evidence: Vec<String>,
}

/// A raster that was opened.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Raster {
    pub driver: String,
    pub width: u64,
    pub height: u64,
    pub bands: Vec<Band>,
    pub crs: Crs,
    /// `file` or `override`.
    pub crs_source: String,
    /// As GDAL has it: origin x, pixel width, row rotation, origin y, column rotation, pixel height.
    pub transform: [f64; 6],
    /// [min x, min y, max x, max y] in its own CRS.
    pub bounds: [f64; 4],
    /// [west, south, east, north]; west above east crosses the antimeridian.
    pub bounds_4326: [f64; 4],
    /// `GeoJSON` in EPSG:4326, split at the antimeridian, densified along the edges.
    pub footprint: Value,
    /// Of the uncompressed pixels.
    pub pixel_bytes: u64,
    pub file_bytes: u64,
    pub compression: Option<String>,
    /// Factors, such as [2, 4, 8].
    pub overviews: Vec<u64>,
    pub block: [u64; 2],
    pub kind: Kind,
    /// Sentences for people.
    pub warnings: Vec<String>,
    /// When it was taken (`TIFFTAG_DATETIME`), RFC 3339, if the file says so.
    pub datetime: Option<String>,
}
