//! Every workflow that ships is valid, compiles, and is named as its file.

#![cfg(test)]

use std::path::Path;

use domain::definition::{compile, content_hash, load};
use domain::handler::Catalog;

#[test]
fn every_shipped_workflow_is_valid_and_named_as_its_file() {
    let catalog = Catalog::shipped();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../workflows");
    let mut seen = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|e| e != "yaml") {
            continue;
        }
        let name = path
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let text = std::fs::read(&path).expect("readable");
        let workflow =
            load(&text, &catalog).unwrap_or_else(|problems| panic!("{name}: {problems:#?}"));
        assert_eq!(workflow.workflow_id, name);
        let graph = compile(&workflow, &content_hash(&workflow), &catalog);
        assert!(graph.is_ok(), "{name}: {graph:?}");
        seen.push(name);
    }
    seen.sort();
    let expected = [
        "create_h3_base",
        "echo",
        "hello_world",
        "hello_world_stages",
        "process_raster_tiled",
        "process_raster_v2",
        "raster_processing",
        "tour",
        "vector_ingest",
        "verify_artifacts",
    ];
    assert_eq!(seen, expected);
}
