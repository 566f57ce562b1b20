//! Files that must be refused, each with its own answer.

use super::*;
use crate::raster::look;

fn refused(path: &Path, options: &LookOptions) -> String {
    let failure = look(path, options, &TestWatch::default()).unwrap_err();
    let directory = path.parent().unwrap().to_str().unwrap();
    assert!(!failure.message.contains(directory), "{}", failure.message);
    assert!(
        failure.message.ends_with('.') && failure.message.len() > 15,
        "{}",
        failure.message
    );
    failure.code
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn each_bad_file_gets_a_named_answer() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    Make::default().tif::<f32>(&at("good.tif"), hills);
    let good = std::fs::read(at("good.tif")).unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(at(name), bytes).unwrap();
    write("empty.tif", b"");
    write(
        "text.tif",
        b"this is no raster at all, but it is long enough to be looked at",
    );
    write(
        "page.tif",
        b"<!DOCTYPE html><html><body>Not found</body></html>",
    );
    write("head.tif", &good[..4]);
    write("half.tif", &good[..good.len() * 6 / 10]);
    let vrt = format!(
        "<VRTDataset rasterXSize=\"9\" rasterYSize=\"9\"><VRTRasterBand dataType=\"Byte\" band=\"1\">\
         <SimpleSource><SourceFilename>{}</SourceFilename></SimpleSource></VRTRasterBand></VRTDataset>",
        at("good.tif").display()
    );
    write("link.tif", vrt.as_bytes());
    Make {
        crs: None,
        ..Make::default()
    }
    .tif::<f32>(&at("nocrs.tif"), hills);
    Make {
        transform: None,
        ..Make::default()
    }
    .tif::<f32>(&at("noplace.tif"), hills);
    let degrees = Some([500_000.0, 10.0, 0.0, 5_000_000.0, 0.0, -10.0]);
    Make {
        crs: Some("EPSG:4326"),
        transform: degrees,
        ..Make::default()
    }
    .tif::<f32>(&at("metres.tif"), hills);
    let far = Some([9.0e11, 10.0, 0.0, 5.0e11, 0.0, -10.0]);
    Make {
        transform: far,
        ..Make::default()
    }
    .tif::<f32>(&at("far.tif"), hills);
    let flat = Some([500_000.0, 10.0, 0.0, 5_000_000.0, 0.0, 0.0]);
    Make {
        transform: flat,
        ..Make::default()
    }
    .tif::<f32>(&at("flat.tif"), hills);
    run(
        "gdal_translate",
        &[
            "-q",
            "-ot",
            "CFloat32",
            at("good.tif").to_str().unwrap(),
            at("complex.tif").to_str().unwrap(),
        ],
    );
    let sparse = Make {
        size: (400_000, 400_000),
        options: &[
            "SPARSE_OK=TRUE",
            "TILED=YES",
            "BIGTIFF=YES",
            "COMPRESS=DEFLATE",
        ],
        ..Make::default()
    };
    huge(&at("huge.tif"), &sparse);
    run(
        "gdal_translate",
        &[
            "-q",
            "-of",
            "PNG",
            "-ot",
            "Byte",
            "-scale",
            at("good.tif").to_str().unwrap(),
            at("plain.png").to_str().unwrap(),
        ],
    );
    let _ = std::fs::remove_file(at("plain.png.aux.xml"));
    let _ = std::fs::remove_file(at("complex.tif.aux.xml"));
    gcps(&at("gcps.tif"), &at("good.tif"));
    killed(&at("killed.tif"));
    std::fs::create_dir(at("directory.tif")).unwrap();
    let before = contents(directory.path());
    for (name, code) in [
        ("missing.tif", "not_found"),
        ("directory.tif", "unreadable"),
        ("empty.tif", "empty_file"),
        ("text.tif", "not_recognised"),
        ("page.tif", "not_recognised"),
        ("head.tif", "not_recognised"),
        ("link.tif", "not_recognised"),
        ("half.tif", "corrupt_blocks"),
        ("huge.tif", "too_large"),
        ("complex.tif", "complex_pixels"),
        ("nocrs.tif", "no_crs"),
        ("plain.png", "no_crs"),
        ("noplace.tif", "no_georeference"),
        ("flat.tif", "no_georeference"),
        ("gcps.tif", "no_georeference"),
        ("metres.tif", "bounds_outside_crs"),
        ("far.tif", "bounds_outside_crs"),
        ("killed.tif", "corrupt_blocks"),
    ] {
        assert_eq!(refused(&at(name), &looking()), code, "{name}");
    }
    for (crs, code) in [
        ("EPSG:99999999", "bad_crs"),
        ("/etc/passwd", "bad_crs"),
        ("http://localhost/crs.wkt", "bad_crs"),
        ("PROJCS[\"broken", "bad_crs"),
        ("nonsense", "bad_crs"),
    ] {
        let options = LookOptions {
            input_crs: Some(crs.to_owned()),
            ..looking()
        };
        assert_eq!(refused(&at("nocrs.tif"), &options), code, "{crs}");
    }
    let options = LookOptions {
        raster_type: Some("rgb".to_owned()),
        ..looking()
    };
    assert_eq!(refused(&at("good.tif"), &options), "wrong_raster_type");
    assert_eq!(
        contents(directory.path()),
        before,
        "a source or its directory was changed"
    );
}

