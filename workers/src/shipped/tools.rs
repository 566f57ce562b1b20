//! What the geospatial handlers work with.

use std::sync::Arc;

use domain::failure::{Failure, FailureClass};
use geo::catalog::Catalog;
use serde::Deserialize;
use serde_json::Value;

use crate::child::Children;
use crate::tiers::Tiers;

/// Stores, children and the catalog of a worker.
#[derive(Clone)]
pub struct Tools {
    pub tiers: Tiers,
    pub children: Children,
    /// None if the worker was not told where it is.
    pub catalog: Option<CatalogAccess>,
}

/// The catalog, and its address for children.
#[derive(Clone)]
pub struct CatalogAccess {
    pub catalog: Catalog,
    pub url: String,
}

impl CatalogAccess {
    /// Reads the address; the first use connects.
    pub fn open(
        url: &str,
        stac_url: Option<String>,
        tiler_url: Option<String>,
    ) -> Result<Self, Failure> {
        Ok(Self {
            catalog: Catalog::connect(url, stac_url, tiler_url)?,
            url: url.to_owned(),
        })
    }
}

/// Tools are shared by all handlers.
pub(super) type Shared = Arc<Tools>;

impl Tools {
    pub(super) fn catalog(&self) -> Result<&CatalogAccess, Failure> {
        self.catalog.as_ref().ok_or_else(|| {
            Failure::new(
                FailureClass::Permanent,
                "no_catalog",
                "this worker has no catalog; start it with STRATA_CATALOG_URL, or send the task to a queue whose \
                 workers have one",
            )
        })
    }
}

/// What later handlers read of the output of `raster.validate`.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Validation {
    source_crs: Option<String>,
    crs_source: Option<String>,
    raster_type: Option<Value>,
}

impl Validation {
    /// The CRS that somebody gave because the file has none.
    pub(super) fn input_crs(&self) -> Option<String> {
        let given = self.crs_source.as_deref() == Some("override");
        self.source_crs.clone().filter(|_| given)
    }

    pub(super) fn source_crs(&self) -> Option<String> {
        self.source_crs.clone()
    }

    pub(super) fn raster_type(&self) -> Option<String> {
        let kind = self.raster_type.as_ref()?.get("type")?.as_str()?;
        Some(kind.to_owned())
    }
}

/// `auto` and nothing both leave it to us.
pub(super) fn chosen(raster_type: Option<String>) -> Option<String> {
    raster_type.filter(|kind| kind != "auto" && !kind.is_empty())
}

/// An empty text is none.
pub(super) fn given(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}

/// Bytes as megabytes, for people.
pub(super) fn megabytes(bytes: u64) -> f64 {
    // Exact up to 9 PB.
    (bytes as f64 / 1e4).round() / 1e2
}

/// Megabytes per second.
pub(super) fn rate(bytes: u64, seconds: f64) -> f64 {
    (bytes as f64 / 1e6 / seconds.max(1e-6) * 10.0).round() / 10.0
}
