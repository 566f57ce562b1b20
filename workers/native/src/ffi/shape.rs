//! A geometry of our own: cloned from a feature, changed and written out as EWKB.

use std::ffi::c_int;

use gdal::cpl::CslStringList;
use gdal::spatial_ref::CoordTransform;
use gdal_sys::{OGREnvelope, OGRErr, OGRGeometryH, OGRwkbByteOrder, OGRwkbGeometryType};

/// Flag of EWKB: an SRID follows the type.
const EWKB_SRID: u32 = 0x2000_0000;

/// A geometry that we own.
#[derive(Debug)]
pub(crate) struct Shape(OGRGeometryH);

impl Drop for Shape {
    fn drop(&mut self) {
        // SAFETY: the handle is ours alone and is not used again.
        unsafe { gdal_sys::OGR_G_DestroyGeometry(self.0) };
    }
}

impl Shape {
    /// Takes over a fresh geometry; nothing if there is none.
    ///
    /// # Safety
    /// The handle must be null or a geometry that nobody else frees.
    pub(super) unsafe fn own(handle: OGRGeometryH) -> Option<Self> {
        (!handle.is_null()).then_some(Self(handle))
    }

    /// Type of OGR without Z and M.
    pub(crate) fn kind(&self) -> OGRwkbGeometryType::Type {
        // SAFETY: the handle is alive.
        unsafe { gdal_sys::OGR_GT_Flatten(gdal_sys::OGR_G_GetGeometryType(self.0)) }
    }

    pub(crate) fn has_z(&self) -> bool {
        // SAFETY: the handle is alive.
        unsafe { gdal_sys::OGR_G_Is3D(self.0) != 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        // SAFETY: the handle is alive.
        unsafe { gdal_sys::OGR_G_IsEmpty(self.0) != 0 }
    }

    pub(crate) fn is_valid(&self) -> bool {
        // SAFETY: the handle is alive.
        unsafe { gdal_sys::OGR_G_IsValid(self.0) != 0 }
    }

    /// [min x, min y, max x, max y].
    pub(crate) fn bounds(&self) -> [f64; 4] {
        let mut found = OGREnvelope {
            MinX: 0.0,
            MaxX: 0.0,
            MinY: 0.0,
            MaxY: 0.0,
        };
        // SAFETY: the handle is alive and `found` may be written.
        unsafe { gdal_sys::OGR_G_GetEnvelope(self.0, &raw mut found) };
        [found.MinX, found.MinY, found.MaxX, found.MaxY]
    }

    /// Without curves and without M: PostGIS columns of plain types take neither.
    pub(crate) fn plain(self) -> Option<Self> {
        // SAFETY: the handle is alive; a linear copy is a fresh geometry.
        unsafe {
            let plain = if gdal_sys::OGR_G_HasCurveGeometry(self.0, 0) != 0 {
                Self::own(gdal_sys::OGR_G_GetLinearGeometry(
                    self.0,
                    0.0,
                    std::ptr::null_mut(),
                ))?
            } else {
                self
            };
            gdal_sys::OGR_G_SetMeasured(plain.0, 0);
            Some(plain)
        }
    }

    pub(crate) fn set_z(&self, has_z: bool) {
        // SAFETY: the handle is alive.
        unsafe { gdal_sys::OGR_G_Set3D(self.0, c_int::from(has_z)) };
    }

    /// Reprojects in place; false if any point has no place in the other system.
    pub(crate) fn transform(&self, transform: &CoordTransform) -> bool {
        // SAFETY: both handles are alive.
        unsafe { gdal_sys::OGR_G_Transform(self.0, transform.to_c_hct()) == OGRErr::OGRERR_NONE }
    }

    /// A valid geometry of the same area, without the parts that collapsed.
    pub(crate) fn repaired(&self) -> Option<Self> {
        let mut options = CslStringList::new();
        options.set_name_value("METHOD", "STRUCTURE").ok()?;
        options.set_name_value("KEEP_COLLAPSED", "NO").ok()?;
        // SAFETY: the handle is alive; the result is a fresh geometry or null.
        unsafe { Self::own(gdal_sys::OGR_G_MakeValidEx(self.0, options.as_ptr())) }
    }

    /// The same points as another type, if OGR knows how; otherwise unchanged.
    pub(crate) fn forced(self, kind: OGRwkbGeometryType::Type) -> Option<Self> {
        let target = if self.has_z() {
            // SAFETY: a function of numbers.
            unsafe { gdal_sys::OGR_GT_SetZ(kind) }
        } else {
            kind
        };
        let handle = self.0;
        std::mem::forget(self);
        // SAFETY: the call takes the geometry over and gives one back, which is ours.
        unsafe {
            Self::own(gdal_sys::OGR_G_ForceTo(
                handle,
                target,
                std::ptr::null_mut(),
            ))
        }
    }

    /// EWKB, little-endian, with the SRID. OGR's older form of WKB marks Z just as EWKB does.
    pub(crate) fn ewkb(&self, srid: i32) -> Option<Vec<u8>> {
        // SAFETY: the handle is alive.
        let size = unsafe { gdal_sys::OGR_G_WkbSizeEx(self.0) };
        let mut wkb = vec![0_u8; size];
        // SAFETY: the buffer has the size that OGR asked for.
        let failed = unsafe {
            gdal_sys::OGR_G_ExportToWkb(self.0, OGRwkbByteOrder::wkbNDR, wkb.as_mut_ptr())
        };
        let head: [u8; 4] = wkb.get(1..5)?.try_into().ok()?;
        if failed != OGRErr::OGRERR_NONE {
            return None;
        }
        let mut ewkb = Vec::with_capacity(size + 4);
        ewkb.push(1);
        ewkb.extend((u32::from_le_bytes(head) | EWKB_SRID).to_le_bytes());
        ewkb.extend(srid.to_le_bytes());
        ewkb.extend(wkb.get(5..)?);
        Some(ewkb)
    }
}

/// The type without curves, Z and M.
pub(crate) fn linear_kind(kind: OGRwkbGeometryType::Type) -> OGRwkbGeometryType::Type {
    // SAFETY: functions of numbers.
    unsafe { gdal_sys::OGR_GT_Flatten(gdal_sys::OGR_GT_GetLinear(kind)) }
}

pub(crate) fn kind_has_z(kind: OGRwkbGeometryType::Type) -> bool {
    // SAFETY: a function of numbers.
    unsafe { gdal_sys::OGR_GT_HasZ(kind) != 0 }
}
