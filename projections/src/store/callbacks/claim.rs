//! Who sends what: leases on due rows, by the clock of the database.

use std::time::Duration;

use chrono::{DateTime, Utc};
use domain::callback::{Admission, Breaker};
use serde_json::Value;
use sqlx::{Connection, FromRow, PgConnection, PgPool};
use uuid::Uuid;

/// A callback that is ours to send.
#[derive(Debug, Clone, Default, FromRow)]
pub(crate) struct Due {
    pub(crate) callback_id: String,
    pub(crate) job_id: String,
    pub(crate) request_id: String,
    pub(crate) org_id: String,
    pub(crate) job_type: String,
    pub(crate) url: String,
    pub(crate) endpoint: String,
    pub(crate) secret_ref: String,
    pub(crate) retry_count: i32,
    pub(crate) timeout_seconds: i32,
    pub(crate) job_status: Option<String>,
    pub(crate) job_error: Option<Value>,
    pub(crate) ended_at: Option<DateTime<Utc>>,
    pub(crate) round: i32,
    pub(crate) attempts: i32,
    pub(crate) deliveries: i32,
    pub(crate) failures: Option<i32>,
    pub(crate) openings: Option<i32>,
    pub(crate) open_until: Option<DateTime<Utc>>,
    pub(crate) probe_until: Option<DateTime<Utc>>,
    /// When it was claimed.
    pub(crate) now: DateTime<Utc>,
}

/// What a sender takes.
#[derive(Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) owner: Uuid,
    /// Endpoints are looked at from here on, so that each has its turn.
    pub(crate) after: &'a str,
    /// Endpoints at which something of ours is under way, and how much more they take.
    pub(crate) busy: (Vec<&'a str>, Vec<i32>),
    pub(crate) per_endpoint: i32,
    pub(crate) limit: i64,
    /// A lease lasts as long as a try may take, and so long besides.
    pub(crate) slack: Duration,
}

/// Takes what is due, at most so much of each endpoint, and none of those whose breaker is open. Rows
/// whose job the read models do not show yet wait for them.
///
/// The recursion hops from endpoint to endpoint along the index, so that a receiver with a long backlog
/// costs no more than any other.
const PICK: &str = "
    with recursive places as (
        (select o.endpoint from dagapp.callback_outbox o
         where o.status = 'due' and o.endpoint > $1 order by o.endpoint limit 1)
        union all
        select (select o.endpoint from dagapp.callback_outbox o
                where o.status = 'due' and o.endpoint > p.endpoint order by o.endpoint limit 1)
        from places p where p.endpoint is not null
    )
    select o.*, e.failures, e.openings, e.open_until, e.probe_until, clock_timestamp() as now
    from places p
    left join dagapp.callback_endpoints e on e.endpoint = p.endpoint
    left join unnest($2::text[], $3::int[]) as b (endpoint, free) on b.endpoint = p.endpoint
    cross join lateral (
        select callback_id, job_id, request_id, org_id, job_type, url, endpoint, secret_ref, retry_count,
               timeout_seconds, job_status, job_error, ended_at, round, attempts, deliveries
        from dagapp.callback_outbox o
        where o.endpoint = p.endpoint and o.status = 'due' and o.due_at <= clock_timestamp()
          and (o.claimed_until is null or o.claimed_until < clock_timestamp())
          and o.end_pos <= (select pos from dagapp.projection_checkpoints where name = $6)
        order by o.due_at
        limit case when e.openings > 0 then 1 else coalesce(b.free, $4) end
        for update skip locked
    ) o
    where coalesce(b.free, 1) > 0 and (e.open_until is null or e.open_until <= clock_timestamp())
      and (e.openings is null or e.openings = 0 or e.probe_until is null or e.probe_until <= clock_timestamp())
    limit $5";

/// Claims some callbacks.
pub(crate) async fn claim(pool: &PgPool, wanted: &Wanted<'_>) -> sqlx::Result<Vec<Due>> {
    let mut db = pool.acquire().await?;
    let mut tx = db.begin().await?;
    let mut rows: Vec<Due> = sqlx::query_as(PICK)
        .bind(wanted.after)
        .bind(&wanted.busy.0)
        .bind(&wanted.busy.1)
        .bind(wanted.per_endpoint)
        .bind(wanted.limit)
        .bind(crate::READ_MODELS)
        .fetch_all(&mut *tx)
        .await?;
    if rows.is_empty() {
        return Ok(rows);
    }
    let probes = rows
        .iter()
        .filter(|row| row.admission() == Admission::Probe);
    let probes: Vec<(String, i32)> = probes
        .map(|row| (row.endpoint.clone(), row.timeout_seconds))
        .collect();
    let ours = probe(&mut tx, &probes, wanted.slack).await?;
    rows.retain(|row| match row.admission() {
        Admission::Free => true,
        Admission::Probe => ours.contains(&row.endpoint),
        Admission::Closed => false,
    });
    let ids: Vec<&str> = rows.iter().map(|row| row.callback_id.as_str()).collect();
    sqlx::query(
        "update dagapp.callback_outbox
         set claimed_by = $1, claimed_until = clock_timestamp() + make_interval(secs => timeout_seconds + $2)
         where callback_id = any($3)",
    )
    .bind(wanted.owner)
    .bind(wanted.slack.as_secs_f64())
    .bind(ids)
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(rows)
}

impl Due {
    fn admission(&self) -> Admission {
        let number = |n: Option<i32>| u32::try_from(n.unwrap_or(0)).unwrap_or(0);
        let breaker = Breaker {
            failures: number(self.failures),
            openings: number(self.openings),
            open_until: self.open_until,
            probe_until: self.probe_until,
        };
        breaker.admit(self.now)
    }
}

/// Marks that a probe leaves; gives the endpoints at which it is ours.
async fn probe(
    db: &mut PgConnection,
    probes: &[(String, i32)],
    slack: Duration,
) -> sqlx::Result<Vec<String>> {
    if probes.is_empty() {
        return Ok(Vec::new());
    }
    sqlx::query_scalar(
        "update dagapp.callback_endpoints e
         set probe_until = clock_timestamp() + make_interval(secs => u.seconds + $3)
         from unnest($1::text[], $2::int[]) as u (endpoint, seconds)
         where e.endpoint = u.endpoint and e.open_until <= clock_timestamp()
           and (e.probe_until is null or e.probe_until <= clock_timestamp())
         returning e.endpoint",
    )
    .bind(probes.iter().map(|p| p.0.as_str()).collect::<Vec<_>>())
    .bind(probes.iter().map(|p| p.1).collect::<Vec<_>>())
    .bind(slack.as_secs_f64())
    .fetch_all(db)
    .await
}

/// Gives back what was claimed and not sent, all or these, so that another need not wait.
pub(crate) async fn release(pool: &PgPool, owner: Uuid, only: Option<&[&str]>) -> sqlx::Result<()> {
    sqlx::query(
        "update dagapp.callback_outbox set claimed_by = null, claimed_until = null
         where status = 'due' and claimed_by = $1 and ($2::text[] is null or callback_id = any($2))",
    )
    .bind(owner)
    .bind(only)
    .execute(pool)
    .await?;
    Ok(())
}
