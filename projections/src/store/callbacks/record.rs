//! What came of tries: `callback_deliveries`, `callback_outbox`, and the breakers of endpoints.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, Utc};
use domain::callback::{Breaker, BreakerPolicy};
use sqlx::{Connection, PgConnection, PgPool};
use uuid::Uuid;

/// Tries that are kept of each callback.
const KEPT: i32 = 50;

/// One try, and what becomes of its callback.
#[derive(Debug, Clone)]
pub(crate) struct Try {
    pub(crate) callback_id: String,
    pub(crate) endpoint: String,
    pub(crate) round: i32,
    /// In this round, with this one.
    pub(crate) attempts: i32,
    /// Over all rounds, with this one.
    pub(crate) delivery: i32,
    pub(crate) took: Duration,
    pub(crate) status_code: Option<i32>,
    pub(crate) error_code: Option<&'static str>,
    pub(crate) error: Option<String>,
    pub(crate) next: Next,
}

/// What becomes of a callback after a try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    Delivered,
    GivenUp,
    Again { after: Duration },
}

impl Next {
    fn word(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::GivenUp => "given_up",
            Self::Again { .. } => "due",
        }
    }

    fn pause(self) -> f64 {
        match self {
            Self::Again { after } => after.as_secs_f64(),
            Self::Delivered | Self::GivenUp => 0.0,
        }
    }
}

/// Records tries, each callback at most once, in one transaction.
pub(crate) async fn record(
    pool: &PgPool,
    owner: Uuid,
    tries: &[Try],
    policy: &BreakerPolicy,
) -> sqlx::Result<()> {
    let mut db = pool.acquire().await?;
    let mut tx = db.begin().await?;
    add_deliveries(&mut tx, tries).await?;
    move_on(&mut tx, owner, tries).await?;
    judge_endpoints(&mut tx, tries, policy).await?;
    tx.commit().await
}

async fn add_deliveries(db: &mut PgConnection, tries: &[Try]) -> sqlx::Result<()> {
    macro_rules! column {
        ($of:expr) => {
            tries.iter().map($of).collect::<Vec<_>>()
        };
    }
    let millis = |t: &Try| i32::try_from(t.took.as_millis()).unwrap_or(i32::MAX);
    sqlx::query(
        "insert into dagapp.callback_deliveries
             (callback_id, attempt, round, at, duration_ms, status_code, error_code, error, by_hand)
         select id, nth, round, clock_timestamp() - make_interval(secs => millis / 1000.0), millis, status, code,
                error, round > 0
         from unnest($1::text[], $2::int[], $3::int[], $4::int[], $5::int[], $6::text[], $7::text[])
              as u (id, nth, round, millis, status, code, error)
         on conflict (callback_id, attempt) do nothing",
    )
    .bind(column!(|t| t.callback_id.as_str()))
    .bind(column!(|t| t.delivery))
    .bind(column!(|t| t.round))
    .bind(column!(millis))
    .bind(column!(|t| t.status_code))
    .bind(column!(|t| t.error_code))
    .bind(column!(|t| t.error.as_deref()))
    .execute(&mut *db)
    .await?;
    let many: Vec<&Try> = tries.iter().filter(|t| t.delivery > KEPT).collect();
    if many.is_empty() {
        return Ok(());
    }
    sqlx::query(
        "delete from dagapp.callback_deliveries d using unnest($1::text[], $2::int[]) as u (id, upto)
         where d.callback_id = u.id and d.attempt <= u.upto",
    )
    .bind(many.iter().map(|t| t.callback_id.as_str()).collect::<Vec<_>>())
    .bind(many.iter().map(|t| t.delivery - KEPT).collect::<Vec<_>>())
    .execute(db)
    .await?;
    Ok(())
}

