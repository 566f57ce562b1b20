//! Nodes of a job, their attempts, and what they wrote.

use std::collections::BTreeMap;

use async_graphql::connection::Connection;
use async_graphql::{Context, Json, Object, SimpleObject};
use chrono::{DateTime, Utc};
use domain::id::{JobId, NodeId};
use projections::read::{self, ChildFilter};
use projections::travel::JobAt;
use serde_json::Value;

use super::context::core;
use super::loaders::{ATTEMPTS_MAX, AttemptsOf, FanOutsOf, Loaders, ParamsAt};
use super::page;
use super::travel::{Then, only_now};
use super::words::NodeStatus;
use crate::error::Fault;

/// Bytes of a log that are read; workers write no more.
const LOG_BYTES_MAX: usize = 1024 * 1024;
/// Lines of a log in one answer.
const LOG_LINES_MAX: usize = 1_000;

/// One node of a job's graph, or one child of a fan-out.
pub(super) struct Node(pub(super) read::Node, pub(super) Option<Then>);

impl Node {
    /// Its job as it was, if it is of the past.
    async fn then(&self, ctx: &Context<'_>) -> Result<Option<&JobAt>, Fault> {
        match &self.1 {
            Some(then) => Ok(Some(then.job(ctx, &self.0.job_id).await?)),
            None => Ok(None),
        }
    }
}

/// How many nodes have each status.
#[derive(Debug, Default, SimpleObject)]
pub(super) struct NodeCounts {
    pub(super) pending: i64,
    pub(super) ready: i64,
    pub(super) dispatched: i64,
    pub(super) running: i64,
    pub(super) completed: i64,
    pub(super) failed: i64,
    pub(super) skipped: i64,
    pub(super) total: i64,
}

impl NodeCounts {
    pub(super) fn of(counts: &BTreeMap<String, i64>) -> Self {
        let count = |word: &str| counts.get(word).copied().unwrap_or(0);
        Self {
            pending: count("PENDING"),
            ready: count("READY"),
            dispatched: count("DISPATCHED"),
            running: count("RUNNING"),
            completed: count("COMPLETED"),
            failed: count("FAILED"),
            skipped: count("SKIPPED"),
            total: counts.values().sum(),
        }
    }
}

#[Object]
impl Node {
    async fn id(&self) -> &str {
        &self.0.node_id
    }

    async fn job_id(&self) -> &str {
        &self.0.job_id
    }

    /// For a child of a fan-out: the fan-out.
    async fn parent(&self) -> Option<&str> {
        self.0.parent.as_deref()
    }

    async fn child_index(&self) -> Option<i32> {
        self.0.child_index
    }

    /// Its place in the workflow, in topological order.
    async fn ordinal(&self) -> i32 {
        self.0.ordinal
    }

    async fn stage(&self) -> i32 {
        self.0.stage
    }

    /// `start`, `end`, `task`, `conditional`, `fan_out` or `fan_in`.
    async fn kind(&self) -> &str {
        &self.0.kind
    }

    async fn status(&self) -> NodeStatus {
        NodeStatus::of(&self.0.status)
    }

    async fn task_id(&self) -> Option<&str> {
        self.0.task_id.as_deref()
    }

    async fn attempt(&self) -> i32 {
        self.0.attempt
    }

    async fn retry_count(&self) -> i32 {
        self.0.retry_count
    }

    async fn handler(&self) -> Option<&str> {
        self.0.handler.as_deref()
    }

    async fn queue(&self) -> Option<&str> {
        self.0.queue.as_deref()
    }

    async fn worker_id(&self) -> Option<&str> {
        self.0.worker_id.as_deref()
    }

    async fn run_id(&self) -> Option<String> {
        self.0.run_id.map(|id| id.to_string())
    }

    /// What its handler was given, templates resolved.
    async fn input(&self, ctx: &Context<'_>) -> async_graphql::Result<Option<Json<Value>>> {
        let Some(pos) = self.0.dispatched_pos else {
            return Ok(None);
        };
        let loaded = ctx.data::<Loaders>()?.load_one(ParamsAt(pos)).await?;
        Ok(loaded.map(Json))
    }

