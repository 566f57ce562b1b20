//! All projectors for whoever looks after them, with the rebuild that is under way.

use serde::Serialize;
use sqlx::{FromRow, PgPool};
use uuid::Uuid;

use crate::Error;

/// A projector: how far it is, who leads it, and what it gave up.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Projection {
    pub name: String,
    /// Of the code that fills its tables.
    pub version: i32,
    pub position: i64,
    /// Events of the log that it has not seen.
    pub lag: i64,
    pub leader: Option<Uuid>,
    /// Streams that it could not follow.
    pub parked: i64,
    pub rebuild: Option<Rebuild>,
}

/// A rebuild that is under way, or was left.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rebuild {
    /// The version that the projector will have.
    pub version: i32,
    /// `fill`, `index`, `rest`, `follow` or `compare`.
    pub phase: String,
    pub position: i64,
    /// Where the fill ends.
    pub upto: i64,
    /// Whether a process is at it.
    pub is_led: bool,
    /// Since the phase began.
    pub seconds: f64,
    /// Of the fill.
    pub events_per_s: Option<f64>,
    /// Until the fill ends.
    pub seconds_left: Option<f64>,
}

#[derive(FromRow)]
struct Row {
    name: String,
    version: i32,
    position: i64,
    lag: i64,
    leader: Option<Uuid>,
    parked: i64,
    phase: Option<String>,
    next_version: Option<i32>,
    next_position: Option<i64>,
    upto: Option<i64>,
    is_led: Option<bool>,
    seconds: Option<f64>,
}

/// All projectors, by name.
pub async fn projections(pool: &PgPool) -> Result<Vec<Projection>, Error> {
    let rows: Vec<Row> = sqlx::query_as(
        "select c.name, c.version, c.pos as position, greatest(h.pos - c.pos, 0) as lag,
                case when c.expires_at >= clock_timestamp() then c.leader end as leader,
                (select count(*) from dagapp.projection_errors e where e.projector = c.name) as parked,
                r.phase, r.version as next_version, r.pos as next_position, r.upto,
                r.owner is not null and r.expires_at >= clock_timestamp() as is_led,
                extract(epoch from clock_timestamp() - r.phase_at)::float8 as seconds
         from dagapp.projection_checkpoints c
         cross join dagapp.log_head h
         left join dagapp.rebuilds r on r.name = c.name
         order by c.name",
    )
    .fetch_all(pool)
    .await?;
    Ok(rows.into_iter().map(projection).collect())
}

fn projection(mut row: Row) -> Projection {
    let phase = row.phase.take();
    Projection {
        rebuild: phase.map(|phase| rebuild(&row, phase)),
        name: row.name,
        version: row.version,
        position: row.position,
        lag: row.lag,
        leader: row.leader,
        parked: row.parked,
    }
}

fn rebuild(row: &Row, phase: String) -> Rebuild {
    let (position, upto) = (row.next_position.unwrap_or(0), row.upto.unwrap_or(0));
    let seconds = row.seconds.unwrap_or(0.0);
    let rate =
        (phase == "fill" && seconds > 0.0 && position > 0).then(|| position as f64 / seconds);
    Rebuild {
        version: row.next_version.unwrap_or(row.version),
        position,
        upto,
        is_led: row.is_led.unwrap_or(false),
        seconds,
        events_per_s: rate,
        seconds_left: rate.map(|rate| (upto - position).max(0) as f64 / rate),
        phase,
    }
}
