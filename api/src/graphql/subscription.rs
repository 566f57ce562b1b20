//! What can be watched. Each stream begins after a cursor and sees every event once, in order.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use async_graphql::{Context, InputObject, Object, SimpleObject, Subscription as Watch};
use futures_util::{Stream, StreamExt as _, stream};
use projections::read::{self, LogEvent};

use super::asset::Asset;
use super::context::{core, viewer};
use super::event::Event;
use super::job::{Job, JobFilter, Progress};
use super::query::clean;
use crate::app::Core;
use crate::error::Fault;
use crate::live::{Reader, TopicId};

/// Changes of many jobs are gathered for this long.
const GATHER: Duration = Duration::from_millis(100);
/// Jobs of one message.
const JOBS_MAX: usize = 200;
/// How long a view waits for the read models to show what has happened.
const PATIENCE: Duration = Duration::from_secs(5);

type Feed<T> = Pin<Box<dyn Stream<Item = async_graphql::Result<T>> + Send>>;

/// Which events.
#[derive(Debug, Clone, Default, InputObject)]
pub(super) struct EventFilter {
    /// Only these types; all without.
    types: Option<Vec<String>>,
    job_id: Option<String>,
    asset_id: Option<String>,
}

/// An event with the place to come back to.
#[derive(SimpleObject)]
pub(super) struct EventMessage {
    /// Subscribe `after` it, and the next event is the first one.
    cursor: String,
    event: Event,
}

/// Something happened to a job.
pub(super) struct JobMessage {
    cursor: String,
    event: Arc<LogEvent>,
    job_id: String,
}

#[Object]
impl JobMessage {
    /// Subscribe `after` it, and the next event is the first one.
    async fn cursor(&self) -> &str {
        &self.cursor
    }

    async fn event(&self) -> Event {
        Event(Arc::clone(&self.event))
    }

    /// The job as it is now, this event and perhaps later ones included.
    async fn job(&self, ctx: &Context<'_>) -> async_graphql::Result<Option<Job>> {
        let (core, viewer) = (core(ctx)?, viewer(ctx)?);
        let ids = [self.job_id.clone()];
        Ok(jobs_at(core, viewer.org(), &ids, self.event.pos)
            .await?
            .pop())
    }
}

/// Jobs that have changed.
#[derive(SimpleObject)]
pub(super) struct JobsMessage {
    cursor: String,
    /// Those that fit the filter, as they are now.
    jobs: Vec<Job>,
    /// Those that have changed and do not fit it, or no longer.
    others: Vec<String>,
}

/// An asset has changed.
#[derive(SimpleObject)]
pub(super) struct AssetMessage {
    cursor: String,
    event: Event,
    asset: Option<Asset>,
}

/// How far a job is.
#[derive(SimpleObject)]
pub(super) struct ProgressMessage {
    cursor: String,
    job_id: String,
    status: super::words::JobStatus,
    progress: Progress,
}

pub(crate) struct Subscription;

