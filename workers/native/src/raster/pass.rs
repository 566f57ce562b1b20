//! One pass over all pixels: proves that every block can be read, and counts.
//!
//! Windows are the outer loop and bands the inner one, so that files with interleaved bands are decoded once.

use domain::failure::Failure;
use gdal::Dataset;
use gdal::raster::{GdalDataType, RasterBand};
use geo::raster::Stats;

use super::open::Opened;
use crate::failure::noted;
use crate::{Watch, ffi, go_on};

/// Pixels of a window, about.
const WINDOW_PIXELS: usize = 2 * 1024 * 1024;

/// A window of pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) x: usize,
    pub(super) y: usize,
    pub(super) width: usize,
    pub(super) height: usize,
}

impl Window {
    pub(super) fn origin(&self) -> (isize, isize) {
        let signed = |value: usize| isize::try_from(value).unwrap_or(isize::MAX);
        (signed(self.x), signed(self.y))
    }

    pub(super) fn size(&self) -> (usize, usize) {
        (self.width, self.height)
    }

    pub(super) fn pixels(&self) -> usize {
        self.width * self.height
    }
}

/// Windows that cover a raster and follow its blocks where those are not too large.
pub(super) fn windows(dataset: &Dataset) -> Vec<Window> {
    let (width, height) = dataset.raster_size();
    let block = dataset
        .rasterband(1)
        .map_or((256, 256), |band| band.block_size());
    cover(width, height, block)
}

fn cover(width: usize, height: usize, block: (usize, usize)) -> Vec<Window> {
    let (block_x, block_y) = (
        block.0.clamp(1, width.max(1)),
        block.1.clamp(1, height.max(1)),
    );
    let step = |block: usize, room: usize| block * (room / block).max(1);
    let step_x = step(block_x, 2048).min(width.max(1)).min(WINDOW_PIXELS);
    let step_y = step(block_y, WINDOW_PIXELS / step_x).min((2 * WINDOW_PIXELS / step_x).max(1));
    let mut windows = Vec::new();
    for y in (0..height).step_by(step_y) {
        for x in (0..width).step_by(step_x) {
            windows.push(Window {
                x,
                y,
                width: step_x.min(width - x),
                height: step_y.min(height - y),
            });
        }
    }
    windows
}

/// Reads every pixel of every band; gives what was counted.
pub(super) fn all(opened: &Opened, watch: &dyn Watch) -> Result<Vec<Option<Stats>>, Failure> {
    let dataset = &opened.dataset;
    let windows = windows(dataset);
    let bands: Vec<RasterBand<'_>> = dataset.rasterbands().filter_map(Result::ok).collect();
    let mut counts: Vec<Count> = bands.iter().map(Count::new).collect();
    let mut pixels = Vec::new();
    let mut mask = Vec::new();
    ffi::error::reset();
    for (done, window) in windows.iter().enumerate() {
        for (index, (band, count)) in bands.iter().zip(&mut counts).enumerate() {
            go_on(watch)?;
            pixels.resize(window.pixels(), 0.0);
            let read = band.read_into_slice::<f64>(
                window.origin(),
                window.size(),
                window.size(),
                &mut pixels,
                None,
            );
            read.map_err(|_| corrupt(opened, index + 1, window))?;
            if !count.has_mask {
                count.add(&pixels, None);
                continue;
            }
            mask.resize(window.pixels(), 0);
            let read = band.open_mask_band().and_then(|band| {
                band.read_into_slice::<u8>(
                    window.origin(),
                    window.size(),
                    window.size(),
                    &mut mask,
                    None,
                )
            });
            read.map_err(|_| corrupt(opened, index + 1, window))?;
            count.add(&pixels, Some(&mask));
        }
        watch.progress(share(done + 1, windows.len()));
    }
    Ok(counts.into_iter().map(Count::finish).collect())
}

#[expect(clippy::cast_precision_loss, reason = "a fraction for people")]
pub(crate) fn share(done: usize, all: usize) -> f64 {
    done as f64 / all.max(1) as f64
}

fn corrupt(opened: &Opened, band: usize, window: &Window) -> Failure {
    let Window { x, y, .. } = window;
    let what = format!(
        "`{}` cannot be read near column {x}, row {y} of band {band}. The file is damaged or cut off",
        opened.name
    );
    noted("corrupt_blocks", &what, &opened.path, &ffi::error::noted())
}