#[test]
fn an_override_helps_where_the_file_is_silent() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.tif");
    Make {
        crs: None,
        ..Make::default()
    }
    .tif::<f32>(&path, hills);
    let options = LookOptions {
        input_crs: Some("EPSG:32633".to_owned()),
        ..looking()
    };
    let found = look(&path, &options, &TestWatch::default()).unwrap();
    assert_eq!(
        (found.crs_source.as_str(), found.crs.code.as_deref()),
        ("override", Some("EPSG:32633"))
    );
}

#[test]
fn looking_can_be_cancelled() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.tif");
    Make {
        size: (3000, 3000),
        ..Make::default()
    }
    .tif::<f32>(&path, hills);
    let failure = look(&path, &looking(), &TestWatch::stop_at(0.2)).unwrap_err();
    assert_eq!(failure.code, "cancelled");
}

/// A tiny file that declares hundreds of gigabytes.
fn huge(path: &Path, make: &Make<'_>) {
    super::super::open::prepare();
    let driver = DriverManager::get_driver_by_name("GTiff").unwrap();
    let options = RasterCreationOptions::from_iter(make.options.iter().copied());
    let made = driver.create_with_band_type_with_options::<f32, _>(
        path,
        make.size.0,
        make.size.1,
        1,
        &options,
    );
    drop(made.unwrap());
    assert!(std::fs::metadata(path).unwrap().len() < 64 << 20);
}

/// What a killed writer leaves: all metadata, no blocks.
pub(super) fn killed(path: &Path) {
    let make = Make {
        options: &["SPARSE_OK=TRUE", "TILED=YES"],
        ..Make::default()
    };
    super::super::open::prepare();
    let driver = DriverManager::get_driver_by_name("GTiff").unwrap();
    let options = RasterCreationOptions::from_iter(make.options.iter().copied());
    let mut made = driver
        .create_with_band_type_with_options::<u8, _>(path, 1024, 1024, 1, &options)
        .unwrap();
    made.set_spatial_ref(&SpatialRef::from_epsg(32633).unwrap())
        .unwrap();
    made.set_geo_transform(&make.transform.unwrap()).unwrap();
}

fn gcps(path: &Path, good: &Path) {
    let points = [
        "-gcp", "0", "0", "10", "50", "-gcp", "300", "0", "11", "50", "-gcp", "0", "200", "10",
        "49",
    ];
    let mut arguments = vec!["-q", "-a_srs", "EPSG:4326"];
    arguments.extend(points);
    arguments.extend([good.to_str().unwrap(), path.to_str().unwrap()]);
    run("gdal_translate", &arguments);
    let _ = std::fs::remove_file(path.with_extension("tif.aux.xml"));
}