/// A sender whose lease ran out may still say how it ended, and not that it goes on. Delivered stands
/// over given up, as in the log.
async fn move_on(db: &mut PgConnection, owner: Uuid, tries: &[Try]) -> sqlx::Result<()> {
    macro_rules! column {
        ($of:expr) => {
            tries.iter().map($of).collect::<Vec<_>>()
        };
    }
    sqlx::query(
        "update dagapp.callback_outbox o
         set status = u.status, attempts = u.attempts, deliveries = greatest(o.deliveries, u.delivery),
             due_at = case when u.status = 'due' then clock_timestamp() + make_interval(secs => u.pause)
                           else o.due_at end,
             settled_at = case when u.status <> 'due' then clock_timestamp() end,
             claimed_by = null, claimed_until = null,
             last_status = u.answer, last_code = u.code, last_error = u.error
         from unnest($2::text[], $3::int[], $4::text[], $5::int[], $6::int[], $7::float8[], $8::int[], $9::text[],
                     $10::text[])
              as u (id, round, status, attempts, delivery, pause, answer, code, error)
         where o.callback_id = u.id and o.round = u.round
           and (o.status = 'due' and (u.status <> 'due' or o.claimed_by = $1)
                or o.status = 'given_up' and u.status = 'delivered')",
    )
    .bind(owner)
    .bind(column!(|t| t.callback_id.as_str()))
    .bind(column!(|t| t.round))
    .bind(column!(|t| t.next.word()))
    .bind(column!(|t| t.attempts))
    .bind(column!(|t| t.delivery))
    .bind(column!(|t| t.next.pause()))
    .bind(column!(|t| t.status_code))
    .bind(column!(|t| t.error_code))
    .bind(column!(|t| t.error.as_deref()))
    .execute(db)
    .await?;
    Ok(())
}

type EndpointRow = (
    String,
    i32,
    i32,
    Option<DateTime<Utc>>,
    Option<DateTime<Utc>>,
    DateTime<Utc>,
);

/// An endpoint that never failed has no row, and costs one look.
async fn judge_endpoints(
    db: &mut PgConnection,
    tries: &[Try],
    policy: &BreakerPolicy,
) -> sqlx::Result<()> {
    let mut answers: BTreeMap<&str, Vec<bool>> = BTreeMap::new();
    for each in tries {
        let ok = each.next == Next::Delivered;
        answers.entry(&each.endpoint).or_default().push(ok);
    }
    let failing = answers.iter().filter(|(_, oks)| oks.contains(&false));
    let failing: Vec<&str> = failing.map(|(endpoint, _)| *endpoint).collect();
    if !failing.is_empty() {
        sqlx::query(
            "insert into dagapp.callback_endpoints (endpoint) select * from unnest($1::text[])
             on conflict (endpoint) do nothing",
        )
        .bind(&failing)
        .execute(&mut *db)
        .await?;
    }
    // In one order for all, so that no two wait for each other.
    let rows: Vec<EndpointRow> = sqlx::query_as(
        "select endpoint, failures, openings, open_until, probe_until, clock_timestamp()
         from dagapp.callback_endpoints where endpoint = any($1) order by endpoint for update",
    )
    .bind(answers.keys().copied().collect::<Vec<_>>())
    .fetch_all(&mut *db)
    .await?;
    let mut changed = Vec::new();
    for (endpoint, failures, openings, open_until, probe_until, now) in rows {
        let before = Breaker {
            failures: u32::try_from(failures).unwrap_or(0),
            openings: u32::try_from(openings).unwrap_or(0),
            open_until,
            probe_until,
        };
        let oks = answers.get(endpoint.as_str()).into_iter().flatten();
        let after = oks.fold(before, |breaker, ok| breaker.record(*ok, now, policy));
        if after.openings > before.openings {
            tracing::warn!(
                endpoint,
                failures = after.failures,
                "an endpoint only fails; it is left alone for a while"
            );
        }
        if after != before {
            changed.push((endpoint, after));
        }
    }
    keep(db, &changed).await
}

async fn keep(db: &mut PgConnection, changed: &[(String, Breaker)]) -> sqlx::Result<()> {
    if changed.is_empty() {
        return Ok(());
    }
    macro_rules! column {
        ($of:expr) => {
            changed.iter().map($of).collect::<Vec<_>>()
        };
    }
    let small = |n: u32| i32::try_from(n).unwrap_or(i32::MAX);
    sqlx::query(
        "update dagapp.callback_endpoints e
         set failures = u.failures, openings = u.openings, open_until = u.open_until,
             probe_until = u.probe_until, updated_at = clock_timestamp()
         from unnest($1::text[], $2::int[], $3::int[], $4::timestamptz[], $5::timestamptz[])
              as u (endpoint, failures, openings, open_until, probe_until)
         where e.endpoint = u.endpoint",
    )
    .bind(column!(|c| c.0.as_str()))
    .bind(column!(|c| small(c.1.failures)))
    .bind(column!(|c| small(c.1.openings)))
    .bind(column!(|c| c.1.open_until))
    .bind(column!(|c| c.1.probe_until))
    .execute(db)
    .await?;
    Ok(())
}
