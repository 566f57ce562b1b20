//! What good layers become.

use std::collections::BTreeSet;

use geo::vector::{Cell, ColumnKind};

use super::*;
use crate::vector::Found;

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn a_layer_goes_round_in_every_format() {
    let directory = tempfile::tempdir().unwrap();
    for (driver, name) in [
        ("GPKG", "a.gpkg"),
        ("GeoJSON", "a.geojson"),
        ("GeoJSONSeq", "a.geojsonl"),
        ("ESRI Shapefile", "a.shp"),
        ("FlatGeobuf", "a.fgb"),
        ("MapInfo File", "a.tab"),
        ("GML", "a.gml"),
        ("KML", "a.kml"),
    ] {
        let path = directory.path().join(name);
        // FlatGeobuf builds no index over features without a geometry.
        let shapes: Vec<_> = match driver {
            "FlatGeobuf" | "MapInfo File" => SHAPES
                .iter()
                .filter(|shape| shape.is_some())
                .copied()
                .collect(),
            _ => SHAPES.to_vec(),
        };
        write(&path, driver, Some(4326), &shapes);
        let before = contents(directory.path());
        let layer = look(&path);
        assert_eq!(
            layer.feature_count,
            u64::try_from(shapes.len()).unwrap(),
            "{driver}"
        );
        assert_eq!(layer.invalid_geometries, 1, "{driver}");
        assert_eq!(layer.geometry_type, "MultiPolygon", "{driver}");
        assert_eq!(layer.crs.code.as_deref(), Some("EPSG:4326"), "{driver}");
        assert!(!layer.has_z || driver == "KML", "{driver}");
        assert_eq!(layer.bounds, Some([0.0, 0.0, 9.0, 1.0]), "{driver}");
        let chunks = read(&path, &reading(&layer));
        assert_eq!(
            chunks.iter().map(|chunk| chunk.repaired).sum::<u64>(),
            1,
            "{driver}"
        );
        assert!(
            chunks.iter().all(|chunk| chunk.rejected.is_empty()),
            "{driver} {chunks:?}"
        );
        let rows = rows(&chunks);
        assert_eq!(rows.len(), shapes.len(), "{driver}");
        assert!(
            rows.windows(2).all(|pair| pair[0].fid < pair[1].fid),
            "{driver}"
        );
        let area: f64 = rows
            .iter()
            .filter(|row| row.geometry.is_some())
            .map(|row| {
                let shape = geometry(row, 4326);
                assert!(
                    shape.is_valid() && shape.geometry_name() == "MULTIPOLYGON",
                    "{driver}"
                );
                shape.area()
            })
            .sum();
        assert!((area - 4.5).abs() < 1e-9, "{driver}: {area}");
        let names = layer
            .columns
            .iter()
            .position(|column| column.name == "name")
            .unwrap();
        assert!(
            rows.iter()
                .any(|row| row.cells[names] == Cell::Text("näme 1".to_owned())),
            "{driver}"
        );
        assert_eq!(
            contents(directory.path()),
            before,
            "{driver} left something behind"
        );
    }
}

#[test]
fn reading_goes_on_after_a_number() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.gpkg");
    write(&path, "GPKG", Some(4326), SHAPES);
    let layer = look(&path);
    let all = rows(&read(&path, &reading(&layer)));
    for after in all.iter().map(|row| row.fid) {
        let options = ReadOptions {
            after_fid: Some(after),
            ..reading(&layer)
        };
        let expected: Vec<Row> = all.iter().filter(|row| row.fid > after).cloned().collect();
        assert_eq!(rows(&read(&path, &options)), expected);
    }
}

#[test]
fn features_come_in_the_order_of_their_numbers_even_if_they_do_not_lie_so() {
    let directory = tempfile::tempdir().unwrap();
    let feature = |id: u32| {
        format!(
            "{{\"type\":\"Feature\",\"id\":{id},\"properties\":{{\"a\":{id}}},\
                 \"geometry\":{{\"type\":\"Point\",\"coordinates\":[{id},1]}}}}"
        )
    };
    let features = [7, 3, 9, 1].map(feature);
    let whole = format!(
        "{{\"type\":\"FeatureCollection\",\"features\":[{}]}}",
        features.join(",")
    );
    for (name, text) in [("a.geojson", whole), ("a.geojsonl", features.join("\n"))] {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        let layer = look(&path);
        let fids = |after_fid| {
            let chunks = read(
                &path,
                &ReadOptions {
                    after_fid,
                    ..reading(&layer)
                },
            );
            rows(&chunks).iter().map(|row| row.fid).collect::<Vec<_>>()
        };
        let all = fids(None);
        assert!(all.len() == 4 && all.is_sorted(), "{name}: {all:?}");
        assert_eq!(fids(Some(all[1])), all[2..], "{name}");
    }
}

