//! What is found out about good rasters.

use gdal::Metadata;
use gdal::raster::{ColorEntry, ColorInterpretation, ColorTable, PaletteInterpretation};
use serde_json::Value;

use super::*;
use crate::raster::{bounds_to_4326, look, thumbnail};

fn kind_of(directory: &Path, name: &str) -> (String, f64, Vec<String>) {
    let found = look(&directory.join(name), &looking(), &TestWatch::default()).unwrap();
    (found.kind.name, found.kind.confidence, found.kind.evidence)
}

#[test]
fn a_raster_is_described_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.tif");
    let make = Make {
        nodata: Some(-9999.0),
        options: &["TILED=YES", "COMPRESS=DEFLATE"],
        ..Make::default()
    };
    let mut made = make.open::<f32>(&path, |_, x, _| if x < 30 { -9999.0 } else { 100.0 });
    made.set_metadata_item("TIFFTAG_DATETIME", "2024:05:01 10:20:30", "")
        .unwrap();
    drop(made);
    let before = contents(directory.path());
    let watch = TestWatch::default();
    let found = look(&path, &looking(), &watch).unwrap();
    thumbnail(&path, &tempfile::tempdir().unwrap().path().join("t.png")).unwrap();
    assert_eq!(contents(directory.path()), before);
    assert!(watch.calls() > 0);
    assert_eq!(
        (found.width, found.height, found.block),
        (300, 200, [256, 256])
    );
    assert_eq!(found.crs.code.as_deref(), Some("EPSG:32633"));
    assert_eq!(
        (found.crs_source.as_str(), found.driver.as_str()),
        ("file", "GTiff")
    );
    assert_eq!(
        found.bounds,
        [500_000.0, 4_998_000.0, 503_000.0, 5_000_000.0]
    );
    assert_eq!(found.compression.as_deref(), Some("DEFLATE"));
    assert_eq!(found.datetime.as_deref(), Some("2024-05-01T10:20:30Z"));
    assert_eq!(found.pixel_bytes, 240_000);
    let band = &found.bands[0];
    assert_eq!(
        (band.dtype.as_str(), band.nodata),
        ("float32", Some(-9999.0))
    );
    let stats = band.stats.unwrap();
    assert_eq!(
        (stats.minimum, stats.maximum, stats.mean, stats.stddev),
        (100.0, 100.0, 100.0, 0.0)
    );
    assert!((stats.valid_percent - 90.0).abs() < 1e-9);
}

#[test]
fn statistics_are_those_of_gdal() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.tif");
    Make {
        size: (2500, 1700),
        ..Make::default()
    }
    .tif::<f32>(&path, hills);
    let found = look(&path, &looking(), &TestWatch::default())
        .unwrap()
        .bands[0]
        .stats
        .unwrap();
    let said = run(
        "gdalinfo",
        &[
            "-stats",
            "--config",
            "GDAL_PAM_ENABLED",
            "NO",
            path.to_str().unwrap(),
        ],
    );
    for (key, value) in [
        ("STATISTICS_MINIMUM=", found.minimum),
        ("STATISTICS_MAXIMUM=", found.maximum),
        ("STATISTICS_MEAN=", found.mean),
        ("STATISTICS_STDDEV=", found.stddev),
    ] {
        let line = said
            .lines()
            .find_map(|line| line.trim().strip_prefix(key))
            .unwrap();
        assert!(
            (line.parse::<f64>().unwrap() - value).abs() < 1e-6,
            "{key}{line} {value}"
        );
    }
}

