//! The past: which moment is meant, jobs and assets at it, and what differs between two of them.

use std::sync::Arc;

use async_graphql::{Context, Json, Object, OneofObject};
use chrono::{DateTime, Datelike as _, Utc};
use projections::read;
use projections::travel::{self, AssetAt, JobAt};
use serde_json::Value;
use tokio::sync::OnceCell;

use super::asset::Asset;
use super::context::{Position, core, ready, viewer};
use super::job::Job;
use super::query::clean;
use crate::error::Fault;

/// Changes of one answer.
const CHANGES_MAX: i32 = 2_000;
/// Changes of an answer whose size nobody gave.
const CHANGES: i32 = 500;

/// A moment of the log: a position, or a time.
#[derive(Debug, Clone, Copy, OneofObject)]
pub(super) enum AsOf {
    /// After the event at this position.
    Pos(Position),
    /// After everything that was recorded at this time or before it.
    Time(DateTime<Utc>),
}

/// A position of the log, and when it was recorded.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment(pub(super) travel::Moment);

#[Object]
impl Moment {
    async fn position(&self) -> Position {
        Position(self.0.pos)
    }

    async fn recorded_at(&self) -> DateTime<Utc> {
        self.0.recorded_at
    }
}

impl AsOf {
    /// The position that is meant.
    pub(super) async fn moment(self, ctx: &Context<'_>) -> Result<travel::Moment, Fault> {
        let wanted = match self {
            Self::Pos(Position(pos)) => travel::AsOf::Pos(pos),
            Self::Time(at) if (0..=9999).contains(&at.year()) => travel::AsOf::Time(at),
            Self::Time(_) => {
                let message = "a time lies in the years 0 to 9999";
                return Err(Fault::invalid("AS_OF", message, "choose another time"));
            }
        };
        Ok(core(ctx)?.traveller.moment(wanted).await?)
    }
}

/// The moment that a job is shown at. The job itself is folded when more than its row is wanted.
#[derive(Clone)]
pub(super) struct Then {
    pub(super) moment: travel::Moment,
    folded: Arc<OnceCell<JobAt>>,
}

impl Then {
    pub(super) fn at(moment: travel::Moment) -> Self {
        Self {
            moment,
            folded: Arc::default(),
        }
    }

    /// The whole job at this moment.
    pub(super) async fn job(&self, ctx: &Context<'_>, id: &str) -> Result<&JobAt, Fault> {
        let fold = async || {
            let found = job_at(ctx, id, self.moment).await?;
            found.ok_or_else(|| Fault::not_found("job", id))
        };
        self.folded.get_or_try_init(fold).await
    }
}

async fn job_at(
    ctx: &Context<'_>,
    id: &str,
    moment: travel::Moment,
) -> Result<Option<JobAt>, Fault> {
    let org = viewer(ctx)?.org();
    let found = core(ctx)?.traveller.job(Some(org), id, moment).await;
    Ok(found?)
}

/// One job as it was.
pub(super) async fn job(
    ctx: &Context<'_>,
    id: &str,
    moment: travel::Moment,
) -> Result<Option<Job>, Fault> {
    let Some(found) = job_at(ctx, id, moment).await? else {
        return Ok(None);
    };
    let row = found.row();
    let then = Then {
        moment,
        folded: Arc::new(OnceCell::new_with(Some(found))),
    };
    Ok(Some(Job(row, Some(then))))
}

/// One asset as it was.
pub(super) async fn asset(
    ctx: &Context<'_>,
    id: &str,
    moment: travel::Moment,
) -> Result<Option<Asset>, Fault> {
    let org = viewer(ctx)?.org();
    let found = core(ctx)?.traveller.asset(Some(org), id, moment).await?;
    Ok(found.map(|found: AssetAt| Asset(found.asset.clone(), Some(Arc::new(found)))))
}

