//! Running asynchronous commands, and ending them when somebody asks.
//!
//! The first Ctrl-C, SIGTERM or SIGHUP cancels a token, and the command ends by itself in its own order. The
//! second one ends the process.

use std::future::Future;
use std::time::Duration;

use anyhow::Context as _;
use futures_util::FutureExt as _;
use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::exit::Exit;

/// Signals within this time are one.
const SAME_WISH: Duration = Duration::from_millis(200);
/// How long tasks that nobody waits for may take when the command has ended.
const LAST_TASKS: Duration = Duration::from_secs(1);

/// Runs a command to its end. It gets the token that the first signal cancels.
pub fn block_on<T, F>(command: impl FnOnce(CancellationToken) -> F) -> anyhow::Result<T>
where
    F: Future<Output = anyhow::Result<T>>,
{
    run(Builder::new_multi_thread(), command)
}

/// The same on one thread: for a client that does one thing after another, and must not wait for a thread to be
/// woken.
pub fn block_on_one_thread<T, F>(command: impl FnOnce(CancellationToken) -> F) -> anyhow::Result<T>
where
    F: Future<Output = anyhow::Result<T>>,
{
    run(Builder::new_current_thread(), command)
}

fn run<T, F>(
    mut builder: Builder,
    command: impl FnOnce(CancellationToken) -> F,
) -> anyhow::Result<T>
where
    F: Future<Output = anyhow::Result<T>>,
{
    let runtime = builder.enable_all().build();
    let runtime = runtime.context("cannot start the threads of the program")?;
    let ended = runtime.block_on(async {
        let stop = CancellationToken::new();
        let signals = [
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
            // The terminal is closed.
            signal(SignalKind::hangup())?,
        ];
        tokio::spawn(listen(signals, stop.clone()));
        command(stop).await
    });
    // Not for ever: a thread that blocks must not keep the process.
    runtime.shutdown_timeout(LAST_TASKS);
    ended
}

async fn listen(mut signals: [Signal; 3], stop: CancellationToken) {
    loop {
        let any = signals.iter_mut().map(|signal| Box::pin(signal.recv()));
        futures_util::future::select_all(any).await;
        if stop.is_cancelled() {
            // Nobody is left to supervise them.
            crate::services::end_all();
            std::process::exit(Exit::Interrupted.code().into());
        }
        stop.cancel();
        tracing::info!("stopping; once more to stop at once");
        // A terminal or `timeout` may send the same wish twice.
        tokio::time::sleep(SAME_WISH).await;
        for signal in &mut signals {
            while signal.recv().now_or_never().is_some() {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_signal_cancels_the_token() {
        let ended = block_on(|stop| async move {
            let me = rustix::process::getpid();
            rustix::process::kill_process(me, rustix::process::Signal::TERM)?;
            let deadline = std::time::Duration::from_secs(10);
            tokio::time::timeout(deadline, stop.cancelled()).await?;
            Ok(7)
        });
        assert_eq!(ended.unwrap(), 7);
    }
}