#[test]
fn kinds_are_recognised() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let with = |bands, options| Make {
        bands,
        options,
        ..Make::default()
    };
    with(3, &["PHOTOMETRIC=RGB"]).tif::<u8>(&at("rgb.tif"), byte);
    with(3, &["PHOTOMETRIC=MINISBLACK"]).tif::<u8>(&at("three.tif"), byte);
    with(4, &["PHOTOMETRIC=RGB", "ALPHA=YES"]).tif::<u8>(&at("rgba.tif"), byte);
    with(5, &[]).tif::<u16>(&at("many.tif"), |b, x, y| u16::from(byte(b, x, y)));
    with(4, &["PHOTOMETRIC=MINISBLACK", "ALPHA=NO"]).tif::<u8>(&at("four.tif"), byte);
    with(1, &[]).tif::<f32>(&at("heights.tif"), hills);
    with(1, &[]).tif::<i16>(&at("my_dem_10m.tif"), |_, x, y| {
        i16::try_from(x / 30 + y / 20).unwrap()
    });
    with(1, &[]).tif::<u8>(&at("classes.tif"), |_, x, y| {
        u8::try_from((x / 50 + y / 50) % 7).unwrap()
    });
    with(1, &[]).tif::<f32>(&at("ndvi.tif"), |_, x, y| hills(1, x, y) / 1000.0);
    with(1, &[]).tif::<u16>(&at("radiance.tif"), |b, x, y| {
        u16::from(byte(b, x, y)) * 100
    });
    let made = with(1, &["PHOTOMETRIC=PALETTE"]).open::<u8>(&at("palette.tif"), byte);
    paint(&made);
    drop(made);
    for (name, expected, confidence) in [
        ("rgb.tif", "rgb", 0.9),
        ("three.tif", "rgb", 0.6),
        ("rgba.tif", "rgba", 0.9),
        ("many.tif", "multispectral", 0.8),
        ("four.tif", "multispectral", 0.8),
        ("heights.tif", "dem", 0.5),
        ("my_dem_10m.tif", "dem", 0.8),
        ("classes.tif", "categorical", 0.7),
        ("palette.tif", "categorical", 0.9),
        ("ndvi.tif", "continuous", 0.6),
        ("radiance.tif", "continuous", 0.6),
    ] {
        let (found, sure, evidence) = kind_of(directory.path(), name);
        assert_eq!(found, expected, "{name}: {evidence:?}");
        assert!(sure >= confidence && !evidence.is_empty(), "{name}: {sure}");
    }
}

/// Gives the first band a palette.
pub(super) fn paint(dataset: &Dataset) {
    let mut table = ColorTable::new(PaletteInterpretation::Rgba);
    for index in 0..=255_u16 {
        let level = i16::try_from(index).unwrap();
        table.set_color_entry(index, &ColorEntry::rgba(level, 255 - level, 7, 255));
    }
    let mut band = dataset.rasterband(1).unwrap();
    band.set_color_table(&table);
    assert_eq!(
        band.color_interpretation(),
        ColorInterpretation::PaletteIndex
    );
}

fn rings(footprint: &Value) -> Vec<Vec<[f64; 2]>> {
    let polygons = match footprint["type"].as_str() {
        Some("Polygon") => vec![footprint["coordinates"].clone()],
        _ => footprint["coordinates"].as_array().unwrap().clone(),
    };
    polygons
        .into_iter()
        .map(|polygon| serde_json::from_value(polygon[0].clone()).unwrap())
        .collect()
}

/// Closed, counter-clockwise, finite and within the world.
fn check_rings(footprint: &Value) {
    for ring in rings(footprint) {
        assert_eq!(ring.first(), ring.last());
        let area: f64 = ring
            .windows(2)
            .map(|w| w[0][0] * w[1][1] - w[1][0] * w[0][1])
            .sum();
        assert!(area > 0.0, "clockwise: {ring:?}");
        for [x, y] in ring {
            assert!(
                (-180.0..=180.0).contains(&x) && (-90.0..=90.0).contains(&y),
                "{x} {y}"
            );
        }
    }
}

#[test]
fn a_footprint_across_the_antimeridian_is_split() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.tif");
    // EPSG:3832 has 150 degrees east in its middle; this box reaches from 168 east to 165 west.
    let transform = Some([2_000_000.0, 30_000.0, 0.0, 1_000_000.0, 0.0, -30_000.0]);
    Make {
        size: (100, 60),
        crs: Some("EPSG:3832"),
        transform,
        ..Make::default()
    }
    .tif::<f32>(&path, hills);
    let found = look(&path, &looking(), &TestWatch::default()).unwrap();
    let [west, south, east, north] = found.bounds_4326;
    assert!(
        west > east && west > 167.0 && east < -165.0,
        "{:?}",
        found.bounds_4326
    );
    assert!(south < north);
    assert_eq!(found.footprint["type"], "MultiPolygon");
    assert_eq!(rings(&found.footprint).len(), 2);
    check_rings(&found.footprint);
    let edges: Vec<f64> = rings(&found.footprint)
        .concat()
        .iter()
        .map(|p| p[0].abs())
        .collect();
    // Two on each side, and one more where a ring starts there.
    assert!(edges.iter().filter(|x| (**x - 180.0).abs() < 1e-12).count() >= 4);
}

