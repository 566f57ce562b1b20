//! Rasters too large for one task: cut into tiles, and the tiles into numbered batches.
//!
//! A fan-out runs over `batch_count`; each task finds its tiles through `scheme_uri`, so that no list
//! of tiles travels through templates.

use super::raster::{raster_type, target_crs, tier};
use super::{HEAVY, between, integer, list, map, maybe, number, or, required, text};
use crate::handler::{Handler, Output};

pub(super) fn all() -> Vec<Handler> {
    vec![generate_tiling_scheme(), process_tile_batch()]
}

fn generate_tiling_scheme() -> Handler {
    let about = "Cuts a raster into overlapping tiles and the tiles into batches, on paper.";
    Handler::new("raster.generate_tiling_scheme", HEAVY, 300, about)
        .aliases(&["raster_generate_tiling_scheme", "generate_tiling_scheme"])
        .idempotent()
        .param(
            "local_path",
            text("Path of the raster on the worker's mount."),
        )
        .param("source_url", text("URL of the raster."))
        .param(
            "validation",
            map("Output of `raster.validate`; saves looking again."),
        )
        .param(
            "tile_size",
            or(
                between(
                    integer("Edge of a tile in pixels, a multiple of 512."),
                    512,
                    65_536,
                ),
                8_192,
            ),
        )
        .param(
            "tile_overlap",
            or(
                between(integer("Pixels that neighbours share."), 0, 4_096),
                512,
            ),
        )
        .param(
            "tiles_per_batch",
            or(between(integer("Most tiles of one batch."), 1, 100), 16),
        )
        .one_of(&[&["local_path"], &["source_url"]])
        .output("scheme_uri", text("Where the whole scheme is stored."))
        .output(
            "batch_count",
            integer("Number of batches; they are numbered from 0."),
        )
        .output("tile_count", integer("Number of tiles."))
        .output(
            "tiles",
            maybe(list(
                "{row, col, tile_id, pixel_bounds, geo_bounds} of each tile, if they are few.",
            )),
        )
        .output("grid_dimensions", grid())
        .output("tile_size", integer("Edge of a tile in pixels."))
        .output("tile_overlap", integer("Pixels that neighbours share."))
        .output(
            "source_shape",
            list("[height, width] of the source in pixels."),
        )
        .output(
            "source_bounds",
            list("[min x, min y, max x, max y] in the CRS of the source."),
        )
}

fn process_tile_batch() -> Handler {
    let about =
        "Makes a Cloud-Optimized GeoTIFF of each tile of a batch, with a checkpoint per tile.";
    Handler::new("raster.process_tile_batch", HEAVY, 3_600, about)
        .aliases(&["raster_process_tile_batch", "process_tile_batch"])
        .param(
            "scheme_uri",
            required(text("`scheme_uri` of `raster.generate_tiling_scheme`.")),
        )
        .param(
            "batch_index",
            required(between(integer("Number of the batch, from 0."), 0, 100_000)),
        )
        .param(
            "local_path",
            text("Path of the raster on the worker's mount."),
        )
        .param("source_url", text("URL of the raster."))
        .param("raster_type", raster_type())
        .param("target_crs", target_crs())
        .param("output_tier", tier())
        .param(
            "output_folder",
            or(text("Folder of the tiles in their container."), "tiles"),
        )
        .one_of(&[&["local_path"], &["source_url"]])
        .output(
            "tile_cogs",
            list("Names of the finished tiles in their container."),
        )
        .output("cog_container", text("Container of the tiles."))
        .output(
            "tiles_completed",
            integer("Tiles that are done, those before a restart included."),
        )
        .output(
            "tiles_failed",
            list("{tile_id, message} of tiles that could not be made."),
        )
        .output(
            "total_size_mb",
            number("Size of the tiles together in megabytes."),
        )
        .output("processing_seconds", number("Time of this run."))
        .output("grid_dimensions", grid())
        .output(
            "collection_bounds",
            list("[west, south, east, north] of the tiles in EPSG:4326."),
        )
}

fn grid() -> Output {
    Output::object(
        "Size of the grid of tiles.",
        &[
            ("rows", integer("Number of rows.")),
            ("cols", integer("Number of columns.")),
        ],
    )
}
