//! Starting a service until it answers, and keeping it running until it is told to stop.
//!
//! A service that ends by itself is started again on its old port, so that clients only reconnect.
//! One that keeps ending is given up, loudly.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::probe::Silence;
use super::process::{Identity, LOOK_EVERY, Spec, Started};
use crate::exit::{Exit, Stop};

/// How long a service may take until it answers, and if it says itself that it is starting.
const ANSWER_WAIT: Duration = Duration::from_secs(60);
const STARTING_WAIT: Duration = Duration::from_secs(600);
/// Ends within the window after which a service is given up.
const ENDS_MAX: usize = 5;
const ENDS_WINDOW: Duration = Duration::from_secs(60);
/// How long to wait before each further start.
const PAUSE: Duration = Duration::from_millis(200);

/// Why a service did not come up.
#[derive(Debug)]
pub(crate) enum NotUp {
    /// The process ended; starting it again may help.
    Ended(String),
    Failed(anyhow::Error),
}

/// A service that is kept running.
#[derive(Debug)]
pub(crate) struct Supervised {
    spec: Spec,
    stop: CancellationToken,
    state: watch::Receiver<State>,
    task: JoinHandle<()>,
}

#[derive(Debug, Clone)]
enum State {
    Runs(Identity),
    Pauses,
    GivenUp(String),
}

/// Starts a service and waits until it answers. Whatever goes wrong, it does not run afterwards.
pub(crate) async fn bring_up(
    spec: &Spec,
    look: impl AsyncFn() -> Result<(), Silence>,
    stop: &CancellationToken,
) -> Result<Started, NotUp> {
    let mut started = spec.start().map_err(|error| {
        let program = spec.program.display();
        let message = format!("cannot start {program}: {error}");
        NotUp::Failed(Stop::unreachable(message, "strata doctor"))
    })?;
    let began = Instant::now();
    loop {
        let silence = match look().await {
            Ok(()) => return Ok(started),
            Err(silence) => silence,
        };
        if let Ok(Some(status)) = started.child.try_wait() {
            let words = spec.last_words(started.log_from);
            let ended = format!("{} ended at once, {status}", spec.ending.name);
            return Err(NotUp::Ended(with_log(spec, &ended, &words)));
        }
        let wait = if silence.starting {
            STARTING_WAIT
        } else {
            ANSWER_WAIT
        };
        let failed = if stop.is_cancelled() {
            Some(Stop::with(
                Exit::Interrupted,
                "interrupted while starting",
                "",
            ))
        } else if began.elapsed() > wait {
            let words = spec.last_words(started.log_from);
            let ended = format!(
                "{} did not answer within {} s: {}",
                spec.ending.name,
                wait.as_secs(),
                silence.why
            );
            Some(Stop::unreachable(
                with_log(spec, &ended, &words),
                "strata doctor",
            ))
        } else {
            None
        };
        if let Some(failed) = failed {
            end(spec, started).await;
            return Err(NotUp::Failed(failed));
        }
        sleep(LOOK_EVERY).await;
    }
}

/// What happened, the end of the service's log, and where the rest is.
pub(crate) fn with_log(spec: &Spec, what: &str, words: &str) -> String {
    let lines: String = words.lines().map(|line| format!("\n  | {line}")).collect();
    format!("{what}; the end of {}:{lines}", spec.log.display())
}

/// Ends a service that we started.
pub(crate) async fn end(spec: &Spec, mut started: Started) {
    // Both: one asks it to go, the other takes notice that it went.
    let (_, ended) = tokio::join!(spec.ending.end(started.identity), started.child.wait());
    if let Ok(status) = ended {
        tracing::debug!(service = spec.ending.name, %status, "stopped");
    }
}

