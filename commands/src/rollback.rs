//! Rollback: a look at the artifacts of an earlier revision by a worker, and the decision that rests on it (O-09).
//!
//! Two steps, because a look may take hours: the first submits a job of [`CHECK_WORKFLOW`], the second reads from
//! the log what that job found. Nothing but the log is asked here, so that it does not matter where artifacts lie
//! and who can read them. Between the look and the rollback something may still be lost; that is why a look
//! counts for an hour and no longer.

use chrono::{DateTime, Utc};
use domain::asset::{
    self, AssetId, CHECK_WORKFLOW, Check, Command, Processing, Rejection, Revision, Rollback,
    check_inputs, check_may_begin,
};
use domain::context::{Actor, Role};
use domain::event::Event;
use domain::failure::{Failure, FailureClass};
use domain::id::JobId;
use domain::job;
use domain::platform::Refs;

use crate::log::{LogError, Recorded};
use crate::review::{ReviewError, Reviewed};
use crate::submit::{Order, SubmitError, Submitted};
use crate::write::Writer;

/// Events of a job that are read at once.
const PAGE: usize = 500;

/// What somebody wants to go back to.
#[derive(Debug, Clone)]
pub struct RollbackWish {
    pub to: u32,
    pub reason: String,
    /// The job that looked at the artifacts.
    pub checked_by: Option<JobId>,
    /// Also with artifacts that nobody can verify.
    pub accept_unverified: bool,
}

/// What a rollback changes, or would.
#[derive(Debug, Clone)]
pub struct RollbackPlan {
    /// The revision that is current before it.
    pub current: u32,
    /// The number of the new one.
    pub revision: u32,
    /// The revision whose content comes back.
    pub source: Revision,
    /// The job that made that content.
    pub made_by: Option<JobId>,
    /// What was found of its artifacts, if somebody looked.
    pub check: Option<Check>,
    /// A job at work on the asset: its result will be current after this.
    pub at_work: Option<JobId>,
    /// Everybody sees the asset now, and nobody will until the new revision is approved.
    pub was_public: bool,
    /// Why it is refused.
    pub refusal: Option<Rejection>,
    /// It was done before, with this reason.
    pub repeated: bool,
}

/// How far a look is.
#[derive(Debug, Clone)]
pub enum Looked {
    /// It goes on.
    AtWork,
    Ended(Check),
    /// It could not be done.
    Failed(Failure),
}

