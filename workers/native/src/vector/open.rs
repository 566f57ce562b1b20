//! Opening a vector file: known formats only, archives checked first, one layer chosen.

use std::path::{Path, PathBuf};

use domain::failure::Failure;
use gdal::vector::{Layer, LayerAccess};
use gdal::{Dataset, DatasetOptions, GdalOpenFlags};
use gdal_sys::OGRwkbGeometryType;

use super::{DRIVERS, zip};
use crate::failure::{io, name, noted, permanent};
use crate::ffi;

/// What an archive may hold, the likeliest first.
const IN_ZIP: &[&str] = &[
    ".shp", ".gdb", ".gpkg", ".geojson", ".kml", ".gml", ".fgb", ".tab", ".json",
];
/// Files that make a Shapefile together.
const SIDECARS: &[&str] = &["shp", "shx", "dbf", "prj", "cpg"];

/// A file whose layers may be read.
pub(super) struct Opened {
    pub(super) dataset: Dataset,
    pub(super) name: String,
    pub(super) path: PathBuf,
    pub(super) file_bytes: u64,
    pub(super) driver: String,
}

/// Opens a file, or what is in an archive. `layer` only helps to choose among several files in it.
pub(super) fn open(path: &Path, layer: Option<&str>) -> Result<Opened, Failure> {
    crate::raster::prepare();
    let name = name(path);
    let meta = std::fs::metadata(path).map_err(|error| io(path, &error))?;
    let path = std::path::absolute(path).map_err(|error| io(path, &error))?;
    let is_gdb = meta.is_dir() && has_extension(&path, "gdb");
    let file_bytes = if is_gdb {
        let files = std::fs::read_dir(&path).map_err(|error| io(&path, &error))?;
        files
            .flatten()
            .filter_map(|file| file.metadata().ok())
            .map(|meta| meta.len())
            .sum()
    } else {
        crate::raster::readable(&path)?.max(size_with_sidecars(&path))
    };
    let mut inside = path.to_string_lossy().into_owned();
    if !is_gdb && zip::is_zip(&path)? {
        zip::check(&path)?;
        if !has_extension(&path, "kmz") {
            inside = find_in_zip(&path, &name, layer)?;
        }
    }
    let (dataset, driver) = open_any(&inside, &path, &name)?;
    Ok(Opened {
        dataset,
        name,
        path,
        file_bytes,
        driver,
    })
}

/// The layer to read: the one that is named, or the only one with geometry.
pub(super) fn layer<'a>(opened: &'a Opened, wanted: Option<&str>) -> Result<Layer<'a>, Failure> {
    let shown = &opened.name;
    let names: Vec<String> = opened.dataset.layers().map(|layer| layer.name()).collect();
    if names.is_empty() {
        return Err(permanent("no_layers", &format!("`{shown}` has no layers.")));
    }
    if let Some(wanted) = wanted {
        let at = names.iter().position(|name| name == wanted);
        let at = at.or_else(|| {
            names
                .iter()
                .position(|name| name.eq_ignore_ascii_case(wanted))
        });
        let found = at.and_then(|at| opened.dataset.layer(at).ok());
        let found = found.ok_or_else(|| {
            let there = list(&names);
            permanent(
                "layer_not_found",
                &format!("`{shown}` has no layer `{wanted}`. It has {there}."),
            )
        })?;
        return with_geometry(found, shown);
    }
    let spatial = |at: &usize| {
        let layer = opened.dataset.layer(*at);
        layer.is_ok_and(|layer| layer.defn().geometry_type() != OGRwkbGeometryType::wkbNone)
    };
    let candidates: Vec<usize> = (0..names.len()).filter(spatial).collect();
    match candidates.as_slice() {
        [] => Err(no_geometry(shown)),
        [only] => opened.dataset.layer(*only).map_err(|_| no_geometry(shown)),
        several => {
            let names: Vec<String> = several
                .iter()
                .filter_map(|at| names.get(*at).cloned())
                .collect();
            Err(several_layers(shown, &names))
        }
    }
}

/// A layer in which no feature can have a place.
pub(super) fn no_geometry(name: &str) -> Failure {
    permanent(
        "no_geometry",
        &format!("`{name}` has no geometries. A CSV needs columns such as lon and lat, or wkt."),
    )
}

fn with_geometry<'a>(layer: Layer<'a>, name: &str) -> Result<Layer<'a>, Failure> {
    if layer.defn().geometry_type() == OGRwkbGeometryType::wkbNone {
        return Err(no_geometry(name));
    }
    Ok(layer)
}

