//! `strata migrate`: brings the schema of the database up to date.

use commands::migrate::{self, Migrated};

use super::args::MigrateArgs;
use super::catalog;
use super::stack::Stack;
use crate::exit::{Exit, Stop};
use crate::output::Console;
use crate::{logging, runtime};

pub(crate) fn run(args: &MigrateArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    logging::init(&args.stack.log);
    let stack = Stack::find(&args.stack)?;
    let (done, pgstac) = runtime::block_on(|_| async move {
        let done = up_to_date(&stack).await?;
        Ok((done, with_catalog(&stack, args).await?))
    })?;
    let Migrated { applied, version } = done;
    if let Some(pgstac) = pgstac {
        console.talk(&format!(
            "the catalog is there: pgSTAC {pgstac}, schema geo"
        ))?;
    }
    console.talk(&match applied {
        0 => format!("the schema was up to date, at step {version}"),
        n => format!("{n} steps applied; the schema is at step {version}"),
    })?;
    Ok(Exit::Ok)
}

/// Installs the catalog, if it is asked for.
async fn with_catalog(stack: &Stack, args: &MigrateArgs) -> anyhow::Result<Option<String>> {
    let Some(sql) = &args.catalog.pgstac_sql else {
        return Ok(None);
    };
    if !catalog::has_postgis(stack).await? {
        return Err(Stop::failed(
            "the catalog needs PostGIS, which this PostgreSQL does not have",
            "install the package postgis of the server, or leave --pgstac-sql out",
        ));
    }
    let url = match &args.catalog_url {
        Some(url) => url.clone(),
        None => catalog::own_url(stack, &stack.data_dir)?,
    };
    catalog::install(stack, sql, &url).await.map(Some)
}

/// Applies what is missing.
pub(super) async fn up_to_date(stack: &Stack) -> anyhow::Result<Migrated> {
    let connect = stack.database(1)?;
    migrate::run(&connect.options).await.map_err(|error| {
        let message = format!("the schema cannot be brought up to date: {error}");
        Stop::unreachable(message, "strata doctor")
    })
}

/// Refuses to run on a schema of another build.
pub(crate) async fn require(stack: &Stack) -> anyhow::Result<()> {
    let connect = stack.database(1)?;
    match migrate::is_current(&connect.options).await {
        Ok(true) => Ok(()),
        Ok(false) => Err(Stop::conflict(
            "the schema of the database is not the one of this build",
            "strata migrate",
        )),
        Err(error) => Err(Stop::unreachable(error.to_string(), "strata doctor")),
    }
}
