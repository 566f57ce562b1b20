//! The worker runtime and the handler library; the only place that will link GDAL.
//!
//! The room is laid out and still empty; what each shipped handler takes and returns is declared
//! in [`domain::handler`], which workflows are checked against. It may use `domain` only.
