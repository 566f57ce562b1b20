//! `open_jobs` and `owners` on Postgres.

use std::time::Duration;

use domain::id::{JobId, OwnerId};
use futures_util::future::BoxFuture;
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use super::error::LogError;
use super::jobs::{JobRow, OpenJobs, Orphans, Owned};
use super::postgres::{PostgresLog, answered, unsigned};

impl OpenJobs for PostgresLog {
    fn unclaimed(
        &self,
        age: Duration,
        claims_max: u32,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<JobRow>, LogError>> {
        Box::pin(answered(async move {
            let rows = sqlx::query(
                "select job_id, request_id, owner_id, epoch, claims, weight, due_at,
                        0::bigint as version, 1::smallint as max_schema
                 from dagapp.open_jobs
                 where owner_id is null and claims < $3
                   and submitted_at <= clock_timestamp() - make_interval(secs => $1)
                 order by submitted_at limit $2",
            )
            .bind(age.as_secs_f64())
            .bind(i64::try_from(limit).unwrap_or(i64::MAX))
            .bind(small(claims_max))
            .fetch_all(&self.pool)
            .await?;
            rows.iter().map(job_row).collect()
        }))
    }

    fn orphans(
        &self,
        caller: OwnerId,
        wanted: Orphans,
    ) -> BoxFuture<'_, Result<Vec<JobRow>, LogError>> {
        Box::pin(answered(async move {
            // Each caller sees them in an order of its own, so that they do not race for the same ones.
            let rows = sqlx::query(
                "select j.job_id, j.request_id, j.owner_id, j.epoch, j.claims, j.weight, j.due_at,
                        s.version, s.max_schema
                 from dagapp.open_jobs j
                 join dagapp.streams s on s.stream_id = 'job:' || j.job_id
                 left join dagapp.owners o on o.owner_id = j.owner_id
                 where j.owner_id is not null and j.owner_id <> $1 and j.claims < $4
                   and (j.due_at is null or j.due_at < clock_timestamp() + make_interval(secs => $5))
                   and (o.owner_id is null or o.beat_at < clock_timestamp() - make_interval(secs => $2))
                 order by j.claims, md5(j.job_id || $1::text) limit $3",
            )
            .bind(caller.0)
            // Without a time no lease is too old.
            .bind(wanted.stale.map(|stale| stale.as_secs_f64()))
            .bind(i64::try_from(wanted.limit).unwrap_or(i64::MAX))
            .bind(small(wanted.claims_max))
            .bind(wanted.due_within.as_secs_f64())
            .fetch_all(&self.pool)
            .await?;
            rows.iter().map(job_row).collect()
        }))
    }

