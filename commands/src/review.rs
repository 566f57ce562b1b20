//! What the platform side says of an asset: approve, reject, revoke, clear, delete, restore, roll back (O-24).

use domain::asset::{self, AssetId, Command};
use domain::context::{Actor, Role};
use domain::event::Event;
use domain::outcome::Decision;

use crate::appender::AppendError;
use crate::log::{Append, Expected, LogError};
use crate::write::{Writer, meta};

/// How often a lost race is tried again.
const TRIES: usize = 10;

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reviewed {
    /// It is in the log, at this position.
    Applied { pos: u64 },
    /// It was so before.
    AlreadyApplied,
}

/// Why it was not done.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ReviewError {
    /// Nobody has it, or another organisation.
    #[error("there is no asset {0}")]
    NoAsset(AssetId),
    #[error(transparent)]
    Rejected(asset::Rejection),
    #[error("others keep writing to the asset; try again")]
    Contended,
    #[error(transparent)]
    Log(#[from] LogError),
    #[error(transparent)]
    Append(#[from] AppendError),
}

impl Writer {
    /// Applies a command of the platform side to an asset of an organisation.
    pub async fn review(
        &self,
        org_id: &str,
        asset_id: AssetId,
        command: Command,
        actor: &str,
    ) -> Result<Reviewed, ReviewError> {
        let (id, role) = (actor.to_owned(), Role::Platform);
        let context = self.context(Actor { id, role });
        for _ in 0..TRIES {
            let (state, version) = self.asset(asset_id).await?;
            let owned = state.asset().is_some_and(|asset| asset.org_id == org_id);
            if !owned {
                return Err(ReviewError::NoAsset(asset_id));
            }
            let decided = asset::decide(&state, command.clone(), &context);
            let events = match decided.map_err(ReviewError::Rejected)? {
                Decision::AlreadyApplied => return Ok(Reviewed::AlreadyApplied),
                Decision::Accepted(events) => events,
            };
            let append = Append {
                stream: format!("asset:{asset_id}"),
                expected: Expected::Version(version),
                org_id: org_id.to_owned(),
                meta: meta(actor, None),
                events: events.into_iter().map(Event::Asset).collect(),
                open_job: None,
                closes: false,
            };
            match self.appender.append(&[append]).await {
                Ok(appended) => return Ok(Reviewed::Applied { pos: appended.pos }),
                Err(AppendError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(ReviewError::Contended)
    }
}
