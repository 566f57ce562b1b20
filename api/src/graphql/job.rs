//! Jobs.

use async_graphql::connection::Connection;
use async_graphql::{Context, InputObject, Json, Object, SimpleObject};
use chrono::{DateTime, Datelike as _, Utc};
use projections::read::{self, AttemptFilter, JobFilter as Filter, StreamFilter};
use serde_json::Value;
use std::sync::Arc;

use super::asset::Asset;
use super::callback::Callback;
use super::context::{Position, core};
use super::event::Event;
use super::loaders::{
    AssetKey, CallbacksOf, JobKey, Loaders, MadeFrom, NODES_MAX, NodesOf, RequestKey,
};
use super::node::{Attempt, Node, NodeCounts};
use super::page;
use super::proof::{self, Proof};
use super::query::clean;
use super::request::Request;
use super::travel::{self, Moment, Then, only_now};
use super::words::{JobStatus, NodeStatus, Priority};
use super::workflow::{Edge, WorkflowVersion, edges_of};
use crate::error::Fault;

/// Longest text to search for.
const TEXT_BYTES_MAX: usize = 200;

/// Which jobs.
#[derive(Debug, Clone, Default, InputObject)]
pub(super) struct JobFilter {
    /// Any of these; all without.
    status: Option<Vec<JobStatus>>,
    workflow: Option<String>,
    /// The beginning of a job's, a request's or an asset's id, or a part of the workflow's name.
    text: Option<String>,
    created_from: Option<DateTime<Utc>>,
    /// Not included.
    created_until: Option<DateTime<Utc>>,
}

impl JobFilter {
    pub(super) fn of(self, org: &str) -> Result<Filter, Fault> {
        let long = |text: &String| text.len() > TEXT_BYTES_MAX || text.contains('\0');
        if self.text.as_ref().is_some_and(long) || self.workflow.as_ref().is_some_and(long) {
            return Err(Fault::invalid(
                "FILTER_TOO_LONG",
                format!("a filter has at most {TEXT_BYTES_MAX} bytes of text, and no U+0000"),
                "search for less",
            ));
        }
        let years = 0..=9999;
        let times = [self.created_from, self.created_until];
        if times.iter().flatten().any(|at| !years.contains(&at.year())) {
            let message = "a time of a filter lies in the years 0 to 9999";
            return Err(Fault::invalid("FILTER", message, "choose another time"));
        }
        let mut statuses: Vec<_> = self.status.unwrap_or_default();
        statuses.dedup();
        statuses.truncate(5);
        Ok(Filter {
            org_id: Some(org.to_owned()),
            statuses: statuses.into_iter().map(JobStatus::domain).collect(),
            workflow_id: self.workflow,
            text: self.text.filter(|text| !text.is_empty()),
            created_from: self.created_from,
            created_until: self.created_until,
            ..Filter::default()
        })
    }
}

/// How many jobs have a status.
#[derive(Debug, SimpleObject)]
pub(super) struct StatusCount {
    status: JobStatus,
    count: i64,
}

/// What a list of jobs has besides its rows.
pub(super) struct JobsInfo(
    pub(super) Filter,
    pub(super) Option<projections::travel::Moment>,
);

#[Object]
impl JobsInfo {
    /// How many jobs fit the filter, by status, whatever status it asks for.
    #[graphql(complexity = "100 + child_complexity")]
    async fn counts(&self, ctx: &Context<'_>) -> async_graphql::Result<Vec<StatusCount>> {
        let core = core(ctx)?;
        let counts = match self.1 {
            Some(moment) => core.traveller.job_counts(&self.0, moment).await,
            None => read::job_counts(&core.pool, &self.0).await,
        };
        let counts = counts.map_err(Fault::from)?;
        let count = |(word, count): (String, i64)| StatusCount {
            status: JobStatus::of(&word),
            count,
        };
        Ok(counts.into_iter().map(count).collect())
    }

    /// The moment that the list is of; nothing if it is of now.
    async fn as_of(&self) -> Option<Moment> {
        self.1.map(Moment)
    }
}

/// How far a job is.
#[derive(Debug, SimpleObject)]
pub(super) struct Progress {
    /// Nodes and children that are done, skipped ones among them.
    done: i64,
    total: i64,
    /// From 0 to 100.
    percent: f64,
    counts: NodeCounts,
}