    fn owned(&self, owner: OwnerId) -> BoxFuture<'_, Result<Vec<Owned>, LogError>> {
        Box::pin(answered(async move {
            let rows = sqlx::query(
                "select j.job_id, j.epoch, s.version, j.due_at
                 from dagapp.open_jobs j join dagapp.streams s on s.stream_id = 'job:' || j.job_id
                 where j.owner_id = $1",
            )
            .bind(owner.0)
            .fetch_all(&self.pool)
            .await?;
            rows.iter()
                .map(|row| {
                    Ok(Owned {
                        job_id: job_id(row)?,
                        epoch: unsigned(row.try_get("epoch")?),
                        version: unsigned(row.try_get("version")?),
                        due_at: row.try_get("due_at")?,
                    })
                })
                .collect()
        }))
    }

    fn open_job(&self, job: JobId) -> BoxFuture<'_, Result<Option<JobRow>, LogError>> {
        Box::pin(answered(async move {
            let row = sqlx::query(
                "select j.job_id, j.request_id, j.owner_id, j.epoch, j.claims, j.weight, j.due_at,
                        coalesce(s.version, 0) as version, coalesce(s.max_schema, 1::smallint) as max_schema
                 from dagapp.open_jobs j
                 left join dagapp.streams s on s.stream_id = 'job:' || j.job_id
                 where j.job_id = $1",
            )
            .bind(job.to_string())
            .fetch_optional(&self.pool)
            .await?;
            row.as_ref().map(job_row).transpose()
        }))
    }

    fn count_claims<'a>(&'a self, jobs: &'a [JobId]) -> BoxFuture<'a, Result<(), LogError>> {
        Box::pin(answered(async move {
            let ids: Vec<String> = jobs.iter().map(ToString::to_string).collect();
            sqlx::query(
                "update dagapp.open_jobs set claims = claims + 1 where job_id in (
                     select job_id from dagapp.open_jobs where job_id = any($1)
                     order by job_id for update)",
            )
            .bind(ids)
            .execute(&self.pool)
            .await?;
            Ok(())
        }))
    }

    fn count_tries<'a>(
        &'a self,
        jobs: &'a [JobId],
        most: u32,
    ) -> BoxFuture<'a, Result<Vec<JobId>, LogError>> {
        Box::pin(answered(async move {
            let ids: Vec<String> = jobs.iter().map(ToString::to_string).collect();
            let rows = sqlx::query(
                "update dagapp.open_jobs set claims = claims + 1 where job_id in (
                     select job_id from dagapp.open_jobs
                     where job_id = any($1) and owner_id is null and claims < $2
                     order by job_id for update)
                 returning job_id",
            )
            .bind(ids)
            .bind(small(most))
            .fetch_all(&self.pool)
            .await?;
            rows.iter().map(job_id).collect()
        }))
    }

    fn forgive(&self, job: JobId) -> BoxFuture<'_, Result<(), LogError>> {
        Box::pin(answered(async move {
            sqlx::query(
                "update dagapp.open_jobs set claims = claims - 1 where job_id = $1 and claims > 0",
            )
            .bind(job.to_string())
            .execute(&self.pool)
            .await?;
            Ok(())
        }))
    }

    fn settle<'a>(
        &'a self,
        owner: OwnerId,
        jobs: &'a [JobId],
    ) -> BoxFuture<'a, Result<(), LogError>> {
        Box::pin(answered(async move {
            let ids: Vec<String> = jobs.iter().map(ToString::to_string).collect();
            // One that is being appended to is settled by that, or next time.
            sqlx::query(
                "update dagapp.open_jobs set claims = 0 where job_id in (
                     select job_id from dagapp.open_jobs where job_id = any($1) and owner_id = $2
                     order by job_id for update skip locked)",
            )
            .bind(ids)
            .bind(owner.0)
            .execute(&self.pool)
            .await?;
            Ok(())
        }))
    }

    fn release(&self, job: JobId) -> BoxFuture<'_, Result<bool, LogError>> {
        Box::pin(answered(async move {
            let done = sqlx::query("update dagapp.open_jobs set claims = 0 where job_id = $1")
                .bind(job.to_string())
                .execute(&self.pool)
                .await?;
            Ok(done.rows_affected() > 0)
        }))
    }

    fn beat<'a>(
        &'a self,
        owner: OwnerId,
        host: &'a str,
        stale: Duration,
    ) -> BoxFuture<'a, Result<u32, LogError>> {
        Box::pin(answered(async move {
            let row = sqlx::query(
                "with mine as (
                     insert into dagapp.owners (owner_id, host, stale_seconds) values ($1, $2, $3)
                     on conflict (owner_id) do update set beat_at = clock_timestamp()
                 )
                 select count(*) as others from dagapp.owners
                 where owner_id <> $1 and beat_at >= clock_timestamp() - make_interval(secs => $3)",
            )
            .bind(owner.0)
            .bind(host)
            .bind(stale.as_secs_f64())
            .fetch_one(&self.pool)
            .await?;
            let others: i64 = row.try_get("others")?;
            Ok(u32::try_from(others).unwrap_or(0).saturating_add(1))
        }))
    }

    fn leave(&self, owner: OwnerId) -> BoxFuture<'_, Result<(), LogError>> {
        Box::pin(answered(async move {
            sqlx::query("delete from dagapp.owners where owner_id = $1")
                .bind(owner.0)
                .execute(&self.pool)
                .await?;
            Ok(())
        }))
    }
}

fn small(count: u32) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

fn job_id(row: &PgRow) -> Result<JobId, LogError> {
    let text: String = row.try_get("job_id")?;
    text.parse()
        .map_err(|error: domain::id::InvalidId| LogError::Decode(error.to_string()))
}

fn job_row(row: &PgRow) -> Result<JobRow, LogError> {
    Ok(JobRow {
        job_id: job_id(row)?,
        request_id: row.try_get("request_id")?,
        owner: row
            .try_get::<Option<uuid::Uuid>, _>("owner_id")?
            .map(OwnerId),
        epoch: unsigned(row.try_get("epoch")?),
        claims: u32::try_from(row.try_get::<i32, _>("claims")?).unwrap_or(0),
        weight: u32::try_from(row.try_get::<i32, _>("weight")?).unwrap_or(0),
        due_at: row.try_get("due_at")?,
        version: unsigned(row.try_get("version")?),
        max_schema: u16::try_from(row.try_get::<i16, _>("max_schema")?).unwrap_or(u16::MAX),
    })
}
