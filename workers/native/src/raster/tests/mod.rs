//! Rasters made here, and what becomes of them.

mod bad;
mod cog;
mod look;
mod warp;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use gdal::raster::{Buffer, GdalType, RasterCreationOptions};
use gdal::spatial_ref::SpatialRef;
use gdal::{Dataset, DriverManager};

use super::{CogOptions, LookOptions};
use crate::Watch;

/// Stops at a fraction, if one is given.
#[derive(Default)]
pub(crate) struct TestWatch {
    pub(crate) stop_at: Option<f64>,
    stopped: AtomicBool,
    calls: AtomicU32,
}

impl TestWatch {
    pub(crate) fn stop_at(fraction: f64) -> Self {
        Self {
            stop_at: Some(fraction),
            ..Self::default()
        }
    }

    fn calls(&self) -> u32 {
        self.calls.load(Ordering::Relaxed)
    }
}

impl Watch for TestWatch {
    fn progress(&self, fraction: f64) {
        assert!((0.0..=1.0).contains(&fraction), "{fraction}");
        self.calls.fetch_add(1, Ordering::Relaxed);
        if self.stop_at.is_some_and(|stop| fraction >= stop) {
            self.stopped.store(true, Ordering::Relaxed);
        }
    }

    fn is_cancelled(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

/// A raster to make.
pub(crate) struct Make<'a> {
    pub(crate) size: (usize, usize),
    pub(crate) bands: usize,
    pub(crate) crs: Option<&'a str>,
    pub(crate) transform: Option<[f64; 6]>,
    pub(crate) nodata: Option<f64>,
    pub(crate) options: &'a [&'a str],
}

impl Default for Make<'_> {
    fn default() -> Self {
        Self {
            size: (300, 200),
            bands: 1,
            crs: Some("EPSG:32633"),
            transform: Some([500_000.0, 10.0, 0.0, 5_000_000.0, 0.0, -10.0]),
            nodata: None,
            options: &[],
        }
    }
}

impl Make<'_> {
    /// Writes a GeoTIFF whose pixels are `value(band, x, y)`.
    pub(crate) fn tif<T: GdalType + Copy>(
        &self,
        path: &Path,
        value: impl Fn(usize, usize, usize) -> T,
    ) {
        drop(self.open::<T>(path, value));
    }

    pub(crate) fn open<T: GdalType + Copy>(
        &self,
        path: &Path,
        value: impl Fn(usize, usize, usize) -> T,
    ) -> Dataset {
        super::open::prepare();
        let driver = DriverManager::get_driver_by_name("GTiff").unwrap();
        let options = RasterCreationOptions::from_iter(self.options.iter().copied());
        let (width, height) = self.size;
        let mut dataset = driver
            .create_with_band_type_with_options::<T, _>(path, width, height, self.bands, &options)
            .unwrap();
        if let Some(crs) = self.crs {
            let srs = SpatialRef::from_definition(crs).unwrap();
            dataset.set_spatial_ref(&srs).unwrap();
        }
        if let Some(transform) = &self.transform {
            dataset.set_geo_transform(transform).unwrap();
        }
        for band in 1..=self.bands {
            let mut target = dataset.rasterband(band).unwrap();
            if self.nodata.is_some() {
                target.set_no_data_value(self.nodata).unwrap();
            }
            let pixels = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
            let pixels = pixels.map(|(x, y)| value(band, x, y)).collect();
            let mut buffer = Buffer::new(self.size, pixels);
            target.write((0, 0), self.size, &mut buffer).unwrap();
        }
        dataset
    }
}

/// Noise that is the same every time.
pub(crate) fn noise(band: usize, x: usize, y: usize) -> u32 {
    let seed = u32::try_from(band * 7919 + x * 104_729 + y * 1_299_709).unwrap();
    let mut value = seed.wrapping_mul(2_654_435_761);
    value ^= value >> 15;
    value.wrapping_mul(2_246_822_519) >> 7
}

pub(crate) fn byte(band: usize, x: usize, y: usize) -> u8 {
    u8::try_from(noise(band, x, y) % 251).unwrap()
}

pub(crate) fn hills(_band: usize, x: usize, y: usize) -> f32 {
    let (x, y) = (
        f32::from(u16::try_from(x).unwrap()),
        f32::from(u16::try_from(y).unwrap()),
    );
    500.0 + 200.0 * (x / 40.0).sin() + 150.0 * (y / 30.0).cos()
}

pub(crate) fn looking() -> LookOptions {
    LookOptions {
        input_crs: None,
        raster_type: None,
        pixel_bytes_max: 1 << 30,
        read_all: true,
        stats: true,
    }
}

pub(crate) fn making(raster_type: &str, tier: &str) -> CogOptions {
    CogOptions {
        raster_type: raster_type.to_owned(),
        tier: tier.to_owned(),
        input_crs: None,
        target_crs: None,
        threads: 2,
        pixel_bytes_max: 1 << 30,
    }
}

/// Runs a program of GDAL and gives what it prints.
pub(crate) fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(
        output.status.success(),
        "{program}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// Checksums of all bands, as `gdalinfo` finds them.
pub(crate) fn checksums(path: &Path) -> Vec<String> {
    let text = run("gdalinfo", &["-checksum", path.to_str().unwrap()]);
    text.lines()
        .filter(|line| line.contains("Checksum="))
        .map(|line| line.trim().to_owned())
        .collect()
}

/// Names and contents of a directory.
pub(crate) fn contents(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = std::fs::read_dir(directory)
        .unwrap()
        .map(|file| file.unwrap().path());
    files
        .map(|path| (path.clone(), std::fs::read(&path).unwrap_or_default()))
        .collect()
}

pub(crate) fn names(directory: &Path) -> Vec<String> {
    contents(directory)
        .keys()
        .map(|path| crate::failure::name(path))
        .collect()
}