#[test]
fn footprints_follow_the_earth() {
    for (crs, bounds, expected, polygons) in [
        (
            "EPSG:4326",
            [10.0, 50.0, 11.0, 51.0],
            [10.0, 50.0, 11.0, 51.0],
            1,
        ),
        (
            "EPSG:4326",
            [170.0, -10.0, 190.0, 10.0],
            [170.0, -10.0, -170.0, 10.0],
            2,
        ),
        (
            "EPSG:4326",
            [-180.0, -90.0, 180.0, 90.0],
            [-180.0, -90.0, 180.0, 90.0],
            1,
        ),
        (
            "EPSG:4326",
            [0.0, -90.0, 360.0, 90.0],
            [-180.0, -90.0, 180.0, 90.0],
            2,
        ),
        (
            "EPSG:3857",
            [
                -20_037_508.342_789,
                -20_037_508.342_789,
                20_037_508.342_789,
                20_037_508.342_789,
            ],
            [-180.0, -85.051_128_779_8, 180.0, 85.051_128_779_8],
            1,
        ),
        // Around the north pole: every longitude, up to 90 degrees.
        (
            "EPSG:3413",
            [-1e6, -1e6, 1e6, 1e6],
            [-180.0, 76.9, 180.0, 90.0],
            2,
        ),
        (
            "EPSG:3031",
            [-1e6, -1e6, 1e6, 1e6],
            [-180.0, -90.0, 180.0, -76.9],
            2,
        ),
    ] {
        super::super::open::prepare();
        let srs = crate::crs::parse(crs).unwrap();
        let place = crate::footprint::place(crate::footprint::corners(bounds), &srs).unwrap();
        for (found, expected) in place.bounds.iter().zip(expected) {
            assert!(
                (found - expected).abs() < 0.2,
                "{crs} {bounds:?}: {:?}",
                place.bounds
            );
        }
        check_rings(&place.footprint);
        let found = rings(&place.footprint).len();
        assert!(found <= polygons && found > 0, "{crs} {bounds:?}: {found}");
    }
}

#[test]
fn bounds_agree_with_proj() {
    super::super::open::prepare();
    let to = SpatialRef::from_definition("OGC:CRS84").unwrap();
    for (crs, bounds) in [
        (
            "EPSG:32633",
            [300_000.0, 5_000_000.0, 700_000.0, 5_600_000.0],
        ),
        (
            "EPSG:3035",
            [4_000_000.0, 2_500_000.0, 4_600_000.0, 3_300_000.0],
        ),
        (
            "EPSG:3832",
            [2_000_000.0, -800_000.0, 5_000_000.0, 1_000_000.0],
        ),
        (
            "EPSG:2056",
            [2_480_000.0, 1_070_000.0, 2_840_000.0, 1_300_000.0],
        ),
    ] {
        let from = crate::crs::parse(crs).unwrap();
        let proj = crate::crs::transform(&from, &to)
            .unwrap()
            .transform_bounds(&bounds, 21)
            .unwrap();
        let ours = bounds_to_4326(bounds, crs).unwrap();
        for (a, b) in proj.iter().zip(ours) {
            assert!((a - b).abs() < 0.001, "{crs}: {proj:?} {ours:?}");
        }
    }
}

#[test]
fn a_thumbnail_is_small_and_transparent_where_nothing_is() {
    let directory = tempfile::tempdir().unwrap();
    let (path, target) = (
        directory.path().join("a.tif"),
        directory.path().join("a.png"),
    );
    let make = Make {
        size: (1500, 700),
        nodata: Some(-1.0),
        ..Make::default()
    };
    make.tif::<f32>(&path, |b, x, y| if x < 750 { -1.0 } else { hills(b, x, y) });
    thumbnail(&path, &target).unwrap();
    assert_eq!(names(directory.path()), ["a.png", "a.tif"]);
    let picture = Dataset::open(&target).unwrap();
    assert_eq!(
        (picture.raster_size(), picture.raster_count()),
        ((512, 238), 4)
    );
    let read = |band: usize| {
        let band = picture.rasterband(band).unwrap();
        band.read_band_as::<u8>().unwrap().into_shape_and_vec().1
    };
    let (opacity, gray) = (read(4), read(1));
    assert_eq!(opacity.iter().filter(|a| **a == 0).count(), 256 * 238);
    assert!(gray.contains(&255) && gray.iter().filter(|g| (50..200).contains(*g)).count() > 10_000);
}
