//! Addresses and ids: where the catalog and the tiler show a thing.

use std::fmt::Write as _;

use crate::names::short_hash;

/// Longest id of an item that we make.
const ID_BYTES_MAX: usize = 200;

/// Addresses at a titiler; none where no tiler is configured.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TilerUrls {
    pub viewer: Option<String>,
    pub tilejson: Option<String>,
    /// With `{z}`, `{x}` and `{y}`.
    pub tiles: Option<String>,
}

impl TilerUrls {
    /// Of one raster, by the address under which the tiler can read it.
    #[must_use]
    pub fn of_raster(tiler_url: Option<&str>, href: &str) -> Self {
        Self::below(tiler_url, "cog", &format!("url={}", encoded(href)))
    }

    /// Of all items of a search that was registered in pgSTAC.
    #[must_use]
    pub fn of_search(tiler_url: Option<&str>, search_id: &str) -> Self {
        let path = format!("searches/{}", encoded(search_id));
        Self::below(tiler_url, &path, &format!("assets={}", super::DATA_ASSET))
    }

    fn below(tiler_url: Option<&str>, path: &str, query: &str) -> Self {
        let Some(tiler) = tiler_url.map(|url| url.trim_end_matches('/')) else {
            return Self::default();
        };
        let matrix = "WebMercatorQuad";
        Self {
            viewer: Some(format!("{tiler}/{path}/{matrix}/map.html?{query}")),
            tilejson: Some(format!("{tiler}/{path}/{matrix}/tilejson.json?{query}")),
            tiles: Some(format!(
                "{tiler}/{path}/tiles/{matrix}/{{z}}/{{x}}/{{y}}?{query}"
            )),
        }
    }
}

/// Where a STAC API shows a collection.
#[must_use]
pub fn collection_url(base_url: &str, collection_id: &str) -> String {
    let base = base_url.trim_end_matches('/');
    format!("{base}/collections/{}", encoded(collection_id))
}

/// Where a STAC API shows an item.
#[must_use]
pub fn item_url(base_url: &str, collection_id: &str, item_id: &str) -> String {
    let collection = collection_url(base_url, collection_id);
    format!("{collection}/items/{}", encoded(item_id))
}

/// The id of an item for a blob: readable, safe in a URL, and another one for every other blob. Where
/// something had to be replaced a hash keeps it apart.
#[must_use]
pub fn item_id(blob_name: &str) -> String {
    let name = blob_name.trim_start_matches('/');
    let name = name.strip_suffix(".tif").unwrap_or(name);
    let mut id = String::with_capacity(name.len());
    let mut lossy = name.contains("--") || name.chars().all(|char| char == '.');
    for char in name.chars() {
        match char {
            '/' => id.push_str("--"),
            'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '_' | '-' => id.push(char),
            _ => {
                lossy = true;
                id.push('-');
            }
        }
    }
    if !lossy && id.len() <= ID_BYTES_MAX {
        return id;
    }
    let hash = short_hash(blob_name);
    // Only ASCII by now, so every place is a border between characters.
    id.truncate(ID_BYTES_MAX - hash.len() - 1);
    format!("{id}-{hash}")
}

/// Everything but what RFC 3986 leaves unreserved.
pub(super) fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{TilerUrls, item_id, item_url};

    #[test]
    fn an_address_cannot_break_out_of_the_query() {
        let urls = TilerUrls::of_raster(Some("http://tiler/"), "https://a/b c.tif?sig=x&y#z");
        let tilejson = "http://tiler/cog/WebMercatorQuad/tilejson.json?url=https%3A%2F%2Fa%2Fb%20c.tif%3Fsig%3Dx%26y%23z";
        assert_eq!(urls.tilejson.as_deref(), Some(tilejson));
        let tiles = urls.tiles.unwrap();
        assert!(tiles.starts_with("http://tiler/cog/tiles/WebMercatorQuad/{z}/{x}/{y}?url=https"));
        assert_eq!(TilerUrls::of_raster(None, "x"), TilerUrls::default());
        let item = item_url("http://api/", "a/b", "c d");
        assert_eq!(item, "http://api/collections/a%2Fb/items/c%20d");
    }

    #[test]
    fn ids_are_safe_and_distinct() {
        assert_eq!(item_id("tiles/r0001_c0002.tif"), "tiles--r0001_c0002");
        let long = "x".repeat(500);
        let longer = format!("{long}y");
        let names = [
            "a/b.tif", "a--b.tif", "a b.tif", "a-b.tif", "a+b.tif", "ä.tif", "ö.tif", "", ".",
            "..", &long, &longer,
        ];
        let ids: std::collections::BTreeSet<_> = names.iter().map(|name| item_id(name)).collect();
        assert_eq!(ids.len(), names.len());
        for id in ids {
            assert!(id.len() <= 200 && !id.is_empty());
            assert!(
                id.bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
            );
        }
    }
}
