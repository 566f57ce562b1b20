//! The catalog in the database of the platform: PostGIS, pgSTAC and schema `geo`, and the role that workers use.

use std::path::{Path, PathBuf};

use clap::Args;
use sqlx::{ConnectOptions as _, Connection as _};
use url::Url;

use super::stack::Stack;
use crate::exit::Stop;
use crate::services::files;

/// The role that workers use.
const ROLE: &str = "strata_catalog";

/// Where pgSTAC comes from.
#[derive(Debug, Clone, Args)]
pub(crate) struct CatalogArgs {
    /// `pgstac.0.10.0.sql` out of the package pypgstac 0.10.0; with it the catalog is installed, if PostGIS is there
    #[arg(
        long,
        value_name = "FILE",
        env = "STRATA_PGSTAC_SQL",
        hide_short_help = true
    )]
    pub(crate) pgstac_sql: Option<PathBuf>,
}

/// Installs what is missing, and gives the role of `url` its rights.
pub(super) async fn install(stack: &Stack, sql: &Path, url: &str) -> anyhow::Result<String> {
    let text = std::fs::read_to_string(sql)
        .map_err(|error| Stop::usage(format!("--pgstac-sql: {}: {error}", sql.display()), ""))?;
    let connect = stack.database(1)?;
    let refused = |failure: domain::failure::Failure| {
        Stop::failed(
            format!("the catalog cannot be installed: {}", failure.message),
            "strata doctor",
        )
    };
    let mut admin = connect.options.connect().await.map_err(|error| {
        Stop::unreachable(
            format!("the database does not answer: {error}"),
            "strata doctor",
        )
    })?;
    let installed = geo::catalog::install(&mut admin, &text)
        .await
        .map_err(refused)?;
    let role =
        Url::parse(url).map_err(|_| Stop::usage("the address of the catalog is none", ""))?;
    let password = role.password().unwrap_or_default();
    let made = geo::catalog::ensure_role(&mut admin, role.username(), password).await;
    made.map_err(refused)?;
    admin.close().await?;
    Ok(installed.pgstac)
}

/// The address of the catalog for workers of this stack, with a role and a password of its own.
pub(super) fn own_url(stack: &Stack, data_dir: &Path) -> anyhow::Result<String> {
    let password = files::password(&data_dir.join("catalog.password"))?;
    let mut url = Url::parse(stack.database_url())
        .map_err(|_| Stop::usage("STRATA_DATABASE_URL is no address", "strata doctor"))?;
    let set = url
        .set_username(ROLE)
        .and_then(|()| url.set_password(Some(&password)));
    set.map_err(|()| Stop::usage("STRATA_DATABASE_URL has no host", "strata doctor"))?;
    Ok(url.into())
}

/// Installs the catalog for `strata up`, if pgSTAC is at hand; a database without PostGIS goes without.
pub(crate) async fn for_up(
    stack: &Stack,
    args: &CatalogArgs,
    given: Option<&str>,
) -> anyhow::Result<Option<String>> {
    if let Some(given) = given {
        return Ok(Some(given.to_owned()));
    }
    let Some(sql) = &args.pgstac_sql else {
        tracing::info!("no catalog: STRATA_PGSTAC_SQL names no file");
        return Ok(None);
    };
    if !has_postgis(stack).await? {
        tracing::warn!("no catalog: this PostgreSQL has no PostGIS");
        return Ok(None);
    }
    let url = own_url(stack, &stack.data_dir)?;
    let version = install(stack, sql, &url).await?;
    tracing::info!(pgstac = version, "the catalog is ready");
    Ok(Some(url))
}

/// Whether PostGIS can be installed, or is.
pub(super) async fn has_postgis(stack: &Stack) -> anyhow::Result<bool> {
    let connect = stack.database(1)?;
    let asked = async {
        let mut connection = connect.options.connect().await?;
        let found = sqlx::query("select 1 from pg_available_extensions where name = 'postgis'")
            .fetch_optional(&mut connection)
            .await?;
        connection.close().await?;
        Ok::<_, sqlx::Error>(found.is_some())
    };
    asked.await.map_err(|error| {
        Stop::unreachable(
            format!("the database does not answer: {error}"),
            "strata doctor",
        )
    })
}