/// Tries one format after another: each has options of its own.
fn open_any(inside: &str, path: &Path, name: &str) -> Result<(Dataset, String), Failure> {
    let mut first = None;
    for driver in DRIVERS {
        let options = open_options(driver);
        ffi::error::reset();
        let opened = Dataset::open_ex(
            inside,
            DatasetOptions {
                open_flags: GdalOpenFlags::GDAL_OF_READONLY | GdalOpenFlags::GDAL_OF_VECTOR,
                allowed_drivers: Some(&[driver]),
                open_options: Some(options),
                sibling_files: None,
            },
        );
        if let Ok(dataset) = opened {
            return Ok((dataset, (*driver).to_owned()));
        }
        // Only the format that knows the file complains about it.
        let said = ffi::error::noted();
        if said.failed && first.is_none() {
            first = Some(said);
        }
    }
    let what = format!(
        "`{name}` cannot be opened as vector data ({})",
        DRIVERS.join(", ")
    );
    Err(noted(
        "not_recognised",
        &what,
        path,
        &first.unwrap_or_default(),
    ))
}

fn open_options(driver: &str) -> &'static [&'static str] {
    match driver {
        // Else the driver leaves files of its own beside the source.
        "GPKG" => &["IMMUTABLE=YES"],
        "GML" => &["WRITE_GFS=NO", "DOWNLOAD_SCHEMA=NO"],
        "CSV" => &[
            "AUTODETECT_TYPE=YES",
            "EMPTY_STRING_AS_NULL=YES",
            "X_POSSIBLE_NAMES=lon,long,longitude,lng,x,easting",
            "Y_POSSIBLE_NAMES=lat,latitude,y,northing",
            "GEOM_POSSIBLE_NAMES=wkt,geom,geometry,the_geom,wkb_geometry",
            "KEEP_GEOM_COLUMNS=NO",
        ],
        _ => &[],
    }
}

/// The path, as GDAL writes it, of the one file in the archive that is meant.
fn find_in_zip(path: &Path, name: &str, layer: Option<&str>) -> Result<String, Failure> {
    let root = format!("/vsizip/{{{}}}", path.display());
    let found = gdal::vsi::read_dir(&root, true)
        .map_err(|_| permanent("bad_zip", &format!("`{name}` is a damaged zip archive.")))?;
    let found: Vec<String> = found
        .iter()
        .map(|entry| entry.to_string_lossy().trim_end_matches('/').to_owned())
        .filter(|entry| !entry.starts_with("__MACOSX"))
        .collect();
    for extension in IN_ZIP {
        let fits = |entry: &&String| entry.to_lowercase().ends_with(extension);
        let fitting: Vec<&String> = found.iter().filter(fits).collect();
        let stem = |entry: &str| {
            let stem = Path::new(entry).file_stem().unwrap_or_default();
            stem.to_string_lossy().into_owned()
        };
        match (fitting.as_slice(), layer) {
            ([], _) => {}
            ([only], _) => return Ok(format!("{root}/{only}")),
            (several, layer) => {
                let chosen = several
                    .iter()
                    .find(|entry| layer.is_some_and(|layer| stem(entry) == layer));
                let names: Vec<String> = several.iter().map(|entry| stem(entry)).collect();
                return match (chosen, layer) {
                    (Some(chosen), _) => Ok(format!("{root}/{chosen}")),
                    (None, Some(layer)) => Err(permanent(
                        "layer_not_found",
                        &format!("`{name}` has no layer `{layer}`. It has {}.", list(&names)),
                    )),
                    (None, None) => Err(several_layers(name, &names)),
                };
            }
        }
    }
    Err(permanent(
        "no_layers",
        &format!(
            "`{name}` holds no vector data: a Shapefile, GeoPackage or the like is expected in it."
        ),
    ))
}

fn several_layers(name: &str, names: &[String]) -> Failure {
    permanent(
        "several_layers",
        &format!(
            "`{name}` has several layers: {}. Say which one is meant.",
            list(names)
        ),
    )
}

fn list(names: &[String]) -> String {
    let shown: Vec<String> = names
        .iter()
        .take(20)
        .map(|name| format!("`{name}`"))
        .collect();
    let more = names.len().saturating_sub(20);
    if more > 0 {
        return format!("{} and {more} more", shown.join(", "));
    }
    shown.join(", ")
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension()
        .is_some_and(|found| found.eq_ignore_ascii_case(extension))
}

fn size_with_sidecars(path: &Path) -> u64 {
    if !has_extension(path, "shp") {
        return 0;
    }
    let size = |extension: &&str| std::fs::metadata(path.with_extension(extension)).ok();
    SIDECARS
        .iter()
        .filter_map(size)
        .map(|meta| meta.len())
        .sum()
}
