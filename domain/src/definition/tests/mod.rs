//! What the reader and the validator of workflow files promise.

mod accepted;
mod broken;
mod cases;
mod hostile;
mod pages;
mod submissions;

use crate::definition::model::{Input, ValueType};
use crate::definition::{Diagnostic, load};
use crate::handler::{Catalog, Handler, Output};

/// A small catalog of its own, so that these tests do not move with the shipped one.
pub(super) fn catalog() -> Catalog {
    let input = |kind| Input {
        kind,
        ..Input::default()
    };
    let required = |kind| Input {
        required: true,
        ..input(kind)
    };
    let out = |kind| Output::new(kind, "");
    let meta = Output::object("", &[("width", out(ValueType::Integer))]);
    let mut catalog = Catalog::default();
    for handler in [
        Handler::new("echo", "default", 60, "Returns what it gets")
            .open_params()
            .param("message", input(ValueType::String))
            .output("text", out(ValueType::String))
            .output("items", out(ValueType::Array)),
        Handler::new("raster.validate", "container-tasks", 600, "Looks at a file")
            .aliases(&["raster_validate"])
            .param("source_url", input(ValueType::String))
            .param("container_name", input(ValueType::String))
            .param("blob_name", input(ValueType::String))
            .one_of(&[&["source_url"], &["container_name", "blob_name"]])
            .output("crs", out(ValueType::String))
            .output("file_size_mb", out(ValueType::Number))
            .output("blob_url", out(ValueType::String))
            .output("meta", meta),
        Handler::new("raster.create_cog", "container-tasks", 3600, "Makes a COG")
            .aliases(&["raster_cog_docker"])
            .param("source_url", required(ValueType::String))
            .param(
                "quality",
                Input {
                    min: Some(1.0),
                    max: Some(100.0),
                    ..input(ValueType::Integer)
                },
            )
            .param(
                "compression",
                Input {
                    choices: Some(vec!["lzw".into(), "zstd".into()]),
                    ..input(ValueType::String)
                },
            )
            .param("options", input(ValueType::Object))
            .param(
                "tile_id",
                Input {
                    pattern: Some("[a-z][0-9]+".to_owned()),
                    ..input(ValueType::String)
                },
            )
            .output("cog_url", out(ValueType::String)),
        Handler::new("merge", "default", 60, "Joins results")
            .param("previous_results", required(ValueType::Array))
            .output("merged", out(ValueType::Integer)),
    ] {
        catalog.register(handler).expect("names are distinct");
    }
    catalog
}

/// Everything that is wrong with a file.
pub(super) fn problems(file: &str) -> Vec<Diagnostic> {
    load(file.as_bytes(), &catalog()).err().unwrap_or_default()
}

/// `line:column CODE path` of everything that is wrong with a file.
pub(super) fn lines(file: &str) -> Vec<String> {
    let line = |d: &Diagnostic| format!("{}:{} {} {}", d.line, d.column, d.code, d.path);
    let lines = problems(file).iter().map(line).collect::<Vec<_>>();
    lines
        .iter()
        .map(|line| line.trim_end().to_owned())
        .collect()
}

/// A workflow with these nodes between a start and an end.
pub(super) fn with_nodes(nodes: &str) -> String {
    format!("workflow_id: t\nname: t\nversion: 1\nnodes:\n{nodes}")
}
