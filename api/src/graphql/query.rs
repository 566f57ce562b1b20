//! What can be asked.

use async_graphql::connection::Connection;
use async_graphql::{Context, MergedObject, Object};
use domain::access::Role;
use projections::{dead_letters, read};

use super::asset::{Asset, AssetFilter};
use super::callback::Callback;
use super::check::ArtifactChecks;
use super::context::{Position, core, ready, viewer};
use super::fleet::{
    DeadLetter, Health, Key, Me, Orchestrator, Platform, Projection, Queue, Worker,
};
use super::job::{Job, JobFilter, JobsInfo};
use super::loaders::{AssetKey, JobKey, Loaders, RequestKey};
use super::page;
use super::request::{OpenJob, Request};
use super::travel::{self, AsOf, Past};
use super::words::Role as RoleWord;
use super::workflow::{Handler, Workflow, WorkflowVersion, group};
use crate::error::Fault;
use crate::live::Cursor;
use crate::ops::fleet::queues;

#[derive(Default, MergedObject)]
pub(crate) struct Query(
    Work,
    ArtifactChecks,
    Past,
    Callbacks,
    Definitions,
    Installation,
);

#[derive(Default)]
struct Work;

#[Object]
impl Work {
    /// Jobs, the newest first; as they were listed at a moment of the past, if one is named.
    #[graphql(complexity = "travel_cost(&as_of) + 50 + page::cost(first, child_complexity)")]
    async fn jobs(
        &self,
        ctx: &Context<'_>,
        filter: Option<JobFilter>,
        first: Option<i32>,
        after: Option<String>,
        as_of: Option<AsOf>,
        wait_for: Option<Position>,
    ) -> async_graphql::Result<Connection<String, Job, JobsInfo>> {
        let (core, viewer) = ready(ctx, wait_for).await?;
        let mut filter = filter.unwrap_or_default().of(viewer.org())?;
        filter.limit = page::size(first)?;
        filter.cursor.clone_from(&after);
        let (rows, moment) = match as_of {
            Some(as_of) => {
                let moment = as_of.moment(ctx).await?;
                let then = core.traveller.jobs(&filter, moment).await;
                let page = then.map_err(Fault::from)?.page;
                (travel::jobs(page, moment), Some(moment))
            }
            None => {
                let rows = read::jobs(&core.pool, &filter).await.map_err(Fault::from)?;
                let items = rows.items.into_iter().map(Job::now).collect();
                let next = rows.next;
                (read::Page { items, next }, None)
            }
        };
        let info = JobsInfo(filter, moment);
        let cursor = |job: &Job| job.0.cursor();
        Ok(page::with_fields(
            rows,
            after.as_deref(),
            info,
            cursor,
            |job| job,
        ))
    }

    /// One job; nothing as long as only its request exists. With `asOf` as it was at that moment, from the log; before
    /// it was made is an error.
    #[graphql(complexity = "travel_cost(&as_of) + 1 + child_complexity")]
    async fn job(
        &self,
        ctx: &Context<'_>,
        id: String,
        as_of: Option<AsOf>,
        wait_for: Option<Position>,
    ) -> async_graphql::Result<Option<Job>> {
        ready(ctx, wait_for).await?;
        if let Some(as_of) = as_of {
            let moment = as_of.moment(ctx).await?;
            return Ok(travel::job(ctx, &clean(id), moment).await?);
        }
        let loaded = ctx.data::<Loaders>()?.load_one(JobKey(clean(id))).await?;
        Ok(loaded.map(Job::now))
    }

    /// A job that has not ended, as the orchestrators see it; also when only its request exists. It is read
    /// from where they look, and never behind.
    async fn open_job(
        &self,
        ctx: &Context<'_>,
        id: String,
    ) -> async_graphql::Result<Option<OpenJob>> {
        let (core, viewer) = (core(ctx)?, viewer(ctx)?);
        let Ok(job) = id.parse() else { return Ok(None) };
        let owner = core.writer.org_of_job(job).await.map_err(Fault::from)?;
        if owner.as_deref() != Some(viewer.org()) {
            return Ok(None);
        }
        let row = core.writer.log.open_job(job).await.map_err(Fault::from)?;
        Ok(row.map(OpenJob::from))
    }

