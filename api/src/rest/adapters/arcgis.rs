//! The payload of ArcGIS: a layer of an item, in the words of its items (`type`, `access`, `snippet`).

use super::files::{self, Kind};
use super::{Work, required_ref};
use crate::rest::fields::Fields;

pub(super) fn read(fields: &mut Fields) -> Work {
    let mut work = Work {
        platform_id: "arcgis".to_owned(),
        ..Work::default()
    };
    for name in ["item_id", "layer_index"] {
        required_ref(fields, &mut work.refs, name);
    }
    if !fields.has("item_type") {
        fields.missing("item_type");
    }
    let kinds = [
        ("Feature Layer", Kind::Vector),
        ("Imagery Layer", Kind::Raster),
    ];
    let kind = fields.word("item_type", &kinds);
    let levels = [
        ("private", "uncleared"),
        ("org", "ouo"),
        ("public", "public"),
    ];
    let access = fields.word("access", &levels).map(|word| ("access", word));
    files::read(fields, kind, "item_type", access, &mut work);
    if fields.text("snippet", 2_048).is_some() {
        let warning = "`snippet` has no effect: no workflow takes it";
        work.warnings.push(warning.to_owned());
    }
    work
}
