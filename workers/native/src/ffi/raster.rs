//! Copying, translating and warping with progress, and how much of a band was ever written.

use std::ffi::{CString, c_char, c_int};
use std::path::Path;
use std::ptr;

use gdal::cpl::CslStringList;
use gdal::raster::RasterBand;
use gdal::{Dataset, Driver};
use gdal_sys::GDALDatasetH;

use super::progress::{Call, report};
use crate::Watch;

/// Flag of [`coverage`]: some blocks were never written.
const COVERAGE_EMPTY: c_int = 4;

/// Copies a dataset into a new file. Nothing on failure: see what was noted.
pub(crate) fn create_copy(
    driver: &Driver,
    target: &Path,
    source: &Dataset,
    options: &CslStringList,
    watch: &dyn Watch,
) -> Option<Dataset> {
    let name = c_name(target)?;
    let call = Call::new(watch);
    // SAFETY: all handles are alive during the call; `name`, `options` and `call` outlive it.
    let made = unsafe {
        gdal_sys::GDALCreateCopy(
            driver.c_driver(),
            name.as_ptr(),
            source.c_dataset(),
            0,
            options.as_ptr(),
            Some(report),
            call.data(),
        )
    };
    own(made)
}

/// A smaller cache of blocks for all of GDAL, as long as this lives.
pub(crate) struct SmallCache {
    before: i64,
}

impl SmallCache {
    /// Never more than there was.
    pub(crate) fn of(bytes: i64) -> Self {
        // SAFETY: these read and set a number of the process, under a lock of GDAL's.
        let before = unsafe { gdal_sys::GDALGetCacheMax64() };
        unsafe { gdal_sys::GDALSetCacheMax64(bytes.min(before)) };
        Self { before }
    }
}

impl Drop for SmallCache {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { gdal_sys::GDALSetCacheMax64(self.before) };
    }
}

/// `gdal_translate` with these arguments; an empty target with `-of VRT` stays in memory.
pub(crate) fn translate(target: &Path, source: &Dataset, arguments: &[&str]) -> Option<Dataset> {
    let name = c_name(target)?;
    let arguments = Arguments::new(arguments)?;
    let mut usage: c_int = 0;
    // SAFETY: the arguments end with a null pointer and outlive the call; the options are freed once.
    let made = unsafe {
        let options = gdal_sys::GDALTranslateOptionsNew(
            arguments.pointers.as_ptr().cast_mut(),
            ptr::null_mut(),
        );
        if options.is_null() {
            return None;
        }
        let made =
            gdal_sys::GDALTranslate(name.as_ptr(), source.c_dataset(), options, &raw mut usage);
        gdal_sys::GDALTranslateOptionsFree(options);
        made
    };
    own(made)
}

/// `gdalwarp` with these arguments. A failure or a cancel leaves a partial file at `target`.
pub(crate) fn warp(
    target: &Path,
    source: &Dataset,
    arguments: &[&str],
    watch: &dyn Watch,
) -> Option<Dataset> {
    let name = c_name(target)?;
    let arguments = Arguments::new(arguments)?;
    let call = Call::new(watch);
    let mut sources: [GDALDatasetH; 1] = [source.c_dataset()];
    let mut usage: c_int = 0;
    // SAFETY: the arguments end with a null pointer; they, `call` and `sources` outlive the call; the
    // options are freed once.
    let made = unsafe {
        let options = gdal_sys::GDALWarpAppOptionsNew(
            arguments.pointers.as_ptr().cast_mut(),
            ptr::null_mut(),
        );
        if options.is_null() {
            return None;
        }
        gdal_sys::GDALWarpAppOptionsSetProgress(options, Some(report), call.data());
        let made = gdal_sys::GDALWarp(
            name.as_ptr(),
            ptr::null_mut(),
            1,
            sources.as_mut_ptr(),
            options,
            &raw mut usage,
        );
        gdal_sys::GDALWarpAppOptionsFree(options);
        made
    };
    own(made)
}

/// Whether blocks were never written, and how much of the band has data in the file (percent).
pub(crate) fn coverage(band: &RasterBand<'_>) -> (bool, f64) {
    let (width, height) = band.size();
    let (Ok(width), Ok(height)) = (c_int::try_from(width), c_int::try_from(height)) else {
        return (true, 0.0);
    };
    let mut percent = 0.0;
    // SAFETY: the band is alive, the window is the band's own, `percent` may be written.
    let flags = unsafe {
        gdal_sys::GDALGetDataCoverageStatus(
            band.c_rasterband(),
            0,
            0,
            width,
            height,
            0,
            &raw mut percent,
        )
    };
    (flags & COVERAGE_EMPTY != 0, percent)
}

/// Arguments of a program, kept alive beside the pointers to them.
struct Arguments {
    _texts: Vec<CString>,
    pointers: Vec<*mut c_char>,
}

impl Arguments {
    fn new(arguments: &[&str]) -> Option<Self> {
        let texts = arguments.iter().map(|text| CString::new(*text));
        let texts: Vec<CString> = texts.collect::<Result<_, _>>().ok()?;
        let pointers = texts.iter().map(|text| text.as_ptr().cast_mut());
        let pointers = pointers.chain([ptr::null_mut()]).collect();
        Some(Self {
            _texts: texts,
            pointers,
        })
    }
}

fn c_name(path: &Path) -> Option<CString> {
    CString::new(path.to_str()?).ok()
}

fn own(made: GDALDatasetH) -> Option<Dataset> {
    // SAFETY: a handle that is not null is fresh from GDAL and owned by nobody else.
    (!made.is_null()).then(|| unsafe { Dataset::from_c_dataset(made) })
}