/// When a node was what.
#[derive(Debug, SimpleObject)]
pub(super) struct TimelineEntry {
    node: String,
    status: NodeStatus,
    attempt: i32,
    ready_at: Option<DateTime<Utc>>,
    dispatched_at: Option<DateTime<Utc>>,
    started_at: Option<DateTime<Utc>>,
    completed_at: Option<DateTime<Utc>>,
}

/// One request in execution: a graph of nodes.
///
/// As of a moment of the past, everything is as it was then but for `request` and `callbacks`, which are as they are
/// now, and `ownerHeartbeatAt`, which is no part of history.
pub(super) struct Job(pub(super) read::Job, pub(super) Option<Then>);

impl Job {
    pub(super) fn now(row: read::Job) -> Self {
        Self(row, None)
    }

    async fn made(&self, ctx: &Context<'_>, kind: &str) -> async_graphql::Result<Vec<Self>> {
        if self.1.is_some() {
            return Err(only_now("what was made of a job", "ask without a moment").into());
        }
        let key = MadeFrom(self.0.job_id.clone());
        let made = ctx.data::<Loaders>()?.load_one(key).await?;
        let made = made.unwrap_or_default();
        let wanted = made.iter().filter(|job| job.origin_kind() == Some(kind));
        Ok(wanted.cloned().map(Self::now).collect())
    }

    fn node_of(&self, row: read::Node) -> Node {
        Node(row, self.1.clone())
    }

    pub(super) fn progress_now(&self) -> Progress {
        let job = &self.0;
        let counts = NodeCounts {
            pending: job.pending.into(),
            ready: job.ready.into(),
            dispatched: job.dispatched.into(),
            running: job.running.into(),
            completed: job.completed.into(),
            failed: job.failed.into(),
            skipped: job.skipped.into(),
            total: 0,
        };
        let done = counts.completed + counts.failed + counts.skipped;
        let total = done + counts.pending + counts.ready + counts.dispatched + counts.running;
        #[expect(
            clippy::cast_precision_loss,
            reason = "a job has far fewer nodes than 2^52"
        )]
        let percent = if total == 0 {
            0.0
        } else {
            done as f64 * 100.0 / total as f64
        };
        Progress {
            done,
            total,
            percent,
            counts: NodeCounts { total, ..counts },
        }
    }

    async fn nodes_now(&self, ctx: &Context<'_>) -> async_graphql::Result<Arc<Vec<read::Node>>> {
        if let Some(then) = &self.1 {
            let job = then.job(ctx, &self.0.job_id).await?;
            let rows = job.nodes(NODES_MAX).await.map_err(Fault::from)?;
            return Ok(Arc::new(rows));
        }
        let key = NodesOf(self.0.job_id.clone());
        Ok(ctx
            .data::<Loaders>()?
            .load_one(key)
            .await?
            .unwrap_or_default())
    }
}

#[Object]
impl Job {
    pub(super) async fn id(&self) -> &str {
        &self.0.job_id
    }

    async fn workflow_id(&self) -> &str {
        &self.0.workflow_id
    }

    async fn workflow_version(&self) -> i32 {
        self.0.workflow_version
    }

    /// SHA-256 of the definition that it runs, whatever happens to the file.
    async fn workflow_hash(&self) -> &str {
        &self.0.workflow_hash
    }

    async fn status(&self) -> JobStatus {
        JobStatus::of(&self.0.status)
    }

    #[graphql(complexity = 100)]
    async fn inputs(&self) -> Json<Value> {
        Json(self.0.input_params.clone())
    }

    async fn request_id(&self) -> &str {
        &self.0.request_id
    }

    async fn priority(&self) -> Priority {
        Priority::of(&self.0.priority)
    }

    /// The job that it was made from, if any: `{kind, job_id}`.
    async fn origin(&self) -> Option<Json<Value>> {
        self.0.origin.clone().map(Json)
    }

    /// The job that it was made from, as it is now.
    #[graphql(complexity = "5 + child_complexity")]
    async fn made_from(&self, ctx: &Context<'_>) -> async_graphql::Result<Option<Job>> {
        let Some(older) = self.0.origin_job() else {
            return Ok(None);
        };
        let key = JobKey(older.to_owned());
        Ok(ctx.data::<Loaders>()?.load_one(key).await?.map(Job::now))
    }

    /// Jobs that took over what it had finished when it failed or was cancelled, the newest first. Of now only.
    #[graphql(complexity = "5 + 5 * child_complexity")]
    async fn retries(&self, ctx: &Context<'_>) -> async_graphql::Result<Vec<Job>> {
        self.made(ctx, "retry_of").await
    }

