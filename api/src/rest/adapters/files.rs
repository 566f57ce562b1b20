//! What the payloads of portals have in common: a file in a container, what kind it is, and options.

use domain::asset::AssetId;
use domain::platform::Refs;
use serde_json::{Map, Value, json};

use super::Work;
use crate::rest::fields::Fields;

/// What a file holds; decides the workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Raster,
    Vector,
    /// Known, and no workflow takes it yet.
    Zarr,
}

/// The workflow of rasters, and the inputs that are filled from fields of a payload.
pub(super) const RASTER: (&str, &[&str]) = (
    "raster_processing",
    &[
        "container_name",
        "blob_name",
        "title",
        "tags",
        "dataset_id",
        "resource_id",
        "version_id",
        "access_level",
    ],
);
/// The workflow of vector layers, and the same for it.
pub(super) const VECTOR: (&str, &[&str]) = (
    "vector_ingest",
    &[
        "container_name",
        "blob_name",
        "table_name",
        "title",
        "tags",
        "dataset_id",
        "resource_id",
        "version_id",
        "access_level",
    ],
);

/// Reads the file, its options and its description, and fills the inputs that the workflow declares.
pub(super) fn read(
    fields: &mut Fields,
    kind: Option<Kind>,
    kind_field: &'static str,
    access: Option<(&'static str, &'static str)>,
    work: &mut Work,
) {
    let container = fields.required_text("container_name", 256);
    let file = file_name(fields);
    work.title = fields.text("title", 256);
    let tags = fields.texts("tags", 100);
    let description = fields.text("description", 16_384);
    let (options, overwrite) = options(fields);
    work.anew |= overwrite;
    let Some((workflow, declared)) = workflow_of(fields, kind, kind_field) else {
        return;
    };
    work.workflow_id = workflow.to_owned();
    let takes = |name: &str| declared.contains(&name);
    let mut give = |name: &str, value: Option<Value>| {
        if let Some(value) = value.filter(|_| takes(name)) {
            work.inputs.insert(name.to_owned(), value);
        }
    };
    give("container_name", container.map(Value::String));
    give("blob_name", file.map(Value::String));
    give("title", work.title.clone().map(Value::String));
    give("tags", tags.as_ref().map(|tags| json!(tags)));
    give("access_level", access.map(|(_, word)| json!(word)));
    for (name, value) in &work.refs {
        give(name, Some(json!(text_of(value))));
    }
    let table = table_name(&work.platform_id, &work.refs);
    give("table_name", Some(Value::String(table)));
    // What the caller says goes before what was made up.
    for (name, value) in options {
        work.inputs.insert(name, value);
    }
    for (name, is_given, is_taken) in [
        ("tags", tags.is_some(), takes("tags")),
        ("description", description.is_some(), false),
        (
            access.map_or("", |(field, _)| field),
            access.is_some(),
            takes("access_level"),
        ),
    ] {
        if is_given && !is_taken {
            work.warnings.push(format!(
                "`{name}` has no effect: {workflow} takes no such input"
            ));
        }
    }
    for (ours, theirs) in [
        ("workflow_id", kind_field),
        ("inputs.container_name", "container_name"),
        ("inputs.blob_name", "file_name"),
        ("inputs.title", "title"),
        ("inputs.tags", "tags"),
        ("inputs.*", "processing_options."),
        ("platform_refs.*", ""),
    ] {
        work.names.push((ours, theirs.to_owned()));
    }
}

fn workflow_of(
    fields: &mut Fields,
    kind: Option<Kind>,
    kind_field: &'static str,
) -> Option<(&'static str, &'static [&'static str])> {
    match kind? {
        Kind::Raster => Some(RASTER),
        Kind::Vector => Some(VECTOR),
        Kind::Zarr => {
            fields.problem(
                kind_field,
                "NOT_SUPPORTED",
                "zarr is not supported yet; raster and vector are",
            );
            None
        }
    }
}

/// One name, or a list of one.
fn file_name(fields: &mut Fields) -> Option<String> {
    let name = "file_name";
    let text = match fields.required(name)? {
        Value::String(text) => text,
        Value::Array(mut items) if items.len() == 1 => match items.pop() {
            Some(Value::String(text)) => text,
            _ => {
                fields.problem(
                    name,
                    "WRONG_TYPE",
                    "`file_name` must be a text or a list of texts",
                );
                return None;
            }
        },
        Value::Array(items) if items.len() > 1 && items.iter().all(Value::is_string) => {
            let message = "several files in one request are not supported; submit each of them";
            fields.problem(name, "NOT_SUPPORTED", message);
            return None;
        }
        _ => {
            fields.problem(
                name,
                "WRONG_TYPE",
                "`file_name` must be a text or a list of texts",
            );
            return None;
        }
    };
    if text.is_empty() || text.chars().count() > 1_024 || text.contains('\0') {
        fields.problem(
            name,
            "INVALID",
            "`file_name` must have 1 to 1024 characters, none of them U+0000",
        );
        return None;
    }
    Some(text)
}

/// Options become inputs of the same name, which the workflow checks; `overwrite` is for us.
fn options(fields: &mut Fields) -> (Map<String, Value>, bool) {
    let mut options = fields.object("processing_options").unwrap_or_default();
    let overwrite = match options.remove("overwrite") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(flag)) => flag,
        Some(_) => {
            let message = "`overwrite` must be true or false";
            fields.problem("processing_options.overwrite", "WRONG_TYPE", message);
            false
        }
    };
    (options, overwrite)
}

/// A table of its own for each asset, with a name that people can read.
fn table_name(platform_id: &str, refs: &Refs) -> String {
    let words = std::iter::once(platform_id.to_owned()).chain(refs.values().map(text_of));
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_lowercase()
        } else {
            '_'
        }
    };
    let readable: String = words
        .collect::<Vec<_>>()
        .join("_")
        .chars()
        .map(plain)
        .take(40)
        .collect();
    let id = AssetId::derive(platform_id, refs).to_string();
    let id: String = id.chars().take(12).collect();
    format!("{readable}_{id}")
}

fn text_of(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workflows_declare_what_is_filled() {
        for (workflow, filled) in [RASTER, VECTOR] {
            let path = format!(
                "{}/../workflows/{workflow}.yaml",
                env!("CARGO_MANIFEST_DIR")
            );
            let file = std::fs::read(path).unwrap();
            let catalog = domain::handler::Catalog::shipped();
            let loaded = domain::definition::load(&file, &catalog).unwrap();
            for name in filled {
                assert!(
                    loaded.inputs.contains_key(*name),
                    "{workflow} has no input {name}"
                );
            }
        }
    }

    #[test]
    fn tables_have_legal_names_of_their_own() {
        let refs = |version: &str| {
            json!({"dataset_id": "Ä 1", "version_id": version})
                .as_object()
                .cloned()
                .unwrap()
        };
        let (a, b) = (
            table_name("ddh", &refs("v1")),
            table_name("ddh", &refs("v 1")),
        );
        assert_ne!(a, b);
        for name in [a, table_name("ddh", &refs(&"x".repeat(500)))] {
            assert!(name.len() <= 63 && name.starts_with("ddh_"), "{name}");
            assert!(
                name.bytes()
                    .all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_')),
                "{name}"
            );
        }
    }
}
