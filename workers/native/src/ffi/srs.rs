//! Whether two reference systems are the same, and WKT2.

use std::ffi::{CStr, c_char};
use std::ptr;

use gdal::cpl::CslStringList;
use gdal::spatial_ref::SpatialRef;

/// Whether both mean the same, whatever they are called and in whichever order their axes are named.
pub(crate) fn is_same(one: &SpatialRef, other: &SpatialRef) -> bool {
    let mut options = CslStringList::new();
    for (key, value) in [
        ("IGNORE_DATA_AXIS_TO_SRS_AXIS_MAPPING", "YES"),
        ("CRITERION", "EQUIVALENT_EXCEPT_AXIS_ORDER_GEOGCRS"),
    ] {
        if options.set_name_value(key, value).is_err() {
            return false;
        }
    }
    // SAFETY: both handles are alive and the list ends with a null pointer.
    let same = unsafe {
        gdal_sys::OSRIsSameEx(one.to_c_hsrs(), other.to_c_hsrs(), options.as_ptr().cast())
    };
    same != 0
}

/// The definition as WKT2:2019.
pub(crate) fn wkt2(srs: &SpatialRef) -> Option<String> {
    let mut options = CslStringList::new();
    options.set_name_value("FORMAT", "WKT2_2019").ok()?;
    let mut text: *mut c_char = ptr::null_mut();
    // SAFETY: the handle is alive; GDAL writes a string of its own into `text`, freed below.
    unsafe {
        let failed =
            gdal_sys::OSRExportToWktEx(srs.to_c_hsrs(), &raw mut text, options.as_ptr().cast());
        if text.is_null() {
            return None;
        }
        let copy = CStr::from_ptr(text).to_string_lossy().into_owned();
        gdal_sys::VSIFree(text.cast());
        (failed == gdal_sys::OGRErr::OGRERR_NONE).then_some(copy)
    }
}
