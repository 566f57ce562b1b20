//! Results that were too large to travel inline, for workers that ask for them: read from the log, page by
//! page.

use std::sync::Arc;

use async_nats::Subscriber;
use bus::Bus;
use domain::json::size_bytes;
use domain::message::{MESSAGE_BYTES_MAX, ResultsPage, ResultsQuery, results_in};
use futures_util::StreamExt as _;
use tokio_util::sync::CancellationToken;

use super::load::job_events;
use super::reports::read;
use crate::log::{Log, LogError};

/// Events that are looked through for one page.
const EVENTS_MAX: usize = 2_000;
/// A page is closed when it has so many bytes; one more output of 64 KB still fits into a message.
const PAGE_BYTES: usize = MESSAGE_BYTES_MAX - 128 * 1024;

/// Answers until the end; the questions of all workers go round the orchestrators.
pub(super) async fn answer(
    bus: Bus,
    log: Arc<dyn Log>,
    mut questions: Subscriber,
    shutdown: CancellationToken,
) {
    loop {
        let message = tokio::select! {
            () = shutdown.cancelled() => return,
            Some(message) = questions.next() => message,
        };
        let Some(query) = read::<ResultsQuery>(&bus, &message).await else {
            continue;
        };
        // Without an answer the worker asks again.
        match page(&*log, &query).await {
            Ok(page) => {
                if let Some(to) = message.reply {
                    bus.hint(to.to_string(), &page).await;
                }
            }
            Err(error) => tracing::warn!(job = %query.job_id, %error, "results cannot be read"),
        }
    }
}

async fn page(log: &dyn Log, query: &ResultsQuery) -> Result<ResultsPage, LogError> {
    let stream = format!("job:{}", query.job_id);
    let recorded = log.read_stream(&stream, query.after, EVENTS_MAX).await?;
    let mut page = ResultsPage::default();
    let (mut bytes, mut version) = (0, query.after);
    for event in job_events(&recorded)? {
        if bytes > PAGE_BYTES {
            page.next = Some(version);
            return Ok(page);
        }
        version += 1;
        let found = results_in(&event, &query.node);
        bytes += found.iter().map(size_bytes).sum::<usize>();
        page.results.extend(found);
    }
    page.next = (recorded.len() == EVENTS_MAX).then_some(version);
    Ok(page)
}
