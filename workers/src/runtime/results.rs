//! Results of earlier nodes that were too large for the message: fetched by name before the handler runs,
//! so that a handler always gets the list.

use std::collections::BTreeMap;
use std::time::Duration;

use async_nats::Request;
use bytes::Bytes;
use domain::failure::{Failure, FailureClass};
use domain::id::JobId;
use domain::json::size_bytes;
use domain::message::{Manifest, ResultsPage, ResultsQuery, Source};
use serde_json::Value;

use super::Worker;

/// The parameters that hold results (G-42), or the manifest that stands for them.
const NAMES: [&str; 2] = ["previous_results", "manifest"];
/// Results that a handler may be given, all together.
const BYTES_MAX: usize = 64 * 1024 * 1024;
/// How often a page is asked for, and how long an answer may take.
const TRIES: u32 = 10;
const ANSWER: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(500);

/// Results of one node by the index of its child; those of a node without children are at 0.
type Found = BTreeMap<u32, Value>;

/// What the parameters name instead of listing it, if they do.
pub(super) fn manifest(params: &Value) -> Option<(&'static str, Manifest)> {
    NAMES.into_iter().find_map(|name| {
        let named = params.get(name).filter(|value| value.is_object())?;
        Some((name, serde_json::from_value(named.clone()).ok()?))
    })
}

/// The parameters with the list in place of the names.
pub(super) async fn fetch(
    worker: &Worker,
    params: &Value,
    (name, manifest): &(&'static str, Manifest),
) -> Result<Value, Failure> {
    let mut all = Vec::new();
    let mut left = BYTES_MAX;
    for source in &manifest.children_of {
        all.extend(of_source(worker, source, &mut left).await?.into_values());
    }
    let mut params = params.clone();
    if let Some(fields) = params.as_object_mut() {
        // Each parameter keeps its type.
        let all = match *name {
            "manifest" => serde_json::json!({ "results": all }),
            _ => Value::Array(all),
        };
        fields.insert((*name).to_owned(), all);
    }
    Ok(params)
}

async fn of_source(worker: &Worker, source: &Source, left: &mut usize) -> Result<Found, Failure> {
    let mut found = Found::new();
    let every = |_: u32| true;
    collect(worker, source.job_id, &source.node, every, &mut found, left).await?;
    for part in &source.reused {
        let within = |index: u32| (part.first..=part.last).contains(&index);
        let missing = (part.first..=part.last).any(|index| !found.contains_key(&index));
        if missing {
            collect(worker, part.job_id, &source.node, within, &mut found, left).await?;
        }
    }
    let expected = source.count.map_or(1, |count| count as usize);
    if found.len() == expected {
        return Ok(found);
    }
    let message = format!(
        "{} of {expected} results of `{}` are in the log",
        found.len(),
        source.node
    );
    Err(Failure::new(
        FailureClass::Permanent,
        "results_missing",
        &message,
    ))
}

async fn collect(
    worker: &Worker,
    job_id: JobId,
    node: &str,
    wanted: impl Fn(u32) -> bool,
    found: &mut Found,
    left: &mut usize,
) -> Result<(), Failure> {
    let mut query = ResultsQuery {
        job_id,
        node: node.to_owned(),
        after: 0,
    };
    loop {
        let page = ask(worker, &query).await?;
        for result in page.results {
            let index = result.index.unwrap_or(0);
            if !wanted(index) || found.contains_key(&index) {
                continue;
            }
            *left = left
                .checked_sub(size_bytes(&result.output))
                .ok_or_else(too_large)?;
            found.insert(index, result.output);
        }
        match page.next {
            Some(next) => query.after = next,
            None => return Ok(()),
        }
    }
}

async fn ask(worker: &Worker, query: &ResultsQuery) -> Result<ResultsPage, Failure> {
    let payload = Bytes::from(serde_json::to_vec(query).unwrap_or_default());
    for _ in 0..TRIES {
        let request = Request::new()
            .payload(payload.clone())
            .timeout(Some(ANSWER));
        let subject = worker.bus.subjects.results_any();
        match worker.bus.client.send_request(subject, request).await {
            Ok(answer) => match serde_json::from_slice(&answer.payload) {
                Ok(page) => return Ok(page),
                Err(error) => tracing::warn!(%error, "an answer that is none"),
            },
            Err(error) => tracing::debug!(%error, "no orchestrator answers"),
        }
        tokio::time::sleep(PAUSE).await;
    }
    let message = "no orchestrator handed out the results of earlier nodes";
    Err(Failure::new(
        FailureClass::Transient,
        "results_unavailable",
        message,
    ))
}

fn too_large() -> Failure {
    let message = format!(
        "the results of earlier nodes have more than {} MB; let the tasks store them, and return where they lie",
        BYTES_MAX / (1024 * 1024)
    );
    Failure::new(FailureClass::Permanent, "results_too_large", &message)
}