impl Supervised {
    /// Keeps a service running that has just been brought up.
    pub(crate) fn new(spec: Spec, started: Started) -> Self {
        let stop = CancellationToken::new();
        let (tell, state) = watch::channel(State::Runs(started.identity));
        let task = tokio::spawn(keep(spec.clone(), started, stop.clone(), tell));
        Self {
            spec,
            stop,
            state,
            task,
        }
    }

    /// Stops the service, and waits until it has.
    pub(crate) async fn stop(mut self) {
        self.stop.cancel();
        if let Err(error) = (&mut self.task).await {
            tracing::error!(service = self.spec.ending.name, %error, "the supervisor failed");
        }
    }

    /// Waits until the service is given up, and says why.
    pub(crate) async fn given_up(&self) -> String {
        let mut state = self.state.clone();
        let given_up = state.wait_for(|state| matches!(state, State::GivenUp(_)));
        match given_up.await.as_deref() {
            Ok(State::GivenUp(why)) => why.clone(),
            _ => format!("nobody looks after {} any more", self.spec.ending.name),
        }
    }
}

impl Drop for Supervised {
    /// Without [`Supervised::stop`] nobody waits, but the service is asked to go all the same.
    fn drop(&mut self) {
        self.stop.cancel();
        if !self.task.is_finished()
            && let State::Runs(identity) = &*self.state.borrow()
        {
            identity.signal(self.spec.ending.gentle.0);
        }
    }
}

/// Starts the service again whenever it ends, until it is stopped or given up.
async fn keep(
    spec: Spec,
    mut started: Started,
    stop: CancellationToken,
    tell: watch::Sender<State>,
) {
    let mut ends = VecDeque::new();
    loop {
        let status = tokio::select! {
            biased;
            () = stop.cancelled() => return end(&spec, started).await,
            status = started.child.wait() => status,
        };
        let how = status.map_or_else(|error| error.to_string(), |status| status.to_string());
        let words = spec.last_words(started.log_from);
        tell.send_replace(State::Pauses);
        loop {
            let now = Instant::now();
            ends.push_back(now);
            while ends.front().is_some_and(|first| now - *first > ENDS_WINDOW) {
                ends.pop_front();
            }
            if ends.len() > ENDS_MAX {
                let what = format!(
                    "{} ended {} times within a minute, the last time with {how}",
                    spec.ending.name,
                    ends.len()
                );
                let why = with_log(&spec, &what, &words);
                tracing::error!(service = spec.ending.name, "given up: {why}");
                tell.send_replace(State::GivenUp(why));
                return;
            }
            tracing::warn!(
                service = spec.ending.name,
                how,
                "ended by itself; starting it again"
            );
            tokio::select! {
                () = stop.cancelled() => return,
                () = sleep(PAUSE * u32::try_from(ends.len()).unwrap_or(1)) => {}
            }
            match spec.start() {
                Ok(again) => {
                    tell.send_replace(State::Runs(again.identity));
                    started = again;
                    break;
                }
                Err(error) => {
                    tracing::error!(service = spec.ending.name, %error, "cannot be started")
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rustix::process::Signal;

    use super::*;
    use crate::services::process::Ending;

    #[tokio::test]
    async fn a_service_that_keeps_ending_is_given_up_with_its_last_words() {
        let name = format!("strata-given-up-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let spec = Spec {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), "echo cannot; exit 3".into()],
            user: None,
            folder: folder.clone(),
            log: folder.join("log"),
            ending: Ending {
                name: "broken",
                pid_file: folder.join("pid"),
                gentle: (Signal::TERM, PAUSE),
                firm: Signal::QUIT,
                outside: None,
            },
        };
        let started = spec.start().unwrap();
        let supervised = Supervised::new(spec, started);
        let wait = tokio::time::timeout(Duration::from_secs(30), supervised.given_up());
        let why = wait.await.unwrap();
        assert!(why.contains("broken ended 6 times"), "{why}");
        assert!(why.ends_with("\n  | cannot"), "{why}");
        supervised.stop().await;
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
