//! Looking at a raster: everything that is known of it, or the first thing that is wrong with it.

use std::path::Path;

use domain::failure::Failure;
use gdal::raster::{GdalDataType, RasterBand};
use gdal::spatial_ref::SpatialRef;
use gdal::{Dataset, Metadata};
use geo::raster::{Band, Raster, Stats};

use super::open::{self, Opened};
use super::pass::{self, Twin};
use super::{LookOptions, count, kind};
use crate::failure::permanent;
use crate::footprint::{self, Place};
use crate::{Watch, crs, ffi, go_on};

/// Looks at a raster. The order of the checks is the order in which they stop to make sense.
pub fn look(path: &Path, options: &LookOptions, watch: &dyn Watch) -> Result<Raster, Failure> {
    go_on(watch)?;
    let opened = open::open(path, options.pixel_bytes_max)?;
    opened_look(&opened, options, None, watch)
}

/// What `look` does once the file is open; all of its pixels must be those of its twin, if it has one.
pub(super) fn opened_look(
    opened: &Opened,
    options: &LookOptions,
    twin: Option<Twin<'_>>,
    watch: &dyn Watch,
) -> Result<Raster, Failure> {
    let dataset = &opened.dataset;
    let mut warnings = Vec::new();
    let (srs, crs_source) = georeference(opened, options.input_crs.as_deref(), &mut warnings)?;
    let transform = transform(opened)?;
    let corners = corners(dataset.raster_size(), transform);
    let place = place(corners, &srs, &mut warnings)?;
    if transform[2] != 0.0 || transform[4] != 0.0 {
        warnings
            .push("Its rows do not run from west to east: it is rotated or sheared.".to_owned());
    }
    let mut stats = Vec::new();
    if options.read_all || options.stats {
        stats = pass::all(opened, twin, watch)?;
        check_written(opened, &mut warnings)?;
    }
    let bands = bands(dataset, if options.stats { stats } else { Vec::new() });
    let kind = match &options.raster_type {
        Some(given) => kind::given(kind::with_alpha(given, &bands), bands.len())?,
        None => kind::find(opened, &bands)?,
    };
    let (width, height) = dataset.raster_size();
    let structure = |key: &str| dataset.metadata_item(key, "IMAGE_STRUCTURE");
    let block = dataset
        .rasterband(1)
        .map_or((0, 0), |band| band.block_size());
    Ok(Raster {
        driver: dataset.driver().short_name(),
        width: wide(width),
        height: wide(height),
        bands,
        crs: crs::describe(&srs),
        crs_source: crs_source.to_owned(),
        transform,
        bounds: bounds(corners),
        bounds_4326: place.bounds,
        footprint: place.footprint,
        pixel_bytes: opened.pixel_bytes,
        file_bytes: opened.file_bytes,
        compression: structure("COMPRESSION"),
        overviews: overviews(dataset),
        block: [wide(block.0), wide(block.1)],
        kind,
        warnings,
        datetime: dataset
            .metadata_item("TIFFTAG_DATETIME", "")
            .and_then(|text| rfc3339(&text)),
    })
}

/// The CRS to use, and whether it is from the file.
pub(super) fn georeference(
    opened: &Opened,
    given: Option<&str>,
    warnings: &mut Vec<String>,
) -> Result<(SpatialRef, &'static str), Failure> {
    if opened.dataset.geo_transform().is_err() && !opened.dataset.gcps().is_empty() {
        return Err(permanent(
            "no_georeference",
            &format!(
                "`{}` is only tied to the ground by control points. Warp it with them first \
                 (gdalwarp), then send the result.",
                opened.name
            ),
        ));
    }
    crs::choose(
        opened.dataset.spatial_ref().ok(),
        given,
        &opened.name,
        warnings,
    )
}

/// The geotransform, which must not squash everything into a line.
pub(super) fn transform(opened: &Opened) -> Result<[f64; 6], Failure> {
    let found = opened.dataset.geo_transform().ok();
    let usable = found.filter(|t| {
        let area = t[1] * t[5] - t[2] * t[4];
        t.iter().all(|value| value.is_finite()) && area != 0.0 && area.is_finite()
    });
    usable.ok_or_else(|| {
        permanent(
            "no_georeference",
            &format!(
                "`{}` does not say where on Earth it lies. Send it with a world file, or as a GeoTIFF.",
                opened.name
            ),
        )
    })
}

/// The factors of the overviews.
pub(super) fn overviews(dataset: &Dataset) -> Vec<u64> {
    let Ok(band) = dataset.rasterband(1) else {
        return Vec::new();
    };
    let count = usize::try_from(band.overview_count().unwrap_or(0)).unwrap_or(0);
    let factor = |index| {
        let overview = band.overview(index).ok()?;
        let (full, small) = (wide(band.x_size()), wide(overview.x_size()).max(1));
        let (full_y, small_y) = (wide(band.y_size()), wide(overview.y_size()).max(1));
        // The longer edge was rounded less.
        let (full, small) = if full >= full_y {
            (full, small)
        } else {
            (full_y, small_y)
        };
        Some((full + small / 2) / small)
    };
    (0..count).filter_map(factor).collect()
}

