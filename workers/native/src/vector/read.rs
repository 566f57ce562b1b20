//! Reading a layer as rows, in the order of the features' own numbers, so that a stopped run can go on.

use std::collections::BTreeSet;
use std::path::Path;

use domain::failure::{Failure, FailureClass};
use gdal::spatial_ref::{CoordTransform, SpatialRef};
use gdal::vector::{Layer, LayerAccess, LayerCaps};
use gdal_sys::OGRwkbGeometryType;
use geo::vector::Row;

use super::cells::{self, Source};
use super::look::{self, PAUSE, kind_name, plain_kind};
use super::open::{self, Opened};
use super::{Chunk, ReadOptions, Sink, columns};
use crate::failure::permanent;
use crate::ffi::feature::{self, Feature};
use crate::ffi::shape::{self, Shape};
use crate::raster::share;
use crate::{Watch, crs, ffi, go_on};

/// Formats that number features in the order in which they lie there.
const ORDERED: &[&str] = &["GPKG", "FlatGeobuf", "ESRI Shapefile", "OpenFileGDB", "CSV"];

/// Bytes of a chunk, about.
const CHUNK_BYTES: usize = 16 * 1024 * 1024;

/// Reads a layer and hands it on in chunks.
pub fn read(
    path: &Path,
    options: &ReadOptions,
    watch: &dyn Watch,
    sink: &mut dyn FnMut(Chunk) -> Result<(), Failure>,
) -> Result<(), Failure> {
    go_on(watch)?;
    let opened = open::open(path, options.layer.as_deref())?;
    let mut layer = open::layer(&opened, options.layer.as_deref())?;
    let given = options.input_crs.as_deref();
    let (srs, _) = crs::choose(layer.spatial_ref(), given, &opened.name, &mut Vec::new())?;
    let declared = layer.defn().geometry_type();
    let is_z_known = plain_kind(declared) != OGRwkbGeometryType::wkbUnknown;
    let (kind, asks_z) = parse_kind(&options.geometry_type)?;
    let mut has_z = asks_z || shape::kind_has_z(declared);
    let mut order = Order::AsItLies;
    if !is_z_known || !ORDERED.contains(&opened.driver.as_str()) {
        let found = scan(&opened, &mut layer, watch)?;
        has_z |= !is_z_known && found.has_z;
        order = found.order;
    }
    let rows = Rows {
        sources: sources(&opened, &layer, options)?,
        transform: transform(&srs, options.target_srid)?,
        kind,
        has_z,
        srid: options.target_srid,
        make_valid: options.make_valid,
        suspects: options.suspects.as_ref(),
    };
    let mut out = Out {
        rows: &rows,
        chunk: Chunk::default(),
        bytes: 0,
        size: options.chunk.max(1),
        sink,
        after: options.after_fid,
        last: None,
        is_ordered: matches!(order, Order::AsItLies),
    };
    deliver(&opened, &mut layer, order, watch, &mut out)?;
    go_on(watch)?;
    out.flush()?;
    watch.progress(1.0);
    Ok(())
}

/// In which order features are taken.
enum Order {
    AsItLies,
    /// By number, each fetched for itself.
    Fetched(Vec<i64>),
    /// By number, all kept in memory because the format cannot fetch.
    Kept,
}

struct Scan {
    order: Order,
    has_z: bool,
}

/// Whether the numbers rise, and whether anything has a height.
fn scan(opened: &Opened, layer: &mut Layer<'_>, watch: &dyn Watch) -> Result<Scan, Failure> {
    let mut fids = Vec::new();
    let (mut has_z, mut rises) = (false, true);
    feature::rewind(layer);
    while let Some(found) = look::next(opened, layer)? {
        if fids.len().is_multiple_of(PAUSE) {
            go_on(watch)?;
        }
        has_z |= found.shape().is_some_and(|shape| shape.has_z());
        let fid = found.fid();
        rises &= fids.last().is_none_or(|last| *last < fid);
        fids.push(fid);
    }
    let order = if rises {
        Order::AsItLies
    } else if layer.has_capability(LayerCaps::OLCRandomRead) {
        fids.sort_unstable();
        Order::Fetched(fids)
    } else {
        Order::Kept
    };
    Ok(Scan { order, has_z })
}

