//! Opening a raster: only known formats, and nothing whose declared size is beyond the budget.

use std::path::{Path, PathBuf};

use domain::failure::Failure;
use gdal::raster::GdalDataType;
use gdal::{Dataset, DatasetOptions, GdalOpenFlags};

use super::DRIVERS;
use crate::failure::{io, name, noted, permanent};
use crate::ffi;

/// Bytes of a pixel of a type that has no name here: the largest complex one.
const COMPLEX_BYTES: u64 = 16;

/// A raster that may be read.
pub(super) struct Opened {
    pub(super) dataset: Dataset,
    pub(super) name: String,
    pub(super) path: PathBuf,
    pub(super) file_bytes: u64,
    pub(super) pixel_bytes: u64,
}

/// Sets GDAL up if the process forgot to.
pub(crate) fn prepare() {
    crate::setup(&crate::Settings {
        cache_mb: 256,
        threads: 1,
    });
}

/// Opens a raster and refuses what could not be read anyway.
pub(super) fn open(path: &Path, pixel_bytes_max: u64) -> Result<Opened, Failure> {
    prepare();
    let name = name(path);
    let file_bytes = readable(path)?;
    let path = std::path::absolute(path).map_err(|error| io(path, &error))?;
    ffi::error::reset();
    let options = DatasetOptions {
        open_flags: GdalOpenFlags::GDAL_OF_READONLY
            | GdalOpenFlags::GDAL_OF_RASTER
            | GdalOpenFlags::GDAL_OF_VERBOSE_ERROR,
        allowed_drivers: Some(DRIVERS),
        ..DatasetOptions::default()
    };
    let dataset = Dataset::open_ex(&path, options).map_err(|_| {
        let what = format!(
            "`{name}` is not a raster of a known format ({})",
            DRIVERS.join(", ")
        );
        noted("not_recognised", &what, &path, &ffi::error::noted())
    })?;
    let pixel_bytes = pixel_bytes(&dataset);
    if pixel_bytes > pixel_bytes_max {
        return Err(permanent(
            "too_large",
            &format!(
                "`{name}` declares {pixel_bytes} bytes of pixels, more than the {pixel_bytes_max} that \
                 are allowed. Cut it into parts, or raise the limit."
            ),
        ));
    }
    let opened = Opened {
        dataset,
        name,
        path,
        file_bytes,
        pixel_bytes,
    };
    check_bands(&opened)?;
    Ok(opened)
}

/// Size of a file that exists, is one, can be read and is not empty.
pub(crate) fn readable(path: &Path) -> Result<u64, Failure> {
    let name = name(path);
    let bytes = match crate::allowed_bytes(path) {
        Some(bytes) => bytes,
        None => file_bytes(path)?,
    };
    if bytes == 0 {
        return Err(permanent(
            "empty_file",
            &format!("`{name}` is empty. Its upload was probably cut off."),
        ));
    }
    Ok(bytes)
}

fn file_bytes(path: &Path) -> Result<u64, Failure> {
    let meta = std::fs::metadata(path).map_err(|error| io(path, &error))?;
    if !meta.is_file() {
        let name = name(path);
        return Err(permanent("unreadable", &format!("`{name}` is not a file.")));
    }
    std::fs::File::open(path).map_err(|error| io(path, &error))?;
    Ok(meta.len())
}

fn check_bands(opened: &Opened) -> Result<(), Failure> {
    let name = &opened.name;
    let (dataset, (width, height)) = (&opened.dataset, opened.dataset.raster_size());
    if dataset.raster_count() == 0 || width == 0 || height == 0 {
        return Err(permanent("no_bands", &format!("`{name}` has no pixels.")));
    }
    for band in dataset.rasterbands() {
        let kind = band.map_or(GdalDataType::Unknown, |band| band.band_type());
        if kind == GdalDataType::Unknown {
            return Err(permanent(
                "complex_pixels",
                &format!(
                    "`{name}` has complex numbers as pixels. Turn them into amplitude or phase first."
                ),
            ));
        }
    }
    Ok(())
}

fn pixel_bytes(dataset: &Dataset) -> u64 {
    let (width, height) = dataset.raster_size();
    let size = |index| {
        let kind = dataset.rasterband(index).map(|band| band.band_type());
        match kind.map_or(0, |kind| kind.bytes()) {
            0 => COMPLEX_BYTES,
            bytes => u64::from(bytes),
        }
    };
    let bytes: u64 = (1..=dataset.raster_count()).map(size).sum();
    let wide = |value: usize| u64::try_from(value).unwrap_or(u64::MAX);
    wide(width)
        .saturating_mul(wide(height))
        .saturating_mul(bytes)
}
