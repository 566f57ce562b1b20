//! Whether what runs is well: the database, its schema and clock, and NATS.

use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::{Connection, PgConnection, Row};
use tokio::time::timeout;

use super::{Check, health};
use crate::services::{probe, redact};

const DATABASE_OLDEST: i32 = 15;
/// Clocks further apart than this make times in the log hard to read.
const CLOCKS_APART_MAX: Duration = Duration::from_secs(1);
const WAIT: Duration = Duration::from_secs(10);

pub(super) async fn checks(database: Option<&str>, nats: Option<&str>) -> Vec<Check> {
    let mut checks = Vec::new();
    if let Some(url) = database {
        checks.extend(database_checks(url).await);
    }
    if let Some(url) = nats {
        checks.push(match probe::nats(url).await {
            Ok(()) => Check::ok("nats", format!("{} answers and has JetStream", redact(url))),
            Err(silence) => Check::fail("nats", format!("{}: {}", redact(url), silence.why), START),
        });
    }
    checks
}

/// What starts the stack, also again.
const START: &str = "strata up; or check the addresses if others run it";

async fn database_checks(url: &str) -> Vec<Check> {
    if let Err(silence) = probe::postgres(url).await {
        let detail = format!("{}: {}", redact(url), silence.why);
        return vec![Check::fail("database", detail, START)];
    }
    let asked = timeout(WAIT, async {
        let mut connection = probe::connect(url).await?;
        let mut checks = vec![version(&mut connection, url).await?];
        let (schema, is_there) = migrations(&mut connection).await?;
        checks.push(schema);
        checks.push(clock(&mut connection).await?);
        if is_there {
            checks.extend(health::checks(&mut connection).await?);
        }
        connection.close().await?;
        Ok::<_, sqlx::Error>(checks)
    });
    match asked.await {
        Ok(Ok(checks)) => checks,
        Ok(Err(error)) => vec![Check::fail("database", error.to_string(), START)],
        Err(_) => vec![Check::fail("database", "it answers too slowly", START)],
    }
}

async fn version(connection: &mut PgConnection, url: &str) -> Result<Check, sqlx::Error> {
    let row = sqlx::query("select current_setting('server_version_num')::int4")
        .fetch_one(connection)
        .await?;
    let number: i32 = row.try_get(0)?;
    let (major, minor) = (number / 10_000, number % 10_000);
    let detail = format!("{} answers, PostgreSQL {major}.{minor}", redact(url));
    Ok(if major < DATABASE_OLDEST {
        let remedy = format!("PostgreSQL {DATABASE_OLDEST} or newer is needed");
        Check::fail("database", detail, remedy)
    } else {
        Check::ok("database", detail)
    })
}

/// And whether the tables are there.
async fn migrations(connection: &mut PgConnection) -> Result<(Check, bool), sqlx::Error> {
    let there: bool = sqlx::query("select to_regclass('_sqlx_migrations') is not null")
        .fetch_one(&mut *connection)
        .await?
        .try_get(0)?;
    if !there {
        let none = Check::fail("migrations", "the schema is not there", "strata migrate");
        return Ok((none, false));
    }
    let row = sqlx::query(
        "select max(version) filter (where success), count(*) filter (where not success) \
         from _sqlx_migrations",
    )
    .fetch_one(connection)
    .await?;
    let (version, broken): (Option<i64>, i64) = (row.try_get(0)?, row.try_get(1)?);
    let detail = format!("the schema has version {}", version.unwrap_or(0));
    Ok(if broken > 0 {
        let detail = format!("{detail}, and {broken} more began and did not end");
        (Check::fail("migrations", detail, "strata migrate"), false)
    } else {
        (Check::ok("migrations", detail), version.is_some())
    })
}

async fn clock(connection: &mut PgConnection) -> Result<Check, sqlx::Error> {
    let before = now();
    let theirs: DateTime<Utc> = sqlx::query("select clock_timestamp()")
        .fetch_one(connection)
        .await?
        .try_get(0)?;
    let after = now();
    // Somewhere between question and answer.
    let apart = if theirs < before {
        before - theirs
    } else if theirs > after {
        theirs - after
    } else {
        chrono::TimeDelta::zero()
    };
    let detail = format!("{} ms from that of the database", apart.num_milliseconds());
    Ok(if apart.to_std().unwrap_or_default() > CLOCKS_APART_MAX {
        Check::warn(
            "clock",
            detail,
            "let both machines set their clocks by network time",
        )
    } else {
        Check::ok("clock", detail)
    })
}

#[expect(
    clippy::disallowed_methods,
    reason = "the clock itself is what is checked"
)]
fn now() -> DateTime<Utc> {
    Utc::now()
}
