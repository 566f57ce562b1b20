//! Asks database and queues every few seconds, and sets the gauges that no single process knows.
//!
//! It also counts tasks and jobs by following the log, which works wherever the workers run. Several
//! processes may sample: each shows the whole, so that a dashboard takes the maximum, not the sum.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bus::{Bus, metric};
use domain::failure::FailureClass;
use projections::read::{self, CallbackBacklog, Vitals};
use sqlx::PgPool;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;

use super::fleet::{Fleet, QueueSeen, queues};

/// Between two looks.
const EVERY: Duration = Duration::from_secs(5);
/// How long one look may take.
const PATIENCE: Duration = Duration::from_secs(4);

/// The task that looks.
struct Sampler {
    pool: PgPool,
    bus: Bus,
    fleet: Fleet,
    counted_to: Option<i64>,
    /// Queues that were shown: one that is gone is shown empty.
    lanes: BTreeSet<(String, &'static str)>,
    served: BTreeSet<String>,
    is_up: bool,
}

/// Samples until the end.
pub fn start(pool: PgPool, bus: Bus, fleet: Fleet, shutdown: CancellationToken) -> JoinHandle<()> {
    let sampler = Sampler {
        pool,
        bus,
        fleet,
        counted_to: None,
        lanes: BTreeSet::new(),
        served: BTreeSet::new(),
        is_up: true,
    };
    tokio::spawn(sampler.run(shutdown))
}

impl Sampler {
    async fn run(mut self, shutdown: CancellationToken) {
        let mut tick = interval(EVERY);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = shutdown.cancelled() => return,
                _ = tick.tick() => {}
            }
            let looked = match timeout(PATIENCE, self.look()).await {
                Ok(looked) => looked,
                Err(_) => Err("no answer in time".to_owned()),
            };
            metrics::gauge!(metric::SAMPLER_UP).set(f64::from(u8::from(looked.is_ok())));
            let was_up = std::mem::replace(&mut self.is_up, looked.is_ok());
            match looked {
                Ok(()) if !was_up => tracing::info!("the gauges are current again"),
                Err(reason) if was_up => {
                    tracing::warn!(reason, "the gauges of database and queues stand still");
                }
                _ => {}
            }
        }
    }

    async fn look(&mut self) -> Result<(), String> {
        self.workers();
        let (vitals, lanes) = tokio::join!(self.database(), queues(&self.bus));
        let (vitals, backlog) = vitals.map_err(|error| error.to_string())?;
        self.counted_to = Some(vitals.counted_to);
        show(&vitals);
        metrics::gauge!(metric::CALLBACK_BACKLOG).set(number(backlog.count));
        metrics::gauge!(metric::CALLBACK_BACKLOG_AGE).set(backlog.oldest_s);
        self.queues(&lanes.map_err(|error| error.to_string())?);
        Ok(())
    }

    async fn database(&self) -> Result<(Vitals, CallbackBacklog), projections::Error> {
        let claims_max = commands::orchestrator::CLAIMS_MAX;
        let vitals = read::vitals(&self.pool, self.counted_to, claims_max).await?;
        let backlog = read::callback_backlog(&self.pool).await?;
        Ok((vitals, backlog))
    }

    fn queues(&mut self, seen: &[QueueSeen]) {
        let mut gone = std::mem::take(&mut self.lanes);
        for lane in seen {
            let priority = lane.priority.as_str();
            let age = lane.oldest_age.unwrap_or_default().as_secs_f64();
            show_lane(&lane.queue, priority, (lane.pending, lane.in_flight, age));
            gone.remove(&(lane.queue.clone(), priority));
            self.lanes.insert((lane.queue.clone(), priority));
        }
        for (queue, priority) in gone {
            show_lane(&queue, priority, (0, 0, 0.0));
        }
    }

    fn workers(&mut self) {
        let workers = self.fleet.workers();
        let mut slots: BTreeMap<String, u64> = BTreeMap::new();
        for queue in std::mem::take(&mut self.served) {
            slots.insert(queue, 0);
        }
        for place in workers.iter().flat_map(|worker| &worker.slots) {
            *slots.entry(place.queue.clone()).or_default() += u64::from(place.slots);
            self.served.insert(place.queue.clone());
        }
        let running: usize = workers.iter().map(|worker| worker.running).sum();
        metrics::gauge!(metric::WORKERS).set(workers.len() as f64);
        metrics::gauge!(metric::WORKER_RUNS).set(running as f64);
        for (queue, slots) in slots {
            metrics::gauge!(metric::WORKER_SLOTS, "queue" => queue).set(slots as f64);
        }
    }
}

fn show(vitals: &Vitals) {
    let gauges = [
        (metric::LOG_HEAD, vitals.head),
        (metric::LOG_PARTITIONS_AHEAD, vitals.partitions_ahead),
        (metric::JOBS_OPEN, vitals.jobs_open),
        (metric::JOBS_QUARANTINED, vitals.jobs_quarantined),
        (metric::REQUESTS_UNCLAIMED, vitals.requests_unclaimed),
        (metric::TASKS_READY, vitals.tasks_ready),
        (metric::TASKS_RUNNING, vitals.tasks_running),
        (metric::ORCHESTRATORS_ALIVE, vitals.orchestrators_alive),
        (metric::DEAD_LETTERS, vitals.dead_letters),
        (metric::PROJECTOR_PARKED, vitals.parked),
    ];
    for (name, value) in gauges {
        metrics::gauge!(name).set(number(value));
    }
    metrics::gauge!(metric::REQUESTS_UNCLAIMED_AGE).set(vitals.unclaimed_age_seconds);
    metrics::gauge!(metric::ORCHESTRATOR_HEARTBEAT_AGE).set(vitals.owner_silence_seconds);
    for projector in &vitals.projectors.0 {
        let labels = [("projector", projector.name.clone())];
        metrics::gauge!(metric::PROJECTOR_LAG_EVENTS, &labels).set(number(projector.lag_events));
        metrics::gauge!(metric::PROJECTOR_LAG_SECONDS, &labels).set(projector.lag_seconds);
        metrics::gauge!(metric::PROJECTOR_HEARTBEAT_AGE, &labels).set(projector.silence_seconds);
    }
    for (kind, count) in &vitals.events.0 {
        metrics::counter!(metric::LOG_EVENTS, "type" => kind.clone()).increment(*count);
    }
    for class in FailureClass::ALL.map(FailureClass::as_str) {
        let count = vitals.failures.0.get(class).copied().unwrap_or(0);
        metrics::counter!(metric::LOG_TASK_FAILURES, "class" => class).increment(count);
    }
}

fn show_lane(queue: &str, priority: &'static str, (pending, in_flight, age): (u64, u64, f64)) {
    let labels = [
        ("queue", queue.to_owned()),
        ("priority", priority.to_owned()),
    ];
    metrics::gauge!(metric::QUEUE_DEPTH, &labels).set(pending as f64);
    metrics::gauge!(metric::QUEUE_IN_FLIGHT, &labels).set(in_flight as f64);
    metrics::gauge!(metric::QUEUE_OLDEST_AGE, &labels).set(age);
}

/// A count as a gauge takes it; what does not fit exactly is too large to matter.
fn number(count: i64) -> f64 {
    count as f64
}
