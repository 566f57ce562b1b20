//! Statistics of a band, merged window by window.

use gdal::Metadata as _;
use gdal::raster::{GdalDataType, RasterBand};
use geo::raster::Stats;

/// Pixels that are counted side by side: sums that do not wait for each other become vector instructions.
const LANES: usize = 8;

/// A value that pixels have.
pub(super) trait Pixel: Copy + PartialEq {
    fn value(self) -> f64;

    /// The same, where NaN is what NaN is.
    #[expect(clippy::eq_op, reason = "only NaN differs from itself")]
    fn is_same(self, other: Self) -> bool {
        self == other || (self != self && other != other)
    }
}

macro_rules! pixels {
    ($($kind:ty),*) => {$(
        impl Pixel for $kind {
            fn value(self) -> f64 {
                f64::from(self)
            }
        }
    )*};
}

pixels!(i8, u8, u16, i16, u32, i32, f32, f64);

#[expect(
    clippy::cast_precision_loss,
    reason = "nodata is compared as f64 as well"
)]
impl Pixel for u64 {
    fn value(self) -> f64 {
        self as f64
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "nodata is compared as f64 as well"
)]
impl Pixel for i64 {
    fn value(self) -> f64 {
        self as f64
    }
}

/// What was counted so far.
pub(super) struct Count {
    nodata: f64,
    all: u64,
    valid: u64,
    minimum: f64,
    maximum: f64,
    mean: f64,
    squares: f64,
}

impl Count {
    pub(super) fn new(band: &RasterBand<'_>) -> Self {
        Self {
            // No pixel equals NaN.
            nodata: nodata(band).unwrap_or(f64::NAN),
            all: 0,
            valid: 0,
            minimum: f64::INFINITY,
            maximum: f64::NEG_INFINITY,
            mean: 0.0,
            squares: 0.0,
        }
    }

    /// Counts a window.
    pub(super) fn add<T: Pixel>(&mut self, pixels: &[T], mask: Option<&[u8]>) {
        let valid = |value: &f64| value.is_finite() && *value != self.nodata;
        // Sums of what lies near zero lose no digits.
        let pivot = match self.valid {
            0 => pixels
                .iter()
                .map(|pixel| pixel.value())
                .find(valid)
                .unwrap_or_default(),
            _ => self.mean,
        };
        let mut sums = Sums::new(self.nodata, pivot);
        match mask {
            None => {
                let (groups, rest) = pixels.as_chunks::<LANES>();
                for group in groups {
                    sums.add(group, &[true; LANES]);
                }
                for pixel in rest {
                    sums.add(&[*pixel], &[true]);
                }
            }
            Some(mask) => {
                for (pixel, mask) in pixels.iter().zip(mask) {
                    sums.add(&[*pixel], &[*mask != 0]);
                }
            }
        }
        self.all += u64::try_from(pixels.len()).unwrap_or_default();
        self.merge(&sums);
    }

    /// Means are merged as by Chan et al., which loses no digits on large rasters.
    fn merge(&mut self, sums: &Sums) {
        let count: f64 = sums.count.iter().sum();
        if count == 0.0 {
            return;
        }
        let sum: f64 = sums.sum.iter().sum();
        let squares: f64 = sums.squares.iter().sum();
        let squares = (squares - sum * sum / count).max(0.0);
        let mean = sums.pivot + sum / count;
        let before = as_f64(self.valid);
        let (after, apart) = (before + count, mean - self.mean);
        self.squares += squares + apart * apart * before * count / after;
        self.mean += apart * count / after;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a count"
        )]
        let count = count as u64;
        self.valid += count;
        self.minimum = sums.low.iter().copied().fold(self.minimum, f64::min);
        self.maximum = sums.high.iter().copied().fold(self.maximum, f64::max);
    }

    pub(super) fn finish(self) -> Option<Stats> {
        (self.valid > 0).then(|| Stats {
            minimum: self.minimum,
            maximum: self.maximum,
            mean: self.mean,
            stddev: (self.squares / as_f64(self.valid)).sqrt(),
            valid_percent: as_f64(self.valid) * 100.0 / as_f64(self.all),
        })
    }
}

/// Sums of one window, in lanes.
struct Sums {
    nodata: f64,
    pivot: f64,
    count: [f64; LANES],
    sum: [f64; LANES],
    squares: [f64; LANES],
    low: [f64; LANES],
    high: [f64; LANES],
}

impl Sums {
    fn new(nodata: f64, pivot: f64) -> Self {
        Self {
            nodata,
            pivot,
            count: [0.0; LANES],
            sum: [0.0; LANES],
            squares: [0.0; LANES],
            low: [f64::INFINITY; LANES],
            high: [f64::NEG_INFINITY; LANES],
        }
    }

    /// Without a branch, so that all lanes take the same way.
    #[inline(always)]
    #[expect(clippy::float_cmp, reason = "nodata is a value, not a measurement")]
    fn add<T: Pixel, const N: usize>(&mut self, pixels: &[T; N], kept: &[bool; N]) {
        let Self { nodata, pivot, .. } = *self;
        let lanes = self
            .count
            .iter_mut()
            .zip(&mut self.sum)
            .zip(&mut self.squares);
        let lanes = lanes.zip(self.low.iter_mut().zip(&mut self.high));
        for ((((count, sum), squares), (low, high)), (pixel, kept)) in
            lanes.zip(pixels.iter().zip(kept))
        {
            let value = pixel.value();
            let valid = *kept & value.is_finite() & (value != nodata);
            let apart = if valid { value - pivot } else { 0.0 };
            *count += if valid { 1.0 } else { 0.0 };
            *sum += apart;
            *squares += apart * apart;
            let (lower, higher) = (
                if valid { value } else { f64::INFINITY },
                if valid { value } else { f64::NEG_INFINITY },
            );
            *low = if lower < *low { lower } else { *low };
            *high = if higher > *high { higher } else { *high };
        }
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of pixels stay far below 2^53"
)]
fn as_f64(count: u64) -> f64 {
    count as f64
}

/// Whether bytes are signed, which this GDAL has no type for.
pub(super) fn is_signed(band: &RasterBand<'_>) -> bool {
    band.band_type() == GdalDataType::UInt8
        && band
            .metadata_item("PIXELTYPE", "IMAGE_STRUCTURE")
            .is_some_and(|kind| kind == "SIGNEDBYTE")
}

/// Whether a mask says which pixels are valid, and not a value of theirs.
pub(super) fn is_masked(band: &RasterBand<'_>) -> bool {
    band.mask_flags()
        .is_ok_and(|flags| !flags.is_nodata() && (flags.is_per_dataset() || flags.is_alpha()))
}

/// The nodata value as the pixels of this band can have it.
pub(super) fn nodata(band: &RasterBand<'_>) -> Option<f64> {
    match band.band_type() {
        GdalDataType::Int64 => band.no_data_value_i64().map(Pixel::value),
        GdalDataType::UInt64 => band.no_data_value_u64().map(Pixel::value),
        #[expect(clippy::cast_possible_truncation, reason = "as the file stores it")]
        GdalDataType::Float32 => band.no_data_value().map(|value| f64::from(value as f32)),
        _ => band.no_data_value(),
    }
}
