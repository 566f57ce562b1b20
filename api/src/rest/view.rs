//! What callers see of requests, jobs and assets; the blocks of a status (U-32).

use chrono::{DateTime, Utc};
use domain::failure::FailureClass;
use projections::read::{Asset, Job, Request, Revision};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// Everything about one request; every block is always there.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Status {
    pub(crate) request_id: String,
    /// Null until an orchestrator has taken the request.
    pub(crate) job_id: Option<String>,
    pub(crate) platform_id: String,
    pub(crate) workflow_id: String,
    pub(crate) workflow_version: Option<i32>,
    pub(crate) submitted_at: DateTime<Utc>,
    pub(crate) updated_at: DateTime<Utc>,
    /// Null if the work is for none.
    pub(crate) asset: Option<AssetView>,
    /// The current revision of the asset.
    pub(crate) release: Option<Release>,
    /// PENDING, RUNNING, COMPLETED, FAILED or CANCELLED.
    pub(crate) job_status: String,
    pub(crate) progress: Progress,
    /// The result of the job, once it is completed.
    pub(crate) outputs: Option<Value>,
    pub(crate) services: Services,
    pub(crate) approval: ApprovalView,
    /// All revisions of the asset, oldest first; the newest 100.
    pub(crate) versions: Vec<Release>,
    pub(crate) error: Option<ErrorView>,
    pub(crate) warnings: Vec<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AssetView {
    pub(crate) asset_id: String,
    pub(crate) platform_id: String,
    /// Exactly as they came.
    #[schema(value_type = Object)]
    pub(crate) platform_refs: Value,
    pub(crate) title: Option<String>,
    pub(crate) deleted: bool,
    /// uncleared, ouo or public
    pub(crate) clearance: String,
    /// pending, processing, completed or failed
    pub(crate) processing_status: String,
    pub(crate) current_job_id: Option<String>,
    pub(crate) revision: Option<i32>,
    pub(crate) content_hash: Option<String>,
    /// `pending_review`, approved, rejected or revoked
    pub(crate) approval: String,
    pub(crate) created_at: DateTime<Utc>,
    pub(crate) updated_at: DateTime<Utc>,
}

/// One revision of an asset.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Release {
    pub(crate) revision: i32,
    pub(crate) content_hash: String,
    pub(crate) approval: String,
    pub(crate) approval_reason: Option<String>,
    /// The job or the rollback that made it.
    #[schema(value_type = Object)]
    pub(crate) origin: Value,
    pub(crate) artifacts: Value,
    pub(crate) created_at: DateTime<Utc>,
}

/// How many nodes of the job have each state.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(crate) struct Progress {
    pub(crate) pending: i32,
    pub(crate) ready: i32,
    pub(crate) dispatched: i32,
    pub(crate) running: i32,
    pub(crate) completed: i32,
    pub(crate) failed: i32,
    pub(crate) skipped: i32,
    pub(crate) total: i32,
    /// Nodes that have ended, of a hundred.
    pub(crate) percent: i32,
}

/// Addresses: ours, and those that the result names.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Services {
    pub(crate) status_url: String,
    /// Null until there is a job.
    pub(crate) result_url: Option<String>,
    /// What the result calls `..._url` or `..._urls`.
    #[schema(value_type = Object)]
    pub(crate) of_result: Map<String, Value>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ApprovalView {
    /// Of the current revision; `pending_review` if there is none.
    pub(crate) state: String,
    pub(crate) revision: Option<i32>,
    pub(crate) reason: Option<String>,
}

/// Why a job did not complete.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct ErrorView {
    pub(crate) code: String,
    /// The class of the failure: transient, throttling, permanent, timeout, cancelled or contract.
    pub(crate) category: String,
    pub(crate) message: String,
    pub(crate) remediation: String,
    pub(crate) user_fixable: bool,
    /// The node that failed.
    pub(crate) node: Option<String>,
}

impl From<Asset> for AssetView {
    fn from(asset: Asset) -> Self {
        Self {
            asset_id: asset.asset_id,
            platform_id: asset.platform_id,
            platform_refs: asset.platform_refs,
            title: asset.title,
            deleted: asset.deleted,
            clearance: asset.clearance,
            processing_status: asset.processing_status,
            current_job_id: asset.current_job_id,
            revision: asset.revision,
            content_hash: asset.content_hash,
            approval: asset.approval,
            created_at: asset.created_at,
            updated_at: asset.updated_at,
        }
    }
}

