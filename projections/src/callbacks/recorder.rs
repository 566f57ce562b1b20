//! Records what came of deliveries, many at once: what comes back while one batch is written is the next.

use std::sync::Arc;
use std::time::Duration;

use domain::callback::{BreakerPolicy, Settlement};
use sqlx::PgPool;
use tokio::sync::{mpsc, oneshot};
use uuid::Uuid;

use super::Ledger;
use crate::Error;
use crate::store::callbacks::record::{self, Try};

/// Tries of one batch, at most.
const BATCH_MAX: usize = 256;
const RETRY_FIRST: Duration = Duration::from_millis(50);
const RETRY_MAX: Duration = Duration::from_secs(2);

/// One delivery that came back.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) tried: Try,
    /// For the log, if it was the last one.
    pub(super) settlement: Option<Settlement>,
    /// Told when it is recorded.
    pub(super) recorded: oneshot::Sender<()>,
}

/// What recording needs.
pub(super) struct Recorder {
    pub(super) pool: PgPool,
    pub(super) owner: Uuid,
    pub(super) ledger: Arc<dyn Ledger>,
    pub(super) policy: BreakerPolicy,
}

impl Recorder {
    /// Works until nobody can bring anything any more.
    pub(super) async fn run(self, mut outcomes: mpsc::Receiver<Outcome>) {
        let mut batch = Vec::with_capacity(BATCH_MAX);
        while outcomes.recv_many(&mut batch, BATCH_MAX).await > 0 {
            let mut settled = Vec::new();
            let mut tries = Vec::with_capacity(batch.len());
            let mut waiting = Vec::with_capacity(batch.len());
            for outcome in batch.drain(..) {
                settled.extend(outcome.settlement);
                tries.push(outcome.tried);
                waiting.push(outcome.recorded);
            }
            // The log first: a row is settled only when the event is there.
            self.settle(settled).await;
            self.keep(&tries).await;
            for each in waiting {
                // Nobody waits any more when the process ends.
                let _ = each.send(());
            }
        }
    }

    async fn settle(&self, settled: Vec<Settlement>) {
        if settled.is_empty() {
            return;
        }
        let mut pause = RETRY_FIRST;
        while let Err(error) = self.ledger.settle(settled.clone()).await {
            tracing::warn!(%error, "what came of callbacks is not in the log yet");
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(RETRY_MAX);
        }
    }

    async fn keep(&self, tries: &[Try]) {
        let mut pause = RETRY_FIRST;
        loop {
            let done = record::record(&self.pool, self.owner, tries, &self.policy).await;
            let Err(error) = done.map_err(Error::Database) else {
                return;
            };
            tracing::warn!(error = %error.chain(), "what came of callbacks is not recorded yet");
            if error.is_data() {
                // It is sent again when its lease runs out, and known by its id.
                return;
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(RETRY_MAX);
        }
    }
}
