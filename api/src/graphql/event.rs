//! Events: the log itself, as data.

use std::sync::Arc;

use async_graphql::{Json, Object};
use chrono::{DateTime, Utc};
use projections::read::LogEvent;
use serde_json::Value;

use super::context::Position;

/// One fact in the history of a job, an asset or a request. It never changes.
pub(super) struct Event(pub(super) Arc<LogEvent>);

#[Object]
impl Event {
    /// Its place in the log.
    async fn position(&self) -> Position {
        Position(self.0.pos)
    }

    /// Its place in its own stream, from 1.
    async fn version(&self) -> i64 {
        self.0.version
    }

    /// What happened, such as `node_completed`.
    #[graphql(name = "type")]
    async fn kind(&self) -> &str {
        &self.0.kind
    }

    /// Whose history it belongs to, such as `job:job_...`.
    async fn stream(&self) -> &str {
        &self.0.stream_id
    }

    async fn job_id(&self) -> Option<&str> {
        self.0.id_of("job")
    }

    async fn asset_id(&self) -> Option<&str> {
        self.0.id_of("asset")
    }

    async fn request_id(&self) -> Option<&str> {
        self.0.id_of("request")
    }

    /// The node that it is about, if it is about one.
    async fn node(&self) -> Option<String> {
        self.0
            .data()
            .get("node")
            .and_then(Value::as_str)
            .map(str::to_owned)
    }

    /// Everything that it says.
    #[graphql(complexity = 20)]
    async fn data(&self) -> Json<Value> {
        Json(self.0.data())
    }

    async fn recorded_at(&self) -> DateTime<Utc> {
        self.0.recorded_at
    }

    /// Opaque id of whoever wanted it: a key, or the orchestrator.
    async fn actor(&self) -> Option<String> {
        self.0.meta_field("actor")
    }

    /// What the story began with: the request.
    async fn correlation(&self) -> Option<String> {
        self.0.meta_field("correlation")
    }
}