    #[graphql(complexity = 20)]
    async fn output(&self) -> Option<Json<Value>> {
        self.0.output.clone().map(Json)
    }

    /// Where an output lies that is too large to keep here.
    async fn external_output(&self) -> Option<Json<Value>> {
        self.0.external.clone().map(Json)
    }

    async fn error_message(&self) -> Option<&str> {
        self.0.error_message.as_deref()
    }

    async fn failure(&self) -> Option<Json<Value>> {
        self.0.failure.clone().map(Json)
    }

    async fn checkpoint(&self) -> Option<Json<Value>> {
        self.0.checkpoint.clone().map(Json)
    }

    /// Of a conditional: the branch that was taken, from 0.
    async fn branch(&self) -> Option<i32> {
        self.0.branch
    }

    async fn skip_reason(&self) -> Option<&str> {
        self.0.skip_reason.as_deref()
    }

    async fn skipped_by(&self) -> Option<&str> {
        self.0.skipped_by.as_deref()
    }

    async fn ready_at(&self) -> Option<DateTime<Utc>> {
        self.0.ready_at
    }

    async fn dispatched_at(&self) -> Option<DateTime<Utc>> {
        self.0.dispatched_at
    }

    async fn started_at(&self) -> Option<DateTime<Utc>> {
        self.0.started_at
    }

    async fn completed_at(&self) -> Option<DateTime<Utc>> {
        self.0.completed_at
    }

    async fn updated_at(&self) -> DateTime<Utc> {
        self.0.updated_at
    }

    /// Its attempts, the first one first.
    #[graphql(complexity = "5 + 2 * child_complexity")]
    async fn attempts(&self, ctx: &Context<'_>) -> async_graphql::Result<Vec<Attempt>> {
        if let Some(job) = self.then(ctx).await? {
            let rows = job.attempts(&self.0, ATTEMPTS_MAX).await;
            return Ok(rows
                .map_err(Fault::from)?
                .into_iter()
                .map(Attempt)
                .collect());
        }
        let key = AttemptsOf(self.0.job_id.clone(), self.0.node_id.clone());
        let loaded = ctx.data::<Loaders>()?.load_one(key).await?;
        let rows = loaded.map(|rows| rows.iter().cloned().map(Attempt).collect());
        Ok(rows.unwrap_or_default())
    }

    /// Of a fan-out: how many of its children have each status.
    #[graphql(complexity = "5 + child_complexity")]
    async fn child_counts(&self, ctx: &Context<'_>) -> async_graphql::Result<Option<NodeCounts>> {
        if self.0.kind != "fan_out" {
            return Ok(None);
        }
        if let Some(job) = self.then(ctx).await? {
            let counts = job.child_counts(&self.0.node_id);
            return Ok(Some(
                counts.as_ref().map(NodeCounts::of).unwrap_or_default(),
            ));
        }
        let key = FanOutsOf(self.0.job_id.clone());
        let loaded = ctx.data::<Loaders>()?.load_one(key).await?;
        let counts = loaded.and_then(|of_job| of_job.get(&self.0.node_id).map(NodeCounts::of));
        Ok(Some(counts.unwrap_or_default()))
    }

