//! Runs a handler where it cannot harm the others: in a task or on a thread of its own.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use domain::failure::{Failure, FailureClass};
use futures_util::FutureExt;
use serde_json::{Map, Value};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use super::outcome::panicked;
use super::slots::Slot;
use crate::handler::{Body, Context, Entry, Finished};

/// A handler at work.
pub(super) struct Execution {
    /// What it gives back.
    pub(super) result: oneshot::Receiver<Result<Finished, Failure>>,
    /// Ends a handler that waits; one that blocks goes on until it returns.
    abort: Option<AbortHandle>,
}

/// Starts a handler. It holds `slot` until it has really ended, however that may be.
pub(super) fn start(
    entry: &Arc<Entry>,
    ctx: Context,
    params: Map<String, Value>,
    slot: Arc<Slot>,
) -> Execution {
    let (sender, result) = oneshot::channel();
    let entry = Arc::clone(entry);
    let abort = match &entry.body {
        Body::Waiting(_) => {
            let task = tokio::spawn(async move {
                let Body::Waiting(body) = &entry.body else {
                    return;
                };
                let call = AssertUnwindSafe(async { body.call(&ctx, params).await });
                let _ = sender.send(call.catch_unwind().await.unwrap_or_else(caught));
                if ctx.has_scratch() {
                    let _ = tokio::task::spawn_blocking(move || drop(ctx)).await;
                }
                drop(slot);
            });
            Some(task.abort_handle())
        }
        Body::Blocking(_) => {
            block(entry, ctx, params, slot, sender);
            None
        }
    };
    Execution { result, abort }
}

impl Execution {
    /// Gives the handler up; false if it goes on until it returns.
    pub(super) fn abandon(&self) -> bool {
        if let Some(abort) = &self.abort {
            abort.abort();
        }
        self.abort.is_some()
    }
}

fn block(
    entry: Arc<Entry>,
    ctx: Context,
    params: Map<String, Value>,
    slot: Arc<Slot>,
    sender: oneshot::Sender<Result<Finished, Failure>>,
) {
    let runtime = tokio::runtime::Handle::current();
    let name = format!("handler {}", entry.declared.name);
    // A thread that is not the runtime's: one that never returns must not hold up the end of the process.
    let spawned = std::thread::Builder::new().name(name).spawn(move || {
        let _runtime = runtime.enter();
        if let Body::Blocking(body) = &entry.body {
            let call = AssertUnwindSafe(|| body.call(&ctx, params));
            let _ = sender.send(catch_unwind(call).unwrap_or_else(caught));
        }
        drop(ctx);
        drop(slot);
    });
    if let Err(error) = spawned {
        // The sender is gone with the closure, which the caller sees as a lost handler.
        tracing::error!(%error, "no thread for a handler");
    }
}

/// The failure of a handler that ended without a word.
pub(super) fn lost() -> Failure {
    Failure::new(
        FailureClass::Transient,
        "handler_lost",
        "the handler could not be started, or was ended from outside",
    )
}

fn caught(payload: Box<dyn Any + Send>) -> Result<Finished, Failure> {
    let text = payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned());
    Err(panicked(&text.unwrap_or_else(|| "no text".to_owned())))
}
