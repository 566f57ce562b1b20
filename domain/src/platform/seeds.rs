//! The platforms that every installation knows.

use super::Command;

/// Registers the seeded platforms; harmless to repeat at every start (O-05).
#[must_use]
pub fn seeds() -> [Command; 3] {
    [
        seed("ddh", "DDH", &["dataset_id", "resource_id", "version_id"]),
        seed("arcgis", "ArcGIS", &["item_id", "layer_index"]),
        // For work that is submitted to Strata itself, without a portal.
        seed("strata", "Strata", &["name"]),
    ]
}

fn seed(platform_id: &str, name: &str, required_refs: &[&str]) -> Command {
    Command::Register {
        platform_id: platform_id.to_owned(),
        name: name.to_owned(),
        required_refs: required_refs.iter().map(|&name| name.to_owned()).collect(),
        optional_refs: Vec::new(),
    }
}
