//! The payload of a plain portal: somebody has a file, gives it a name and wants it published.

use serde_json::Value;

use super::Work;
use super::files::{self, Kind};
use crate::rest::fields::Fields;

pub(super) fn read(fields: &mut Fields) -> Work {
    let mut work = Work {
        platform_id: "strata".to_owned(),
        ..Work::default()
    };
    if let Some(name) = fields.required_text("name", 256) {
        work.refs.insert("name".to_owned(), Value::String(name));
    }
    if !fields.has("data_type") {
        fields.missing("data_type");
    }
    let kind = fields.word(
        "data_type",
        &[("raster", Kind::Raster), ("vector", Kind::Vector)],
    );
    let levels = [
        ("private", "uncleared"),
        ("internal", "ouo"),
        ("public", "public"),
    ];
    let access = fields
        .word("visibility", &levels)
        .map(|word| ("visibility", word));
    files::read(fields, kind, "data_type", access, &mut work);
    work
}
