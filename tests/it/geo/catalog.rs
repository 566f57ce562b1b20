//! Many writers of one collection.

use chrono::{TimeDelta, Utc};
use geo::catalog::Catalog;
use geo::raster::{Band, Raster};
use geo::stac::{ItemInput, Refs, raster_item};
use serde_json::{Value, json};
use sqlx::PgPool;

use super::stage::Stage;

const WRITERS: i64 = 6;
const ITEMS: i64 = 40;

#[tokio::test(flavor = "multi_thread")]
async fn writers_of_one_collection_lose_nothing() {
    let stage = Stage::new("geo_writers").await;
    let writers = (0..WRITERS).map(|writer| {
        let catalog = Catalog::connect(&stage.catalog_url, None, None).unwrap();
        tokio::spawn(async move {
            for number in 0..ITEMS {
                let item = item(writer, number);
                catalog.upsert_items("shared", &[item]).await.unwrap();
            }
        })
    });
    for done in futures_util::future::join_all(writers).await {
        done.unwrap();
    }
    let pool = PgPool::connect(&stage.catalog_url).await.unwrap();
    let count: i64 =
        sqlx::query_scalar("select count(*) from pgstac.items where collection = 'shared'")
            .fetch_one(&pool)
            .await
            .unwrap();
    assert_eq!(count, WRITERS * ITEMS);
}

/// Each at a time and place of its own, so that pgSTAC moves its partitions.
#[expect(clippy::cast_precision_loss, reason = "small numbers")]
#[expect(clippy::disallowed_methods, reason = "any time will do")]
fn item(writer: i64, number: i64) -> Value {
    let (west, south) = (writer as f64 * 10.0, number as f64);
    let bounds = [west, south, west + 1.0, south + 1.0];
    let ring = json!([[
        [west, south],
        [west + 1.0, south],
        [west + 1.0, south + 1.0],
        [west, south + 1.0],
        [west, south]
    ]]);
    let taken = Utc::now() - TimeDelta::days(writer * 400 + number * 31);
    let raster = Raster {
        width: 10,
        height: 10,
        bounds,
        bounds_4326: bounds,
        footprint: json!({"type": "Polygon", "coordinates": ring}),
        bands: vec![Band {
            dtype: "uint8".to_owned(),
            ..Band::default()
        }],
        datetime: Some(taken.to_rfc3339()),
        ..Raster::default()
    };
    let input = ItemInput {
        id: format!("item-{writer}-{number}"),
        collection_id: "shared".to_owned(),
        raster: &raster,
        href: "file:///nowhere.tif".to_owned(),
        file_size: 1,
        checksum: format!("1220{}", "0".repeat(64)),
        title: String::new(),
        tags: &[],
        refs: Refs::default(),
        thumbnail: None,
        job_id: None,
        is_cog: true,
        base_url: None,
        now: Utc::now(),
    };
    raster_item(&input).unwrap()
}
