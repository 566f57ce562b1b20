//! How the platform is, in a few words that everybody may read.

use projections::read;

use crate::app::Core;
use crate::error::Fault;
use crate::graphql::Health;

/// Read models further behind than this are said to be.
const LAG_MAX: i64 = 10_000;

impl Core {
    pub(crate) async fn health(&self) -> Result<Health, Fault> {
        let head = read::head(&self.pool).await?;
        let reached = read::position(&self.pool, projections::READ_MODELS).await?;
        let owners = read::owners(&self.pool).await?;
        let alive = owners.iter().filter(|owner| owner.is_alive).count();
        let workers = self.fleet.workers().len();
        let lag = (head - reached).max(0);
        let mut reasons = Vec::new();
        if alive == 0 {
            reasons.push("no orchestrator is alive: requests wait".to_owned());
        }
        if workers == 0 {
            reasons.push("no worker is heard: tasks wait".to_owned());
        }
        if lag > LAG_MAX {
            reasons.push(format!("the read models are {lag} events behind"));
        }
        let status = if reasons.is_empty() { "ok" } else { "degraded" };
        Ok(Health {
            status: status.to_owned(),
            reasons,
            position: crate::graphql::Position(head),
            lag,
            orchestrators_alive: i64::try_from(alive).unwrap_or(i64::MAX),
            workers_heard: i64::try_from(workers).unwrap_or(i64::MAX),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        })
    }
}
