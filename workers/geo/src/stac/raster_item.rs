//! The item of a raster.

use chrono::{DateTime, Utc};
use domain::failure::{Failure, FailureClass};
use serde_json::{Map, Value, json};

use super::geometry::{is_bbox, shape};
use super::{DATA_ASSET, Refs, STAC_VERSION, item_links, put, stamp};
use crate::raster::{Band, Raster, Stats};

const PROJECTION: &str = "https://stac-extensions.github.io/projection/v2.0.0/schema.json";
const RASTER: &str = "https://stac-extensions.github.io/raster/v2.0.0/schema.json";
const FILE: &str = "https://stac-extensions.github.io/file/v2.1.0/schema.json";
/// Metres of a degree of latitude.
const DEGREE_METRES: f64 = 111_195.0;

/// What an item is made of.
#[derive(Debug, Clone)]
pub struct ItemInput<'a> {
    pub id: String,
    pub collection_id: String,
    pub raster: &'a Raster,
    /// Where the file is, without secrets.
    pub href: String,
    pub file_size: u64,
    /// A multihash: `1220` and a SHA-256 in hex. Empty: not known.
    pub checksum: String,
    /// Empty: the id.
    pub title: String,
    pub tags: &'a [String],
    pub refs: Refs,
    pub thumbnail: Option<String>,
    pub job_id: Option<String>,
    /// Only what was validated as one: many catalogs claim it of files that are not.
    pub is_cog: bool,
    /// Root of the STAC API, if there is one.
    pub base_url: Option<&'a str>,
    pub now: DateTime<Utc>,
}

/// A raster as an item with one asset. Refused is only a raster that lies nowhere on the globe.
pub fn raster_item(input: &ItemInput<'_>) -> Result<Value, Failure> {
    let raster = input.raster;
    if !is_bbox(raster.bounds_4326) {
        let message = format!("the raster `{}` has no bounds in degrees", input.id);
        return Err(Failure::new(
            FailureClass::Permanent,
            "item_bounds",
            &message,
        ));
    }
    let mut assets = Map::new();
    assets.insert(DATA_ASSET.to_owned(), asset(input));
    if let Some(href) = &input.thumbnail {
        let picture = json!({"href": href, "type": picture_type(href), "roles": ["thumbnail"]});
        assets.insert("thumbnail".to_owned(), picture);
    }
    let item = json!({
        "type": "Feature",
        "stac_version": STAC_VERSION,
        "stac_extensions": extensions(raster),
        "id": input.id,
        "collection": input.collection_id,
        "bbox": raster.bounds_4326,
        "geometry": footprint(raster),
        "properties": properties(input),
        "links": item_links(&input.collection_id, &input.id, input.base_url),
        "assets": assets,
    });
    Ok(domain::json::clean(item))
}

/// Those whose fields are there: the raster extension is broken where none of its own is used.
fn extensions(raster: &Raster) -> Vec<&'static str> {
    let mut bands = raster.bands.iter();
    let uses_raster =
        resolution(raster).is_some() || bands.any(|band| data_type(&band.dtype).1.is_some());
    let mut list = vec![PROJECTION, FILE];
    if uses_raster {
        list.push(RASTER);
    }
    list
}

fn properties(input: &ItemInput<'_>) -> Map<String, Value> {
    let raster = input.raster;
    let taken = raster.datetime.as_deref().and_then(|text| {
        let time = DateTime::parse_from_rfc3339(text).ok()?;
        Some(time.with_timezone(&Utc))
    });
    let mut map = Map::new();
    let title = Some(input.title.as_str()).filter(|title| !title.is_empty());
    put(&mut map, "title", Some(title.unwrap_or(&input.id)));
    put(
        &mut map,
        "datetime",
        Some(stamp(taken.unwrap_or(input.now))),
    );
    put(&mut map, "updated", Some(stamp(input.now)));
    let source = if taken.is_some() {
        "file"
    } else {
        "registration"
    };
    put(&mut map, "strata:datetime_source", Some(source));
    if !input.tags.is_empty() {
        put(&mut map, "keywords", Some(json!(input.tags)));
    }
    put(&mut map, "strata:job_id", input.job_id.as_deref());
    let kind = Some(raster.kind.name.as_str()).filter(|kind| !kind.is_empty());
    put(&mut map, "strata:raster_type", kind);
    input.refs.write(&mut map);
    projection(raster, &mut map);
    map
}

/// A CRS without a code is written out, and the code is null, as the extension wants it. PROJJSON only
/// where there is no WKT2: readers would have to fetch one more schema for it.
fn projection(raster: &Raster, map: &mut Map<String, Value>) {
    let crs = &raster.crs;
    map.insert("proj:code".to_owned(), json!(crs.code));
    if crs.code.is_none() {
        put(map, "proj:wkt2", crs.wkt2.as_deref());
        if crs.wkt2.is_none() {
            put(map, "proj:projjson", crs.projjson.clone());
        }
    }
    map.insert(
        "proj:shape".to_owned(),
        json!([raster.height, raster.width]),
    );
    if raster.bounds.iter().all(|number| number.is_finite()) {
        map.insert("proj:bbox".to_owned(), json!(raster.bounds));
    }
    // GDAL begins each row of the matrix with the origin, the extension ends it there.
    let [x0, dx, rx, y0, ry, dy] = raster.transform;
    let matrix = [dx, rx, x0, ry, dy, y0];
    if matrix.iter().all(|number| number.is_finite()) {
        map.insert("proj:transform".to_owned(), json!(matrix));
    }
}

