//! pgSTAC: installing it, the role that writes to it, and the writes.
//!
//! Every write takes an advisory lock of its collection first. Without it, sessions that put items into
//! one collection at the same time lose some: pgSTAC moves the bounds of its partitions underneath them.

mod install;
mod role;
mod write;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use domain::failure::{Failure, FailureClass};
use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};

use crate::stac::{TilerUrls, collection_url, item_url};

pub use crate::stac::Collection;
pub use install::{Installed, PGSTAC_VERSION, install};
pub use role::ensure_role;
pub use write::{Ensured, Upserted};

/// Connections of a worker to the catalog: its tasks wait for one another rather than for the server.
const CONNECTIONS_MAX: u32 = 2;

/// The catalog, and where others see it.
#[derive(Clone)]
pub struct Catalog {
    pool: PgPool,
    /// Root of the STAC API.
    pub base_url: Option<String>,
    pub tiler_url: Option<String>,
}

impl fmt::Debug for Catalog {
    /// Without the pool, which knows a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Catalog")
            .field("base_url", &self.base_url)
            .field("tiler_url", &self.tiler_url)
            .finish_non_exhaustive()
    }
}

impl Catalog {
    /// Reads the address; the first use connects. Empty URLs count as none.
    pub fn connect(
        url: &str,
        base_url: Option<String>,
        tiler_url: Option<String>,
    ) -> Result<Self, Failure> {
        let options = PgConnectOptions::from_str(url).map_err(|_| {
            // The reason might quote the address, and with it the password.
            let message = "the address of the catalog's database cannot be read";
            Failure::new(FailureClass::Contract, "catalog_url", message)
        })?;
        let options = options
            .application_name("strata-geo")
            .options([("search_path", "pgstac,public")]);
        let pool = PgPoolOptions::new()
            .max_connections(CONNECTIONS_MAX)
            .acquire_timeout(Duration::from_secs(30))
            .connect_lazy_with(options);
        let url = |url: Option<String>| {
            let url = url?.trim_end_matches('/').to_owned();
            (!url.is_empty()).then_some(url)
        };
        Ok(Self {
            pool,
            base_url: url(base_url),
            tiler_url: url(tiler_url),
        })
    }

    #[must_use]
    pub fn pool(&self) -> &PgPool {
        &self.pool
    }

    /// Where a collection is shown, if there is an API.
    #[must_use]
    pub fn collection_url(&self, collection_id: &str) -> Option<String> {
        let base = self.base_url.as_deref()?;
        Some(collection_url(base, collection_id))
    }

    /// Where an item is shown, if there is an API.
    #[must_use]
    pub fn item_url(&self, collection_id: &str, item_id: &str) -> Option<String> {
        let base = self.base_url.as_deref()?;
        Some(item_url(base, collection_id, item_id))
    }

    /// Where a raster is shown, if there is a tiler.
    #[must_use]
    pub fn raster_urls(&self, href: &str) -> TilerUrls {
        TilerUrls::of_raster(self.tiler_url.as_deref(), href)
    }
}