fn deliver(
    opened: &Opened,
    layer: &mut Layer<'_>,
    order: Order,
    watch: &dyn Watch,
    out: &mut Out<'_>,
) -> Result<(), Failure> {
    let all = layer
        .try_feature_count()
        .and_then(|count| usize::try_from(count).ok());
    let mut done = 0_usize;
    let pause = |done: &mut usize| {
        if done.is_multiple_of(PAUSE) {
            go_on(watch)?;
            watch.progress(all.map_or(0.0, |all| share((*done).min(all), all)));
        }
        *done += 1;
        Ok::<(), Failure>(())
    };
    feature::rewind(layer);
    match order {
        Order::AsItLies => {
            if let Some(after) = out.after.filter(|_| opened.driver == "GPKG") {
                // Only an index makes this faster; elsewhere OGR would compare just as we do.
                feature::skip_to(layer, after);
            }
            while let Some(found) = look::next(opened, layer)? {
                pause(&mut done)?;
                out.add(&found)?;
            }
        }
        Order::Fetched(fids) => {
            for fid in fids {
                pause(&mut done)?;
                match feature::get(layer, fid) {
                    Some(found) => out.add(&found)?,
                    None => out.reject(fid, "It could not be read a second time.")?,
                }
            }
        }
        Order::Kept => {
            let mut kept = Vec::new();
            while let Some(found) = look::next(opened, layer)? {
                pause(&mut done)?;
                kept.push(found);
            }
            kept.sort_by_key(Feature::fid);
            for found in kept {
                go_on(watch)?;
                out.add(&found)?;
            }
        }
    }
    Ok(())
}

/// Chunks on their way.
struct Out<'a> {
    rows: &'a Rows<'a>,
    chunk: Chunk,
    bytes: usize,
    size: usize,
    sink: Sink<'a>,
    after: Option<i64>,
    last: Option<i64>,
    is_ordered: bool,
}

impl Out<'_> {
    fn add(&mut self, found: &Feature) -> Result<(), Failure> {
        let fid = found.fid();
        if self.after.is_some_and(|after| fid <= after) {
            return Ok(());
        }
        if fid < 0 {
            return self.reject(fid, "It has no number of its own.");
        }
        match self.last {
            Some(last) if last == fid => {
                return self.reject(fid, "Another feature has the same number.");
            }
            Some(last) if last > fid && self.is_ordered => {
                return Err(permanent(
                    "fid_order",
                    "Its features are not in the order of their numbers, which this format promises. The \
                     file is damaged.",
                ));
            }
            _ => self.last = Some(fid),
        }
        match self.rows.row(found) {
            Ok((row, repaired)) => {
                self.bytes += row.bytes();
                self.chunk.rows.push(row);
                self.chunk.repaired += u64::from(repaired);
                self.flush_if_full()
            }
            Err(reason) => self.reject(fid, &reason),
        }
    }

    fn reject(&mut self, fid: i64, reason: &str) -> Result<(), Failure> {
        self.chunk.rejected.push((fid, reason.to_owned()));
        self.flush_if_full()
    }

    fn flush_if_full(&mut self) -> Result<(), Failure> {
        let count = self.chunk.rows.len() + self.chunk.rejected.len();
        if count >= self.size || self.bytes >= CHUNK_BYTES {
            return self.flush();
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Failure> {
        let chunk = std::mem::take(&mut self.chunk);
        self.bytes = 0;
        if chunk.rows.is_empty() && chunk.rejected.is_empty() {
            return Ok(());
        }
        (self.sink)(chunk)
    }
}

/// How a feature becomes a row.
struct Rows<'a> {
    sources: Vec<Source>,
    transform: Option<CoordTransform>,
    kind: OGRwkbGeometryType::Type,
    has_z: bool,
    srid: i32,
    make_valid: bool,
    suspects: Option<&'a BTreeSet<i64>>,
}

