//! What bodies are made of: the results of jobs, and the secrets that sign.

use std::collections::BTreeMap;

use sqlx::{FromRow, PgPool};

/// The name of an organisation's own secret.
const DEFAULT: &str = "default";

/// Results of a job, as JSON text; nothing where they are too large to send.
#[derive(Debug, Clone, Default, FromRow)]
pub(crate) struct Results {
    pub(crate) job_id: String,
    pub(crate) stage_results: Option<String>,
    pub(crate) final_results: Option<String>,
    pub(crate) stages_too_large: bool,
    pub(crate) final_too_large: bool,
}

/// The results of several jobs, each at most so large, by one query.
pub(crate) async fn results(
    pool: &PgPool,
    jobs: &[&str],
    bytes_max: usize,
) -> sqlx::Result<BTreeMap<String, Results>> {
    let rows: Vec<Results> = sqlx::query_as(
        "select job_id,
                case when octet_length(stages) <= $2 then stages end as stage_results,
                case when octet_length(result) <= $2 then result end as final_results,
                coalesce(octet_length(stages) > $2, false) as stages_too_large,
                coalesce(octet_length(result) > $2, false) as final_too_large
         from (select job_id, stage_results::text as stages, result_data::text as result
               from app.jobs where job_id = any($1)) j",
    )
    .bind(jobs)
    .bind(i32::try_from(bytes_max).unwrap_or(i32::MAX))
    .fetch_all(pool)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| (row.job_id.clone(), row))
        .collect())
}

/// Live secrets by organisation and name, newest first. An organisation's own is made when it is first
/// needed; any other must be there.
pub(crate) async fn secrets(
    pool: &PgPool,
    wanted: &[(&str, &str)],
) -> sqlx::Result<BTreeMap<(String, String), Vec<String>>> {
    let mut live = read(pool, wanted).await?;
    let missing = |(org, name): &&(&str, &str)| {
        *name == DEFAULT && !live.contains_key(&((*org).to_owned(), (*name).to_owned()))
    };
    let missing: Vec<&str> = wanted.iter().filter(missing).map(|(org, _)| *org).collect();
    for org in missing {
        let made = sqlx::query_scalar("select dagapp.ensure_callback_secret($1)");
        let made: String = made.bind(org).fetch_one(pool).await?;
        live.insert((org.to_owned(), DEFAULT.to_owned()), vec![made]);
    }
    Ok(live)
}

async fn read(
    pool: &PgPool,
    wanted: &[(&str, &str)],
) -> sqlx::Result<BTreeMap<(String, String), Vec<String>>> {
    let rows: Vec<(String, String, String)> = sqlx::query_as(
        "select s.org_id, s.name, s.value from dagapp.callback_secrets s
         join (select distinct * from unnest($1::text[], $2::text[])) as u (org, name)
              on s.org_id = u.org and s.name = u.name
         where s.retire_at is null or s.retire_at > clock_timestamp()
         order by s.org_id, s.name, s.created_at desc",
    )
    .bind(wanted.iter().map(|w| w.0).collect::<Vec<_>>())
    .bind(wanted.iter().map(|w| w.1).collect::<Vec<_>>())
    .fetch_all(pool)
    .await?;
    let mut live: BTreeMap<_, Vec<String>> = BTreeMap::new();
    for (org, name, value) in rows {
        live.entry((org, name)).or_default().push(value);
    }
    Ok(live)
}
