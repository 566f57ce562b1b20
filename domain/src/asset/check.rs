//! What a look at the artifacts of a revision found, and whether a rollback may rest on it.
//!
//! A worker looks, as a task of the workflow [`CHECK_WORKFLOW`]; what it says is in the log as the result of
//! that job. Here is only what follows from it. Invariant: a rollback never rests on a look at anything but
//! the artifacts that it brings back.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{Artifact, Asset, AssetId, Rejection, Revision};
use crate::id::JobId;
use crate::json::{clean_text, is_sha256_hex, size_bytes};

/// The workflow whose jobs look at artifacts.
pub const CHECK_WORKFLOW: &str = "verify_artifacts";
/// An older look says nothing of what is there now.
pub const CHECK_AGE_MAX: TimeDelta = TimeDelta::hours(1);
/// Largest list that one look takes, as compact JSON: it must fit into the parameters of a task.
pub const CHECKED_BYTES_MAX: usize = 240 * 1024;

/// What was found of one artifact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It is there, and its SHA-256 is the recorded one.
    Intact,
    /// There is nothing.
    Missing,
    /// There is something else.
    Changed,
    /// Nothing was recorded that it could be compared with, or nobody can read such a place.
    Unverifiable,
}

impl Verdict {
    /// All words, for tables and tests.
    pub const ALL: [Self; 4] = [
        Self::Intact,
        Self::Missing,
        Self::Changed,
        Self::Unverifiable,
    ];

    /// The word on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Intact => "intact",
            Self::Missing => "missing",
            Self::Changed => "changed",
            Self::Unverifiable => "unverifiable",
        }
    }
}

/// What was found of one artifact, with what a person wants to know of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub artifact: Artifact,
    pub verdict: Verdict,
    /// The SHA-256 that it has now, if it was read and is another.
    pub found: Option<String>,
    /// Why, in words of the worker.
    pub detail: Option<String>,
}

/// What a worker reports: one verdict for each artifact, in their order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    pub verdicts: Vec<Verdict>,
    /// More of some of them; of the first that are not intact.
    #[serde(default)]
    pub details: Vec<Detail>,
    /// Bytes that were read and hashed.
    #[serde(default)]
    pub bytes_read: u64,
}

/// More about the artifact at an index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Detail {
    pub index: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// A look that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// The job that looked.
    pub job_id: JobId,
    pub asset_id: AssetId,
    pub revision: u32,
    /// The job that it took for the maker: a table is known by the job that loaded it.
    pub made_by: Option<JobId>,
    pub ended_at: DateTime<Utc>,
    /// One for each artifact, in the order of the revision.
    pub findings: Vec<Finding>,
}

/// What a rollback rests on; kept with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Basis {
    /// The job that looked at the artifacts; none if the revision lists none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked_by: Option<JobId>,
    pub intact: u32,
    /// Artifacts that nobody could verify, and that were accepted all the same.
    pub unverified: u32,
}

/// The inputs of a job that looks at the artifacts of a revision.
#[must_use]
pub fn check_inputs(asset: &Asset, revision: &Revision) -> Map<String, Value> {
    let maker = asset.maker(revision.number);
    let maker = maker.map(|job| job.to_string()).unwrap_or_default();
    let inputs = json!({
        "asset_id": asset.asset_id, "revision": revision.number, "made_by": maker,
        "artifacts": revision.artifacts,
    });
    inputs.as_object().cloned().unwrap_or_default()
}

/// Refuses a revision that one look cannot take.
pub fn check_may_begin(revision: &Revision) -> Result<(), Rejection> {
    let number = revision.number;
    if revision.artifacts.is_empty() {
        return Err(Rejection::NothingListed { revision: number });
    }
    let size_bytes = size_bytes(&revision.artifacts);
    if size_bytes > CHECKED_BYTES_MAX {
        return Err(Rejection::CheckTooLarge {
            revision: number,
            size_bytes,
        });
    }
    Ok(())
}

