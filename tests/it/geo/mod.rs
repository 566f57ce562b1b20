//! Rasters and layers through real workers, into a real catalog.

mod bad;
mod catalog;
mod judges;
mod kills;
mod looks;
mod odd;
mod pictures;
mod pipeline;
mod platform;
mod remote;
mod stage;
