//! GDAL's progress callback, as a [`Watch`].

use std::ffi::{c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::Watch;

/// A fat pointer behind a thin one, for the callback.
pub(crate) struct Call<'a> {
    watch: &'a dyn Watch,
}

impl<'a> Call<'a> {
    pub(crate) fn new(watch: &'a dyn Watch) -> Self {
        Self { watch }
    }

    /// For GDAL; valid while `self` is.
    pub(crate) fn data(&self) -> *mut c_void {
        std::ptr::from_ref(self).cast_mut().cast()
    }
}

/// Tells the watch how far it is; 0 asks GDAL to stop. May be called from GDAL's own threads.
pub(crate) unsafe extern "C" fn report(
    fraction: f64,
    _message: *const c_char,
    data: *mut c_void,
) -> c_int {
    // SAFETY: `data` comes from `Call::data` of a call that outlives GDAL's function; `Watch` is `Sync`.
    let call = unsafe { &*data.cast::<Call<'_>>() };
    let told = catch_unwind(AssertUnwindSafe(|| {
        call.watch.progress(fraction);
        !call.watch.is_cancelled()
    }));
    c_int::from(told.unwrap_or(false))
}
