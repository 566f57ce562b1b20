//! Claims what is due, sends it, and hands what came of it to the recorder.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use domain::callback::{Command, Settlement};
use domain::id::{CallbackId, JobId};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::{Id, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::client::{Answer, Client, Fault, Message};
use super::guard::{Lookup, System};
use super::recorder::{Outcome, Recorder};
use super::{BODY_BYTES_MAX, Options, body};
use crate::Error;
use crate::store::callbacks::claim::{self, Due, Wanted};
use crate::store::callbacks::record::{Next, Try};
use crate::store::callbacks::source;

/// Rows of one claim, at most.
const CLAIM_MAX: usize = 64;
/// Bodies in memory, together, before no more is claimed.
const BYTES_MAX: usize = 128 * 1024 * 1024;
/// How often to look when nobody says that something is due,
const POLL: Duration = Duration::from_millis(250);
/// and for a moment after somebody did, because the read models may be a step behind.
const POLL_EAGER: Duration = Duration::from_millis(20);
const EAGER_FOR: Duration = Duration::from_millis(500);
const BACKOFF_MAX: Duration = Duration::from_secs(2);
/// Outcomes that wait for the recorder, at most.
const OUTCOMES_MAX: usize = 1_024;
/// How long the recorder may take when the process ends.
const RECORD_END: Duration = Duration::from_secs(3);

/// Sends callbacks, beside any number of others.
pub(super) struct Sender {
    options: Arc<Options>,
    client: Client,
    due: Arc<Notify>,
    /// What is under way, by task.
    flights: HashMap<Id, Flight>,
    /// How much of it goes to each endpoint.
    busy: BTreeMap<String, usize>,
    bytes: usize,
    /// The endpoint after which the next claim looks on.
    after: String,
}

struct Flight {
    endpoint: String,
    bytes: usize,
}

impl Sender {
    pub(super) fn new(options: Options, due: Arc<Notify>) -> reqwest::Result<Self> {
        let lookup: Arc<dyn Lookup> = Arc::new(System);
        let client = Client::new(options.rules.clone(), &lookup)?;
        Ok(Self {
            options: Arc::new(options),
            client,
            due,
            flights: HashMap::new(),
            busy: BTreeMap::new(),
            bytes: 0,
            after: String::new(),
        })
    }

    /// Works until it is told to stop.
    pub(super) async fn run(mut self, shutdown: CancellationToken) {
        let (outcomes, waiting) = mpsc::channel(OUTCOMES_MAX);
        let recorder = Recorder {
            pool: self.options.pool.clone(),
            owner: self.options.owner,
            ledger: Arc::clone(&self.options.ledger),
            policy: self.options.breaker,
        };
        let mut recording = JoinSet::new();
        recording.spawn(recorder.run(waiting));
        let mut flying = JoinSet::new();
        let (mut eager_until, mut backoff) = (Instant::now(), POLL_EAGER);
        while !shutdown.is_cancelled() {
            let pause = match self.claim(&mut flying, &outcomes).await {
                // A full claim means that there may be more.
                Ok(more) if more && self.has_room() => continue,
                Ok(_) if Instant::now() < eager_until => POLL_EAGER,
                Ok(_) => POLL,
                Err(error) => {
                    tracing::warn!(error = %error.chain(), "callbacks cannot be claimed");
                    backoff = (backoff * 2).min(BACKOFF_MAX);
                    backoff
                }
            };
            tokio::select! {
                () = shutdown.cancelled() => break,
                () = self.due.notified() => eager_until = Instant::now() + EAGER_FOR,
                Some(landed) = flying.join_next_with_id() => {
                    self.landed(landed);
                    // All that landed by now; the next claim fills their places at once.
                    while let Some(landed) = flying.try_join_next_with_id() {
                        self.landed(landed);
                    }
                }
                () = tokio::time::sleep(pause) => {}
            }
        }
        self.end(flying, outcomes, recording).await;
    }

    fn has_room(&self) -> bool {
        self.flights.len() < self.options.concurrency && self.bytes < BYTES_MAX
    }

    /// Takes what is due and sends it; `true` if there may be more.
    async fn claim(
        &mut self,
        flying: &mut JoinSet<()>,
        outcomes: &mpsc::Sender<Outcome>,
    ) -> Result<bool, Error> {
        if !self.has_room() {
            return Ok(false);
        }
        let room = self.options.concurrency - self.flights.len();
        let limit = room.min(CLAIM_MAX);
        let small = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
        let free = |flights: &usize| small(self.options.per_endpoint.saturating_sub(*flights));
        let wanted = Wanted {
            owner: self.options.owner,
            after: &self.after,
            busy: (
                self.busy.keys().map(String::as_str).collect(),
                self.busy.values().map(free).collect(),
            ),
            per_endpoint: small(self.options.per_endpoint),
            limit: i64::try_from(limit).unwrap_or(i64::MAX),
            slack: self.options.slack,
        };
        let due = claim::claim(&self.options.pool, &wanted).await?;
        let since = Instant::now();
        let is_full = due.len() >= limit;
        let went_on = !self.after.is_empty();
        self.after = match due.last() {
            Some(last) if is_full => last.endpoint.clone(),
            _ => String::new(),
        };
        let messages = match self.messages(&due, since).await {
            Ok(messages) => messages,
            Err(error) => {
                let ids: Vec<&str> = due.iter().map(|due| due.callback_id.as_str()).collect();
                claim::release(&self.options.pool, self.options.owner, Some(&ids)).await?;
                return Err(error);
            }
        };
        for (due, message) in due.into_iter().zip(messages) {
            self.launch(due, message, flying, outcomes.clone());
        }
        // At the end of the list of endpoints it begins again.
        Ok(is_full || went_on)
    }

    /// The signed bodies of what was claimed: one query for all results, one for all secrets.
    async fn messages(
        &self,
        due: &[Due],
        since: Instant,
    ) -> Result<Vec<Result<Message, Fault>>, Error> {
        if due.is_empty() {
            return Ok(Vec::new());
        }
        let pool = &self.options.pool;
        let jobs: Vec<&str> = due.iter().map(|due| due.job_id.as_str()).collect();
        let mut secrets: Vec<_> = due
            .iter()
            .map(|d| (d.org_id.as_str(), d.secret_ref.as_str()))
            .collect();
        secrets.sort_unstable();
        secrets.dedup();
        let results = source::results(pool, &jobs, BODY_BYTES_MAX).await?;
        let secrets = source::secrets(pool, &secrets).await?;
        let none = source::Results::default();
        let each = due.iter().map(|due| {
            let signed_by = secrets.get(&(due.org_id.clone(), due.secret_ref.clone()));
            let keys: Vec<Vec<u8>> = signed_by
                .into_iter()
                .flatten()
                .map(|s| body::key_of(s))
                .collect();
            let Some(newest) = keys.first() else {
                let text = format!(
                    "the signing secret `{}` is not there any more",
                    due.secret_ref
                );
                return Err(Fault::new("secret_missing", text));
            };
            let results = results.get(&due.job_id).unwrap_or(&none);
            let body = body::body(due, results, &self.options.base_url, newest);
            let passed = chrono::TimeDelta::from_std(since.elapsed()).unwrap_or_default();
            let at = due.now + passed;
            Ok(Message {
                url: due.url.clone(),
                id: due.callback_id.clone(),
                at,
                signatures: body::signatures(&keys, &due.callback_id, at.timestamp(), &body),
                body,
                timeout: Duration::from_secs(u64::try_from(due.timeout_seconds).unwrap_or(1)),
            })
        });
        Ok(each.collect())
    }

    fn launch(
        &mut self,
        due: Due,
        message: Result<Message, Fault>,
        flying: &mut JoinSet<()>,
        outcomes: mpsc::Sender<Outcome>,
    ) {
        let flight = Flight {
            endpoint: due.endpoint.clone(),
            bytes: message.as_ref().map_or(0, |m| Bytes::len(&m.body)),
        };
        *self.busy.entry(flight.endpoint.clone()).or_default() += 1;
        self.bytes += flight.bytes;
        let (client, options) = (self.client.clone(), Arc::clone(&self.options));
        let task = flying.spawn(async move {
            let answer = match message {
                Ok(message) => client.send(message).await,
                Err(fault) => Answer {
                    took: Duration::ZERO,
                    status: None,
                    retry_after: None,
                    fault: Some(fault),
                },
            };
            let (recorded, done) = oneshot::channel();
            let outcome = outcome(&due, answer, &options, recorded);
            // Its place is free only when it is recorded, so that it is not claimed again before.
            if outcomes.send(outcome).await.is_ok() {
                let _ = done.await;
            }
        });
        self.flights.insert(task.id(), flight);
    }

    fn landed(&mut self, landed: Result<(Id, ()), tokio::task::JoinError>) {
        let id = match landed {
            Ok((id, ())) => id,
            Err(error) => {
                tracing::error!(%error, "a delivery ended by a fault of ours; it is repeated when its lease runs out");
                error.id()
            }
        };
        let Some(flight) = self.flights.remove(&id) else {
            return;
        };
        self.bytes = self.bytes.saturating_sub(flight.bytes);
        if let Some(flights) = self.busy.get_mut(&flight.endpoint) {
            *flights = flights.saturating_sub(1);
            if *flights == 0 {
                self.busy.remove(&flight.endpoint);
            }
        }
    }

    /// Lets what is under way come back for a while, and gives the rest to others.
    async fn end(
        self,
        mut flying: JoinSet<()>,
        outcomes: mpsc::Sender<Outcome>,
        mut recording: JoinSet<()>,
    ) {
        drop(outcomes);
        let landing = async { while flying.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(self.options.grace, landing).await;
        flying.shutdown().await;
        let recorded = async { while recording.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(RECORD_END, recorded).await;
        let released = claim::release(&self.options.pool, self.options.owner, None).await;
        if let Err(error) = released {
            tracing::debug!(%error, "claims were not given up; they will run out");
        }
    }
}

/// What an answer means for its callback.
fn outcome(due: &Due, answer: Answer, options: &Options, recorded: oneshot::Sender<()>) -> Outcome {
    let attempts = due.attempts.saturating_add(1);
    let next = match &answer.fault {
        None => Next::Delivered,
        Some(fault) if fault.is_final || attempts > due.retry_count => Next::GivenUp,
        Some(_) => {
            let failures = u32::try_from(attempts).unwrap_or(u32::MAX);
            let pause = options.backoff.pause(failures, chance(due));
            let wanted = answer.retry_after.unwrap_or_default();
            Next::Again {
                after: pause.max(wanted),
            }
        }
    };
    let fault = answer.fault;
    let shown = fault.as_ref().map(|fault| match fault.excerpt.as_str() {
        "" => fault.message.clone(),
        excerpt => format!("{}: {excerpt}", fault.message),
    });
    let tried = Try {
        callback_id: due.callback_id.clone(),
        endpoint: due.endpoint.clone(),
        round: due.round,
        attempts,
        delivery: due.deliveries.saturating_add(1),
        took: answer.took,
        status_code: answer.status.map(i32::from),
        error_code: fault.as_ref().map(|fault| fault.code),
        error: shown.map(|text| text.replace('\0', "")),
        next,
    };
    Outcome {
        settlement: settlement(due, &tried, answer.status, fault),
        tried,
        recorded,
    }
}

fn settlement(
    due: &Due,
    tried: &Try,
    status: Option<u16>,
    fault: Option<Fault>,
) -> Option<Settlement> {
    let number = |n: i32| u32::try_from(n).unwrap_or(0);
    let job_id: JobId = due.job_id.parse().ok()?;
    let callback_id: CallbackId = due.callback_id.parse().ok()?;
    let (round, attempts) = (number(tried.round), number(tried.attempts));
    let command = match (tried.next, fault) {
        (Next::Again { .. }, _) => return None,
        (Next::Delivered, _) | (Next::GivenUp, None) => Command::RecordDelivered {
            job_id,
            round,
            attempts,
            status_code: status.unwrap_or(200),
        },
        (Next::GivenUp, Some(fault)) => Command::RecordGivenUp {
            job_id,
            round,
            attempts,
            code: fault.code.to_owned(),
            message: fault.message,
        },
    };
    Some(Settlement {
        callback_id,
        org_id: due.org_id.clone(),
        command,
    })
}

/// A number that differs between callbacks and between tries, as good as chance for spreading them.
fn chance(due: &Due) -> u32 {
    let digits = due.callback_id.get(28..36).unwrap_or("0");
    let own = u32::from_str_radix(digits, 16).unwrap_or(0);
    own.wrapping_add(
        u32::try_from(due.attempts)
            .unwrap_or(0)
            .wrapping_mul(2_654_435_761),
    )
}