    /// Jobs that started it again in the middle, the newest first. Of now only.
    #[graphql(complexity = "5 + 5 * child_complexity")]
    async fn forks(&self, ctx: &Context<'_>) -> async_graphql::Result<Vec<Job>> {
        self.made(ctx, "forked_from").await
    }

    /// The orchestrator that owns it.
    async fn owner_id(&self) -> Option<&str> {
        self.0.owner_id.as_deref()
    }

    async fn owner_heartbeat_at(&self) -> Option<DateTime<Utc>> {
        self.0.owner_heartbeat_at
    }

    async fn paused(&self) -> bool {
        self.0.paused
    }

    /// The read models could not follow it to the end.
    async fn degraded(&self) -> bool {
        self.0.degraded
    }

    #[graphql(complexity = 100)]
    async fn result(&self) -> Option<Json<Value>> {
        self.0.result.clone().map(Json)
    }

    /// Why it failed, or was cancelled.
    async fn failure(&self) -> Option<Json<Value>> {
        self.0.failure.clone().map(Json)
    }

    async fn progress(&self) -> Progress {
        self.progress_now()
    }

    async fn created_at(&self) -> DateTime<Utc> {
        self.0.created_at
    }

    async fn updated_at(&self) -> DateTime<Utc> {
        self.0.updated_at
    }

    async fn completed_at(&self) -> Option<DateTime<Utc>> {
        self.0.completed_at
    }

    /// The last event that is in what is shown here.
    async fn position(&self) -> Position {
        Position(self.0.last_pos)
    }

    /// The moment that it is shown at; nothing if it is now.
    async fn as_of(&self) -> Option<Moment> {
        self.1.as_ref().map(|then| Moment(then.moment))
    }

    /// All of it, with its nodes and children, as one document: what the patch of `stateDiff` applies to. Nothing for a
    /// job with too many nodes.
    #[graphql(complexity = 4000)]
    async fn document(&self, ctx: &Context<'_>) -> async_graphql::Result<Option<Json<Value>>> {
        let then = match &self.1 {
            Some(then) => then.clone(),
            None => Then::at(core(ctx)?.traveller.now().await.map_err(Fault::from)?),
        };
        let job = then.job(ctx, &self.0.job_id).await?;
        Ok(job.document().await.map_err(Fault::from)?.map(Json))
    }

    #[graphql(complexity = "5 + child_complexity")]
    async fn request(&self, ctx: &Context<'_>) -> async_graphql::Result<Option<Request>> {
        let key = RequestKey(self.0.request_id.clone());
        Ok(ctx.data::<Loaders>()?.load_one(key).await?.map(Request))
    }

    /// The asset that it works on, if any.
    #[graphql(complexity = "10 + child_complexity")]
    async fn asset(&self, ctx: &Context<'_>) -> async_graphql::Result<Option<Asset>> {
        let loaders = ctx.data::<Loaders>()?;
        let key = RequestKey(self.0.request_id.clone());
        let Some(id) = loaders
            .load_one(key)
            .await?
            .and_then(|request| request.asset_id)
        else {
            return Ok(None);
        };
        match &self.1 {
            Some(then) => Ok(travel::asset(ctx, &id, then.moment).await?),
            None => Ok(loaders.load_one(AssetKey(id)).await?.map(Asset::now)),
        }
    }

    /// Who is told when it ends.
    #[graphql(complexity = "5 + 5 * child_complexity")]
    async fn callbacks(&self, ctx: &Context<'_>) -> async_graphql::Result<Vec<Callback>> {
        let key = CallbacksOf(self.0.job_id.clone());
        let loaded = ctx.data::<Loaders>()?.load_one(key).await?;
        let rows = loaded.map(|rows| rows.iter().cloned().map(Callback).collect());
        Ok(rows.unwrap_or_default())
    }

    /// Its nodes in topological order, without the children of fan-outs.
    #[graphql(complexity = "10 + 25 * child_complexity")]
    async fn nodes(&self, ctx: &Context<'_>) -> async_graphql::Result<Vec<Node>> {
        let rows = self.nodes_now(ctx).await?;
        let node = |row: &read::Node| self.node_of(row.clone());
        Ok(rows.iter().map(node).collect())
    }

