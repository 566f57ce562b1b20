//! One pass over a layer: what it holds, and what is wrong with it.

use std::collections::BTreeSet;
use std::path::Path;

use domain::failure::Failure;
use gdal::vector::{Layer, LayerAccess};
use gdal_sys::{OGRFieldType, OGRwkbGeometryType};

use super::open::{self, Opened};
use super::{LayerOptions, columns};
use crate::failure::{noted, permanent};
use crate::ffi::feature::{self, Feature, Field};
use crate::ffi::shape;
use crate::raster::share;
use crate::{Watch, crs, ffi, go_on};

/// Features between two looks at the watch.
pub(super) const PAUSE: usize = 64;
/// Suspects that are kept in memory.
const SUSPECTS_MAX: usize = 1_000_000;

/// A layer that was looked through.
#[derive(Debug)]
pub struct Found {
    pub layer: geo::vector::Layer,
    /// Numbers of the features whose geometry is invalid, or may be; nothing if they are too many to keep. Whether
    /// a geometry is valid takes longer to find out than everything else about it.
    pub suspects: Option<BTreeSet<i64>>,
}

/// Looks through all features of a layer.
pub fn look(path: &Path, options: &LayerOptions, watch: &dyn Watch) -> Result<Found, Failure> {
    go_on(watch)?;
    let opened = open::open(path, options.layer.as_deref())?;
    let mut layer = open::layer(&opened, options.layer.as_deref())?;
    let mut warnings = Vec::new();
    let given = options.input_crs.as_deref();
    let (srs, crs_source) = crs::choose(layer.spatial_ref(), given, &opened.name, &mut warnings)?;
    let fields = feature::fields(layer.defn());
    let columns = columns::columns(&fields, &opened.name)?;
    let mut seen = Seen::new(layer.defn().geometry_type());
    seen.read(&opened, &mut layer, &fields, watch)?;
    check_count(&opened, &layer, seen.features)?;
    if seen.features == 0 {
        return Err(permanent(
            "empty_layer",
            &format!(
                "The layer `{}` of `{}` has no features.",
                layer.name(),
                opened.name
            ),
        ));
    }
    if seen.null == seen.features {
        return Err(open::no_geometry(&opened.name));
    }
    seen.check_bounds(&srs)?;
    let geometry_type = seen.geometry_type();
    warnings.extend(seen.warnings(geometry_type));
    let layer = geo::vector::Layer {
        driver: opened.driver.clone(),
        name: layer.name(),
        crs: crs::describe(&srs),
        crs_source: crs_source.to_owned(),
        bounds: seen.bounds,
        geometry_type: geometry_type.to_owned(),
        has_z: seen.has_z,
        feature_count: seen.features,
        null_geometries: seen.null,
        empty_geometries: seen.empty,
        invalid_geometries: seen.invalid,
        columns,
        file_bytes: opened.file_bytes,
        warnings,
    };
    Ok(Found {
        layer,
        suspects: seen.suspects,
    })
}

/// This format says in front how many features follow, and its driver takes the end of the file for their end.
fn check_count(opened: &Opened, layer: &Layer<'_>, found: u64) -> Result<(), Failure> {
    let declared = layer.try_feature_count().unwrap_or(found);
    if opened.driver != "FlatGeobuf" || declared <= found {
        return Ok(());
    }
    let message = format!(
        "`{}` declares {declared} features and holds {found}. It was cut off: send it again.",
        opened.name
    );
    Err(permanent("corrupt_features", &message))
}

/// The next feature; an error if the file breaks off here.
pub(super) fn next(opened: &Opened, layer: &mut Layer<'_>) -> Result<Option<Feature>, Failure> {
    ffi::error::reset();
    let found = feature::next(layer);
    // Some drivers give a feature without its geometry when the file ends in the middle of it.
    if let Some(found) =
        found.filter(|found| found.shape().is_some() || !ffi::error::noted().failed)
    {
        return Ok(Some(found));
    }
    let said = ffi::error::noted();
    if said.failed {
        let what = format!("`{}` cannot be read to its end", opened.name);
        return Err(noted("corrupt_features", &what, &opened.path, &said));
    }
    Ok(None)
}

/// A type that PostGIS has a column for: curves and surfaces become what they are made of.
pub(super) fn plain_kind(kind: OGRwkbGeometryType::Type) -> OGRwkbGeometryType::Type {
    match shape::linear_kind(kind) {
        OGRwkbGeometryType::wkbTIN | OGRwkbGeometryType::wkbPolyhedralSurface => {
            OGRwkbGeometryType::wkbMultiPolygon
        }
        OGRwkbGeometryType::wkbTriangle => OGRwkbGeometryType::wkbPolygon,
        other => other,
    }
}

/// What PostGIS calls a type.
pub(super) fn kind_name(kind: OGRwkbGeometryType::Type) -> &'static str {
    match kind {
        OGRwkbGeometryType::wkbPoint => "Point",
        OGRwkbGeometryType::wkbLineString => "LineString",
        OGRwkbGeometryType::wkbPolygon => "Polygon",
        OGRwkbGeometryType::wkbMultiPoint => "MultiPoint",
        OGRwkbGeometryType::wkbMultiLineString => "MultiLineString",
        OGRwkbGeometryType::wkbMultiPolygon => "MultiPolygon",
        OGRwkbGeometryType::wkbGeometryCollection => "GeometryCollection",
        _ => "Geometry",
    }
}