/// Statistics of one band, merged window by window.
struct Count {
    nodata: Option<f64>,
    has_mask: bool,
    all: u64,
    valid: u64,
    minimum: f64,
    maximum: f64,
    mean: f64,
    squares: f64,
}

impl Count {
    fn new(band: &RasterBand<'_>) -> Self {
        let masked = band
            .mask_flags()
            .is_ok_and(|flags| !flags.is_nodata() && (flags.is_per_dataset() || flags.is_alpha()));
        Self {
            nodata: nodata(band),
            has_mask: masked,
            all: 0,
            valid: 0,
            minimum: f64::INFINITY,
            maximum: f64::NEG_INFINITY,
            mean: 0.0,
            squares: 0.0,
        }
    }

    /// Counts a window; means are merged as by Chan et al., which loses no digits on large rasters.
    #[expect(
        clippy::cast_precision_loss,
        reason = "counts of pixels stay far below 2^53"
    )]
    fn add(&mut self, pixels: &[f64], mask: Option<&[u8]>) {
        let nodata = self.nodata.unwrap_or(f64::NAN);
        let valid = |(index, value): (usize, &f64)| {
            let kept = mask.is_none_or(|mask| mask.get(index).is_some_and(|m| *m != 0));
            #[expect(clippy::float_cmp, reason = "nodata is a value, not a measurement")]
            let kept = kept && value.is_finite() && *value != nodata;
            kept.then_some(*value)
        };
        let (mut count, mut sum) = (0_u64, 0.0);
        for value in pixels.iter().enumerate().filter_map(valid) {
            count += 1;
            sum += value;
            self.minimum = self.minimum.min(value);
            self.maximum = self.maximum.max(value);
        }
        self.all += u64::try_from(pixels.len()).unwrap_or_default();
        if count == 0 {
            return;
        }
        let mean = sum / count as f64;
        let values = pixels.iter().enumerate().filter_map(valid);
        let squares: f64 = values.map(|value| (value - mean).powi(2)).sum();
        let (before, after) = (self.valid as f64, (self.valid + count) as f64);
        let apart = mean - self.mean;
        self.squares += squares + apart * apart * before * count as f64 / after;
        self.mean += apart * count as f64 / after;
        self.valid += count;
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "counts of pixels stay far below 2^53"
    )]
    fn finish(self) -> Option<Stats> {
        (self.valid > 0).then(|| Stats {
            minimum: self.minimum,
            maximum: self.maximum,
            mean: self.mean,
            stddev: (self.squares / self.valid as f64).sqrt(),
            valid_percent: self.valid as f64 * 100.0 / self.all as f64,
        })
    }
}

/// The nodata value as the pixels of this band can have it.
pub(super) fn nodata(band: &RasterBand<'_>) -> Option<f64> {
    #[expect(
        clippy::cast_precision_loss,
        reason = "pixels are compared as f64 as well"
    )]
    match band.band_type() {
        GdalDataType::Int64 => band.no_data_value_i64().map(|value| value as f64),
        GdalDataType::UInt64 => band.no_data_value_u64().map(|value| value as f64),
        #[expect(clippy::cast_possible_truncation, reason = "as the file stores it")]
        GdalDataType::Float32 => band.no_data_value().map(|value| f64::from(value as f32)),
        _ => band.no_data_value(),
    }
}

#[cfg(test)]
mod tests {
    use super::cover;

    #[test]
    fn windows_cover_every_pixel_once() {
        for (width, height, block) in [
            (1, 1, (1, 1)),
            (5000, 3000, (256, 256)),
            (5000, 3000, (5000, 1)),
            (5000, 3000, (5000, 3000)),
            (100_000, 7, (100_000, 7)),
            (7, 100_000, (7, 1)),
        ] {
            let windows = cover(width, height, block);
            let pixels: usize = windows.iter().map(super::Window::pixels).sum();
            assert_eq!(pixels, width * height);
            assert!(
                windows
                    .iter()
                    .all(|w| w.pixels() <= 2 * super::WINDOW_PIXELS)
            );
        }
    }
}