impl Check {
    /// Reads what a job of [`CHECK_WORKFLOW`] was given and found; nothing if that makes no sense.
    #[must_use]
    pub fn read(
        job_id: JobId,
        inputs: &Map<String, Value>,
        result: &Value,
        ended_at: DateTime<Utc>,
    ) -> Option<Self> {
        let input = |name: &str| inputs.get(name).cloned().unwrap_or_default();
        let artifacts: Vec<Artifact> = serde_json::from_value(input("artifacts")).ok()?;
        let report: Report = serde_json::from_value(result.clone()).ok()?;
        if report.verdicts.len() != artifacts.len() {
            return None;
        }
        let mut details: BTreeMap<usize, Detail> = report
            .details
            .into_iter()
            .map(|detail| (detail.index, detail))
            .collect();
        let findings = artifacts.into_iter().zip(report.verdicts).enumerate();
        let findings = findings.map(|(index, (artifact, verdict))| {
            let more = details.remove(&index);
            let (found, detail) = more.map_or((None, None), |more| (more.found, more.detail));
            Finding {
                artifact,
                verdict,
                found: found.filter(|hash| is_sha256_hex(hash)),
                detail: detail.map(|text| clean_text(&text)),
            }
        });
        Some(Self {
            job_id,
            asset_id: input("asset_id").as_str()?.parse().ok()?,
            revision: u32::try_from(input("revision").as_u64()?).ok()?,
            made_by: input("made_by").as_str().and_then(|id| id.parse().ok()),
            ended_at,
            findings: findings.collect(),
        })
    }

    /// How many artifacts got this verdict.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> u32 {
        let found = self.findings.iter().filter(|one| one.verdict == verdict);
        u32::try_from(found.count()).unwrap_or(u32::MAX)
    }

    /// Whether it looked at exactly these artifacts of this asset.
    fn is_of(&self, asset: &Asset, revision: &Revision) -> bool {
        let listed = self.findings.iter().map(|finding| &finding.artifact);
        self.asset_id == asset.asset_id
            && self.made_by == asset.maker(revision.number)
            && listed.eq(revision.artifacts.iter())
    }
}

/// What going back to `revision` rests on, or why it may not be.
pub(super) fn basis(
    asset: &Asset,
    revision: &Revision,
    check: Option<&Check>,
    accept_unverified: bool,
    now: DateTime<Utc>,
) -> Result<Basis, Rejection> {
    let number = revision.number;
    if revision.artifacts.is_empty() {
        if !accept_unverified {
            return Err(Rejection::NothingListed { revision: number });
        }
        return Ok(Basis {
            checked_by: None,
            intact: 0,
            unverified: 0,
        });
    }
    let check = check.ok_or(Rejection::NotChecked { revision: number })?;
    let job_id = check.job_id;
    if !check.is_of(asset, revision) {
        return Err(Rejection::OtherCheck {
            job_id,
            revision: number,
        });
    }
    let ended_at = check.ended_at;
    if now.signed_duration_since(ended_at) > CHECK_AGE_MAX {
        return Err(Rejection::CheckTooOld { job_id, ended_at });
    }
    if let Some(damage) = damage(check) {
        return Err(damage);
    }
    let unverified = check.count(Verdict::Unverifiable);
    let first = first(check, Verdict::Unverifiable);
    if let Some(first) = first.filter(|_| !accept_unverified) {
        return Err(Rejection::NotVerifiable {
            artifact: Box::new(first.clone()),
            more: unverified.saturating_sub(1),
        });
    }
    Ok(Basis {
        checked_by: Some(job_id),
        intact: check.count(Verdict::Intact),
        unverified,
    })
}

/// What is gone comes before what has changed.
fn damage(check: &Check) -> Option<Rejection> {
    [Verdict::Missing, Verdict::Changed]
        .into_iter()
        .find_map(|verdict| {
            let artifact = Box::new(first(check, verdict)?.clone());
            let more = check.count(verdict).saturating_sub(1);
            Some(match verdict {
                Verdict::Missing => Rejection::ArtifactMissing { artifact, more },
                _ => Rejection::ArtifactChanged { artifact, more },
            })
        })
}

fn first(check: &Check, verdict: Verdict) -> Option<&Finding> {
    check.findings.iter().find(|one| one.verdict == verdict)
}
