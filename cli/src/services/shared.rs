//! One stack for many processes, each of which may come first: for tests.
//!
//! Nobody supervises it: it outlives the process that started it, and stays until [`stop_shared`].
//! Whoever finds it broken ends what is left of it and starts it again.

use std::path::Path;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::context::Context;
use super::folder::{Folder, Lock};
use super::nats::Nats;
use super::postgres::Postgres;
use super::process::Identity;
use super::{Durability, Options, open_folder, probe, start_nats, start_postgres};

/// How long the one that comes first may take.
const FIRST_WAIT: Duration = Duration::from_secs(120);
/// Many test processes come together.
const CONNECTIONS: u32 = 200;

/// The shared stack of a data directory, started if it does not run.
pub async fn shared(data_dir: &Path, durability: Durability) -> anyhow::Result<Context> {
    if let Some(running) = running(data_dir).await {
        return Ok(running);
    }
    let folder = open_folder(data_dir)?;
    let lock = folder.lock(FIRST_WAIT).await?;
    // Another one may have been first while we waited.
    if let Some(running) = running(data_dir).await {
        return Ok(running);
    }
    let options = Options {
        durability,
        max_connections: CONNECTIONS,
        ..Options::new(data_dir)
    };
    start(&folder, &options, &lock).await
}

/// Ends the shared stack of a data directory, if it runs.
pub async fn stop_shared(data_dir: &Path) -> anyhow::Result<()> {
    if !data_dir.exists() {
        return Ok(());
    }
    let folder = open_folder(data_dir)?;
    let _lock = folder.lock(FIRST_WAIT).await?;
    Context::remove(&folder.path);
    let (nats, postgres) = (Nats::ending(&folder), Postgres::ending(&folder));
    tokio::join!(nats.end_leftover(), postgres.end_leftover());
    Ok(())
}

async fn start(folder: &Folder, options: &Options, _lock: &Lock) -> anyhow::Result<Context> {
    let never = CancellationToken::new();
    let (postgres, database) = start_postgres(folder, options, &never).await?;
    let started = start_nats(folder, &never).await;
    let (nats, messages) = match started {
        Ok(started) => started,
        Err(error) => {
            super::supervise::end(&postgres.spec, database).await;
            return Err(error);
        }
    };
    let context = Context {
        database_url: postgres.url,
        nats_url: nats.url,
        url: None,
        key: None,
        catalog_url: None,
    };
    context.write(&folder.path)?;
    // Dropped, not ended: they go on without us.
    drop((database, messages));
    Ok(context)
}

/// The stack that runs, if both parts of it answer.
async fn running(data_dir: &Path) -> Option<Context> {
    let noted = Context::read(data_dir).ok().flatten()?;
    for name in ["postgres.pid", "nats.pid"] {
        Identity::in_file(&data_dir.join(name))?;
    }
    let (database, nats) = tokio::join!(
        probe::postgres(&noted.database_url),
        probe::nats(&noted.nats_url)
    );
    (database.is_ok() && nats.is_ok()).then_some(noted)
}
