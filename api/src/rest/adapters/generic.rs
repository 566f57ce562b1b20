//! The body in our own words, for every platform that is registered (O-04).

use super::Work;
use crate::rest::fields::Fields;

pub(super) fn read(fields: &mut Fields, platform: Option<&str>) -> Work {
    if platform.is_none() {
        fields.missing("platform_id");
    }
    Work {
        platform_id: platform.unwrap_or_default().to_owned(),
        refs: fields.object("platform_refs").unwrap_or_default(),
        workflow_id: fields.required_text("workflow_id", 64).unwrap_or_default(),
        workflow_version: fields.number("workflow_version", 1..=1_000_000),
        inputs: fields.object("inputs").unwrap_or_default(),
        title: fields.text("title", 256),
        ..Work::default()
    }
}
