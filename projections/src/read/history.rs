//! Lists of jobs as of a moment: `dag_jobs_history`.

use chrono::{DateTime, Utc};
use sqlx::{FromRow, PgPool, Postgres, QueryBuilder};

use super::jobs::conditions;
use super::{JobFilter, Page, limit, parse_time_cursor, time_cursor};
use crate::Error;
use crate::travel::Moment;

/// A job of such a list.
#[derive(Debug, Clone, FromRow)]
pub(crate) struct JobThen {
    pub(crate) job_id: String,
    pub(crate) status: String,
    created_at: DateTime<Utc>,
}

impl JobThen {
    /// Whether the job had ended.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.status.as_str(), "COMPLETED" | "FAILED" | "CANCELLED")
    }
}

fn valid(query: &mut QueryBuilder<Postgres>, moment: Moment) {
    query.push(" and j.from_pos <= ").push_bind(moment.pos);
    query.push(" and (j.to_pos is null or j.to_pos > ");
    query.push_bind(moment.pos).push(")");
    // Jobs of later times are the first of the index, and none of them was there.
    query.push(" and j.created_at <= ");
    query.push_bind(moment.recorded_at);
}

/// Jobs as they were, newest first.
pub(crate) async fn jobs_at(
    pool: &PgPool,
    filter: &JobFilter,
    moment: Moment,
) -> Result<Page<JobThen>, Error> {
    let limit = limit(filter.limit);
    let cursor = parse_time_cursor(filter.cursor.as_deref())?;
    let mut query = QueryBuilder::new(
        "select j.job_id, j.status::text as status, j.created_at from dagapp.dag_jobs_history j",
    );
    conditions(&mut query, filter);
    valid(&mut query, moment);
    if let Some((at, id)) = cursor {
        query.push(" and (j.created_at, j.job_id) < (");
        query.push_bind(at).push(", ").push_bind(id).push(")");
    }
    query.push(" order by j.created_at desc, j.job_id desc limit ");
    query.push_bind(limit + 1);
    let rows = query.build_query_as().persistent(false).fetch_all(pool);
    Ok(Page::cut(rows.await?, limit, |row: &JobThen| {
        time_cursor(row.created_at, &row.job_id)
    }))
}

/// How many jobs that fit the filter had each status, whatever page and status it asks for.
pub(crate) async fn job_counts_at(
    pool: &PgPool,
    filter: &JobFilter,
    moment: Moment,
) -> Result<Vec<(String, i64)>, Error> {
    let all = JobFilter {
        statuses: Vec::new(),
        ..filter.clone()
    };
    let mut query =
        QueryBuilder::new("select j.status::text, count(*) from dagapp.dag_jobs_history j");
    conditions(&mut query, &all);
    valid(&mut query, moment);
    query.push(" group by j.status order by j.status");
    let rows = query.build_query_as().persistent(false).fetch_all(pool);
    Ok(rows.await?)
}
