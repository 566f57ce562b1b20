//! The payload of DDH (U-31): a dataset's resource in one version, as a file in a container.

use serde_json::Value;

use super::files::{self, Kind};
use super::{Previous, Work, required_ref};
use crate::rest::fields::Fields;

/// What all versions of a resource have in common.
const SERIES: [&str; 2] = ["dataset_id", "resource_id"];
const VERSION: &str = "version_id";

pub(super) fn read(fields: &mut Fields) -> Work {
    let mut work = Work {
        platform_id: "ddh".to_owned(),
        ..Work::default()
    };
    for name in [SERIES[0], SERIES[1], VERSION] {
        required_ref(fields, &mut work.refs, name);
    }
    if let Some(value) = previous(fields) {
        let mut series = work.refs.clone();
        series.remove(VERSION);
        let name = VERSION;
        work.previous = Some(Previous {
            series,
            name,
            value,
        });
    }
    if !fields.has("data_type") {
        fields.missing("data_type");
    }
    let kinds = [
        ("raster", Kind::Raster),
        ("vector", Kind::Vector),
        ("zarr", Kind::Zarr),
    ];
    let kind = fields.word("data_type", &kinds);
    let operation = fields.word("operation", &[("CREATE", false), ("UPDATE", true)]);
    work.anew = operation.unwrap_or(false);
    let levels = [("OUO", "ouo"), ("PUBLIC", "public")];
    let access = fields
        .word("access_level", &levels)
        .map(|word| ("access_level", word));
    if fields.has("source_url") {
        let message = "files are taken from containers only; give container_name and file_name";
        fields.problem("source_url", "NOT_SUPPORTED", message);
    }
    fields.take("source_url");
    files::read(fields, kind, "data_type", access, &mut work);
    let service = fields.text("service_name", 256);
    work.title = work.title.take().or(service);
    if fields.text("client_id", 256).is_some() {
        let warning = "`client_id` has no effect: the key says who asks";
        work.warnings.push(warning.to_owned());
    }
    work
}

fn previous(fields: &mut Fields) -> Option<Value> {
    let name = "previous_version_id";
    let value = fields.take(name)?;
    let fits = value.is_string() || value.is_i64() || value.is_u64();
    if !fits {
        let message = "`previous_version_id` must be a text or a whole number";
        fields.problem(name, "WRONG_TYPE", message);
    }
    fits.then_some(value)
}
