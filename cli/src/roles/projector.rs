//! `strata projector`: keeps the read models and the dead letters, and sends callbacks. Several may run:
//! one leads each projection, and all of them send.

use std::sync::Arc;

use bus::Bus;
use tokio_util::sync::CancellationToken;

use super::args::ProjectorArgs;
use super::budget::Budget;
use super::callbacks::{self, CallbackArgs};
use super::migrate;
use super::ops::{self, Subject};
use super::stack::{Stack, Write, fresh_owner};
use crate::exit::Exit;
use crate::output::Console;
use crate::{logging, runtime};

pub(crate) fn run(args: &ProjectorArgs, _console: &mut Console<'_>) -> anyhow::Result<Exit> {
    logging::init(&args.stack.log);
    let stack = Stack::find(&args.stack)?;
    runtime::block_on(|stop| async move {
        migrate::require(&stack).await?;
        let bus = stack.bus("projector").await?;
        let budget = Budget::PROJECTOR;
        let write = stack.write(&budget, Some(bus.clone())).await?;
        budget.announce(&write.pool).await;
        let subject = Subject {
            pool: Some(write.pool.clone()),
            bus: Some(bus.clone()),
            read_models: true,
            ..Subject::default()
        };
        let served = ops::serve(&args.ops, subject, &stop).await?;
        let notary = args.audit.shared(&args.stack.data_dir)?;
        let base_url = args.callbacks.base_url();
        tracing::info!("the projector is ready");
        let projecting = Projecting {
            callbacks: args.callbacks.clone(),
            base_url,
            notary,
        };
        Box::pin(work(&write, bus, projecting, stop)).await;
        ops::stop(served).await;
        write.stop().await;
        Ok(Exit::Ok)
    })
}

/// What a projector is told.
pub(super) struct Projecting {
    pub(super) callbacks: CallbackArgs,
    /// What callbacks say of where the API is.
    pub(super) base_url: String,
    /// What checkpoints of the log are signed with.
    pub(super) notary: Option<Arc<projections::notary::Options>>,
}

/// Projects, signs and calls back until it is told to stop.
pub(super) fn work(
    write: &Write,
    bus: Bus,
    told: Projecting,
    stop: CancellationToken,
) -> impl Future<Output = ()> + Send + 'static {
    let (pool, writer) = (write.pool.clone(), write.writer.clone());
    let mut options = projections::Options::new(pool.clone(), bus.clone(), fresh_owner().0);
    options.notary = told.notary;
    let projecting = projections::run(options, stop.clone());
    let calling_back = callbacks::work(told.callbacks, told.base_url, pool, writer, bus, stop);
    async move {
        tokio::join!(projecting, calling_back);
    }
}
