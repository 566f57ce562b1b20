//! Events that go the ordinary way into the rebuilt tables: by the projector itself, batch by batch.

use sqlx::{Connection, PgConnection};

use super::RebuildError;
use crate::Error;
use crate::projector::Projector as _;
use crate::read_models::ReadModels;
use crate::store::log::Entry;
use crate::store::rebuilds::{self, Hold};

/// What a transaction says about where the rebuild is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Mark<'a> {
    /// Nothing but that the rebuild is still ours.
    Keep,
    /// It moves on from this position.
    From(i64),
    /// The last of them ends this stream.
    RestDone(&'a str),
}

/// Projects events; one that cannot be projected is looked for by halves, and its stream is parked.
pub(super) async fn project(
    models: &mut ReadModels,
    db: &mut PgConnection,
    hold: Hold,
    events: Vec<Entry>,
    mark: Mark<'_>,
) -> Result<(), RebuildError> {
    let end = events.last().map_or(0, |entry| entry.pos);
    let mut mark = mark;
    // The next ones are at the end.
    let mut waiting = vec![events];
    while let Some(mut some) = waiting.pop() {
        let Some(last) = some.last().map(|entry| entry.pos) else {
            continue;
        };
        match attempt(models, db, hold, &some, mark, last == end, None).await {
            Ok(()) => {}
            Err(RebuildError::Read(error)) if error.is_data() => {
                models.reset();
                if let [alone] = some.as_slice() {
                    let alone = std::slice::from_ref(alone);
                    let why = Some(error.chain());
                    attempt(models, db, hold, alone, mark, last == end, why).await?;
                } else {
                    let rest = some.split_off(some.len() / 2);
                    waiting.push(rest);
                    waiting.push(some);
                    continue;
                }
            }
            Err(error) => {
                models.reset();
                return Err(error);
            }
        }
        if let Mark::From(_) = mark {
            mark = Mark::From(last);
        }
    }
    Ok(())
}

/// One transaction: projects the events, or parks the only one.
async fn attempt(
    models: &mut ReadModels,
    db: &mut PgConnection,
    hold: Hold,
    events: &[Entry],
    mark: Mark<'_>,
    is_end: bool,
    unfit: Option<String>,
) -> Result<(), RebuildError> {
    let mut tx = db.begin().await.map_err(Error::from)?;
    let last = events.last().map_or(0, |entry| entry.pos);
    let held = match mark {
        Mark::From(from) => rebuilds::advance(&mut tx, hold, from, last).await,
        _ => rebuilds::keep(&mut tx, hold).await,
    };
    if !held.map_err(Error::from)? {
        return Err(RebuildError::Lost);
    }
    match (unfit, events) {
        (Some(why), [alone]) => models.park(&mut tx, alone, why).await?,
        _ => models.project(&mut tx, events.to_vec()).await?,
    }
    if let (Mark::RestDone(stream), true) = (mark, is_end) {
        rebuilds::rest_done(&mut tx, stream)
            .await
            .map_err(Error::from)?;
    }
    tx.commit().await.map_err(Error::from)?;
    models.committed();
    Ok(())
}