#[test]
fn geometries_are_reprojected_and_those_that_cannot_be_are_rejected() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.gpkg");
    let shapes = [
        Some("POINT (15 45)"),
        Some("POINT (15 90.5)"),
        Some("POINT Z (16 45 100)"),
        Some("POINT EMPTY"),
    ];
    write(&path, "GPKG", Some(4258), &shapes);
    let layer = super::super::look(&path, &LayerOptions::default(), &TestWatch::default());
    assert_eq!(layer.unwrap_err().code, "bounds_outside_crs");
    let mut options = reading(&Layer::default());
    (options.target_srid, options.geometry_type) = (3857, "PointZ".to_owned());
    let chunks = read(&path, &options);
    let rejected: Vec<_> = chunks
        .iter()
        .flat_map(|chunk| chunk.rejected.clone())
        .collect();
    assert_eq!(rejected.len(), 1, "{rejected:?}");
    assert_eq!(rejected[0].0, 2);
    let rows = rows(&chunks);
    assert_eq!(rows.len(), 3);
    let (x, y, _) = geometry(&rows[0], 3857).get_point(0);
    assert!(
        (x - 1_669_792.361_9).abs() < 0.001 && (y - 5_621_521.486_2).abs() < 0.001,
        "{x} {y}"
    );
    assert!((geometry(&rows[1], 3857).get_point(0).2 - 100.0).abs() < 1e-9);
}

#[test]
fn mixed_types_fit_only_into_geometry() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.gpkg");
    let shapes = [
        Some("POINT Z (1 2 3)"),
        Some("LINESTRING (0 0, 1 1)"),
        Some("CURVEPOLYGON (CIRCULARSTRING (0 0, 1 1, 2 0, 1 -1, 0 0))"),
    ];
    write(&path, "GPKG", Some(4326), &shapes);
    let layer = look(&path);
    assert_eq!(
        (layer.geometry_type.as_str(), layer.has_z),
        ("Geometry", true)
    );
    assert!(
        layer
            .warnings
            .iter()
            .any(|warning| warning.contains("mixed")),
        "{:?}",
        layer.warnings
    );
    let all = rows(&read(&path, &reading(&layer)));
    let names: Vec<String> = all
        .iter()
        .map(|row| geometry(row, 4326).geometry_name())
        .collect();
    assert_eq!(names, ["POINT", "LINESTRING", "POLYGON"]);
    let options = ReadOptions {
        geometry_type: "LineString".to_owned(),
        ..reading(&layer)
    };
    let chunks = read(&path, &options);
    assert_eq!(rows(&chunks).len(), 1);
    assert_eq!(
        chunks
            .iter()
            .map(|chunk| chunk.rejected.len())
            .sum::<usize>(),
        2
    );
}

#[test]
fn only_suspects_are_judged_again_and_the_rows_are_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.gpkg");
    let shapes = [
        Some("POLYGON ((0 0, 0 1, 1 1, 1 0, 0 0))"),
        Some("POLYGON ((0 0, 1 1, 1 0, 0 1, 0 0))"),
        Some("CURVEPOLYGON (CIRCULARSTRING (0 0, 1 1, 2 0, 1 -1, 0 0))"),
        None,
    ];
    write(&path, "GPKG", Some(4326), &shapes);
    let found = super::super::look(&path, &LayerOptions::default(), &TestWatch::default());
    let Found { layer, suspects } = found.unwrap();
    let suspects = suspects.unwrap();
    assert_eq!(suspects, BTreeSet::from([2, 3]), "a bow tie and a curve");
    let read = |suspects| {
        let options = ReadOptions {
            suspects,
            ..reading(&layer)
        };
        let chunks = read(&path, &options);
        let repaired: u64 = chunks.iter().map(|chunk| chunk.repaired).sum();
        (rows(&chunks), repaired)
    };
    let all = read(None);
    assert_eq!((all.0.len(), all.1), (4, 1));
    assert_eq!(read(Some(suspects)), all);
    assert_eq!(read(Some(BTreeSet::new())).1, 0, "nobody looked");
}

#[test]
fn a_zipped_shapefile_is_read_as_it_lies() {
    let directory = tempfile::tempdir().unwrap();
    let inside = directory.path().join("inside");
    std::fs::create_dir(&inside).unwrap();
    write(
        &inside.join("places.shp"),
        "ESRI Shapefile",
        Some(4326),
        SHAPES,
    );
    let path = directory.path().join("upload");
    let (target, source) = (path.to_str().unwrap(), inside.to_str().unwrap());
    run(
        "python3",
        &[
            "-c",
            "import shutil,sys,os; shutil.make_archive(sys.argv[1],'zip',os.path.dirname(sys.argv[2]),'inside')",
            target,
            source,
        ],
    );
    let path = directory.path().join("upload.zip");
    let layer = look(&path);
    assert_eq!(
        (layer.feature_count, layer.driver.as_str()),
        (5, "ESRI Shapefile")
    );
    assert_eq!(rows(&read(&path, &reading(&layer))).len(), 5);
}