#[Watch]
impl Subscription {
    /// Everything that happens in the organisation.
    async fn events(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "A cursor; from now on without.")] after: Option<String>,
        filter: Option<EventFilter>,
    ) -> async_graphql::Result<Feed<EventMessage>> {
        let (core, viewer) = (core(ctx)?, viewer(ctx)?);
        let filter = filter.unwrap_or_default();
        let topic = match (&filter.job_id, &filter.asset_id) {
            (Some(_), Some(_)) => {
                let message = "a filter names a job or an asset, not both";
                return Err(Fault::invalid("FILTER", message, "subscribe twice").into());
            }
            (Some(job), None) => job_topic(core, viewer.org(), job).await?,
            (None, Some(asset)) => asset_topic(core, viewer.org(), asset).await?,
            (None, None) => TopicId::Org(viewer.org().into()),
        };
        let reader = core.live.reader(topic, after.as_deref()).await;
        let reader = reader.map_err(Fault::from)?;
        let types: BTreeSet<String> = filter
            .types
            .unwrap_or_default()
            .into_iter()
            .take(100)
            .collect();
        let wanted = move |event: &LogEvent| types.is_empty() || types.contains(&event.kind);
        Ok(each(reader, wanted, |cursor, event| EventMessage {
            cursor,
            event: Event(event),
        }))
    }

    /// Everything that happens to one job.
    async fn job(
        &self,
        ctx: &Context<'_>,
        id: String,
        after: Option<String>,
    ) -> async_graphql::Result<Feed<JobMessage>> {
        let (core, viewer) = (core(ctx)?, viewer(ctx)?);
        let topic = job_topic(core, viewer.org(), &id).await?;
        let reader = core.live.reader(topic, after.as_deref()).await;
        let reader = reader.map_err(Fault::from)?;
        Ok(each(
            reader,
            |_| true,
            move |cursor, event| JobMessage {
                cursor,
                event,
                job_id: id.clone(),
            },
        ))
    }

    /// Jobs that change, gathered; for lists that keep themselves up to date.
    async fn jobs(
        &self,
        ctx: &Context<'_>,
        filter: Option<JobFilter>,
        after: Option<String>,
    ) -> async_graphql::Result<Feed<JobsMessage>> {
        let (core, viewer) = (core(ctx)?.clone(), viewer(ctx)?);
        let org = viewer.org().to_owned();
        let filter = filter.unwrap_or_default().of(&org)?;
        let reader = core
            .live
            .reader(TopicId::Org(org.as_str().into()), after.as_deref())
            .await;
        let reader = reader.map_err(Fault::from)?;
        let state = (core, org, filter, reader);
        Ok(until_error(Box::pin(stream::unfold(
            state,
            |(core, org, filter, mut reader)| async move {
                let message = changed_jobs(&core, &org, &filter, &mut reader).await;
                Some((message, (core, org, filter, reader)))
            },
        ))))
    }

    /// Everything that happens to one asset.
    async fn asset(
        &self,
        ctx: &Context<'_>,
        id: String,
        after: Option<String>,
    ) -> async_graphql::Result<Feed<AssetMessage>> {
        let (core, viewer) = (core(ctx)?.clone(), viewer(ctx)?);
        let org = viewer.org().to_owned();
        let topic = asset_topic(&core, &org, &id).await?;
        let reader = core.live.reader(topic, after.as_deref()).await;
        let events = each(
            reader.map_err(Fault::from)?,
            |_| true,
            |cursor, event| (cursor, event),
        );
        let messages = events.then(move |next| {
            let (core, org, id) = (core.clone(), org.clone(), id.clone());
            async move {
                let (cursor, event) = next?;
                wait(&core, event.pos).await?;
                let rows = read::assets_by_id(&core.pool, &org, &[id]).await;
                let asset = rows.map_err(Fault::from)?.pop().map(Asset::now);
                Ok(AssetMessage {
                    cursor,
                    event: Event(event),
                    asset,
                })
            }
        });
        Ok(until_error(Box::pin(messages)))
    }

    /// How far a job is: now, and whenever that changes, gathered.
    async fn progress(
        &self,
        ctx: &Context<'_>,
        job_id: String,
    ) -> async_graphql::Result<Feed<ProgressMessage>> {
        let (core, viewer) = (core(ctx)?.clone(), viewer(ctx)?);
        let org = viewer.org().to_owned();
        let topic = job_topic(&core, &org, &job_id).await?;
        let reader = core.live.reader(topic, None).await.map_err(Fault::from)?;
        let state = (core, org, job_id, reader, true);
        Ok(until_error(Box::pin(stream::unfold(
            state,
            |(core, org, job_id, mut reader, first)| async move {
                let message = next_progress(&core, &org, &job_id, &mut reader, first).await;
                Some((message, (core, org, job_id, reader, false)))
            },
        ))))
    }
}

/// The stream of a job that the organisation owns.
async fn job_topic(core: &Core, org: &str, id: &str) -> Result<TopicId, Fault> {
    let none = || Fault::not_found("job", id);
    let job = id.parse().map_err(|_| none())?;
    match core.writer.org_of_job(job).await? {
        Some(owner) if owner == org => Ok(TopicId::Stream(format!("job:{job}").into())),
        _ => Err(none()),
    }
}

async fn asset_topic(core: &Core, org: &str, id: &str) -> Result<TopicId, Fault> {
    let id = clean(id.to_owned());
    let rows = read::assets_by_id(&core.pool, org, std::slice::from_ref(&id)).await?;
    match rows.first() {
        Some(asset) => Ok(TopicId::Stream(format!("asset:{}", asset.asset_id).into())),
        None => Err(Fault::not_found("asset", &id)),
    }
}

