//! Rasters: look at them, copy them, cut them, turn them into Cloud-Optimized `GeoTIFF` files.

use super::{HEAVY, among, flag, integer, list, map, maybe, number, optional, or, required, text};
use crate::definition::model::Input;
use crate::handler::{Handler, Output};

const RASTER_TYPES: [&str; 7] = [
    "auto",
    "rgb",
    "rgba",
    "dem",
    "categorical",
    "multispectral",
    "continuous",
];
const TIERS: [&str; 3] = ["visualization", "analysis", "archive"];

pub(super) fn all() -> Vec<Handler> {
    vec![validate(), create_cog(), blob_to_mount()]
}

fn validate() -> Handler {
    let about =
        "Opens a raster and says what it is: CRS, bounds, size, type, and what to beware of.";
    let handler = Handler::new("raster.validate", HEAVY, 600, about)
        .aliases(&["raster_validate", "validate_raster"])
        .idempotent()
        .param(
            "local_path",
            text("Path of the raster on the worker's mount."),
        )
        .param(
            "blob_path",
            text("Container and blob in one: `container/path/to.tif`."),
        )
        .param("container_name", text("Container of the blob."))
        .param("blob_name", text("Name of the blob in its container."))
        .param(
            "storage_account",
            optional("Account of the container; empty: the configured one."),
        )
        .param(
            "input_crs",
            optional("CRS to assume, such as `EPSG:32633`, if the file has none."),
        )
        .param("raster_type", raster_type())
        .param("output_tier", tier())
        .one_of(&[
            &["local_path"],
            &["blob_path"],
            &["container_name", "blob_name"],
        ]);
    describe(handler)
}

/// What `raster.validate` finds out.
fn describe(handler: Handler) -> Handler {
    handler
        .output("valid", flag("Whether it can be processed."))
        .output(
            "source_crs",
            text("CRS of the raster, such as `EPSG:32633`."),
        )
        .output(
            "crs_source",
            text("Where the CRS comes from: `file` or `override`."),
        )
        .output(
            "bounds",
            list("[min x, min y, max x, max y] in `source_crs`."),
        )
        .output("shape", list("[height, width] in pixels."))
        .output("band_count", integer("Number of bands."))
        .output("dtype", text("Type of the pixels, such as `uint16`."))
        .output("nodata", maybe(number("Value of pixels without data.")))
        .output(
            "size_mb",
            number("Size of the uncompressed pixels in megabytes."),
        )
        .output("file_size_mb", number("Size of the file in megabytes."))
        .output(
            "blob_url",
            text("URL of the raster, for `source_url` of other handlers."),
        )
        .output("raster_type", found_type())
        .output(
            "compression_profile",
            text("Profile that `raster.create_cog` would take."),
        )
        .output(
            "applicable_tiers",
            list("Values of `output_tier` that suit it."),
        )
        .output(
            "estimated_compressed_mb",
            number("Expected size of the result in megabytes."),
        )
        .output("warnings", list("What to beware of, one sentence each."))
}

fn create_cog() -> Handler {
    let about = "Makes a Cloud-Optimized GeoTIFF with overviews, statistics and a checksum.";
    Handler::new("raster.create_cog", HEAVY, 3_600, about)
        .aliases(&["raster_create_cog", "raster_cog_docker", "create_cog"])
        .param(
            "local_path",
            text("Path of the raster on the worker's mount."),
        )
        .param(
            "source_url",
            text("URL of the raster, such as `blob_url` of `raster.validate`."),
        )
        .param(
            "validation",
            map("Output of `raster.validate`; saves looking again."),
        )
        .param("raster_type", raster_type())
        .param("target_crs", target_crs())
        .param("output_tier", tier())
        .param(
            "output_folder",
            or(text("Folder of the result in its container."), "cogs"),
        )
        .param(
            "output_name",
            optional("File name of the result; empty: that of the source."),
        )
        .one_of(&[&["local_path"], &["source_url"]])
        .output("cog_blob", text("Name of the result in its container."))
        .output("cog_container", text("Container of the result."))
        .output(
            "cog_local_path",
            maybe(text("Path on the worker's mount, if it is there.")),
        )
        .output(
            "cog_uri",
            text("Address of the result, for `source_url` of other handlers."),
        )
        .output("size_bytes", integer("Size of the result."))
        .output("size_mb", number("Size of the result in megabytes."))
        .output(
            "content_hash",
            text("SHA-256 of the result, 64 hex digits."),
        )
        .output(
            "file_checksum",
            text("SHA-256 of the result as multihash, `1220` and 64 hex digits."),
        )
        .output(
            "compression",
            text("Compression of the result, such as `zstd`."),
        )
        .output(
            "overview_levels",
            list("Factors of the overviews, such as [2, 4, 8]."),
        )
        .output("source_crs", text("CRS of the source."))
        .output("target_crs", text("CRS of the result."))
        .output("raster_type", text("The type whose profile was taken."))
        .output("processing_seconds", number("Time of the translation."))
        .output(
            "upload_throughput_mbps",
            maybe(number("Megabytes per second of the upload, if any.")),
        )
}

fn blob_to_mount() -> Handler {
    let about = "Copies a blob to the worker's mount, byte for byte.";
    Handler::new("raster.blob_to_mount", HEAVY, 1_800, about)
        .aliases(&["raster_blob_to_mount", "blob_to_mount"])
        .param("container_name", required(text("Container of the blob.")))
        .param(
            "blob_name",
            required(text("Name of the blob in its container.")),
        )
        .param(
            "storage_account",
            optional("Account of the container; empty: the configured one."),
        )
        .output("local_path", text("Path of the copy on the mount."))
        .output("size_bytes", integer("Size of the copy."))
        .output("size_mb", number("Size of the copy in megabytes."))
        .output("duration_seconds", number("Time of the copy."))
        .output("throughput_mbps", number("Megabytes per second."))
        .output("source_uri", text("URL of the blob."))
}

pub(super) fn raster_type() -> Input {
    let input = among(
        text("What the pixels mean; `auto` finds out."),
        &RASTER_TYPES,
    );
    or(input, "auto")
}

pub(super) fn tier() -> Input {
    let input = text("What the result is for; only `visualization` may lose detail.");
    or(among(input, &TIERS), "analysis")
}

pub(super) fn target_crs() -> Input {
    optional("CRS of the result, such as `EPSG:3857`; empty: that of the source.")
}

fn found_type() -> Output {
    Output::object(
        "What the pixels mean, and why we think so.",
        &[
            ("type", text("Such as `dem`.")),
            ("confidence", number("From 0 to 1.")),
            ("evidence", list("What speaks for it, one sentence each.")),
        ],
    )
}
