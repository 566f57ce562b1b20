//! Geospatial rules and tables without GDAL: what rasters and layers are, STAC, tiles, H3, PostGIS and pgSTAC.
//!
//! Nothing here opens a raster or a layer: that is `native`. What is pure stays pure; only `catalog`,
//! `table` and the filling of H3 tables talk to a database.

pub mod catalog;
pub mod h3cells;
pub mod names;
pub mod raster;
mod sql;
pub mod stac;
pub mod table;
pub mod tiles;
pub mod vector;
