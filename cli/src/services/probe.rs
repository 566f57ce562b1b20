//! Whether a database or a NATS server answers, and what it says about itself.
//!
//! Errors are for people: they name the address without its password.

use std::fmt::Display;
use std::future::Future;
use std::str::FromStr;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions, Connection};
use tokio::time::timeout;

use super::connect_nats;
use super::redact::{redact, without_secrets};
use crate::exit::Stop;

/// How long one look may take.
const ONE_LOOK: Duration = Duration::from_secs(5);
/// What PostgreSQL answers while it starts, which takes long after a crash.
const STARTING_UP: &str = "57P03";

/// Why a service did not answer.
#[derive(Debug)]
pub(crate) struct Silence {
    pub(crate) why: String,
    /// It is there and will answer later.
    pub(crate) starting: bool,
}

/// Whether the database executes a statement.
pub(crate) async fn postgres(url: &str) -> Result<(), Silence> {
    let look = async {
        let mut connection = connect(url).await?;
        sqlx::query("select 1").execute(&mut connection).await?;
        connection.close().await
    };
    match timeout(ONE_LOOK, look).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => {
            let code = error.as_database_error().and_then(|error| error.code());
            Err(Silence {
                starting: code.is_some_and(|code| code == STARTING_UP),
                why: without_secrets(&error.to_string(), url),
            })
        }
        Err(_) => Err(no_answer()),
    }
}

/// A connection without a pool, quiet about its statements.
pub(crate) async fn connect(url: &str) -> Result<PgConnection, sqlx::Error> {
    let options = PgConnectOptions::from_str(url)?;
    options.disable_statement_logging().connect().await
}

/// Whether NATS lets us in and has JetStream.
pub(crate) async fn nats(url: &str) -> Result<(), Silence> {
    let silence = |error: &dyn Display| Silence {
        why: without_secrets(&error.to_string(), url),
        starting: false,
    };
    let look = async {
        let options = async_nats::ConnectOptions::new().name("strata check");
        let client = connect_nats(url, options)
            .await
            .map_err(|error| silence(&error))?;
        let account = async_nats::jetstream::new(client).query_account().await;
        account.map(|_| ()).map_err(|error| Silence {
            why: format!("it answers, but not as JetStream: {}", silence(&error).why),
            starting: true,
        })
    };
    timeout(ONE_LOOK, look)
        .await
        .unwrap_or_else(|_| Err(no_answer()))
}

/// Checks the address of a service that is run by others.
pub(crate) async fn external(
    what: &str,
    variable: &str,
    url: &str,
    look: impl Future<Output = Result<(), Silence>>,
) -> anyhow::Result<()> {
    look.await.map_err(|silence| {
        let shown = redact(url);
        Stop::unreachable(
            format!("{what} does not answer at {shown}: {}", silence.why),
            format!("check {variable}, or unset it to let Strata run its own"),
        )
    })
}

fn no_answer() -> Silence {
    Silence {
        why: format!("no answer within {} s", ONE_LOOK.as_secs()),
        starting: false,
    }
}