fn asset(input: &ItemInput<'_>) -> Value {
    let raster = input.raster;
    let bands: Vec<Value> = (1..)
        .zip(&raster.bands)
        .map(|(at, each)| band(at, each))
        .collect();
    let mut asset = Map::new();
    put(&mut asset, "href", Some(input.href.as_str()));
    put(&mut asset, "title", Some("Raster"));
    put(&mut asset, "type", media_type(&raster.driver, input.is_cog));
    put(&mut asset, "roles", Some(json!(["data"])));
    put(&mut asset, "file:size", Some(input.file_size));
    let checksum = Some(input.checksum.as_str()).filter(|text| !text.is_empty());
    put(&mut asset, "file:checksum", checksum);
    put(
        &mut asset,
        "raster:spatial_resolution",
        resolution(raster).and_then(number),
    );
    if !bands.is_empty() {
        put(&mut asset, "bands", Some(bands));
    }
    Value::Object(asset)
}

fn band(at: usize, band: &Band) -> Value {
    let (data_type, bits) = data_type(&band.dtype);
    let mut map = Map::new();
    put(&mut map, "name", Some(format!("b{at}")));
    let described = band.description.as_deref().filter(|text| !text.is_empty());
    let color =
        Some(band.color.as_str()).filter(|color| !color.is_empty() && *color != "undefined");
    put(&mut map, "description", described.or(color));
    put(&mut map, "data_type", Some(data_type));
    put(&mut map, "raster:bits_per_sample", bits);
    put(&mut map, "nodata", nodata(band));
    put(&mut map, "statistics", band.stats.and_then(statistics));
    Value::Object(map)
}

fn nodata(band: &Band) -> Option<Value> {
    if band.nodata_is_nan {
        return Some(json!("nan"));
    }
    match band.nodata? {
        value if value.is_nan() => Some(json!("nan")),
        value if value.is_infinite() => Some(json!(if value > 0.0 { "inf" } else { "-inf" })),
        value => number(value),
    }
}

fn statistics(stats: Stats) -> Option<Value> {
    let mut map = Map::new();
    for (key, value) in [
        ("minimum", stats.minimum),
        ("maximum", stats.maximum),
        ("mean", stats.mean),
        ("stddev", stats.stddev),
        ("valid_percent", stats.valid_percent),
    ] {
        put(&mut map, key, number(value));
    }
    (!map.is_empty()).then_some(Value::Object(map))
}

/// Metres of a pixel on average, from the box in degrees: the CRS may count in anything.
fn resolution(raster: &Raster) -> Option<f64> {
    let [west, south, east, north] = raster.bounds_4326;
    let width = if west > east {
        east + 360.0 - west
    } else {
        east - west
    };
    let middle = f64::midpoint(south, north).to_radians().cos();
    let pixels = |count: u64| {
        u32::try_from(count)
            .ok()
            .filter(|&count| count > 0)
            .map(f64::from)
    };
    let across = width * DEGREE_METRES * middle / pixels(raster.width)?;
    let along = (north - south) * DEGREE_METRES / pixels(raster.height)?;
    // Five digits are more than an average over a curved box is worth.
    let metres = f64::midpoint(across, along);
    let digits = 10_f64.powf(4.0 - metres.log10().floor());
    Some((metres * digits).round() / digits).filter(|metres| metres.is_finite() && *metres > 0.0)
}

/// The footprint as it was found, or the box if there is none.
fn footprint(raster: &Raster) -> Value {
    let kind = raster.footprint.get("type").and_then(Value::as_str);
    match kind {
        Some("Polygon" | "MultiPolygon") => raster.footprint.clone(),
        _ => shape(raster.bounds_4326),
    }
}

fn data_type(dtype: &str) -> (&'static str, Option<u32>) {
    match dtype {
        "int8" => ("int8", Some(8)),
        "int16" => ("int16", Some(16)),
        "int32" => ("int32", Some(32)),
        "int64" => ("int64", Some(64)),
        "uint8" => ("uint8", Some(8)),
        "uint16" => ("uint16", Some(16)),
        "uint32" => ("uint32", Some(32)),
        "uint64" => ("uint64", Some(64)),
        "float16" => ("float16", Some(16)),
        "float32" => ("float32", Some(32)),
        "float64" => ("float64", Some(64)),
        "cint16" => ("cint16", Some(32)),
        "cint32" => ("cint32", Some(64)),
        "cfloat32" => ("cfloat32", Some(64)),
        "cfloat64" => ("cfloat64", Some(128)),
        _ => ("other", None),
    }
}

fn media_type(driver: &str, is_cog: bool) -> Option<&'static str> {
    match (is_cog, driver) {
        (true, _) => Some("image/tiff; application=geotiff; profile=cloud-optimized"),
        (false, "GTiff" | "COG") => Some("image/tiff; application=geotiff"),
        (false, "JP2OpenJPEG") => Some("image/jp2"),
        (false, "PNG") => Some("image/png"),
        (false, "JPEG") => Some("image/jpeg"),
        (false, "netCDF") => Some("application/netcdf"),
        _ => None,
    }
}

fn picture_type(href: &str) -> &'static str {
    let path = href.split(['?', '#']).next().unwrap_or_default();
    let end = path.rsplit('.').next().unwrap_or_default();
    match end.to_ascii_lowercase().as_str() {
        "jpg" | "jpeg" => "image/jpeg",
        "webp" => "image/webp",
        _ => "image/png",
    }
}

/// Whole numbers without `.0`; nothing for what JSON cannot hold.
fn number(value: f64) -> Option<Value> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() < EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "a whole number below 2^53")]
        let whole = value as i64;
        return Some(json!(whole));
    }
    value.is_finite().then(|| json!(value))
}
