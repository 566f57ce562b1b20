//! Whether the platform itself is well: what it could not follow, would not touch, or made no sense of.

use sqlx::{PgConnection, Row};

use super::Check;

/// Read models further behind than this are worth a word.
const LAG_MAX: i64 = 10_000;

/// Asks the tables of Strata, which must be there.
pub(super) async fn checks(connection: &mut PgConnection) -> Result<Vec<Check>, sqlx::Error> {
    let row = sqlx::query(
        "select h.pos, coalesce(c.pos, 0), c.expires_at > clock_timestamp(),
                (select count(*) from dagapp.projection_errors),
                (select count(*) from dagapp.open_jobs where claims >= $1),
                (select count(*) from dagapp.dead_letters),
                (select count(*) from dagapp.owners
                 where beat_at > clock_timestamp() - make_interval(secs => stale_seconds)),
                (select count(*) from dagapp.open_jobs),
                (select string_agg(job_id, ', ') from
                     (select job_id from dagapp.open_jobs where claims >= $1 order by job_id limit 3) q)
         from dagapp.log_head h left join dagapp.projection_checkpoints c on c.name = $2",
    )
    .bind(i32::try_from(commands::orchestrator::CLAIMS_MAX).unwrap_or(i32::MAX))
    .bind(projections::READ_MODELS)
    .fetch_one(connection)
    .await?;
    let number = |place: usize| row.try_get::<i64, _>(place);
    let (head, shown, parked) = (number(0)?, number(1)?, number(3)?);
    let is_led = row.try_get::<Option<bool>, _>(2)?.unwrap_or(false);
    let (quarantined, letters) = (number(4)?, number(5)?);
    let (owners, open) = (number(6)?, number(7)?);
    let some = row.try_get::<Option<String>, _>(8)?.unwrap_or_default();
    Ok(vec![
        orchestrators(owners, open),
        read_models(head, shown, is_led),
        Check::unless(
            parked > 0,
            "projection",
            format!("{parked} streams could not be followed to their end"),
            "upgrade: an event is newer than the build that projects, and jobs that are degraded stay so",
        ),
        Check::unless(
            quarantined > 0,
            "quarantine",
            format!("{quarantined} jobs are left alone, because whoever takes them dies: {some}"),
            "mend the cause (see the logs of the orchestrators), then: strata job release JOB",
        ),
        Check::unless(
            letters > 0,
            "dead letters",
            format!("{letters} messages made no sense"),
            "strata dead-letters list",
        ),
    ])
}

fn orchestrators(owners: i64, open: i64) -> Check {
    let detail = format!("{owners} with a lease, {open} jobs open");
    if owners == 0 && open > 0 {
        return Check::warn("orchestrators", detail, "strata up, or strata orchestrator");
    }
    Check::ok("orchestrators", detail)
}

fn read_models(head: i64, shown: i64, is_led: bool) -> Check {
    let led = if is_led { "led" } else { "led by nobody" };
    let detail = format!("at position {shown} of {head}, {led}");
    if shown < head && !is_led {
        return Check::warn("read models", detail, "strata up, or strata projector");
    }
    if head - shown > LAG_MAX {
        return Check::warn(
            "read models",
            detail,
            "wait, or look at the log of the projector",
        );
    }
    Check::ok("read models", detail)
}
