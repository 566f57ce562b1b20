//! Vector layers: look at them, load them into PostGIS.

use super::{
    HEAVY, LIGHT, between, flag, integer, list, maybe, number, optional, or, required, text,
};
use crate::handler::Handler;

pub(super) fn all() -> Vec<Handler> {
    vec![validate(), load()]
}

fn validate() -> Handler {
    let about =
        "Opens a vector file and says what it is: layer, CRS, geometries, columns, defects.";
    source(Handler::new("vector.validate", LIGHT, 600, about))
        .aliases(&["vector_validate", "validate_vector"])
        .idempotent()
        .output("valid", flag("Whether it can be loaded."))
        .output(
            "source_url",
            text("URL of the file, for `source_url` of `vector.load`."),
        )
        .output("layer", text("Name of the layer."))
        .output("format", text("Short name of the format, such as `GPKG`."))
        .output("source_crs", text("CRS of the layer, such as `EPSG:4326`."))
        .output(
            "crs_source",
            text("Where the CRS comes from: `file` or `override`."),
        )
        .output(
            "bounds",
            list("[min x, min y, max x, max y] in `source_crs`."),
        )
        .output(
            "geometry_type",
            text("Type that fits all geometries, such as `MultiPolygon`."),
        )
        .output("feature_count", integer("Number of features."))
        .output("null_geometries", integer("Features without geometry."))
        .output(
            "invalid_geometries",
            integer("Features whose geometry is not valid."),
        )
        .output(
            "columns",
            maybe(list("{name, type} of each column, if they are few.")),
        )
        .output("file_size_mb", number("Size of the file in megabytes."))
        .output("warnings", list("What to beware of, one sentence each."))
}

fn load() -> Handler {
    let about = "Loads a layer into a PostGIS table in chunks; a second run leaves the same rows.";
    let chunk =
        integer("Features of one chunk, fewer if they are large; each ends with a checkpoint.");
    source(Handler::new("vector.load", HEAVY, 3_600, about))
        .aliases(&["vector_load", "load_vector"])
        .param(
            "table_name",
            required(between(text("Name of the table."), 1, 63)),
        )
        .param("schema_name", or(text("Schema of the table."), "geo"))
        .param("target_crs", or(text("CRS of the table."), "EPSG:4326"))
        .param("chunk_size", or(between(chunk, 100, 100_000), 10_000))
        .param(
            "make_valid",
            or(
                flag("Repair invalid geometries instead of refusing them."),
                true,
            ),
        )
        .output("schema_name", text("Schema of the table."))
        .output("table_name", text("Name of the table."))
        .output("rows_loaded", integer("Rows of the table."))
        .output("rows_rejected", integer("Features that were left out."))
        .output(
            "rows_repaired",
            integer("Features whose geometry was repaired."),
        )
        .output("chunk_count", integer("Number of chunks."))
        .output("geometry_type", text("Type of the geometry column."))
        .output(
            "bounds",
            list("[west, south, east, north] of the table in EPSG:4326."),
        )
        .output("processing_seconds", number("Time of the load."))
}

/// Parameters that say which layer of which file.
fn source(handler: Handler) -> Handler {
    handler
        .param(
            "local_path",
            text("Path of the file on the worker's mount."),
        )
        .param("source_url", text("URL of the file."))
        .param("container_name", text("Container of the blob."))
        .param("blob_name", text("Name of the blob in its container."))
        .param(
            "storage_account",
            optional("Account of the container; empty: the configured one."),
        )
        .param("layer", optional("Name of the layer; empty: the only one."))
        .param("input_crs", optional("CRS to assume if the file has none."))
        .one_of(&[
            &["local_path"],
            &["source_url"],
            &["container_name", "blob_name"],
        ])
}
