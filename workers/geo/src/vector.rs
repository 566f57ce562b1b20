//! What is known of a vector layer, and how its features travel.

use serde::{Deserialize, Serialize};

use crate::raster::Crs;

/// A layer that was looked through.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Layer {
    /// Short name of the format, such as `GPKG`.
    pub driver: String,
    pub name: String,
    pub crs: Crs,
    /// `file` or `override`.
    pub crs_source: String,
    /// In its own CRS; nothing if no feature has a geometry.
    pub bounds: Option<[f64; 4]>,
    /// A PostGIS type that fits all: `Point`, `MultiPolygon`, `Geometry`, ...
    pub geometry_type: String,
    pub has_z: bool,
    pub feature_count: u64,
    pub null_geometries: u64,
    pub empty_geometries: u64,
    pub invalid_geometries: u64,
    pub columns: Vec<Column>,
    pub file_bytes: u64,
    pub warnings: Vec<String>,
}

/// A column of the source and of the table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// As the source calls it.
    pub source: String,
    /// As the table calls it: lower case, at most 63 bytes, distinct, never `fid` or `geom`.
    pub name: String,
    pub kind: ColumnKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ColumnKind {
    Integer,
    BigInt,
    Real,
    Text,
    Boolean,
    Date,
    Time,
    /// With time zone; without one in the source it is taken as UTC.
    DateTime,
    Binary,
    /// Lists, and what is JSON in the source.
    Json,
}

/// A value of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    Null,
    Integer(i32),
    BigInt(i64),
    Real(f64),
    Text(String),
    Boolean(bool),
    /// Days since 2000-01-01.
    Date(i32),
    /// Microseconds since midnight.
    Time(i64),
    /// Microseconds since 2000-01-01 00:00 UTC.
    DateTime(i64),
    Binary(Vec<u8>),
    Json(String),
}

/// A feature on its way to the table.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The source's own number of the feature: the key of the table.
    pub fid: i64,
    /// EWKB with the SRID of the table; nothing if it has no geometry.
    pub geometry: Option<Vec<u8>>,
    pub cells: Vec<Cell>,
}

impl Row {
    /// What it takes in memory, about.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let geometry = self.geometry.as_ref().map_or(0, Vec::len);
        let long = |cell: &Cell| match cell {
            Cell::Text(text) | Cell::Json(text) => text.len(),
            Cell::Binary(bytes) => bytes.len(),
            _ => 0,
        };
        let cells: usize = self.cells.iter().map(long).sum();
        geometry + cells + self.cells.len() * size_of::<Cell>() + size_of::<Self>()
    }
}
