//! Fold(log up to P) = read model at P, row by row.
//!
//! Reads job by job in short transactions and writes nothing. The read models must stand at the
//! position that is asked for, so stop the projectors or wait until the log is quiet.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use domain::event::Event;
use domain::handler::Catalog;
use domain::job::{NodeView, State, apply};
use serde::Serialize;
use serde_json::Value;
use sqlx::PgPool;

use crate::Error;
use crate::read_models::graphs::Graphs;
use crate::read_models::job::STREAM;
use crate::store::log;
use crate::store::proof::{self, JobProof, NodeProof};
use crate::travel;

const STREAMS_PER_READ: i64 = 200;
const EVENTS_PER_READ: i64 = 1_000;
/// Snapshots that are made again and compared, at most.
const SNAPSHOTS_CHECKED: i64 = 4;

/// Something that the log and a row do not agree on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    pub job_id: String,
    pub node_id: Option<String>,
    pub field: &'static str,
    /// What the events say.
    pub log: String,
    /// What the row says.
    pub row: String,
}

/// All differences, with the handlers that ship with Strata.
pub async fn compare(pool: &PgPool, upto_pos: i64) -> Result<Vec<Difference>, Error> {
    compare_with(pool, upto_pos, Arc::new(Catalog::shipped())).await
}

/// All differences.
pub async fn compare_with(
    pool: &PgPool,
    upto_pos: i64,
    catalog: Arc<Catalog>,
) -> Result<Vec<Difference>, Error> {
    let mut graphs = Graphs::new(Arc::clone(&catalog));
    let mut found = Vec::new();
    let mut cursor = String::new();
    loop {
        let streams = log::streams(pool, STREAM, &cursor, upto_pos, STREAMS_PER_READ).await?;
        let Some(last) = streams.last() else { break };
        cursor.clone_from(last);
        for stream in &streams {
            compare_job(pool, stream, upto_pos, &mut graphs, &mut found).await?;
        }
    }
    for job_id in proof::jobs_without_stream(pool).await? {
        found.push(job_difference(&job_id, "job", "nothing", "a row"));
    }
    for (job_id, row, history) in proof::history(pool).await? {
        found.push(job_difference(
            &job_id,
            "history",
            &row,
            &shown(history.as_ref()),
        ));
    }
    let snapshots = travel::check_snapshots(pool, catalog, upto_pos, SNAPSHOTS_CHECKED).await?;
    for stream in snapshots.wrong {
        let job_id = stream.strip_prefix(STREAM).unwrap_or(&stream);
        found.push(job_difference(
            job_id,
            "snapshot",
            "its events",
            "another state",
        ));
    }
    Ok(found)
}

async fn compare_job(
    pool: &PgPool,
    stream: &str,
    upto_pos: i64,
    graphs: &mut Graphs,
    found: &mut Vec<Difference>,
) -> Result<(), Error> {
    let job_id = stream.strip_prefix(STREAM).unwrap_or(stream);
    let state = match fold(pool, stream, upto_pos, graphs).await? {
        Ok(state) => state,
        Err(reason) => {
            found.push(job_difference(
                job_id,
                "stream",
                &reason,
                "cannot be compared",
            ));
            return Ok(());
        }
    };
    let Some(row) = proof::job(pool, job_id).await? else {
        found.push(job_difference(job_id, "job", "exists", "no row"));
        return Ok(());
    };
    compare_job_row(&state, &row, found);
    let mut rows: HashMap<String, NodeProof> = HashMap::new();
    let mut after = String::new();
    loop {
        let page = proof::nodes(pool, job_id, &after, 5_000).await?;
        let Some(last) = page.last() else { break };
        after.clone_from(&last.node_id);
        rows.extend(page.into_iter().map(|row| (row.node_id.clone(), row)));
    }
    for node in state.nodes() {
        let id = node.id.to_string();
        match rows.remove(&id) {
            Some(row) => compare_node(job_id, &state, &node, &row, found),
            None => found.push(Difference {
                node_id: Some(id),
                ..job_difference(job_id, "node", node.status.word(), "no row")
            }),
        }
    }
    found.extend(rows.into_values().map(|row| Difference {
        node_id: Some(row.node_id),
        ..job_difference(job_id, "node", "nothing", &row.status)
    }));
    Ok(())
}

