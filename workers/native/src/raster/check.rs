//! Whether what was written is what was meant: a file that opens proves nothing.

use domain::failure::{Failure, FailureClass};
use gdal::Dataset;
use gdal::spatial_ref::SpatialRef;

use super::count::nodata;
use super::look;
use super::open::Opened;
use crate::failure::noted;
use crate::ffi;

/// Every block of every band and overview was written.
pub(super) fn written(result: &Opened) -> Result<(), Failure> {
    for band in result.dataset.rasterbands().filter_map(Result::ok) {
        let count = usize::try_from(band.overview_count().unwrap_or(0)).unwrap_or(0);
        let overviews = (0..count).filter_map(|index| band.overview(index).ok());
        for level in overviews
            .map(|level| ffi::raster::coverage(&level))
            .chain([ffi::raster::coverage(&band)])
        {
            if level.0 || level.1 < 100.0 {
                return Err(broken(&format!(
                    "only {:.1} % of its blocks were written",
                    level.1
                )));
            }
        }
    }
    Ok(())
}

/// Size, place, CRS and nodata are those of the reference.
pub(super) fn same_frame(
    reference: &Dataset,
    srs: &SpatialRef,
    result: &Opened,
) -> Result<(), Failure> {
    let made = &result.dataset;
    if reference.raster_size() != made.raster_size()
        || reference.raster_count() != made.raster_count()
    {
        return Err(broken("its size is another one"));
    }
    let (Ok(wanted), found) = (reference.geo_transform(), look::transform(result)?) else {
        return Err(broken("its source lost its place"));
    };
    let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-9 * a.abs().max(1.0);
    if !wanted.iter().zip(&found).all(close) {
        return Err(broken("it lies in another place"));
    }
    let kept = made.spatial_ref().is_ok_and(|found| {
        ffi::srs::is_same(srs, &found)
            || matches!((srs.to_proj4(), found.to_proj4()), (Ok(a), Ok(b)) if a.trim() == b.trim())
    });
    if !kept {
        return Err(crate::failure::permanent(
            "crs_not_kept",
            &format!(
                "GeoTIFF cannot hold the CRS {}. Give a target_crs, or an input_crs with a code.",
                crate::crs::describe(srs).name
            ),
        ));
    }
    for (one, other) in reference.rasterbands().zip(made.rasterbands()) {
        let (Ok(one), Ok(other)) = (one, other) else {
            return Err(broken("a band is missing"));
        };
        let (a, b) = (nodata(&one), nodata(&other));
        let nan = |value: Option<f64>| value.is_some_and(f64::is_nan);
        if a != b && !(nan(a) && nan(b)) {
            return Err(broken("its nodata value changed"));
        }
    }
    Ok(())
}

/// The source could be read when the copy was made, and cannot now.
pub(super) fn not_compared(reference: &Opened) -> Failure {
    let what = format!("`{}` could not be compared with its copy", reference.name);
    noted(
        "corrupt_blocks",
        &what,
        &reference.path,
        &ffi::error::noted(),
    )
}

/// A result that is not what it should be. Nobody's data is at fault, so another try may do.
pub(super) fn broken(what: &str) -> Failure {
    Failure::new(
        FailureClass::Transient,
        "result_differs",
        &format!("The file that was written is not what it should be: {what}. It was removed."),
    )
}