/// A feed that ends with its first error: what could not be told must not be skipped, and whoever wants to
/// go on subscribes again after the last cursor.
fn until_error<T: Send + 'static>(feed: Feed<T>) -> Feed<T> {
    Box::pin(stream::unfold(Some(feed), |feed| async move {
        let mut feed = feed?;
        let item = feed.next().await?;
        let rest = item.is_ok().then_some(feed);
        Some((item, rest))
    }))
}

/// Every event that is wanted, with its cursor.
fn each<T: Send + 'static>(
    reader: Reader,
    wanted: impl Fn(&LogEvent) -> bool + Send + 'static,
    make: impl Fn(String, Arc<LogEvent>) -> T + Send + 'static,
) -> Feed<T> {
    let batches = stream::unfold(
        (reader, wanted, make),
        |(mut reader, wanted, make)| async move {
            let batch: Vec<async_graphql::Result<T>> = match reader.next().await {
                Ok(events) => events
                    .into_iter()
                    .filter(|event| wanted(event))
                    .map(|event| Ok(make(reader.cursor(event.pos), event)))
                    .collect(),
                Err(error) => vec![Err(Fault::from(error).into())],
            };
            Some((stream::iter(batch), (reader, wanted, make)))
        },
    );
    until_error(Box::pin(batches.flatten()))
}

async fn changed_jobs(
    core: &Core,
    org: &str,
    filter: &read::JobFilter,
    reader: &mut Reader,
) -> async_graphql::Result<JobsMessage> {
    let mut ids = BTreeSet::new();
    while ids.is_empty() {
        gather(reader, &mut ids).await?;
        if ids.is_empty() {
            continue;
        }
        let until = tokio::time::Instant::now() + GATHER;
        while ids.len() < JOBS_MAX {
            match tokio::time::timeout_at(until, gather(reader, &mut ids)).await {
                Ok(gathered) => gathered?,
                Err(_) => break,
            }
        }
    }
    let all: Vec<String> = ids.into_iter().collect();
    let pos = reader.pos();
    wait(core, pos).await?;
    let narrowed = read::matching_jobs(&core.pool, filter, &all).await;
    let jobs = narrowed.map_err(Fault::from)?;
    let fits: BTreeSet<&str> = jobs.iter().map(|job| job.job_id.as_str()).collect();
    let others = all.iter().filter(|id| !fits.contains(id.as_str()));
    let others = others.cloned().collect();
    debug_assert_eq!(filter.org_id.as_deref(), Some(org));
    Ok(JobsMessage {
        cursor: reader.cursor(pos),
        jobs: jobs.into_iter().map(Job::now).collect(),
        others,
    })
}

async fn gather(reader: &mut Reader, ids: &mut BTreeSet<String>) -> Result<(), Fault> {
    let events = reader.next().await?;
    ids.extend(
        events
            .iter()
            .filter_map(|event| event.id_of("job"))
            .map(str::to_owned),
    );
    Ok(())
}

async fn next_progress(
    core: &Core,
    org: &str,
    job_id: &str,
    reader: &mut Reader,
    first: bool,
) -> async_graphql::Result<ProgressMessage> {
    loop {
        if !first {
            reader.next().await.map_err(Fault::from)?;
            let until = tokio::time::Instant::now() + GATHER;
            while let Ok(more) = tokio::time::timeout_at(until, reader.next()).await {
                more.map_err(Fault::from)?;
            }
        }
        let ids = [job_id.to_owned()];
        // At first, too: of what is before the reader's place it is never told again.
        let found = jobs_at(core, org, &ids, reader.pos()).await?;
        if let Some(job) = found.into_iter().next() {
            return Ok(ProgressMessage {
                cursor: reader.cursor(reader.pos()),
                job_id: job_id.to_owned(),
                status: super::words::JobStatus::of(&job.0.status),
                progress: job.progress_now(),
            });
        }
        // Only a request so far: the first event makes the job.
        reader.next().await.map_err(Fault::from)?;
        wait(core, reader.pos()).await?;
    }
}

async fn jobs_at(core: &Core, org: &str, ids: &[String], pos: i64) -> Result<Vec<Job>, Fault> {
    wait(core, pos).await?;
    let rows = read::jobs_by_id(&core.pool, org, ids).await?;
    Ok(rows.into_iter().map(Job::now).collect())
}

async fn wait(core: &Core, pos: i64) -> Result<(), Fault> {
    Ok(read::wait_for(&core.pool, pos, PATIENCE).await?)
}
