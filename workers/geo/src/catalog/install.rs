//! PostGIS, pgSTAC and the schema `geo`, each made only if it is missing.
//!
//! Upgrades of pgSTAC are not made here: they need its own tool, which knows the way between versions
//! and drains the queue afterwards.

use domain::failure::{Failure, FailureClass};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::names::SCHEMA;
use crate::sql::{failed, failure, is_catalog_race};

/// The version that our writes were tried with.
pub const PGSTAC_VERSION: &str = "0.10.0";
/// Other databases of the same server may change the same roles at the same moment.
const TRIES: u32 = 8;

/// What is there after the installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    pub pgstac: String,
    pub postgis: String,
    /// Whether this call brought pgSTAC.
    pub fresh: bool,
}

/// Installs what is missing, all or nothing. `pgstac_sql` is the text of `pgstac.0.10.0.sql`; `admin` must
/// be allowed to make extensions and roles.
///
/// Whoever calls this at the same time waits, and finds it done.
pub async fn install(admin: &mut PgConnection, pgstac_sql: &str) -> Result<Installed, Failure> {
    let mut tries = 0;
    loop {
        tries += 1;
        let tried = install_once(admin, pgstac_sql).await;
        // The script leaves another role and search path behind, which outlive the transaction.
        let reset = sqlx::raw_sql("reset role; reset search_path")
            .execute(&mut *admin)
            .await;
        match tried {
            Err(Refused::Race(_)) if tries < TRIES => {}
            Err(Refused::Race(failure) | Refused::For(failure)) => return Err(failure),
            Ok(installed) => {
                reset.map_err(failed("cannot leave the installation"))?;
                return Ok(installed);
            }
        }
    }
}

enum Refused {
    Race(Failure),
    For(Failure),
}

async fn install_once(admin: &mut PgConnection, pgstac_sql: &str) -> Result<Installed, Refused> {
    let mut tx = admin.begin().await.map_err(at("cannot begin to install"))?;
    sqlx::query("select pg_advisory_xact_lock(hashtextextended('strata:install:geo', 0))")
        .execute(&mut *tx)
        .await
        .map_err(at("cannot wait for other installations"))?;
    run(
        &mut tx,
        "create extension if not exists postgis with schema public",
        "cannot install PostGIS",
    )
    .await?;
    let found = version(&mut tx).await?;
    let fresh = found.is_none();
    if fresh {
        run(&mut tx, pgstac_sql, "cannot install pgSTAC").await?;
        run(
            &mut tx,
            "reset role; reset search_path",
            "cannot install pgSTAC",
        )
        .await?;
    }
    let pgstac = match found {
        Some(version) => version,
        None => version(&mut tx).await?.unwrap_or_default(),
    };
    if pgstac != PGSTAC_VERSION {
        let message = if fresh {
            format!("the script installs pgSTAC {pgstac}, but {PGSTAC_VERSION} is needed")
        } else {
            format!(
                "the database has pgSTAC {pgstac}, but {PGSTAC_VERSION} is needed: bring it there with \
                 `pypgstac migrate --toversion {PGSTAC_VERSION}`"
            )
        };
        let failure = Failure::new(FailureClass::Permanent, "pgstac_version", &message);
        return Err(Refused::For(failure));
    }
    run(
        &mut tx,
        &format!("create schema if not exists {SCHEMA}"),
        "cannot make the schema",
    )
    .await?;
    let postgis: String =
        sqlx::query_scalar("select extversion from pg_extension where extname = 'postgis'")
            .fetch_one(&mut *tx)
            .await
            .map_err(at("cannot read the version of PostGIS"))?;
    tx.commit()
        .await
        .map_err(at("cannot finish the installation"))?;
    Ok(Installed {
        pgstac,
        postgis,
        fresh,
    })
}

/// The version that is installed; nothing if pgSTAC is not there at all.
async fn version(conn: &mut PgConnection) -> Result<Option<String>, Refused> {
    let there: bool = sqlx::query_scalar("select to_regnamespace('pgstac') is not null")
        .fetch_one(&mut *conn)
        .await
        .map_err(at("cannot look for pgSTAC"))?;
    if !there {
        return Ok(None);
    }
    let version: Option<String> = sqlx::query_scalar("select pgstac.get_version()")
        .fetch_one(conn)
        .await
        .map_err(at(
            "a schema `pgstac` is there, but it does not tell its version",
        ))?;
    Ok(Some(version.unwrap_or_default()))
}

async fn run(conn: &mut PgConnection, sql: &str, what: &'static str) -> Result<(), Refused> {
    let done = sqlx::raw_sql(AssertSqlSafe(sql.to_owned()))
        .execute(conn)
        .await;
    done.map_err(at(what))?;
    Ok(())
}

fn at(what: &'static str) -> impl Fn(sqlx::Error) -> Refused {
    move |error| {
        let failure = failure(what, &error);
        if is_catalog_race(&error) {
            Refused::Race(failure)
        } else {
            Refused::For(failure)
        }
    }
}
