//! Reprojection, held against the program `gdalwarp`.

use super::*;
use crate::raster::create_cog;

fn pixels(path: &Path, band: usize) -> Vec<f64> {
    let dataset = Dataset::open(path).unwrap();
    dataset
        .rasterband(band)
        .unwrap()
        .read_band_as::<f64>()
        .unwrap()
        .into_shape_and_vec()
        .1
}

#[test]
fn a_warp_agrees_with_gdalwarp() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let size = (1200, 900);
    Make {
        size,
        nodata: Some(-9999.0),
        ..Make::default()
    }
    .tif::<f32>(&at("dem.tif"), |b, x, y| {
        if x < 100 && y > 700 {
            -9999.0
        } else {
            hills(b, x, y)
        }
    });
    Make {
        size,
        nodata: Some(0.0),
        ..Make::default()
    }
    .tif::<u8>(&at("classes.tif"), |_, x, y| {
        u8::try_from((x / 50 + y / 50) % 7).unwrap()
    });
    for (name, raster_type, how) in [
        ("dem", "dem", "bilinear"),
        ("classes", "categorical", "near"),
    ] {
        let source = at(&format!("{name}.tif"));
        let (ours, theirs) = (
            at(&format!("{name}-ours.tif")),
            at(&format!("{name}-theirs.tif")),
        );
        for crs in ["EPSG:3857", "EPSG:4326"] {
            let _ = std::fs::remove_file(&ours);
            let options = CogOptions {
                target_crs: Some(crs.to_owned()),
                ..making(raster_type, "analysis")
            };
            let made = create_cog(&source, &ours, &options, &TestWatch::default()).unwrap();
            assert_eq!(made.raster.crs.code.as_deref(), Some(crs));
            run(
                "gdalwarp",
                &[
                    "-q",
                    "-overwrite",
                    "-t_srs",
                    crs,
                    "-r",
                    how,
                    source.to_str().unwrap(),
                    theirs.to_str().unwrap(),
                ],
            );
            assert_eq!(pixels(&ours, 1), pixels(&theirs, 1), "{name} {crs}");
            let transform = |path: &Path| Dataset::open(path).unwrap().geo_transform().unwrap();
            assert_eq!(transform(&ours), transform(&theirs));
        }
    }
}

#[test]
fn the_same_crs_is_not_warped() {
    let directory = tempfile::tempdir().unwrap();
    let (source, target) = (
        directory.path().join("a.tif"),
        directory.path().join("b.tif"),
    );
    Make::default().tif::<f32>(&source, hills);
    let options = CogOptions {
        target_crs: Some("EPSG:32633".to_owned()),
        ..making("dem", "analysis")
    };
    create_cog(&source, &target, &options, &TestWatch::default()).unwrap();
    assert_eq!(checksums(&source), checksums(&target));
}

#[test]
fn what_lies_outside_of_the_source_is_told_apart() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let size = (300, 300);
    Make {
        size,
        bands: 3,
        options: &["PHOTOMETRIC=RGB"],
        ..Make::default()
    }
    .tif::<u8>(&at("rgb.tif"), byte);
    Make {
        size,
        ..Make::default()
    }
    .tif::<f32>(&at("dem.tif"), hills);
    Make {
        size,
        ..Make::default()
    }
    .tif::<u8>(&at("classes.tif"), |_, x, _| u8::try_from(x % 3).unwrap());
    let make = |name: &str, raster_type: &str| {
        let options = CogOptions {
            target_crs: Some("EPSG:4326".to_owned()),
            ..making(raster_type, "analysis")
        };
        let target = at(&format!("{name}-warped.tif"));
        create_cog(&at(name), &target, &options, &TestWatch::default())
            .unwrap()
            .raster
    };
    let rgb = make("rgb.tif", "rgb");
    assert_eq!((rgb.bands.len(), rgb.kind.name.as_str()), (4, "rgba"));
    assert_eq!(rgb.bands[3].color, "alpha");
    assert!(make("dem.tif", "dem").bands[0].nodata_is_nan);
    assert_eq!(
        make("classes.tif", "categorical").bands[0].nodata,
        Some(255.0)
    );
}

#[test]
fn a_warp_that_would_be_too_large_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (source, target) = (
        directory.path().join("a.tif"),
        directory.path().join("b.tif"),
    );
    Make {
        transform: Some([800_000.0, 10.0, 0.0, 8_000_000.0, 0.0, -10.0]),
        ..Make::default()
    }
    .tif::<f32>(&source, hills);
    let options = CogOptions {
        target_crs: Some("EPSG:3857".to_owned()),
        // As much as the source has: turned, it needs a larger frame.
        pixel_bytes_max: 300 * 200 * 4,
        ..making("dem", "analysis")
    };
    let failure = create_cog(&source, &target, &options, &TestWatch::default()).unwrap_err();
    assert_eq!(failure.code, "too_large", "{failure:?}");
}
