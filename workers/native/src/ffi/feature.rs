//! Features and their fields, with texts as the bytes that they are.

use std::ffi::{CStr, CString, c_int};
use std::slice;

use gdal::vector::{Defn, Layer, LayerAccess};
use gdal_sys::{OGRFeatureH, OGRFieldSubType, OGRFieldType};

use super::shape::Shape;

/// A field of a layer.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) kind: OGRFieldType::Type,
    pub(crate) subkind: OGRFieldSubType::Type,
}

/// Parts of a date and time as OGR has them.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Moment {
    pub(crate) year: i32,
    pub(crate) month: i32,
    pub(crate) day: i32,
    pub(crate) hour: i32,
    pub(crate) minute: i32,
    pub(crate) second: f32,
    /// 0 unknown, 1 local, 100 UTC, else quarters of an hour from 100.
    pub(crate) zone: i32,
}

/// A feature that we own. OGR counts who uses the definitions behind it, so it may outlive its layer.
#[derive(Debug)]
pub(crate) struct Feature(OGRFeatureH);

impl Drop for Feature {
    fn drop(&mut self) {
        // SAFETY: the handle is ours alone and is not used again.
        unsafe { gdal_sys::OGR_F_Destroy(self.0) };
    }
}

/// The fields of a layer, in order.
pub(crate) fn fields(defn: &Defn) -> Vec<Field> {
    // SAFETY: the definition is alive; indexes are below the count; names are C strings of OGR.
    unsafe {
        let count = gdal_sys::OGR_FD_GetFieldCount(defn.c_defn());
        let field = |index| {
            let field = gdal_sys::OGR_FD_GetFieldDefn(defn.c_defn(), index);
            let name = CStr::from_ptr(gdal_sys::OGR_Fld_GetNameRef(field));
            Field {
                name: name.to_string_lossy().into_owned(),
                kind: gdal_sys::OGR_Fld_GetType(field),
                subkind: gdal_sys::OGR_Fld_GetSubType(field),
            }
        };
        (0..count).map(field).collect()
    }
}

/// Starts again at the first feature.
pub(crate) fn rewind(layer: &mut Layer<'_>) {
    // SAFETY: the layer is alive.
    unsafe { gdal_sys::OGR_L_ResetReading(layer.c_layer()) };
}

/// The next feature; nothing at the end or after a failure that was noted.
pub(crate) fn next(layer: &mut Layer<'_>) -> Option<Feature> {
    // SAFETY: the layer is alive; a feature that is not null is ours.
    let handle = unsafe { gdal_sys::OGR_L_GetNextFeature(layer.c_layer()) };
    (!handle.is_null()).then_some(Feature(handle))
}

/// The feature with this number.
pub(crate) fn get(layer: &mut Layer<'_>, fid: i64) -> Option<Feature> {
    // SAFETY: the layer is alive; a feature that is not null is ours.
    let handle = unsafe { gdal_sys::OGR_L_GetFeature(layer.c_layer(), fid) };
    (!handle.is_null()).then_some(Feature(handle))
}

/// Lets the layer skip all features up to this number, if it can; false if it cannot.
pub(crate) fn skip_to(layer: &mut Layer<'_>, after: i64) -> bool {
    let Ok(filter) = CString::new(format!("FID > {after}")) else {
        return false;
    };
    // SAFETY: the layer and the text are alive.
    let failed = unsafe { gdal_sys::OGR_L_SetAttributeFilter(layer.c_layer(), filter.as_ptr()) };
    failed == gdal_sys::OGRErr::OGRERR_NONE
}

impl Feature {
    /// The number of the feature; -1 if it has none.
    pub(crate) fn fid(&self) -> i64 {
        // SAFETY: the handle is alive.
        unsafe { gdal_sys::OGR_F_GetFID(self.0) }
    }

    /// A copy of its geometry.
    pub(crate) fn shape(&self) -> Option<Shape> {
        // SAFETY: the handle is alive; what it lends is cloned, and the clone is ours.
        unsafe {
            let lent = gdal_sys::OGR_F_GetGeometryRef(self.0);
            if lent.is_null() {
                return None;
            }
            Shape::own(gdal_sys::OGR_G_Clone(lent))
        }
    }

    pub(crate) fn has(&self, field: c_int) -> bool {
        // SAFETY: the handle is alive; `field` is an index of its layer.
        unsafe { gdal_sys::OGR_F_IsFieldSetAndNotNull(self.0, field) != 0 }
    }

