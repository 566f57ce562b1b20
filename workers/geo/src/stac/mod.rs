//! STAC 1.1.0: items and collections as JSON. Pure.
//!
//! What comes out validates against the core and against the extensions that it names, and holds no
//! secret: hrefs are taken as they are given. JSON has no NaN, so a number that is none is left out.

mod extent;
mod geometry;
mod raster_item;
#[cfg(test)]
mod tests;
mod urls;
mod vector_item;

use chrono::{DateTime, SecondsFormat, SubsecRound, Utc};
use serde_json::{Map, Value, json};

pub use extent::{Extent, widened};
pub use raster_item::{ItemInput, raster_item};
pub use urls::{TilerUrls, collection_url, item_id, item_url};
pub use vector_item::{TableInput, vector_item};

pub const STAC_VERSION: &str = "1.1.0";
/// Key of the asset that is the data itself.
pub const DATA_ASSET: &str = "data";

/// References of the platform that asked, and who may see the result.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Refs {
    pub dataset_id: Option<String>,
    pub resource_id: Option<String>,
    pub version_id: Option<String>,
    /// `uncleared`, `ouo` or `public`.
    pub access_level: String,
}

impl Refs {
    /// Nothing is written for what is not known.
    pub(crate) fn write(&self, into: &mut Map<String, Value>) {
        let fields = [
            ("strata:dataset_id", self.dataset_id.as_deref()),
            ("strata:resource_id", self.resource_id.as_deref()),
            ("strata:version_id", self.version_id.as_deref()),
            ("strata:access_level", Some(self.access_level.as_str())),
        ];
        for (key, value) in fields {
            put(into, key, value.filter(|text| !text.is_empty()));
        }
    }
}

/// A collection that should be there.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Collection {
    pub id: String,
    pub title: Option<String>,
    pub description: Option<String>,
    pub keywords: Vec<String>,
    /// What it must cover at least.
    pub extent: Extent,
    pub refs: Refs,
    /// Fields of our own, such as the grid of a tiled collection.
    pub extra: Map<String, Value>,
}

/// A new collection. As long as nothing is known of its extent it claims the whole world, and says so
/// (`strata:extent_known`), because STAC wants an extent.
#[must_use]
pub fn collection(input: &Collection, base_url: Option<&str>) -> Value {
    let title = input.title.as_deref().filter(|title| !title.is_empty());
    let about = input.description.as_deref().filter(|text| !text.is_empty());
    let mut collection = json!({
        "type": "Collection",
        "stac_version": STAC_VERSION,
        "stac_extensions": [],
        "id": input.id,
        "title": title.unwrap_or(&input.id),
        "description": about.or(title).unwrap_or(&input.id),
        // Nothing is known of the rights, which STAC 1.1 calls `other`.
        "license": "other",
        "extent": input.extent.to_json(),
        "links": collection_links(&input.id, base_url),
    });
    if let Some(map) = collection.as_object_mut() {
        if !input.keywords.is_empty() {
            map.insert("keywords".to_owned(), json!(input.keywords));
        }
        map.insert(
            "strata:extent_known".to_owned(),
            json!(input.extent.bbox.is_some()),
        );
        input.refs.write(map);
        map.extend(input.extra.clone());
    }
    domain::json::clean(collection)
}

pub(crate) fn stamp(time: DateTime<Utc>) -> String {
    // Milliseconds: Postgres would round anything finer than microseconds.
    time.trunc_subsecs(3)
        .to_rfc3339_opts(SecondsFormat::AutoSi, true)
}

pub(crate) fn put(map: &mut Map<String, Value>, key: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        map.insert(key.to_owned(), value.into());
    }
}

fn collection_links(id: &str, base_url: Option<&str>) -> Vec<Value> {
    let Some(base) = base_url else {
        return Vec::new();
    };
    let own = collection_url(base, id);
    vec![
        link("self", &own, "application/json"),
        link("root", base, "application/json"),
        link("items", &format!("{own}/items"), "application/geo+json"),
    ]
}

/// STAC forbids a `collection` without a link to it. Without an address of the API that link is relative
/// to where any API shows the item, and the others are left out.
fn item_links(collection_id: &str, id: &str, base_url: Option<&str>) -> Vec<Value> {
    let Some(base) = base_url else {
        let parent = format!("../../{}", urls::encoded(collection_id));
        return vec![link("collection", &parent, "application/json")];
    };
    let parent = collection_url(base, collection_id);
    vec![
        link(
            "self",
            &item_url(base, collection_id, id),
            "application/geo+json",
        ),
        link("collection", &parent, "application/json"),
        link("parent", &parent, "application/json"),
        link("root", base, "application/json"),
    ]
}

fn link(rel: &str, href: &str, media: &str) -> Value {
    json!({"rel": rel, "href": href, "type": media})
}
