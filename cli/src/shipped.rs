//! The workflows that ship with Strata, carried in the binary.

macro_rules! workflow {
    ($name:literal) => {
        (
            concat!($name, ".yaml"),
            include_str!(concat!("../../workflows/", $name, ".yaml")),
        )
    };
}

/// File name and text, by name.
pub(crate) const WORKFLOWS: [(&str, &str); 10] = [
    workflow!("create_h3_base"),
    workflow!("echo"),
    workflow!("hello_world"),
    workflow!("hello_world_stages"),
    workflow!("process_raster_tiled"),
    workflow!("process_raster_v2"),
    workflow!("raster_processing"),
    workflow!("tour"),
    workflow!("vector_ingest"),
    workflow!("verify_artifacts"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_folder_is_in_the_table() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../workflows");
        let files = crate::source::files_of(folder.as_ref()).expect("the folder is there");
        let names: Vec<_> = files
            .iter()
            .filter_map(|f| f.file_name()?.to_str())
            .collect();
        assert_eq!(names, WORKFLOWS.map(|(name, _)| name));
    }
}
