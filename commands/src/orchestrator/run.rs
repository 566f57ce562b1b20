//! Starts and stops an orchestrator.

use std::sync::Mutex;
use std::time::Duration;

use bus::Bus;
use chrono::TimeDelta;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::desk::Desk;
use super::door::{Door, Input};
use super::effects::Effects;
use super::intake::Intake;
use super::lease::Keeper;
use super::options::{Notice, Options, PUT_DOWN_SWEEPS};
use super::reports;
use crate::log::LogError;
use crate::write::Writer;

/// How long the last words may take.
const FAREWELL: Duration = Duration::from_secs(1);
/// How long a hand-over may take.
const HANDOVER: Duration = Duration::from_secs(10);

/// A running orchestrator.
pub struct Handle {
    desk: JoinHandle<()>,
    others: Vec<JoinHandle<()>>,
    stop_intake: CancellationToken,
    stop_desk: CancellationToken,
    writer: Writer,
    bus: Bus,
    owner: domain::id::OwnerId,
}

/// Starts an orchestrator: takes its lease first, so that no job is ever owned by somebody unknown.
pub async fn start(writer: Writer, bus: Bus, mut options: Options) -> Result<Handle, LogError> {
    let owner = options.owner;
    writer.log.beat(owner, &options.host, options.stale).await?;
    let (stop_intake, stop_desk) = (CancellationToken::new(), CancellationToken::new());
    let (door, from_workers, from_within) = Door::new();
    let (replies, outgoing) = mpsc::unbounded_channel();
    let (_, none) = mpsc::channel(1);
    let notices = std::mem::replace(&mut options.notices, none);
    let intake = Intake {
        writer: writer.clone(),
        bus: bus.clone(),
        door: door.clone(),
        owner,
        env: options.env.clone(),
        fail_fast: options.fail_fast,
        jobs_max: options.jobs_max,
        nodes_max: options.nodes_max,
    };
    let keeper = Keeper {
        intake: intake.clone(),
        door: door.clone(),
        owner,
        host: options.host.clone(),
        policy: options.policy.clone(),
        beat: options.beat,
        stale: options.stale,
        scan: options.scan,
        sweep: options.sweep,
        run_silence: options.run_silence,
        trusted_from: Mutex::new(Instant::now()),
        loading: Mutex::default(),
    };
    let effects = Effects {
        bus: bus.clone(),
        dispatch: options.dispatch.clone(),
        replies: replies.clone(),
        put_down_after: TimeDelta::from_std(options.sweep * PUT_DOWN_SWEEPS)
            .unwrap_or(TimeDelta::MAX),
    };
    let listening = reports::listen(
        bus.clone(),
        owner,
        door.clone(),
        writer.log.clone(),
        replies,
        stop_desk.clone(),
    );
    let others = vec![
        tokio::spawn(send_replies(bus.clone(), outgoing)),
        tokio::spawn(async move {
            if let Err(error) = listening.await {
                tracing::error!(%error, "reports cannot be heard");
            }
        }),
        tokio::spawn(forward_notices(notices, door.clone(), stop_desk.clone())),
        tokio::spawn(intake.run(stop_intake.clone())),
        tokio::spawn(keeper.run(stop_intake.clone())),
    ];
    let desk = Desk::new(writer.clone(), options, effects, door);
    let desk = tokio::spawn(desk.run(from_workers, from_within, stop_desk.clone()));
    Ok(Handle {
        desk,
        others,
        stop_intake,
        stop_desk,
        writer,
        bus,
        owner,
    })
}

impl Handle {
    /// Takes no more jobs; those that are here go on.
    pub fn stop_taking(&self) {
        self.stop_intake.cancel();
    }

    /// Hands everything over: takes no more, writes what is decided, gives up the lease, and says so.
    pub async fn stop(self) {
        self.stop_intake.cancel();
        self.stop_desk.cancel();
        if timeout(HANDOVER, self.desk).await.is_err() {
            tracing::warn!(
                "not everything could be written; another orchestrator decides it again"
            );
        }
        if let Err(error) = self.writer.log.leave(self.owner).await {
            tracing::warn!(%error, "the lease was not given up; it runs out by itself");
        }
        let left = self.bus.subjects.owner_left();
        self.bus.hint(left, &self.owner).await;
        // The last words must leave before the process does, if anybody is there to hear them.
        let _ = timeout(FAREWELL, self.bus.client.flush()).await;
        self.others.iter().for_each(JoinHandle::abort);
    }

    /// Whether any part of it has ended, which none ever should by itself.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        let stopping = self.stop_intake.is_cancelled();
        self.desk.is_finished() || !stopping && self.others.iter().any(JoinHandle::is_finished)
    }
}

async fn send_replies(
    bus: Bus,
    mut outgoing: mpsc::UnboundedReceiver<(async_nats::Subject, bytes::Bytes)>,
) {
    while let Some((to, payload)) = outgoing.recv().await {
        if let Err(error) = bus.client.publish(to, payload).await {
            tracing::debug!(%error, "an answer was not sent; the worker asks again");
        }
    }
}

async fn forward_notices(
    mut notices: mpsc::Receiver<Notice>,
    door: Door,
    shutdown: CancellationToken,
) {
    loop {
        tokio::select! {
            () = shutdown.cancelled() => return,
            notice = notices.recv() => match notice {
                Some(notice) => door.bring(Input::Notice(notice)),
                None => return,
            },
        }
    }
}
