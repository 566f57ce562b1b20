//! An asset and its revisions as the API shows them; programs get the same with the names of the read models.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::when::Moment;

/// Fields of an [`Asset`].
pub(super) const ASSET: &str = "id platformId platformRefs title deleted clearance processingStatus currentJobId failure revision \
     contentHash approval createdAt updatedAt position";
/// Fields of a [`Revision`].
pub(super) const REVISION: &str =
    "number contentHash artifacts origin approval approvalReason createdAt";
/// Fields of a [`Version`] besides those of its revision.
pub(super) const VERSION: &str = "position actor rollback { to reason checkedBy intact unverified } \
     reviews { decision reason actor at position } \
     job { id status workflowId workflowVersion origin createdAt completedAt \
           request { id actor platformId submittedAt } \
           callbacks { id url status jobStatus attempts settledAt lastStatusCode lastErrorCode } }";

#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all(deserialize = "camelCase"))]
pub(super) struct Asset {
    #[serde(rename(deserialize = "id"))]
    pub(super) asset_id: String,
    pub(super) platform_id: String,
    pub(super) platform_refs: Value,
    pub(super) title: Option<String>,
    pub(super) deleted: bool,
    pub(super) clearance: String,
    pub(super) processing_status: String,
    pub(super) current_job_id: Option<String>,
    pub(super) failure: Option<Value>,
    pub(super) revision: Option<i32>,
    pub(super) content_hash: Option<String>,
    pub(super) approval: String,
    pub(super) created_at: DateTime<Utc>,
    pub(super) updated_at: DateTime<Utc>,
    pub(super) position: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) as_of: Option<Moment>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) revisions: Vec<Revision>,
}

#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all(deserialize = "camelCase"))]
pub(super) struct Revision {
    pub(super) number: i32,
    pub(super) content_hash: String,
    pub(super) artifacts: Vec<Artifact>,
    pub(super) origin: Value,
    pub(super) approval: String,
    pub(super) approval_reason: Option<String>,
    pub(super) created_at: DateTime<Utc>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
pub(super) struct Artifact {
    pub(super) name: String,
    pub(super) uri: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) sha256: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) bytes: Option<u64>,
}

/// A revision with who made and reviewed it, and why.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all(deserialize = "camelCase"))]
pub(super) struct Version {
    #[serde(flatten)]
    pub(super) revision: Revision,
    #[serde(rename(serialize = "pos"))]
    pub(super) position: Option<i64>,
    pub(super) actor: Option<String>,
    pub(super) rollback: Option<Rollback>,
    pub(super) reviews: Vec<Review>,
    pub(super) job: Option<Maker>,
}

#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all(deserialize = "camelCase"))]
pub(super) struct Rollback {
    pub(super) to: i64,
    pub(super) reason: String,
    pub(super) checked_by: Option<String>,
    pub(super) intact: Option<i64>,
    pub(super) unverified: Option<i64>,
}

#[derive(Debug, Clone, Deserialize, Serialize)]
pub(super) struct Review {
    pub(super) decision: String,
    pub(super) reason: Option<String>,
    pub(super) actor: Option<String>,
    pub(super) at: DateTime<Utc>,
    #[serde(rename(serialize = "pos"))]
    pub(super) position: i64,
}

/// The job that made a revision, and who asked for it.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all(deserialize = "camelCase"))]
pub(super) struct Maker {
    #[serde(rename(deserialize = "id"))]
    pub(super) job_id: String,
    pub(super) status: String,
    pub(super) workflow_id: String,
    pub(super) workflow_version: i32,
    /// `{kind, job_id}` of the job that it was made from.
    pub(super) origin: Option<Value>,
    pub(super) created_at: DateTime<Utc>,
    pub(super) completed_at: Option<DateTime<Utc>>,
    pub(super) request: Option<Asked>,
    pub(super) callbacks: Vec<Callback>,
}

#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all(deserialize = "camelCase"))]
pub(super) struct Asked {
    #[serde(rename(deserialize = "id"))]
    pub(super) request_id: String,
    pub(super) actor: Option<String>,
    pub(super) platform_id: String,
    pub(super) submitted_at: DateTime<Utc>,
}

#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all(deserialize = "camelCase"))]
pub(super) struct Callback {
    #[serde(rename(deserialize = "id"))]
    pub(super) callback_id: String,
    pub(super) url: String,
    pub(super) status: String,
    pub(super) job_status: Option<String>,
    pub(super) attempts: i32,
    pub(super) settled_at: Option<DateTime<Utc>>,
    pub(super) last_status_code: Option<i32>,
    pub(super) last_error_code: Option<String>,
}

impl Version {
    pub(super) fn number(&self) -> i32 {
        self.revision.number
    }

    /// Why there is such a revision, a line for each thing to say.
    pub(super) fn why(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(rollback) = &self.rollback {
            lines.push(format!("back to {}: {}", rollback.to, rollback.reason));
            lines.push(rollback.basis());
        }
        if let Some(job) = &self.job {
            if let Some(asked) = &job.request {
                let who = asked.actor.as_deref().unwrap_or("nobody knows who");
                lines.push(format!("{} of {who}", asked.request_id));
            }
            lines.extend(job.lineage());
        }
        for review in &self.reviews {
            lines.push(review.text());
        }
        lines
    }
}

impl Rollback {
    /// What says that the content was still there.
    pub(super) fn basis(&self) -> String {
        match (&self.checked_by, self.intact, self.unverified) {
            (Some(job), Some(intact), Some(0)) => format!("{intact} intact, by {job}"),
            (Some(job), Some(intact), Some(unverified)) => {
                format!("{intact} intact, {unverified} accepted unverified, by {job}")
            }
            (None, Some(_), _) => "accepted without artifacts to look at".to_owned(),
            _ => "nobody had looked at the artifacts".to_owned(),
        }
    }
}

impl Review {
    pub(super) fn text(&self) -> String {
        let who = self.actor.as_deref().unwrap_or("nobody knows who");
        let what = format!("{} by {who}", word(&self.decision));
        match &self.reason {
            Some(reason) => format!("{what}: {reason}"),
            None => what,
        }
    }
}

impl Maker {
    /// The job that this one goes back to, in words.
    pub(super) fn lineage(&self) -> Option<String> {
        let origin = self.origin.as_ref()?;
        let (kind, job) = (origin["kind"].as_str()?, origin["job_id"].as_str()?);
        Some(format!("{} {job}", kind.replace('_', " ")))
    }
}

/// A word of the schema in small letters.
pub(super) fn word(name: &str) -> String {
    name.to_lowercase().replace('_', " ")
}

/// What made a revision.
pub(super) fn maker(origin: &Value) -> String {
    match (origin["job_id"].as_str(), origin["to"].as_u64()) {
        (Some(job), _) => job.to_owned(),
        (None, Some(to)) => format!("rollback to {to}"),
        (None, None) => String::new(),
    }
}
