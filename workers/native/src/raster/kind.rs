//! What the pixels mean, from what the file says of itself and from a sample of it.

use std::collections::BTreeSet;

use domain::failure::{Failure, FailureClass};
use gdal::Metadata;
use geo::raster::{Band, Kind};

use super::count;
use super::open::Opened;
use crate::failure::{noted, permanent};
use crate::ffi;

/// Names that a raster can have.
pub(super) const NAMES: &[&str] = &[
    "rgb",
    "rgba",
    "dem",
    "categorical",
    "multispectral",
    "continuous",
];

/// Longest edge of the sample.
const SAMPLE_EDGE: usize = 256;
/// More distinct values than this are no classes.
const CLASSES_MAX: usize = 32;
/// Fewer valid pixels than this prove nothing.
const SAMPLE_MIN: usize = 256;
/// Metres or feet, from the shores of the Dead Sea to above the highest mountain.
const ELEVATIONS: std::ops::RangeInclusive<f64> = -500.0..=9000.0;
const DEM_WORDS: &[&str] = &[
    "dem",
    "dtm",
    "dsm",
    "dhm",
    "elevation",
    "srtm",
    "altitude",
    "elev",
    "height",
];

/// The kind that the caller names, unless that is impossible.
pub(super) fn given(name: &str, bands: usize) -> Result<Kind, Failure> {
    if !NAMES.contains(&name) {
        return Err(Failure::new(
            FailureClass::Contract,
            "bad_raster_type",
            &format!(
                "`{name}` is no raster type. It is one of {}.",
                NAMES.join(", ")
            ),
        ));
    }
    let wanted = match name {
        "rgb" => 3,
        "rgba" => 4,
        _ => 1,
    };
    if bands < wanted {
        return Err(permanent(
            "wrong_raster_type",
            &format!("It cannot be {name}: that takes {wanted} bands, and it has {bands}."),
        ));
    }
    Ok(kind(name, 1.0, vec!["It was given.".to_owned()]))
}

/// Warping gives colours without nodata an alpha band.
pub(super) fn with_alpha<'a>(name: &'a str, bands: &[Band]) -> &'a str {
    match bands {
        [_, _, _, last] if name == "rgb" && last.color == "alpha" => "rgba",
        _ => name,
    }
}

/// Finds out.
pub(super) fn find(opened: &Opened, bands: &[Band]) -> Result<Kind, Failure> {
    if let Some(found) = by_colors(bands) {
        return Ok(found);
    }
    let data = bands.iter().filter(|band| band.color != "alpha").count();
    if data >= 4 {
        let evidence = vec![format!(
            "It has {data} bands, and they are not red, green, blue and alpha."
        )];
        return Ok(kind("multispectral", 0.85, evidence));
    }
    if data > 1 {
        let evidence = vec![format!("It has {data} bands without a meaning in colour.")];
        return Ok(kind("continuous", 0.5, evidence));
    }
    let sample = sample(opened)?;
    Ok(by_values(opened, bands, &sample))
}

fn by_colors(bands: &[Band]) -> Option<Kind> {
    let colors: Vec<&str> = bands.iter().map(|band| band.color.as_str()).collect();
    let all = |dtypes: &[&str]| {
        bands
            .iter()
            .all(|band| dtypes.contains(&band.dtype.as_str()))
    };
    match colors.as_slice() {
        ["palette", rest @ ..] if rest.iter().all(|color| *color == "alpha") => Some(kind(
            "categorical",
            0.95,
            vec!["Its band has a palette.".to_owned()],
        )),
        ["red", "green", "blue"] if all(&["uint8", "uint16"]) => Some(kind(
            "rgb",
            0.95,
            vec!["Its three bands are marked red, green and blue.".to_owned()],
        )),
        ["red", "green", "blue", "alpha"] if all(&["uint8", "uint16"]) => Some(kind(
            "rgba",
            0.95,
            vec!["Its four bands are marked red, green, blue and alpha.".to_owned()],
        )),
        [_, _, _] if all(&["uint8"]) => Some(kind(
            "rgb",
            0.7,
            vec![
                "It has three bands of bytes, though nothing says that they are colours."
                    .to_owned(),
            ],
        )),
        _ => None,
    }
}

