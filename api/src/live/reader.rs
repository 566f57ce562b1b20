//! One subscriber's way through the log: each position once, in order.

use std::sync::Arc;

use projections::read::{self, LogEvent};
use tokio::sync::watch;

use super::topic::{Topic, TopicId};
use super::{Cursor, Live};

/// Events that are handed over at once.
const BATCH: usize = 100;
/// Positions that are looked through at once when catching up.
const RANGE: i64 = 2_000;

/// Reads a topic from a position on.
pub(crate) struct Reader {
    live: Live,
    id: TopicId,
    topic: Arc<Topic>,
    news: watch::Receiver<i64>,
    pos: i64,
    incarnation: String,
}

impl Reader {
    pub(super) fn new(
        live: Live,
        id: TopicId,
        topic: Arc<Topic>,
        pos: i64,
        incarnation: String,
    ) -> Self {
        let news = topic.news();
        Self {
            live,
            id,
            topic,
            news,
            pos,
            incarnation,
        }
    }

    /// The cursor of a position that this reader has handed over.
    pub(crate) fn cursor(&self, pos: i64) -> String {
        Cursor::text(&self.incarnation, pos)
    }

    /// Where the next events are looked for.
    pub(crate) fn pos(&self) -> i64 {
        self.pos
    }

    /// The next events; waits until there are some.
    pub(crate) async fn next(&mut self) -> Result<Vec<Arc<LogEvent>>, projections::Error> {
        loop {
            // Marked as seen before looking, so that nothing that comes meanwhile is slept through.
            self.news.borrow_and_update();
            match self.topic.after(self.pos, BATCH) {
                Some(events) => {
                    if let Some(last) = events.last() {
                        self.pos = last.pos;
                        return Ok(events);
                    }
                    // The sender lives in the topic, which is ours.
                    let _ = self.news.changed().await;
                }
                None => {
                    let events = self.catch_up().await?;
                    if !events.is_empty() {
                        return Ok(events);
                    }
                }
            }
        }
    }

    async fn catch_up(&mut self) -> Result<Vec<Arc<LogEvent>>, projections::Error> {
        let pool = &self.live.inner.pool;
        let (events, upto) = match &self.id {
            TopicId::Stream(stream) => {
                let limit = i64::try_from(BATCH).unwrap_or(i64::MAX);
                let head = read::log_head(pool).await?.pos;
                let events = read::stream_after(pool, stream, self.pos, head, limit).await?;
                // There may be more, left out because of their number or their size.
                let last = events.last().map(|event| event.pos);
                (events, last.unwrap_or(head))
            }
            TopicId::Org(org) => read::org_after(pool, org, self.pos, RANGE).await?,
        };
        self.pos = self.pos.max(upto);
        Ok(events.into_iter().map(Arc::new).collect())
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.live.leave(&self.id);
    }
}
