//! Cloud-optimised `GeoTIFF`s without reprojection.

use super::look::paint;
use super::*;
use crate::raster::{CogSource, create_cog, look};
use domain::failure::FailureClass;

fn place() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let (source, target) = (directory.path().join("in"), directory.path().join("out"));
    std::fs::create_dir(&source).unwrap();
    std::fs::create_dir(&target).unwrap();
    (directory, source, target)
}

/// Makes a COG of every tier and checks that nothing but its layout changed.
fn check_equal(name: &str, raster_type: &str, source: &Path, target: &Path) {
    for tier in ["analysis", "archive"] {
        let target = target.join(format!("{name}-{tier}.tif"));
        let made = create_cog(
            source,
            &target,
            &making(raster_type, tier),
            &TestWatch::default(),
        );
        let made = made.unwrap_or_else(|failure| panic!("{name}: {failure:?}"));
        assert_eq!(checksums(source), checksums(&target), "{name} {tier}");
        assert_eq!(
            made.compression,
            if tier == "archive" { "DEFLATE" } else { "ZSTD" }
        );
        assert_eq!(made.size_bytes, std::fs::metadata(&target).unwrap().len());
        let old = look(source, &looking(), &TestWatch::default()).unwrap();
        let new = &made.raster;
        assert_eq!(
            (old.transform, old.bounds, &old.crs),
            (new.transform, new.bounds, &new.crs),
            "{name}"
        );
        for (old, new) in old.bands.iter().zip(&new.bands) {
            assert_eq!(
                (&old.dtype, old.nodata, old.nodata_is_nan),
                (&new.dtype, new.nodata, new.nodata_is_nan)
            );
            assert_eq!((&old.color, old.stats), (&new.color, new.stats), "{name}");
        }
        let structure = run("gdalinfo", &["-json", target.to_str().unwrap()]);
        assert!(structure.contains("\"LAYOUT\":\"COG\""), "{name}");
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn pixels_place_and_meaning_are_kept() {
    let (_directory, source, target) = place();
    let at = |name: &str| source.join(format!("{name}.tif"));
    let large = (1300, 700);
    Make {
        size: large,
        ..Make::default()
    }
    .tif::<f32>(&at("dem"), hills);
    Make {
        size: large,
        bands: 3,
        options: &["PHOTOMETRIC=RGB"],
        ..Make::default()
    }
    .tif::<u8>(&at("rgb"), byte);
    Make {
        size: large,
        bands: 4,
        options: &["PHOTOMETRIC=RGB", "ALPHA=YES"],
        ..Make::default()
    }
    .tif::<u8>(&at("rgba"), byte);
    Make {
        size: (40, 30),
        nodata: Some(7.0),
        ..Make::default()
    }
    .tif::<u8>(&at("small"), byte);
    Make {
        nodata: Some(f64::NAN),
        ..Make::default()
    }
    .tif::<f32>(&at("nan"), |b, x, y| {
        if x % 5 == 0 { f32::NAN } else { hills(b, x, y) }
    });
    Make {
        bands: 6,
        ..Make::default()
    }
    .tif::<u16>(&at("bands"), |b, x, y| u16::from(byte(b, x, y)) * 257);
    Make::default().tif::<f64>(&at("double"), |b, x, y| f64::from(hills(b, x, y)) * 1e-7);
    Make::default().tif::<i32>(&at("int"), |b, x, y| i32::from(byte(b, x, y)) - 128);
    Make::default().tif::<i64>(&at("long"), |b, x, y| i64::from(noise(b, x, y)) << 30);
    Make {
        options: &["NBITS=1"],
        ..Make::default()
    }
    .tif::<u8>(&at("bit"), |b, x, y| byte(b, x, y) % 2);
    let turned = Some([500_000.0, 8.0, 2.0, 5_000_000.0, 2.0, -8.0]);
    Make {
        transform: turned,
        ..Make::default()
    }
    .tif::<f32>(&at("turned"), hills);
    // A cylindrical equal-area system that no register knows.
    let odd = Some("+proj=cea +lat_ts=33.75 +lon_0=-117.333333333333 +datum=NAD27 +units=m");
    let near = Some([-28_000.0, 60.0, 0.0, 4_255_000.0, 0.0, -60.0]);
    Make {
        crs: odd,
        transform: near,
        ..Make::default()
    }
    .tif::<u8>(&at("odd"), byte);
    let made = Make {
        size: large,
        options: &["PHOTOMETRIC=PALETTE"],
        ..Make::default()
    };
    let made = made.open::<u8>(&at("palette"), byte);
    paint(&made);
    drop(made);
    let before = contents(&source);
    for (name, raster_type) in [
        ("dem", "dem"),
        ("rgb", "rgb"),
        ("rgba", "rgba"),
        ("small", "continuous"),
        ("nan", "dem"),
        ("bands", "multispectral"),
        ("double", "continuous"),
        ("int", "categorical"),
        ("long", "continuous"),
        ("bit", "categorical"),
        ("turned", "dem"),
        ("odd", "continuous"),
        ("palette", "categorical"),
    ] {
        check_equal(name, raster_type, &at(name), &target);
    }
    assert_eq!(
        contents(&source),
        before,
        "a source or its directory was changed"
    );
    assert!(
        names(&target).iter().all(|name| name.ends_with(".tif")),
        "{:?}",
        names(&target)
    );
    let palette = Dataset::open(target.join("palette-analysis.tif")).unwrap();
    let table = palette.rasterband(1).unwrap();
    let entry = table.color_table().unwrap().entry_as_rgb(9).unwrap();
    assert_eq!((entry.r, entry.g, entry.b), (9, 246, 7));
}

#[test]
fn only_large_rasters_have_overviews() {
    let (_directory, source, target) = place();
    Make {
        size: (2100, 900),
        ..Make::default()
    }
    .tif::<u8>(&source.join("a.tif"), byte);
    Make {
        size: (512, 512),
        ..Make::default()
    }
    .tif::<u8>(&source.join("b.tif"), byte);
    let make = |name: &str| {
        let options = making("continuous", "analysis");
        create_cog(
            &source.join(name),
            &target.join(name),
            &options,
            &TestWatch::default(),
        )
        .unwrap()
    };
    assert_eq!(make("a.tif").overviews, [2, 4, 8]);
    assert_eq!(make("b.tif").overviews, [0; 0]);
}

#[test]
fn pictures_become_lossy_only_for_visualization() {
    let (_directory, source, target) = place();
    let size = (700, 600);
    let smooth =
        |b: usize, x: usize, y: usize| u8::try_from((x / 5 + y / 7 + b * 20) % 256).unwrap();
    Make {
        size,
        bands: 3,
        options: &["PHOTOMETRIC=RGB"],
        ..Make::default()
    }
    .tif::<u8>(&source.join("rgb.tif"), smooth);
    Make {
        size,
        bands: 4,
        options: &["PHOTOMETRIC=RGB", "ALPHA=YES"],
        ..Make::default()
    }
    .tif::<u8>(&source.join("rgba.tif"), smooth);
    Make {
        size,
        bands: 3,
        nodata: Some(0.0),
        options: &["PHOTOMETRIC=RGB"],
        ..Make::default()
    }
    .tif::<u8>(&source.join("nodata.tif"), smooth);
    Make {
        size,
        ..Make::default()
    }
    .tif::<f32>(&source.join("dem.tif"), hills);
    for (name, raster_type, compression) in [
        ("rgb.tif", "rgb", "JPEG"),
        ("rgba.tif", "rgba", "WEBP"),
        ("nodata.tif", "rgb", "ZSTD"),
        ("dem.tif", "dem", "ZSTD"),
    ] {
        let options = making(raster_type, "visualization");
        let made = create_cog(
            &source.join(name),
            &target.join(name),
            &options,
            &TestWatch::default(),
        )
        .unwrap();
        assert_eq!(made.compression, compression, "{name}");
        let found = made.raster.compression.unwrap();
        assert!(
            found.contains(compression) || found.contains("JPEG"),
            "{found}"
        );
    }
}

#[test]
fn a_window_is_that_part_of_the_source() {
    let (_directory, source, target) = place();
    let path = source.join("a.tif");
    Make {
        size: (1000, 800),
        nodata: Some(3.0),
        ..Make::default()
    }
    .tif::<u8>(&path, byte);
    let (options, watch) = (making("continuous", "analysis"), TestWatch::default());
    let opened = CogSource::open(&path, &options, &watch).unwrap();
    let window = Some([512, 256, 488, 300]);
    let made = opened.make(&target.join("a.tif"), window, &watch).unwrap();
    assert_eq!(
        made.raster.bounds,
        [505_120.0, 4_994_440.0, 510_000.0, 4_997_440.0]
    );
    let read = |path: &Path, origin| {
        let dataset = Dataset::open(path).unwrap();
        let band = dataset.rasterband(1).unwrap();
        band.read_as::<u8>(origin, (488, 300), (488, 300), None)
            .unwrap()
            .into_shape_and_vec()
            .1
    };
    assert_eq!(read(&path, (512, 256)), read(&target.join("a.tif"), (0, 0)));
    let outside = Some([900, 0, 101, 10]);
    let failure = opened.make(&target.join("b.tif"), outside, &watch);
    assert_eq!(failure.unwrap_err().code, "bad_window");
}

#[test]
fn a_cancel_leaves_nothing_wherever_it_strikes() {
    let (_directory, source, target) = place();
    let path = source.join("a.tif");
    Make {
        size: (2000, 2000),
        ..Make::default()
    }
    .tif::<f32>(&path, hills);
    for target_crs in [None, Some("EPSG:3857".to_owned())] {
        for stop in [0.0, 0.05, 0.2, 0.35, 0.45, 0.55, 0.65, 0.8, 0.95] {
            let options = CogOptions {
                target_crs: target_crs.clone(),
                ..making("dem", "analysis")
            };
            let result = create_cog(
                &path,
                &target.join("a.tif"),
                &options,
                &TestWatch::stop_at(stop),
            );
            let failure = result.unwrap_err();
            assert_eq!(
                (failure.class, failure.code.as_str()),
                (FailureClass::Cancelled, "cancelled"),
                "{stop}"
            );
            assert_eq!(names(&target), [""; 0], "{stop} {target_crs:?}");
        }
    }
}

#[test]
fn damaged_sources_leave_nothing() {
    let (_directory, source, target) = place();
    let path = source.join("a.tif");
    Make {
        size: (1000, 1000),
        options: &["TILED=YES"],
        ..Make::default()
    }
    .tif::<f32>(&path, hills);
    let good = std::fs::read(&path).unwrap();
    std::fs::write(&path, &good[..good.len() / 2]).unwrap();
    for target_crs in [None, Some("EPSG:3857".to_owned())] {
        let options = CogOptions {
            target_crs,
            ..making("dem", "analysis")
        };
        let failure = create_cog(
            &path,
            &target.join("a.tif"),
            &options,
            &TestWatch::default(),
        )
        .unwrap_err();
        assert_eq!(failure.class, FailureClass::Permanent, "{failure:?}");
        assert_eq!(names(&target), [""; 0]);
    }
}

#[test]
fn what_a_killed_attempt_left_is_cleared_and_a_target_is_never_replaced() {
    let (_directory, source, target) = place();
    let (path, result) = (source.join("a.tif"), target.join("a.tif"));
    Make::default().tif::<f32>(&path, hills);
    std::fs::create_dir(target.join("a.tif.part")).unwrap();
    std::fs::write(target.join("a.tif.part/result.tif.ovr.tmp"), b"left").unwrap();
    let options = making("dem", "analysis");
    create_cog(&path, &result, &options, &TestWatch::default()).unwrap();
    assert_eq!(names(&target), ["a.tif"]);
    let again = create_cog(&path, &result, &options, &TestWatch::default()).unwrap_err();
    assert_eq!(again.code, "target_exists");
    assert_eq!(names(&target), ["a.tif"]);
}

#[test]
fn a_file_whose_blocks_were_never_written_is_found_out() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("killed.tif");
    super::bad::killed(&path);
    let opened = super::super::open::open(&path, u64::MAX).unwrap();
    let failure = super::super::check::written(&opened).unwrap_err();
    assert_eq!(failure.code, "result_differs");
    // All nodata is not the same as never written.
    let path = directory.path().join("empty.tif");
    Make {
        nodata: Some(0.0),
        options: &["TILED=YES"],
        ..Make::default()
    }
    .tif::<u8>(&path, |_, _, _| 0);
    let opened = super::super::open::open(&path, u64::MAX).unwrap();
    assert!(super::super::check::written(&opened).is_ok());
}
