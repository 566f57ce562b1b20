//! What benches ask the log and the read models: a repository module of SQL, which only reads.

use std::time::Duration;

use sqlx::PgPool;

/// Whether any job waits or runs.
pub(super) async fn is_any_open(pool: &PgPool) -> anyhow::Result<bool> {
    let open = sqlx::query_scalar("select exists (select from dagapp.open_jobs)");
    Ok(open.fetch_one(pool).await?)
}

/// How long the oldest event waits that the read models do not show, in milliseconds.
pub(super) async fn lag_ms(pool: &PgPool) -> anyhow::Result<f64> {
    let lag: Option<f64> = sqlx::query_scalar(
        "select extract(epoch from clock_timestamp() - e.recorded_at)::float8 * 1000
         from dagapp.events e
         where e.pos = 1 + (select pos from dagapp.projection_checkpoints where name = $1)",
    )
    .bind(projections::READ_MODELS)
    .fetch_optional(pool)
    .await?;
    Ok(lag.unwrap_or(0.0))
}

/// From submission to completion, of all completed jobs of a workflow, shortest first.
pub(super) async fn job_times(pool: &PgPool, workflow: &str) -> anyhow::Result<Vec<Duration>> {
    let seconds: Vec<f64> = sqlx::query_scalar(
        "select extract(epoch from j.completed_at - r.submitted_at)::float8
         from dagapp.dag_jobs j join dagapp.requests r using (request_id)
         where j.workflow_id = $1 and j.status = 'COMPLETED' order by 1",
    )
    .bind(workflow)
    .fetch_all(pool)
    .await?;
    Ok(durations(&seconds))
}

/// From dispatch to completion, of all completed tasks of a job, shortest first.
pub(super) async fn task_times(pool: &PgPool, job_id: &str) -> anyhow::Result<Vec<Duration>> {
    let seconds: Vec<f64> = sqlx::query_scalar(
        "select extract(epoch from completed_at - dispatched_at)::float8
         from dagapp.dag_node_states
         where job_id = $1 and parent is not null and status = 'COMPLETED' order by 1",
    )
    .bind(job_id)
    .fetch_all(pool)
    .await?;
    Ok(durations(&seconds))
}

/// Whether any child of the job's fan-outs has not ended.
pub(super) async fn is_any_child_open(pool: &PgPool, job_id: &str) -> anyhow::Result<bool> {
    let open = sqlx::query_scalar(
        "select exists (select from dagapp.dag_node_states where job_id = $1 and parent is not null
                        and status not in ('COMPLETED', 'FAILED', 'SKIPPED'))",
    );
    Ok(open.bind(job_id).fetch_one(pool).await?)
}

/// How many snapshots there are, and their bytes.
pub(super) async fn snapshots(pool: &PgPool) -> anyhow::Result<(i64, i64)> {
    let row =
        sqlx::query_as("select count(*), coalesce(sum(bytes), 0)::bigint from dagapp.snapshots");
    Ok(row.fetch_one(pool).await?)
}

/// How many callbacks have this status.
pub(super) async fn callbacks(pool: &PgPool, status: &str) -> anyhow::Result<i64> {
    let count = sqlx::query_scalar("select count(*) from dagapp.callback_outbox where status = $1");
    Ok(count.bind(status).fetch_one(pool).await?)
}

/// From the end of a job to the first try of its callback, of the latest so many, shortest first.
pub(super) async fn callback_delays(pool: &PgPool, latest: u32) -> anyhow::Result<Vec<Duration>> {
    let seconds: Vec<f64> = sqlx::query_scalar(
        "select extract(epoch from d.at - o.ended_at)::float8
         from (select * from dagapp.callback_outbox order by end_pos desc limit $1) o
         join dagapp.callback_deliveries d using (callback_id) where d.attempt = 1 order by 1",
    )
    .bind(i64::from(latest))
    .fetch_all(pool)
    .await?;
    Ok(durations(&seconds))
}

/// Where everything stands, for a person who wonders why it does not go on.
pub(super) async fn state(pool: &PgPool) -> anyhow::Result<String> {
    let text = sqlx::query_scalar(
        "select format(
            'log at %s, read models at %s, open jobs %s (unclaimed %s); jobs: %s; nodes: %s',
            (select pos from dagapp.log_head),
            (select max(pos) from dagapp.projection_checkpoints),
            (select count(*) from dagapp.open_jobs),
            (select count(*) from dagapp.open_jobs where owner_id is null),
            (select string_agg(status || ' ' || n, ', ')
             from (select status, count(*) n from dagapp.dag_jobs group by status) s),
            (select string_agg(status || ' ' || n, ', ')
             from (select status, count(*) n from dagapp.dag_node_states group by status) s))",
    );
    Ok(text.fetch_one(pool).await?)
}

fn durations(seconds: &[f64]) -> Vec<Duration> {
    // Time of one commit to another never goes back.
    let each = seconds.iter().map(|s| Duration::from_secs_f64(s.max(0.0)));
    each.collect()
}

/// Fills the read models with ended jobs, as if they had been projected; answers one with `nodes` nodes.
pub(super) async fn fill_jobs(pool: &PgPool, jobs: i32, nodes: i32) -> anyhow::Result<String> {
    sqlx::query(
        "insert into dagapp.dag_jobs (job_id, workflow_id, workflow_version, workflow_hash, status, input_params,
             request_id, org_id, priority, result, completed, created_at, updated_at, completed_at, last_pos)
         select 'job_' || md5(i::text), 'bench_' || i % 10, 1, md5('w'),
                (array['COMPLETED', 'COMPLETED', 'COMPLETED', 'FAILED', 'RUNNING'])[1 + i % 5]::dagapp.job_status,
                jsonb_build_object('name', 'job ' || i), 'req_' || md5(i::text), 'default', 'normal',
                '{\"ok\": true}'::jsonb, 3, now() - make_interval(secs => i), now(), now(), i
         from generate_series(1, $1) i",
    )
    .bind(jobs)
    .execute(pool)
    .await?;
    sqlx::query(
        "insert into dagapp.dag_node_states (job_id, node_id, ordinal, stage, kind, status, epoch, handler, queue,
             output, ready_at, started_at, completed_at, updated_at, last_pos)
         select 'job_' || md5(j::text), 'node' || i, i, i, 'task', 'COMPLETED', 1, 'echo', 'functionapp-tasks',
                '{\"ok\": true}'::jsonb, now(), now(), now(), now(), i
         from generate_series(1, 200) j, generate_series(1, $1) i",
    )
    .bind(nodes)
    .execute(pool)
    .await?;
    for table in ["dagapp.dag_jobs", "dagapp.dag_node_states"] {
        let analyze = format!("vacuum analyze {table}");
        sqlx::query(sqlx::AssertSqlSafe(analyze))
            .execute(pool)
            .await?;
    }
    let one = sqlx::query_scalar("select 'job_' || md5('100')")
        .fetch_one(pool)
        .await?;
    Ok(one)
}
