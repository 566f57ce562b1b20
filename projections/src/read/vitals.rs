//! How the whole installation is, in one look: for gauges, and for the question whether to send work here.

use std::collections::BTreeMap;

use serde::Deserialize;
use sqlx::types::Json;
use sqlx::{FromRow, PgPool};

use crate::Error;

/// Positions of the log that one look counts at most; the next one goes on from there.
const COUNTED_MAX: i64 = 200_000;
/// Open jobs whose tasks one look adds up at most.
const ADDED_MAX: i64 = 50_000;

/// Types of events that are counted.
const COUNTED: &[&str] = &[
    "request_submitted",
    "job_created",
    "job_completed",
    "job_failed",
    "job_cancelled",
    "node_started",
    "node_completed",
    "node_failed",
    "run_lost",
];

/// What the database knows about the state of the installation.
#[derive(Debug, Clone, FromRow)]
pub struct Vitals {
    pub head: i64,
    /// Whole partitions beyond the head.
    pub partitions_ahead: i64,
    pub jobs_open: i64,
    pub jobs_quarantined: i64,
    pub requests_unclaimed: i64,
    pub unclaimed_age_seconds: f64,
    pub tasks_ready: i64,
    pub tasks_running: i64,
    pub orchestrators_alive: i64,
    /// Of the most silent orchestrator that still owns jobs.
    pub owner_silence_seconds: f64,
    pub dead_letters: i64,
    pub parked: i64,
    pub projectors: Json<Vec<ProjectorVitals>>,
    /// Events of the log up to this position are in the counts.
    pub counted_to: i64,
    /// How many of each type came after the position that was given.
    pub events: Json<BTreeMap<String, u64>>,
    /// The failed attempts among them, by class.
    pub failures: Json<BTreeMap<String, u64>>,
}

/// How far one projector is.
#[derive(Debug, Clone, Deserialize)]
pub struct ProjectorVitals {
    pub name: String,
    pub lag_events: i64,
    pub lag_seconds: f64,
    pub silence_seconds: f64,
}

/// What readiness depends on.
#[derive(Debug, Clone, Copy, FromRow)]
pub struct Progress {
    pub head: i64,
    pub partitions_ahead: i64,
    /// How far the read models are.
    pub shown: i64,
}

/// Looks at everything with one statement. `after` is [`Vitals::counted_to`] of the look before; without
/// it nothing is counted. A job with `claims_max` claims is in quarantine.
pub async fn vitals(pool: &PgPool, after: Option<i64>, claims_max: u32) -> Result<Vitals, Error> {
    let row = sqlx::query_as(
        r#"select h.pos as head, (h.partitioned_to - h.pos) / h.partition_size as partitions_ahead,
                o.jobs_open, o.jobs_quarantined, o.requests_unclaimed, o.unclaimed_age_seconds,
                t.tasks_ready, t.tasks_running, w.orchestrators_alive,
                coalesce((select max(extract(epoch from clock_timestamp() - beat_at))::float8
                          from dagapp.owners s
                          where exists (select from dagapp.open_jobs j where j.owner_id = s.owner_id)), 0)
                    as owner_silence_seconds,
                (select count(*) from dagapp.dead_letters) as dead_letters,
                (select count(*) from dagapp.projection_errors) as parked,
                (select coalesce(jsonb_agg(jsonb_build_object(
                        'name', c.name, 'lag_events', greatest(h.pos - c.pos, 0),
                        'lag_seconds', coalesce(
                            (select greatest(extract(epoch from clock_timestamp() - e.recorded_at), 0)
                             from dagapp.events e where e.pos = c.pos + 1), 0),
                        'silence_seconds', greatest(extract(epoch from clock_timestamp() - c.updated_at), 0))), '[]')
                 from dagapp.projection_checkpoints c) as projectors,
                least(h.pos, $1 + $4) as counted_to,
                (select coalesce(jsonb_object_agg(type, n), '{}') from
                    (select type, count(*) as n from dagapp.events
                     where pos > $1 and pos <= $1 + $4 and type = any($2) group by type) q) as events,
                (select coalesce(jsonb_object_agg(class, n), '{}') from
                    (select substring(convert_from(payload, 'UTF8') from '"class":"([a-z]+)"') as class, count(*) as n
                     from dagapp.events
                     where pos > $1 and pos <= $1 + $4 and type = 'node_failed' group by 1) q
                 where class is not null) as failures
         from dagapp.log_head h,
              (select count(*) as jobs_open,
                      count(*) filter (where claims >= $3) as jobs_quarantined,
                      count(*) filter (where owner_id is null) as requests_unclaimed,
                      coalesce(extract(epoch from clock_timestamp()
                          - min(submitted_at) filter (where owner_id is null)), 0)::float8
                          as unclaimed_age_seconds
               from dagapp.open_jobs) o,
              (select coalesce(sum(ready), 0)::bigint as tasks_ready,
                      coalesce(sum(running), 0)::bigint as tasks_running
               from (select ready, running from dagapp.dag_jobs
                     where status in ('PENDING', 'RUNNING') limit $5) q) t,
              (select count(*) as orchestrators_alive from dagapp.owners
               where beat_at > clock_timestamp() - make_interval(secs => stale_seconds)) w"#,
    )
    .bind(after)
    .bind(COUNTED)
    .bind(i32::try_from(claims_max).unwrap_or(i32::MAX))
    .bind(COUNTED_MAX)
    .bind(ADDED_MAX)
    .fetch_one(pool)
    .await?;
    Ok(row)
}

/// The head, the room beyond it, and how far the read models are.
pub async fn progress(pool: &PgPool) -> Result<Progress, Error> {
    let row = sqlx::query_as(
        "select h.pos as head, (h.partitioned_to - h.pos) / h.partition_size as partitions_ahead,
                coalesce(c.pos, 0) as shown
         from dagapp.log_head h left join dagapp.projection_checkpoints c on c.name = $1",
    )
    .bind(crate::READ_MODELS)
    .fetch_one(pool)
    .await?;
    Ok(row)
}
