//! One pass over all pixels: proves that every block can be read, compares, and counts.
//!
//! Windows are the outer loop and bands the inner one, so that files with interleaved bands are decoded once.

use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;

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

/// What is to be done with a window that was read: counts it, and says whether it is as it should be.
type Work = Box<dyn FnOnce(&mut Count) -> bool + Send>;

/// Work with the number of its band and the place of its window.
type Piece<'a> = (usize, &'a Window, Work);

/// Windows that wait to be counted.
const WAITING_MAX: usize = 1;

/// Reads every pixel of every band, compares it with its twin if there is one, and gives what was counted.
///
/// One thread reads, which is the only one that calls GDAL, and another counts: either takes about as long.
pub(super) fn all(
    opened: &Opened,
    twin: Option<Twin<'_>>,
    watch: &dyn Watch,
) -> Result<Vec<Option<Stats>>, Failure> {
    let windows = windows(&opened.dataset);
    let bands = bands(&opened.dataset);
    let counts: Vec<Count> = bands.iter().map(Count::new).collect();
    let counted = thread::scope(|scope| {
        let (hand_over, waiting) = mpsc::sync_channel(WAITING_MAX);
        let counting = scope.spawn(move || count_all(counts, &waiting));
        let read = read_all(opened, twin, &windows, &bands, watch, hand_over);
        let counted = counting.join();
        // What differs was found before whatever reading met after it.
        let counted = counted.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        read.map(|()| counted)
    })?;
    Ok(counted.into_iter().map(Count::finish).collect())
}

fn bands(dataset: &Dataset) -> Vec<RasterBand<'_>> {
    dataset.rasterbands().filter_map(Result::ok).collect()
}

fn count_all(mut counts: Vec<Count>, waiting: &Receiver<Piece<'_>>) -> Result<Vec<Count>, Failure> {
    for (band, window, work) in waiting {
        if counts.get_mut(band).is_some_and(|count| !work(count)) {
            let Window { x, y, .. } = window;
            let what = format!("its pixels differ near column {x}, row {y}");
            return Err(check::broken(&what));
        }
    }
    Ok(counts)
}

/// Ends early when nobody counts any more.
fn read_all<'a>(
    opened: &Opened,
    twin: Option<Twin<'_>>,
    windows: &'a [Window],
    bands: &[RasterBand<'_>],
    watch: &dyn Watch,
    hand_over: SyncSender<Piece<'a>>,
) -> Result<(), Failure> {
    let twins = twin.map(|twin| self::bands(twin.dataset));
    let twins = twins.unwrap_or_default();
    ffi::error::reset();
    for (done, window) in windows.iter().enumerate() {
        for (index, band) in bands.iter().enumerate() {
            go_on(watch)?;
            let one = One {
                opened,
                band,
                twin: twin.zip(twins.get(index)),
                index,
                window,
            };
            let work = match band.band_type() {
                GdalDataType::UInt8 if count::is_signed(band) => one.read(add_signed)?,
                GdalDataType::UInt8 => one.read(Count::add::<u8>)?,
                GdalDataType::UInt16 => one.read(Count::add::<u16>)?,
                GdalDataType::Int16 => one.read(Count::add::<i16>)?,
                GdalDataType::UInt32 => one.read(Count::add::<u32>)?,
                GdalDataType::Int32 => one.read(Count::add::<i32>)?,
                GdalDataType::UInt64 => one.read(Count::add::<u64>)?,
                GdalDataType::Int64 => one.read(Count::add::<i64>)?,
                GdalDataType::Float32 => one.read(Count::add::<f32>)?,
                _ => one.read(Count::add::<f64>)?,
            };
            if hand_over.send((index, window, work)).is_err() {
                return Ok(());
            }
        }
        watch.progress(share(done + 1, windows.len()));
    }
    Ok(())
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
    fn read<T>(&self, add: Add<T>) -> Result<Work, Failure>
    where
        T: Pixel + GdalType + Send + 'static,
    {
        let mine = self.pixels::<T>(self.band, count::is_masked(self.band));
        let mine = mine.map_err(|_| corrupt(self.opened, self.index + 1, self.window))?;
        let other = self.twin.map(|(twin, band)| {
            let masked = band
                .mask_flags()
                .map(|flags| flags.is_per_dataset() && !flags.is_alpha());
            let other = masked.and_then(|masked| self.pixels::<T>(band, masked));
            other.map_err(|_| check::not_compared(twin.opened))
        });
        let other = other.transpose()?;
        Ok(Box::new(move |count| {
            add(count, mine.values.data(), mine.mask());
            other.is_none_or(|other| mine.is_same(&other))
        }))
    }

    fn pixels<T: Pixel + GdalType>(
        &self,
        band: &RasterBand<'_>,
        masked: bool,
    ) -> gdal::errors::Result<Pixels<T>> {
        let (origin, size) = (self.window.origin(), self.window.size());
        let values = band.read_as::<T>(origin, size, size, None)?;
        let mask = masked.then(|| {
            let mask = band.open_mask_band()?;
            mask.read_as::<u8>(origin, size, size, None)
        });
        let mask = mask.transpose()?;
        Ok(Pixels { values, mask })
    }
}

/// A window that was read.
struct Pixels<T> {
    values: Buffer<T>,
    mask: Option<Buffer<u8>>,
}

impl<T: Pixel + GdalType> Pixels<T> {
    fn mask(&self) -> Option<&[u8]> {
        self.mask.as_ref().map(Buffer::data)
    }

    /// Whether these are what the twin has; masks count where the twin has one.
    fn is_same(&self, twin: &Self) -> bool {
        let (mine, other) = (self.values.data(), twin.values.data());
        // Plain memory is compared first, as that is several times faster.
        let same = mine == other
            || mine.len() == other.len()
                && mine
                    .iter()
                    .zip(other)
                    .all(|(mine, other)| mine.is_same(*other));
        same && (twin.mask.is_none() || self.mask() == twin.mask())
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
