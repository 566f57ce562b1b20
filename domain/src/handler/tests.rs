//! The shipped declarations are sound, and the catalog keeps its names apart.

use std::collections::BTreeMap;

use regex_lite::Regex;
use serde_json::Value;

use super::{Catalog, Handler, NameTaken, Output, shipped};
use crate::definition::model::{Input, ValueType};

#[test]
fn all_shipped_names_and_aliases_are_distinct() {
    let mut catalog = Catalog::default();
    for handler in shipped::all() {
        let name = handler.name.clone();
        assert_eq!(catalog.register(handler), Ok(()), "{name}");
    }
    assert_eq!(catalog.iter().count(), Catalog::shipped().iter().count());
    assert!(catalog.iter().count() >= 24);
}

#[test]
fn a_taken_name_is_refused_whether_name_or_alias() {
    let mut catalog = Catalog::shipped();
    let before: Vec<_> = catalog.names().map(str::to_owned).collect();
    let taken = |name: &str, holder: &str| {
        Err(NameTaken {
            name: name.into(),
            holder: holder.into(),
        })
    };
    assert_eq!(catalog.register(new("echo")), taken("echo", "echo"));
    assert_eq!(
        catalog.register(new("create_cog")),
        taken("create_cog", "raster.create_cog"),
    );
    assert_eq!(
        catalog.register(new("mine").aliases(&["also_mine", "raster_validate"])),
        taken("raster_validate", "raster.validate"),
    );
    let after: Vec<_> = catalog.names().map(str::to_owned).collect();
    assert_eq!(before, after, "a refused handler leaves nothing behind");
}

#[test]
fn names_of_older_workflows_resolve() {
    let catalog = Catalog::shipped();
    for (alias, name) in [
        ("raster_validate", "raster.validate"),
        ("validate_raster", "raster.validate"),
        ("raster_cog_docker", "raster.create_cog"),
        ("create_cog", "raster.create_cog"),
        ("create_stac_raster", "raster.stac_register_item"),
        ("vector_load", "vector.load"),
        ("h3_base_generate", "h3.base_generate"),
    ] {
        assert_eq!(catalog.find(alias).map(|h| h.name.as_str()), Some(name));
    }
    assert_eq!(catalog.find("raster_cog"), None);
}

#[test]
fn every_dotted_name_has_its_underscore_alias() {
    for handler in shipped::all().iter().filter(|h| h.name.contains('.')) {
        let alias = handler.name.replace('.', "_");
        assert!(handler.aliases.contains(&alias), "{}", handler.name);
    }
}

#[test]
fn raster_handlers_have_these_queues_and_timeouts() {
    let (light, heavy) = ("functionapp-tasks", "container-tasks");
    let catalog = Catalog::shipped();
    for (name, queue, timeout_seconds) in [
        ("raster.validate", heavy, 600),
        ("raster.create_cog", heavy, 3_600),
        ("raster.blob_to_mount", heavy, 1_800),
        ("raster.generate_tiling_scheme", heavy, 300),
        ("raster.process_tile_batch", heavy, 3_600),
        ("raster.stac_ensure_collection", light, 120),
        ("raster.stac_register_item", light, 300),
        ("raster.stac_register_items", light, 1_800),
    ] {
        let found = catalog.find(name).map(|h| (&*h.queue, h.timeout_seconds));
        assert_eq!(found, Some((queue, timeout_seconds)), "{name}");
    }
}

#[test]
fn queues_timeouts_and_descriptions_are_in_bounds() {
    let queue = Regex::new("^[a-z0-9-]{1,64}$").expect("a constant");
    let name = Regex::new("^[a-z][a-z0-9_.]{0,63}$").expect("a constant");
    for handler in shipped::all() {
        assert!(queue.is_match(&handler.queue), "{}", handler.name);
        assert!((1..=86_400).contains(&handler.timeout_seconds));
        assert!(!handler.description.is_empty(), "{}", handler.name);
        for each in std::iter::once(&handler.name).chain(&handler.aliases) {
            assert!(name.is_match(each), "{each}");
        }
    }
}

#[test]
fn parameters_fit_their_own_rules() {
    for handler in shipped::all() {
        for (name, input) in &handler.params {
            let place = format!("{}.{name}", handler.name);
            let described = input.description.as_deref().unwrap_or_default();
            assert!(!described.is_empty(), "{place}");
            assert!(!(input.required && input.default.is_some()), "{place}");
            for value in input.default.iter().chain(input.choices.iter().flatten()) {
                assert!(is_of_type(value, input.kind), "{place}: {value}");
            }
            if let Some(value) = &input.default {
                assert!(is_allowed(value, input), "{place}: {value}");
            }
        }
        for name in handler.one_of.iter().flatten() {
            let input = handler.params.get(name);
            assert!(
                input.is_some_and(|i| !i.required),
                "{}: {name}",
                handler.name
            );
        }
        assert!(handler.one_of.iter().all(|set| !set.is_empty()));
    }
}

#[test]
fn every_output_is_described() {
    fn check(place: &str, outputs: &BTreeMap<String, Output>) {
        for (name, output) in outputs {
            let place = format!("{place}.{name}");
            assert!(!output.description.is_empty(), "{place}");
            let is_object = output.kind == ValueType::Object;
            assert!(is_object || output.fields.is_none(), "{place}");
            check(&place, output.fields.as_ref().unwrap_or(&BTreeMap::new()));
        }
    }
    for handler in shipped::all() {
        check(&handler.name, &handler.outputs);
    }
}

fn new(name: &str) -> Handler {
    Handler::new(name, "functionapp-tasks", 60, "A handler of a test.")
}

fn is_of_type(value: &Value, kind: ValueType) -> bool {
    match kind {
        ValueType::String => value.is_string(),
        ValueType::Integer => value.is_i64() || value.is_u64(),
        ValueType::Number => value.is_number(),
        ValueType::Boolean => value.is_boolean(),
        ValueType::Array => value.is_array(),
        ValueType::Object => value.is_object(),
    }
}

fn is_allowed(value: &Value, input: &Input) -> bool {
    let size = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => u32::try_from(text.chars().count()).ok().map(f64::from),
        Value::Array(items) => u32::try_from(items.len()).ok().map(f64::from),
        Value::Null | Value::Bool(_) | Value::Object(_) => None,
    };
    let low = input.min.is_none_or(|min| size.is_some_and(|s| s >= min));
    let high = input.max.is_none_or(|max| size.is_some_and(|s| s <= max));
    let listed = input.choices.as_ref().is_none_or(|all| all.contains(value));
    low && high && listed
}