impl Rows<'_> {
    /// The row and whether it was repaired, or why it cannot be stored.
    fn row(&self, found: &Feature) -> Result<(Row, bool), String> {
        let (geometry, repaired) = match found.shape() {
            None => (None, false),
            Some(shape) => {
                let (shape, repaired) = self.geometry(found.fid(), shape)?;
                let written = shape
                    .ewkb(self.srid)
                    .ok_or("Its geometry cannot be written.")?;
                (Some(written), repaired)
            }
        };
        let row = Row {
            fid: found.fid(),
            geometry,
            cells: self
                .sources
                .iter()
                .map(|source| cells::cell(found, *source))
                .collect(),
        };
        Ok((row, repaired))
    }

    fn geometry(&self, fid: i64, shape: Shape) -> Result<(Shape, bool), String> {
        let mut shape = shape
            .plain()
            .ok_or("Its curves cannot be turned into lines.")?;
        shape.set_z(self.has_z);
        let mut repaired = false;
        let is_suspect = self.make_valid && self.suspects.is_none_or(|all| all.contains(&fid));
        if is_suspect && !shape.is_empty() && !shape.is_valid() {
            shape = shape
                .repaired()
                .ok_or("Its geometry is invalid and cannot be repaired.")?;
            if shape.is_empty() {
                return Err(
                    "Its geometry is invalid, and nothing is left after the repair.".to_owned(),
                );
            }
            shape.set_z(self.has_z);
            repaired = true;
        }
        if let Some(transform) = &self.transform
            && !shape.is_empty()
            && !shape.transform(transform)
        {
            return Err("It has points without a place in the target CRS.".to_owned());
        }
        if !shape.is_empty() && !shape.bounds().iter().all(|value| value.is_finite()) {
            return Err("It has coordinates that are no numbers.".to_owned());
        }
        let found = plain_kind(shape.kind());
        let wanted = if self.kind == OGRwkbGeometryType::wkbUnknown {
            found
        } else {
            self.kind
        };
        let differs = || format!("It is a {}, not a {}.", kind_name(found), kind_name(wanted));
        if !can_become(found, wanted) {
            return Err(differs());
        }
        if shape.kind() != wanted {
            shape = shape.forced(wanted).ok_or("Its type cannot be changed.")?;
        }
        if shape.kind() != wanted {
            return Err(differs());
        }
        Ok((shape, repaired))
    }
}

/// Whether one is the other, one of its parts, or a collection: a polygon is no line, though OGR would
/// make one of it.
fn can_become(found: OGRwkbGeometryType::Type, wanted: OGRwkbGeometryType::Type) -> bool {
    let single = |kind| kind_name(kind).trim_start_matches("Multi");
    wanted == OGRwkbGeometryType::wkbGeometryCollection || single(found) == single(wanted)
}

/// The type that a column of PostGIS is declared with, and whether it has Z.
fn parse_kind(name: &str) -> Result<(OGRwkbGeometryType::Type, bool), Failure> {
    let upper = name.trim().to_uppercase();
    let (base, has_z) = match upper.strip_suffix('Z') {
        Some(base) => (base.trim(), true),
        None => (upper.as_str(), false),
    };
    let kind = match base {
        "POINT" => OGRwkbGeometryType::wkbPoint,
        "LINESTRING" => OGRwkbGeometryType::wkbLineString,
        "POLYGON" => OGRwkbGeometryType::wkbPolygon,
        "MULTIPOINT" => OGRwkbGeometryType::wkbMultiPoint,
        "MULTILINESTRING" => OGRwkbGeometryType::wkbMultiLineString,
        "MULTIPOLYGON" => OGRwkbGeometryType::wkbMultiPolygon,
        "GEOMETRYCOLLECTION" => OGRwkbGeometryType::wkbGeometryCollection,
        "GEOMETRY" => OGRwkbGeometryType::wkbUnknown,
        _ => {
            return Err(Failure::new(
                FailureClass::Contract,
                "bad_geometry_type",
                &format!("`{name}` is no type of geometry, such as MultiPolygon or Geometry."),
            ));
        }
    };
    Ok((kind, has_z))
}

fn transform(srs: &SpatialRef, srid: i32) -> Result<Option<CoordTransform>, Failure> {
    let target = crs::parse(&format!("EPSG:{srid}"))?;
    if ffi::srs::is_same(srs, &target) {
        return Ok(None);
    }
    crs::transform(srs, &target).map(Some)
}

/// Fields of the layer for the columns that are wanted; equal names are told apart by their order.
fn sources(
    opened: &Opened,
    layer: &Layer<'_>,
    options: &ReadOptions,
) -> Result<Vec<Source>, Failure> {
    let fields = feature::fields(layer.defn());
    let all = columns::columns(&fields, &opened.name)?;
    let wanted = &options.columns;
    let mut used = vec![false; fields.len()];
    let mut sources = Vec::with_capacity(wanted.len());
    for column in wanted {
        let named = |(index, found): &(usize, &geo::vector::Column)| {
            found.source == column.source && !used.get(*index).copied().unwrap_or(true)
        };
        let found = all.iter().enumerate().find(named);
        let Some((index, _)) = found else {
            return Err(permanent(
                "column_missing",
                &format!(
                    "`{}` has no column `{}` any more.",
                    opened.name, column.source
                ),
            ));
        };
        if let Some(used) = used.get_mut(index) {
            *used = true;
        }
        let field = fields.get(index).map_or(0, |field| field.kind);
        let index = i32::try_from(index).unwrap_or(i32::MAX);
        sources.push(Source {
            index,
            field,
            kind: column.kind,
        });
    }
    Ok(sources)
}