    pub(crate) fn integer(&self, field: c_int) -> i32 {
        // SAFETY: as in `has`.
        unsafe { gdal_sys::OGR_F_GetFieldAsInteger(self.0, field) }
    }

    pub(crate) fn big_integer(&self, field: c_int) -> i64 {
        // SAFETY: as in `has`.
        unsafe { gdal_sys::OGR_F_GetFieldAsInteger64(self.0, field) }
    }

    pub(crate) fn real(&self, field: c_int) -> f64 {
        // SAFETY: as in `has`.
        unsafe { gdal_sys::OGR_F_GetFieldAsDouble(self.0, field) }
    }

    /// The text, and whether some of its bytes were no UTF-8 and were replaced.
    pub(crate) fn text(&self, field: c_int) -> (String, bool) {
        // SAFETY: as in `has`; OGR lends a C string until the next call, and it is copied here.
        let bytes = unsafe {
            let lent = gdal_sys::OGR_F_GetFieldAsString(self.0, field);
            if lent.is_null() {
                return (String::new(), false);
            }
            CStr::from_ptr(lent)
        };
        let text = bytes.to_string_lossy();
        let replaced = matches!(text, std::borrow::Cow::Owned(_));
        (text.into_owned(), replaced)
    }

    pub(crate) fn bytes(&self, field: c_int) -> Vec<u8> {
        let mut count: c_int = 0;
        // SAFETY: as in `has`; OGR lends `count` bytes, which are copied here.
        unsafe {
            let lent = gdal_sys::OGR_F_GetFieldAsBinary(self.0, field, &raw mut count);
            match usize::try_from(count) {
                Ok(count) if count > 0 && !lent.is_null() => {
                    slice::from_raw_parts(lent, count).to_vec()
                }
                _ => Vec::new(),
            }
        }
    }

    pub(crate) fn moment(&self, field: c_int) -> Option<Moment> {
        let mut found = Moment::default();
        // SAFETY: as in `has`; all parts may be written.
        let done = unsafe {
            gdal_sys::OGR_F_GetFieldAsDateTimeEx(
                self.0,
                field,
                &raw mut found.year,
                &raw mut found.month,
                &raw mut found.day,
                &raw mut found.hour,
                &raw mut found.minute,
                &raw mut found.second,
                &raw mut found.zone,
            )
        };
        (done != 0).then_some(found)
    }

    pub(crate) fn big_integers(&self, field: c_int) -> Vec<i64> {
        let mut count: c_int = 0;
        // SAFETY: as in `has`; OGR lends `count` numbers, which are copied here.
        unsafe {
            let lent = gdal_sys::OGR_F_GetFieldAsInteger64List(self.0, field, &raw mut count);
            match usize::try_from(count) {
                Ok(count) if count > 0 && !lent.is_null() => {
                    slice::from_raw_parts(lent, count).to_vec()
                }
                _ => Vec::new(),
            }
        }
    }

    pub(crate) fn integers(&self, field: c_int) -> Vec<i32> {
        let mut count: c_int = 0;
        // SAFETY: as in `has`; OGR lends `count` numbers, which are copied here.
        unsafe {
            let lent = gdal_sys::OGR_F_GetFieldAsIntegerList(self.0, field, &raw mut count);
            match usize::try_from(count) {
                Ok(count) if count > 0 && !lent.is_null() => {
                    slice::from_raw_parts(lent, count).to_vec()
                }
                _ => Vec::new(),
            }
        }
    }

    pub(crate) fn reals(&self, field: c_int) -> Vec<f64> {
        let mut count: c_int = 0;
        // SAFETY: as in `has`; OGR lends `count` numbers, which are copied here.
        unsafe {
            let lent = gdal_sys::OGR_F_GetFieldAsDoubleList(self.0, field, &raw mut count);
            match usize::try_from(count) {
                Ok(count) if count > 0 && !lent.is_null() => {
                    slice::from_raw_parts(lent, count).to_vec()
                }
                _ => Vec::new(),
            }
        }
    }

    pub(crate) fn texts(&self, field: c_int) -> Vec<String> {
        let mut texts = Vec::new();
        // SAFETY: as in `has`; OGR lends a list that ends with a null pointer, which is copied here.
        unsafe {
            let mut lent = gdal_sys::OGR_F_GetFieldAsStringList(self.0, field);
            while !lent.is_null() && !(*lent).is_null() {
                texts.push(CStr::from_ptr(*lent).to_string_lossy().into_owned());
                lent = lent.add(1);
            }
        }
        texts
    }
}
