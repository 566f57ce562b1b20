//! The schema of the log and of the read models, brought up to date.

use sqlx::migrate::{MigrateError, Migrator};
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions, Row as _};

use crate::log::LogError;

static MIGRATIONS: Migrator = sqlx::migrate!("../migrations");

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Migrated {
    /// Steps that were missing.
    pub applied: usize,
    /// The step that the schema is at now.
    pub version: i64,
}

/// Applies the steps that are missing. Many processes may do so at once: one does, the others wait.
pub async fn run(options: &PgConnectOptions) -> Result<Migrated, LogError> {
    let mut connection = options
        .clone()
        .disable_statement_logging()
        .connect()
        .await?;
    let before = applied(&mut connection).await?;
    MIGRATIONS
        .run_direct(None, &mut connection, false)
        .await
        .map_err(refused)?;
    let after = applied(&mut connection).await?;
    Ok(Migrated {
        applied: after.0.saturating_sub(before.0),
        version: after.1,
    })
}

/// Whether the schema is the one that this build was made for.
pub async fn is_current(options: &PgConnectOptions) -> Result<bool, LogError> {
    let mut connection = options
        .clone()
        .disable_statement_logging()
        .connect()
        .await?;
    let newest = MIGRATIONS.iter().map(|step| step.version).max();
    Ok(newest == Some(applied(&mut connection).await?.1))
}

/// The same over a pool, for a process that asks now and then whether it still fits. A schema that is
/// further on fits, too: steps only add, so that old and new binaries run side by side.
pub async fn fits(pool: &sqlx::PgPool) -> Result<bool, LogError> {
    let mut connection = pool.acquire().await?;
    let newest = MIGRATIONS.iter().map(|step| step.version).max();
    Ok(newest <= Some(applied(&mut connection).await?.1))
}

async fn applied(connection: &mut PgConnection) -> Result<(usize, i64), LogError> {
    let row = sqlx::query("select to_regclass('_sqlx_migrations') is not null as there")
        .fetch_one(&mut *connection)
        .await?;
    if !row.try_get::<bool, _>("there")? {
        return Ok((0, 0));
    }
    let row = sqlx::query(
        "select count(*) as steps, coalesce(max(version), 0) as newest from _sqlx_migrations where success",
    )
    .fetch_one(connection)
    .await?;
    let steps: i64 = row.try_get("steps")?;
    Ok((usize::try_from(steps).unwrap_or(0), row.try_get("newest")?))
}

fn refused(error: MigrateError) -> LogError {
    match error {
        MigrateError::Execute(error) => error.into(),
        MigrateError::VersionMissing(version) => LogError::Refused(format!(
            "the database is at step {version}, which this build does not know: use a newer build"
        )),
        MigrateError::VersionMismatch(version) => LogError::Refused(format!(
            "step {version} of the database is not the one of this build"
        )),
        other => LogError::Refused(other.to_string()),
    }
}
