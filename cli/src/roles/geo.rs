//! What the geospatial handlers of a worker need: tiers of data, limits of native work, and the catalog.

use std::path::PathBuf;

use clap::Args;
use workers::child::{Children, Limits};
use workers::shipped::{CatalogAccess, Tools};
use workers::tiers::Tiers;

use super::stack::Stack;
use crate::exit::Stop;

/// Tiers, catalog and limits.
#[derive(Clone, Args)]
pub(crate) struct GeoArgs {
    /// Data as it came: a directory, `s3://bucket/prefix` or `az://container/prefix` [default: DIR/bronze]
    #[arg(
        long,
        value_name = "URL",
        env = "STRATA_BRONZE",
        hide_short_help = true
    )]
    bronze: Option<String>,
    /// Data as it was made [default: DIR/silver]
    #[arg(
        long,
        value_name = "URL",
        env = "STRATA_SILVER",
        hide_short_help = true
    )]
    silver: Option<String>,
    /// Data as it is given out [default: DIR/gold]
    #[arg(long, value_name = "URL", env = "STRATA_GOLD", hide_short_help = true)]
    gold: Option<String>,
    /// Directory that `local_path` is relative to [default: DIR/mount]
    #[arg(long, value_name = "DIR", env = "STRATA_MOUNT", hide_short_help = true)]
    mount: Option<PathBuf>,
    /// Database of the catalog and of schema `geo`, with a role that can touch only those
    #[arg(
        long,
        value_name = "URL",
        env = "STRATA_CATALOG_URL",
        hide_env_values = true,
        hide_short_help = true
    )]
    pub(crate) catalog_url: Option<String>,
    /// Address of the STAC API that shows the catalog, for links
    #[arg(
        long,
        value_name = "URL",
        env = "STRATA_STAC_URL",
        hide_short_help = true
    )]
    stac_url: Option<String>,
    /// Address of a tiler (titiler), for links to maps; none without
    #[arg(
        long,
        value_name = "URL",
        env = "STRATA_TILER_URL",
        hide_short_help = true
    )]
    tiler_url: Option<String>,
    /// Memory of one native task
    #[arg(long, value_name = "MB", default_value_t = 4_096, value_parser = clap::value_parser!(u64).range(256..), hide_short_help = true)]
    native_memory_mb: u64,
    /// Files that a task may have on disk at a time
    #[arg(long, value_name = "MB", default_value_t = 65_536, value_parser = clap::value_parser!(u64).range(1..), hide_short_help = true)]
    scratch_mb: u64,
    /// Uncompressed pixels of one raster
    #[arg(long, value_name = "MB", default_value_t = 262_144, value_parser = clap::value_parser!(u64).range(1..), hide_short_help = true)]
    native_pixels_mb: u64,
    /// Bytes that are brought from a remote tier for one task
    #[arg(long, value_name = "MB", default_value_t = 65_536, value_parser = clap::value_parser!(u64).range(1..), hide_short_help = true)]
    fetch_mb: u64,
    /// GDAL's cache of blocks, per native task
    #[arg(long, value_name = "MB", default_value_t = 512, value_parser = clap::value_parser!(u32).range(16..), hide_short_help = true)]
    gdal_cache_mb: u32,
    /// Threads that GDAL compresses with, per native task
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64), hide_short_help = true)]
    gdal_threads: u32,
}

impl std::fmt::Debug for GeoArgs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // It may hold a password.
        f.debug_struct("GeoArgs").finish_non_exhaustive()
    }
}

impl GeoArgs {
    /// The tools of a worker of this stack.
    pub(crate) fn tools(&self, stack: &Stack) -> anyhow::Result<Tools> {
        let dir = |name: &str| stack.data_dir.join(name);
        let open = |given: &Option<String>, name: &str| {
            let address = given
                .clone()
                .unwrap_or_else(|| dir(name).display().to_string());
            workers::store::open(&address)
                .map_err(|error| Stop::usage(format!("--{name}: {error}"), ""))
        };
        let mount = self.mount.clone().unwrap_or_else(|| dir("mount"));
        std::fs::create_dir_all(&mount)
            .map_err(|error| Stop::usage(format!("--mount: {error}"), ""))?;
        let tiers = Tiers {
            bronze: open(&self.bronze, "bronze")?,
            silver: open(&self.silver, "silver")?,
            gold: open(&self.gold, "gold")?,
            mount: mount.canonicalize()?,
            fetch_bytes_max: self.fetch_mb.saturating_mul(1024 * 1024),
        };
        let children = Children {
            program: std::env::current_exe()?,
            args: vec![crate::NATIVE.to_owned()],
            limits: Limits {
                memory_mb: self.native_memory_mb,
                cache_mb: self.gdal_cache_mb,
                threads: self.gdal_threads,
                pixels_mb: self.native_pixels_mb,
                scratch_mb: self.scratch_mb,
            },
        };
        let catalog = self.catalog_url.clone().or_else(|| stack.catalog_url());
        let catalog = catalog.map(|url| {
            let (stac, tiler) = (self.stac_url.clone(), self.tiler_url.clone());
            let opened = CatalogAccess::open(&url, stac, tiler);
            opened.map_err(|failure| Stop::usage(format!("--catalog-url: {}", failure.message), ""))
        });
        Ok(Tools {
            tiers,
            children,
            catalog: catalog.transpose()?,
        })
    }
}
