//! GDAL, safely: opening, looking, translating, warping and reading, each with progress and cancel.
//!
//! Nothing here knows of jobs or stores: a path comes in, a value or a file comes out. A dataset is
//! opened, used and closed inside one call, because GDAL's handles must not be shared between threads.
//! The bytes and the directory of a source are never changed.

mod crs;
mod failure;
mod ffi;
mod footprint;
pub mod raster;
pub mod vector;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Once, OnceLock};

use domain::failure::Failure;

/// Who waits for a long call: hears how far it is, and may stop it.
pub trait Watch: Send + Sync {
    /// How much is done, from 0 to 1.
    fn progress(&self, fraction: f64);
    /// Asked often; once it says yes, the call ends soon with `cancelled`.
    fn is_cancelled(&self) -> bool;
}

/// What GDAL may use of this machine.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    pub cache_mb: u32,
    pub threads: u32,
}

/// Drivers that stay: those that open what people send, and those that write what we make.
const DRIVERS_KEPT: &[&str] = &["COG", "VRT", "MEM", "Memory"];

/// Prepares GDAL, once per process; later calls do nothing.
///
/// Every driver that no handler needs is taken out, so that neither a sidecar nor a disguised file can
/// reach one of the many that follow links to other files and hosts.
pub fn setup(settings: &Settings) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        ffi::error::install();
        let cache = settings.cache_mb.to_string();
        let threads = settings.threads.max(1).to_string();
        for (key, value) in [
            ("GDAL_CACHEMAX", cache.as_str()),
            ("GDAL_NUM_THREADS", threads.as_str()),
            // Else statistics of a source are written beside it.
            ("GDAL_PAM_ENABLED", "NO"),
            // Sidecars are looked for by name; directories of sources can be very large.
            ("GDAL_DISABLE_READDIR_ON_OPEN", "TRUE"),
            // Else a JPEG that was cut reads as grey.
            ("GDAL_ERROR_ON_LIBJPEG_WARNING", "YES"),
            // No extension ends like this, so nothing is fetched.
            ("CPL_VSIL_CURL_ALLOWED_EXTENSIONS", ".strata-never"),
            ("GDAL_HTTP_TIMEOUT", "1"),
            ("GDAL_HTTP_MAX_RETRY", "0"),
            ("PROJ_NETWORK", "OFF"),
            ("GML_SKIP_RESOLVE_ELEMS", "ALL"),
            ("OGR_SQLITE_LOAD_EXTENSIONS", "NO"),
        ] {
            if let Err(error) = gdal::config::set_config_option(key, value) {
                tracing::warn!(key, %error, "GDAL does not take a setting");
            }
        }
        gdal::DriverManager::register_all();
        remove_drivers();
    });
}

/// The one object that GDAL may read in place, and its size.
static ALLOWED: OnceLock<(PathBuf, u64)> = OnceLock::new();

/// Lets GDAL read one object of this size in place, with these settings; a second one is not allowed.
pub fn allow(object: &Path, bytes: u64, settings: &BTreeMap<String, String>) {
    if ALLOWED.set((object.to_owned(), bytes)).is_err() {
        return;
    }
    let name = object.to_string_lossy();
    let ours = [
        ("CPL_VSIL_CURL_ALLOWED_FILENAME", name.as_ref()),
        ("GDAL_HTTP_TIMEOUT", "60"),
        ("GDAL_HTTP_CONNECTTIMEOUT", "10"),
        ("GDAL_HTTP_MAX_RETRY", "3"),
        ("GDAL_HTTP_RETRY_DELAY", "1"),
    ];
    let given = settings
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()));
    for (key, value) in given.chain(ours) {
        if let Err(error) = gdal::config::set_config_option(key, value) {
            tracing::warn!(key, %error, "GDAL does not take a setting");
        }
    }
}

/// The size of the object that GDAL may read in place, if the path is its name.
pub(crate) fn allowed_bytes(path: &Path) -> Option<u64> {
    let (object, bytes) = ALLOWED.get()?;
    (object == path).then_some(*bytes)
}

/// One part of a longer call, so that progress runs from 0 to 1 only once.
pub(crate) struct Part<'a> {
    pub(crate) watch: &'a dyn Watch,
    pub(crate) from: f64,
    pub(crate) to: f64,
}

impl Watch for Part<'_> {
    fn progress(&self, fraction: f64) {
        let fraction = fraction.clamp(0.0, 1.0);
        self.watch
            .progress(self.from + (self.to - self.from) * fraction);
    }

    fn is_cancelled(&self) -> bool {
        self.watch.is_cancelled()
    }
}

/// Fails when the watch wants to stop.
pub(crate) fn go_on(watch: &dyn Watch) -> Result<(), Failure> {
    if watch.is_cancelled() {
        return Err(failure::cancelled());
    }
    Ok(())
}

fn remove_drivers() {
    let kept = |name: &str| {
        DRIVERS_KEPT.contains(&name)
            || raster::DRIVERS.contains(&name)
            || vector::DRIVERS.contains(&name)
    };
    let mut unwanted = Vec::new();
    for index in 0..gdal::DriverManager::count() {
        if let Ok(driver) = gdal::DriverManager::get_driver(index)
            && !kept(&driver.short_name())
        {
            unwanted.push(driver);
        }
    }
    for driver in &unwanted {
        gdal::DriverManager::deregister_driver(driver);
    }
}