#[test]
fn every_kind_of_column_keeps_its_values() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.geojson");
    let properties = "{\"I\":7,\"big\":5000000000,\"r\":1.5,\"t\":\"x\",\"b\":true,\"d\":\"2000-01-02\",\
                      \"dt\":\"2000-01-01T01:00:00.250+01:00\",\"l\":[1,2],\"o\":{\"k\":[null,\"v\"]},\"geom\":\"g\"}";
    let point = "{\"type\":\"Point\",\"coordinates\":[1,2]}";
    let empty = "{\"I\":null}";
    let text = format!(
        "{{\"type\":\"FeatureCollection\",\"features\":[{{\"type\":\"Feature\",\"properties\":{properties},\
         \"geometry\":{point}}},{{\"type\":\"Feature\",\"properties\":{empty},\"geometry\":{point}}}]}}"
    );
    std::fs::write(&path, text).unwrap();
    let layer = look(&path);
    let found = rows(&read(&path, &reading(&layer)));
    let expected = [
        ("i", ColumnKind::Integer, Cell::Integer(7)),
        ("big", ColumnKind::BigInt, Cell::BigInt(5_000_000_000)),
        ("r", ColumnKind::Real, Cell::Real(1.5)),
        ("t", ColumnKind::Text, Cell::Text("x".to_owned())),
        ("b", ColumnKind::Boolean, Cell::Boolean(true)),
        ("d", ColumnKind::Date, Cell::Date(1)),
        ("dt", ColumnKind::DateTime, Cell::DateTime(250_000)),
        ("l", ColumnKind::Json, Cell::Json("[1,2]".to_owned())),
        (
            "o",
            ColumnKind::Json,
            Cell::Json("{\"k\":[null,\"v\"]}".to_owned()),
        ),
        ("geom_", ColumnKind::Text, Cell::Text("g".to_owned())),
    ];
    for (index, (name, kind, cell)) in expected.into_iter().enumerate() {
        let column = &layer.columns[index];
        assert_eq!((column.name.as_str(), column.kind), (name, kind));
        assert_eq!(
            (&found[0].cells[index], &found[1].cells[index]),
            (&cell, &Cell::Null),
            "{name}"
        );
    }
}

#[test]
fn a_csv_with_coordinates_is_a_layer() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.csv");
    std::fs::write(&path, "name,Lon,Lat,n\nx,10.5,50.5,1\ny,11,51,\n").unwrap();
    let options = LayerOptions {
        input_crs: Some("EPSG:4326".to_owned()),
        ..LayerOptions::default()
    };
    let found = super::super::look(&path, &options, &TestWatch::default());
    let layer = found.unwrap().layer;
    assert_eq!(
        (layer.geometry_type.as_str(), layer.bounds),
        ("Point", Some([10.5, 50.5, 11.0, 51.0]))
    );
    let options = ReadOptions {
        input_crs: Some("EPSG:4326".to_owned()),
        ..reading(&layer)
    };
    let found = rows(&read(&path, &options));
    let number = layer
        .columns
        .iter()
        .position(|column| column.name == "n")
        .unwrap();
    assert_eq!(
        (&found[0].cells[number], &found[1].cells[number]),
        (&Cell::Integer(1), &Cell::Null)
    );
}

#[test]
fn texts_in_another_encoding_are_replaced_with_a_warning() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.shp");
    write(&path, "ESRI Shapefile", Some(4326), SHAPES);
    let dbf = path.with_extension("dbf");
    let mut bytes = std::fs::read(&dbf).unwrap();
    let places: Vec<usize> = (0..bytes.len() - 1)
        .filter(|at| bytes[*at] == b'm' && bytes[*at + 1] == b'e')
        .collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at] = 0xFF;
    }
    std::fs::write(&dbf, bytes).unwrap();
    std::fs::write(path.with_extension("cpg"), "UTF-8").unwrap();
    let layer = look(&path);
    assert!(
        layer
            .warnings
            .iter()
            .any(|warning| warning.contains("UTF-8")),
        "{:?}",
        layer.warnings
    );
    assert_eq!(rows(&read(&path, &reading(&layer))).len(), 5);
}

#[test]
fn a_sink_or_a_watch_can_stop_the_reading() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.gpkg");
    write(&path, "GPKG", Some(4326), SHAPES);
    let layer = look(&path);
    let mut seen = 0;
    let stopped = super::super::read(&path, &reading(&layer), &TestWatch::default(), &mut |_| {
        seen += 1;
        Err(crate::failure::permanent("full", "No more."))
    });
    assert_eq!((stopped.unwrap_err().code.as_str(), seen), ("full", 1));
    let stopped = super::super::read(
        &path,
        &reading(&layer),
        &TestWatch::stop_at(0.0),
        &mut |_| Ok(()),
    );
    assert_eq!(stopped.unwrap_err().code, "cancelled");
}
