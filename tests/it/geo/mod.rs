//! Rasters and layers through real workers, into a real catalog.

mod bad;
mod catalog;
mod kills;
mod pipeline;
mod stage;
