//! The watchdog: a task that ticks as long as the runtime runs tasks.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use metrics_exporter_prometheus::PrometheusHandle;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::ready::Ready;

/// Between two ticks.
const TICK: Duration = Duration::from_millis(500);
/// Every so many ticks readiness becomes a gauge and histograms are tidied.
const CHORES_EVERY: u32 = 10;

/// When the runtime was last seen to turn.
pub(super) struct Pulse {
    last: Mutex<Instant>,
}

impl Pulse {
    pub(super) fn start(ready: Weak<Ready>, metrics: PrometheusHandle) -> Arc<Self> {
        let pulse = Arc::new(Self {
            last: Mutex::new(Instant::now()),
        });
        tokio::spawn(beat(Arc::downgrade(&pulse)));
        tokio::spawn(chores(ready, metrics));
        pulse
    }

    /// How long nothing has turned.
    pub(super) fn silence(&self) -> Duration {
        let last = *self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.elapsed()
    }
}

async fn beat(pulse: Weak<Pulse>) {
    let mut tick = interval(TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        let Some(pulse) = pulse.upgrade() else { return };
        *pulse.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }
}

/// Apart from the beat: the checks wait for others.
async fn chores(ready: Weak<Ready>, metrics: PrometheusHandle) {
    let mut tick = interval(TICK * CHORES_EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        let Some(ready) = ready.upgrade() else { return };
        let is_ready = ready.readiness().await.ready;
        metrics::gauge!(bus::metric::READY).set(f64::from(u8::from(is_ready)));
        metrics.run_upkeep();
    }
}
