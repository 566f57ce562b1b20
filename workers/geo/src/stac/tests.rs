//! Items and collections as others read them.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::{
    Collection, Extent, ItemInput, Refs, TableInput, collection, raster_item, vector_item, widened,
};
use crate::raster::{Band, Crs, Raster, Stats};

fn time(text: &str) -> DateTime<Utc> {
    text.parse().unwrap()
}

fn raster() -> Raster {
    let band = |nodata, nodata_is_nan, mean| Band {
        dtype: "float32".to_owned(),
        nodata,
        nodata_is_nan,
        color: "gray".to_owned(),
        description: None,
        stats: Some(Stats {
            minimum: 0.0,
            maximum: 10.0,
            mean,
            stddev: 1.5,
            valid_percent: 100.0,
        }),
    };
    Raster {
        driver: "GTiff".to_owned(),
        width: 200,
        height: 100,
        bands: vec![
            band(Some(-9999.0), false, 5.0),
            band(None, true, f64::NAN),
            band(Some(f64::NEG_INFINITY), false, f64::INFINITY),
        ],
        crs: Crs {
            code: Some("EPSG:32633".to_owned()),
            name: "WGS 84 / UTM zone 33N".to_owned(),
            ..Crs::default()
        },
        transform: [500_000.0, 10.0, 0.5, 5_000_000.0, -0.25, -10.0],
        bounds: [500_000.0, 4_999_000.0, 502_000.0, 5_000_000.0],
        bounds_4326: [15.0, 45.1, 15.03, 45.2],
        footprint: json!({"type": "Polygon", "coordinates": [[[15.0, 45.1], [15.03, 45.1], [15.03, 45.2], [15.0, 45.1]]]}),
        datetime: Some("2024-05-06T07:08:09+02:00".to_owned()),
        ..Raster::default()
    }
}

fn input(raster: &Raster) -> ItemInput<'_> {
    ItemInput {
        id: "dem".to_owned(),
        collection_id: "heights".to_owned(),
        raster,
        href: "https://store/dem.tif".to_owned(),
        file_size: 1234,
        checksum: format!("1220{}", "a".repeat(64)),
        title: String::new(),
        tags: &[],
        refs: Refs::default(),
        thumbnail: None,
        job_id: None,
        is_cog: false,
        base_url: None,
        now: time("2025-01-01T00:00:00Z"),
    }
}

#[test]
fn an_item_says_what_the_raster_is() {
    let raster = raster();
    let item = raster_item(&input(&raster)).unwrap();
    let properties = &item["properties"];
    assert_eq!(properties["datetime"], "2024-05-06T05:08:09Z");
    assert_eq!(properties["proj:code"], "EPSG:32633");
    assert_eq!(properties["proj:shape"], json!([100, 200]));
    assert_eq!(
        properties["proj:transform"],
        json!([10.0, 0.5, 500_000.0, -0.25, -10.0, 5_000_000.0])
    );
    let asset = &item["assets"]["data"];
    assert_eq!(asset["type"], "image/tiff; application=geotiff");
    assert_eq!(asset["file:size"], 1234);
    let nodata: Vec<_> = (0..3)
        .map(|at| asset["bands"][at]["nodata"].clone())
        .collect();
    assert_eq!(nodata, [json!(-9999), json!("nan"), json!("-inf")]);
    assert_eq!(asset["bands"][0]["statistics"]["mean"], 5);
    assert!(asset["bands"][1]["statistics"].get("mean").is_none());
    assert_eq!(item["links"].as_array().unwrap().len(), 1);
    assert_eq!(item["links"][0]["href"], "../../heights");
    assert_eq!(properties["title"], "dem");
}

#[test]
fn no_number_of_an_item_is_null() {
    fn nulls(value: &Value, path: &str, found: &mut Vec<String>) {
        match value {
            Value::Null => found.push(path.to_owned()),
            Value::Array(list) => list.iter().for_each(|each| nulls(each, path, found)),
            Value::Object(map) => map.iter().for_each(|(key, each)| nulls(each, key, found)),
            _ => {}
        }
    }
    let mut raster = raster();
    raster.crs.code = None;
    raster.crs.wkt2 = Some("LOCAL_CS".to_owned());
    raster.bounds[0] = f64::NAN;
    raster.transform[1] = f64::INFINITY;
    let item = raster_item(&input(&raster)).unwrap();
    let mut found = Vec::new();
    nulls(&item, "", &mut found);
    assert_eq!(found, ["proj:code"]);
    assert_eq!(item["properties"]["proj:wkt2"], "LOCAL_CS");
}

