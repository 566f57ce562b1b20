//! A small picture for people.

use std::path::Path;

use domain::failure::Failure;
use gdal::DriverManager;
use gdal::cpl::CslStringList;
use gdal::raster::{Buffer, ColorInterpretation, GdalDataType, RasterBand, ResampleAlg};

use super::count;
use super::open::{self, Opened};
use super::workplace::Workplace;
use crate::failure::{noted, permanent};
use crate::ffi;

/// Longest edge of the picture.
const EDGE: usize = 512;

/// Red, green, blue and opacity.
type Pixel = [u8; 4];

/// Writes a PNG of at most 512 pixels per edge; pixels without data are transparent.
pub fn thumbnail(source: &Path, target: &Path) -> Result<(), Failure> {
    // Only a few pixels are read, so the size does not matter.
    let opened = open::open(source, u64::MAX)?;
    let workplace = Workplace::new(target)?;
    let (width, height) = opened.dataset.raster_size();
    let longest = width.max(height);
    let small = |edge: usize| {
        if longest <= EDGE {
            edge
        } else {
            (edge * EDGE / longest).max(1)
        }
    };
    let size = (small(width), small(height));
    ffi::error::reset();
    let pixels = pixels(&opened, size).map_err(|_| {
        let what = format!(
            "`{}` cannot be read. The file is damaged or cut off",
            opened.name
        );
        noted("corrupt_blocks", &what, &opened.path, &ffi::error::noted())
    })?;
    let file = workplace.file("picture.png");
    write(&file, size, &pixels).map_err(|_| {
        let what = format!("The picture of `{}` could not be written", opened.name);
        noted(
            "thumbnail_failed",
            &what,
            &opened.path,
            &ffi::error::noted(),
        )
    })?;
    if !file.is_file() {
        return Err(permanent(
            "thumbnail_failed",
            "The picture was not written.",
        ));
    }
    workplace.finish(&file)
}

fn pixels(opened: &Opened, size: (usize, usize)) -> gdal::errors::Result<Vec<Pixel>> {
    let dataset = &opened.dataset;
    let first = dataset.rasterband(1)?;
    let opacity = opacity(&first, size)?;
    if let Some(table) = first.color_table() {
        let indexes = read(&first, size, ResampleAlg::NearestNeighbour)?;
        let colour = |(value, opacity): (f64, u8)| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "indexes of a palette"
            )]
            let entry = table.entry_as_rgb(value.max(0.0) as usize);
            let byte = |value: i16| u8::try_from(value.clamp(0, 255)).unwrap_or(u8::MAX);
            entry.map_or([0; 4], |entry| {
                [
                    byte(entry.r),
                    byte(entry.g),
                    byte(entry.b),
                    byte(entry.a).min(opacity),
                ]
            })
        };
        return Ok(indexes.into_iter().zip(opacity).map(colour).collect());
    }
    let chosen = choose(opened)?;
    let as_it_is = chosen.len() == 3
        && chosen
            .iter()
            .all(|band| band.band_type() == GdalDataType::UInt8);
    let mut layers = Vec::new();
    for band in &chosen {
        let values = read(band, size, ResampleAlg::Average)?;
        let range = if as_it_is {
            (0.0, 255.0)
        } else {
            stretch(&values, &opacity)
        };
        layers.push((values, range));
    }
    let pixel = |(index, opacity): (usize, u8)| {
        let level = |layer: usize| {
            let (values, (low, high)) = layers.get(layer).or(layers.first())?;
            let value = values
                .get(index)
                .copied()
                .filter(|value| value.is_finite())?;
            let share = if high > low {
                (value - low) / (high - low)
            } else {
                0.5
            };
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "between 0 and 255"
            )]
            Some((share.clamp(0.0, 1.0) * 255.0).round() as u8)
        };
        match (level(0), level(1), level(2)) {
            (Some(red), Some(green), Some(blue)) => [red, green, blue, opacity],
            _ => [0; 4],
        }
    };
    Ok(opacity.iter().copied().enumerate().map(pixel).collect())
}

/// Red, green and blue if they are marked, else the first three bands, else the first.
fn choose(opened: &Opened) -> gdal::errors::Result<Vec<RasterBand<'_>>> {
    let dataset = &opened.dataset;
    let bands: Vec<_> = dataset.rasterbands().filter_map(Result::ok).collect();
    let wanted = [
        ColorInterpretation::RedBand,
        ColorInterpretation::GreenBand,
        ColorInterpretation::BlueBand,
    ];
    let find = |color: &ColorInterpretation| {
        let at = bands
            .iter()
            .position(|band| band.color_interpretation() == *color);
        at.map(|index| index + 1)
    };
    let marked: Option<Vec<usize>> = wanted.iter().map(find).collect();
    let data = bands
        .iter()
        .filter(|band| band.color_interpretation() != ColorInterpretation::AlphaBand);
    let indexes = match (marked, data.count()) {
        (Some(marked), _) => marked,
        (None, 3..) => vec![1, 2, 3],
        _ => vec![1],
    };
    indexes
        .into_iter()
        .map(|index| dataset.rasterband(index))
        .collect()
}

fn read(
    band: &RasterBand<'_>,
    size: (usize, usize),
    how: ResampleAlg,
) -> gdal::errors::Result<Vec<f64>> {
    let read = band.read_as::<f64>((0, 0), band.size(), size, Some(how))?;
    let mut values = read.into_shape_and_vec().1;
    let nodata = count::nodata(band);
    for value in &mut values {
        if Some(*value) == nodata {
            *value = f64::NAN;
        }
    }
    Ok(values)
}

fn opacity(band: &RasterBand<'_>, size: (usize, usize)) -> gdal::errors::Result<Vec<u8>> {
    let mask = band.open_mask_band()?;
    let read = mask.read_as::<u8>(
        (0, 0),
        mask.size(),
        size,
        Some(ResampleAlg::NearestNeighbour),
    )?;
    Ok(read.into_shape_and_vec().1)
}

/// The 2nd and 98th percentile of what can be seen.
fn stretch(values: &[f64], opacity: &[u8]) -> (f64, f64) {
    let seen = values
        .iter()
        .zip(opacity)
        .filter(|(value, opacity)| **opacity > 0 && value.is_finite());
    let mut seen: Vec<f64> = seen.map(|(value, _)| *value).collect();
    seen.sort_unstable_by(f64::total_cmp);
    let last = seen.len().saturating_sub(1);
    let at = |percent: usize| seen.get(last * percent / 100).copied().unwrap_or(0.0);
    (at(2), at(98))
}

fn write(file: &Path, size: (usize, usize), pixels: &[Pixel]) -> gdal::errors::Result<()> {
    let memory = DriverManager::get_driver_by_name("MEM")?;
    let dataset = memory.create("", size.0, size.1, 4)?;
    let colors = [
        ColorInterpretation::RedBand,
        ColorInterpretation::GreenBand,
        ColorInterpretation::BlueBand,
        ColorInterpretation::AlphaBand,
    ];
    for (index, color) in colors.into_iter().enumerate() {
        let values = pixels.iter().map(|pixel| pixel[index]).collect();
        let mut band = dataset.rasterband(index + 1)?;
        band.write((0, 0), size, &mut Buffer::new(size, values))?;
        band.set_color_interpretation(color)?;
    }
    let png = DriverManager::get_driver_by_name("PNG")?;
    dataset.create_copy(&png, file, &CslStringList::new())?;
    Ok(())
}