    /// Of a fan-out: its children, by pages. Each node that asks costs a statement of its own.
    #[graphql(complexity = "500 + page::cost(first, child_complexity)")]
    async fn children(
        &self,
        ctx: &Context<'_>,
        first: Option<i32>,
        after: Option<String>,
        status: Option<NodeStatus>,
    ) -> async_graphql::Result<Connection<String, Node>> {
        if self.0.kind != "fan_out" || self.0.child_index.is_some() {
            return Ok(Connection::new(false, false));
        }
        let filter = ChildFilter {
            job_id: self.0.job_id.clone(),
            parent: self.0.node_id.clone(),
            status: status.map(|status| status.word().to_owned()),
            limit: page::size(first)?,
            cursor: after.clone(),
        };
        let rows = match self.then(ctx).await? {
            Some(job) => job.children(&filter).await,
            None => read::children(&core(ctx)?.pool, &filter).await,
        };
        let rows = rows.map_err(Fault::from)?;
        let cursor =
            |row: &read::Node| format!("{}.{}", row.ordinal, row.child_index.unwrap_or(-1));
        let node = |row| Node(row, self.1.clone());
        Ok(page::connection(rows, after.as_deref(), cursor, node))
    }

    /// Why it is not running, by the facts that decide it. Of now only.
    #[graphql(complexity = 4000)]
    async fn why(&self, ctx: &Context<'_>) -> async_graphql::Result<Json<Value>> {
        if self.1.is_some() {
            return Err(only_now("why a node waits", "ask without asOf").into());
        }
        let job: JobId = self
            .0
            .job_id
            .parse()
            .map_err(|error| Fault::internal(&error))?;
        let node = NodeId::from(self.0.node_id.as_str());
        let why = core(ctx)?.writer.why(job, &node).await;
        Ok(Json(serde_json::to_value(why.map_err(Fault::from)?)?))
    }
}

/// One attempt of a node.
pub(super) struct Attempt(pub(super) read::TaskResult);

/// A line that a handler wrote.
#[derive(Debug, SimpleObject)]
pub(super) struct LogLine {
    time: Option<String>,
    level: Option<String>,
    message: String,
}

#[Object]
impl Attempt {
    async fn task_id(&self) -> &str {
        &self.0.task_id
    }

    /// The node or child that it is an attempt of.
    async fn node_id(&self) -> &str {
        &self.0.node_id
    }

    async fn number(&self) -> i32 {
        self.0.attempt
    }

    async fn status(&self) -> NodeStatus {
        NodeStatus::of(&self.0.status)
    }

    #[graphql(complexity = 20)]
    async fn output(&self) -> Option<Json<Value>> {
        self.0.output.clone().map(Json)
    }

    async fn error_message(&self) -> Option<&str> {
        self.0.error_message.as_deref()
    }

    async fn failure(&self) -> Option<Json<Value>> {
        self.0.failure.clone().map(Json)
    }

    async fn worker_id(&self) -> Option<&str> {
        self.0.worker_id.as_deref()
    }

    async fn run_id(&self) -> Option<String> {
        self.0.run_id.map(|id| id.to_string())
    }

    /// What the handler measured.
    async fn metrics(&self) -> Option<Json<Value>> {
        self.0.metrics.clone().map(Json)
    }

    async fn reported_at(&self) -> DateTime<Utc> {
        self.0.reported_at
    }

    /// What it wrote, the last lines if they are many.
    #[graphql(complexity = "500 + child_complexity")]
    async fn logs(
        &self,
        ctx: &Context<'_>,
        last: Option<i32>,
    ) -> async_graphql::Result<Vec<LogLine>> {
        let last = last.and_then(|n| usize::try_from(n).ok());
        let last = last.unwrap_or(LOG_LINES_MAX).min(LOG_LINES_MAX);
        let path = format!("logs/{}.jsonl", self.0.task_id);
        let text = core(ctx)?.blobs.get(&path, LOG_BYTES_MAX).await;
        let text = text
            .map_err(|error| Fault::unavailable(&error))?
            .unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let mut lines: Vec<LogLine> = text.lines().rev().take(last).map(line).collect();
        lines.reverse();
        Ok(lines)
    }
}

fn line(text: &str) -> LogLine {
    let parsed: Value = serde_json::from_str(text).unwrap_or_default();
    let field = |name: &str| parsed.get(name).and_then(Value::as_str).map(str::to_owned);
    LogLine {
        time: field("time"),
        level: field("level"),
        message: field("message").unwrap_or_else(|| text.to_owned()),
    }
}
