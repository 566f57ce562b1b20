//! Files that must be refused, each with its own answer.

use std::fmt::Write as _;

use super::*;

fn refused(path: &Path, options: &LayerOptions) -> String {
    let failure = super::super::look(path, options, &TestWatch::default()).unwrap_err();
    let directory = path.parent().unwrap().to_str().unwrap();
    assert!(!failure.message.contains(directory), "{}", failure.message);
    failure.code
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn each_bad_layer_gets_a_named_answer() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    write(&at("good.gpkg"), "GPKG", Some(4326), SHAPES);
    write(&at("none.gpkg"), "GPKG", Some(4326), &[]);
    write(&at("null.gpkg"), "GPKG", Some(4326), &[None, None]);
    write(&at("nocrs.shp"), "ESRI Shapefile", None, SHAPES);
    write(
        &at("metres.shp"),
        "ESRI Shapefile",
        Some(4326),
        &[Some("POINT (500000 5000000)")],
    );
    let driver = DriverManager::get_driver_by_name("GPKG").unwrap();
    let mut two = driver.create_vector_only(at("two.gpkg")).unwrap();
    add_layer(&mut two, "one", Some(4326), SHAPES);
    add_layer(&mut two, "other", Some(4326), SHAPES);
    drop(two);
    let text = |name: &str, text: &str| std::fs::write(at(name), text).unwrap();
    text("empty.geojson", "");
    text("text.geojson", "this is no layer");
    text(
        "half.geojson",
        "{\"type\":\"FeatureCollection\",\"features\":[{\"type\":\"Feature\",",
    );
    text("table.csv", "a,b\n1,2\n");
    text(
        "link.vrt",
        "<OGRVRTDataSource><OGRVRTLayer name=\"x\"><SrcDataSource>good.gpkg</SrcDataSource></OGRVRTLayer></OGRVRTDataSource>",
    );
    let mut wide = "lon,lat".to_owned();
    (0..1700).for_each(|index| write!(wide, ",c{index}").unwrap());
    wide.push_str("\n1,2");
    (0..1700).for_each(|_| wide.push_str(",1"));
    text("wide.csv", &wide);
    let before = contents(directory.path());
    let plain = LayerOptions::default();
    let with_crs = |crs: &str| LayerOptions {
        input_crs: Some(crs.to_owned()),
        ..LayerOptions::default()
    };
    let with_layer = |layer: &str| LayerOptions {
        layer: Some(layer.to_owned()),
        ..LayerOptions::default()
    };
    for (name, options, code) in [
        ("missing.gpkg", plain.clone(), "not_found"),
        ("empty.geojson", plain.clone(), "empty_file"),
        ("text.geojson", plain.clone(), "not_recognised"),
        ("half.geojson", plain.clone(), "not_recognised"),
        ("link.vrt", plain.clone(), "not_recognised"),
        ("none.gpkg", plain.clone(), "empty_layer"),
        ("null.gpkg", plain.clone(), "no_geometry"),
        ("table.csv", plain.clone(), "no_geometry"),
        ("nocrs.shp", plain.clone(), "no_crs"),
        ("nocrs.shp", with_crs("EPSG:77777777"), "bad_crs"),
        ("metres.shp", plain.clone(), "bounds_outside_crs"),
        ("two.gpkg", plain.clone(), "several_layers"),
        ("two.gpkg", with_layer("third"), "layer_not_found"),
        ("wide.csv", with_crs("EPSG:4326"), "too_many_columns"),
    ] {
        assert_eq!(refused(&at(name), &options), code, "{name}");
    }
    let failure = super::super::look(&at("two.gpkg"), &with_layer("third"), &TestWatch::default())
        .unwrap_err();
    assert!(
        failure.message.contains("`one`, `other`"),
        "{}",
        failure.message
    );
    assert!(
        super::super::look(&at("two.gpkg"), &with_layer("other"), &TestWatch::default()).is_ok()
    );
    assert_eq!(
        contents(directory.path()),
        before,
        "a source or its directory was changed"
    );
}

/// Writes an archive with Python, which asks no questions.
fn archive(path: &Path, script: &str) {
    let whole = format!(
        "import zipfile,sys\nz=zipfile.ZipFile(sys.argv[1],'w',zipfile.ZIP_DEFLATED)\n{script}\nz.close()"
    );
    run("python3", &["-c", &whole, path.to_str().unwrap()]);
}

#[test]
fn archives_that_reach_out_or_blow_up_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    for (name, script, code) in [
        (
            "slip",
            "z.writestr('../../etc/cron.d/x.shp','x')",
            "unsafe_zip",
        ),
        ("inner", "z.writestr('a/../../x.shp','x')", "unsafe_zip"),
        (
            "windows",
            "z.writestr('a\\\\..\\\\..\\\\x.shp','x')",
            "unsafe_zip",
        ),
        ("absolute", "z.writestr('/etc/x.shp','x')", "unsafe_zip"),
        ("drive", "z.writestr('C:x.shp','x')", "unsafe_zip"),
        (
            "link",
            "i=zipfile.ZipInfo('x.shp')\ni.create_system=3\ni.external_attr=0o120777<<16\nz.writestr(i,'/etc/passwd')",
            "unsafe_zip",
        ),
        (
            "many",
            "for i in range(1001): z.writestr(f'{i}.txt','')",
            "zip_too_large",
        ),
        (
            "bomb",
            "for i in range(5): z.writestr(f'{i}.shp',bytes(60*1024*1024))",
            "zip_too_large",
        ),
        ("nothing", "z.writestr('readme.txt','hello')", "no_layers"),
        (
            "several",
            "z.writestr('a.shp','')\nz.writestr('b.shp','')",
            "several_layers",
        ),
    ] {
        let path = directory.path().join(format!("{name}.zip"));
        archive(&path, script);
        assert_eq!(refused(&path, &LayerOptions::default()), code, "{name}");
    }
    // Whatever its name, it is an archive.
    let path = directory.path().join("slip.zip");
    let other = directory.path().join("slip.gpkg");
    std::fs::copy(&path, &other).unwrap();
    assert_eq!(refused(&other, &LayerOptions::default()), "unsafe_zip");
    let bytes = std::fs::read(&path).unwrap();
    let cut = directory.path().join("cut.zip");
    std::fs::write(&cut, &bytes[..bytes.len() - 30]).unwrap();
    assert_eq!(refused(&cut, &LayerOptions::default()), "bad_zip");
}