/// Why it was not done.
#[derive(Debug, thiserror::Error)]
pub enum RollbackError {
    /// No job of the organisation that looked at artifacts.
    #[error("{0} is no job that looks at artifacts")]
    NoCheck(JobId),
    #[error("{0} still looks at the artifacts")]
    CheckAtWork(JobId),
    #[error("{job} could not look at the artifacts: {}", .failure.message)]
    CheckFailed { job: JobId, failure: Box<Failure> },
    #[error(transparent)]
    Review(#[from] ReviewError),
    #[error(transparent)]
    Submit(#[from] SubmitError),
}

impl From<LogError> for RollbackError {
    fn from(error: LogError) -> Self {
        Self::Review(error.into())
    }
}

impl From<Rejection> for RollbackError {
    fn from(rejection: Rejection) -> Self {
        Self::Review(ReviewError::Rejected(rejection))
    }
}

impl Writer {
    /// Has a worker look at the artifacts of a revision.
    pub async fn check_artifacts(
        &self,
        org_id: &str,
        asset_id: AssetId,
        revision: u32,
        actor: &str,
    ) -> Result<Submitted, RollbackError> {
        let state = self.own_asset(org_id, asset_id).await?;
        let asset = state.asset().ok_or(Rejection::NotFound)?;
        let found = revision_of(&state, revision)?;
        check_may_begin(found)?;
        let order = Order {
            org_id: org_id.to_owned(),
            actor: actor.to_owned(),
            platform_id: "strata".to_owned(),
            // For no asset: a look at an asset is nothing that happens to it.
            refs: Refs::default(),
            workflow_id: CHECK_WORKFLOW.to_owned(),
            workflow_version: None,
            inputs: check_inputs(asset, found),
            priority: None,
            callbacks: Vec::new(),
            retry_of: None,
            forked_from: None,
            idempotency_key: None,
            trace: None,
        };
        Ok(self.submit(order).await?)
    }

    /// What a job of an organisation has found, from the log.
    pub async fn looked(&self, org_id: &str, job: JobId) -> Result<Looked, RollbackError> {
        let stream = format!("job:{job}");
        let first = self.log.read_stream(&stream, 0, 1).await?;
        let Some(begun) = first.first().and_then(|first| created(first, org_id)) else {
            // Until an orchestrator takes it there is only its request.
            let waits = self.org_of_job(job).await?.as_deref() == Some(org_id);
            let unknown = first.is_empty() && waits;
            return if unknown {
                Ok(Looked::AtWork)
            } else {
                Err(RollbackError::NoCheck(job))
            };
        };
        let mut version = 1;
        loop {
            let page = self.log.read_stream(&stream, version, PAGE).await?;
            let Some(last) = page.last() else {
                return Ok(Looked::AtWork);
            };
            version = last.version;
            for recorded in &page {
                if let Some(looked) = ended(job, &begun, recorded)? {
                    return Ok(looked);
                }
            }
        }
    }

    /// What a rollback would change, and why it would be refused.
    pub async fn plan_rollback(
        &self,
        org_id: &str,
        asset_id: AssetId,
        wish: &RollbackWish,
        actor: &str,
    ) -> Result<RollbackPlan, RollbackError> {
        let check = self.evidence(org_id, wish.checked_by).await?;
        let state = self.own_asset(org_id, asset_id).await?;
        self.plan(&state, wish, check, actor)
    }

    /// Goes back, or says why not. The same wish again is answered as before.
    pub async fn roll_back(
        &self,
        org_id: &str,
        asset_id: AssetId,
        wish: &RollbackWish,
        actor: &str,
    ) -> Result<(RollbackPlan, Reviewed), RollbackError> {
        let check = self.evidence(org_id, wish.checked_by).await?;
        let state = self.own_asset(org_id, asset_id).await?;
        let mut plan = self.plan(&state, wish, check.clone(), actor)?;
        let done = self.review(org_id, asset_id, command(wish, check), actor);
        let done = done.await?;
        plan.repeated = done == Reviewed::AlreadyApplied;
        Ok((plan, done))
    }

    fn plan(
        &self,
        state: &asset::State,
        wish: &RollbackWish,
        check: Option<Check>,
        actor: &str,
    ) -> Result<RollbackPlan, RollbackError> {
        let asset = state.asset().ok_or(Rejection::NotFound)?;
        let source = revision_of(state, wish.to)?.clone();
        let (id, role) = (actor.to_owned(), Role::Platform);
        let context = self.context(Actor { id, role });
        let decided = asset::decide(state, command(wish, check.clone()), &context);
        let repeated = matches!(decided, Ok(domain::outcome::Decision::AlreadyApplied));
        let current = state.revision().unwrap_or_default();
        Ok(RollbackPlan {
            current,
            revision: if repeated {
                current
            } else {
                asset.next_revision()
            },
            made_by: asset.maker(wish.to),
            source,
            check,
            at_work: match state.processing() {
                Processing::Processing { job_id } => Some(*job_id),
                _ => None,
            },
            was_public: state.is_public(),
            refusal: decided.err(),
            repeated,
        })
    }

    /// What a look has found; one that has not ended well is no evidence.
    async fn evidence(
        &self,
        org_id: &str,
        checked_by: Option<JobId>,
    ) -> Result<Option<Check>, RollbackError> {
        let Some(job) = checked_by else {
            return Ok(None);
        };
        match self.looked(org_id, job).await? {
            Looked::Ended(check) => Ok(Some(check)),
            Looked::AtWork => Err(RollbackError::CheckAtWork(job)),
            Looked::Failed(failure) => Err(RollbackError::CheckFailed {
                job,
                failure: Box::new(failure),
            }),
        }
    }

    /// An asset of this organisation.
    async fn own_asset(
        &self,
        org_id: &str,
        asset_id: AssetId,
    ) -> Result<asset::State, RollbackError> {
        let (state, _) = self.asset(asset_id).await?;
        let owned = state.asset().is_some_and(|asset| asset.org_id == org_id);
        if owned {
            Ok(state)
        } else {
            Err(ReviewError::NoAsset(asset_id).into())
        }
    }
}

fn command(wish: &RollbackWish, check: Option<Check>) -> Command {
    Command::Rollback(Box::new(Rollback {
        to: wish.to,
        reason: wish.reason.clone(),
        check,
        accept_unverified: wish.accept_unverified,
    }))
}

fn revision_of(state: &asset::State, number: u32) -> Result<&Revision, Rejection> {
    let current = state.revision().ok_or(Rejection::NoRevision)?;
    let found = state.asset().and_then(|asset| asset.find(number));
    found.ok_or(Rejection::UnknownRevision {
        revision: number,
        current,
    })
}

/// The beginning of a job, if it looks at artifacts for this organisation.
fn created(first: &Recorded, org_id: &str) -> Option<job::event::JobCreated> {
    match first.decode() {
        Ok(Event::Job(job::Event::JobCreated(created)))
            if first.org_id == org_id && created.workflow.id == CHECK_WORKFLOW =>
        {
            Some(*created)
        }
        _ => None,
    }
}

/// What the event that ends a look says of it.
fn ended(
    job: JobId,
    begun: &job::event::JobCreated,
    recorded: &Recorded,
) -> Result<Option<Looked>, LogError> {
    let event = recorded
        .decode()
        .map_err(|error| LogError::Decode(error.to_string()))?;
    let at: DateTime<Utc> = recorded.recorded_at;
    Ok(match event {
        Event::Job(job::Event::JobCompleted { result }) => {
            Some(match Check::read(job, &begun.inputs, &result, at) {
                Some(check) => Looked::Ended(check),
                None => Looked::Failed(nonsense()),
            })
        }
        Event::Job(job::Event::JobFailed { failure, .. }) => Some(Looked::Failed(failure)),
        Event::Job(job::Event::JobCancelled { reason }) => Some(Looked::Failed(Failure::new(
            FailureClass::Cancelled,
            "job_cancelled",
            &reason,
        ))),
        _ => None,
    })
}

fn nonsense() -> Failure {
    let message = "its result is not that of `verify_artifacts` as it ships";
    Failure::new(FailureClass::Contract, "check_result", message)
}
