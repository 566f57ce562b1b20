//! H3 cells in PostGIS: made in memory first, written in one COPY.

use super::{HEAVY, among, between, integer, list, number, or, required, text};
use crate::definition::model::Input;
use crate::handler::Handler;

/// Which cells belong to an area: all that touch it, those inside, or those whose centre is inside.
const CONTAINMENT: [&str; 3] = ["covers", "contains", "centroid"];

pub(super) fn all() -> Vec<Handler> {
    vec![base_generate(), cascade()]
}

fn base_generate() -> Handler {
    let about = "Fills a table with the cells of one resolution that cover a box.";
    let bounds =
        list("[west, south, east, north] in EPSG:4326; west above east crosses the antimeridian.");
    let containment = text("Which cells at the edge belong to it.");
    let handler = Handler::new("h3.base_generate", HEAVY, 1_800, about)
        .aliases(&["h3_base_generate"])
        .param(
            "resolution",
            required(resolution("Resolution of the cells.")),
        )
        .param(
            "bounds",
            or(between(bounds, 4, 4), vec![-180, -90, 180, 90]),
        )
        .param(
            "containment",
            or(among(containment, &CONTAINMENT), "covers"),
        )
        .param("cells_max", cells_max());
    table(handler).output("resolution", integer("Resolution of the cells."))
}

fn cascade() -> Handler {
    let about = "Adds the descendants of a table's cells, resolution by resolution.";
    let handler = Handler::new("h3.cascade", HEAVY, 3_600, about)
        .aliases(&["h3_cascade"])
        .param(
            "from_resolution",
            required(resolution("Resolution of the cells to start from.")),
        )
        .param(
            "to_resolution",
            required(resolution("Finest resolution to add.")),
        )
        .param("cells_max", cells_max());
    table(handler)
        .output("from_resolution", integer("Resolution it started from."))
        .output("to_resolution", integer("Finest resolution of the table."))
}

fn table(handler: Handler) -> Handler {
    handler
        .param("schema_name", or(text("Schema of the table."), "geo"))
        .param(
            "table_name",
            or(between(text("Name of the table."), 1, 63), "h3_base"),
        )
        .output("schema_name", text("Schema of the table."))
        .output("table_name", text("Name of the table."))
        .output("cell_count", integer("Cells that this run is about."))
        .output(
            "cells_inserted",
            integer("Those of them that were not there before."),
        )
        .output("processing_seconds", number("Time of the run."))
}

fn resolution(description: &str) -> Input {
    between(integer(description), 0, 15)
}

fn cells_max() -> Input {
    let input = integer("More cells than this are refused before any is made.");
    or(between(input, 1, 100_000_000), 5_000_000)
}
