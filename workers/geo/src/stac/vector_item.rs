//! The item of a vector table.
//!
//! The Table extension is left out: its schema is not among those that our checks validate against, and
//! an extension that is named and broken is worse than none. The fields are our own instead.

use chrono::{DateTime, Utc};
use domain::failure::{Failure, FailureClass};
use serde_json::{Map, Value, json};

use super::geometry::{is_bbox, shape};
use super::{DATA_ASSET, Refs, STAC_VERSION, item_links, put, stamp};

/// What an item is made of.
#[derive(Debug, Clone)]
pub struct TableInput<'a> {
    pub id: String,
    pub collection_id: String,
    pub schema: String,
    pub table: String,
    /// [west, south, east, north] in EPSG:4326.
    pub bounds: [f64; 4],
    pub feature_count: u64,
    pub geometry_type: String,
    /// Where features can be read, if some service shows them. Never the address of the database.
    pub href: Option<String>,
    /// Empty: the id.
    pub title: String,
    pub tags: &'a [String],
    pub refs: Refs,
    pub job_id: Option<String>,
    pub base_url: Option<&'a str>,
    pub now: DateTime<Utc>,
}

/// A table as an item with one asset. Without a service that shows it, the asset's href is a URN: it
/// names the table for whoever may connect, and tells nobody how.
pub fn vector_item(input: &TableInput<'_>) -> Result<Value, Failure> {
    if !is_bbox(input.bounds) {
        let message = format!("the table `{}` has no bounds in degrees", input.table);
        return Err(Failure::new(
            FailureClass::Permanent,
            "item_bounds",
            &message,
        ));
    }
    let mut map = Map::new();
    let title = Some(input.title.as_str()).filter(|title| !title.is_empty());
    put(&mut map, "title", Some(title.unwrap_or(&input.id)));
    put(&mut map, "datetime", Some(stamp(input.now)));
    put(&mut map, "updated", Some(stamp(input.now)));
    put(&mut map, "strata:datetime_source", Some("registration"));
    put(&mut map, "strata:schema", Some(input.schema.as_str()));
    put(&mut map, "strata:table", Some(input.table.as_str()));
    put(&mut map, "strata:feature_count", Some(input.feature_count));
    put(
        &mut map,
        "strata:geometry_type",
        Some(input.geometry_type.as_str()),
    );
    if !input.tags.is_empty() {
        put(&mut map, "keywords", Some(json!(input.tags)));
    }
    put(&mut map, "strata:job_id", input.job_id.as_deref());
    input.refs.write(&mut map);
    let urn = || format!("urn:strata:table:{}:{}", input.schema, input.table);
    let item = json!({
        "type": "Feature",
        "stac_version": STAC_VERSION,
        "stac_extensions": [],
        "id": input.id,
        "collection": input.collection_id,
        "bbox": input.bounds,
        "geometry": shape(input.bounds),
        "properties": map,
        "links": item_links(&input.collection_id, &input.id, input.base_url),
        "assets": {
            DATA_ASSET: {
                "href": input.href.clone().unwrap_or_else(urn),
                "title": "Table in PostGIS",
                "roles": ["data"],
            },
        },
    });
    Ok(domain::json::clean(item))
}
