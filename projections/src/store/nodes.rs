//! `dag_node_states`, row by row; what concerns many rows at once is in `sets`.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use domain::id::NodeId;
use domain::job::NodeStatus;
use sqlx::postgres::PgArguments;
use sqlx::{FromRow, PgConnection, Postgres};
use uuid::Uuid;

use crate::read_models::job::row::{Node, Patch, Place, kind_word, skip_word};

/// Rows of one statement, at most.
const ROWS_MAX: usize = 10_000;

#[derive(FromRow)]
struct Loaded {
    job_id: String,
    node_id: String,
    ordinal: i32,
    stage: i32,
    kind: String,
    status: String,
    attempt: i32,
    epoch: i32,
    lost_runs: i32,
    handler: Option<String>,
    queue: Option<String>,
    worker_id: Option<String>,
    run_id: Option<Uuid>,
    branch: Option<i32>,
    skip_reason: Option<String>,
    skipped_by: Option<String>,
    dispatched_pos: Option<i64>,
    ready_at: Option<DateTime<Utc>>,
    dispatched_at: Option<DateTime<Utc>>,
    started_at: Option<DateTime<Utc>>,
    completed_at: Option<DateTime<Utc>>,
    updated_at: DateTime<Utc>,
    last_pos: i64,
}

/// The small columns of some nodes, by job and node.
pub(crate) async fn load(
    db: &mut PgConnection,
    keys: &[(String, String)],
) -> sqlx::Result<Vec<(String, NodeId, Node)>> {
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let rows: Vec<Loaded> = sqlx::query_as(
        "select n.job_id, n.node_id, n.ordinal, n.stage, n.kind, n.status::text as status, n.attempt, n.epoch,
                n.lost_runs, n.handler, n.queue, n.worker_id, n.run_id, n.branch, n.skip_reason, n.skipped_by,
                n.dispatched_pos, n.ready_at, n.dispatched_at, n.started_at, n.completed_at, n.updated_at,
                n.last_pos
         from unnest($1::text[], $2::text[]) as k (job_id, node_id)
         join dag_node_states n on n.job_id = k.job_id and n.node_id = k.node_id",
    )
    .bind(keys.iter().map(|(job, _)| job.as_str()).collect::<Vec<_>>())
    .bind(keys.iter().map(|(_, node)| node.as_str()).collect::<Vec<_>>())
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(row).collect())
}

fn row(loaded: Loaded) -> (String, NodeId, Node) {
    let place = Place {
        pos: loaded.last_pos,
        at: loaded.updated_at,
    };
    let node = Node {
        ordinal: loaded.ordinal,
        stage: loaded.stage,
        kind: kind_word(&loaded.kind),
        attempt: loaded.attempt,
        epoch: loaded.epoch,
        lost_runs: loaded.lost_runs,
        handler: loaded.handler.map(Arc::from),
        queue: loaded.queue.map(Arc::from),
        worker: loaded.worker_id,
        run: loaded.run_id,
        branch: loaded.branch,
        skip_reason: loaded.skip_reason.as_deref().map(skip_word),
        skipped_by: loaded.skipped_by,
        dispatched_pos: loaded.dispatched_pos,
        ready_at: loaded.ready_at,
        dispatched_at: loaded.dispatched_at,
        started_at: loaded.started_at,
        completed_at: loaded.completed_at,
        ..Node::new(node_status(&loaded.status), place)
    };
    (loaded.job_id, loaded.node_id.as_str().into(), node)
}

/// The status for a word of the database, which has no other words.
pub(crate) fn node_status(word: &str) -> NodeStatus {
    let known = NodeStatus::ALL.into_iter().find(|s| s.word() == word);
    known.unwrap_or(NodeStatus::Pending)
}

/// The large columns that a row changes, as bits.
fn touched(node: &Node) -> i32 {
    let patches = [
        &node.output,
        &node.external,
        &node.error_message,
        &node.failure,
        &node.checkpoint,
    ];
    let bits = patches
        .iter()
        .zip(0..)
        .map(|(p, bit)| i32::from(p.is_set()) << bit);
    bits.sum()
}

/// Makes rows that are new in this batch, and changes the others.
pub(crate) async fn write(
    db: &mut PgConnection,
    rows: &[(&str, &NodeId, &Node)],
) -> sqlx::Result<()> {
    let (fresh, known): (Vec<_>, Vec<_>) = rows.iter().partition(|(_, _, node)| node.fresh);
    for some in fresh.chunks(ROWS_MAX) {
        statement(INSERT, some).execute(&mut *db).await?;
    }
    for some in known.chunks(ROWS_MAX) {
        statement(UPDATE, some).execute(&mut *db).await?;
    }
    Ok(())
}

type Statement<'q> = sqlx::query::Query<'q, Postgres, PgArguments>;

