//! One pass over all pixels: proves that every block can be read, compares, and counts.
//!
//! Windows are the outer loop and bands the inner one, so that files with interleaved bands are decoded once.

use domain::failure::Failure;
use gdal::Dataset;
use gdal::raster::{Buffer, GdalDataType, GdalType, RasterBand};
use geo::raster::Stats;

use super::check;
use super::count::{self, Count, Pixel};
use super::open::Opened;
use crate::failure::noted;
use crate::{Watch, ffi, go_on};

/// Pixels of a window, about.
const WINDOW_PIXELS: usize = 2 * 1024 * 1024;

/// Cache below which reading becomes slow whatever is read.
const CACHE_BYTES_MIN: i64 = 64 * 1024 * 1024;

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

/// Cache for reading window by window, so that a file of whole lines is not decoded once per window.
pub(super) fn cache_bytes(dataset: &Dataset) -> i64 {
    let lines = windows(dataset).first().map_or(1, |window| window.height);
    let bands = dataset.rasterbands().filter_map(Result::ok);
    let pixel: usize = bands
        .map(|band| usize::from(band.band_type().bytes()))
        .sum();
    // Twice: windows may begin in the middle of a block.
    let bytes = dataset.raster_size().0.saturating_mul(2 * lines * pixel);
    i64::try_from(bytes)
        .unwrap_or(i64::MAX)
        .max(CACHE_BYTES_MIN)
}

/// What a raster was made from, pixel by pixel.
#[derive(Clone, Copy)]
pub(super) struct Twin<'a> {
    pub(super) opened: &'a Opened,
    pub(super) dataset: &'a Dataset,
}

/// Reads every pixel of every band, compares it with its twin if there is one, and gives what was counted.
pub(super) fn all(
    opened: &Opened,
    twin: Option<Twin<'_>>,
    watch: &dyn Watch,
) -> Result<Vec<Option<Stats>>, Failure> {
    let windows = windows(&opened.dataset);
    let bands: Vec<RasterBand<'_>> = opened
        .dataset
        .rasterbands()
        .filter_map(Result::ok)
        .collect();
    let twins = twin.map(|twin| twin.dataset.rasterbands().filter_map(Result::ok));
    let twins: Vec<RasterBand<'_>> = twins.into_iter().flatten().collect();
    let mut counts: Vec<Count> = bands.iter().map(Count::new).collect();
    ffi::error::reset();
    for (done, window) in windows.iter().enumerate() {
        for (index, (band, count)) in bands.iter().zip(&mut counts).enumerate() {
            go_on(watch)?;
            let one = One {
                opened,
                band,
                twin: twin.zip(twins.get(index)),
                index,
                window,
            };
            match band.band_type() {
                GdalDataType::UInt8 if count::is_signed(band) => one.pass(count, add_signed)?,
                GdalDataType::UInt8 => one.pass(count, Count::add::<u8>)?,
                GdalDataType::UInt16 => one.pass(count, Count::add::<u16>)?,
                GdalDataType::Int16 => one.pass(count, Count::add::<i16>)?,
                GdalDataType::UInt32 => one.pass(count, Count::add::<u32>)?,
                GdalDataType::Int32 => one.pass(count, Count::add::<i32>)?,
                GdalDataType::UInt64 => one.pass(count, Count::add::<u64>)?,
                GdalDataType::Int64 => one.pass(count, Count::add::<i64>)?,
                GdalDataType::Float32 => one.pass(count, Count::add::<f32>)?,
                _ => one.pass(count, Count::add::<f64>)?,
            }
        }
        watch.progress(share(done + 1, windows.len()));
    }
    Ok(counts.into_iter().map(Count::finish).collect())
}

/// How pixels are counted.
type Add<T> = fn(&mut Count, &[T], Option<&[u8]>);

fn add_signed(count: &mut Count, pixels: &[u8], mask: Option<&[u8]>) {
    let signed: Vec<i8> = pixels.iter().map(|byte| byte.cast_signed()).collect();
    count.add(&signed, mask);
}

/// One window of one band.
struct One<'a> {
    opened: &'a Opened,
    band: &'a RasterBand<'a>,
    twin: Option<(Twin<'a>, &'a RasterBand<'a>)>,
    index: usize,
    window: &'a Window,
}

impl One<'_> {
    fn pass<T: Pixel + GdalType>(&self, count: &mut Count, add: Add<T>) -> Result<(), Failure> {
        let damaged = |_| corrupt(self.opened, self.index + 1, self.window);
        let pixels = self.read::<T>(self.band).map_err(damaged)?;
        let mask = count.has_mask.then(|| self.mask(self.band));
        let mask = mask.transpose().map_err(damaged)?;
        add(count, pixels.data(), mask.as_ref().map(Buffer::data));
        let Some((twin, band)) = self.twin else {
            return Ok(());
        };
        let same = self.is_same(&pixels, mask.as_ref(), band);
        if same.map_err(|_| check::not_compared(twin.opened))? {
            return Ok(());
        }
        let Window { x, y, .. } = self.window;
        Err(check::broken(&format!(
            "its pixels differ near column {x}, row {y}"
        )))
    }

    fn is_same<T: Pixel + GdalType>(
        &self,
        pixels: &Buffer<T>,
        mask: Option<&Buffer<u8>>,
        twin: &RasterBand<'_>,
    ) -> gdal::errors::Result<bool> {
        let other = self.read::<T>(twin)?;
        let mut pairs = pixels.data().iter().zip(other.data());
        if !pairs.all(|(one, other)| one.is_same(*other)) {
            return Ok(false);
        }
        let flags = twin.mask_flags()?;
        if !flags.is_per_dataset() || flags.is_alpha() {
            return Ok(true);
        }
        let other = self.mask(twin)?;
        Ok(mask.is_some_and(|mask| mask.data() == other.data()))
    }

    fn read<T: Pixel + GdalType>(&self, band: &RasterBand<'_>) -> gdal::errors::Result<Buffer<T>> {
        let (origin, size) = (self.window.origin(), self.window.size());
        band.read_as::<T>(origin, size, size, None)
    }

    fn mask(&self, band: &RasterBand<'_>) -> gdal::errors::Result<Buffer<u8>> {
        self.read::<u8>(&band.open_mask_band()?)
    }
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
            let pixels: usize = windows.iter().map(|w| w.width * w.height).sum();
            assert_eq!(pixels, width * height);
            assert!(
                windows
                    .iter()
                    .all(|w| w.width * w.height <= 2 * super::WINDOW_PIXELS)
            );
        }
    }
}
