//! `strata projector`: keeps the read models, and the dead letters. Several may run; one leads.

use bus::Bus;
use sqlx::PgPool;
use tokio_util::sync::CancellationToken;

use super::args::ProjectorArgs;
use super::budget::Budget;
use super::migrate;
use super::ops::{self, Subject};
use super::stack::{Stack, fresh_owner};
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
        let pool = stack.pool(budget.readers).await?;
        budget.announce(&pool).await;
        let subject = Subject {
            pool: Some(pool.clone()),
            bus: Some(bus.clone()),
            read_models: true,
            ..Subject::default()
        };
        let served = ops::serve(&args.ops, subject, &stop).await?;
        tracing::info!("the projector is ready");
        work(pool, bus, stop).await;
        ops::stop(served).await;
        Ok(Exit::Ok)
    })
}

/// Projects until it is told to stop.
pub(super) async fn work(pool: PgPool, bus: Bus, stop: CancellationToken) {
    let options = projections::Options::new(pool, bus, fresh_owner().0);
    projections::run(options, stop).await;
}