    /// One node, or one child of a fan-out.
    #[graphql(complexity = "100 + child_complexity")]
    async fn node(&self, ctx: &Context<'_>, id: String) -> async_graphql::Result<Option<Node>> {
        let (job, id) = (&self.0.job_id, id.replace('\0', ""));
        let row = match &self.1 {
            Some(then) => then.job(ctx, job).await?.node(&id).await,
            None => read::node(&core(ctx)?.pool, job, &id).await,
        };
        Ok(row.map_err(Fault::from)?.map(|row| self.node_of(row)))
    }

    /// Which node waits for which.
    #[graphql(complexity = "20 + 25 * child_complexity")]
    async fn edges(&self, ctx: &Context<'_>) -> async_graphql::Result<Vec<Edge>> {
        let core = core(ctx)?;
        let version = u32::try_from(self.0.workflow_version).ok();
        let definition = core
            .writer
            .definitions
            .find(&self.0.workflow_id, version)
            .await;
        Ok(edges_of(&definition.map_err(Fault::from)?.graph))
    }

    /// The definition that it runs.
    #[graphql(complexity = "100 + child_complexity")]
    async fn workflow(&self, ctx: &Context<'_>) -> async_graphql::Result<Option<WorkflowVersion>> {
        let version = Some(self.0.workflow_version);
        let row = read::workflow(&core(ctx)?.pool, &self.0.workflow_id, version).await;
        Ok(row.map_err(Fault::from)?.map(WorkflowVersion))
    }

    /// Its history, page by page, the oldest or the newest first.
    #[graphql(complexity = "200 + page::cost(first, child_complexity)")]
    async fn events(
        &self,
        ctx: &Context<'_>,
        first: Option<i32>,
        after: Option<String>,
        #[graphql(default)] newest_first: bool,
        types: Option<Vec<String>>,
    ) -> async_graphql::Result<Connection<String, Event>> {
        let mut kinds = types.unwrap_or_default();
        kinds.truncate(50);
        kinds.retain(|kind| !kind.contains('\0'));
        let filter = StreamFilter {
            stream_id: format!("job:{}", self.0.job_id),
            kinds,
            newest_first,
            upto: self.1.as_ref().map(|then| then.moment.pos),
            limit: page::size(first)?,
            cursor: after.clone(),
        };
        let rows = read::stream_events(&core(ctx)?.pool, &filter).await;
        let rows = rows.map_err(Fault::from)?;
        let cursor = |row: &read::LogEvent| row.version.to_string();
        Ok(page::connection(rows, after.as_deref(), cursor, |row| {
            Event(Arc::new(row))
        }))
    }

    /// Attempts of all its nodes and children, or of one of them, by name and number. Of now only.
    #[graphql(complexity = "100 + page::cost(first, child_complexity)")]
    async fn attempts(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Only those of this node or child.")] node: Option<String>,
        #[graphql(default, desc = "Only those that failed.")] failed: bool,
        first: Option<i32>,
        after: Option<String>,
    ) -> async_graphql::Result<Connection<String, Attempt>> {
        if self.1.is_some() {
            return Err(only_now("the attempts of a whole job", "ask its nodes for theirs").into());
        }
        let filter = AttemptFilter {
            job_id: self.0.job_id.clone(),
            node_id: node.map(clean),
            failed,
            limit: page::size(first)?,
            cursor: after.clone(),
        };
        let rows = read::attempts(&core(ctx)?.pool, &filter).await;
        let rows = rows.map_err(Fault::from)?;
        Ok(page::connection(
            rows,
            after.as_deref(),
            read::TaskResult::cursor,
            Attempt,
        ))
    }

    /// All its events of now with a signed checkpoint of the log, which was checked just now: what `strata audit check` takes.
    #[graphql(complexity = 20_000)]
    async fn proof(&self, ctx: &Context<'_>) -> async_graphql::Result<Proof> {
        Ok(proof::of(ctx, &self.0.job_id).await?)
    }

    /// When each node was what; for a picture of the time it took.
    #[graphql(complexity = "10 + 25 * child_complexity")]
    async fn timeline(&self, ctx: &Context<'_>) -> async_graphql::Result<Vec<TimelineEntry>> {
        let rows = self.nodes_now(ctx).await?;
        let entry = |node: &read::Node| TimelineEntry {
            node: node.node_id.clone(),
            status: NodeStatus::of(&node.status),
            attempt: node.attempt,
            ready_at: node.ready_at,
            dispatched_at: node.dispatched_at,
            started_at: node.started_at,
            completed_at: node.completed_at,
        };
        Ok(rows.iter().map(entry).collect())
    }
}