pub(super) fn wide(value: usize) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

fn place(
    corners: [(f64, f64); 4],
    srs: &SpatialRef,
    warnings: &mut Vec<String>,
) -> Result<Place, Failure> {
    let place = footprint::place(corners, srs)?;
    if place.is_partial {
        warnings.push(
            "Some of its edge has no place on Earth; the footprint is approximate.".to_owned(),
        );
    }
    Ok(place)
}

fn corners((width, height): (usize, usize), t: [f64; 6]) -> [(f64, f64); 4] {
    #[expect(clippy::cast_precision_loss, reason = "rasters are narrower than 2^31")]
    let (w, h) = (width as f64, height as f64);
    let at = |x: f64, y: f64| (t[0] + t[1] * x + t[2] * y, t[3] + t[4] * x + t[5] * y);
    [at(0.0, 0.0), at(0.0, h), at(w, h), at(w, 0.0)]
}

fn bounds(corners: [(f64, f64); 4]) -> [f64; 4] {
    let mut bounds = [
        f64::INFINITY,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NEG_INFINITY,
    ];
    for (x, y) in corners {
        bounds = [
            bounds[0].min(x),
            bounds[1].min(y),
            bounds[2].max(x),
            bounds[3].max(y),
        ];
    }
    bounds
}

/// Blocks that were never written read as nodata without an error, as after a killed writer.
fn check_written(opened: &Opened, warnings: &mut Vec<String>) -> Result<(), Failure> {
    let bands = opened.dataset.rasterbands().filter_map(Result::ok);
    let found: Vec<(bool, f64)> = bands.map(|band| ffi::raster::coverage(&band)).collect();
    if found
        .iter()
        .all(|(empty, percent)| *empty && *percent <= 0.0)
    {
        return Err(permanent(
            "corrupt_blocks",
            &format!(
                "Not one block of `{}` was ever written: the program that made it was probably \
                 interrupted.",
                opened.name
            ),
        ));
    }
    let least = found.iter().filter(|(empty, _)| *empty);
    if let Some(least) = least.map(|(_, percent)| *percent).reduce(f64::min) {
        warnings.push(format!(
            "Only {least:.1} % of its pixels were ever written; the rest reads as nodata."
        ));
    }
    Ok(())
}

fn bands(dataset: &Dataset, stats: Vec<Option<Stats>>) -> Vec<Band> {
    let mut stats = stats.into_iter();
    let band = |band: RasterBand<'_>| {
        let nodata = count::nodata(&band);
        let dtype = match band.band_type() {
            GdalDataType::UInt8 if count::is_signed(&band) => "int8",
            GdalDataType::UInt8 => "uint8",
            GdalDataType::UInt16 => "uint16",
            GdalDataType::Int16 => "int16",
            GdalDataType::UInt32 => "uint32",
            GdalDataType::Int32 => "int32",
            GdalDataType::UInt64 => "uint64",
            GdalDataType::Int64 => "int64",
            GdalDataType::Float32 => "float32",
            GdalDataType::Float64 => "float64",
            GdalDataType::Unknown => "other",
        };
        let color = band.color_interpretation().name().to_lowercase();
        let known = ["red", "green", "blue", "alpha", "gray", "palette"];
        let known = known.contains(&color.as_str());
        Band {
            dtype: dtype.to_owned(),
            nodata: nodata.filter(|value| value.is_finite()),
            nodata_is_nan: nodata.is_some_and(f64::is_nan),
            color: if known { color } else { "undefined".to_owned() },
            description: band.description().ok().filter(|text| !text.is_empty()),
            stats: stats.next().flatten(),
        }
    };
    dataset
        .rasterbands()
        .filter_map(Result::ok)
        .map(band)
        .collect()
}

/// `2024:05:01 10:20:30` of TIFF as RFC 3339, taken as UTC; nothing if it is no such moment.
fn rfc3339(text: &str) -> Option<String> {
    let (date, time) = text.trim().split_once([' ', 'T'])?;
    let numbers = |text: &str, separators: [char; 2]| -> Option<[u32; 3]> {
        let parts: Vec<u32> = text
            .split(separators)
            .map(str::parse)
            .collect::<Result<_, _>>()
            .ok()?;
        parts.try_into().ok()
    };
    let [year, month, day] = numbers(date, [':', '-'])?;
    let [hour, minute, second] = numbers(time.trim_end_matches('Z'), [':', ':'])?;
    let days = match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    let valid = (1..=days).contains(&day) && (1..=9999).contains(&year);
    (valid && hour < 24 && minute < 60 && second < 60)
        .then(|| format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"))
}

#[cfg(test)]
mod tests {
    use super::rfc3339;

    #[test]
    fn only_real_moments_become_a_datetime() {
        let found = rfc3339("2024:02:29 10:20:30");
        assert_eq!(found.as_deref(), Some("2024-02-29T10:20:30Z"));
        for text in [
            "2023:02:29 10:20:30",
            "0000:00:00 00:00:00",
            "yesterday",
            "",
        ] {
            assert_eq!(rfc3339(text), None, "{text}");
        }
    }
}