#[test]
fn only_a_validated_file_claims_to_be_cloud_optimized() {
    let raster = raster();
    let cog = ItemInput {
        is_cog: true,
        ..input(&raster)
    };
    let media = raster_item(&cog).unwrap()["assets"]["data"]["type"].clone();
    assert_eq!(
        media,
        "image/tiff; application=geotiff; profile=cloud-optimized"
    );
}

#[test]
fn links_are_there_when_the_api_is_known() {
    let raster = raster();
    let linked = ItemInput {
        base_url: Some("https://stac"),
        ..input(&raster)
    };
    let item = raster_item(&linked).unwrap();
    assert_eq!(
        item["links"][0]["href"],
        "https://stac/collections/heights/items/dem"
    );
    assert_eq!(item["links"][1]["rel"], "collection");
}

#[test]
fn a_raster_without_a_place_is_refused() {
    let mut raster = raster();
    raster.bounds_4326[2] = f64::INFINITY;
    assert_eq!(
        raster_item(&input(&raster)).unwrap_err().code,
        "item_bounds"
    );
}

#[test]
fn a_table_across_the_antimeridian_is_shown_in_two_parts() {
    let tags = ["roads".to_owned()];
    let input = TableInput {
        id: "roads".to_owned(),
        collection_id: "vectors".to_owned(),
        schema: "geo".to_owned(),
        table: "roads".to_owned(),
        bounds: [170.0, -10.0, -170.0, 10.0],
        feature_count: 7,
        geometry_type: "MultiLineString".to_owned(),
        href: None,
        title: "Roads".to_owned(),
        tags: &tags,
        refs: Refs::default(),
        job_id: Some("j".to_owned()),
        base_url: None,
        now: time("2025-01-01T00:00:00Z"),
    };
    let item = vector_item(&input).unwrap();
    assert_eq!(item["bbox"], json!([170.0, -10.0, -170.0, 10.0]));
    assert_eq!(item["geometry"]["type"], "MultiPolygon");
    assert_eq!(item["assets"]["data"]["href"], "urn:strata:table:geo:roads");
    assert_eq!(item["properties"]["strata:feature_count"], 7);
}

#[test]
fn a_collection_grows_and_keeps_what_others_wrote() {
    let unknown = Collection {
        id: "c".to_owned(),
        title: Some("Title".to_owned()),
        ..Collection::default()
    };
    let mut first = collection(&unknown, None);
    assert_eq!(
        first["extent"]["spatial"]["bbox"],
        json!([[-180.0, -90.0, 180.0, 90.0]])
    );
    first["license"] = json!("CC-BY-4.0");
    let item = |bbox: [f64; 4], time: &str| {
        Extent::of_item(&json!({"bbox": bbox, "properties": {"datetime": time}}))
    };
    let grown = |old: &Value, extent| {
        let input = Collection {
            id: "c".to_owned(),
            extent,
            ..Collection::default()
        };
        widened(Some(old), &input, None)
    };
    let one = grown(
        &first,
        item([170.0, 0.0, 175.0, 1.0], "2024-01-01T00:00:00Z"),
    );
    assert_eq!(
        one["extent"]["spatial"]["bbox"],
        json!([[170.0, 0.0, 175.0, 1.0]])
    );
    let two = grown(
        &one,
        item([-175.0, -1.0, -170.0, 0.0], "2023-01-01T00:00:00Z"),
    );
    assert_eq!(
        two["extent"]["spatial"]["bbox"],
        json!([[170.0, -1.0, -170.0, 1.0]])
    );
    let times = json!([["2023-01-01T00:00:00Z", "2024-01-01T00:00:00Z"]]);
    assert_eq!(two["extent"]["temporal"]["interval"], times);
    assert_eq!(two["title"], "Title");
    assert_eq!(two["license"], "CC-BY-4.0");
    assert_eq!(
        grown(&two, item([171.0, 0.0, 172.0, 0.5], "2023-06-01T00:00:00Z")),
        two
    );
}