/// The job as the domain folds it, or why it cannot.
async fn fold(
    pool: &PgPool,
    stream: &str,
    upto_pos: i64,
    graphs: &mut Graphs,
) -> Result<Result<State, String>, Error> {
    let mut state: Option<State> = None;
    let mut version = 0;
    loop {
        let page = log::of_stream(pool, stream, version, upto_pos, EVENTS_PER_READ).await?;
        let Some(last) = page.last() else { break };
        version = last.version;
        for entry in &page {
            let event = match entry.decode() {
                Ok(Event::Job(event)) => event,
                Ok(_) => return Ok(Err("an event of another aggregate".to_owned())),
                Err(error) => return Ok(Err(Error::Decode(error).chain())),
            };
            if let (None, domain::job::Event::JobCreated(created)) = (&state, &event) {
                let hash = created.workflow.hash.as_str();
                let mut db = pool.acquire().await?;
                graphs.fetch(&mut db, &HashSet::from([hash])).await?;
                match graphs.get(hash) {
                    Ok(compiled) => state = Some(State::new(Arc::clone(&compiled.graph))),
                    Err(reason) => return Ok(Err(reason)),
                }
            }
            if let Some(state) = &mut state {
                apply(state, &event);
            }
        }
    }
    Ok(state.ok_or_else(|| "it does not begin with `job_created`".to_owned()))
}

fn job_difference(job_id: &str, field: &'static str, log: &str, row: &str) -> Difference {
    Difference {
        job_id: job_id.to_owned(),
        node_id: None,
        field,
        log: log.to_owned(),
        row: row.to_owned(),
    }
}

fn compare_job_row(state: &State, row: &JobProof, found: &mut Vec<Difference>) {
    let mut check = |field, log: String, row_says: String| {
        if log != row_says {
            found.push(job_difference(&row.job_id, field, &log, &row_says));
        }
    };
    let counts = state.counts();
    let counted = [
        counts.pending,
        counts.ready,
        counts.dispatched,
        counts.running,
        counts.completed,
        counts.failed,
        counts.skipped,
    ];
    check(
        "status",
        state.status().word().to_owned(),
        row.status.clone(),
    );
    check(
        "counts",
        format!("{counted:?}"),
        format!("{:?}", row.counts),
    );
    check(
        "paused",
        state.is_paused().to_string(),
        row.paused.to_string(),
    );
    let owner = state.claim().map(|claim| claim.owner.to_string());
    check(
        "owner_id",
        shown(owner.as_ref()),
        shown(row.owner_id.as_ref()),
    );
    check("degraded", "false".to_owned(), row.degraded.to_string());
    if !same_json(state.result(), row.result.as_ref()) {
        check("result", shown(state.result()), shown(row.result.as_ref()));
    }
}

fn compare_node(
    job_id: &str,
    state: &State,
    node: &NodeView<'_>,
    row: &NodeProof,
    found: &mut Vec<Difference>,
) {
    let mut check = |field, log: String, row_says: String| {
        if log != row_says {
            found.push(Difference {
                node_id: Some(row.node_id.clone()),
                ..job_difference(job_id, field, &log, &row_says)
            });
        }
    };
    check("status", node.status.word().to_owned(), row.status.clone());
    check("attempt", node.attempt.to_string(), row.attempt.to_string());
    let retries = node.attempt.saturating_sub(1);
    check(
        "retry_count",
        retries.to_string(),
        row.retry_count.to_string(),
    );
    check("epoch", node.epoch.to_string(), row.epoch.to_string());
    check(
        "run_id",
        shown(node.run.as_ref()),
        shown(row.run_id.as_ref()),
    );
    let message = node.failure.map(|failure| &failure.message);
    check(
        "error_message",
        shown(message),
        shown(row.error_message.as_ref()),
    );
    let branch = node
        .id
        .child
        .map_or_else(|| state.branch_taken(&node.id.name), |_| None);
    check("branch", shown(branch.as_ref()), shown(row.branch.as_ref()));
    // The domain drops the outputs of children when they grow too large together; rows keep them.
    let dropped = node.id.child.is_some() && node.output.is_none();
    if !dropped && !same_json(node.output, row.output.as_ref()) {
        check("output", shown(node.output), shown(row.output.as_ref()));
    }
    let checkpoint = node.checkpoint.and_then(|c| serde_json::to_value(c).ok());
    if !same_json(checkpoint.as_ref(), row.checkpoint.as_ref()) {
        check(
            "checkpoint",
            shown(checkpoint.as_ref()),
            shown(row.checkpoint.as_ref()),
        );
    }
}

fn shown<T: ToString>(value: Option<&T>) -> String {
    value.map_or_else(|| "nothing".to_owned(), ToString::to_string)
}

/// Equal but for the spelling of numbers, which jsonb changes (1e16 and 10000000000000000), and for
/// null, which a column cannot tell from nothing.
fn same_json(a: Option<&Value>, b: Option<&Value>) -> bool {
    match (a.unwrap_or(&Value::Null), b.unwrap_or(&Value::Null)) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_json(Some(a), Some(b)))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(k, v)| b.contains_key(k) && same_json(Some(v), b.get(k)))
        }
        (a, b) => a == b,
    }
}