    /// Requests, the newest first.
    #[graphql(complexity = "50 + page::cost(first, child_complexity)")]
    async fn requests(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "`waiting`, `assigned` or `withdrawn`.")] status: Option<String>,
        asset_id: Option<String>,
        first: Option<i32>,
        after: Option<String>,
        wait_for: Option<Position>,
    ) -> async_graphql::Result<Connection<String, Request>> {
        let (core, viewer) = ready(ctx, wait_for).await?;
        let filter = read::RequestFilter {
            org_id: Some(viewer.org().to_owned()),
            status: status.map(clean),
            asset_id: asset_id.map(clean),
            limit: page::size(first)?,
            cursor: after.clone(),
        };
        let rows = read::requests(&core.pool, &filter).await;
        let rows = rows.map_err(Fault::from)?;
        Ok(page::connection(
            rows,
            after.as_deref(),
            read::Request::cursor,
            Request,
        ))
    }

    /// One request.
    async fn request(
        &self,
        ctx: &Context<'_>,
        id: String,
        wait_for: Option<Position>,
    ) -> async_graphql::Result<Option<Request>> {
        ready(ctx, wait_for).await?;
        let loaded = ctx
            .data::<Loaders>()?
            .load_one(RequestKey(clean(id)))
            .await?;
        Ok(loaded.map(Request))
    }

    /// Assets of all platforms, the newest first.
    #[graphql(complexity = "50 + page::cost(first, child_complexity)")]
    async fn assets(
        &self,
        ctx: &Context<'_>,
        filter: Option<AssetFilter>,
        first: Option<i32>,
        after: Option<String>,
        wait_for: Option<Position>,
    ) -> async_graphql::Result<Connection<String, Asset>> {
        let (core, viewer) = ready(ctx, wait_for).await?;
        let mut filter = filter.unwrap_or_default().of(viewer.org())?;
        filter.limit = page::size(first)?;
        filter.cursor.clone_from(&after);
        let rows = read::assets(&core.pool, &filter).await;
        let rows = rows.map_err(Fault::from)?;
        Ok(page::connection(
            rows,
            after.as_deref(),
            read::Asset::cursor,
            Asset::now,
        ))
    }

    /// One asset, deleted or not. With `asOf` as it was at that moment, from the log; before it was known is an error.
    #[graphql(complexity = "travel_cost(&as_of) + 1 + child_complexity")]
    async fn asset(
        &self,
        ctx: &Context<'_>,
        id: String,
        as_of: Option<AsOf>,
        wait_for: Option<Position>,
    ) -> async_graphql::Result<Option<Asset>> {
        ready(ctx, wait_for).await?;
        if let Some(as_of) = as_of {
            let moment = as_of.moment(ctx).await?;
            return Ok(travel::asset(ctx, &clean(id), moment).await?);
        }
        let loaded = ctx.data::<Loaders>()?.load_one(AssetKey(clean(id))).await?;
        Ok(loaded.map(Asset::now))
    }
}

#[derive(Default)]
struct Callbacks;

#[Object]
impl Callbacks {
    /// Callbacks, the newest first.
    #[graphql(complexity = "50 + page::cost(first, child_complexity)")]
    async fn callbacks(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "`waiting`, `due`, `delivered` or `given_up`.")] status: Option<String>,
        job_id: Option<String>,
        first: Option<i32>,
        after: Option<String>,
        wait_for: Option<Position>,
    ) -> async_graphql::Result<Connection<String, Callback>> {
        let (core, viewer) = ready(ctx, wait_for).await?;
        let filter = read::CallbackFilter {
            status: status.map(clean),
            job_id: job_id.map(clean),
            limit: page::size(first)?,
            cursor: after.clone(),
        };
        let rows = read::callbacks(&core.pool, viewer.org(), &filter).await;
        let rows = rows.map_err(Fault::from)?;
        Ok(page::connection(
            rows,
            after.as_deref(),
            read::Callback::cursor,
            Callback,
        ))
    }

    /// One callback.
    async fn callback(
        &self,
        ctx: &Context<'_>,
        id: String,
        wait_for: Option<Position>,
    ) -> async_graphql::Result<Option<Callback>> {
        let (core, viewer) = ready(ctx, wait_for).await?;
        let row = read::callback(&core.pool, viewer.org(), &clean(id)).await;
        Ok(row.map_err(Fault::from)?.map(Callback))
    }
}

