//! What GDAL complains about, kept per thread instead of printed.
//!
//! The first failure since [`reset`] is the one kept: those after it are mostly its consequences.

use std::cell::RefCell;
use std::ffi::{CStr, c_char};
use std::panic::catch_unwind;

use gdal_sys::CPLErr;

/// Number of GDAL for "out of memory".
const OUT_OF_MEMORY: i32 = 2;
/// Warnings kept at most; a broken file can give thousands.
const WARNINGS_MAX: usize = 20;

thread_local! {
    static NOTED: RefCell<Noted> = RefCell::default();
}

/// What was noted on this thread.
#[derive(Debug, Clone, Default)]
pub(crate) struct Noted {
    /// Whether anything failed.
    pub(crate) failed: bool,
    pub(crate) number: i32,
    pub(crate) message: String,
    pub(crate) warnings: Vec<String>,
}

impl Noted {
    pub(crate) fn is_disk_full(&self) -> bool {
        let full = [
            "No space left on device",
            "Free disk space",
            "Disk quota exceeded",
        ];
        full.iter().any(|text| self.message.contains(text))
    }

    pub(crate) fn is_out_of_memory(&self) -> bool {
        self.number == OUT_OF_MEMORY && self.failed
    }
}

/// Replaces the handler that prints to stderr, for the whole process.
pub(crate) fn install() {
    // SAFETY: `handle` has the type that GDAL expects and lives as long as the process.
    unsafe { gdal_sys::CPLSetErrorHandler(Some(handle)) };
}

/// Forgets what was noted on this thread.
pub(crate) fn reset() {
    // SAFETY: has no preconditions; it clears GDAL's own state of this thread.
    unsafe { gdal_sys::CPLErrorReset() };
    NOTED.with_borrow_mut(|noted| *noted = Noted::default());
}

/// What was noted on this thread since [`reset`].
pub(crate) fn noted() -> Noted {
    NOTED.with_borrow(Clone::clone)
}

unsafe extern "C" fn handle(class: CPLErr::Type, number: i32, message: *const c_char) {
    // SAFETY: GDAL hands in a C string that lives during the call, or nothing.
    let message = (!message.is_null()).then(|| unsafe { CStr::from_ptr(message) });
    let message = message.map(|text| text.to_string_lossy().into_owned());
    let message = message.unwrap_or_default();
    // A panic must not cross into C; what could be noted was noted.
    let _ = catch_unwind(|| note(class, number, message));
}

fn note(class: CPLErr::Type, number: i32, message: String) {
    tracing::debug!(class, number, message, "GDAL says");
    // `try_with`: a thread that ends may still close a dataset.
    let _ = NOTED.try_with(|noted| {
        let Ok(mut noted) = noted.try_borrow_mut() else {
            return;
        };
        if class >= CPLErr::CE_Failure {
            if !noted.failed {
                noted.failed = true;
                noted.number = number;
                noted.message = message;
            }
        } else if class == CPLErr::CE_Warning && noted.warnings.len() < WARNINGS_MAX {
            noted.warnings.push(message);
        }
    });
}