impl From<Revision> for Release {
    fn from(revision: Revision) -> Self {
        Self {
            revision: revision.revision,
            content_hash: revision.content_hash,
            approval: revision.approval,
            approval_reason: revision.approval_reason,
            origin: revision.origin,
            artifacts: revision.artifacts,
            created_at: revision.created_at,
        }
    }
}

impl From<&Job> for Progress {
    fn from(job: &Job) -> Self {
        let ended = job.completed + job.failed + job.skipped;
        let total = ended + job.pending + job.ready + job.dispatched + job.running;
        let percent = i64::from(ended) * 100 / i64::from(total.max(1));
        Self {
            pending: job.pending,
            ready: job.ready,
            dispatched: job.dispatched,
            running: job.running,
            completed: job.completed,
            failed: job.failed,
            skipped: job.skipped,
            total,
            percent: i32::try_from(percent).unwrap_or(100),
        }
    }
}

/// The state of a request whose job may not exist yet, or never will.
pub(super) fn job_status(request: &Request, job: Option<&Job>) -> String {
    match job {
        Some(job) => job.status.clone(),
        None if request.status == "withdrawn" => "CANCELLED".to_owned(),
        None => "PENDING".to_owned(),
    }
}

/// Why there is no result and will be none; nothing as long as that is open.
pub(super) fn error_of(request: &Request, job: Option<&Job>) -> Option<ErrorView> {
    let Some(job) = job else {
        let withdrawn = request.status == "withdrawn";
        return withdrawn.then(|| cancelled(request.reason.as_deref()));
    };
    failure_view(job.failure.as_ref()?)
}

/// What `dag_jobs.failure` says.
pub(super) fn failure_view(why: &Value) -> Option<ErrorView> {
    let text =
        |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let Some(failure) = why.get("failure") else {
        return Some(cancelled(text(why, "reason").as_deref()));
    };
    let class: FailureClass = serde_json::from_value(failure.get("class")?.clone()).ok()?;
    let (remediation, user_fixable) = remedy(class);
    Some(ErrorView {
        code: text(failure, "code").unwrap_or_default(),
        category: text(failure, "class").unwrap_or_default(),
        message: text(failure, "message").unwrap_or_default(),
        remediation: remediation.to_owned(),
        user_fixable,
        node: text(why, "node"),
    })
}

fn cancelled(reason: Option<&str>) -> ErrorView {
    let (remediation, user_fixable) = remedy(FailureClass::Cancelled);
    ErrorView {
        code: "cancelled".to_owned(),
        category: "cancelled".to_owned(),
        message: reason.unwrap_or("it was cancelled").to_owned(),
        remediation: remediation.to_owned(),
        user_fixable,
        node: None,
    }
}

fn remedy(class: FailureClass) -> (&'static str, bool) {
    match class {
        FailureClass::Permanent => ("mend what the message names, and submit again", true),
        FailureClass::Cancelled => ("resubmit it if it is still wanted", true),
        FailureClass::Transient | FailureClass::Throttling => ("resubmit it later", false),
        FailureClass::Timeout => (
            "resubmit it; if it stays, ask the operator for more time",
            false,
        ),
        FailureClass::Contract => (
            "tell the operator: a workflow or a handler is at fault",
            false,
        ),
    }
}

/// The addresses that a result names.
pub(super) fn urls_of(result: Option<&Value>) -> Map<String, Value> {
    let fields = result.and_then(Value::as_object).into_iter().flatten();
    let urls = fields.filter(|(name, value)| {
        (name.ends_with("_url") || name.ends_with("_urls")) && !value.is_null()
    });
    urls.map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_class_of_failure_has_a_remedy() {
        for class in FailureClass::ALL {
            let why =
                json!({"node": "load", "failure": {"class": class, "code": "c", "message": "m"}});
            let view = failure_view(&why).unwrap();
            assert_eq!(
                (&*view.code, &*view.message, view.node.as_deref()),
                ("c", "m", Some("load"))
            );
            assert_eq!(json!(class), view.category);
            assert!(!view.remediation.is_empty());
        }
        let view = failure_view(&json!({"node": null, "reason": "not needed"})).unwrap();
        assert_eq!((&*view.code, &*view.message), ("cancelled", "not needed"));
    }

    #[test]
    fn addresses_are_taken_from_the_result() {
        let result =
            json!({"viewer_url": "https://v", "stac_urls": ["a"], "tilejson_url": null, "rows": 3});
        assert_eq!(
            Value::Object(urls_of(Some(&result))),
            json!({"viewer_url": "https://v", "stac_urls": ["a"]})
        );
        assert_eq!(urls_of(None), Map::new());
    }
}