fn statement<'q>(sql: &'static str, rows: &[(&'q str, &'q NodeId, &'q Node)]) -> Statement<'q> {
    macro_rules! column {
        ($of:expr) => {
            rows.iter()
                .map(|(_, _, node)| *node)
                .map($of)
                .collect::<Vec<_>>()
        };
    }
    let ids = || rows.iter().map(|(_, id, _)| *id);
    let parent = |id: &NodeId| id.child.map(|_| id.name.to_string());
    let index = |id: &NodeId| id.child.and_then(|i| i32::try_from(i).ok());
    sqlx::query(sql)
        .bind(rows.iter().map(|(job, _, _)| *job).collect::<Vec<_>>())
        .bind(ids().map(ToString::to_string).collect::<Vec<_>>())
        .bind(ids().map(parent).collect::<Vec<_>>())
        .bind(ids().map(index).collect::<Vec<_>>())
        .bind(column!(|n| n.ordinal))
        .bind(column!(|n| n.stage))
        .bind(column!(|n| n.kind))
        .bind(column!(|n| n.status.word()))
        .bind(column!(|n| n.attempt))
        .bind(column!(|n| n.epoch))
        .bind(column!(|n| n.lost_runs))
        .bind(column!(|n| n.handler.as_deref()))
        .bind(column!(|n| n.queue.as_deref()))
        .bind(column!(|n| n.worker.as_deref()))
        .bind(column!(|n| n.run))
        .bind(column!(|n| n.branch))
        .bind(column!(|n| n.skip_reason))
        .bind(column!(|n| n.skipped_by.as_deref()))
        .bind(column!(|n| n.dispatched_pos))
        .bind(column!(|n| n.ready_at))
        .bind(column!(|n| n.dispatched_at))
        .bind(column!(|n| n.started_at))
        .bind(column!(|n| n.completed_at))
        .bind(column!(|n| n.updated_at))
        .bind(column!(|n| n.last_pos))
        .bind(column!(|n| Patch::value(&n.output)))
        .bind(column!(|n| Patch::value(&n.external)))
        .bind(column!(|n| Patch::value(&n.error_message)))
        .bind(column!(|n| Patch::value(&n.failure)))
        .bind(column!(|n| Patch::value(&n.checkpoint)))
        .bind(column!(touched))
}

/// The columns of both statements; a macro, so that the statements are still literals.
macro_rules! with_rows {
    ($before:literal, $after:literal) => {
        concat!(
            $before,
            "from unnest(
        $1::text[], $2::text[], $3::text[], $4::int[], $5::int[], $6::int[], $7::text[], $8::text[], $9::int[],
        $10::int[], $11::int[], $12::text[], $13::text[], $14::text[], $15::uuid[], $16::int[], $17::text[],
        $18::text[], $19::bigint[], $20::timestamptz[], $21::timestamptz[], $22::timestamptz[],
        $23::timestamptz[], $24::timestamptz[], $25::bigint[], $26::text[], $27::text[], $28::text[],
        $29::text[], $30::text[], $31::int[])
    as u (job_id, node_id, parent, child_index, ordinal, stage, kind, status, attempt, epoch, lost_runs, handler,
          queue, worker_id, run_id, branch, skip_reason, skipped_by, dispatched_pos, ready_at, dispatched_at,
          started_at, completed_at, updated_at, last_pos, output, external, error_message, failure, checkpoint,
          touched)",
            $after
        )
    };
}

const INSERT: &str = with_rows!(
    "insert into dag_node_states
         (job_id, node_id, parent, child_index, ordinal, stage, kind, status, attempt, epoch, lost_runs, handler,
          queue, worker_id, run_id, branch, skip_reason, skipped_by, dispatched_pos, ready_at, dispatched_at,
          started_at, completed_at, updated_at, last_pos, output, external, error_message, failure, checkpoint)
     select job_id, node_id, parent, child_index, ordinal, stage, kind, status::dagapp.node_status, attempt,
            epoch, lost_runs, handler, queue, worker_id, run_id, branch, skip_reason, skipped_by, dispatched_pos,
            ready_at, dispatched_at, started_at, completed_at, updated_at, last_pos,
            output::jsonb, external::jsonb, error_message, failure::jsonb, checkpoint::jsonb
     ",
    " where touched >= 0"
);

const UPDATE: &str = with_rows!(
    "update dag_node_states n
     set status = u.status::dagapp.node_status, attempt = u.attempt, epoch = u.epoch, lost_runs = u.lost_runs,
         handler = u.handler, queue = u.queue, worker_id = u.worker_id, run_id = u.run_id, branch = u.branch,
         skip_reason = u.skip_reason, skipped_by = u.skipped_by, dispatched_pos = u.dispatched_pos,
         ready_at = u.ready_at, dispatched_at = u.dispatched_at, started_at = u.started_at,
         completed_at = u.completed_at, updated_at = u.updated_at, last_pos = u.last_pos,
         output = case when u.touched & 1 > 0 then u.output::jsonb else n.output end,
         external = case when u.touched & 2 > 0 then u.external::jsonb else n.external end,
         error_message = case when u.touched & 4 > 0 then u.error_message else n.error_message end,
         failure = case when u.touched & 8 > 0 then u.failure::jsonb else n.failure end,
         checkpoint = case when u.touched & 16 > 0 then u.checkpoint::jsonb else n.checkpoint end
     ",
    " where n.job_id = u.job_id and n.node_id = u.node_id"
);
