//! A proof of one job, for whoever has no database.

use domain::event::checkpoint::{PublicKey, Signed};
use domain::event::proof::{
    FILE_BYTES_MAX, History, Item, Proof, check, definition_stream, stream,
};
use domain::event::tree::consistency;
use domain::event::{Event, decode};
use domain::id::JobId;
use domain::{job, workflow};
use sqlx::PgPool;
use tokio::time::{Duration, Instant};

use crate::Error;
use crate::notary::nodes::Nodes;
use crate::store::{audit, tree};

const EVENTS_PER_READ: i64 = 1_000;
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The proof of all events that a job has now, as a file. Waits so long for a checkpoint that covers them.
///
/// It is checked before it is handed out: a log that was changed gives no proof.
pub async fn prove(
    pool: &PgPool,
    job_id: JobId,
    key: &PublicKey,
    older: Option<&Signed>,
    patience: Duration,
) -> Result<String, Error> {
    let stream = stream(job_id);
    let last = audit::last_of_stream(pool, &stream).await?;
    let last = u64::try_from(last.ok_or(Error::NoJob(job_id))?).unwrap_or(0);
    let signed = covering(pool, last, key, patience).await?;
    let size = signed.checkpoint.size;
    let upto = i64::try_from(size).unwrap_or(i64::MAX);
    let events = items(pool, &stream, upto).await?;
    let history = History {
        definition: definition(pool, &events, upto).await?,
        events,
    };
    let mut nodes = Nodes::new(pool, size);
    let path = nodes.of_ranges(&history.path(size)).await?;
    let mut proof = Proof::new(job_id, key, &signed, history, &path);
    if let Some(older) = older {
        let ranges = consistency(older.checkpoint.size, size);
        let path = nodes.of_ranges(&ranges.unwrap_or_default()).await?;
        proof = proof.extending(older, &path);
    }
    let file = proof.encode()?;
    check(file.as_bytes(), Some(key))?;
    Ok(file)
}

/// The newest checkpoint, once it is large enough.
async fn covering(
    pool: &PgPool,
    pos: u64,
    key: &PublicKey,
    patience: Duration,
) -> Result<Signed, Error> {
    let end = Instant::now() + patience;
    loop {
        let newest = newest_checkpoint(pool, key).await?;
        if let Some(signed) = newest.filter(|signed| signed.checkpoint.size >= pos) {
            return Ok(signed);
        }
        if Instant::now() >= end {
            return Err(Error::NotSigned(pos));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// The newest checkpoint, which must be good.
pub async fn newest_checkpoint(pool: &PgPool, key: &PublicKey) -> Result<Option<Signed>, Error> {
    let Some(row) = tree::newest(pool, i64::MAX).await? else {
        return Ok(None);
    };
    let signed = Signed::parse(&row.note)?;
    signed.verify(key)?;
    Ok(Some(signed))
}

/// The event that registered the definition which the first event pins.
async fn definition(pool: &PgPool, events: &[Item], upto: i64) -> Result<Option<Item>, Error> {
    let read = |item: &Item| decode(&item.kind, item.schema_ver, item.payload.as_bytes());
    let Some(Event::Job(job::Event::JobCreated(created))) = events.first().map(read).transpose()?
    else {
        return Ok(None);
    };
    let pinned = created.workflow;
    let versions = items(pool, &definition_stream(&pinned.id), upto).await?;
    Ok(versions.into_iter().find(|item| {
        matches!(
            read(item),
            Ok(Event::Workflow(workflow::Event::WorkflowRegistered { version, hash, .. }))
                if version == pinned.version && hash == pinned.hash
        )
    }))
}

async fn items(pool: &PgPool, stream: &str, upto: i64) -> Result<Vec<Item>, Error> {
    let mut items = Vec::new();
    let (mut after, mut bytes) = (0, 0);
    loop {
        let rows = audit::of_stream(pool, stream, after, upto, EVENTS_PER_READ).await?;
        let Some(last) = rows.last() else {
            return Ok(items);
        };
        after = last.version;
        for row in rows {
            bytes += row.payload.len() + row.meta.len();
            if bytes > FILE_BYTES_MAX {
                return Err(domain::event::proof::ProofError::TooLarge.into());
            }
            let gap = || Error::Gap(u64::try_from(row.pos).unwrap_or(0));
            items.push(Item {
                pos: u64::try_from(row.pos).map_err(|_| gap())?,
                version: u64::try_from(row.version).map_err(|_| gap())?,
                kind: row.kind,
                schema_ver: u16::try_from(row.schema_ver).unwrap_or(0),
                org_id: row.org_id,
                // What is no text was not written by us: its leaf will not fit.
                meta: String::from_utf8_lossy(&row.meta).into_owned(),
                payload: String::from_utf8_lossy(&row.payload).into_owned(),
            });
        }
    }
}
