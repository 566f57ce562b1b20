//! Jobs that come to the desk from the log: orphans that are claimed, and own ones that were lost.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use domain::event::{Event as AnyEvent, KINDS};
use domain::id::{JobId, OwnerId, RequestId};
use domain::job::{self, Context, Event, Fence, Policy, State};
use domain::request;

use super::held::Held;
use super::options::CLAIMS_MAX;
use super::outstanding::{Changed, Outstanding};
use crate::appender::AppendError;
use crate::definitions::NoDefinition;
use crate::log::{Append, Expected, JobRow, LogError, OpenJob, Recorded};
use crate::write::{Writer, owned_meta};

/// Events that are read at once.
const CHUNK: usize = 5_000;

/// Why a job could not be taken over.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoadError {
    #[error("it is in quarantine after {0} claims without an append")]
    Quarantined(u32),
    #[error("a newer version of Strata wrote it")]
    TooNew,
    #[error("somebody else was faster")]
    Lost,
    #[error("folding it panicked")]
    Panicked,
    #[error("it has no beginning")]
    Empty,
    #[error(transparent)]
    Definition(#[from] NoDefinition),
    #[error(transparent)]
    Log(#[from] LogError),
    #[error(transparent)]
    Append(AppendError),
}

impl LoadError {
    /// Whether the same may work later, and nobody is to blame.
    pub(super) fn is_transient(&self) -> bool {
        match self {
            Self::Log(error) | Self::Definition(NoDefinition::Log(error)) => error.is_transient(),
            Self::Append(AppendError::Log(error)) => error.is_transient(),
            Self::Append(_) | Self::Lost => true,
            _ => false,
        }
    }
}

/// The job events among some records.
pub(super) fn job_events(recorded: &[Recorded]) -> Result<Vec<Event>, LogError> {
    let mut events = Vec::with_capacity(recorded.len());
    for recorded in recorded {
        match recorded.decode() {
            Ok(AnyEvent::Job(event)) => events.push(event),
            Ok(_) => {
                return Err(LogError::Decode(
                    "a job's stream has a foreign event".into(),
                ));
            }
            Err(error) => return Err(LogError::Decode(error.to_string())),
        }
    }
    Ok(events)
}

impl Writer {
    /// Claims a job whose owner is gone, and folds it. The claim is on record before the fold, because
    /// the fold may be what killed the owner.
    pub(super) async fn reclaim(
        &self,
        row: &JobRow,
        owner: OwnerId,
        policy: &Policy,
    ) -> Result<Held, LoadError> {
        if row.claims >= CLAIMS_MAX {
            return Err(LoadError::Quarantined(row.claims));
        }
        let newest = KINDS.iter().map(|kind| kind.schema_ver).max().unwrap_or(1);
        if row.max_schema > newest {
            return Err(LoadError::TooNew);
        }
        let fence = Fence {
            owner,
            epoch: row.epoch + 1,
        };
        let ctx = Context {
            now: self.clock.now(),
            fence: Some(fence),
            policy: policy.clone(),
        };
        let job_id = row.job_id.to_string();
        let first = self.first_of(row.job_id).await?;
        let claim = Append {
            stream: format!("job:{job_id}"),
            expected: Expected::Version(row.version),
            meta: owned_meta(fence, row.request_id.clone(), first.trace()),
            org_id: first.org_id,
            events: vec![AnyEvent::Job(job::claimed(fence, &ctx))],
            open_job: Some(OpenJob::Claim {
                job_id,
                owner: owner.0,
                epoch: fence.epoch,
                weight: None,
            }),
            closes: false,
        };
        match self.appender.append(&[claim]).await {
            Ok(_) => {}
            Err(AppendError::Conflict { .. }) => return Err(LoadError::Lost),
            Err(error) => return Err(LoadError::Append(error)),
        }
        let mut held = self.fold_job(row.job_id).await?;
        if held.fence != fence {
            // We took so long that somebody claimed it from us.
            return Err(LoadError::Lost);
        }
        held.unsettled = true;
        Ok(held)
    }

    async fn first_of(&self, job: JobId) -> Result<Recorded, LoadError> {
        let first = self.log.read_stream(&format!("job:{job}"), 0, 1).await?;
        first.into_iter().next().ok_or(LoadError::Empty)
    }

    /// Folds a job that the log gives to this process.
    pub(crate) async fn fold_job(&self, job: JobId) -> Result<Held, LoadError> {
        bus::fault::point_job(&job);
        let stream = format!("job:{job}");
        let mut recorded = self.log.read_stream(&stream, 0, CHUNK).await?;
        let org_id: Arc<str> = recorded
            .first()
            .map(|first| first.org_id.as_str().into())
            .ok_or(LoadError::Empty)?;
        let trace = recorded.first().and_then(Recorded::trace);
        let events = job_events(&recorded)?;
        let Some(Event::JobCreated(created)) = events.first() else {
            return Err(LoadError::Empty);
        };
        let request_id = created.request_id;
        let reference = &created.workflow;
        let found = self
            .definitions
            .find(&reference.id, Some(reference.version))
            .await?;
        let mut folded = Folded {
            state: State::new(found.graph),
            outstanding: Outstanding::default(),
            version: 0,
        };
        folded = folded.fold(&events)?;
        while recorded.len() == CHUNK {
            tokio::task::yield_now().await;
            recorded = self.log.read_stream(&stream, folded.version, CHUNK).await?;
            folded = folded.fold(&job_events(&recorded)?)?;
        }
        let fence = folded.state.claim().ok_or(LoadError::Empty)?;
        let asset_id = self.asset_of(request_id).await?;
        let ids = (job, request_id);
        let mut held = Held::new(ids, org_id, asset_id, fence, folded.state, folded.version);
        held.outstanding = folded.outstanding;
        held.trace = trace;
        Ok(held)
    }

    pub(crate) async fn asset_of(
        &self,
        request: RequestId,
    ) -> Result<Option<domain::asset::AssetId>, LogError> {
        let stream = format!("request:{request}");
        let first = self.log.read_stream(&stream, 0, 1).await?;
        Ok(match first.first().map(Recorded::decode) {
            Some(Ok(AnyEvent::Request(request::Event::RequestSubmitted {
                submission, ..
            }))) => submission.asset_id,
            _ => None,
        })
    }
}

struct Folded {
    state: State,
    outstanding: Outstanding,
    version: u64,
}

impl Folded {
    fn fold(mut self, events: &[Event]) -> Result<Self, LoadError> {
        let folded = catch_unwind(AssertUnwindSafe(move || {
            let mut changed = Changed::default();
            for event in events {
                job::apply(&mut self.state, event);
                self.outstanding.follow(event, &mut changed);
                self.version += 1;
            }
            self
        }));
        folded.map_err(|_| LoadError::Panicked)
    }
}
