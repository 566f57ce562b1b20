//! Workflows, their versions and graphs; handlers.

use async_graphql::{Context, Json, Object, SimpleObject};
use chrono::{DateTime, Utc};
use domain::definition::graph::Graph;
use domain::handler::Handler as Declared;
use projections::read;
use serde_json::Value;

use super::context::core;
use crate::error::Fault;

/// A definition with all its versions.
pub(super) struct Workflow {
    pub(super) id: String,
    /// Oldest first; never empty.
    pub(super) versions: Vec<read::Workflow>,
}

/// One registered version; it never changes.
pub(super) struct WorkflowVersion(pub(super) read::Workflow);

/// An arrow of a graph.
#[derive(Debug, SimpleObject)]
pub(super) struct Edge {
    from: String,
    to: String,
}

/// A node of a graph before it runs.
#[derive(Debug, SimpleObject)]
pub(super) struct GraphNode {
    id: String,
    kind: String,
    handler: Option<String>,
    queue: Option<String>,
}

/// Versions of all workflows, which come sorted, as workflows.
pub(super) fn group(rows: Vec<read::Workflow>) -> Vec<Workflow> {
    let mut workflows: Vec<Workflow> = Vec::new();
    for row in rows {
        match workflows.last_mut() {
            Some(last) if last.id == row.workflow_id => last.versions.push(row),
            _ => workflows.push(Workflow {
                id: row.workflow_id.clone(),
                versions: vec![row],
            }),
        }
    }
    workflows
}

pub(super) fn edges_of(graph: &Graph) -> Vec<Edge> {
    let name = |index: usize| graph.nodes.get(index).map(|node| node.name.to_string());
    let edges = graph.nodes.iter().flat_map(|node| {
        node.outgoing.iter().filter_map(move |to| {
            Some(Edge {
                from: node.name.to_string(),
                to: name(*to)?,
            })
        })
    });
    edges.collect()
}

#[Object]
impl Workflow {
    async fn id(&self) -> &str {
        &self.id
    }

    async fn latest(&self) -> Option<WorkflowVersion> {
        self.versions.last().cloned().map(WorkflowVersion)
    }

    async fn versions(&self) -> Vec<WorkflowVersion> {
        self.versions.iter().cloned().map(WorkflowVersion).collect()
    }
}

#[Object]
impl WorkflowVersion {
    async fn workflow_id(&self) -> &str {
        &self.0.workflow_id
    }

    async fn version(&self) -> i32 {
        self.0.version
    }

    async fn hash(&self) -> &str {
        &self.0.hash
    }

    /// The file, as it was registered.
    async fn source(&self) -> &str {
        &self.0.source
    }

    async fn registered_at(&self) -> DateTime<Utc> {
        self.0.registered_at
    }

    async fn name(&self, ctx: &Context<'_>) -> async_graphql::Result<String> {
        Ok(self.definition(ctx).await?.workflow.name.clone())
    }

    /// What it takes: for each input its type, whether it is required, its default.
    async fn inputs(&self, ctx: &Context<'_>) -> async_graphql::Result<Json<Value>> {
        let definition = self.definition(ctx).await?;
        Ok(Json(serde_json::to_value(&definition.workflow.inputs)?))
    }

    #[graphql(complexity = "5 + 20 * child_complexity")]
    async fn nodes(&self, ctx: &Context<'_>) -> async_graphql::Result<Vec<GraphNode>> {
        use domain::definition::graph::Kind;
        let definition = self.definition(ctx).await?;
        let node = |node: &domain::definition::graph::Node| {
            let (kind, task) = match &node.kind {
                Kind::Start => ("start", None),
                Kind::End => ("end", None),
                Kind::Task(task) => ("task", Some(task)),
                Kind::Conditional(_) => ("conditional", None),
                Kind::FanOut(fan_out) => ("fan_out", Some(&fan_out.task)),
                Kind::FanIn(_) => ("fan_in", None),
            };
            GraphNode {
                id: node.name.to_string(),
                kind: kind.to_owned(),
                handler: task.map(|task| task.handler.to_string()),
                queue: task.map(|task| task.queue.to_string()),
            }
        };
        Ok(definition.graph.nodes.iter().map(node).collect())
    }

    #[graphql(complexity = "5 + 20 * child_complexity")]
    async fn edges(&self, ctx: &Context<'_>) -> async_graphql::Result<Vec<Edge>> {
        Ok(edges_of(&self.definition(ctx).await?.graph))
    }
}

impl WorkflowVersion {
    /// Compiled once per process, out of a cache after that.
    async fn definition(
        &self,
        ctx: &Context<'_>,
    ) -> async_graphql::Result<commands::definitions::Definition> {
        let version = u32::try_from(self.0.version).ok();
        let found = core(ctx)?
            .writer
            .definitions
            .find(&self.0.workflow_id, version);
        Ok(found.await.map_err(Fault::from)?)
    }
}

/// What a task may call.
pub(super) struct Handler(pub(super) Declared);

#[Object]
impl Handler {
    async fn name(&self) -> &str {
        &self.0.name
    }

    async fn description(&self) -> &str {
        &self.0.description
    }

    async fn aliases(&self) -> &[String] {
        &self.0.aliases
    }

    async fn queue(&self) -> &str {
        &self.0.queue
    }

    async fn timeout_seconds(&self) -> u32 {
        self.0.timeout_seconds
    }

    async fn idempotent(&self) -> bool {
        self.0.idempotent
    }

    async fn params(&self) -> async_graphql::Result<Json<Value>> {
        Ok(Json(serde_json::to_value(&self.0.params)?))
    }

    async fn outputs(&self) -> async_graphql::Result<Json<Value>> {
        Ok(Json(serde_json::to_value(&self.0.outputs)?))
    }
}
