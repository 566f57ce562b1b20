//! Reprojection into a temporary GeoTIFF, as `gdalwarp` does it.

use std::path::Path;

use domain::failure::Failure;
use gdal::Dataset;
use gdal::raster::{ColorInterpretation, GdalDataType};
use gdal::spatial_ref::SpatialRef;

use super::open::Opened;
use super::{count, pass};
use crate::failure::{cancelled, noted, permanent};
use crate::{Watch, crs, ffi, go_on};

/// What to warp, and how.
pub(super) struct Warp<'a> {
    /// The source, or a window of it.
    pub(super) dataset: &'a Dataset,
    /// For names in messages.
    pub(super) opened: &'a Opened,
    pub(super) target: &'a SpatialRef,
    /// Values that must not be mixed.
    pub(super) is_categorical: bool,
    pub(super) threads: u32,
    pub(super) pixel_bytes_max: u64,
}

impl Warp<'_> {
    /// Writes the warped raster to `file`.
    pub(super) fn run(&self, file: &Path, watch: &dyn Watch) -> Result<Dataset, Failure> {
        let definition = ffi::srs::wkt2(self.target);
        let definition = definition.unwrap_or_else(|| crs::describe(self.target).name);
        let threads = format!("NUM_THREADS={}", self.threads.max(1));
        let mut arguments = vec![
            "-t_srs",
            &definition,
            "-r",
            if self.is_categorical {
                "near"
            } else {
                "bilinear"
            },
            "-wo",
            &threads,
        ];
        let outside = self.outside(watch)?;
        arguments.extend(outside.iter().map(String::as_str));
        self.check_size(&arguments)?;
        arguments.extend([
            "-of",
            "GTiff",
            "-co",
            "TILED=YES",
            "-co",
            "BLOCKXSIZE=512",
            "-co",
            "BLOCKYSIZE=512",
            "-co",
            "COMPRESS=ZSTD",
            "-co",
            "ZSTD_LEVEL=1",
            "-co",
            "BIGTIFF=IF_SAFER",
        ]);
        ffi::error::reset();
        let warped = ffi::raster::warp(file, self.dataset, &arguments, watch);
        go_on(watch)?;
        let noted_here = ffi::error::noted();
        match warped {
            Some(warped) if !noted_here.failed => Ok(warped),
            _ if watch.is_cancelled() => Err(cancelled()),
            _ => Err(self.failed(&noted_here)),
        }
    }

    /// How pixels outside of the source are told from those inside.
    ///
    /// A source with nodata or alpha says it itself. Else floats get NaN, and one band of bytes a value
    /// that no pixel has; all others get an alpha band.
    fn outside(&self, watch: &dyn Watch) -> Result<Vec<String>, Failure> {
        let bands: Vec<_> = self.dataset.rasterbands().filter_map(Result::ok).collect();
        let says = bands.iter().any(|band| {
            band.color_interpretation() == ColorInterpretation::AlphaBand
                || count::nodata(band).is_some()
        });
        if says {
            return Ok(Vec::new());
        }
        let all = |kind: GdalDataType| bands.iter().all(|band| band.band_type() == kind);
        let nodata = |value: String| Ok(vec!["-dstnodata".to_owned(), value]);
        if all(GdalDataType::Float32) || all(GdalDataType::Float64) {
            return nodata("nan".to_owned());
        }
        if bands.len() == 1
            && all(GdalDataType::UInt8)
            && let Some(unused) = self.unused_byte(watch)?
        {
            return nodata(unused.to_string());
        }
        Ok(vec!["-dstalpha".to_owned()])
    }

    /// The highest byte that no pixel of the first band has.
    fn unused_byte(&self, watch: &dyn Watch) -> Result<Option<u8>, Failure> {
        let unreadable = |_| self.failed(&ffi::error::noted());
        ffi::error::reset();
        let band = self.dataset.rasterband(1).map_err(unreadable)?;
        let mut used = [false; 256];
        for window in pass::windows(self.dataset) {
            go_on(watch)?;
            let read = band.read_as::<u8>(window.origin(), window.size(), window.size(), None);
            for value in read.map_err(unreadable)?.data() {
                used[usize::from(*value)] = true;
            }
        }
        Ok((0..=u8::MAX).rev().find(|value| !used[usize::from(*value)]))
    }

    /// A small raster can become a huge one, so the size is found out before anything is written.
    fn check_size(&self, arguments: &[&str]) -> Result<(), Failure> {
        let mut arguments = arguments.to_vec();
        arguments.extend(["-of", "VRT"]);
        ffi::error::reset();
        let quiet = Quiet;
        let plan = ffi::raster::warp(Path::new(""), self.dataset, &arguments, &quiet)
            .ok_or_else(|| self.failed(&ffi::error::noted()))?;
        let (width, height) = plan.raster_size();
        let bands = plan.rasterbands().filter_map(Result::ok);
        let bytes: usize = bands
            .map(|band| usize::from(band.band_type().bytes()))
            .sum();
        let bytes = width.saturating_mul(height).saturating_mul(bytes);
        if u64::try_from(bytes).unwrap_or(u64::MAX) > self.pixel_bytes_max {
            return Err(permanent(
                "too_large",
                &format!(
                    "In the target CRS it would have {width} x {height} pixels ({bytes} bytes), more than \
                     the {} bytes that are allowed.",
                    self.pixel_bytes_max
                ),
            ));
        }
        Ok(())
    }

    fn failed(&self, noted_here: &ffi::error::Noted) -> Failure {
        let what = format!("`{}` could not be reprojected", self.opened.name);
        noted("warp_failed", &what, &self.opened.path, noted_here)
    }
}

/// Nobody waits for this part.
struct Quiet;

impl Watch for Quiet {
    fn progress(&self, _fraction: f64) {}

    fn is_cancelled(&self) -> bool {
        false
    }
}