#[derive(Default)]
struct Definitions;

#[Object]
impl Definitions {
    /// All workflows that can be submitted, with their versions.
    #[graphql(complexity = "50 + 20 * child_complexity")]
    async fn workflows(
        &self,
        ctx: &Context<'_>,
        wait_for: Option<Position>,
    ) -> async_graphql::Result<Vec<Workflow>> {
        let (core, _) = ready(ctx, wait_for).await?;
        let rows = read::workflows(&core.pool, None).await;
        Ok(group(rows.map_err(Fault::from)?))
    }

    /// One version of a workflow, or the latest.
    async fn workflow(
        &self,
        ctx: &Context<'_>,
        id: String,
        version: Option<i32>,
        wait_for: Option<Position>,
    ) -> async_graphql::Result<Option<WorkflowVersion>> {
        let (core, _) = ready(ctx, wait_for).await?;
        let row = read::workflow(&core.pool, &clean(id), version).await;
        Ok(row.map_err(Fault::from)?.map(WorkflowVersion))
    }

    /// What tasks may call.
    #[graphql(complexity = "10 + 20 * child_complexity")]
    async fn handlers(
        &self,
        ctx: &Context<'_>,
        #[graphql(name = "waitFor")] wait_for: Option<Position>,
    ) -> async_graphql::Result<Vec<Handler>> {
        let (core, _) = ready(ctx, wait_for).await?;
        let catalog = core.writer.definitions.catalog();
        Ok(catalog.iter().cloned().map(Handler).collect())
    }

    /// Partner systems that assets may come from.
    #[graphql(complexity = "10 + 10 * child_complexity")]
    async fn platforms(
        &self,
        ctx: &Context<'_>,
        wait_for: Option<Position>,
    ) -> async_graphql::Result<Vec<Platform>> {
        let (core, _) = ready(ctx, wait_for).await?;
        let rows = read::platforms(&core.pool).await.map_err(Fault::from)?;
        Ok(rows.into_iter().map(Platform::from).collect())
    }
}

#[derive(Default)]
struct Installation;

#[Object]
impl Installation {
    /// Whoever asks.
    async fn me(&self, ctx: &Context<'_>, wait_for: Option<Position>) -> async_graphql::Result<Me> {
        let (_, viewer) = ready(ctx, wait_for).await?;
        Ok(Me {
            key_id: viewer.actor().to_owned(),
            org_id: viewer.org().to_owned(),
            role: RoleWord::of(viewer.role()),
            operator: viewer.is_operator(),
        })
    }

    /// How the platform is.
    #[graphql(complexity = "50 + child_complexity")]
    async fn health(
        &self,
        ctx: &Context<'_>,
        wait_for: Option<Position>,
    ) -> async_graphql::Result<Health> {
        let (core, _) = ready(ctx, wait_for).await?;
        Ok(core.health().await?)
    }

    /// Keys of the organisation, for its admins; of all, for operators.
    #[graphql(complexity = "20 + 20 * child_complexity")]
    async fn keys(
        &self,
        ctx: &Context<'_>,
        #[graphql(default)] all_organisations: bool,
        wait_for: Option<Position>,
    ) -> async_graphql::Result<Vec<Key>> {
        let (core, viewer) = ready(ctx, wait_for).await?;
        viewer.require(Role::Admin)?;
        if all_organisations {
            viewer.require_operator()?;
        }
        let org = (!all_organisations).then(|| viewer.org());
        let rows = core.access.list(org).await.map_err(Fault::from)?;
        Ok(rows.into_iter().map(Key).collect())
    }

    /// Orchestrators and their leases. For operators.
    #[graphql(complexity = "20 + 10 * child_complexity")]
    async fn orchestrators(
        &self,
        ctx: &Context<'_>,
        wait_for: Option<Position>,
    ) -> async_graphql::Result<Vec<Orchestrator>> {
        let (core, viewer) = ready(ctx, wait_for).await?;
        viewer.require_operator()?;
        let rows = read::owners(&core.pool).await.map_err(Fault::from)?;
        Ok(rows.into_iter().map(Orchestrator::from).collect())
    }

