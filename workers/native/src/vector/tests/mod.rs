//! Layers made here, looked through and read.

mod bad;
mod read;

use std::path::Path;

use gdal::DriverManager;
use gdal::spatial_ref::{AxisMappingStrategy, SpatialRef};
use gdal::vector::{Feature, FieldDefn, Geometry, LayerAccess, LayerOptions as NewLayer};
use gdal_sys::{OGRFieldType, OGRwkbGeometryType};
use geo::vector::{Layer, Row};

use super::{Chunk, LayerOptions, ReadOptions};
use crate::raster::tests::{TestWatch, contents, run};

/// Squares, one of them a bow tie, one feature without a geometry.
pub(super) const SHAPES: &[Option<&str>] = &[
    Some("POLYGON ((0 0, 1 0, 1 1, 0 1, 0 0))"),
    Some("POLYGON ((2 0, 3 1, 3 0, 2 1, 2 0))"),
    Some("MULTIPOLYGON (((4 0, 5 0, 5 1, 4 1, 4 0)), ((6 0, 7 0, 7 1, 6 1, 6 0)))"),
    None,
    Some("POLYGON ((8 0, 9 0, 9 1, 8 1, 8 0))"),
];

/// Writes a layer with a name and a number per feature.
pub(super) fn write(path: &Path, driver: &str, crs: Option<u32>, shapes: &[Option<&str>]) {
    crate::raster::prepare();
    let driver = DriverManager::get_driver_by_name(driver).unwrap();
    let mut dataset = driver.create_vector_only(path).unwrap();
    add_layer(&mut dataset, "places", crs, shapes);
}

pub(super) fn add_layer(
    dataset: &mut gdal::Dataset,
    name: &str,
    crs: Option<u32>,
    shapes: &[Option<&str>],
) {
    let srs = crs.map(|crs| {
        let mut srs = SpatialRef::from_epsg(crs).unwrap();
        srs.set_axis_mapping_strategy(AxisMappingStrategy::TraditionalGisOrder);
        srs
    });
    let layer = dataset
        .create_layer(NewLayer {
            name,
            srs: srs.as_ref(),
            ty: OGRwkbGeometryType::wkbUnknown,
            options: None,
        })
        .unwrap();
    for (name, kind) in [
        ("Name", OGRFieldType::OFTString),
        ("Count", OGRFieldType::OFTReal),
    ] {
        FieldDefn::new(name, kind)
            .unwrap()
            .add_to_layer(&layer)
            .unwrap();
    }
    for (index, shape) in shapes.iter().enumerate() {
        let mut feature = Feature::new(layer.defn()).unwrap();
        feature
            .set_field_string(0, &format!("näme {index}"))
            .unwrap();
        feature
            .set_field_double(1, f64::from(u32::try_from(index).unwrap()) / 4.0)
            .unwrap();
        if let Some(shape) = shape {
            feature
                .set_geometry(Geometry::from_wkt(shape).unwrap())
                .unwrap();
        }
        let made = feature.create(&layer);
        made.unwrap_or_else(|_| panic!("{:?} {shape:?}", crate::ffi::error::noted()));
    }
}

pub(super) fn look(path: &Path) -> Layer {
    let found = super::look(path, &LayerOptions::default(), &TestWatch::default());
    found.unwrap_or_else(|failure| panic!("{failure:?}")).layer
}

pub(super) fn reading(layer: &Layer) -> ReadOptions {
    ReadOptions {
        layer: None,
        input_crs: None,
        target_srid: 4326,
        make_valid: true,
        suspects: None,
        after_fid: None,
        chunk: 2,
        geometry_type: layer.geometry_type.clone(),
        columns: layer.columns.clone(),
    }
}

pub(super) fn read(path: &Path, options: &ReadOptions) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    let done = super::read(path, options, &TestWatch::default(), &mut |chunk| {
        chunks.push(chunk);
        Ok(())
    });
    done.unwrap_or_else(|failure| panic!("{failure:?}"));
    chunks
}

pub(super) fn rows(chunks: &[Chunk]) -> Vec<Row> {
    chunks.iter().flat_map(|chunk| chunk.rows.clone()).collect()
}

/// The geometry of a row; checks its SRID.
pub(super) fn geometry(row: &Row, srid: u32) -> Geometry {
    let ewkb = row.geometry.as_ref().unwrap();
    let kind = u32::from_le_bytes(ewkb[1..5].try_into().unwrap());
    assert_eq!(kind & 0x2000_0000, 0x2000_0000);
    assert_eq!(ewkb[5..9], srid.to_le_bytes());
    let mut wkb = vec![1];
    wkb.extend((kind & !0x2000_0000).to_le_bytes());
    wkb.extend(&ewkb[9..]);
    Geometry::from_wkb(&wkb).unwrap()
}