/// What was seen so far.
struct Seen {
    features: u64,
    null: u64,
    empty: u64,
    invalid: u64,
    suspects: Option<BTreeSet<i64>>,
    has_z: bool,
    is_z_known: bool,
    kinds: BTreeSet<OGRwkbGeometryType::Type>,
    bounds: Option<[f64; 4]>,
    /// Fields with bytes that are no text.
    garbled: BTreeSet<String>,
}

impl Seen {
    fn new(declared: OGRwkbGeometryType::Type) -> Self {
        Self {
            features: 0,
            null: 0,
            empty: 0,
            invalid: 0,
            suspects: Some(BTreeSet::new()),
            has_z: shape::kind_has_z(declared),
            is_z_known: plain_kind(declared) != OGRwkbGeometryType::wkbUnknown,
            kinds: BTreeSet::new(),
            bounds: None,
            garbled: BTreeSet::new(),
        }
    }

    fn read(
        &mut self,
        opened: &Opened,
        layer: &mut Layer<'_>,
        fields: &[Field],
        watch: &dyn Watch,
    ) -> Result<(), Failure> {
        let all = layer
            .try_feature_count()
            .and_then(|count| usize::try_from(count).ok());
        let texts: Vec<(i32, &Field)> = (0..)
            .zip(fields)
            .filter(|(_, field)| field.kind == OGRFieldType::OFTString)
            .collect();
        feature::rewind(layer);
        let mut done = 0_usize;
        while let Some(found) = next(opened, layer)? {
            if done.is_multiple_of(PAUSE) {
                go_on(watch)?;
                watch.progress(all.map_or(0.0, |all| share(done.min(all), all)));
            }
            done += 1;
            self.add(&found);
            for (index, field) in &texts {
                if found.has(*index) && found.text(*index).1 {
                    self.garbled.insert(field.name.clone());
                }
            }
        }
        watch.progress(1.0);
        Ok(())
    }

    fn add(&mut self, found: &Feature) {
        self.features += 1;
        let Some(shape) = found.shape() else {
            self.null += 1;
            return;
        };
        self.kinds.insert(plain_kind(shape.kind()));
        self.has_z |= !self.is_z_known && shape.has_z();
        if shape.is_empty() {
            self.empty += 1;
            return;
        }
        let is_valid = shape.is_valid();
        self.invalid += u64::from(!is_valid);
        // Curves are judged again as the lines that they become.
        if !is_valid || plain_kind(shape.kind()) != shape.kind() {
            self.suspect(found.fid());
        }
        let new = shape.bounds();
        if new.iter().all(|value| value.is_finite()) {
            let old = self.bounds.unwrap_or(new);
            self.bounds = Some([
                old[0].min(new[0]),
                old[1].min(new[1]),
                old[2].max(new[2]),
                old[3].max(new[3]),
            ]);
        }
    }

    fn suspect(&mut self, fid: i64) {
        if let Some(suspects) = &mut self.suspects {
            suspects.insert(fid);
            if suspects.len() > SUSPECTS_MAX {
                self.suspects = None;
            }
        }
    }

    /// Degrees that no place on Earth has are the mark of a wrong CRS.
    fn check_bounds(&self, srs: &gdal::spatial_ref::SpatialRef) -> Result<(), Failure> {
        let Some([left, bottom, right, top]) = self.bounds else {
            return Ok(());
        };
        let degrees =
            srs.is_geographic() && (srs.angular_units() - 1.0_f64.to_radians()).abs() < 1e-9;
        if degrees && (left < -361.0 || right > 361.0 || bottom < -90.1 || top > 90.1) {
            return Err(permanent(
                "bounds_outside_crs",
                &format!(
                    "Its bounds ({left}, {bottom}, {right}, {top}) are impossible for the CRS {}. Give the \
                     right one as input_crs.",
                    crs::describe(srs).text()
                ),
            ));
        }
        Ok(())
    }

    /// The type that fits all. Polygons that must be repaired can fall apart into several.
    fn geometry_type(&self) -> &'static str {
        let kinds: Vec<&str> = self.kinds.iter().map(|kind| kind_name(*kind)).collect();
        let only =
            |allowed: &[&str]| !kinds.is_empty() && kinds.iter().all(|kind| allowed.contains(kind));
        match kinds.as_slice() {
            ["Polygon"] if self.invalid > 0 => "MultiPolygon",
            ["LineString"] if self.invalid > 0 => "MultiLineString",
            [_] => kind_name(self.kinds.first().copied().unwrap_or_default()),
            _ if only(&["Polygon", "MultiPolygon"]) => "MultiPolygon",
            _ if only(&["LineString", "MultiLineString"]) => "MultiLineString",
            _ if only(&["Point", "MultiPoint"]) => "MultiPoint",
            _ => "Geometry",
        }
    }

    fn warnings(&self, geometry_type: &str) -> Vec<String> {
        let mut warnings = Vec::new();
        if geometry_type == "Geometry" {
            let kinds: Vec<&str> = self.kinds.iter().map(|kind| kind_name(*kind)).collect();
            warnings.push(format!(
                "Its features are of mixed types: {}.",
                kinds.join(", ")
            ));
        }
        for (count, what) in [
            (self.null, "have no geometry"),
            (self.empty, "have an empty geometry"),
            (self.invalid, "have an invalid geometry"),
        ] {
            if count > 0 {
                warnings.push(format!("{count} of {} features {what}.", self.features));
            }
        }
        if !self.garbled.is_empty() {
            let fields: Vec<&str> = self.garbled.iter().take(10).map(String::as_str).collect();
            warnings.push(format!(
                "Some texts are not UTF-8, and what could not be read was replaced: {}.",
                fields.join(", ")
            ));
        }
        warnings
    }
}
