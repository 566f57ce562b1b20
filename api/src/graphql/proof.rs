//! The proof of a job: all its events with a signed checkpoint of the log, for whoever has no database.

use std::time::Duration;

use async_graphql::{Context, SimpleObject};
use domain::id::JobId;
use projections::audit;
use projections::read::{self, StreamFilter};

use super::context::core;
use crate::error::{Category, Fault};

/// Events of a job whose proof is handed out here; the command line makes larger ones.
const EVENTS_MAX: i64 = 20_000;
/// How long a checkpoint may take that covers the last event.
const PATIENCE: Duration = Duration::from_secs(5);

/// A proof that holds: it was checked just now.
#[derive(Debug, SimpleObject)]
pub(super) struct Proof {
    /// Events that it covers: all that the job had.
    events: i64,
    /// Whose signature it has; check it with this key.
    key: String,
    /// The file for `strata audit check`.
    file: String,
}

pub(super) async fn of(ctx: &Context<'_>, job: &str) -> Result<Proof, Fault> {
    let core = core(ctx)?;
    let id: JobId = job.parse().map_err(|error| Fault::internal(&error))?;
    let key = core.audit_key.as_ref().ok_or_else(|| {
        Fault::new(
            Category::NotFound,
            "NO_AUDIT_KEY",
            "this server does not know who signs the log, so it has no proofs",
            "start it with --proof-key, or ask where the database is: strata audit proof",
        )
    })?;
    let events = count(&core.pool, job).await?;
    if events > EVENTS_MAX {
        return Err(Fault::new(
            Category::TooLarge,
            "PROOF_TOO_LARGE",
            format!("the job has {events} events; a proof of at most {EVENTS_MAX} is made here"),
            format!("ask where the database is: strata audit proof {job}"),
        ));
    }
    let _place = core.proving.acquire().await;
    let file = audit::prove(&core.pool, id, key, None, PATIENCE).await?;
    Ok(Proof {
        events,
        key: key.text(),
        file,
    })
}

/// How many events the job has.
async fn count(pool: &sqlx::PgPool, job: &str) -> Result<i64, Fault> {
    let filter = StreamFilter {
        stream_id: format!("job:{job}"),
        kinds: Vec::new(),
        newest_first: true,
        upto: None,
        limit: 1,
        cursor: None,
    };
    let page = read::stream_events(pool, &filter).await?;
    Ok(page.items.first().map_or(0, |event| event.version))
}
