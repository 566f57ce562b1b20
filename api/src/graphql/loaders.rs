//! Fetches what many parents ask for, once for all of them.
//!
//! Loaders are made for one request: they know whose rows may be seen.

use std::collections::HashMap;
use std::sync::Arc;

use async_graphql::dataloader::{DataLoader, Loader};
use projections::read::{self, ChildCounts};
use sqlx::PgPool;

use crate::error::Fault;

/// Nodes of one job that come with it: as many as a workflow may have.
pub(super) const NODES_MAX: i64 = 5_000;
/// Nodes of each job when they are asked for of several at once.
const NODES_OF_EACH_MAX: i64 = 1_000;
/// Attempts of one node that come with it.
pub(super) const ATTEMPTS_MAX: i64 = 50;
/// Jobs made from one job that come with it.
pub(super) const MADE_MAX: i64 = 100;
/// Revisions of one asset that come with it.
const REVISIONS_MAX: i64 = 200;

/// Everything that is loaded in batches, for one organisation.
pub(crate) struct Rows {
    pool: PgPool,
    org: String,
}

pub(super) type Loaders = DataLoader<Rows>;

pub(crate) fn loaders(pool: PgPool, org: &str) -> Loaders {
    let rows = Rows {
        pool,
        org: org.to_owned(),
    };
    DataLoader::new(rows, tokio::spawn).max_batch_size(1_000)
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct JobKey(pub(super) String);
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct RequestKey(pub(super) String);
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct AssetKey(pub(super) String);
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct NodesOf(pub(super) String);
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct MadeFrom(pub(super) String);
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct FanOutsOf(pub(super) String);
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct AttemptsOf(pub(super) String, pub(super) String);
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct RevisionsOf(pub(super) String);
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct StepsOf(pub(super) String);
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct AskerOf(pub(super) String);
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct CallbacksOf(pub(super) String);
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct DeliveriesOf(pub(super) String);
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct ParamsAt(pub(super) i64);

impl Loader<JobKey> for Rows {
    type Value = read::Job;
    type Error = Fault;

    async fn load(&self, keys: &[JobKey]) -> Result<HashMap<JobKey, read::Job>, Fault> {
        let ids: Vec<String> = keys.iter().map(|key| key.0.clone()).collect();
        let rows = read::jobs_by_id(&self.pool, &self.org, &ids).await?;
        Ok(rows
            .into_iter()
            .map(|row| (JobKey(row.job_id.clone()), row))
            .collect())
    }
}

impl Loader<RequestKey> for Rows {
    type Value = read::Request;
    type Error = Fault;

    async fn load(&self, keys: &[RequestKey]) -> Result<HashMap<RequestKey, read::Request>, Fault> {
        let ids: Vec<String> = keys.iter().map(|key| key.0.clone()).collect();
        let rows = read::requests_by_id(&self.pool, &self.org, &ids).await?;
        Ok(rows
            .into_iter()
            .map(|row| (RequestKey(row.request_id.clone()), row))
            .collect())
    }
}

impl Loader<AssetKey> for Rows {
    type Value = read::Asset;
    type Error = Fault;

    async fn load(&self, keys: &[AssetKey]) -> Result<HashMap<AssetKey, read::Asset>, Fault> {
        let ids: Vec<String> = keys.iter().map(|key| key.0.clone()).collect();
        let rows = read::assets_by_id(&self.pool, &self.org, &ids).await?;
        Ok(rows
            .into_iter()
            .map(|row| (AssetKey(row.asset_id.clone()), row))
            .collect())
    }
}

impl Loader<NodesOf> for Rows {
    type Value = Arc<Vec<read::Node>>;
    type Error = Fault;

    async fn load(&self, keys: &[NodesOf]) -> Result<HashMap<NodesOf, Self::Value>, Fault> {
        let ids: Vec<String> = keys.iter().map(|key| key.0.clone()).collect();
        let each = match ids.len() {
            1 => NODES_MAX,
            _ => NODES_OF_EACH_MAX,
        };
        let rows = read::nodes_of_jobs(&self.pool, &ids, each).await?;
        Ok(grouped(rows, |row| NodesOf(row.job_id.clone())))
    }
}

impl Loader<MadeFrom> for Rows {
    type Value = Arc<Vec<read::Job>>;
    type Error = Fault;

    async fn load(&self, keys: &[MadeFrom]) -> Result<HashMap<MadeFrom, Self::Value>, Fault> {
        let ids: Vec<String> = keys.iter().map(|key| key.0.clone()).collect();
        let rows = read::jobs_made_from(&self.pool, &self.org, &ids, MADE_MAX).await?;
        let older = |row: &read::Job| row.origin_job().unwrap_or_default().to_owned();
        Ok(grouped(rows, |row| MadeFrom(older(row))))
    }
}

impl Loader<FanOutsOf> for Rows {
    type Value = Arc<HashMap<String, ChildCounts>>;
    type Error = Fault;

    async fn load(&self, keys: &[FanOutsOf]) -> Result<HashMap<FanOutsOf, Self::Value>, Fault> {
        let ids: Vec<String> = keys.iter().map(|key| key.0.clone()).collect();
        let rows = read::fan_outs_of_jobs(&self.pool, &ids).await?;
        let mut by_job: HashMap<FanOutsOf, HashMap<String, ChildCounts>> = HashMap::new();
        for ((job, parent), counts) in rows {
            by_job
                .entry(FanOutsOf(job))
                .or_default()
                .insert(parent, counts);
        }
        Ok(by_job
            .into_iter()
            .map(|(job, counts)| (job, Arc::new(counts)))
            .collect())
    }
}

impl Loader<AttemptsOf> for Rows {
    type Value = Arc<Vec<read::TaskResult>>;
    type Error = Fault;

    async fn load(&self, keys: &[AttemptsOf]) -> Result<HashMap<AttemptsOf, Self::Value>, Fault> {
        let nodes: Vec<(String, String)> = keys
            .iter()
            .map(|key| (key.0.clone(), key.1.clone()))
            .collect();
        let rows = read::attempts_of_nodes(&self.pool, &nodes, ATTEMPTS_MAX).await?;
        Ok(grouped(rows, |row| {
            AttemptsOf(row.job_id.clone(), row.node_id.clone())
        }))
    }
}

impl Loader<RevisionsOf> for Rows {
    type Value = Arc<Vec<read::Revision>>;
    type Error = Fault;

    async fn load(&self, keys: &[RevisionsOf]) -> Result<HashMap<RevisionsOf, Self::Value>, Fault> {
        let ids: Vec<String> = keys.iter().map(|key| key.0.clone()).collect();
        let rows = read::revisions_of_assets(&self.pool, &ids, REVISIONS_MAX).await?;
        Ok(grouped(rows, |row| RevisionsOf(row.asset_id.clone())))
    }
}

impl Loader<StepsOf> for Rows {
    type Value = Arc<Vec<read::AssetStep>>;
    type Error = Fault;

    async fn load(&self, keys: &[StepsOf]) -> Result<HashMap<StepsOf, Self::Value>, Fault> {
        let ids: Vec<String> = keys.iter().map(|key| key.0.clone()).collect();
        let rows = read::steps_of_assets(&self.pool, &self.org, &ids).await?;
        Ok(grouped(rows, |row| StepsOf(row.asset_id.clone())))
    }
}

impl Loader<AskerOf> for Rows {
    type Value = String;
    type Error = Fault;

    async fn load(&self, keys: &[AskerOf]) -> Result<HashMap<AskerOf, String>, Fault> {
        let ids: Vec<String> = keys.iter().map(|key| key.0.clone()).collect();
        let rows = read::askers_of_requests(&self.pool, &self.org, &ids).await?;
        Ok(rows
            .into_iter()
            .map(|(id, actor)| (AskerOf(id), actor))
            .collect())
    }
}

impl Loader<CallbacksOf> for Rows {
    type Value = Arc<Vec<read::Callback>>;
    type Error = Fault;

    async fn load(&self, keys: &[CallbacksOf]) -> Result<HashMap<CallbacksOf, Self::Value>, Fault> {
        let ids: Vec<String> = keys.iter().map(|key| key.0.clone()).collect();
        let rows = read::callbacks_of_jobs(&self.pool, &ids).await?;
        Ok(grouped(rows, |row| CallbacksOf(row.job_id.clone())))
    }
}

impl Loader<DeliveriesOf> for Rows {
    type Value = Arc<Vec<read::Delivery>>;
    type Error = Fault;

    async fn load(
        &self,
        keys: &[DeliveriesOf],
    ) -> Result<HashMap<DeliveriesOf, Self::Value>, Fault> {
        let ids: Vec<String> = keys.iter().map(|key| key.0.clone()).collect();
        let rows = read::deliveries(&self.pool, &ids).await?;
        Ok(grouped(rows, |row| DeliveriesOf(row.callback_id.clone())))
    }
}

impl Loader<ParamsAt> for Rows {
    type Value = serde_json::Value;
    type Error = Fault;

    async fn load(&self, keys: &[ParamsAt]) -> Result<HashMap<ParamsAt, Self::Value>, Fault> {
        let positions: Vec<i64> = keys.iter().map(|key| key.0).collect();
        let events = read::events_at(&self.pool, &self.org, &positions).await?;
        let params = |event: read::LogEvent| {
            let params = event.data().get("params").cloned().unwrap_or_default();
            (ParamsAt(event.pos), params)
        };
        Ok(events.into_iter().map(params).collect())
    }
}

fn grouped<K: Eq + std::hash::Hash, R>(
    rows: Vec<R>,
    key: impl Fn(&R) -> K,
) -> HashMap<K, Arc<Vec<R>>> {
    let mut groups: HashMap<K, Vec<R>> = HashMap::new();
    for row in rows {
        groups.entry(key(&row)).or_default().push(row);
    }
    groups
        .into_iter()
        .map(|(key, rows)| (key, Arc::new(rows)))
        .collect()
}
