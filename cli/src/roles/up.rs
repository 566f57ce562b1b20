//! `strata up`: services, schema, and all roles in one process.

use std::path::{Path, PathBuf};
use std::time::Duration;

use domain::id::OwnerId;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::args::UpArgs;
use super::budget::Budget;
use super::orchestrator::{self, Orchestrating, ended};
use super::stack::{Stack, Write};
use super::{api, catalog, local_key, migrate, projector, worker};
use crate::exit::{Exit, Stop};
use crate::output::Console;
use crate::services::{Context, Options, Services, files};
use crate::{logging, runtime};

/// How long the projector may take to end its transaction.
const PROJECTOR_END: Duration = Duration::from_secs(10);

pub(crate) fn run(args: &UpArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    logging::init(&args.stack.log);
    runtime::block_on(|stop| async move {
        let running = Box::pin(start(args, &stop)).await?;
        let (dir, flag) = (args.stack.data_dir.display(), args.stack.flag());
        console.talk(&format!(
            "Strata runs on {dir} and answers on {url}. In a browser, once within 15 minutes:\n  \
             {url}/sign-in#{sign_in}\nIn another terminal:\n  \
             strata job submit hello_world --input name=Ada --watch{flag}\n  \
             strata job list{flag}\nCtrl-C stops it.",
            url = running.serving.url,
            sign_in = running.sign_in,
        ))?;
        let ended = tokio::select! {
            () = stop.cancelled() => Ok(Exit::Ok),
            error = running.failure() => Err(error),
        };
        running.stop().await;
        ended
    })
}

/// Everything that `strata up` runs.
pub(crate) struct Running {
    services: Services,
    pub(crate) write: Write,
    orchestrating: Orchestrating,
    projecting: JoinHandle<()>,
    stop_projector: CancellationToken,
    working: JoinHandle<anyhow::Result<()>>,
    stop_worker: CancellationToken,
    owner_file: PathBuf,
    pub(crate) serving: api::Serving,
    sign_in: String,
}

/// Starts it all; after an error nothing runs.
pub(crate) async fn start(args: &UpArgs, stop: &CancellationToken) -> anyhow::Result<Running> {
    let options = Options::from_env(&args.stack.data_dir);
    let services = Services::start(&options, stop).await?;
    match start_roles(args, &services, stop).await {
        Ok((write, orchestrating, roles)) => {
            let [stop_projector, stop_worker] = roles.stops;
            Ok(Running {
                services,
                write,
                orchestrating,
                projecting: roles.projecting,
                stop_projector,
                working: roles.working,
                stop_worker,
                owner_file: owner_file(args),
                serving: roles.serving,
                sign_in: roles.sign_in,
            })
        }
        Err(error) => {
            services.stop().await;
            Err(error)
        }
    }
}

/// Which owner this data directory has.
fn owner_file(args: &UpArgs) -> PathBuf {
    args.stack.data_dir.join("owner")
}

/// We hold the lock of the data directory, so whoever had it before is dead: its jobs are free now, and
/// not when its lease runs out.
async fn bury_last(file: &Path, write: &Write) {
    let last = std::fs::read_to_string(file).ok();
    let Some(last) = last.and_then(|text| text.trim().parse().ok()) else {
        return;
    };
    if let Err(error) = write.writer.log.leave(OwnerId(last)).await {
        tracing::warn!(%error, "jobs of the last start go on when its lease runs out");
    }
}

struct Roles {
    projecting: JoinHandle<()>,
    working: JoinHandle<anyhow::Result<()>>,
    /// Of the projector and of the worker.
    stops: [CancellationToken; 2],
    serving: api::Serving,
    sign_in: String,
}

async fn start_roles(
    args: &UpArgs,
    services: &Services,
    stop: &CancellationToken,
) -> anyhow::Result<(Write, Orchestrating, Roles)> {
    let stack = Stack::new(services.context(), &args.stack)?;
    let store = stack.store(&args.store)?;
    migrate::up_to_date(&stack).await?;
    let given = args.geo.catalog_url.as_deref();
    let catalog_url = catalog::for_up(&stack, &args.catalog, given).await?;
    let stack = stack.with_catalog(catalog_url.clone());
    let bus = stack.bus("up").await?;
    let budget = Budget::UP;
    let write = stack.write(&budget, Some(bus.clone())).await?;
    budget.announce(&write.pool).await;
    bury_last(&owner_file(args), &write).await;
    let orchestrating = orchestrator::start(&args.own, &write, bus.clone()).await?;
    let owner = orchestrating.owner.to_string();
    files::write(&owner_file(args), owner.as_bytes(), files::SECRET)?;
    let stops = [CancellationToken::new(), CancellationToken::new()];
    let [stop_projector, stop_worker] = stops.clone();
    let callbacks = args.callbacks.clone();
    let its_bus = bus.clone();
    let notary = args.audit.own(&args.stack.data_dir)?;
    let signer = args.face.proof_key.clone();
    let signer = Some(signer.unwrap_or_else(|| notary.key.public()));
    let serving = api::start(
        &args.face,
        signer,
        &callbacks,
        &write,
        its_bus,
        store.clone(),
        stop,
    )
    .await?;
    let told = projector::Projecting {
        callbacks,
        base_url: serving.public_url.clone(),
        notary: Some(notary),
    };
    let projecting = projector::work(&write, bus.clone(), told, stop_projector);
    let projecting = tokio::spawn(projecting);
    let key = local_key::ensure(&write.pool, &args.stack.data_dir).await?;
    let context = Context {
        url: Some(serving.url.clone()),
        key: Some(key.token),
        catalog_url,
        ..services.context()
    };
    context.write(&args.stack.data_dir)?;
    let (work, tools) = (args.work.clone(), args.geo.tools(&stack)?);
    let working = async move { worker::work(&stack, bus, store, tools, &work, stop_worker).await };
    let working = tokio::spawn(working);
    let roles = Roles {
        projecting,
        working,
        stops,
        serving,
        sign_in: key.sign_in,
    };
    Ok((write, orchestrating, roles))
}

fn fault(role: &str) -> anyhow::Error {
    let message = format!("the {role} ended by itself, which is a fault of Strata");
    Stop::failed(message, "look at the lines above")
}

impl Running {
    /// Waits for something that never should happen.
    pub(crate) async fn failure(&self) -> anyhow::Error {
        tokio::select! {
            error = self.services.failure() => error,
            () = self.orchestrating.ended() => fault("orchestrator"),
            () = ended(&self.projecting) => fault("projector"),
            () = ended(&self.working) => fault("worker"),
            () = ended(&self.serving.task) => fault("API"),
        }
    }

    /// Stops the roles in the order in which they lean on each other, and then the services.
    pub(crate) async fn stop(self) {
        self.orchestrating.stop_taking();
        self.stop_worker.cancel();
        match self.working.await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::error!(%error, "the worker ended with an error"),
            Err(error) => tracing::error!(%error, "the worker panicked"),
        }
        self.orchestrating.stop().await;
        files::remove(&self.owner_file);
        self.stop_projector.cancel();
        let _ = tokio::time::timeout(PROJECTOR_END, self.projecting).await;
        self.serving.stop().await;
        self.write.stop().await;
        self.services.stop().await;
    }
}
