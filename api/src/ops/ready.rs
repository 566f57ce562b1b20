//! Whether work can be sent to this process: by progress, not by being up.

use std::collections::VecDeque;
use std::time::Duration;

use bus::async_nats::connection::State as Connection;
use projections::read::{self, Progress};
use serde::Serialize;
use sqlx::PgPool;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::Options;

/// How long the database may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// An answer is good for so long, however many ask.
const GOOD_FOR: Duration = Duration::from_millis(500);
/// Over this time it is judged whether read models catch up.
const HISTORY: Duration = Duration::from_secs(30);

/// The answer, as it is shown.
#[derive(Debug, Clone, Serialize)]
pub struct Readiness {
    pub ready: bool,
    pub checks: Vec<Check>,
}

/// One thing that must be well.
#[derive(Debug, Clone, Serialize)]
pub struct Check {
    pub name: &'static str,
    pub ok: bool,
    pub detail: String,
}

impl Check {
    fn new(name: &'static str, ok: bool, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        Self { name, ok, detail }
    }
}

/// The checks of a process, with what they remember.
pub(super) struct Ready {
    options: Options,
    leaving: CancellationToken,
    memory: Mutex<Memory>,
}

#[derive(Default)]
struct Memory {
    last: Option<(Instant, Readiness)>,
    /// How far the read models were behind, the oldest first.
    lags: VecDeque<(Instant, i64)>,
}

impl Ready {
    pub(super) fn new(options: Options, leaving: CancellationToken) -> Self {
        Self {
            options,
            leaving,
            memory: Mutex::default(),
        }
    }

    /// The answer; those who ask at the same time share one look.
    pub(super) async fn readiness(&self) -> Readiness {
        let mut memory = self.memory.lock().await;
        if let Some((at, readiness)) = &memory.last
            && at.elapsed() < GOOD_FOR
            && !self.leaving.is_cancelled()
        {
            return readiness.clone();
        }
        let mut checks = Vec::new();
        if self.leaving.is_cancelled() {
            checks.push(Check::new("running", false, "the process is about to end"));
        }
        if let Some(bus) = &self.options.bus {
            let ok = bus.client.connection_state() == Connection::Connected;
            let detail = if ok { "connected" } else { "not connected" };
            checks.push(Check::new("nats", ok, detail));
        }
        if let Some(pool) = &self.options.pool {
            match look(pool).await {
                Ok((progress, fits)) => {
                    checks.push(Check::new("database", true, "answers"));
                    checks.push(schema(fits));
                    checks.push(partitions(progress));
                    if self.options.read_models {
                        checks.push(self.read_models(&mut memory.lags, progress));
                    }
                }
                Err(reason) => checks.push(Check::new("database", false, reason)),
            }
        }
        let readiness = Readiness {
            ready: checks.iter().all(|check| check.ok),
            checks,
        };
        memory.last = Some((Instant::now(), readiness.clone()));
        readiness
    }

    /// Near the head, or on the way there.
    fn read_models(&self, lags: &mut VecDeque<(Instant, i64)>, progress: Progress) -> Check {
        let lag = (progress.head - progress.shown).max(0);
        let most = self.options.lag_events_max;
        while lags.front().is_some_and(|(at, _)| at.elapsed() > HISTORY) {
            lags.pop_front();
        }
        let shrinks = lags.front().is_some_and(|(_, before)| lag < *before);
        lags.push_back((Instant::now(), lag));
        let detail = match (lag <= most, shrinks) {
            (true, _) => format!("{lag} events behind"),
            (false, true) => format!("{lag} events behind, and catching up"),
            (false, false) => {
                format!("{lag} events behind, more than {most}, and not catching up")
            }
        };
        Check::new("read models", lag <= most || shrinks, detail)
    }
}

/// What the database says. The reasons are for everybody to read, so they hold no address.
async fn look(pool: &PgPool) -> Result<(Progress, bool), &'static str> {
    let asked = async {
        let fits = commands::migrate::fits(pool).await;
        let fits = fits.map_err(|error| tracing::debug!(%error, "the schema cannot be read"))?;
        if !fits {
            // Its tables may not even be there.
            let nothing = Progress {
                head: 0,
                partitions_ahead: 0,
                shown: 0,
            };
            return Ok((nothing, false));
        }
        let progress = read::progress(pool).await;
        let progress =
            progress.map_err(|error| tracing::debug!(%error, "the log cannot be read"))?;
        Ok((progress, true))
    };
    match timeout(PATIENCE, asked).await {
        Ok(Ok(seen)) => Ok(seen),
        Ok(Err(())) => Err("does not answer"),
        Err(_) => Err("does not answer in time"),
    }
}

fn schema(fits: bool) -> Check {
    let detail = if fits {
        "fits this build"
    } else {
        "older than this build: run strata migrate"
    };
    Check::new("schema", fits, detail)
}

fn partitions(progress: Progress) -> Check {
    let ahead = progress.partitions_ahead;
    let detail = format!("{ahead} partitions ahead of position {}", progress.head);
    Check::new("log", ahead >= 1, detail)
}