    /// Workers that were heard lately. For operators.
    #[graphql(complexity = "10 + 10 * child_complexity")]
    async fn workers(
        &self,
        ctx: &Context<'_>,
        wait_for: Option<Position>,
    ) -> async_graphql::Result<Vec<Worker>> {
        let (core, viewer) = ready(ctx, wait_for).await?;
        viewer.require_operator()?;
        Ok(core.fleet.workers().into_iter().map(Worker::from).collect())
    }

    /// Queues with their depth and age. For operators.
    #[graphql(complexity = "100 + 10 * child_complexity")]
    async fn queues(
        &self,
        ctx: &Context<'_>,
        wait_for: Option<Position>,
    ) -> async_graphql::Result<Vec<Queue>> {
        let (core, viewer) = ready(ctx, wait_for).await?;
        viewer.require_operator()?;
        let Some(bus) = &core.writer.bus else {
            return Ok(Vec::new());
        };
        let seen = queues(bus)
            .await
            .map_err(|error| Fault::unavailable(&error))?;
        Ok(seen.into_iter().map(Queue::from).collect())
    }

    /// Read models and how far they are. For operators.
    #[graphql(complexity = "20 + child_complexity")]
    async fn projections(
        &self,
        ctx: &Context<'_>,
        wait_for: Option<Position>,
    ) -> async_graphql::Result<Vec<Projection>> {
        let (core, viewer) = ready(ctx, wait_for).await?;
        viewer.require_operator()?;
        let rows = read::checkpoints(&core.pool).await.map_err(Fault::from)?;
        let head = read::head(&core.pool).await.map_err(Fault::from)?;
        Ok(rows
            .into_iter()
            .map(|row| Projection::of(row, head))
            .collect())
    }

    /// Messages that nobody could make sense of, the newest first. For operators.
    #[graphql(complexity = "20 + page::cost(first, child_complexity)")]
    async fn dead_letters(
        &self,
        ctx: &Context<'_>,
        first: Option<i32>,
        #[graphql(desc = "The id of the last one of the page before.")] before: Option<i64>,
        wait_for: Option<Position>,
    ) -> async_graphql::Result<Vec<DeadLetter>> {
        let (core, viewer) = ready(ctx, wait_for).await?;
        viewer.require_operator()?;
        let rows = dead_letters::list(&core.pool, before, page::size(first)?).await;
        Ok(rows
            .map_err(Fault::from)?
            .into_iter()
            .map(DeadLetter)
            .collect())
    }

    /// One of them. For operators.
    async fn dead_letter(
        &self,
        ctx: &Context<'_>,
        id: i64,
        wait_for: Option<Position>,
    ) -> async_graphql::Result<Option<DeadLetter>> {
        let (core, viewer) = ready(ctx, wait_for).await?;
        viewer.require_operator()?;
        let row = dead_letters::show(&core.pool, id).await;
        Ok(row.map_err(Fault::from)?.map(DeadLetter))
    }

    /// The place after everything that has happened so far: subscribe `after` it, and nothing from now on is missed.
    async fn cursor(
        &self,
        ctx: &Context<'_>,
        wait_for: Option<Position>,
    ) -> async_graphql::Result<String> {
        let (core, _) = ready(ctx, wait_for).await?;
        let head = read::log_head(&core.pool).await.map_err(Fault::from)?;
        Ok(Cursor::text(
            &head.incarnation.simple().to_string(),
            head.pos,
        ))
    }

    /// The end of the log, now.
    async fn head(&self, ctx: &Context<'_>) -> async_graphql::Result<Position> {
        viewer(ctx)?;
        let head = read::head(&core(ctx)?.pool).await;
        Ok(Position(head.map_err(Fault::from)?))
    }
}

/// What the past costs more than the present.
fn travel_cost(as_of: &Option<AsOf>) -> usize {
    if as_of.is_some() { 2_000 } else { 0 }
}

/// An id with U+0000 in it is the id of nothing, and no reason to trouble the database.
pub(super) fn clean(text: String) -> String {
    if text.contains('\0') {
        String::new()
    } else {
        text
    }
}
