//! Coordinate reference systems: read from text or a file, described, compared, and tied to EPSG:4326.
//!
//! Axes are always in the traditional order here: x is longitude or easting.

use domain::failure::Failure;
use gdal::spatial_ref::{AxisMappingStrategy, CoordTransform, SpatialRef};
use geo::raster::Crs;

use crate::failure::permanent;
use crate::ffi;

/// How a definition may begin. GDAL would also take names of files and addresses, which must not be
/// read for whoever wrote the workflow.
const BEGINNINGS: &[&str] = &[
    "EPSG:",
    "ESRI:",
    "OGC:",
    "IGNF:",
    "IAU_2015:",
    "URN:OGC:DEF:CRS:",
    "PROJCS[",
    "GEOGCS[",
    "GEOCCS[",
    "COMPD_CS[",
    "PROJCRS[",
    "GEOGCRS[",
    "GEODCRS[",
    "COMPOUNDCRS[",
    "BOUNDCRS[",
    "+PROJ=",
    "{",
    "WGS84",
    "NAD83",
    "NAD27",
    "CRS84",
    "CRS:84",
];

/// Reads a definition: a code, WKT, PROJJSON or a PROJ string.
pub(crate) fn parse(text: &str) -> Result<SpatialRef, Failure> {
    let trimmed = text.trim();
    let bad = |reason: &str| {
        let shown: String = trimmed.chars().take(80).collect();
        permanent(
            "bad_crs",
            &format!(
                "`{shown}` is not a coordinate reference system{reason}. Give a code such as EPSG:32633, \
                 or a whole definition as WKT."
            ),
        )
    };
    let upper = trimmed.to_uppercase();
    if !BEGINNINGS.iter().any(|start| upper.starts_with(start)) {
        return Err(bad(""));
    }
    ffi::error::reset();
    let mut srs = SpatialRef::from_definition(trimmed).map_err(|_| {
        let noted = ffi::error::noted().message;
        let noted = noted.trim().trim_end_matches('.').to_owned();
        bad(&if noted.is_empty() {
            String::new()
        } else {
            format!(" ({noted})")
        })
    })?;
    srs.set_axis_mapping_strategy(AxisMappingStrategy::TraditionalGisOrder);
    Ok(srs)
}

/// EPSG:4326 with x as longitude.
pub(crate) fn wgs84() -> Result<SpatialRef, Failure> {
    parse("EPSG:4326")
}

/// The CRS to use and where it is from: an override wins over what the file says.
pub(crate) fn choose(
    file: Option<SpatialRef>,
    given: Option<&str>,
    name: &str,
    warnings: &mut Vec<String>,
) -> Result<(SpatialRef, &'static str), Failure> {
    match (file, given) {
        (file, Some(text)) => {
            let given = parse(text)?;
            if let Some(file) = file.filter(|file| !ffi::srs::is_same(file, &given)) {
                warnings.push(format!(
                    "The file says its CRS is {}, and input_crs overrides it with {}.",
                    describe(&file).name,
                    describe(&given).text(),
                ));
            }
            Ok((given, "override"))
        }
        (Some(mut file), None) => {
            if file.is_local() {
                return Err(permanent(
                    "no_crs",
                    &format!(
                        "The CRS of `{name}` is a local one, without a place on Earth. Give input_crs."
                    ),
                ));
            }
            file.set_axis_mapping_strategy(AxisMappingStrategy::TraditionalGisOrder);
            Ok((file, "file"))
        }
        (None, None) => Err(permanent(
            "no_crs",
            &format!(
                "`{name}` does not say its coordinate reference system. Give it as input_crs, for \
                 example EPSG:32633."
            ),
        )),
    }
}

/// What others can read: the code, or else the whole definition.
pub(crate) fn describe(srs: &SpatialRef) -> Crs {
    let code = code(srs);
    let whole = code.is_none();
    let projjson = srs.to_projjson().ok().filter(|_| whole);
    Crs {
        name: srs.name().unwrap_or_else(|| "unnamed".to_owned()),
        wkt2: ffi::srs::wkt2(srs).filter(|_| whole),
        projjson: projjson.and_then(|text| serde_json::from_str(&text).ok()),
        code,
    }
}

/// A transformation, or why there is none.
pub(crate) fn transform(from: &SpatialRef, to: &SpatialRef) -> Result<CoordTransform, Failure> {
    CoordTransform::new(from, to).map_err(|_| {
        permanent(
            "bad_crs",
            &format!(
                "There is no way from the CRS {} to {}.",
                describe(from).name,
                describe(to).text()
            ),
        )
    })
}

/// Transforms points one by one: those without a place become nothing.
pub(crate) fn points(transform: &CoordTransform, points: &[(f64, f64)]) -> Vec<Option<(f64, f64)>> {
    let one = |&(x, y): &(f64, f64)| {
        let (mut x, mut y) = ([x], [y]);
        transform.transform_coords(&mut x, &mut y, &mut []).ok()?;
        let found = (x[0], y[0]);
        (found.0.is_finite() && found.1.is_finite()).then_some(found)
    };
    points.iter().map(one).collect()
}

/// The code that stands in the definition, or one whose definition is the same.
fn code(srs: &SpatialRef) -> Option<String> {
    if let Ok(found) = srs.authority() {
        return Some(found);
    }
    let mut guess = srs.clone();
    guess.auto_identify_epsg().ok()?;
    let found = guess.authority().ok()?;
    let known = parse(&found).ok()?;
    ffi::srs::is_same(srs, &known).then_some(found)
}