/// Jobs as they were listed.
pub(super) fn jobs(page: read::Page<read::Job>, moment: travel::Moment) -> read::Page<Job> {
    let job = |row| Job(row, Some(Then::at(moment)));
    read::Page {
        items: page.items.into_iter().map(job).collect(),
        next: page.next,
    }
}

/// What is asked of the past, and is not kept of it.
pub(super) fn only_now(what: &str, instead: &str) -> Fault {
    let message = format!("{what} cannot be shown as of a moment of the past");
    Fault::invalid("ONLY_NOW", message, instead)
}

/// One field that differs.
pub(super) struct StateChange(travel::Change);

#[Object]
impl StateChange {
    /// Nothing for a field of the job itself.
    async fn node(&self) -> Option<&str> {
        self.0.node_id.as_deref()
    }

    async fn field(&self) -> &str {
        &self.0.field
    }

    async fn before(&self) -> Json<Value> {
        Json(self.0.before.clone())
    }

    async fn after(&self) -> Json<Value> {
        Json(self.0.after.clone())
    }
}

/// What changes cost; few documents ask for more than their names and values.
fn cost(first: Option<i32>, each: usize) -> usize {
    let rows = first.unwrap_or(CHANGES).clamp(1, CHANGES_MAX);
    usize::try_from(rows)
        .unwrap_or(1)
        .saturating_mul(each.min(1_000))
}

/// What differs between two moments of a job.
pub(super) struct StateDiff(travel::StateDiff);

#[Object]
impl StateDiff {
    async fn from(&self) -> Moment {
        Moment(self.0.from)
    }

    async fn to(&self) -> Moment {
        Moment(self.0.to)
    }

    /// Fields of the job by name, then nodes in topological order, their fields by name.
    #[graphql(complexity = "cost(first, child_complexity)")]
    async fn changes(&self, first: Option<i32>) -> async_graphql::Result<Vec<StateChange>> {
        let wanted = match first.unwrap_or(CHANGES) {
            n if (1..=CHANGES_MAX).contains(&n) => usize::try_from(n).unwrap_or_default(),
            n => {
                let message = format!("there are 1 to {CHANGES_MAX} changes in an answer, not {n}");
                return Err(Fault::invalid("PAGE_SIZE", message, "ask for fewer").into());
            }
        };
        let some = self.0.changes.iter().take(wanted);
        Ok(some.cloned().map(StateChange).collect())
    }

    /// How many fields differ, of the job and of the nodes that are told.
    async fn changed(&self) -> usize {
        self.0.changes.len()
    }

    /// Nodes that were touched, or came, or went.
    async fn nodes_touched(&self) -> usize {
        self.0.nodes_touched
    }

    /// Those of them whose changes are not told: there are too many.
    async fn nodes_left_out(&self) -> usize {
        self.0.nodes_left_out
    }

    /// JSON patch (RFC 6902) that makes `document` of the job at `from` that at `to`; nothing when nodes are left out.
    #[graphql(complexity = 200)]
    async fn patch(&self) -> Option<Json<Value>> {
        self.0.patch.clone().map(Json)
    }
}

#[derive(Default)]
pub(super) struct Past;

#[Object]
impl Past {
    /// What differs between two moments of a job; nothing if there is no such job.
    #[graphql(complexity = "5000 + child_complexity")]
    async fn state_diff(
        &self,
        ctx: &Context<'_>,
        job_id: String,
        from: AsOf,
        to: AsOf,
        wait_for: Option<Position>,
    ) -> async_graphql::Result<Option<StateDiff>> {
        ready(ctx, wait_for).await?;
        let id = clean(job_id);
        let (from, to) = (from.moment(ctx).await?, to.moment(ctx).await?);
        let before = job_at(ctx, &id, from).await?;
        let after = job_at(ctx, &id, to).await?;
        let (Some(before), Some(after)) = (before, after) else {
            return Ok(None);
        };
        let diff = before.diff(&after).await.map_err(Fault::from)?;
        Ok(Some(StateDiff(diff)))
    }
}
