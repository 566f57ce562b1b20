//! Vector layers: looked through, and read feature by feature as rows of a table.

mod cells;
mod columns;
mod look;
mod open;
mod read;
mod zip;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use domain::failure::Failure;
use geo::vector::{Column, Row};

pub use look::{Found, look};
pub use read::read;

/// Formats that are opened, in this order, whatever a file is called.
pub const DRIVERS: &[&str] = &[
    "GPKG",
    "FlatGeobuf",
    "ESRI Shapefile",
    "OpenFileGDB",
    "GeoJSON",
    "GeoJSONSeq",
    "LIBKML",
    "KML",
    "GML",
    "MapInfo File",
    "CSV",
];

/// Which layer to look through.
#[derive(Debug, Clone, Default)]
pub struct LayerOptions {
    /// Nothing if there is only one.
    pub layer: Option<String>,
    /// Wins over the CRS of the file.
    pub input_crs: Option<String>,
}

/// How to read a layer.
#[derive(Debug, Clone)]
pub struct ReadOptions {
    pub layer: Option<String>,
    pub input_crs: Option<String>,
    /// EPSG code of the table.
    pub target_srid: i32,
    pub make_valid: bool,
    /// As [`look`] found them: only these can be invalid. Without it any can.
    pub suspects: Option<BTreeSet<i64>>,
    /// Only features with a greater number, to go on where an earlier run stopped.
    pub after_fid: Option<i64>,
    /// Features of a chunk, which has fewer if they are large.
    pub chunk: usize,
    /// PostGIS type of the table, such as `MultiPolygon`: polygons are promoted to it.
    pub geometry_type: String,
    /// As [`look`] found them.
    pub columns: Vec<Column>,
}

/// Features in the order of their numbers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Chunk {
    pub rows: Vec<Row>,
    /// Number of the feature, and why it cannot be stored.
    pub rejected: Vec<(i64, String)>,
    /// How many of the rows were invalid before.
    pub repaired: u64,
}

/// Takes chunks; may refuse, which ends the reading.
type Sink<'a> = &'a mut dyn FnMut(Chunk) -> Result<(), Failure>;
