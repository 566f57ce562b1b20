//! The calls of GDAL that the crate `gdal` has no safe form for. The only place with `unsafe`.
//!
//! Every function here takes and gives safe values; pointers do not leave these files.
#![expect(unsafe_code, reason = "these calls have no safe form")]

pub(crate) mod error;
pub(crate) mod feature;
pub(crate) mod progress;
pub(crate) mod raster;
pub(crate) mod shape;
pub(crate) mod srs;
