//! What may differ from its source: pictures for the eye, and rasters in another CRS. Each differs as little as it should.

use serde_json::json;

use super::judges::{is_faithful, judged, python};
use super::stage::{Stage, real};

/// Decibels below which a picture is not taken for its source.
const PSNR_MIN: f64 = 35.0;

#[tokio::test(flavor = "multi_thread")]
async fn a_picture_for_the_eye_is_close_to_its_source() {
    let stage = Stage::new("geo_pictures").await;
    let folder = stage.uploads();
    let landsat = real("L7_ETMs.tif");
    let args = [folder.to_str().unwrap(), landsat.to_str().unwrap()];
    python("make_pictures.py", &args, None);
    stage.upload_real(&["L7_ETMs.tif"]);
    let _worker = stage.worker();
    let run = async |name: &str, tier: &str| {
        let inputs = json!({"container_name": "uploads", "blob_name": name, "output_tier": tier});
        let result = stage.run("raster_processing", inputs).await;
        stage.artifact(&result)
    };
    for (name, compression) in [
        ("smooth.tif", "JPEG"),
        ("landsat.tif", "JPEG"),
        ("veiled.tif", "WEBP"),
    ] {
        let (picture, source) = (run(name, "visualization").await, folder.join(name));
        let said = judged("judge_picture.py", &[&picture, &source], &[]);
        println!("{name}: {said}");
        for key in ["valid", "alpha", "shape", "transform"] {
            assert_eq!(said[key], true, "{name}: {key}: {said}");
        }
        assert_eq!(said["compression"], compression, "{name}: {said}");
        let psnr = said["psnr"].as_f64().unwrap();
        assert!((PSNR_MIN..200.0).contains(&psnr), "{name}: {said}");
        // Whoever asks for nothing loses nothing.
        is_faithful(&run(name, "analysis").await, &source);
    }
    // Six bands are no picture: nothing may be lost, whatever is asked for.
    let cog = run("L7_ETMs.tif", "visualization").await;
    is_faithful(&cog, &folder.join("L7_ETMs.tif"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reprojected_raster_is_what_gdalwarp_makes_of_it() {
    let stage = Stage::new("geo_warp").await;
    stage.upload_real(&["L7_ETMs.tif", "olinda_dem_utm25s.tif"]);
    stage.make("make_rasters.py");
    let _worker = stage.worker();
    let mut outside = 0;
    for (name, crs, method) in [
        ("L7_ETMs.tif", "EPSG:4326", "bilinear"),
        ("L7_ETMs.tif", "EPSG:3857", "bilinear"),
        ("olinda_dem_utm25s.tif", "EPSG:4326", "bilinear"),
        ("dem.tif", "EPSG:32632", "bilinear"),
        ("palette.tif", "EPSG:3035", "near"),
        ("rotated.tif", "EPSG:3857", "bilinear"),
    ] {
        let inputs = json!({"container_name": "uploads", "blob_name": name, "target_crs": crs});
        let result = stage.run("raster_processing", inputs).await;
        let (cog, source) = (stage.artifact(&result), stage.uploads().join(name));
        let said = judged("judge_warp.py", &[&cog, &source], &[crs, method]);
        for key in ["valid", "frame", "pixels", "mask"] {
            assert_eq!(said[key], true, "{name} in {crs}: {key}: {said}");
        }
        assert!(said["seen"].as_u64() > Some(3_000), "{name}: {said}");
        outside += said["outside"].as_u64().unwrap();
        let item = stage.items().await.into_iter();
        let mut item = item.filter(|item| item["id"] == result["item_id"]);
        let item = item.next().unwrap();
        assert_eq!(item["properties"]["proj:code"], crs, "{item}");
    }
    assert!(
        outside > 1_000,
        "masks had nothing to agree about: {outside}"
    );
    stage.nothing_is_left().await;
}