fn by_values(opened: &Opened, bands: &[Band], sample: &[f64]) -> Kind {
    let band = bands.first();
    let dtype = band.map_or("", |band| band.dtype.as_str());
    let is_float = dtype.starts_with("float");
    let mut evidence = vec![format!("It has one band of {dtype}.")];
    let lowest = sample.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = sample.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if sample.is_empty() {
        evidence.push("A sample of it has no data at all.".to_owned());
        return kind("continuous", 0.3, evidence);
    }
    let elevations = ELEVATIONS.contains(&lowest) && ELEVATIONS.contains(&highest);
    let can_be_dem =
        elevations && (is_float || dtype == "int16" || dtype == "int32" || dtype == "uint16");
    if can_be_dem && let Some(word) = dem_word(opened, band) {
        evidence.push(format!(
            "It calls itself `{word}`, and a sample lies between {lowest} and {highest}."
        ));
        return kind("dem", 0.9, evidence);
    }
    let distinct: BTreeSet<u64> = sample.iter().map(|value| value.to_bits()).collect();
    if !is_float && distinct.len() <= CLASSES_MAX && sample.len() >= SAMPLE_MIN {
        let found = distinct.len();
        evidence.push(format!(
            "A sample of {} pixels has only {found} distinct values.",
            sample.len()
        ));
        let confidence = if found > 1 { 0.75 } else { 0.5 };
        return kind("categorical", confidence, evidence);
    }
    if elevations && highest - lowest >= 20.0 && (is_float || dtype == "int16") {
        evidence.push(format!(
            "A sample lies between {lowest} and {highest}, as elevations do."
        ));
        return kind("dem", 0.6, evidence);
    }
    evidence.push(format!("A sample has {} distinct values.", distinct.len()));
    kind("continuous", 0.7, evidence)
}

/// The word by which a raster says that it holds elevations.
fn dem_word(opened: &Opened, band: Option<&Band>) -> Option<String> {
    if opened.dataset.driver().short_name() == "SRTMHGT" {
        return Some("SRTMHGT".to_owned());
    }
    let described = band.and_then(|band| band.description.as_deref());
    let title = opened.dataset.metadata_item("TIFFTAG_IMAGEDESCRIPTION", "");
    let texts = [Some(opened.name.as_str()), described, title.as_deref()];
    let texts: Vec<String> = texts.into_iter().flatten().map(str::to_lowercase).collect();
    let mut words = texts
        .iter()
        .flat_map(|text| text.split(|c: char| !c.is_alphabetic()));
    words
        .find(|word| DEM_WORDS.contains(word))
        .map(str::to_owned)
}

/// Valid values of a grid of pixels of the first band.
fn sample(opened: &Opened) -> Result<Vec<f64>, Failure> {
    ffi::error::reset();
    let unreadable = |_| {
        let what = format!(
            "`{}` cannot be read. The file is damaged or cut off",
            opened.name
        );
        noted("corrupt_blocks", &what, &opened.path, &ffi::error::noted())
    };
    let band = opened.dataset.rasterband(1).map_err(unreadable)?;
    let (width, height) = band.size();
    let size = (width.min(SAMPLE_EDGE), height.min(SAMPLE_EDGE));
    let read = band.read_as::<f64>((0, 0), (width, height), size, None);
    let nodata = count::nodata(&band).unwrap_or(f64::NAN);
    let values = read.map_err(unreadable)?.into_shape_and_vec().1;
    #[expect(clippy::float_cmp, reason = "nodata is a value, not a measurement")]
    let valid = |value: &f64| value.is_finite() && *value != nodata;
    Ok(values.into_iter().filter(valid).collect())
}

fn kind(name: &str, confidence: f64, evidence: Vec<String>) -> Kind {
    Kind {
        name: name.to_owned(),
        confidence,
        evidence,
    }
}
