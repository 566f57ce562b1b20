//! The catalog: collections and items of STAC, for rasters, tiles and vector tables.
//!
//! All of these upsert, so a second run changes nothing.

use super::{
    LIGHT, among, between, flag, integer, list, map, maybe, number, optional, or, required, text,
};
use crate::definition::model::Input;
use crate::handler::{Handler, Output};

const ACCESS_LEVELS: [&str; 3] = ["uncleared", "ouo", "public"];

pub(super) fn all() -> Vec<Handler> {
    vec![
        ensure_collection(),
        register_item(),
        register_items(),
        register_vector(),
    ]
}

fn ensure_collection() -> Handler {
    let about = "Creates a collection, or widens the one that is there.";
    let handler = Handler::new("raster.stac_ensure_collection", LIGHT, 120, about)
        .aliases(&["raster_stac_ensure_collection", "stac_ensure_collection"])
        .idempotent()
        .param("collection_id", collection_id())
        .param("title", optional("Title for people; empty: the id."))
        .param(
            "bounds",
            between(
                list("[min x, min y, max x, max y] that it must cover."),
                4,
                4,
            ),
        )
        .param("bounds_crs", or(text("CRS of `bounds`."), "EPSG:4326"))
        .param(
            "grid_dimensions",
            map("{rows, cols} of a tiled collection."),
        )
        .param(
            "is_tiled",
            or(
                flag("Whether its items are the tiles of one raster."),
                false,
            ),
        );
    with_refs(handler)
        .output("collection_id", text("Id of the collection."))
        .output("created", flag("Whether it is new."))
        .output("updated", flag("Whether it was there and has changed."))
        .output(
            "collection_url",
            maybe(text("URL of the collection, if there is a STAC API.")),
        )
}

fn register_item() -> Handler {
    let about = "Registers one raster as an item, and its collection if that is missing.";
    let handler = Handler::new("raster.stac_register_item", LIGHT, 300, about)
        .aliases(&[
            "raster_stac_register_item",
            "stac_register_item",
            "create_stac_raster",
        ])
        .idempotent()
        .param(
            "cog_blob",
            required(text("Name of the raster in its container.")),
        )
        .param("cog_container", required(text("Container of the raster.")))
        .param(
            "validation",
            map("Output of `raster.validate`; the item takes the type of the raster from it."),
        )
        .param("collection_id", collection_id())
        .param(
            "item_id",
            optional("Id of the item; empty: made from the blob's name."),
        )
        .param("title", optional("Title for people; empty: the id."))
        .param("tags", tags());
    with_urls(with_refs(handler))
        .output("item_id", text("Id of the item."))
        .output("collection_id", text("Id of its collection."))
        .output("inserted", flag("Whether the item is new."))
        .output("stac_urls", stac_urls())
        .output("stac_item", maybe(map("The item itself, if it is small.")))
}

fn register_items() -> Handler {
    let about = "Registers many tiles as items of one collection.";
    let handler = Handler::new("raster.stac_register_items", LIGHT, 1_800, about)
        .aliases(&["raster_stac_register_items", "stac_register_items"])
        .idempotent()
        .param("tile_cogs", list("Names of the tiles in their container."))
        .param(
            "manifest",
            map("`manifest` of a fan-in whose results are too many to stand inline."),
        )
        .param(
            "cog_container",
            optional("Container of the tiles; empty: the configured one."),
        )
        .param(
            "validation",
            map("Output of `raster.validate` of the source; items take the type of the raster from it."),
        )
        .param("collection_id", collection_id())
        .param("tags", tags())
        .one_of(&[&["tile_cogs"], &["manifest"]]);
    with_urls(with_refs(handler))
        .output("items_created", integer("Items that are registered."))
        .output(
            "items_failed",
            integer("Tiles that could not be registered."),
        )
        .output("total_tiles", integer("Tiles that were given."))
        .output(
            "item_ids",
            maybe(list("Ids of the items, if they are few.")),
        )
        .output(
            "search_id",
            maybe(text("Id of the mosaic's search, if there is a tiler.")),
        )
}

fn register_vector() -> Handler {
    let about = "Registers a vector table as an item, and its collection if that is missing.";
    let handler = Handler::new("vector.stac_register", LIGHT, 300, about)
        .aliases(&["vector_stac_register", "create_stac_vector"])
        .idempotent()
        .param("schema_name", or(text("Schema of the table."), "geo"))
        .param("table_name", required(text("Name of the table.")))
        .param(
            "bounds",
            between(
                list("[west, south, east, north]; read from the table when not given."),
                4,
                4,
            ),
        )
        .param(
            "feature_count",
            integer("Number of features; counted when not given."),
        )
        .param(
            "geometry_type",
            optional("Type of the geometries; empty: read from the table."),
        )
        .param("collection_id", collection_id())
        .param(
            "item_id",
            optional("Id of the item; empty: the table's name."),
        )
        .param("title", optional("Title for people; empty: the id."))
        .param("tags", tags());
    with_refs(handler)
        .output("item_id", text("Id of the item."))
        .output("collection_id", text("Id of its collection."))
        .output("inserted", flag("Whether the item is new."))
        .output("stac_urls", stac_urls())
        .output("processing_seconds", number("Time of the registration."))
}

/// References of the platform that asked, and who may see the result.
fn with_refs(handler: Handler) -> Handler {
    let access = among(text("Who may see it."), &ACCESS_LEVELS);
    handler
        .param("dataset_id", optional("The platform's dataset."))
        .param("resource_id", optional("The platform's resource."))
        .param("version_id", optional("The platform's version."))
        .param("access_level", or(access, "uncleared"))
}

/// URLs that exist only where a tiler is configured.
fn with_urls(handler: Handler) -> Handler {
    handler
        .output("viewer_url", maybe(text("Map page, if there is a tiler.")))
        .output(
            "tilejson_url",
            maybe(text("TileJSON, if there is a tiler.")),
        )
        .output(
            "tiles_url",
            maybe(text("Template of tile URLs, if there is a tiler.")),
        )
}

fn collection_id() -> Input {
    required(between(text("Id of the collection."), 1, 200))
}

fn tags() -> Input {
    or(list("Keywords of the item."), Vec::<String>::new())
}

fn stac_urls() -> Output {
    Output::object(
        "Where the catalog shows it.",
        &[
            (
                "item",
                maybe(text("URL of the item, if there is a STAC API.")),
            ),
            (
                "collection",
                maybe(text("URL of its collection, if there is a STAC API.")),
            ),
        ],
    )
}
